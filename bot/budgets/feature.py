"""Budgets, as a feature of the chat bot."""

from agent.budget_days import BUDGET
from bot.budgets.budgets import ModelNote
from bot.budgets.commands import COMMAND, USAGE_COMMAND
from bot.budgets.extensions import ExtensionService
from bot.budgets.service import BudgetService
from bot.budgets.settings import BudgetSettings
from bot.chat.commands.declaration import BoundCommand
from bot.chat.feature import Feature


def feature(settings: BudgetSettings, service: BudgetService, extensions: ExtensionService) -> Feature:
    return Feature(
        name="budgets",
        commands=bound_commands(service),
        jobs=[{BUDGET: extensions.run}],
        notes=[ModelNote(settings.footer)],
    )


def bound_commands(service: BudgetService) -> tuple[BoundCommand, ...]:
    return (USAGE_COMMAND.bound(service), COMMAND.bound(service))
