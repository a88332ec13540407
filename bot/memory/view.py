"""What `/memory` shows and says, as Markdown. Pure.

Rules. Every entry says where it came from: the day, with the link to the message where there is one, and the kind of
place. What people wrote is shown literally. An entry's number is text: Markdown counts the items of its own lists anew.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from difflib import get_close_matches
from typing import Final, TypeAlias, cast
from zlib import crc32

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of
from agent.memory.facts import CORRECTION, FACTS_KEPT, FACTS_MADE_ROOM, Fact, Scope
from agent.memory.profile import ProfileEntry, ProfileField
from agent.records import Receipt, Remembered
from bot.host import MemoryAnswer, ShownEntry
from bot.texts.formatting import literal, shortened

# What `/memory` is asked, read from its words; the same on every platform, and what buttons say. Pure.
#
# Rules. An entry is named by its number, which is its own for as long as it is known, or by its key, which is what
# buttons carry. What cannot be read gets one sentence that says what can be written.

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
class ShowMemory:
    """The list; `page` counts from 1."""

    page: int = 1


@dataclass(frozen=True, slots=True)
class DeleteEntry:
    which: str


@dataclass(frozen=True, slots=True)
class UndoDelete:
    """Bring back what was deleted; `which` "": the last."""

    which: str = ""


@dataclass(frozen=True, slots=True)
class CorrectEntry:
    which: str
    text: str


@dataclass(frozen=True, slots=True)
class UseEverywhere:
    """Use it in all replies to its person; `on` False: only where it was said."""

    which: str
    on: bool = True


@dataclass(frozen=True, slots=True)
class ExportMemory:
    """`path`: where a terminal writes it; "" to show it."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class PauseLearning:
    """Stop learning, or (`on` False) begin again: `here` only, or everywhere; there `for_everybody`, or for oneself."""

    on: bool = True
    here: bool = False
    for_everybody: bool = False


@dataclass(frozen=True, slots=True)
class MemoryHelp:
    pass


@dataclass(frozen=True, slots=True)
class UnclearMemory:
    """It is no request; `sentence` says what to write instead."""

    sentence: str


Request: TypeAlias = (
    ShowMemory
    | DeleteEntry
    | UndoDelete
    | CorrectEntry
    | UseEverywhere
    | ExportMemory
    | PauseLearning
    | MemoryHelp
    | UnclearMemory
)


def read_memory_request(words: str) -> Request:
    """The request in the words after `/memory`. Never raises."""
    first, _, rest = words.strip().partition(" ")
    word, rest = first.casefold(), rest.strip()
    which, _, text = rest.removeprefix("#").partition(" ")
    names_entry = _WHICH.fullmatch(which) is not None
    where = " ".join(rest.split()).casefold()
    match word:
        case "" | "show" if not rest:
            return ShowMemory()
        case "page" if rest.isascii() and rest.isdecimal() and len(rest) < 7 and int(rest) > 0:
            return ShowMemory(int(rest))
        case "delete" if names_entry and not text:
            return DeleteEntry(which)
        case "undo" if not text and (names_entry or not which):
            return UndoDelete(which)
        case "correct" if names_entry and text.strip():
            return CorrectEntry(which, text.strip())
        case "everywhere" | "here" if names_entry and not text:
            return UseEverywhere(which, on=word == "everywhere")
        case "export":
            return ExportMemory(rest)
        case "pause" | "resume" if where in _HERE | _EVERYBODY | {""}:
            return PauseLearning(word == "pause", here=bool(where), for_everybody=where in _EVERYBODY)
        case "help" if not rest:
            return MemoryHelp()
        case _ if word in _FORMS:
            return UnclearMemory(_FORMS[word])
        case _:
            near = get_close_matches(word, _FORMS, n=1)
            return UnclearMemory(f"Did you mean `/memory {near[0]}`? {_ALL}" if near else _ALL)


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


