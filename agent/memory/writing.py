"""Writing a fact: may it be written, what does it supersede, and what rested on that (seed 003)? Pure.

Rules
  Authority comes first: organisational facts and constraints are written by managers and above, and nobody supersedes
  what a greater authority wrote. A refused write changes nothing.
  A write supersedes what it names if that is about the same (rule 1), what stands under its key, and what surely
  contradicts it (rule 2), and only what is older than itself (rule 4): a late arrival joins the chain as history. In
  doubt both stand. What it gives as its reason ("because the budget is 100 EUR") is what it rests on.
  A write marks facts of its own partition (audience and person) and scope only: what was assumed never touches what
  holds everywhere. A global write may settle a draft that it names.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final, TypeAlias

from agent import texts
from agent.admission_terms import Authority
from agent.memory.facts import (
    ConstraintType,
    Fact,
    MemoryType,
    Scope,
    age,
    current,
    memory_type_of,
    plain_key,
    resolve,
    same_key,
)
from agent.memory.lexicon import folded
from agent.memory.statements import read_statement
from agent.memory.supersession import about_the_same, contradicts, different_subjects, gives_as_reason

POLICY_AUTHORITY: Final = Authority.MANAGER  # Who may write what binds others (seed 003, "Ignoring Authority")
_BINDS: Final = re.compile(
    r"\b(?:never|at most|at the latest|no more than|not more than|no later than|must not|mustn't|may not|not allowed"
    r"|forbidden|prohibited|max(?:imum|\.)?|limit(?:ed)? (?:is|to|of)|cap(?:ped)? (?:is|at)|up to"
    r"|niemals|nie|höchstens|maximal|spätestens|nicht mehr als|darf nicht|dürfen nicht|verboten"
    r"|nunca|como máximo|a más tardar|no más de|no se puede|prohibido|máximo)(?!\w)"
    r"|最多|不得|禁止|不超过|从不|最晚|絶対に|最大|以内|してはいけない|してはならない|以下とする",
    re.IGNORECASE,
)
_BINDS_WHAT: Final = (
    (
        ConstraintType.BUDGET,
        re.compile(r"budget|[$€£¥]|\b(?:EUR|USD|GBP|euros?|dollars?)\b|预算|予算|presupuesto", re.IGNORECASE),
    ),
    (
        ConstraintType.DEADLINE,
        re.compile(r"deadline|\bdue\b|\blatest\b|\blater\b|frist|spätestens|plazo|截止|締め?切", re.IGNORECASE),
    ),
    (
        ConstraintType.CAPACITY,
        re.compile(r"capacity|\b(?:people|seats|hours|persons)\b|kapazität|capacidad|容量|人数", re.IGNORECASE),
    ),
)


def binding_words(text: str) -> ConstraintType | None:
    """Which limit a sentence sets by its words ("never", "at most"); None if it sets none."""
    if not _BINDS.search(text):
        return None
    return next((kind for kind, pattern in _BINDS_WHAT if pattern.search(text)), ConstraintType.POLICY)


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to be written. `supersedes` and `depends_on` name facts by id or by key.

    Without a `memory_type` the source decides.
    """

    id: str
    key: str
    value: str
    source: str
    timestamp: datetime
    audience: str
    person: str = ""
    authority: Authority = Authority.EMPLOYEE
    supersedes: tuple[str, ...] = ()
    memory_type: MemoryType | None = None
    scope: Scope = Scope.GLOBAL
    scope_id: str | None = None
    depends_on: tuple[str, ...] = ()
    is_constraint: bool = False
    constraint_type: ConstraintType | None = None
    source_message: int | None = None

    @property
    def said(self) -> str:
        return f"{self.key}: {self.value}" if self.key else self.value


class Refusal(StrEnum):
    NOT_A_MANAGER = texts.NOT_A_MANAGER
    GREATER_AUTHORITY = texts.GREATER_AUTHORITY
    TAKEN_BACK = texts.TAKEN_BACK
    FULL = texts.LIMITS_FULL


