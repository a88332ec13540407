"""What people say about answers, as a feature of the chat bot."""

from agent.ports.explanations import Explanations
from bot.chat.commands.declaration import BoundCommand
from bot.chat.core import Core
from bot.chat.feature import Feature
from bot.feedback.commands import COMMAND
from bot.feedback.service import FeedbackService


def feature(core: Core, explanations: Explanations) -> Feature:
    store = core.store
    service = FeedbackService(store.feedback, explanations, store.replies, core.clock, core.operates)
    return Feature(name="feedback", commands=bound_commands(service))


def bound_commands(service: FeedbackService) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(service),)
