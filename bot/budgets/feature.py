"""Budgets, as a feature of the chat bot."""

from bot.budgets.budgets import ModelNote
from bot.budgets.settings import BudgetSettings
from bot.chat.feature import Feature


def feature(settings: BudgetSettings) -> Feature:
    return Feature(name="budgets", notes=[ModelNote(settings.footer)])
