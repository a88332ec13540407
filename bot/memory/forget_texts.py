"""What is said before something is forgotten. Pure.

Above: `bot.memory.forgetting`. Below: `bot.wording`; `agent.memory.forgetting`.

Rule: what will be erased is counted, and for what was chosen by time or by words its first lines are shown; who agrees
must know to what.
"""

from datetime import datetime, tzinfo
from typing import assert_never

from agent.memory.forgetting import About, During, Everything, OneThread, Preview, Wish
from bot import wording

LINE_CHARS = 100
"""Enough to recognise what was said; it stays on one or two lines of a phone."""

CHANGED = "Meanwhile this has changed; nothing is erased yet."
UNREADABLE = "I no longer understand this button: please write `/forget` again."


def question(wish: Wish, preview: Preview, zone: tzinfo) -> str:
    """What will be forgotten, how much that is, and that it is for good."""
    lines = [f"I will forget {_what(wish, zone)}. {_amount(preview)} This cannot be undone."]
    if preview.lines and isinstance(wish, During | About):
        lines += ["", *(f"- {wording.literal(wording.shortened(line, LINE_CHARS))}" for line in preview.lines)]
        if (more := preview.counts.get("messages", 0) - len(preview.lines)) > 0:
            lines.append(f"- … and {more} more")
    return "\n".join(lines)


def nothing(wish: Wish, zone: tzinfo) -> str:
    """There is nothing that it could erase."""
    match wish:
        case About(_, words):
            return f"Nothing that you said, and nothing that I know about you, speaks of “{wording.literal(words)}”."
        case During():
            return f"I have nothing of {_what(wish, zone)}."
        case OneThread() | Everything():
            return "There is nothing to forget."
        case _:
            assert_never(wish)


def _what(wish: Wish, zone: tzinfo) -> str:
    match wish:
        case OneThread():
            return "this thread: what you said in it, the answers to that, and what I remembered from it"
        case Everything():
            return "everything that you told me: all threads, and all that I remember about you"
        case During(_, period):
            return f"what you said from {_moment(period.since, zone)} to {_moment(period.until, zone)}, everywhere"
        case About(_, words):
            return f"what speaks of “{wording.literal(words)}”: what you said, the answers to that, and what I know"
        case _:
            assert_never(wish)


def _amount(preview: Preview) -> str:
    return f"That is {wording.amounts(preview.counts)}."


def _moment(time: datetime, zone: tzinfo) -> str:
    return f"{time.astimezone(zone):%Y-%m-%d %H:%M}"
