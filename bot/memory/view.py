"""The requests and answers of `/memory`, as Markdown, and a person's export, as JSON. Pure.

Rules. Every entry shows its source: the day, with a link to the message where there is one, and the kind of place.
People's text is escaped and shown literally. An entry's number is written as text, because Markdown renumbers lists.
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

from agent.incoming import Person
from agent.memory.audience import GroupAudience, PersonAudience, TeamAudience, audience_of, label
from agent.memory.facts import CORRECTION, FACTS_KEPT, FACTS_MADE_ROOM, Fact
from agent.memory.forgetting_plans import Receipt
from agent.memory.layers import Remembered
from agent.memory.profile import ProfileEntry
from agent.messages import Json
from agent.schedules.definitions import Schedule
from agent.spending import NANO, SpendingAccount, Spent
from agent.stored_messages import Author, StoredMessage, Thread
from bot.host import ShownEntry
from bot.texts import memory_texts
from bot.texts.formatting import literal, shortened

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


def everywhere_words(key: str, *, on: bool) -> str:
    return f"{'everywhere' if on else 'here'} {key}"


def page_words(page: int) -> str:
    return f"page {page}"


_REF: Final = re.compile(r"\d{1,9}|[a-z]:[\w-]{1,80}", re.ASCII)
_HERE: Final = frozenset({"here", "in this channel"})
_EVERYBODY: Final = frozenset({"here for everybody", "here for everyone", "in this channel for everybody"})


# The numbers by which a person refers to entries. A number is never given to a second entry. Pure.
#
# Rule. A number stands for the entry listed under it, even after the list has changed. So numbers have gaps where
# entries were forgotten. Numbers of entries that are no longer listed are dropped, oldest first, until `MAX_NUMBERS` or
# as many as the list has remain; an entry whose number was dropped gets a new one if it is listed again.

MAX_NUMBERS: Final = 500  # More than most lists hold; encoded, these numbers stay under 20,000 characters


@dataclass(frozen=True, slots=True)
class EntryNumbers:
    """`by_key`: the number of each key, in ascending order. `last`: the highest number ever given."""

    by_key: dict[str, int] = field(default_factory=dict[str, int])
    last: int = 0

    def key(self, number: int) -> str | None:
        return next((key for key, given in self.by_key.items() if given == number), None)

    def including(self, keys: Iterable[str]) -> "EntryNumbers":
        listed = dict.fromkeys(keys)
        new = [key for key in listed if key not in self.by_key]
        given = self.by_key | {key: number for number, key in enumerate(new, self.last + 1)}
        unlisted = [key for key in self.by_key if key not in listed]
        dropped = set(unlisted[: max(0, len(given) - MAX_NUMBERS)])
        return EntryNumbers({key: given[key] for key in given if key not in dropped}, self.last + len(new))

    def replaced(self, key: str, to: str) -> "EntryNumbers":
        """Return the numbers with `to` in the place of `key`, under the same number."""
        return EntryNumbers({to if old == key else old: number for old, number in self.by_key.items()}, self.last)

    def encode(self) -> str:
        return json.dumps({"last": self.last, "of": self.by_key}, separators=(",", ":"))


def decode_numbers(text: str) -> EntryNumbers:
    """Parse the output of `EntryNumbers.encode`; return no numbers for anything else."""
    try:
        parsed: object = json.loads(text)
    except ValueError:
        return EntryNumbers()
    fields = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    last, by_key = fields.get("last"), fields.get("of")
    if not isinstance(last, int) or not isinstance(by_key, dict):
        return EntryNumbers()
    numbers = cast("dict[str, object]", by_key)
    return EntryNumbers({key: number for key, number in numbers.items() if isinstance(number, int)}, last)


BACKSLASH: Final = "\\"  # Left at the end of a shortened text, it would escape what follows
# Entries per page: with their buttons they fit one message on every platform, and one screen of a phone.
PAGE: Final = 6

REPLACED: Final = 3  # Of the facts that an entry replaced: as many are quoted
QUOTE_CHARS: Final = 200  # Of an entry's text, where a sentence quotes it


def key_of(item: Remembered) -> str:
    """Return the key that refers to an entry, with its present text, in commands and buttons: "f:ID" or "p:ID-HASH".

    A fact is never edited. A profile entry's text changes as more is learned; its key then changes, too, so that a
    decision never applies to a text that the person has not seen.
    """
    if not isinstance(item, ProfileEntry):
        return f"f:{item.id}"
    return f"p:{item.id}-{crc32(f'{item.field} {item.full_text}'.encode('utf-8', 'replace')):08x}"


def entry_sentence(item: Remembered) -> str:
    """Return an entry's text, quoted and shortened for use in a sentence."""
    text = (
        f"{memory_texts.FIELDS[item.field]}: {literal(item.full_text)}"
        if isinstance(item, ProfileEntry)
        else literal(item.text)
    )
    return f"“{shortened(text, QUOTE_CHARS).rstrip(BACKSLASH)}”"


