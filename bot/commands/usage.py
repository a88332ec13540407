"""`/usage`: what somebody's questions took."""

from bot.commands.declaration import Command, CommandCall, Panel
from bot.spending_text import account_text


async def show(call: CommandCall) -> Panel:
    return Panel(account_text(await call.host.budgets.usage(call.caller.person.id)))


COMMAND = Command(
    name="usage",
    summary="Show what your questions took today and this month",
    run=show,
    phrases=("show usage", "show my usage"),
)
