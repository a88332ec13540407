"""The port Facts in memory, and what forgetting does to it."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count

from agent import texts
from agent.errors import StoreError
from agent.memory import writing
from agent.memory.facts import CORRECTION, Fact, age
from agent.memory.writing import NewFact, WriteRefused, Written, fallen, removed
from agent.ports import Facts


@dataclass
class FakeFacts:
    """`links`: the permalinks of the messages that stand. `erased`: the ids of those that stand no longer."""

    kept: tuple[Fact, ...] = ()
    links: dict[int, str | None] = field(default_factory=dict[int, "str | None"])
    erased: set[int] = field(default_factory=set[int])
    questions: Callable[[int], Collection[int]] = lambda turn: [turn]
    """The ids of the messages that a turn answers."""
    ids: "count[int]" = field(default_factory=lambda: count(1))

    async def write(self, new: NewFact) -> Written | WriteRefused:
        if new.source_message in self.erased:
            raise StoreError(texts.SOURCE_FORGOTTEN)
        named = replace(new, id=str(next(self.ids)))
        after, changes = writing.write(self.kept, named)
        self.kept = after
        outcome = writing.outcome(after, changes, named)
        return replace(outcome, fact=self._linked(outcome.fact)) if isinstance(outcome, Written) else outcome

    async def retract(self, fact: str, new: NewFact) -> Written | WriteRefused | None:
        named = replace(new, id=str(next(self.ids)))
        try:
            self.kept, changes = writing.retract(self.kept, fact, named)
        except LookupError:
            return None
        return writing.outcome(self.kept, changes, named)

    async def readable(self, person: str, audiences: frozenset[str]) -> list[Fact]:
        usable = (
            fact
            for fact in self.kept
            if (fact.audience in audiences and fact.person in (person, ""))
            or (fact.everywhere and fact.person == person)
        )
        return [self._linked(fact) for fact in sorted(usable, key=age)]

    async def latest(self, person: str, audience: str, limit: int) -> list[Fact]:
        here = (one for one in self.kept if (one.person, one.audience) == (person, audience) and one.is_valid)
        return sorted(here, key=lambda one: int(one.id), reverse=True)[:limit]

    async def in_own_words(self, person: str, facts: Collection[str]) -> frozenset[str]:
        """All that nothing else led to: this fake does not know what anybody said."""
        mine = (one for one in self.kept if one.person == person and not one.depends_on)
        return frozenset(one.id for one in mine if one.id in facts)

    async def kept_in(self, turn: int) -> list[Written]:
        asked = self.questions(turn)
        kept = [one for one in self.kept if one.source_message in asked and one.source != CORRECTION]
        return [Written(one, tuple(old for old in self.kept if old.superseded_by == one.id)) for one in kept]

    async def open(self, person: str, fact: str, *, everywhere: bool) -> bool:
        mine = [one for one in self.kept if (one.id, one.person) == (fact, person)]
        self.kept = tuple(replace(one, everywhere=everywhere) if one in mine else one for one in self.kept)
        return bool(mine)

    def forget(self, named: Collection[str], gone: Collection[int]) -> list[Fact]:
        """Erase these facts, and what came of the messages that are `gone`; what that was."""
        self.erased |= set(gone)
        return self._remove([*named, *(one.id for one in self.kept if one.source_message in gone)])

    def erase(self, person: str, facts: Collection[str]) -> list[Fact]:
        """Take these facts of the person's out, with what was derived from them; what that was."""
        return self._remove([one.id for one in self.kept if one.id in facts and one.person == person])

    def _remove(self, ids: Collection[str]) -> list[Fact]:
        out = fallen(self.kept, ids)
        gone = [one for one in self.kept if one.id in out]
        self.kept = removed(self.kept, ids)
        return gone

    def _linked(self, fact: Fact) -> Fact:
        return replace(fact, permalink=self.links.get(fact.source_message or 0))


async def remember(
    facts: Facts, person: str, text: str, audience: str, now: datetime, source_message: int | None = None
) -> Fact:
    """Write what somebody asked to be remembered, without a key."""
    new = NewFact(
        id="",
        key="",
        value=text,
        source="user",
        timestamp=now,
        audience=audience,
        person=person,
        source_message=source_message,
    )
    outcome = await facts.write(new)
    assert isinstance(outcome, Written), outcome
    return outcome.fact


def fact(
    id_: str, person: str, text: str, audience: str, time: datetime, *, key: str = "", permalink: str | None = None
) -> Fact:
    return Fact(id_, key, text, "user", time, audience, person, permalink=permalink)
