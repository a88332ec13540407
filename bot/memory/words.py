"""What `/memory` is asked, read from its words; the same on every platform, and what buttons say. Pure.

Rules. An entry is named by its number, which is its own for as long as it is known, or by its key, which is what
buttons carry. What cannot be read gets one sentence that says what can be written.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

OF_TURN: Final = "t:"
"""Before a turn's number, in the place of an entry's."""
HELP: Final[Mapping[str, str]] = {
    "/memory": "see what I remember about you, and where it came from",
    "/memory delete 3": "erase entry 3; I do not learn it again from the same message",
    "/memory undo": "bring back what you deleted last, within a minute",
    "/memory correct 3 NEW WORDS": "put your own words in its place",
    "/memory everywhere 3": "use it in all my replies to you, wherever it was said",
    "/memory here 3": "use it only where it was said, again",
    "/memory export": "get everything that I know about you, as JSON",
    "/memory pause": "stop learning from what you say",
    "/memory pause here": "the same in this channel only; “for everybody” behind it is for those who manage it",
    "/memory resume": "learn again; also “resume here”",
}
"""How each request is written, and what it does."""


@dataclass(frozen=True, slots=True)
class Show:
    """The list; `page` counts from 1."""

    page: int = 1


@dataclass(frozen=True, slots=True)
class Delete:
    which: str


@dataclass(frozen=True, slots=True)
class Undo:
    """Bring back what was deleted; `which` "": the last."""

    which: str = ""


@dataclass(frozen=True, slots=True)
class Correct:
    which: str
    text: str


@dataclass(frozen=True, slots=True)
class Everywhere:
    """Use it in all replies to its person; `on` False: only where it was said."""

    which: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class Export:
    """`path`: where a terminal writes it; "" to show it."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    """Stop learning, or (`on` False) begin again: `here` only, or everywhere; there `for_everybody`, or for oneself."""

    on: bool = True
    here: bool = False
    for_everybody: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    pass


@dataclass(frozen=True, slots=True)
class Unclear:
    """It is no request; `sentence` says what to write instead."""

    sentence: str


Request: TypeAlias = Show | Delete | Undo | Correct | Everywhere | Export | Pause | Help | Unclear


def read(words: str) -> Request:
    """The request in the words after `/memory`. Never raises."""
    first, _, rest = words.strip().partition(" ")
    word, rest = first.casefold(), rest.strip()
    if not word:
        return Show()
    if word in _READERS:
        return _READERS[word](rest)
    near = get_close_matches(word, _READERS, n=1)
    return Unclear(f"Did you mean `/memory {near[0]}`? {_ALL}" if near else _ALL)


def delete_words(key: str) -> str:
    return f"delete {key}"


def undo_words(key: str) -> str:
    return f"undo {key}"


def undo_turn_words(turn: int) -> str:
    """Takes back what this turn has kept."""
    return undo_words(f"{OF_TURN}{turn}")


def correct_words(key: str) -> str:
    """What the entry shall say stands behind them."""
    return f"correct {key}"


def everywhere_words(key: str, *, on: bool) -> str:
    return f"{'everywhere' if on else 'here'} {key}"


def page_words(page: int) -> str:
    return f"page {page}"


_ALL: Final = (
    "After `/memory` you may write `delete 3`, `undo`, `correct 3 new words`, `everywhere 3`, `here 3`, `export`, "
    "`pause`, `resume` or `help`; alone it shows the list."
)
_WHICH: Final = re.compile(r"\d{1,9}|[a-z]:[\w-]{1,80}", re.ASCII)
_HERE: Final = frozenset({"here", "in this channel"})
_EVERYBODY: Final = frozenset({"here for everybody", "here for everyone", "in this channel for everybody"})


def _show(rest: str) -> Request:
    return Unclear(_ALL) if rest else Show()


def _page(rest: str) -> Request:
    number = rest.isascii() and rest.isdecimal() and len(rest) < 7 and int(rest) > 0
    return Show(int(rest)) if number else Unclear("Write `/memory page 2` for the second page of the list.")


def _delete(rest: str) -> Request:
    which = rest.removeprefix("#")
    return Delete(which) if _WHICH.fullmatch(which) else Unclear("Write the entry's number, as in `/memory delete 3`.")


def _undo(rest: str) -> Request:
    which = rest.removeprefix("#")
    if not which or _WHICH.fullmatch(which):
        return Undo(which)
    return Unclear("Write `/memory undo` to bring back what you deleted last, or its number behind it.")


def _correct(rest: str) -> Request:
    first, _, text = rest.partition(" ")
    which, text = first.removeprefix("#"), text.strip()
    if _WHICH.fullmatch(which) and text:
        return Correct(which, text)
    return Unclear("Write the entry's number and what holds instead, as in `/memory correct 3 I prefer tea`.")


def _use(word: str, *, on: bool) -> Callable[[str], Request]:
    def read_which(rest: str) -> Request:
        which = rest.removeprefix("#")
        if _WHICH.fullmatch(which):
            return Everywhere(which, on=on)
        return Unclear(f"Write the entry's number, as in `/memory {word} 3`.")

    return read_which


def _pause(word: str, *, on: bool) -> Callable[[str], Request]:
    def read_where(rest: str) -> Request:
        where = " ".join(rest.split()).casefold()
        if where in _HERE | _EVERYBODY | {""}:
            return Pause(on, here=bool(where), for_everybody=where in _EVERYBODY)
        return Unclear(f"Write `/memory {word}`, `/memory {word} here`, or `/memory {word} here for everybody`.")

    return read_where


def _help(rest: str) -> Request:
    return Unclear(_ALL) if rest else Help()


_READERS: Final[Mapping[str, Callable[[str], Request]]] = {
    "show": _show,
    "page": _page,
    "delete": _delete,
    "undo": _undo,
    "correct": _correct,
    "everywhere": _use("everywhere", on=True),
    "here": _use("here", on=False),
    "export": Export,
    "pause": _pause("pause", on=True),
    "resume": _pause("resume", on=False),
    "help": _help,
}
