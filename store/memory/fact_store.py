"""Facts in rows.

Rules
  A write reads the facts of the partition that it may affect, lets `agent.memory.writing` decide, and stores the
  difference, in one transaction; writers of one audience are serialised. It may affect facts that share a word or a key
  with the new one, facts that it names, and facts derived from these.
  For each person and place at most FACTS_KEPT facts are kept.
  A question gets the facts that it may need (`relevant`), not all that a person has said in years.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)
from sqlmodel import Field

from agent import texts
from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.memory import writing
from agent.memory.attribution import without_quotes
from agent.memory.audience import by_account
from agent.memory.facts import CORRECTION, FACTS_KEPT, FACTS_MADE_ROOM, ConstraintType, Fact, MemoryType, Scope
from agent.memory.statements import read_statement
from agent.memory.writing import (
    Announced,
    Change,
    FactAdded,
    FactSuperseded,
    NewFact,
    Refusal,
    WriteRefused,
    Written,
    fallen,
    removed,
)
from agent.stored_messages import Author
from store.databases.database import SqlStore, in_order, reads, reads_few, row_id, storable, writes
from store.json_lists import ids_in_parameter, texts_in_parameter
from store.memory import fact_index
from store.memory.fact_index import fact_term
from store.memory_tables import fact
from store.message_tables import message, person
from store.schema import TableRow, metadata
from store.search.text import index_words, telling_words


class FactGroundRow(TableRow, table=True):
    """A fact, and another fact that it depends on."""

    fact: int = Field(primary_key=True, foreign_key="fact.id")
    ground: int = Field(primary_key=True, foreign_key="fact.id", index=True)


fact_ground: Final = metadata.tables["fact_ground"]


SHOWN: Final = 80  # Up to this number, all valid facts are used: about as many as fit into a context
CHOSEN: Final = 60  # If there are more, this number is chosen
BINDING: Final = 20  # Of the chosen, up to this number are the newest binding ones, whatever the question is about
ASKED_FOR: Final = 40  # Of the chosen, up to this number are found by the words of the question
# Superseded facts, whose values are marked where a text still holds them: the newest, as many found by the words of the
# question, and those from visible messages.
PAST: Final = 20
# The facts that a write is compared with, if there are more: those that share the most telling words with it.
COMPARED: Final = 150
CHAIN: Final = 100  # Steps from one fact to the next that are followed in the rows
ABOUT: Final = frozenset({"person", "they", "user"})  # Words with which a model refers to the speaker
# Statements are built once: building one takes longer than running it.
_COLUMNS: Final = tuple(column for column in fact.c if column.name not in {"announced", "doubt_asked"})
_AUTHORITIES: Final = {int(authority): authority for authority in Authority}
_MEMORY_TYPES: Final = {str(memory_type): memory_type for memory_type in MemoryType}
_SCOPES: Final = {str(scope): scope for scope in Scope}
_LINKED: Final = (
    select(*_COLUMNS, message.c.permalink)
    .outerjoin_from(fact, message, message.c.id == fact.c.source_message)
    .order_by(fact.c.time, fact.c.id)
)
_BY_ID: Final = _LINKED.where(fact.c.id.in_(ids_in_parameter("found")))
_THEIRS: Final = fact.c.person == bindparam("whose")
_THERE: Final = fact.c.audience.in_(texts_in_parameter("audiences"))
_USABLE: Final = or_(_THERE, and_(fact.c.everywhere, fact.c.person != ""))
_SAID_THERE: Final = and_(or_(_THEIRS, fact.c.person == ""), _THERE)
_READABLE: Final = _LINKED.where(or_(_SAID_THERE, and_(_THEIRS, fact.c.everywhere)))
_EVERYWHERE: Final = or_(fact.c.scope == Scope.GLOBAL, fact.c.scope == Scope.TASK)
_IN_SCOPE: Final = or_(_EVERYWHERE, fact.c.scope_id == bindparam("here"))
_CONCERNED: Final = (_USABLE, _IN_SCOPE)
# Not written as `is_valid`: so the planner takes the index of binding facts, and not that of valid ones.
_BINDS: Final = and_(fact.c.is_constraint, fact.c.is_valid.is_not(False))
# Facts of the person, and facts about no person: the newest valid ones, superseded ones, and binding ones.
_NEWEST: Final = _LINKED.where(
    fact.c.id.in_(
        union_all(
            *(
                select(
                    select(fact.c.id)
                    .where(whose, which, *_CONCERNED)
                    .order_by(fact.c.id.desc())
                    .limit(limit)
                    .subquery()
                    .c.id
                )
                for whose in (_THEIRS, fact.c.person == "")
                for which, limit in ((fact.c.is_valid, SHOWN + 1), (~fact.c.is_valid, PAST + 1), (_BINDS, BINDING))
            )
        )
    )
)
_OF_MESSAGES: Final = (
    select(fact.c.id)
    .where(_THEIRS, *_CONCERNED, fact.c.source_message.in_(ids_in_parameter("seen")))
    .order_by(fact.c.id.desc())
    .limit(SHOWN)
)
_UNDER_KEYS: Final = _LINKED.where(
    fact.c.id.in_(
        select(fact_term.c.fact)
        .join(fact, fact.c.id == fact_term.c.fact)
        .where(fact_term.c.person == bindparam("whose"), fact_term.c.term.in_(texts_in_parameter("keys")))
        .where(fact.c.is_valid, *_CONCERNED, fact.c.id.not_in(ids_in_parameter("chosen")))
        .order_by(fact_term.c.fact.desc())
        .limit(SHOWN)
    )
)
_ASKED: Final = fact_index.Lookup(fact.c.is_valid, *_CONCERNED)
_ASKED_PAST: Final = fact_index.Lookup(~fact.c.is_valid, *_CONCERNED)
_ALIKE: Final = fact_index.Lookup(_THERE)
_ALIKE_VALID: Final = fact_index.Lookup(_THERE, fact.c.is_valid)
_GROUNDS: Final = (
    select(fact_ground)
    .where(or_(fact_ground.c.fact.in_(ids_in_parameter("found")), fact_ground.c.ground.in_(ids_in_parameter("found"))))
    .order_by(fact_ground.c.fact, fact_ground.c.ground)
)
_OWN: Final = message.c.author == Author.PERSON
_WORDS: Final = select(message.c.id, message.c.text).where(message.c.id.in_(ids_in_parameter("found")), _OWN)
_USED: Final = update(fact).where(fact.c.id.in_(ids_in_parameter("found"))).values(used=bindparam("now"))
_ALIKE_IN_BOTH: Final = (
    "key", "value", "source", "audience", "person", "is_valid", "memory_type", "scope", "scope_id", "needs_review",
    "is_constraint", "constraint_type", "source_message", "everywhere",
)  # fmt: skip
_NEWEST_VALID: Final = (
    select(fact.c.id)
    .where(fact.c.person == bindparam("whose"), fact.c.is_valid, fact.c.audience == bindparam("there"))
    .order_by(fact.c.id.desc())
    .limit(bindparam("most"))
)
_NEWEST_OF_MESSAGES: Final = _NEWEST_VALID.where(fact.c.source_message.in_(ids_in_parameter("near")))
NEW: Final = "new"  # The id of a fact that has no row yet


def latest(
    connection: Connection, person: str, audience: str, limit: int, about: str = "", near: Collection[int] = ()
) -> list[Fact]:
    theirs = {"whose": person, "there": audience}
    words = fact_index.asked_terms(about) if about else []
    parameters = {"whose": person, "audiences": [audience]}
    alike = fact_index.leading_to(connection, _ALIKE_VALID, words, parameters)[: limit // 2] if words else []
    newest = connection.execute(_NEWEST_VALID, {**theirs, "most": limit}).scalars().all()
    of_near = {**theirs, "near": sorted(near), "most": limit // 4}
    from_messages = connection.execute(_NEWEST_OF_MESSAGES, of_near).scalars().all() if near else ()
    ids = list(dict.fromkeys([*from_messages, *alike, *newest]))[:limit]
    return sorted(_by_id(connection, ids), key=lambda item: int(item.id), reverse=True)


def doubts(connection: Connection, person: str, audience: str, limit: int, asked: int) -> list[tuple[Fact, Fact]]:
    newer = fact.alias("newer")
    doubted = select(fact.c.id, newer.c.id.label("by")).join(newer, newer.c.id == fact.c.doubted_by)
    open_ = and_(fact.c.person == person, fact.c.audience == audience, fact.c.is_valid, newer.c.is_valid)
    order = (fact.c.doubt_asked, newer.c.id.desc(), fact.c.id.desc())
    open_pairs = doubted.where(open_, fact.c.doubt_asked < asked)
    pairs = connection.execute(open_pairs.order_by(*order).limit(limit)).all()
    facts = _with_words(connection, _by_id(connection, {id_ for pair in pairs for id_ in pair}))
    known = {int(item.id): item for item in facts}
    return [(known[older], known[by]) for older, by in pairs]


def settle(
    connection: Connection,
    person: str,
    audience: str,
    older: str,
    newer: str,
    *,
    replaced: bool | None,
    by_person: bool = False,
) -> bool:
    in_order(connection, f"facts {audience}")
    asked = update(fact).where(fact.c.id == int(older), fact.c.doubted_by == int(newer), fact.c.person == person)
    connection.execute(asked.values(doubt_asked=fact.c.doubt_asked + 1))
    if replaced is None:
        return False
    before = _with_words(connection, _by_id(connection, {int(older), int(newer)}))
    derived = {int(id_) for item in before for id_ in item.derived_facts}
    before += _by_id(connection, derived - {int(older), int(newer)})
    if any((item.person, item.audience) != (person, audience) for item in before):
        return False
    after, changes = writing.settle(before, older, newer, replaced=replaced, by_person=by_person)
    _store(connection, before, after)
    if not by_person and any(isinstance(change, FactSuperseded) for change in changes):  # the next answer tells of it
        connection.execute(update(fact).where(fact.c.id == int(newer)).values(announced=None))
    return bool(changes)


def reinstate(connection: Connection, person: str, older: str) -> None:
    found = [item for item in _by_id(connection, [int(older)]) if item.person == person and item.is_outdated_by_verdict]
    for item in found:
        in_order(connection, f"facts {item.audience}")
        newer = int(item.superseded_by or 0)
        before = _by_id(connection, {int(older), newer})
        _store(connection, before, writing.reinstate(before, older))
        # What told of the verdict can be undone once: a second press would take back these two.
        connection.execute(update(fact).where(fact.c.id.in_([int(older), newer])).values(announced=0))


_QUESTIONS: Final = (
    select(message.c.id, message.c.person, message.c.audience)
    .where(message.c.turn == bindparam("answered"), _OWN)
    .order_by(message.c.id)
)
_UNTOLD: Final = (
    update(fact)
    .where(fact.c.person == bindparam("whose"), fact.c.audience == bindparam("where"), fact.c.announced.is_(None))
    .where(fact.c.source_message.is_not(None))
    .values(announced=bindparam("answered"))
)
_FROM_QUESTIONS: Final = (
    select(fact.c.id)
    .join(message, message.c.id == fact.c.source_message)
    .where(message.c.turn == bindparam("answered"), _OWN, message.c.person == fact.c.person)
)
_KEPT_IN: Final = _LINKED.where(
    or_(fact.c.id.in_(_FROM_QUESTIONS), fact.c.announced == bindparam("answered")), fact.c.source != CORRECTION
)


def kept_in(connection: Connection, turn: int) -> Announced:
    own = {row.id for row in connection.execute(_QUESTIONS, {"answered": turn})}
    facts = _with_grounds(connection, connection.execute(_KEPT_IN, {"answered": turn}).all())
    former = _facts(connection, fact.c.superseded_by.in_([int(item.id) for item in facts])) if facts else []
    writes = [Written(item, tuple(old for old in former if old.superseded_by == item.id)) for item in facts]
    return Announced(
        tuple(write for write in writes if write.fact.source_message in own),
        tuple(write for write in writes if write.fact.source_message not in own),
    )


_OF_ASKERS: Final = (
    select(fact.c.id)
    .join(message, and_(message.c.person == fact.c.person, message.c.audience == fact.c.audience))
    .where(message.c.turn == bindparam("answered"), _OWN)
)
_UNTOLD_OF_ASKERS: Final = _OF_ASKERS.where(
    or_(
        and_(fact.c.announced.is_(None), fact.c.source_message.is_not(None)),
        fact.c.announced == bindparam("answered"),  # before the turn was continued
    )
)
_HAS_NEWS: Final = select(or_(exists(_UNTOLD_OF_ASKERS), exists(_FROM_QUESTIONS)))


def has_news(connection: Connection, turn: int) -> bool:
    """Whether `announce` may have something to tell. Most answers have nothing: no write needs to find that out."""
    return bool(connection.execute(_HAS_NEWS, {"answered": turn}).scalar_one())


def announce(connection: Connection, turn: int) -> Announced:
    questions = connection.execute(_QUESTIONS, {"answered": turn}).all()
    if not questions:
        return Announced()
    last = questions[-1]
    connection.execute(_UNTOLD, {"whose": last.person, "where": last.audience, "answered": turn})
    told = kept_in(connection, turn)
    return Announced(
        *(tuple(write for write in writes if write.fact.is_valid) for writes in (told.from_question, told.from_earlier))
    )


def in_own_words(connection: Connection, person_id: str, ids: Collection[str]) -> frozenset[str]:
    own = and_(message.c.id == fact.c.source_message, message.c.person == person_id, message.c.author == Author.PERSON)
    columns = select(fact.c.id, fact.c.key, fact.c.value, fact.c.source, message.c.text, person.c.name)
    wrote = columns.select_from(fact.outerjoin(message, own).outerjoin(person, person.c.id == fact.c.person))
    own_facts = wrote.where(fact.c.person == person_id, fact.c.is_valid, fact.c.id.in_([int(id_) for id_ in ids]))
    found = connection.execute(own_facts.where(fact.c.id.not_in(select(fact_ground.c.fact))))
    return frozenset(
        str(row.id)
        for row in found
        if row.source == CORRECTION
        or (row.text and is_covered_by(f"{row.key} {row.value}", f"{row.text} {row.name or ''}"))
    )


def open_(connection: Connection, person_id: str, id_: str, *, everywhere: bool) -> bool:
    own = update(fact).where(fact.c.person == person_id, fact.c.id == int(id_))
    return connection.execute(own.values(everywhere=everywhere)).rowcount == 1


def keep(connection: Connection, person_id: str, id_: str, now: datetime) -> bool:
    valid = update(fact).where(fact.c.person == person_id, fact.c.id == int(id_), fact.c.is_valid)
    return connection.execute(valid.values(kept=now)).rowcount == 1


def is_covered_by(value: str, text: str) -> bool:
    """Whether every telling word of a fact's value occurs in the text."""
    return set(telling_words(value)) - ABOUT <= set(index_words(text))