def listed_entries(
    items: Sequence[Remembered],
    numbers: EntryNumbers,
    zone: tzinfo,
    own_words: Container[str],
    former: Sequence[Fact] = (),
) -> tuple[ShownEntry, ...]:
    """Return the entries as they are shown, in the order of their numbers in `numbers`; days are of `zone`.

    `own_words`: the ids of facts that come from the person's own words alone. Profile entries always do. `former`: the
    superseded facts.
    """
    replaced: dict[str, list[str]] = {}
    for fact in former:
        if fact.superseded_by is not None:
            replaced.setdefault(fact.superseded_by, []).append(fact.text)
    entries = (
        _entry(item, numbers, zone, own_words, () if isinstance(item, ProfileEntry) else replaced.get(item.id, ()))
        for item in items
    )
    return tuple(sorted(entries, key=lambda entry: entry.number))


def page_of(
    items: Sequence[Remembered], numbers: EntryNumbers, page: int, key: str | None = None
) -> tuple[list[Remembered], int, int]:
    """Return the entries of a page, its number and the count of pages; the nearest page if there is no such page.

    `key`: of an entry; if it is listed, its page is returned instead of `page`.
    """
    in_order = sorted(items, key=lambda item: numbers.by_key[key_of(item)])
    index = next((index for index, item in enumerate(in_order) if key_of(item) == key), None)
    target, pages = page if index is None else index // PAGE + 1, max(1, -(-len(items) // PAGE))
    current = min(max(target, 1), pages)
    return in_order[(current - 1) * PAGE : current * PAGE], current, pages


def entry_line(entry: ShownEntry, limit: int | None = None) -> str:
    """Return one entry on one line, with up to `limit` characters of its text."""
    text = entry.text if limit is None else shortened(entry.text, limit).rstrip(BACKSLASH)
    return f"**{entry.number}** {text} ({entry.source})"


def deleted_text(item: Remembered, number: int | None, receipt: Receipt) -> str:
    """Return the sentence after a deletion that can be undone. It claims no more than the receipt does."""
    done = memory_texts.DELETED.format(
        said=f"entry {number}, {entry_sentence(item)}" if number else entry_sentence(item)
    )
    return f"{done} {memory_texts.STILL_FOUND}" if receipt.found_again else done


def corrected_text(item: Remembered, receipt: Receipt, *, narrower: bool = False) -> str:
    """Return the sentence after a correction; `narrower`: the new entry may be used in fewer places than the old."""
    sentence = memory_texts.CORRECTED.format(said=entry_sentence(item))
    return _with_proof(f"{sentence} {memory_texts.BETWEEN_US}" if narrower else sentence, receipt)