@dataclass(frozen=True, slots=True)
class Written:
    """What a write came to: the fact that stands for it now, or the same one that stood already, and what it took the
    place of. A late arrival is history at once (`fact.is_valid`).
    """

    fact: Fact
    superseded: tuple[Fact, ...] = ()
    dropped: int = 0
    """How many facts made room: there is a bound for each person and place."""


@dataclass(frozen=True, slots=True)
class FactAdded:
    fact: str


@dataclass(frozen=True, slots=True)
class FactSuperseded:
    fact: str
    by: str


@dataclass(frozen=True, slots=True)
class ReviewNeeded:
    """`fact` rests, directly or not, on `because`, which has been superseded."""

    fact: str
    because: str


@dataclass(frozen=True, slots=True)
class ReviewSettled:
    """`fact` was said again after what it rests on had changed: it holds, and rests on what holds now."""

    fact: str


@dataclass(frozen=True, slots=True)
class WriteRefused:
    """Nothing was changed. `standing` is the fact that stands in the way, if it is one."""

    why: Refusal
    standing: str | None = None


Change: TypeAlias = FactAdded | FactSuperseded | ReviewNeeded | ReviewSettled | WriteRefused


def write(facts: Sequence[Fact], new: NewFact) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """All facts after the write, and what became of whom.

    `facts` may hold other partitions; they stay as they are. The same value under the same key again changes nothing,
    unless it asks for review: that is settled then.
    Raises ValueError if the id is taken.
    """
    if any(fact.id == new.id for fact in facts):
        raise ValueError(f"there is a fact {new.id!r} already")
    kind = new.memory_type or memory_type_of(new.source)
    if (new.is_constraint or kind is MemoryType.ORGANIZATIONAL) and new.authority < POLICY_AUTHORITY:
        return tuple(facts), (WriteRefused(Refusal.NOT_A_MANAGER),)
    mine = [fact for fact in facts if _same_partition(fact, new)]
    found = _superseded(mine, new)
    if not new.supersedes and (again := [fact for fact in found if _says_the_same(fact, new)]):
        return _settled(facts, mine, [fact for fact in again if fact.needs_review and fact.authority <= new.authority])
    greater = next((fact for fact in found if fact.authority > new.authority), None)
    if greater is not None:
        return tuple(facts), (WriteRefused(Refusal.GREATER_AUTHORITY, greater.id),)
    later = max((fact for fact in found if fact.timestamp > new.timestamp), key=age, default=None)
    older = [fact for fact in found if fact.timestamp <= new.timestamp]
    added = _created(mine, new, kind, before=max(older, key=age, default=None), after=later)
    return _applied(facts, added, older if later is None else [])


def retract(facts: Sequence[Fact], id_: str, new: NewFact) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """Take a fact back with nothing in its place. `new` says when and by whom: it ends the chain, and never held.

    Authority is checked as for a write. Raises LookupError if no such fact holds in the partition of `new`.
    """
    taken = next((fact for fact in facts if fact.id == id_ and fact.is_valid and _same_partition(fact, new)), None)
    if taken is None:
        raise LookupError(f"there is no valid fact {id_!r}")
    binds = taken.is_constraint or taken.memory_type is MemoryType.ORGANIZATIONAL
    if binds and new.authority < POLICY_AUTHORITY:
        return tuple(facts), (WriteRefused(Refusal.NOT_A_MANAGER),)
    if taken.authority > new.authority:
        return tuple(facts), (WriteRefused(Refusal.GREATER_AUTHORITY, taken.id),)
    end = replace(_created([], new, taken.memory_type, before=taken, after=None), is_valid=False)
    return _applied(facts, end, [taken])


def outcome(facts: Sequence[Fact], changes: Sequence[Change], new: NewFact) -> Written | WriteRefused:
    refused = next((change for change in changes if isinstance(change, WriteRefused)), None)
    if refused is not None:
        return refused
    gone = {change.fact for change in changes if isinstance(change, FactSuperseded)}
    added = any(isinstance(change, FactAdded) for change in changes)
    return Written(
        fact=next(fact for fact in facts if (fact.id == new.id if added else _stands_for(fact, new))),
        superseded=tuple(fact for fact in facts if fact.id in gone),
    )


