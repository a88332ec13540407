"""Models, as a feature of the chat bot."""

from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature
from bot.chat.ports import ModelChoices
from bot.models.commands import MODEL_COMMAND


def feature(models: ModelChoices) -> Feature:
    return Feature(name="models", commands=bound_commands(models))


def bound_commands(models: ModelChoices) -> tuple[BoundCommand, ...]:
    return (MODEL_COMMAND.bound(models),)
