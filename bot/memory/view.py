"""What `/memory` shows and says, as Markdown, and everything that is known of a person as JSON. Pure.

Rules. Every entry says where it came from: the day, with the link to the message where there is one, and the kind of
place. What people wrote is shown literally. An entry's number is text: Markdown counts the items of its own lists anew.
"""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Final, TypeAlias, cast
from zlib import crc32

from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of, label
from agent.memory.facts import CORRECTION, FACTS_KEPT, FACTS_MADE_ROOM, Fact
from agent.memory.profile import ProfileEntry
from agent.messages import Json
from agent.records import Author, Person, Receipt, Remembered, StoredMessage, Thread
from agent.schedules import Schedule
from agent.spending import NANO, SpendingAccount, Spent
from bot.host import ShownEntry
from bot.texts import memory_texts
from bot.texts.formatting import literal, shortened

# What `/memory` is asked, read from its words; the same on every platform, and what buttons say. Pure.
#
# Rules. An entry is named by its number, which is its own for as long as it is known, or by its key, which is what
# buttons carry. What cannot be read gets one sentence that says what can be written.

OF_TURN: Final = "t:"  # Before a turn's number, in the place of an entry's


@dataclass(frozen=True, slots=True)
class ShowMemory:
    """The list; `page` counts from 1."""

    page: int = 1


@dataclass(frozen=True, slots=True)
class ShowEntry:
    """An entry, whole."""

    which: str


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
class ShareOwn:
    """Leave what they say in public to serve others where that is switched on, or (`on` False) take it out."""

    on: bool


@dataclass(frozen=True, slots=True)
class MemoryHelp:
    pass


@dataclass(frozen=True, slots=True)
class UnclearMemory:
    """It is no request; `sentence` says what to write instead."""

    sentence: str