def write(connection: Connection, new: NewFact) -> Written | WriteRefused:
    return _change(connection, new, writing.write, [*new.supersedes, *new.depends_on])


def retract(connection: Connection, fact: str, new: NewFact) -> Written | WriteRefused | None:
    try:
        return _change(connection, new, lambda facts, new: writing.retract(facts, fact, new), [fact])
    except LookupError:
        return None


def _change(
    connection: Connection,
    new: NewFact,
    how: Callable[[Sequence[Fact], NewFact], tuple[tuple[Fact, ...], tuple[Change, ...]]],
    named: Sequence[str],
) -> Written | WriteRefused:
    new = replace(new, id=NEW, key=storable(new.key), value=storable(new.value), hint=storable(new.hint))
    in_order(connection, f"facts {new.audience}")
    link, taken_back, said = _source(connection, new.source_message)
    if taken_back:
        return WriteRefused(Refusal.TAKEN_BACK)
    new = replace(new, said=new.said or said)
    before = _before(connection, new, named)
    after, changes = how(before, new)
    outcome, dropped = writing.outcome(after, changes, new), 0
    if isinstance(outcome, WriteRefused) or not changes:
        return outcome
    if not any(isinstance(change, FactAdded) for change in changes):
        _store(connection, before, after)
        return outcome
    if (count := _count(connection, new)) >= FACTS_KEPT:
        if not (dropped := _make_room(connection, new, count)):
            return WriteRefused(Refusal.FULL)
        before = _before(connection, new, named)
        after, changes = how(before, new)
        outcome = writing.outcome(after, changes, new)
        if isinstance(outcome, WriteRefused):
            return outcome
    added = outcome.fact
    statement = added.statement
    id_ = row_id(connection.execute(insert(fact).values({**_columns(added), **fact_index.reading(statement)})))
    fact_index.add(connection, id_, added.person, fact_index.terms(added.key, added.value, statement))
    _store(connection, before, [_with_id(item, str(id_)) for item in after])
    return Written(replace(_with_id(added, str(id_)), permalink=link), outcome.superseded, dropped, outcome.doubted)


