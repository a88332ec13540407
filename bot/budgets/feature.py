"""Budgets, as a feature of the chat bot."""

from bot.budgets.budgets import ModelNote
from bot.budgets.commands import COMMAND, USAGE_COMMAND
from bot.budgets.service import BudgetService
from bot.budgets.settings import BudgetSettings
from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature


def feature(settings: BudgetSettings, service: BudgetService) -> Feature:
    return Feature(name="budgets", commands=bound_commands(service), notes=[ModelNote(settings.footer)])


def bound_commands(service: BudgetService) -> tuple[BoundCommand, ...]:
    return (USAGE_COMMAND.bound(service), COMMAND.bound(service))
