"""`/operator`."""

from bot.chat.commands import declaration
from bot.chat.panels import Panel
from bot.operators.service import OperatorDesk


async def open_page(desk: OperatorDesk, call: declaration.CommandCall) -> Panel:
    return await desk.link(call.caller.person.id)


OPERATOR_COMMAND = declaration.Command(
    name="operator",
    summary="For operators: a link to the page that shows how the bot does",
    run=open_page,
    bare=False,
)
