"""Writes facts: checks authority, finds superseded facts, and marks dependent facts for review (seed 003). Pure.

Rules
  Authority comes first. Organisational facts and constraints can be written by managers and above only, and a fact of
  a greater authority cannot be superseded. A refused write changes nothing.
  A write supersedes the facts that it names, those under its key and those that contradict it, where
  `agent.memory.judging` finds that it replaces them (rules 1 and 2), but only older ones (rule 4): a late write joins
  the chain as history. In doubt both facts stay valid, and the older one is marked as doubted by the newer. A new fact
  depends on those that it gives as its reason ("because the budget is 100 EUR").
  A write changes facts of its own partition (audience and person) and scope only, so a hypothesis never affects a
  global fact. A global write may settle a draft that it names.
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
    CORRECTION,
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
from agent.memory.judging import Verdict, judge, may_replace
from agent.memory.keys import tell_apart
from agent.memory.lexicon import folded
from agent.memory.statements import read_statement
from agent.memory.supersession import different_subjects, gives_as_reason
from agent.memory.told import Told

JUDGED: Final = 16  # Facts that one write is judged against: more than are about one thing
# Facts that one write marks by their words alone: with more, all that a person says of one thing would be marked
DOUBTED: Final = 3
POLICY_AUTHORITY: Final = Authority.MANAGER  # The least that may write constraints (seed 003, "Ignoring Authority")
# A word of prohibition or of a limit: without one a manager's sentence is a fact like others.
_BINDS: Final = re.compile(
    r"\b(?:never|at most|at the latest|no more than|not more than|no later than|must not|mustn't|may not|not allowed"
    r"|forbidden|prohibited|max(?:imum|\.)?|limit(?:ed)? (?:is|to|of)|cap(?:ped)? (?:is|at)|up to"
    r"|niemals|nie|höchstens|maximal|spätestens|nicht mehr als|darf nicht|dürfen nicht|verboten"
    r"|nunca|como máximo|a más tardar|no más de|no se puede|prohibido|máximo)(?!\w)"
    r"|最多|不得|禁止|不超过|从不|最晚|絶対に|最大|以内|してはいけない|してはならない|以下とする",
    re.IGNORECASE,
)
# In this order: a budget "at the latest in May" is a budget.
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


def constraint_type_of(text: str) -> ConstraintType | None:
    """Return the kind of limit that a sentence sets by its words ("never", "at most"), or None if it sets none."""
    if not _BINDS.search(text):
        return None
    return next((kind for kind, pattern in _BINDS_WHAT if pattern.search(text)), ConstraintType.POLICY)


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to write. `supersedes` and `depends_on` name facts by id or by key.

    `memory_type` None: it is derived from the source.
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
    said: str = ""
    """What the person wrote about it, without quotes; "": what the source message says."""
    hint: str = ""
    """A key that the person did not say, and that is not stored: what has it is at most marked."""

    @property
    def text(self) -> str:
        return f"{self.key}: {self.value}" if self.key else self.value


class Refusal(StrEnum):
    NOT_A_MANAGER = texts.NOT_A_MANAGER
    GREATER_AUTHORITY = texts.GREATER_AUTHORITY
    TAKEN_BACK = texts.TAKEN_BACK
    FULL = texts.LIMITS_FULL


@dataclass(frozen=True, slots=True)
class Written:
    """The result of a write: the new fact, or the identical one that existed already, and the facts that it superseded.

    A late write is history at once: `fact.is_valid` is False.
    """

    fact: Fact
    superseded: tuple[Fact, ...] = ()
    dropped: int = 0
    """How many facts were deleted to make room (`FACTS_KEPT`)."""
    doubted: tuple[Fact, ...] = ()
    """Facts that it may have replaced. They are valid."""

    @property
    def by_verdict(self) -> tuple[Fact, ...]:
        """The facts that it superseded because a model that was asked later said so."""
        return tuple(fact for fact in self.superseded if fact.is_outdated_by_verdict)


@dataclass(frozen=True, slots=True)
class Announced:
    """Facts of which the answer of a turn tells: from its question, and learned from earlier messages since."""

    from_question: tuple[Written, ...] = ()
    from_earlier: tuple[Written, ...] = ()


@dataclass(frozen=True, slots=True)
class FactAdded:
    fact: str


@dataclass(frozen=True, slots=True)
class FactSuperseded:
    fact: str
    by: str


@dataclass(frozen=True, slots=True)
class FactDoubted:
    """`by` may have replaced `fact`, which stays valid."""

    fact: str
    by: str


@dataclass(frozen=True, slots=True)
class DoubtSettled:
    """`fact` still holds beside the one that had doubted it."""

    fact: str


@dataclass(frozen=True, slots=True)
class ReviewNeeded:
    """`fact` depends, directly or not, on `because`, which was superseded."""

    fact: str
    because: str


@dataclass(frozen=True, slots=True)
class ReviewSettled:
    """`fact` was stated again after a dependency had changed: it is valid, and depends on the current facts."""

    fact: str


@dataclass(frozen=True, slots=True)
class WriteRefused:
    """Nothing was changed. `standing` is the id of the fact that prevents the write, if there is one."""

    why: Refusal
    standing: str | None = None


Change: TypeAlias = (
    FactAdded | FactSuperseded | FactDoubted | DoubtSettled | ReviewNeeded | ReviewSettled | WriteRefused
)


def write(facts: Sequence[Fact], new: NewFact) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """Return all facts after the write, and the changes.

    `facts` may include other partitions, which are not changed. To write the same value under the same key again
    changes nothing, except that it settles a pending review. Raises ValueError if the id exists already.
    """
    if any(fact.id == new.id for fact in facts):
        raise ValueError(f"there is a fact {new.id!r} already")
    memory_type = new.memory_type or memory_type_of(new.source)
    if (new.is_constraint or memory_type is MemoryType.ORGANIZATIONAL) and new.authority < POLICY_AUTHORITY:
        return tuple(facts), (WriteRefused(Refusal.NOT_A_MANAGER),)
    partition = [fact for fact in facts if _same_partition(fact, new)]
    verdicts = _verdicts(partition, new)
    superseded = [fact for fact in partition if verdicts.get(fact.id) is Verdict.REPLACES]
    # A repetition only settles a pending review: an entry of its own would make a history of nothing new.
    if not new.supersedes and (identical := [fact for fact in superseded if _says_the_same(fact, new)]):
        reviewed = [fact for fact in identical if fact.needs_review and fact.authority <= new.authority]
        return _settled(facts, partition, reviewed)
    # One fact of greater authority refuses the whole write: half of it would leave two valid values.
    greater = next((fact for fact in superseded if fact.authority > new.authority), None)
    if greater is not None:
        return tuple(facts), (WriteRefused(Refusal.GREATER_AUTHORITY, greater.id),)
    # Messages are learned out of order after an outage: an older one is stored as already superseded.
    newer = max((fact for fact in superseded if fact.timestamp > new.timestamp), key=age, default=None)
    older = [fact for fact in superseded if fact.timestamp <= new.timestamp]
    added = _created(partition, new, memory_type, predecessor=max(older, key=age, default=None), successor=newer)
    doubted = [fact for fact in partition if verdicts.get(fact.id) is Verdict.MAY_OUTDATE] if newer is None else []
    return _applied(facts, added, older if newer is None else [], doubted)


def settle(
    facts: Sequence[Fact], older_id: str, newer_id: str, *, replaced: bool, by_person: bool = False
) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """Settle whether the newer fact replaced the one that it doubts: a model was asked about the two alone, or their
    person decided (`by_person`).

    Nothing changes if one of them is not valid any more, if the older one has a greater authority or binds, or if the
    rules exclude what the model says.
    """
    known = {fact.id: fact for fact in facts}
    older, newer = known.get(older_id), known.get(newer_id)
    if older is None or newer is None or older.doubted_by != newer_id or not (older.is_valid and newer.is_valid):
        return tuple(facts), ()
    if not replaced:
        known[older_id] = replace(older, doubted_by=None)
        return tuple(known.values()), (DoubtSettled(older_id),)
    told = Told(older.key, older.value, older.said), Told(newer.key, newer.value, newer.said)
    # The rules stand above the model that was asked: it sees two sentences, not who may decide. And what a person asked
    # to be remembered is replaced by nothing but their own words.
    is_own = bool(newer.said) or newer.source == CORRECTION
    if older.authority > newer.authority or older.is_constraint:
        return tuple(facts), ()
    if not (by_person or (is_own and may_replace(*told))):
        return tuple(facts), ()
    known[older_id] = replace(older, is_valid=False, superseded_by=newer_id)  # still `doubted_by`: by a verdict
    known[newer_id] = replace(newer, supersedes=newer.supersedes or older_id)
    reviews = _reviews(known, [older_id])
    for review in reviews:
        known[review.fact] = replace(known[review.fact], needs_review=True)
    return tuple(known.values()), (FactSuperseded(older_id, newer_id), *reviews)


def reinstate(facts: Sequence[Fact], older_id: str) -> tuple[Fact, ...]:
    """Return all facts after a verdict about this one was undone: it holds again, beside the one that had replaced it.

    Nothing changes if it was not superseded by a verdict.
    """
    known = {fact.id: fact for fact in facts}
    older = known.get(older_id)
    if older is None or not older.is_outdated_by_verdict:
        return tuple(facts)
    newer = known.get(older.superseded_by or "")
    if newer is not None and newer.supersedes == older_id:
        known[newer.id] = replace(newer, supersedes=None)
    known[older_id] = replace(older, is_valid=True, superseded_by=None, doubted_by=None)
    return tuple(known.values())


def retract(facts: Sequence[Fact], id_: str, new: NewFact) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """Retract a fact without a successor. `new` says when and by whom; it ends the chain and is never valid itself.

    Authority is checked as for a write. Raises LookupError if the partition of `new` has no such valid fact.
    """
    target = next((fact for fact in facts if fact.id == id_ and fact.is_valid and _same_partition(fact, new)), None)
    if target is None:
        raise LookupError(f"there is no valid fact {id_!r}")
    binds = target.is_constraint or target.memory_type is MemoryType.ORGANIZATIONAL
    if binds and new.authority < POLICY_AUTHORITY:
        return tuple(facts), (WriteRefused(Refusal.NOT_A_MANAGER),)
    if target.authority > new.authority:
        return tuple(facts), (WriteRefused(Refusal.GREATER_AUTHORITY, target.id),)
    final = replace(_created([], new, target.memory_type, predecessor=target, successor=None), is_valid=False)
    return _applied(facts, final, [target])


def outcome(facts: Sequence[Fact], changes: Sequence[Change], new: NewFact) -> Written | WriteRefused:
    refused = next((change for change in changes if isinstance(change, WriteRefused)), None)
    if refused is not None:
        return refused
    superseded_ids = {change.fact for change in changes if isinstance(change, FactSuperseded)}
    doubted_ids = {change.fact for change in changes if isinstance(change, FactDoubted)}
    added = any(isinstance(change, FactAdded) for change in changes)
    return Written(
        fact=next(fact for fact in facts if (fact.id == new.id if added else _stands_for(fact, new))),
        superseded=tuple(fact for fact in facts if fact.id in superseded_ids),
        doubted=tuple(fact for fact in facts if fact.id in doubted_ids and fact.id != new.id),
    )


def _verdicts(partition: Sequence[Fact], new: NewFact) -> dict[str, Verdict]:
    """Return what the new fact does to the valid ones. Facts that it does not touch are left out."""
    own_text = _own_words(partition, new)
    named = {fact.id: name for name in new.supersedes if (fact := current(partition, name)) is not None}
    valid = [
        fact
        for fact in partition
        if fact.is_valid and (_same_scope(fact, new) or (fact.id in named and _may_settle(new, fact)))
    ]
    nearest = _nearest(valid, new, named.keys())
    verdicts = {fact.id: _verdict(fact, new, named.get(fact.id), own_text) for fact in nearest}
    by_words = [
        fact
        for fact in nearest
        if verdicts[fact.id] is Verdict.MAY_OUTDATE and fact.id not in named and not _has_its_key(fact, new)
    ]
    # One that is doubted already would lose the doubt of a newer fact that may well have replaced it.
    valid_ids = {fact.id for fact in valid}
    undecided = [fact for fact in by_words if fact.doubted_by not in valid_ids]
    dropped = {fact.id for fact in by_words} - {fact.id for fact in undecided[:DOUBTED]}
    return {
        id_: verdict for id_, verdict in verdicts.items() if verdict is not Verdict.STANDS_BESIDE and id_ not in dropped
    }


def _nearest(facts: Sequence[Fact], new: NewFact, named: Collection[str]) -> list[Fact]:
    """Return the facts that a new one may touch, the nearest first: those that it names, that have its key, and that
    share most words with it.

    To judge one takes a millisecond or two, in the transaction of the write.
    """
    told = Told(new.key, new.value, new.said)
    words = read_statement(new.value, about=new.key).content | read_statement(told.sentence).content
    keys = {plain_key(key) for key in (new.key, new.hint) if key}

    def nearness(fact: Fact) -> tuple[bool, bool, int, datetime]:
        is_one_key = plain_key(fact.key) in keys
        return fact.id in named, is_one_key, len(fact.content & words), fact.timestamp

    nearest = sorted(facts, key=nearness, reverse=True)
    if len(nearest) <= JUDGED:
        return nearest
    near = [fact for fact in nearest if any(nearness(fact)[:3]) or fact.value == new.value]
    return near[: max(JUDGED, len(named))]


def _verdict(fact: Fact, new: NewFact, name: str | None, own_text: str) -> Verdict:
    """Return what a new fact does to a valid one. `name`: how the new one names it; `own_text`: see `_own_words`."""
    if _says_the_same(fact, new) or (name is not None and new.source == CORRECTION):
        return Verdict.REPLACES
    if same_key(fact.key, new.key) and (fact.is_constraint or new.is_constraint):
        return Verdict.STANDS_BESIDE if different_subjects(fact.value, new.value) else Verdict.REPLACES
    if fact.is_constraint != new.is_constraint and name is None:
        return Verdict.STANDS_BESIDE  # a wish that contradicts a policy does not replace it
    if fact.source_message is not None and fact.source_message == new.source_message:
        return Verdict.STANDS_BESIDE
    if same_key(fact.key, new.key) and _quotes(new, fact) and new.timestamp > fact.timestamp:
        return Verdict.REPLACES
    # A write that names a fact by its key also names its subject
    key = fact.key if name is not None and same_key(name, fact.key) else new.key
    if name is not None and _quotes(new, fact) and not tell_apart(fact.key, key):
        return Verdict.REPLACES
    old, told = Told(fact.key, fact.value, fact.said), Told(key, own_text, new.said)
    if fact.timestamp > new.timestamp:
        return judge(told, old)
    verdict = judge(old, told, named=name is not None)
    if verdict is Verdict.STANDS_BESIDE and same_key(fact.key, new.hint):
        hinted = judge(old, replace(told, key=new.hint))
        return Verdict.MAY_OUTDATE if hinted is Verdict.REPLACES else hinted
    return verdict


def _has_its_key(fact: Fact, new: NewFact) -> bool:
    return same_key(fact.key, new.key) or same_key(fact.key, new.hint)


def _own_words(partition: Sequence[Fact], new: NewFact) -> str:
    """Return the value without the older values that it quotes ("was: …"), which must not count as contradictions."""
    text, lowercase = new.value, folded(new.value)
    for value in sorted({folded(fact.value) for fact in partition if fact.value}, key=len, reverse=True):
        if value in lowercase:
            text = _without(text, lowercase, value)
            lowercase = folded(text)
    return text if read_statement(text).content else new.value


def _without(text: str, lowercase: str, part: str) -> str:
    """Replace each `part` of a text by a blank. `lowercase` is the text in lower case, as `part` is."""
    kept_parts, position = list[str](), 0
    for piece in lowercase.split(part):
        kept_parts.append(text[position : position + len(piece)])
        position += len(piece) + len(part)
    return " ".join(kept_parts)


def _quotes(new: NewFact, fact: Fact) -> bool:
    """Return whether the new value repeats the other's sentence ("not any more: …"), and so is about the same. A bare
    value ("free") may stand in that of something else ("no longer free").
    """
    quoted = fact.value.strip().casefold()
    return read_statement(fact.value).has_subject and quoted in new.value.casefold()


def _created(
    partition: Sequence[Fact], new: NewFact, kind: MemoryType, *, predecessor: Fact | None, successor: Fact | None
) -> Fact:
    named_grounds = [resolve(partition, name) for name in new.depends_on]
    grounds = [*named_grounds, *(fact for fact in partition if fact.is_valid and gives_as_reason(new.value, fact.text))]
    return Fact(
        id=new.id,
        key=new.key or (predecessor.key if predecessor is not None and predecessor.id in new.supersedes else ""),
        value=new.value,
        source=new.source,
        timestamp=new.timestamp,
        audience=new.audience,
        person=new.person,
        authority=new.authority,
        is_valid=successor is None,
        superseded_by=successor.id if successor is not None else None,
        supersedes=predecessor.id if predecessor is not None and successor is None else None,
        memory_type=kind,
        scope=new.scope,
        scope_id=new.scope_id,
        depends_on=tuple(dict.fromkeys(fact.id for fact in grounds if fact is not None)),
        is_constraint=new.is_constraint,
        constraint_type=new.constraint_type,
        source_message=new.source_message,
        said=new.said,
    )


def _settled(
    facts: Sequence[Fact], partition: Sequence[Fact], restated: Sequence[Fact]
) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    """Settle the review of facts that were stated again: they now depend on the successors of their dependencies."""
    after = {fact.id: fact for fact in facts}
    for fact in restated:
        now = [
            ground if (valid_fact := current(partition, ground)) is None else valid_fact.id
            for ground in fact.depends_on
        ]
        after[fact.id] = replace(after[fact.id], needs_review=False, depends_on=tuple(dict.fromkeys(now)))
        for ground in {*fact.depends_on, *now} & after.keys():
            others = [derived for derived in after[ground].derived_facts if derived != fact.id]
            derived = (*others, fact.id) if ground in now else tuple(others)
            after[ground] = replace(after[ground], derived_facts=derived)
    return tuple(after.values()), tuple(ReviewSettled(fact.id) for fact in restated)


def _applied(
    facts: Sequence[Fact], added: Fact, superseded: Sequence[Fact], doubted: Sequence[Fact] = ()
) -> tuple[tuple[Fact, ...], tuple[Change, ...]]:
    after = {fact.id: fact for fact in facts}
    for ground in added.depends_on:
        after[ground] = replace(after[ground], derived_facts=(*after[ground].derived_facts, added.id))
    for old in superseded:
        after[old.id] = replace(after[old.id], is_valid=False, superseded_by=added.id, doubted_by=None)
    after[added.id] = added
    doubts = [_doubt(fact, added) for fact in doubted]
    for doubt in doubts:
        after[doubt.fact] = replace(after[doubt.fact], doubted_by=doubt.by)
    superseded_ids = [fact.id for fact in superseded] + [
        ground for ground in added.depends_on if not after[ground].is_valid
    ]
    reviews = _reviews(after, superseded_ids)
    for review in reviews:
        after[review.fact] = replace(after[review.fact], needs_review=True)
    changes = (FactAdded(added.id), *(FactSuperseded(old.id, added.id) for old in superseded), *doubts, *reviews)
    return tuple(after.values()), changes


def _doubt(fact: Fact, added: Fact) -> FactDoubted:
    """Return which of the two the other one may have replaced: the newer one may have replaced the older."""
    return FactDoubted(fact.id, added.id) if fact.timestamp <= added.timestamp else FactDoubted(added.id, fact.id)


def _reviews(facts: Mapping[str, Fact], superseded: Sequence[str]) -> list[ReviewNeeded]:
    """Return a review for each valid fact that depends on a superseded one, directly or not; one for each fact."""
    seen = set(superseded)
    pending = [(derived, id_) for id_ in superseded for derived in facts[id_].derived_facts]
    reviews: list[ReviewNeeded] = []
    while pending:
        id_, because = pending.pop(0)
        if id_ in seen or id_ not in facts:
            continue
        seen.add(id_)
        if facts[id_].is_valid:
            reviews.append(ReviewNeeded(id_, because))
        pending += [(derived, because) for derived in facts[id_].derived_facts]
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


# Removing facts: what is removed with them, and how the chains are repaired.
#
# Rules
#   All facts that were derived from a removed one, directly or not, are removed with it, because it is not known which
#   of their words came from it.
#   A chain is closed over the gap. A fact that was superseded by removed facts only becomes valid again, as if those
#   had never been written.


def fallen(facts: Iterable[Fact], removed_ids: Collection[str]) -> frozenset[str]:
    """Return the ids of `gone` that exist, and of all facts derived from them."""
    known = {fact.id: fact for fact in facts}
    ids = set[str]()
    pending = [id_ for id_ in removed_ids if id_ in known]
    while pending:
        id_ = pending.pop()
        if id_ not in ids:
            ids.add(id_)
            pending += [derived for derived in known[id_].derived_facts if derived in known]
    return frozenset(ids)


def removed(facts: Sequence[Fact], removed_ids: Collection[str]) -> tuple[Fact, ...]:
    """Return the facts without those of `gone` and those derived from them."""
    known = {fact.id: fact for fact in facts}
    all_removed = fallen(facts, removed_ids)
    return tuple(_closed(fact, known, all_removed) for fact in facts if fact.id not in all_removed)


def _closed(fact: Fact, known: Mapping[str, Fact], removed_ids: Collection[str]) -> Fact:
    successor = _beyond(known, removed_ids, fact.superseded_by, forwards=True)
    valid_again = not fact.is_valid and fact.superseded_by in removed_ids and successor is None
    return replace(
        fact,
        is_valid=fact.is_valid or valid_again,
        superseded_by=successor,
        supersedes=_beyond(known, removed_ids, fact.supersedes, forwards=False),
        doubted_by=None if fact.doubted_by in removed_ids else fact.doubted_by,
        depends_on=tuple(id_ for id_ in fact.depends_on if id_ not in removed_ids),
        derived_facts=tuple(id_ for id_ in fact.derived_facts if id_ not in removed_ids),
    )


def _beyond(known: Mapping[str, Fact], removed_ids: Collection[str], id_: str | None, *, forwards: bool) -> str | None:
    """Return the next fact of a chain that is not removed; None after a broken link or in a cycle."""
    seen = set[str]()
    while id_ in removed_ids and id_ is not None and id_ not in seen:
        seen.add(id_)
        id_ = known[id_].superseded_by if forwards else known[id_].supersedes
    return None if id_ in removed_ids else id_
