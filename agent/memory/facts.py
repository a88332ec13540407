"""Persistent facts: what they are, and how their history is followed (seed 003, layer 2). Pure.

Rules
  A fact is never edited: it is created, superseded and marked for review. The chain old → new can be followed.
  Links are by id. A key means the fact that is current under it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import Final, Protocol

from agent.admission_terms import Authority
from agent.memory.lexicon import DETERMINERS, OF
from agent.memory.statements import Statement, read_statement


class MemoryType(StrEnum):
    """Whose knowledge a fact is: a person's, the bot's about how to do things, or the organisation's."""

    USER = "user"
    CAPABILITY = "capability"
    ORGANIZATIONAL = "organizational"


class Scope(StrEnum):
    """Where a fact holds. All but GLOBAL hold within one `scope_id` only."""

    GLOBAL = "global"
    TASK = "task"
    HYPOTHETICAL = "hypothetical"
    DRAFT = "draft"
    SESSION = "session"


class ConstraintType(StrEnum):
    BUDGET = "budget"
    DEADLINE = "deadline"
    CAPACITY = "capacity"
    POLICY = "policy"


FACTS_KEPT: Final = 2_000
"""Facts of one person in one place, superseded ones among them: one a day for more than five years. When there are
more, the oldest superseded ones go, then those that stood in no context for longest; what binds stays."""
FACTS_MADE_ROOM: Final = 100
"""So many go at once, because choosing them reads them all."""
CORRECTION: Final = "correction"
"""The source of what its person set right, in words of their own."""

_POSSESSIVE: Final = re.compile(r"['’]s\b")
_NO_KEY_WORD: Final = re.compile(r"[\s_]+")
_ORGANIZATIONAL_SOURCES: Final = frozenset({"policy", "finance_system", "hr_system", "system", "document"})
_CAPABILITY_SOURCES: Final = frozenset({"observation", "pattern", "heuristic"})


def memory_type_of(source: str) -> MemoryType:
    """The seed's classification by source; what is neither policy nor observation is the person's own."""
    kind = source.strip().lower()
    if kind in _ORGANIZATIONAL_SOURCES:
        return MemoryType.ORGANIZATIONAL
    return MemoryType.CAPABILITY if kind in _CAPABILITY_SOURCES else MemoryType.USER


class Reading(Protocol):
    """What a value says, as somebody has read it before."""

    @property
    def content(self) -> frozenset[str]:
        """That of the statement: all that most facts of a turn are asked for."""
        ...

    @property
    def statement(self) -> Statement: ...


@dataclass(frozen=True, slots=True)
class Fact:
    """One persistent fact. `audience` is a label (see `agent.memory.audience.label`); `person` is whom it is about, or
    "" for what is nobody's in particular. `authority` is what its writer was. Links are ids of facts. `permalink` leads
    to the message that it came from. Without a key it is what somebody asked to be remembered, in their words.
    """

    id: str
    key: str
    value: str
    source: str
    timestamp: datetime
    audience: str
    person: str = ""
    authority: Authority = Authority.EMPLOYEE
    is_valid: bool = True
    superseded_by: str | None = None
    supersedes: str | None = None
    memory_type: MemoryType = MemoryType.USER
    scope: Scope = Scope.GLOBAL
    scope_id: str | None = None
    depends_on: tuple[str, ...] = ()
    derived_facts: tuple[str, ...] = ()
    needs_review: bool = False
    is_constraint: bool = False
    constraint_type: ConstraintType | None = None
    source_message: int | None = None
    permalink: str | None = None
    everywhere: bool = False
    """Its person lets it be used in all replies to them, wherever it was said."""
    reading: Reading | None = field(default=None, compare=False, repr=False)
    """What its value says, if somebody has read it already."""

    @property
    def statement(self) -> Statement:
        return self.reading.statement if self.reading else read_statement(self.value, about=self.key)

    @property
    def content(self) -> frozenset[str]:
        """The words that its value tells something by."""
        return self.reading.content if self.reading else self.statement.content

    @property
    def said(self) -> str:
        """As it reads by itself: "deadline of Apollo: Friday"."""
        return f"{self.key}: {self.value}" if self.key else self.value


def resolve(facts: Iterable[Fact], name: str) -> Fact | None:
    """The fact with this id, or else the one that is current under this key, or else the last that was."""
    known = {fact.id: fact for fact in facts}
    if name in known:
        return known[name]
    under_key = [fact for fact in known.values() if same_key(fact.key, name)]
    return max(under_key, key=lambda fact: (fact.is_valid, *age(fact)), default=None)


def chain(facts: Iterable[Fact], id_: str) -> tuple[Fact, ...]:
    """The history of a fact, oldest first: everything that it supersedes and everything that superseded it.

    Broken links end it, and a cycle ends where it began.
    """
    known = {fact.id: fact for fact in facts}
    if id_ not in known:
        return ()
    before = _followed(known, id_, lambda fact: fact.supersedes)
    after = _followed(known, id_, lambda fact: fact.superseded_by)
    return (*reversed(before[1:]), *(fact for fact in after if fact not in before[1:]))


def led_to(facts: Iterable[Fact], id_: str) -> frozenset[str]:
    """The ids of a fact and of all whose place it has taken, one after another: a write may supersede several."""
    before: dict[str, list[str]] = {}
    for fact in facts:
        if fact.superseded_by is not None:
            before.setdefault(fact.superseded_by, []).append(fact.id)
    found, waiting = {id_}, [id_]
    while waiting:
        new = [earlier for earlier in before.get(waiting.pop(), ()) if earlier not in found]
        found.update(new)
        waiting += new
    return frozenset(found)


def current(facts: Iterable[Fact], name: str) -> Fact | None:
    """What holds today under a key, or in the place of a fact (seed 003, `get_current_value`). None if nothing does."""
    known = list(facts)
    start = resolve(known, name)
    if start is None:
        return None
    last = _followed({fact.id: fact for fact in known}, start.id, lambda fact: fact.superseded_by)[-1]
    return last if last.is_valid else None


def plain_key(key: str) -> str:
    """A key as it is compared, since models say one in more than one way: "the launch date", "launch_date" and "Date of
    launch" are one key, "launch" is another. "" if it names nothing.
    """
    words = _NO_KEY_WORD.sub(" ", _POSSESSIVE.sub("", key.casefold())).split()
    leading = sum(1 for _ in takewhile(DETERMINERS.__contains__, words[:-1]))
    plain = " ".join(words[leading:])
    parts = OF.split(plain)
    if len(parts) == 2:
        return " ".join(reversed(parts))
    return plain or key.strip().casefold()


def same_key(one: str, other: str) -> bool:
    """Is there a key, and is it one?"""
    return bool(one.strip()) and (one == other or plain_key(one) == plain_key(other))


def age(fact: Fact) -> tuple[datetime, str]:
    """Sorts facts from the oldest to the newest; between equals the id decides."""
    return fact.timestamp, fact.id


def _followed(known: Mapping[str, Fact], id_: str, link: Callable[[Fact], str | None]) -> list[Fact]:
    path: list[Fact] = []
    seen: set[str] = set()
    next_: str | None = id_
    while next_ is not None and next_ in known and next_ not in seen:
        seen.add(next_)
        path.append(known[next_])
        next_ = link(known[next_])
    return path