Request: TypeAlias = (
    ShowMemory
    | ShowEntry
    | DeleteEntry
    | UndoDelete
    | CorrectEntry
    | UseEverywhere
    | ExportMemory
    | PauseLearning
    | ShareOwn
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
        case "show" if names_entry and not text:
            return ShowEntry(which)
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
        case "share" if where in {"on", "off"}:
            return ShareOwn(where == "on")
        case "help" if not rest:
            return MemoryHelp()
        case _ if word in memory_texts.MEMORY_FORMS:
            return UnclearMemory(memory_texts.MEMORY_FORMS[word])
        case _:
            near = get_close_matches(word, memory_texts.MEMORY_FORMS, n=1)
            meant = memory_texts.DID_YOU_MEAN.format(word=near[0]) if near else ""
            return UnclearMemory(meant + memory_texts.MEMORY_USAGE)


def show_words(key: str) -> str:
    return f"show {key}"


def delete_words(key: str) -> str:
    return f"delete {key}"


def undo_words(key: str) -> str:
    return f"undo {key}"


def undo_turn_words(turn: int) -> str:
    return undo_words(f"{OF_TURN}{turn}")


def correct_words(key: str) -> str:
    """What the entry shall say stands behind them."""
    return f"correct {key}"


def everywhere_words(key: str, *, on: bool) -> str:
    return f"{'everywhere' if on else 'here'} {key}"


def page_words(page: int) -> str:
    return f"page {page}"


_WHICH: Final = re.compile(r"\d{1,9}|[a-z]:[\w-]{1,80}", re.ASCII)
_HERE: Final = frozenset({"here", "in this channel"})
_EVERYBODY: Final = frozenset({"here for everybody", "here for everyone", "in this channel for everybody"})


# The numbers by which a person names what is known about them: once given, never given to anything else. Pure.
#
# Rule. A number stands for what was listed under it, also when the list has changed meanwhile. So numbers have gaps
# where something was forgotten, and of what is listed no more only the newest are kept, so that there are `MOST` or
# as many as the list has; what had one of the others gets a new one.

MOST: Final = 500  # More than most lists hold; the text of them stays under 20,000 characters


@dataclass(frozen=True, slots=True)
class EntryNumbers:
    """`of`: the number of each key, in their order. `last`: the highest that was ever given."""

    of: dict[str, int] = field(default_factory=dict[str, int])
    last: int = 0

    def key(self, number: int) -> str | None:
        return next((key for key, given in self.of.items() if given == number), None)

    def including(self, keys: Iterable[str]) -> "EntryNumbers":
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


BACKSLASH: Final = "\\"  # At the end of a shortened text, what it escaped is gone
# Entries on a page: with their buttons they fit one message on every platform, and one screen of a phone.
PAGE: Final = 6

SAID_CHARS: Final = 200  # Of an entry, where a sentence names it


def key_of(one: Remembered) -> str:
    """What stands for it in words and buttons: for exactly what it says now.

    A fact is never edited. An entry that says something else, as more was learned, is another one for whoever decides.
    """
    if not isinstance(one, ProfileEntry):
        return f"f:{one.id}"
    return f"p:{one.id}-{crc32(f'{one.field} {one.said}'.encode('utf-8', 'replace')):08x}"


def entry_sentence(one: Remembered) -> str:
    """What an entry says, in a sentence."""
    text = (
        f"{memory_texts.FIELDS[one.field]}: {literal(one.said)}" if isinstance(one, ProfileEntry) else literal(one.said)
    )
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


def page_of(
    known: Sequence[Remembered], numbers: EntryNumbers, page: int, key: str | None = None
) -> tuple[list[Remembered], int, int]:
    """What stands on a page, the number of it and of all pages; the nearest page, if there is no such one.

    `key`: of an entry, whose page is meant if it has one.
    """
    in_order = sorted(known, key=lambda one: numbers.of[key_of(one)])
    place = next((at for at, one in enumerate(in_order) if key_of(one) == key), None)
    wanted, pages = page if place is None else place // PAGE + 1, max(1, -(-len(known) // PAGE))
    here = min(max(wanted, 1), pages)
    return in_order[(here - 1) * PAGE : here * PAGE], here, pages


def entry_line(entry: ShownEntry, limit: int | None = None) -> str:
    """One entry on one line; of its text at most so many characters."""
    text = entry.text if limit is None else shortened(entry.text, limit).rstrip(BACKSLASH)
    return f"**{entry.number}** {text} ({entry.source})"


def deleted_text(one: Remembered, number: int | None, receipt: Receipt) -> str:
    """An entry was deleted, and can be brought back. It claims no more than the receipt does."""
    done = memory_texts.DELETED.format(said=f"entry {number}, {entry_sentence(one)}" if number else entry_sentence(one))
    return f"{done} {memory_texts.STILL_FOUND}" if receipt.found_again else done


def corrected_text(one: Remembered, receipt: Receipt, *, narrower: bool = False) -> str:
    """It was deleted, and the person's words are in its place; `narrower`: they may be used in fewer places."""
    done = memory_texts.CORRECTED.format(said=entry_sentence(one))
    return _proved(f"{done} {memory_texts.BETWEEN_US}" if narrower else done, receipt)


def lasting_text(pauses: Sequence[PauseLearning]) -> str:
    """Which pauses hold where this is read; "" for none."""
    return "\n".join(memory_texts.paused_text(here=one.here, for_everybody=one.for_everybody) for one in pauses)


def full_text(known: Sequence[Remembered]) -> str:
    """What is said where a place holds as much as it may; "" where none does."""
    many = Counter(one.audience for one in known if isinstance(one, Fact))
    full = max(many.values(), default=0) >= FACTS_KEPT - FACTS_MADE_ROOM
    return memory_texts.MEMORY_FULL.format(most=FACTS_KEPT) if full else ""


def _entry(one: Remembered, number: int, zone: tzinfo, own_words: Container[str]) -> ShownEntry:
    if isinstance(one, ProfileEntry):
        text, plain, own = f"{memory_texts.FIELDS[one.field]}: {literal(one.said)}", one.text, True
    else:
        review = " (this rests on something that has changed)" if one.needs_review else ""
        text, plain, own = (
            literal(one.said) + memory_texts.ASSUMED.get(one.scope, "") + review,
            one.value,
            one.id in own_words,
        )
    return ShownEntry(
        key_of(one),
        number,
        text,
        _source(one, zone),
        may_go_everywhere=own and not one.everywhere,
        everywhere=one.everywhere,
        plain=plain,
    )


def _proved(done: str, receipt: Receipt) -> str:
    if receipt.found_again:
        return f"{done} {memory_texts.STILL_FOUND}"
    return done if receipt.bytes_gone or receipt.kept_by_server else f"{done} {memory_texts.LATER}"


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


# Everything that is known about a person, as JSON that they may keep or take elsewhere.
#
# The schema (version 1) is described in `docs/export.md`. Times are ISO 8601 in UTC, audiences are labels ("person:…",
# "group:…", "team:…"), money is in US dollars at list prices.

EXPORT_VERSION: Final = 1
# What the messages of one file may take: with the rest it stays below the 10 MiB that Discord takes.
MESSAGES_BYTES: Final = 8_000_000
INDENT: Final = 60  # What the blanks before the lines of one message add to it, at most


@dataclass(slots=True)
class ExportedMessages:
    """What the person wrote and was answered, as far as it fits; taken newest first, exported oldest first."""

    complete: bool = True
    _taken: list[Json] = field(default_factory=list[Json])
    _left: int = MESSAGES_BYTES

    def take(self, page: Sequence[StoredMessage]) -> bool:
        """Take older messages, the newest of them first. False once nothing more fits."""
        for one in page:
            made = _message(one)
            self._left -= len(json.dumps(made, ensure_ascii=False, indent=2).encode("utf-8", "replace")) + INDENT
            if self._left < 0:
                self.complete = False
                return False
            self._taken.append(made)
        return True

    @property
    def exported(self) -> Iterator[Json]:
        return reversed(self._taken)


def as_json(
    person: Person,
    known: Sequence[Remembered],
    threads: Sequence[Thread],
    messages: ExportedMessages,
    choices: Mapping[str, str],
    scheduled: Sequence[Schedule],
    spent: SpendingAccount,
    now: datetime,
) -> str:
    profile: list[Json] = [_profile_entry(one) for one in known if isinstance(one, ProfileEntry)]
    facts: list[Json] = [_fact(one) for one in known if isinstance(one, Fact)]
    listed: list[Json] = [_thread(one) for one in threads]
    whole: Json = {
        "version": EXPORT_VERSION,
        "exported": _time(now),
        "person": {"id": person.id, "name": person.name, "time_zone": person.time_zone},
        "profile": profile,
        "facts": facts,
        "threads": listed,
        "messages": [*messages.exported],
        "messages_complete": messages.complete,
        "preferences": dict(choices),
        "schedules": [_scheduled(one) for one in scheduled],
        "spending": {"today": _spent(spent.today), "month": _spent(spent.month)},
    }
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _profile_entry(one: ProfileEntry) -> Json:
    return {
        "field": one.field.value,
        "key": one.key or None,
        "text": one.text,
        "audience": one.audience,
        "time": _time(one.time),
        "confidence": one.confidence,
        "source": one.permalink,
        "corrected": not one.sources,
        "everywhere": one.everywhere,
    }


def _fact(one: Fact) -> Json:
    return {
        "key": one.key or None,
        "text": one.value,
        "audience": one.audience,
        "time": _time(one.timestamp),
        "source": one.permalink,
        "scope": one.scope.value,
        "is_constraint": one.is_constraint,
        "superseded": not one.is_valid,
        "needs_review": one.needs_review,
        "corrected": one.source == CORRECTION,
        "everywhere": one.everywhere,
    }


def _scheduled(one: Schedule) -> Json:
    made, timing = one.made, one.made.timing
    return {
        "id": one.id,
        "kind": made.kind.value,
        "text": made.words,
        "audience": label(made.place.audience),
        "time": _time(made.created),
        "zone": timing.zone,
        "at": timing.at and _time(timing.at),
        "rule": timing.rule or None,
        "until": timing.until and _time(timing.until),
        "next": one.next and _time(one.next),
        "state": one.state.value,
    }


def _thread(one: Thread) -> Json:
    return {"id": one.conversation, "title": one.title, "last": _time(one.last), "messages": one.messages}


def _message(one: StoredMessage) -> Json:
    return {
        "thread": one.conversation,
        "author": "you" if one.author is Author.PERSON else "bot",
        "text": one.text,
        "time": _time(one.time),
        "audience": one.audience,
        "source": one.permalink,
    }


def _spent(spent: Spent) -> Json:
    used = spent.usage
    return {
        "calls": spent.calls,
        "input_uncached": used.input_uncached,
        "input_cached": used.input_cached,
        "input_written": used.input_written,
        "output": used.output,
        "reasoning": used.reasoning,
        "estimated": used.estimated,
        "cost_usd": None if spent.calls and spent.calls == spent.unpriced else spent.cost / NANO,
        "calls_without_price": spent.unpriced,
    }


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
