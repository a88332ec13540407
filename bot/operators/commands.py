"""`/operator`."""

from bot.chat.commands import declaration
from bot.chat.panels import Panel
from bot.operators.service import OperatorService


async def open_page(service: OperatorService, call: declaration.CommandCall) -> Panel:
    return await service.link(call.caller.person.id)


OPERATOR_COMMAND = declaration.Command(
    name="operator",
    summary="For operators: a link to the page that shows how the bot does",
    run=open_page,
    bare=False,
)