def _superseded(mine: Sequence[Fact], new: NewFact) -> list[Fact]:
    said = _own_words(mine, new)
    named = {fact.id for name in new.supersedes if (fact := current(mine, name)) is not None}
    return [
        fact
        for fact in mine
        if fact.is_valid
        and (
            (fact.id in named and _may_settle(new, fact) and _about_the_same(fact, new))
            or (_same_scope(fact, new) and _implied(fact, new, said))
        )
    ]


def _own_words(mine: Sequence[Fact], new: NewFact) -> str:
    """A value without the older values that it quotes ("was: …"): what they said contradicts nothing."""
    said, small = new.value, folded(new.value)
    for value in sorted({folded(fact.value) for fact in mine if fact.value}, key=len, reverse=True):
        if value in small:
            said = _without(said, small, value)
            small = folded(said)
    return said if read_statement(said).content else new.value


def _without(text: str, small: str, part: str) -> str:
    """A text, known in small letters, with a blank wherever a part of these stood."""
    left, done = list[str](), 0
    for kept in small.split(part):
        left.append(text[done : done + len(kept)])
        done += len(kept) + len(part)
    return " ".join(left)


def _implied(fact: Fact, new: NewFact, text: str) -> bool:
    if _says_the_same(fact, new):
        return True
    if same_key(fact.key, new.key):
        return _quotes(new, fact) or not different_subjects(fact.value, new.value)
    if fact.is_constraint != new.is_constraint:
        return False  # a wish that contradicts a policy is refused by whoever decides; it is no new policy
    return contradicts(fact.value, text, about=(fact.key, new.key))


def _about_the_same(fact: Fact, new: NewFact) -> bool:
    """What names a fact by its key says itself what it is about; a number says nothing."""
    key = fact.key if any(same_key(name, fact.key) for name in new.supersedes) else new.key
    return _quotes(new, fact) or about_the_same(fact.value, new.value, about=(fact.key, key))


def _quotes(new: NewFact, fact: Fact) -> bool:
    """Does it repeat the other's words ("not any more: …")? Then it speaks of the same."""
    return bool(fact.value.strip()) and fact.value.strip().casefold() in new.value.casefold()


def _created(mine: Sequence[Fact], new: NewFact, kind: MemoryType, *, before: Fact | None, after: Fact | None) -> Fact:
    named = [resolve(mine, name) for name in new.depends_on]
    grounds = [*named, *(fact for fact in mine if fact.is_valid and gives_as_reason(new.value, fact.said))]
    return Fact(
        id=new.id,
        key=new.key or (before.key if before is not None and before.id in new.supersedes else ""),
        value=new.value,
        source=new.source,
        timestamp=new.timestamp,
        audience=new.audience,
        person=new.person,
        authority=new.authority,
        is_valid=after is None,
        superseded_by=after.id if after is not None else None,
        supersedes=before.id if before is not None and after is None else None,
        memory_type=kind,
        scope=new.scope,
        scope_id=new.scope_id,
        depends_on=tuple(dict.fromkeys(fact.id for fact in grounds if fact is not None)),
        is_constraint=new.is_constraint,
        constraint_type=new.constraint_type,
        source_message=new.source_message,
    )


def _settled(
    facts: Sequence[Fact], mine: Sequence[Fact], said_again: Sequence[Fact]
) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """After these were said again: they rest on what holds in the place of what they rested on."""
    after = {fact.id: fact for fact in facts}
    for fact in said_again:
        now = [ground if (held := current(mine, ground)) is None else held.id for ground in fact.depends_on]
        after[fact.id] = replace(after[fact.id], needs_review=False, depends_on=tuple(dict.fromkeys(now)))
        for ground in {*fact.depends_on, *now} & after.keys():
            others = [derived for derived in after[ground].derived_facts if derived != fact.id]
            derived = (*others, fact.id) if ground in now else tuple(others)
            after[ground] = replace(after[ground], derived_facts=derived)
    return tuple(after.values()), tuple(ReviewSettled(fact.id) for fact in said_again)


