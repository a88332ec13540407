"""The rules of a channel, as a feature of the chat bot. Unasked answers are another one (`bot.channels.ambient`)."""

from bot.channels import texts as channels_texts
from bot.channels.commands import COMMAND
from bot.channels.service import PlaceService
from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature


def feature(places: PlaceService | None) -> Feature:
    """`places`: None where there are no channels."""
    return Feature(name="channels", commands=bound_commands(places), messages=places)


def bound_commands(places: PlaceService | None) -> tuple[BoundCommand, ...]:
    return (COMMAND.refusing(channels_texts.NO_CHANNEL_HERE) if places is None else COMMAND.bound(places),)
