"""`/stop`: end answers that grow or wait."""

from bot.commands.declaration import Command, CommandCall, Panel
from bot.texts import reply_texts


async def stop(call: CommandCall) -> Panel:
    meant = await call.caller.stoppable()
    stopped = [await call.host.turns.stop_conversation(conversation) for conversation in meant.conversations]
    return Panel(reply_texts.STOPPING if any(stopped) else f"{reply_texts.NOTHING_RUNNING} {meant.otherwise}".strip())


COMMAND = Command(name="stop", summary="Stop the answer that is growing here", run=stop, bare=False)
"""A message that says "stop" is read by itself: it means the conversation in which it stands."""