def lasting_text(pauses: Sequence[PauseLearning]) -> str:
    """Return the sentences about the pauses that apply at the viewer's place; "" for none."""
    return "\n".join(memory_texts.paused_text(here=pause.here, for_everybody=pause.for_everybody) for pause in pauses)


def full_text(items: Sequence[Remembered]) -> str:
    """Return the notice that an audience holds as many facts as it may; "" where none does."""
    counts = Counter(item.audience for item in items if isinstance(item, Fact))
    largest = max(counts.values(), default=0) >= FACTS_KEPT - FACTS_MADE_ROOM
    return memory_texts.MEMORY_FULL.format(most=FACTS_KEPT) if largest else ""


def _entry(
    item: Remembered, numbers: EntryNumbers, zone: tzinfo, own_words: Container[str], replaced: Sequence[str]
) -> ShownEntry:
    """`replaced`: the texts of the facts that it superseded."""
    doubt = instead = ""
    if isinstance(item, ProfileEntry):
        text, plain, in_own_words = f"{memory_texts.FIELDS[item.field]}: {literal(item.full_text)}", item.text, True
    else:
        review = " (this rests on something that has changed)" if item.needs_review else ""
        newer = numbers.by_key.get(f"f:{item.doubted_by}") if item.doubted_by is not None else None
        doubt = memory_texts.MAY_BE_OUTDATED.format(number=newer) if newer is not None else ""
        former = "; ".join(literal(shortened(text, QUOTE_CHARS)).rstrip(BACKSLASH) for text in replaced[:REPLACED])
        instead = memory_texts.REPLACED.format(before=former) if former else ""
        text, plain, in_own_words = (
            literal(item.text) + memory_texts.ASSUMED.get(item.scope, "") + review + doubt + instead,
            item.value,
            item.id in own_words,
        )
    return ShownEntry(
        key_of(item),
        numbers.by_key[key_of(item)],
        text,
        _source(item, zone),
        may_go_everywhere=in_own_words and not item.everywhere,
        everywhere=item.everywhere,
        plain=plain,
        may_undo=bool(instead),
    )


def _with_proof(sentence: str, receipt: Receipt) -> str:
    if receipt.found_again:
        return f"{sentence} {memory_texts.STILL_FOUND}"
    return sentence if receipt.bytes_gone or receipt.kept_by_server else f"{sentence} {memory_texts.LATER}"


def _source(item: Remembered, zone: tzinfo) -> str:
    is_entry = isinstance(item, ProfileEntry)
    day = (item.time if is_entry else item.timestamp).astimezone(zone).date().isoformat()
    when = f"[{day}]({item.permalink})" if item.permalink else day
    stated = not item.sources if is_entry else item.source == CORRECTION
    notes = (["your correction"] if stated else []) + (["used everywhere"] if item.everywhere else [])
    return ", ".join([when, _where(item.audience), *notes])


def _where(audience: str) -> str:
    """Return the kind of place of an audience; the source's link leads to the place itself."""
    match audience_of(audience):
        case PersonAudience():
            return "between us"
        case GroupAudience():
            return "in a private place"
        case TeamAudience():
            return "in a public channel"


# The export of all that is known about a person, as JSON.
#
# The schema (version 1) is described in `docs/export.md`. Times are ISO 8601 in UTC, audiences are labels ("person:…",
# "group:…", "team:…"), money is in US dollars at list prices.

EXPORT_VERSION: Final = 1
# For the messages in a file: with everything else it stays below the 10 MiB that Discord accepts.
MESSAGES_BYTES: Final = 8_000_000
INDENT: Final = 60  # Upper bound of what indentation adds to one message, in bytes


