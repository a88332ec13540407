"""What is said before something is forgotten. Pure.

Above: `bot.memory.forgetting`. Below: `bot.wording`, `bot.amounts`;
`agent.memory.forgetting`.

Rule: who agrees must know to what. What will be erased is counted, for what was chosen by time or by words its first
lines are shown, and moments stand with the time zone that they are meant in: where a platform tells none, that is UTC.
"""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final, assert_never

from agent.memory.forgetting import About, During, Everything, OneThread, Preview, Wish
from agent.memory.periods import Period
from bot import wording
from bot.amounts import counted

LINE_CHARS = 100
"""Enough to recognise what was said; it stays on one or two lines of a phone."""

OTHERS: Final = "said to others, and so not shown here"

CHANGED = "Meanwhile this has changed; nothing is erased yet."
BUSY = "I am still looking for what you asked me to forget before; please wait for that, and ask again then."
UNREADABLE = "I no longer understand this button: please write `/forget` again."


def question(wish: Wish, preview: Preview, zone: tzinfo) -> str:
    """What will be forgotten, how much that is, and that it is for good."""
    lines = [f"I will forget {_what(wish, zone)}. {_amount(preview)} This cannot be undone."]
    if preview.lines and isinstance(wish, During | About):
        lines += ["", *_listed(preview.lines, sum(_things(preview).values()))]
    if preview.retold.count:
        told = counted(preview.retold.count, "answer", "answers")
        lines += ["", f"{told} of mine elsewhere, which I gave with what you said there, will go with it:"]
        lines += _listed(preview.retold.lines, preview.retold.count)
    if preview.related.count:
        may = counted(preview.related.count, "message", "messages")
        lines += [
            "",
            f"{may} elsewhere may say the same in other words. Not forgotten unless you choose so:",
        ]
        lines += _listed(preview.related.lines, preview.related.count)
    return "\n".join(lines)


def _listed(lines: Sequence[str], count: int) -> list[str]:
    """These, shortened, and how many more there are."""
    shown = [f"- {wording.literal(wording.shortened(line, LINE_CHARS))}" for line in lines]
    more = count - len(lines)
    return [*shown, f"- … and {more} more"] if more > 0 and lines else shown or [f"- {OTHERS}"]


def nothing(wish: OneThread | During | About, zone: tzinfo) -> str:
    """There is nothing that it could erase."""
    match wish:
        case About(_, words):
            return f"Nothing that you said, and nothing that I know about you, speaks of “{wording.literal(words)}”."
        case OneThread():
            return "I keep nothing of this thread: nothing that you said in it, and nothing that I learned from it."
        case During(_, period):
            return f"I have nothing that you said {_span(period, zone)}."
        case _:
            assert_never(wish)


def _what(wish: Wish, zone: tzinfo) -> str:
    match wish:
        case OneThread():
            return "this thread: what you said in it, the answers to that, and what I remembered from it"
        case Everything():
            return "everything that you told me: all threads, and all that I remember about you"
        case During(_, period):
            return f"what you said {_span(period, zone)}, everywhere"
        case About(_, words):
            return f"what speaks of “{wording.literal(words)}”: what you said, the answers to that, and what I know"
        case _:
            assert_never(wish)


def _amount(preview: Preview) -> str:
    if preview.is_empty:
        return "Nothing of it is kept at the moment."
    return f"That is {wording.amounts(preview.counts)}."


def _things(preview: Preview) -> dict[str, int]:
    """What falls, without where it stands."""
    return {kind: number for kind, number in preview.counts.items() if kind != wording.THREADS}


def _span(period: Period, zone: tzinfo) -> str:
    since, until = (f"{time.astimezone(zone):%A %Y-%m-%d %H:%M}" for time in (period.since, period.until))
    return f"from {since} to {until} ({zone})"
