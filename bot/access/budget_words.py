"""What `/budget` is asked, read from its words; the same on every platform. Pure.

Above: `bot.access.budget_desk`. Below: `bot.amounts`.

The words: whose, then what. Whose: "me" (also when nothing is said), "channel" (this one), "everyone", or
"person:ID" and "channel:ID", with which platforms replace a mention. What: nothing (to see it), "5,000,000 tokens",
"$20", "exempt", or "reset" (to the usual budget).
"""

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.admission import Whose
from agent.prices import NANO, Money

USAGE: Final = (
    "Write whose budget (nothing for your own, `channel`, `everyone`, or a person), and to change it "
    "`5,000,000 tokens`, `$20`, `exempt` or `reset`."
)


@dataclass(frozen=True, slots=True)
class Raise:
    """To so many tokens or to so much money; the other stays."""

    tokens: int | None = None
    money: Money | None = None


@dataclass(frozen=True, slots=True)
class Exempt:
    """No budget at all."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The usual budget again."""


Change: TypeAlias = Raise | Exempt | Reset


@dataclass(frozen=True, slots=True)
class Request:
    """`id`: of a person or a channel; "" for the one who asks, and for where they do. `change`: None to see it."""

    whose: Whose
    id: str = ""
    change: Change | None = None


def read(words: str) -> Request | None:
    """The request; None if it is none."""
    found = _REQUEST.fullmatch(" ".join(words.split()))
    if found is None:
        return None
    change = _change(found)
    if found["person"]:
        return Request(Whose.PERSON, found["person"], change)
    if found["channel"]:
        return Request(Whose.CHANNEL, found["channel"], change)
    match (found["word"] or "me").casefold():
        case "channel":
            return Request(Whose.CHANNEL, change=change)
        case "everyone":
            return Request(Whose.EVERYONE, change=change)
        case _:
            return Request(Whose.PERSON, change=change)


def _change(found: re.Match[str]) -> Change | None:
    if found["tokens"]:
        return Raise(tokens=_whole(found["tokens"]))
    if found["dollars"]:
        return Raise(money=Money(_whole(found["dollars"]) * NANO + _cents(found["cents"]) * (NANO // 100)))
    match (found["what"] or "").casefold():
        case "exempt":
            return Exempt()
        case "reset":
            return Reset()
        case _:
            return None


def _whole(number: str) -> int:
    return int(number.replace(",", ""))


def _cents(digits: str | None) -> int:
    return int((digits or "").ljust(2, "0"))


_REQUEST: Final = re.compile(
    r"(?:person:(?P<person>[^\s]+)|channel:(?P<channel>[^\s]+)|(?P<word>me|channel|everyone))?"
    r"(?:(?:^|\s+)(?:(?P<tokens>\d[\d,]{0,18}) tokens?|\$ ?(?P<dollars>\d[\d,]{0,9})(?:\.(?P<cents>\d{1,2}))?"
    r"|(?P<what>exempt|reset|show)))?",
    re.IGNORECASE | re.ASCII,
)
