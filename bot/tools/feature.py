"""Which tools people may use, and their decisions about calls, as a feature of the chat bot."""

from agent.consents import APPROVAL
from agent.tools.ask_user import AskUserTool
from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature
from bot.tools.commands import COMMAND, ToolsService


def asking_feature() -> Feature:
    """The tool with which the model asks the person. It is offered only where they can answer."""
    return Feature(name="asking", tools=(AskUserTool(),))


def feature(service: ToolsService) -> Feature:
    jobs = {APPROVAL: service.service.approvers.run}
    return Feature(name="tools", commands=bound_commands(service), jobs=(jobs,))


def bound_commands(service: ToolsService) -> tuple[BoundCommand, ...]:
    return (COMMAND.bound(service),)