_NUMBER: Final = "Write the entry's number, as in `/memory {word} 3`."
_PAUSE: Final = "Write `/memory {word}`, `/memory {word} here`, or `/memory {word} here for everybody`."
_FORMS: Final[Mapping[str, str]] = {
    "show": _ALL,
    "page": "Write `/memory page 2` for the second page of the list.",
    "delete": _NUMBER.format(word="delete"),
    "undo": "Write `/memory undo` to bring back what you deleted last, or its number behind it.",
    "correct": "Write the entry's number and what holds instead, as in `/memory correct 3 I prefer tea`.",
    "everywhere": _NUMBER.format(word="everywhere"),
    "here": _NUMBER.format(word="here"),
    "export": _ALL,
    "pause": _PAUSE.format(word="pause"),
    "resume": _PAUSE.format(word="resume"),
    "help": _ALL,
}
"""What can be written where a request of that name cannot be read."""


# The numbers by which a person names what is known about them: once given, never given to anything else. Pure.
#
# Rule. A number stands for what was listed under it, also when the list has changed meanwhile. So numbers have gaps
# where something was forgotten, and of what is listed no more only the newest are kept, so that there are `MOST` or
# as many as the list has; what had one of the others gets a new one.

MOST: Final = 500
"""More than most lists hold; the text of them stays under 20,000 characters."""


@dataclass(frozen=True, slots=True)
class EntryNumbers:
    """`of`: the number of each key, in their order. `last`: the highest that was ever given."""

    of: dict[str, int] = field(default_factory=dict[str, int])
    last: int = 0

    def key(self, number: int) -> str | None:
        """What this number stands for."""
        return next((key for key, given in self.of.items() if given == number), None)

    def including(self, keys: Iterable[str]) -> "EntryNumbers":
        """With a number for each of these."""
        listed = dict.fromkeys(keys)
        new = [key for key in listed if key not in self.of]
        given = self.of | {key: number for number, key in enumerate(new, self.last + 1)}
        gone = [key for key in self.of if key not in listed]
        dropped = set(gone[: max(0, len(given) - MOST)])
        return EntryNumbers({key: given[key] for key in given if key not in dropped}, self.last + len(new))

    def moved(self, key: str, to: str) -> "EntryNumbers":
        """`to` has come in the place of `key`, and has its number."""
        return EntryNumbers({to if one == key else one: number for one, number in self.of.items()}, self.last)

    def encode(self) -> str:
        return json.dumps({"last": self.last, "of": self.of}, separators=(",", ":"))


def decode_numbers(kept: str) -> EntryNumbers:
    """The inverse of `Numbers.encode`; no numbers for anything else."""
    try:
        read: object = json.loads(kept)
    except ValueError:
        return EntryNumbers()
    found = cast("dict[str, object]", read) if isinstance(read, dict) else {}
    last, of = found.get("last"), found.get("of")
    if not isinstance(last, int) or not isinstance(of, dict):
        return EntryNumbers()
    given = cast("dict[str, object]", of)
    return EntryNumbers({key: number for key, number in given.items() if isinstance(number, int)}, last)


BACKSLASH: Final = "\\"
"""At the end of a shortened text, what it escaped is gone."""
PAGE: Final = 6
"""Entries on a page: with their buttons they fit one message on every platform, and one screen of a phone."""

HEADING: Final = "This is what I remember about you:"
NOTHING: Final = "I remember nothing about you yet. Write “remember that …” and I will."
GONE: Final = "There is no such entry any more; `/memory` shows the list."
NO_NUMBER: Final = "There is no entry {number} in your list; `/memory` shows it."
DELETED: Final = (
    "Deleted {said}. `/memory undo` brings it back within a minute; then it is erased. I will not learn it again from "
    "the same message, which stays until you `/forget` it."
)
BACK: Final = "It is back: {said}."
ELSEWHERE: Final = "what you deleted, where it was said"
NOT_BACK: Final = "There is nothing to bring back: what was deleted is erased after a minute."
LATER: Final = "Old bytes may stay in the database files until the next clean-up."
STILL_FOUND: Final = "**A search afterwards still finds it.** Please tell whoever runs this bot."
CORRECTED: Final = "Corrected: your own words stand there now, instead of {said}."
SAID_CHARS: Final = 200
"""Of an entry, where a sentence names it."""
BETWEEN_US: Final = "You said them to me alone, so I use them where only you read, unless you choose “use everywhere”."
NO_SECRETS: Final = "That looks like a password or a key: I keep no secrets, so nothing was changed."
TOO_LONG: Final = "That is longer than an entry may be ({most} characters), so nothing was changed."
USED_EVERYWHERE: Final = (
    "From now on I use it in all replies to you, and in nobody else's. Whoever reads such a reply may read it, too."
)
USED_HERE: Final = "From now on I use it only where it was said."
SAME: Final = "It says exactly that already."
BOUND: Final = "Somebody with greater authority has set that, so nothing was changed."
FULL: Final = (
    "That is as much as I keep for one place ({most} facts): for what is new, the oldest goes that was replaced, or "
    "that no answer has drawn on for longest."
)
BUSY: Final = "I was learning something at that very moment, so nothing was changed; please try again."
NOT_YOUR_WORDS: Final = "That did not come from your own words alone, so I can use it only where it was said."
EXPORTED: Final = "This is everything that I know about you."
NOT_THE_MANAGER: Final = (
    "Only those who manage this channel may decide that for everybody; `/memory pause here` is for you alone."
)