@dataclass(slots=True)
class ExportedMessages:
    """The person's messages and the bot's replies, as far as they fit; added newest first, exported oldest first."""

    complete: bool = True
    _messages: list[Json] = field(default_factory=list[Json])
    _bytes_left: int = MESSAGES_BYTES

    def add_page(self, page: Sequence[StoredMessage]) -> bool:
        """Add a page of older messages, newest first. Return False once nothing more fits."""
        for message in page:
            entry = _message(message)
            self._bytes_left -= len(json.dumps(entry, ensure_ascii=False, indent=2).encode("utf-8", "replace")) + INDENT
            if self._bytes_left < 0:
                self.complete = False
                return False
            self._messages.append(entry)
        return True

    @property
    def exported(self) -> Iterator[Json]:
        return reversed(self._messages)


def as_json(
    person: Person,
    items: Sequence[Remembered],
    threads: Sequence[Thread],
    messages: ExportedMessages,
    choices: Mapping[str, str],
    scheduled: Sequence[Schedule],
    spent: SpendingAccount,
    now: datetime,
) -> str:
    profile: list[Json] = [_profile_entry(item) for item in items if isinstance(item, ProfileEntry)]
    facts: list[Json] = [_fact(item) for item in items if isinstance(item, Fact)]
    thread_list: list[Json] = [_thread(item) for item in threads]
    export: Json = {
        "version": EXPORT_VERSION,
        "exported": _time(now),
        "person": {"id": person.id, "name": person.name, "time_zone": person.time_zone},
        "profile": profile,
        "facts": facts,
        "threads": thread_list,
        "messages": [*messages.exported],
        "messages_complete": messages.complete,
        "preferences": dict(choices),
        "schedules": [_scheduled(item) for item in scheduled],
        "spending": {"today": _spent(spent.today), "month": _spent(spent.month)},
    }
    return json.dumps(export, ensure_ascii=False, indent=2)


def _profile_entry(entry: ProfileEntry) -> Json:
    return {
        "field": entry.field.value,
        "key": entry.key or None,
        "text": entry.text,
        "audience": entry.audience,
        "time": _time(entry.time),
        "confidence": entry.confidence,
        "source": entry.permalink,
        "corrected": not entry.sources,
        "everywhere": entry.everywhere,
    }


def _fact(fact: Fact) -> Json:
    return {
        "key": fact.key or None,
        "text": fact.value,
        "audience": fact.audience,
        "time": _time(fact.timestamp),
        "source": fact.permalink,
        "scope": fact.scope.value,
        "is_constraint": fact.is_constraint,
        "superseded": not fact.is_valid,
        "possibly_outdated": fact.doubted_by is not None,
        "needs_review": fact.needs_review,
        "corrected": fact.source == CORRECTION,
        "everywhere": fact.everywhere,
    }


def _scheduled(schedule: Schedule) -> Json:
    terms, timing = schedule.definition, schedule.definition.timing
    return {
        "id": schedule.id,
        "kind": terms.kind.value,
        "text": terms.words,
        "audience": label(terms.place.audience),
        "time": _time(terms.created),
        "zone": timing.zone,
        "at": timing.at and _time(timing.at),
        "rule": timing.rule or None,
        "until": timing.until and _time(timing.until),
        "next": schedule.next and _time(schedule.next),
        "state": schedule.state.value,
    }


def _thread(thread: Thread) -> Json:
    return {"id": thread.conversation, "title": thread.title, "last": _time(thread.last), "messages": thread.messages}


def _message(message: StoredMessage) -> Json:
    return {
        "thread": message.conversation,
        "author": "you" if message.author is Author.PERSON else "bot",
        "text": message.text,
        "time": _time(message.time),
        "audience": message.audience,
        "source": message.permalink,
    }


def _spent(spent: Spent) -> Json:
    usage = spent.usage
    return {
        "calls": spent.calls,
        "input_uncached": usage.input_uncached,
        "input_cached": usage.input_cached,
        "input_written": usage.input_written,
        "output": usage.output,
        "reasoning": usage.reasoning,
        "estimated": usage.estimated,
        "cost_usd": None if spent.calls and spent.calls == spent.unpriced else spent.cost / NANO,
        "calls_without_price": spent.unpriced,
    }


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat()
