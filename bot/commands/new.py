"""`/new`: begin another conversation where one goes on and on."""

from bot.commands.declaration import Command, CommandCall, CommandScope, Panel


async def begin(call: CommandCall) -> Panel:
    return Panel(await call.caller.begin_conversation())


COMMAND = Command(
    name="new",
    summary="Begin a new conversation here",
    run=begin,
    rolling=True,
    scope=CommandScope.DIRECT,
    bare=False,
)