ASSUMED: Final[Mapping[Scope, str]] = {
    Scope.HYPOTHETICAL: " (only assumed, in one conversation)",
    Scope.DRAFT: " (a draft, in one conversation)",
    Scope.SESSION: " (for one conversation)",
    Scope.TASK: " (for one question)",
}
"""Behind what does not hold everywhere."""
FIELDS: Final[Mapping[ProfileField, str]] = {
    ProfileField.COMMUNICATION_STYLE: "How you like answers",
    ProfileField.GOALS: "Goal",
    ProfileField.PREFERENCES: "Preference",
    ProfileField.PROJECTS: "Project",
    ProfileField.EXPERTISE_AREAS: "You know well",
    ProfileField.CONSTRAINTS: "Limit",
    ProfileField.INTERESTS: "Interest",
    ProfileField.SUCCESS_PATTERNS: "What helped you",
    ProfileField.FAILURE_PATTERNS: "What did not help you",
}
"""What the entries of a profile are called."""


def key_of(one: Remembered) -> str:
    """What stands for it in words and buttons: for exactly what it says now.

    A fact is never edited. An entry that says something else, as more was learned, is another one for whoever decides.
    """
    if not isinstance(one, ProfileEntry):
        return f"f:{one.id}"
    return f"p:{one.id}-{crc32(f'{one.field} {one.said}'.encode('utf-8', 'replace')):08x}"


def entry_sentence(one: Remembered) -> str:
    """What an entry says, in a sentence."""
    text = f"{FIELDS[one.field]}: {literal(one.said)}" if isinstance(one, ProfileEntry) else literal(one.said)
    return f"“{shortened(text, SAID_CHARS).rstrip(BACKSLASH)}”"


def listed_entries(
    known: Sequence[Remembered], numbers: EntryNumbers, zone: tzinfo, own_words: Container[str]
) -> tuple[ShownEntry, ...]:
    """These, in the order of their numbers, which `numbers` holds; days are of `zone`.

    `own_words`: the ids of the facts that say nothing but what the person wrote themselves. What was learned comes from
    nothing else.
    """
    shown = (_entry(one, numbers.of[key_of(one)], zone, own_words) for one in known)
    return tuple(sorted(shown, key=lambda entry: entry.number))