def _count(connection: Connection, new: NewFact) -> int:
    return connection.execute(select(func.count()).select_from(fact).where(_partition(new))).scalar_one()


def _partition(new: NewFact) -> ColumnElement[bool]:
    return and_(fact.c.person == new.person, fact.c.audience == new.audience)


def _before(connection: Connection, new: NewFact, named: Sequence[str]) -> list[Fact]:
    """The facts of its partition that a write may affect: all of them, if there are few."""
    few = _count(connection, new) <= COMPARED
    facts = _facts(connection, _partition(new)) if few else _compared(connection, new, named)
    return _with_words(connection, facts)


def _compared(connection: Connection, new: NewFact, named: Sequence[str]) -> list[Fact]:
    statement = read_statement(new.value, about=new.key)
    terms = [*fact_index.key_terms([*named, new.hint]), *fact_index.written_terms(new.key, new.value, statement)]
    candidates = fact_index.leading_to(connection, _ALIKE, terms, {"whose": new.person, "audiences": [new.audience]})
    waiting = {*candidates[:COMPARED], *(int(name) for name in named if name.isdecimal())}
    known = dict[str, Fact]()
    for _ in range(CHAIN):
        facts = _by_id(connection, waiting)
        found = [item for item in facts if (item.person, item.audience) == (new.person, new.audience)]
        known |= {item.id: item for item in found}
        follows = {id_ for item in found for id_ in (item.superseded_by, *item.derived_facts) if id_ is not None}
        waiting = {int(id_) for id_ in follows - known.keys()}
        if not waiting:
            break
    return sorted(known.values(), key=lambda item: (item.timestamp, int(item.id)))


