"""Conversations, as a feature of the chat bot."""

from bot.chat.commands.declaration import BoundCommand
from bot.chat.commands.talking import ASK_COMMAND, HELP_COMMAND, NEW_COMMAND, STOP_COMMAND
from bot.chat.commands.whoami import WHOAMI_COMMAND, WhoIs
from bot.chat.feature import Feature
from bot.chat.ports import ModelChoices, RunningTurns


def feature(models: ModelChoices, turns: RunningTurns, who: WhoIs) -> Feature:
    return Feature(name="conversations", commands=bound_commands(models, turns, who))


def bound_commands(models: ModelChoices, turns: RunningTurns, who: WhoIs) -> tuple[BoundCommand, ...]:
    return (
        ASK_COMMAND.bound(models),
        HELP_COMMAND.bound(None),
        NEW_COMMAND.bound(None),
        STOP_COMMAND.bound(turns),
        WHOAMI_COMMAND.bound(who),
    )
