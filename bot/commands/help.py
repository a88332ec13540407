"""`/help`: what can be written to the bot."""

from bot.commands.declaration import Command, CommandCall, Panel


async def show(call: CommandCall) -> Panel:
    return Panel(call.caller.help())


COMMAND = Command(name="help", summary="Say what I can do, and how to ask for it", run=show)
