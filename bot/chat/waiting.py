"""What a turn waits for, shown to its asker without being asked for: what the button below its reply shows, too."""

from dataclasses import dataclass

from agent.incoming import Incoming
from bot.chat.commands.declaration import AnyCommand, BoundCommands, CommandCall, PressedReply, command_below
from bot.chat.message_caller import MessageCaller
from bot.chat.panels import Panel
from bot.chat.reply.surface import ReplyAction


@dataclass(frozen=True, slots=True)
class WaitingPanel:
    """`command`: the one that gets what is pressed in the panel."""

    command: AnyCommand
    panel: Panel


async def waiting_panel(commands: BoundCommands, incoming: Incoming, fields: int, turn: int) -> WaitingPanel | None:
    """Return what this turn waits for, for its asker; None if nothing is left to decide. Raises CogencyError.

    `fields`: how many a form can have there.
    """
    command = command_below(commands, ReplyAction.DECIDE)
    button = await command.presses[ReplyAction.DECIDE](PressedReply(turn, incoming.person.id))
    panel = await command.run(CommandCall(words=button.words, caller=MessageCaller(incoming, fields)))
    return WaitingPanel(command.declared, panel) if panel.actions else None