def _make_room(connection: Connection, new: NewFact, count: int) -> int:
    """Delete the least needed facts, but no binding ones; returns how many."""
    grounds = select(fact_ground.c.ground)
    order = (fact.c.is_valid, fact.c.id.in_(grounds), func.coalesce(fact.c.used, fact.c.time), fact.c.id)
    removable = select(fact.c.id).where(_partition(new), ~and_(fact.c.is_valid, fact.c.is_constraint))
    oldest = removable.order_by(*order).limit(count - FACTS_KEPT + FACTS_MADE_ROOM)
    removed_ids = [str(id_) for id_ in connection.execute(oldest).scalars()]
    known = _facts(connection, _partition(new)) if removed_ids else []
    remaining = removed(known, removed_ids)
    _store(connection, known, remaining)
    return len(known) - len(remaining)


def readable(connection: Connection, person: str, audiences: frozenset[str]) -> list[Fact]:
    found = list[Row[Any]]()
    for account, labels in by_account(person, audiences).items():
        rows = connection.execute(_READABLE, {"whose": account, "audiences": sorted(labels)})
        found += [row for row in rows if account == person or row.audience in labels]
    return _with_grounds(connection, sorted({row.id: row for row in found}.values(), key=_time))


class SqlFacts(SqlStore):
    write = writes(write)
    retract = writes(retract)
    readable = reads(readable)
    latest = reads(latest)
    kept_in = reads(kept_in)
    _has_news = reads_few(has_news)
    doubts = reads(doubts)
    settle = writes(settle)
    reinstate = writes(reinstate)
    keep = writes(keep)

    async def announce(self, turn: int) -> Announced:
        return await self.database.write(announce, turn) if await self._has_news(turn) else Announced()

    async def in_own_words(self, person: str, facts: Collection[str]) -> frozenset[str]:
        return await self.database.read(in_own_words, person, facts)

    async def open(self, person: str, fact: str, *, everywhere: bool) -> bool:
        return await self.database.write(open_, person, fact, everywhere=everywhere)


