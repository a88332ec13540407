"""What `/policy` is asked, read from its words; the same on every platform. Pure.

Above: `bot.memory.policy`. Below: `agent.memory.facts`.

The words: nothing or "list"; "history"; "set budget: at most 5,000 EUR a month" (without a colon it has no name, and
replaces nothing by it); "remove 3", with the number that the list shows.
"""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.memory.facts import ConstraintType

USAGE: Final = (
    "Write `list`, `history`, `set NAME: WHAT HOLDS`, as in `set budget: at most 5,000 EUR a month`, or `remove 3`."
)
MAX_NAME_CHARS: Final = 80
MAX_CHARS: Final = 500
"""Policies stand in every context of their place."""
TOO_LONG: Final = f"Please write at most {MAX_CHARS} characters, and {MAX_NAME_CHARS} before the colon."
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Show:
    """What holds; `past`: and what did."""

    past: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """`name` may be ""."""

    name: str
    text: str
    kind: ConstraintType = ConstraintType.POLICY


@dataclass(frozen=True, slots=True)
class Remove:
    number: str


@dataclass(frozen=True, slots=True)
class Unclear:
    sentence: str


Request: TypeAlias = Show | Set | Remove | Unclear


def read(words: str) -> Request:
    """The request; what is none is `Unclear`, with one sentence."""
    text = " ".join(words.split())
    word, _, rest = text.partition(" ")
    match word.casefold():
        case "" | "list" | "show" if not rest:
            return Show()
        case "history" if not rest:
            return Show(past=True)
        case "set" if rest:
            return _set(rest)
        case "remove" | "delete" if (number := _NUMBER.fullmatch(rest)) is not None:
            return Remove(number[1])
        case _:
            return Unclear(USAGE)


def _set(rest: str) -> Request:
    name, colon, text = (part.strip() for part in rest.partition(": "))
    if not colon:
        name, text = "", rest.strip()
    # One plain word is a name without what holds; many languages write a whole rule without a blank.
    is_name_alone = not colon and text.isascii() and " " not in text
    if not text or text == ":" or text.endswith(":") or is_name_alone:
        return Unclear(USAGE)
    if len(name) > MAX_NAME_CHARS or len(text) > MAX_CHARS:
        return Unclear(TOO_LONG)
    return Set(name, text, _kind(name))


def _kind(name: str) -> ConstraintType:
    """What it is about by its name: "travel budget", "deadline of Apollo"."""
    words = _WORD.findall(name.casefold())
    return next((kind for kind in ConstraintType if kind.value in words), ConstraintType.POLICY)


_NUMBER: Final = re.compile(r"#?(\d{1,12})", re.ASCII)