def _applied(
    facts: Sequence[Fact], added: Fact, superseded: Sequence[Fact]
) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    after = {fact.id: fact for fact in facts}
    for ground in added.depends_on:
        after[ground] = replace(after[ground], derived_facts=(*after[ground].derived_facts, added.id))
    for old in superseded:
        after[old.id] = replace(after[old.id], is_valid=False, superseded_by=added.id)
    after[added.id] = added
    gone = [fact.id for fact in superseded] + [ground for ground in added.depends_on if not after[ground].is_valid]
    reviews = _reviews(after, gone)
    for review in reviews:
        after[review.fact] = replace(after[review.fact], needs_review=True)
    changes = (FactAdded(added.id), *(FactSuperseded(old.id, added.id) for old in superseded), *reviews)
    return tuple(after.values()), changes


def _reviews(facts: Mapping[str, Fact], superseded: Sequence[str]) -> list[ReviewNeeded]:
    """Every valid fact that rests on a superseded one, however far away; each is asked about once."""
    seen = set(superseded)
    waiting = [(derived, id_) for id_ in superseded for derived in facts[id_].derived_facts]
    reviews: list[ReviewNeeded] = []
    while waiting:
        id_, because = waiting.pop(0)
        if id_ in seen or id_ not in facts:
            continue
        seen.add(id_)
        if facts[id_].is_valid:
            reviews.append(ReviewNeeded(id_, because))
        waiting += [(derived, because) for derived in facts[id_].derived_facts]
    return reviews


def _stands_for(fact: Fact, new: NewFact) -> bool:
    return fact.is_valid and _same_partition(fact, new) and _same_scope(fact, new) and _says_the_same(fact, new)


def _same_partition(fact: Fact, new: NewFact) -> bool:
    return (fact.audience, fact.person) == (new.audience, new.person)


def _same_scope(fact: Fact, new: NewFact) -> bool:
    return (fact.scope, fact.scope_id) == (new.scope, new.scope_id)


def _may_settle(new: NewFact, fact: Fact) -> bool:
    return new.scope is Scope.GLOBAL or _same_scope(fact, new)


def _says_the_same(fact: Fact, new: NewFact) -> bool:
    return fact.value.strip() == new.value.strip() and plain_key(fact.key) == plain_key(new.key)


# Taking a fact out: what falls with it, and what its chain becomes.
#
# Rules
#   What was derived from a fact falls with it, however far away: nobody can say which of its words came from
#   which.
#   A chain closes over a gap. What was superseded by nothing but facts that are gone holds again, as if those had never
#   been written.


def fallen(facts: Iterable[Fact], gone: Collection[str]) -> frozenset[str]:
    """The ids of all facts that fall when those of `gone` do."""
    known = {fact.id: fact for fact in facts}
    found = set[str]()
    waiting = [id_ for id_ in gone if id_ in known]
    while waiting:
        id_ = waiting.pop()
        if id_ not in found:
            found.add(id_)
            waiting += [derived for derived in known[id_].derived_facts if derived in known]
    return frozenset(found)


def removed(facts: Sequence[Fact], gone: Collection[str]) -> tuple[Fact, ...]:
    """The facts without those of `gone` and without what falls with them."""
    known = {fact.id: fact for fact in facts}
    out = fallen(facts, gone)
    return tuple(_closed(fact, known, out) for fact in facts if fact.id not in out)


def _closed(fact: Fact, known: Mapping[str, Fact], out: Collection[str]) -> Fact:
    after = _beyond(known, out, fact.superseded_by, forwards=True)
    holds_again = not fact.is_valid and fact.superseded_by in out and after is None
    return replace(
        fact,
        is_valid=fact.is_valid or holds_again,
        superseded_by=after,
        supersedes=_beyond(known, out, fact.supersedes, forwards=False),
        depends_on=tuple(id_ for id_ in fact.depends_on if id_ not in out),
        derived_facts=tuple(id_ for id_ in fact.derived_facts if id_ not in out),
    )


def _beyond(known: Mapping[str, Fact], out: Collection[str], id_: str | None, *, forwards: bool) -> str | None:
    """The next fact of a chain that stays; a broken link or a cycle leads nowhere."""
    seen = set[str]()
    while id_ in out and id_ is not None and id_ not in seen:
        seen.add(id_)
        id_ = known[id_].superseded_by if forwards else known[id_].supersedes
    return None if id_ in out else id_