def relevant(
    connection: Connection, person: str, audiences: frozenset[str], question: str, here: str, seen: Collection[int]
) -> list[Fact]:
    """The `readable` facts that a question in the conversation `here` may need, oldest first; all of them, if there are
    few. `seen`: the messages in its context. Without the facts' grounds, which no context shows.
    """
    rows = list[Row[Any]]()
    for account, labels in by_account(person, audiences).items():
        parameters = {"whose": account, "audiences": sorted(labels), "here": here}
        newest = connection.execute(_NEWEST, parameters).all()
        for whose in dict.fromkeys((account, "")):
            of_person = {row.id: row for row in newest if row.person == whose}
            found = _select_relevant(connection, {**parameters, "whose": whose}, question, sorted(seen), of_person)
            rows += [row for row in found if account == person or row.audience in labels]
    return [_fact(row) for row in sorted({row.id: row for row in rows}.values(), key=_time)]


def _select_relevant(
    connection: Connection,
    parameters: Mapping[str, Any],
    question: str,
    seen: list[int],
    newest: Mapping[int, Row[Any]],
) -> list[Row[Any]]:
    """The facts of one person that the question may need, given that person's newest."""
    newest_first = sorted(newest, reverse=True)
    valid = [id_ for id_ in newest_first if newest[id_].is_valid][: SHOWN + 1]
    past = [id_ for id_ in newest_first if not newest[id_].is_valid]
    has_more, has_more_past = len(valid) > SHOWN, len(past) > PAST
    ids, chosen = dict.fromkeys(past[:PAST]), list[int]()
    words = fact_index.asked_terms(question) if has_more or has_more_past else []
    if seen and (has_more or has_more_past):
        of_messages = connection.execute(_OF_MESSAGES, {**parameters, "seen": seen}).scalars()
        ids |= dict.fromkeys(id_ for id_ in of_messages if id_ not in valid)
    if has_more_past:
        ids |= dict.fromkeys(fact_index.leading_to(connection, _ASKED_PAST, words, parameters)[:PAST])
    if has_more:
        asked = fact_index.leading_to(connection, _ASKED, words, parameters)
        binding = [id_ for id_ in newest_first if newest[id_].is_valid and newest[id_].is_constraint]
        chosen = list(dict.fromkeys([*binding[:BINDING], *asked[:ASKED_FOR], *valid]))[:CHOSEN]
    ids |= dict.fromkeys(chosen or valid)
    rows = [newest[id_] for id_ in ids if id_ in newest]
    if missing := sorted(ids.keys() - newest.keys()):
        rows += connection.execute(_BY_ID, {"found": missing}).all()
    if has_more:  # a fact of a narrower scope shadows one of a wider scope
        chosen_ids = frozenset(chosen)
        keys = fact_index.key_terms(dict.fromkeys(row.key for row in rows if row.id in chosen_ids))
        rows += connection.execute(_UNDER_KEYS, {**parameters, "keys": keys, "chosen": chosen}).all()
    known = {row.id: row for row in rows}
    if doubters := sorted(
        {row.doubted_by for row in rows if row.is_valid and row.doubted_by is not None} - known.keys()
    ):
        known |= {row.id: row for row in connection.execute(_BY_ID, {"found": doubters}).all()}
    return list(known.values())


