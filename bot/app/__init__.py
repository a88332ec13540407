"""The composition root: the one place where settings, store, models, tools and surfaces meet.

Nothing else imports `store`.
"""

from bot.app.operator import (
    add_plugin,
    audited,
    back_up,
    budget,
    charge,
    copy_database,
    discord_application,
    examine,
    examine_servers,
    migrate,
    migrate_back,
    open_checking,
    remove_plugin,
    restore_backup,
    spent,
)
from bot.app.parts import CLOCK, plugins_in_use
from bot.app.platforms import open_terminal, platforms, serve_platforms

__all__ = [
    "CLOCK",
    "add_plugin",
    "audited",
    "back_up",
    "budget",
    "charge",
    "copy_database",
    "discord_application",
    "examine",
    "examine_servers",
    "migrate",
    "migrate_back",
    "open_checking",
    "open_terminal",
    "platforms",
    "plugins_in_use",
    "remove_plugin",
    "restore_backup",
    "serve_platforms",
    "spent",
]
