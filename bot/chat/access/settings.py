"""Who may talk to the bot, and how often: the settings."""

import re

from bot.settings.parsers import id_list

_ID = re.compile(r"[A-Za-z0-9]+", re.ASCII)

# Ids as Slack and Discord write them, and as the bot does; a person's name never matches.
_PERSON = re.compile(r"(?:slack:[A-Z0-9]+:)?[UWB][A-Z0-9]+|(?:discord:)?[0-9]+|terminal:\S+", re.ASCII)

ids = id_list(_ID, "ids with commas between them, as in B0123,B0456")

people = id_list(
    _PERSON,
    "user ids, no names, with commas between them, as in U0123,184467440737095516",
)