def page_of(known: Sequence[Remembered], numbers: EntryNumbers, page: int) -> tuple[list[Remembered], int, int]:
    """What stands on a page, the number of it and of all pages; the nearest page, if there is no such one."""
    pages = max(1, -(-len(known) // PAGE))
    here = min(max(page, 1), pages)
    in_order = sorted(known, key=lambda one: numbers.of[key_of(one)])
    return in_order[(here - 1) * PAGE : here * PAGE], here, pages


def as_list(answer: MemoryAnswer) -> str:
    """The answer with its entries as text, for where there are no buttons."""
    lines = [f"- {entry_line(entry)}" for entry in answer.entries]
    if answer.pages > 1:
        another = answer.page % answer.pages + 1
        lines += ["", f"Page {answer.page} of {answer.pages}; `/memory page {another}` shows another."]
    return "\n".join([answer.text, "", *lines]) if lines else answer.text


def entry_line(entry: ShownEntry, limit: int | None = None) -> str:
    """One entry on one line; of its text at most so many characters."""
    text = entry.text if limit is None else shortened(entry.text, limit).rstrip(BACKSLASH)
    return f"**{entry.number}** {text} ({entry.source})"


def deleted_text(one: Remembered, number: int | None, receipt: Receipt) -> str:
    """An entry was deleted, and can be brought back. It claims no more than the receipt does."""
    done = DELETED.format(said=f"entry {number}, {entry_sentence(one)}" if number else entry_sentence(one))
    return f"{done} {STILL_FOUND}" if receipt.found_again else done


def corrected_text(one: Remembered, receipt: Receipt, *, narrower: bool = False) -> str:
    """It was deleted, and the person's words are in its place; `narrower`: they may be used in fewer places."""
    done = CORRECTED.format(said=entry_sentence(one))
    return _proved(f"{done} {BETWEEN_US}" if narrower else done, receipt)


def pause_text(*, on: bool, here: bool, for_everybody: bool) -> str:
    """Learning was paused, or goes on."""
    whom = "anybody says" if for_everybody else "you say"
    where = " in this channel" if here else ""
    if not on:
        return f"I learn again from what {whom}{where}."
    asked = "somebody asks" if for_everybody else "you ask"
    back = _back(here=here, for_everybody=for_everybody)
    return (
        f"I have stopped learning from what {whom}{where}. What is said meanwhile is never learned, unless {asked} me "
        f"to remember it; {back} What is remembered already stays; `/memory` shows it."
    )


def lasting_text(pauses: Sequence[PauseLearning]) -> str:
    """Which pauses hold where this is read; "" for none."""
    return "\n".join(
        f"Learning is paused{' in this channel' if one.here else ''}{' for everybody' if one.for_everybody else ''}; "
        f"{_back(here=one.here, for_everybody=one.for_everybody)}"
        for one in pauses
    )


def full_text(known: Sequence[Remembered]) -> str:
    """What is said where a place holds as much as it may; "" where none does."""
    many = Counter(one.audience for one in known if isinstance(one, Fact))
    return FULL.format(most=FACTS_KEPT) if max(many.values(), default=0) >= FACTS_KEPT - FACTS_MADE_ROOM else ""


def help_text() -> str:
    """What can be written, and what it does."""
    return "\n".join(f"- `{written}`: {what}" for written, what in HELP.items())


def _entry(one: Remembered, number: int, zone: tzinfo, own_words: Container[str]) -> ShownEntry:
    if isinstance(one, ProfileEntry):
        text, plain, own = f"{FIELDS[one.field]}: {literal(one.said)}", one.text, True
    else:
        review = " (this rests on something that has changed)" if one.needs_review else ""
        text, plain, own = literal(one.said) + ASSUMED.get(one.scope, "") + review, one.value, one.id in own_words
    return ShownEntry(
        key_of(one),
        number,
        text,
        _source(one, zone),
        may_go_everywhere=own and not one.everywhere,
        everywhere=one.everywhere,
        plain=plain,
    )


def _back(*, here: bool, for_everybody: bool) -> str:
    where = f"{' here' if here else ''}{' for everybody' if for_everybody else ''}"
    return f"`/memory resume{where}` goes on."


def _proved(done: str, receipt: Receipt) -> str:
    if receipt.found_again:
        return f"{done} {STILL_FOUND}"
    return done if receipt.bytes_gone or receipt.kept_by_server else f"{done} {LATER}"


def _source(one: Remembered, zone: tzinfo) -> str:
    is_entry = isinstance(one, ProfileEntry)
    said = (one.time if is_entry else one.timestamp).astimezone(zone).date().isoformat()
    when = f"[{said}]({one.permalink})" if one.permalink else said
    stated = not one.sources if is_entry else one.source == CORRECTION
    notes = (["your correction"] if stated else []) + (["used everywhere"] if one.everywhere else [])
    return ", ".join([when, _where(one.audience), *notes])


def _where(audience: str) -> str:
    """The kind of place in which it was said; the link leads to the place itself."""
    match audience_of(audience):
        case PersonAudience():
            return "between us"
        case GroupAudience():
            return "in a private place"
        case TeamAudience():
            return "in a public channel"
