"""How a session of an agent reads: its title, and what the bot says of itself while it works. Pure.

Above: `sessions`. Below: `bot.wording`.
"""

import re
import textwrap
from typing import Final

from bot.reply.draft import THINKING
from bot.wording import shortened

TITLE_CHARS: Final = 80
"""Slack takes 200: a title stands in a narrow list."""

FORGOTTEN: Final = "Forgotten"
"""The title of a session whose first question was forgotten."""

MOST_MESSAGES: Final = 10
MESSAGE_CHARS: Final = 50
"""Slack's limits for what it rotates through beside a working agent."""

_THINKING: Final = (THINKING, "Reading what was said…", "Weighing it up…", "Finding the words…")

_LINK: Final = re.compile(r"(?:https?://|www\.)\S+")
_MARKS: Final = re.compile(r"[`*~]+(?=\S)|(?<=\S)[`*~]+|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^[#>\s-]+", re.MULTILINE)


def title_of(question: str) -> str:
    """What a conversation is about, of its first question: one line; "" if that says nothing in words."""
    plain = _MARKS.sub("", _LINK.sub("…", question))
    title = shortened(plain.strip(" \t\n.:,;"), TITLE_CHARS)
    return title if any(char.isalnum() for char in title) else ""


def status_of(doing: str) -> str:
    """What Slack shows behind the bot's name: "is searching past threads…"."""
    return f"is {doing[0].lower()}{doing[1:]}" if doing.endswith("…") else f"says: {doing}"


def loading_messages(doing: str) -> list[str]:
    """What Slack rotates through meanwhile."""
    if doing == THINKING:
        return list(_THINKING)
    return textwrap.wrap(shortened(doing, MOST_MESSAGES * MESSAGE_CHARS), MESSAGE_CHARS)[:MOST_MESSAGES]
