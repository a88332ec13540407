"""What operators see of the bot, as a feature of the chat bot."""

from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature
from bot.operators.commands import OPERATOR_COMMAND
from bot.operators.service import OperatorService


def feature(service: OperatorService) -> Feature:
    return Feature(name="operators", commands=bound_commands(service))


def bound_commands(service: OperatorService) -> tuple[BoundCommand, ...]:
    return (OPERATOR_COMMAND.bound(service),)