def mark_used(connection: Connection, ids: Iterable[str], now: datetime) -> None:
    connection.execute(_USED, {"found": [int(id_) for id_ in ids], "now": now})


def _by_id(connection: Connection, ids: Collection[int]) -> list[Fact]:
    if not ids:
        return []
    return _with_grounds(connection, connection.execute(_BY_ID, {"found": sorted(ids)}).all())


def remove(connection: Connection, person: str, ids: Collection[str]) -> int:
    """Delete these facts of the person, with all facts derived from them; returns how many."""
    before = of_person(connection, person)
    after = removed(before, ids)
    _store(connection, before, after)
    return len(before) - len(after)


def remove_rows(connection: Connection, ids: Collection[int]) -> int:
    """As `remove`, for facts of any person."""
    owners = set(connection.execute(select(fact.c.person).where(fact.c.id.in_(ids))).scalars())
    return sum(remove(connection, person, [str(id_) for id_ in ids]) for person in owners)


def discard_reworded(connection: Connection, question: int) -> None:
    """Delete facts that the question's turn worded differently: the restarted turn keeps them again."""
    text = connection.execute(select(message.c.text).where(message.c.id == question)).scalar_one_or_none() or ""
    facts = connection.execute(select(fact.c.id, fact.c.key, fact.c.value).where(fact.c.source_message == question))
    remove_rows(connection, [row.id for row in facts if not is_covered_by(f"{row.key} {row.value}", text)])


