"""Everything that is known about a person, as JSON that they may keep or take elsewhere. Pure.

The schema (version 1) is described in `docs/export.md`. Times are ISO 8601 in UTC, audiences are labels ("person:…",
"group:…", "team:…"), money is in US dollars at list prices.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from agent.memory.facts import CORRECTION, Fact
from agent.memory.profile import ProfileEntry
from agent.messages import Json
from agent.records import Author, Person, Remembered, StoredMessage, Thread
from agent.spending import NANO, SpendingAccount, Spent

VERSION: Final = 1
MESSAGES_BYTES: Final = 8_000_000
"""What the messages of one file may take: with the rest it stays below the 10 MiB that Discord takes."""
INDENT: Final = 60
"""What the blanks before the lines of one message add to it, at most."""


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
    spent: SpendingAccount,
    now: datetime,
) -> str:
    profile: list[Json] = [_entry(one) for one in known if isinstance(one, ProfileEntry)]
    facts: list[Json] = [_fact(one) for one in known if isinstance(one, Fact)]
    listed: list[Json] = [_thread(one) for one in threads]
    whole: Json = {
        "version": VERSION,
        "exported": _time(now),
        "person": {"id": person.id, "name": person.name, "time_zone": person.time_zone},
        "profile": profile,
        "facts": facts,
        "threads": listed,
        "messages": [*messages.exported],
        "messages_complete": messages.complete,
        "preferences": dict(choices),
        "spending": {"today": _spent(spent.today), "month": _spent(spent.month)},
    }
    return json.dumps(whole, ensure_ascii=False, indent=2)


def _entry(one: ProfileEntry) -> Json:
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
