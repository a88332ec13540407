"""A person's memory as JSON."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agent.incoming import Person
from agent.memory.audience import label
from agent.memory.facts import CORRECTION, Fact
from agent.memory.layers import Remembered
from agent.memory.profile import ProfileEntry
from agent.messages import Json
from agent.ports.saved_files import ListedFile
from agent.schedules.definitions import Schedule
from agent.spending import NANO, SpendingAccount, Spent
from agent.stored_messages import Author, StoredMessage, Thread

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

    @property
    def bytes_left(self) -> int:
        return max(0, self._bytes_left)

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
    files: Sequence[ListedFile],
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
        "files": [_file(item) for item in files],
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
        **_use(entry),
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
        "possibly_outdated": fact.is_valid and fact.doubted_by is not None,
        "needs_review": fact.needs_review,
        "corrected": fact.source == CORRECTION,
        "everywhere": fact.everywhere,
        **_use(fact),
    }


def _use(item: Remembered) -> dict[str, Json]:
    return {"last_used": item.used and _time(item.used), "kept": item.kept and _time(item.kept)}


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


def _file(file: ListedFile) -> Json:
    return {
        "thread": file.conversation,
        "name": file.name,
        "time": _time(file.saved),
        "audience": file.audience,
        "size": file.size,
        "base64": None if file.data is None else b64encode(file.data).decode("ascii"),
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
