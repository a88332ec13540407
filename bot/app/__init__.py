"""The composition root: the one place where settings, store, models, tools and surfaces meet.

Nothing else imports `store`.
"""

from bot.app.diagnosis import discord_application, examine
from bot.app.operator import budget, charge, migrate, open_checking, spent
from bot.app.parts import CLOCK
from bot.app.platforms import open_terminal, platforms, serve_platforms

__all__ = [
    "CLOCK",
    "budget",
    "charge",
    "discord_application",
    "examine",
    "migrate",
    "open_checking",
    "open_terminal",
    "platforms",
    "serve_platforms",
    "spent",
]