def of_person(connection: Connection, person: str) -> list[Fact]:
    """All facts of a person, in every audience."""
    return _facts(connection, fact.c.person == person)


def with_derived(connection: Connection, where: ColumnElement[bool]) -> frozenset[int]:
    """The row ids of these facts and of all facts derived from them."""
    named = select(fact.c.person, fact.c.id).where(where)
    found = [(person, str(id_)) for person, id_ in connection.execute(named)]
    people = {person for person, _ in found}
    known = _facts(connection, fact.c.person.in_(sorted(people))) if people else []
    return frozenset(int(id_) for id_ in fallen(known, [id_ for _, id_ in found]))


def _source(connection: Connection, source_message: int | None) -> tuple[str | None, bool, str]:
    """The message's link, whether its person deleted its memories, and its words. Raises StoreError if it is gone."""
    if source_message is None:
        return None, False, ""
    columns = select(message.c.permalink, message.c.taken_back, message.c.text)
    row = connection.execute(columns.where(message.c.id == source_message)).one_or_none()
    if row is None:
        raise StoreError(texts.SOURCE_FORGOTTEN)
    return row.permalink, row.taken_back, without_quotes(row.text)


def _with_words(connection: Connection, facts: Sequence[Fact]) -> list[Fact]:
    """Add what the person wrote in the source messages, by which facts are compared."""
    sources = {item.source_message for item in facts if item.is_valid and item.source_message is not None}
    if not sources:
        return list(facts)
    found = connection.execute(_WORDS, {"found": sorted(sources)})
    words = {row.id: without_quotes(row.text) for row in found}
    return [replace(item, said=words.get(item.source_message or 0, "")) for item in facts]


def _facts(connection: Connection, where: ColumnElement[bool]) -> list[Fact]:
    """The facts that meet the condition, with links and grounds, oldest first."""
    return _with_grounds(connection, connection.execute(_LINKED.where(where)).all())


def _time(row: Row[Any]) -> tuple[datetime, int]:
    return row.time, row.id


def _with_grounds(connection: Connection, found: Sequence[Row[Any]]) -> list[Fact]:
    if not found:
        return []
    links = connection.execute(_GROUNDS, {"found": [row.id for row in found]})
    grounds, derived = dict[int, list[str]](), dict[int, list[str]]()
    for fact_id, ground in links:
        grounds.setdefault(fact_id, []).append(str(ground))
        derived.setdefault(ground, []).append(str(fact_id))
    return [_fact(row, grounds.get(row.id, ()), derived.get(row.id, ())) for row in found]


