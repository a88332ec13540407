"""The requests of `/memory`: what people write behind it, as values. Pure."""

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeAlias

from bot.memory import texts as memory_texts

# The requests of `/memory`, parsed from the words after it; the same on every platform and in buttons. Pure.
#
# Rules. An entry is referred to by its number, which it keeps while it exists, or by its key, which buttons carry.
# Words that cannot be parsed get one sentence that says what to write.

OF_TURN: Final = "t:"  # Precedes a turn's number where an entry's key could stand


@dataclass(frozen=True, slots=True)
class ShowMemory:
    """Show the list; `page` counts from 1."""

    page: int = 1


@dataclass(frozen=True, slots=True)
class ShowEntry:
    """Show one entry in full."""

    ref: str


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    ref: str


@dataclass(frozen=True, slots=True)
class UndoDelete:
    """Restore a deleted entry; `ref` "": the last one."""

    ref: str = ""


@dataclass(frozen=True, slots=True)
class CorrectEntry:
    ref: str
    text: str


@dataclass(frozen=True, slots=True)
class UseEverywhere:
    """Use an entry in all replies to its person; `on` False: only at the place where it was written."""

    ref: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class SettleDoubt:
    """Decide about an entry that is marked as possibly outdated: the newer one replaces it, or (`replaced` False) both
    hold.
    """

    ref: str
    replaced: bool


@dataclass(frozen=True, slots=True)
class KeepEntry:
    """An entry that was offered for review still holds."""

    ref: str


@dataclass(frozen=True, slots=True)
class ExportMemory:
    """`path`: the file that a terminal writes; "" to print the export."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class PauseLearning:
    """Stop learning, or (`on` False) resume it: in this channel (`here`) or everywhere. In a channel, `for_everybody`
    or only for the viewer.
    """

    on: bool = True
    here: bool = False
    for_everybody: bool = False


@dataclass(frozen=True, slots=True)
class ShareOwn:
    """Let the viewer's public messages serve answers to others where sharing is on; `on` False: withhold them."""

    on: bool


@dataclass(frozen=True, slots=True)
class MemoryHelp:
    pass


@dataclass(frozen=True, slots=True)
class UnclearMemory:
    """The words are no request; `sentence` says what to write instead."""

    sentence: str


Request: TypeAlias = (
    ShowMemory
    | ShowEntry
    | DeleteEntry
    | UndoDelete
    | CorrectEntry
    | UseEverywhere
    | SettleDoubt
    | KeepEntry
    | ExportMemory
    | PauseLearning
    | ShareOwn
    | MemoryHelp
    | UnclearMemory
)


def read_memory_request(words: str) -> Request:
    """Return the request in the words after `/memory`. Never raises."""
    first, _, rest = words.strip().partition(" ")
    word, rest = first.casefold(), rest.strip()
    # Entries are shown as "#3", and people type both forms.
    ref, _, text = rest.removeprefix("#").partition(" ")
    names_entry = _REF.fullmatch(ref) is not None
    where = " ".join(rest.split()).casefold()
    match word:
        case "" | "show" if not rest:
            return ShowMemory()
        case "show" if names_entry and not text:
            return ShowEntry(ref)
        # Bounded before `int`, which refuses very long numbers with an error.
        case "page" if rest.isascii() and rest.isdecimal() and len(rest) < 7 and int(rest) > 0:
            return ShowMemory(int(rest))
        case "delete" if names_entry and not text:
            return DeleteEntry(ref)
        case "undo" if not text and (names_entry or not ref):
            return UndoDelete(ref)
        case "correct" if names_entry and text.strip():
            return CorrectEntry(ref, text.strip())
        case "everywhere" | "here" if names_entry and not text:
            return UseEverywhere(ref, on=word == "everywhere")
        case "both" | "replace" if names_entry and not text:
            return SettleDoubt(ref, replaced=word == "replace")
        case "keep" if names_entry and not text:
            return KeepEntry(ref)
        case "export":
            return ExportMemory(rest)
        case "pause" | "resume" if where in _HERE | _EVERYBODY | {""}:
            return PauseLearning(word == "pause", here=bool(where), for_everybody=where in _EVERYBODY)
        # Without a word it shows its usage below: a bare "share" must not change anything.
        case "share" if where in {"on", "off"}:
            return ShareOwn(where == "on")
        case "help" if not rest:
            return MemoryHelp()
        case _ if word in memory_texts.MEMORY_FORMS:
            return UnclearMemory(memory_texts.MEMORY_FORMS[word])
        case _:
            close = get_close_matches(word, memory_texts.MEMORY_FORMS, n=1)
            hint = memory_texts.DID_YOU_MEAN.format(word=close[0]) if close else ""
            return UnclearMemory(hint + memory_texts.MEMORY_USAGE)


def export_path(words: str) -> str:
    """Return the file to which these words export; "" for none."""
    request = read_memory_request(words)
    return request.path if isinstance(request, ExportMemory) else ""


def show_words(key: str) -> str:
    return f"show {key}"


def delete_words(key: str) -> str:
    return f"delete {key}"


def undo_words(key: str) -> str:
    return f"undo {key}"


def undo_turn_words(turn: int) -> str:
    return undo_words(f"{OF_TURN}{turn}")


def correct_words(key: str) -> str:
    """Return the words before which the entry's new text is written."""
    return f"correct {key}"


def settle_words(key: str, *, replaced: bool) -> str:
    return f"{'replace' if replaced else 'both'} {key}"


def keep_words(key: str) -> str:
    return f"keep {key}"


def everywhere_words(key: str, *, on: bool) -> str:
    return f"{'everywhere' if on else 'here'} {key}"


_REF: Final = re.compile(r"\d{1,9}|[a-z]:[\w-]{1,80}", re.ASCII)
_HERE: Final = frozenset({"here", "in this channel"})
_EVERYBODY: Final = frozenset({"here for everybody", "here for everyone", "in this channel for everybody"})

REPLACED: Final = 3  # Of the facts that an entry replaced: as many are quoted
