"""What answers were drawn from, as a feature of the chat bot."""

from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature
from bot.explanations.commands import COMMAND
from bot.explanations.notes import WhyNote
from bot.explanations.service import ExplanationService


def feature(service: ExplanationService) -> Feature:
    return Feature(name="explanations", commands=bound_commands(service), notes=[WhyNote()])


def bound_commands(service: ExplanationService) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(service),)