def _fact(row: Row[Any], grounds: Iterable[str] = (), derived: Iterable[str] = ()) -> Fact:
    """The fact of a row of `_COLUMNS`, unpacked in one step for speed: a turn reads hundreds before it starts."""
    cells: tuple[Any, ...] = tuple(row)
    id_, key, value, source, time, audience, whose, authority, is_valid, superseded_by, supersedes = cells[:11]
    memory_type, scope, scope_id, needs_review, is_constraint, limit, source_message, everywhere = cells[11:19]
    used, reading, reader, doubted_by, kept, permalink = cells[19:]
    return Fact(
        id=str(id_),
        key=key,
        value=value,
        source=source,
        timestamp=time,
        audience=audience,
        person=whose,
        authority=_AUTHORITIES[authority],
        is_valid=is_valid,
        superseded_by=_text(superseded_by),
        supersedes=_text(supersedes),
        memory_type=_MEMORY_TYPES[memory_type],
        scope=_SCOPES[scope],
        scope_id=scope_id,
        depends_on=tuple(grounds),
        derived_facts=tuple(derived),
        needs_review=needs_review,
        is_constraint=is_constraint,
        constraint_type=None if limit is None else ConstraintType(limit),
        source_message=source_message,
        permalink=permalink,
        everywhere=everywhere,
        doubted_by=_text(doubted_by),
        used=used,
        kept=kept,
        reading=fact_index.kept_reading(value, reading, reader) if is_valid else None,
    )


def _columns(item: Fact) -> dict[str, Any]:
    """The inverse of `_fact`, without id and grounds."""
    numbers = {name: _number(getattr(item, name)) for name in ("superseded_by", "supersedes", "doubted_by")}
    same = {name: getattr(item, name) for name in _ALIKE_IN_BOTH}
    return {**same, **numbers, "time": item.timestamp, "authority": int(item.authority)}


def _store(connection: Connection, before: Sequence[Fact], after: Sequence[Fact]) -> None:
    """Update the rows from `before` to `after`. A new fact has its row already, but no grounds yet."""
    known = {item.id: item for item in before}
    removed_ids = [int(id_) for id_ in known.keys() - {item.id for item in after}]
    links = or_(fact_ground.c.fact.in_(removed_ids), fact_ground.c.ground.in_(removed_ids))
    if removed_ids:
        connection.execute(delete(fact_ground).where(links))
        fact_index.remove(connection, removed_ids)
        connection.execute(delete(fact).where(fact.c.id.in_(removed_ids)))
    for item in after:
        old = known.get(item.id)
        if old is not None and old != item:
            other_doubt = {"doubt_asked": 0} if old.doubted_by != item.doubted_by else {}
            connection.execute(update(fact).where(fact.c.id == int(item.id)).values(_columns(item) | other_doubt))
        if item.depends_on != (old.depends_on if old else ()):
            _store_grounds(connection, item)


def _store_grounds(connection: Connection, item: Fact) -> None:
    connection.execute(delete(fact_ground).where(fact_ground.c.fact == int(item.id)))
    if item.depends_on:
        grounds = [{"fact": int(item.id), "ground": int(ground)} for ground in item.depends_on]
        connection.execute(insert(fact_ground), grounds)


def _with_id(item: Fact, id_: str) -> Fact:
    """The fact with its row's id in place of NEW, in all fields."""
    return replace(
        item,
        id=id_ if item.id == NEW else item.id,
        superseded_by=id_ if item.superseded_by == NEW else item.superseded_by,
        doubted_by=id_ if item.doubted_by == NEW else item.doubted_by,
        derived_facts=tuple(id_ if derived == NEW else derived for derived in item.derived_facts),
    )


def _text(id_: int | None) -> str | None:
    return None if id_ is None else str(id_)


def _number(id_: str | None) -> int | None:
    return None if id_ is None else int(id_)
