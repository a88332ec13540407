"""Facts in rows.

Above: `store.engine` bundles it, `store.forgetting` takes facts out. Below: `store.databases.database`, tables;
`agent.memory.facts`, writing, removal, which decide what becomes of whom.

Rule: whatever writes reads everything of the partition first, lets the pure part decide, and stores the difference, in
one transaction, one writer of an audience after the other.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, bindparam, delete, insert, or_, select, update

from agent.authority import Authority
from agent.errors import StoreError
from agent.memory import writing
from agent.memory.facts import CORRECTION, ConstraintType, Fact, MemoryType, Scope
from agent.memory.removal import fallen, removed
from agent.memory.writing import Change, NewFact, WriteRefused, Written
from agent.records import Author
from store.columns import storable
from store.databases.database import Database, in_order, new_id
from store.listed import listed
from store.search.text import index_words, keywords
from store.tables import fact, fact_ground, message, person

ABOUT: Final = frozenset({"person", "they", "user"})
"""Words by which a model speaks of whoever said it."""
# Made once: making a statement takes longer than running it.
_LINKED: Final = (
    select(fact, message.c.permalink)
    .outerjoin_from(fact, message, message.c.id == fact.c.source_message)
    .order_by(fact.c.time, fact.c.id)
)
_THEIRS: Final = fact.c.person == bindparam("whose")
_SAID_THERE: Final = and_(
    or_(_THEIRS, fact.c.person == ""), fact.c.audience.in_(bindparam("audiences", expanding=True))
)
_READABLE: Final = _LINKED.where(or_(_SAID_THERE, and_(_THEIRS, fact.c.everywhere)))
_GROUNDS: Final = (
    select(fact_ground)
    .where(or_(fact_ground.c.fact.in_(listed("found")), fact_ground.c.ground.in_(listed("found"))))
    .order_by(fact_ground.c.fact, fact_ground.c.ground)
)
NEW: Final = "new"
"""The id of a fact until its row has one."""


class SqlFacts:
    """The port Facts on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def write(self, new: NewFact) -> Written | WriteRefused:
        return await self._database.write(write, new)

    async def retract(self, fact: str, new: NewFact) -> Written | WriteRefused | None:
        return await self._database.write(retract, fact, new)

    async def readable(self, person: str, audiences: frozenset[str]) -> list[Fact]:
        return await self._database.read(readable, person, audiences)

    async def in_own_words(self, person: str) -> frozenset[str]:
        return await self._database.read(in_own_words, person)

    async def open(self, person: str, fact: str, *, everywhere: bool) -> bool:
        return await self._database.write(open_, person, fact, everywhere=everywhere)


def in_own_words(connection: Connection, person_id: str) -> frozenset[str]:
    said = and_(message.c.id == fact.c.source_message, message.c.person == person_id, message.c.author == Author.PERSON)
    columns = select(fact.c.id, fact.c.key, fact.c.value, fact.c.source, message.c.text, person.c.name)
    wrote = columns.select_from(fact.outerjoin(message, said).outerjoin(person, person.c.id == fact.c.person))
    derived = select(fact_ground.c.fact)
    found = connection.execute(wrote.where(fact.c.person == person_id, fact.c.is_valid, fact.c.id.not_in(derived)))
    return frozenset(
        str(row.id)
        for row in found
        if row.source == CORRECTION
        or (row.text and says_no_more(f"{row.key} {row.value}", f"{row.text} {row.name or ''}"))
    )


def open_(connection: Connection, person_id: str, id_: str, *, everywhere: bool) -> bool:
    mine = update(fact).where(fact.c.person == person_id, fact.c.id == int(id_))
    return connection.execute(mine.values(everywhere=everywhere)).rowcount == 1


def says_no_more(value: str, said: str) -> bool:
    """Does every telling word of a value stand in what was said?"""
    return set(keywords(value)) - ABOUT <= set(index_words(said))


def write(connection: Connection, new: NewFact) -> Written | WriteRefused:
    """See the port."""
    return _change(connection, new, writing.write)


def retract(connection: Connection, id_: str, new: NewFact) -> Written | WriteRefused | None:
    """See the port."""
    try:
        return _change(connection, new, lambda facts, new: writing.retract(facts, id_, new))
    except LookupError:
        return None


def _change(
    connection: Connection,
    new: NewFact,
    how: Callable[[Sequence[Fact], NewFact], tuple[tuple[Fact, ...], tuple[Change, ...]]],
) -> Written | WriteRefused:
    new = replace(new, id=NEW, key=storable(new.key), value=storable(new.value))
    in_order(connection, f"facts {new.audience}")
    link = _link(connection, new.source_message)
    before = _facts(connection, and_(fact.c.person == new.person, fact.c.audience == new.audience))
    after, changes = how(before, new)
    outcome = writing.outcome(after, changes, new)
    if isinstance(outcome, WriteRefused) or not changes:
        return outcome
    id_ = str(new_id(connection, insert(fact).values(_columns(outcome.fact))))
    _store(connection, before, [_renamed(one, id_) for one in after])
    return Written(replace(_renamed(outcome.fact, id_), permalink=link), outcome.superseded)


def readable(connection: Connection, person: str, audiences: frozenset[str]) -> list[Fact]:
    found = connection.execute(_READABLE, {"whose": person, "audiences": sorted(audiences)})
    return _with_grounds(connection, found.mappings().all())


def remove(connection: Connection, person: str, ids: Collection[str]) -> int:
    """Take these facts of the person's out, with what was derived from them; how many that were."""
    before = of_person(connection, person)
    after = removed(before, ids)
    _store(connection, before, after)
    return len(before) - len(after)


def remove_rows(connection: Connection, ids: Collection[int]) -> int:
    """As `remove`, whosesoever they are."""
    whose = set(connection.execute(select(fact.c.person).where(fact.c.id.in_(ids))).scalars())
    return sum(remove(connection, person, [str(id_) for id_ in ids]) for person in whose)


def begin_anew(connection: Connection, question: int) -> None:
    """Take out what the turn of this question has kept in other words than those: it will be kept anew."""
    said = connection.execute(select(message.c.text).where(message.c.id == question)).scalar_one_or_none() or ""
    kept = connection.execute(select(fact.c.id, fact.c.key, fact.c.value).where(fact.c.source_message == question))
    remove_rows(connection, [row.id for row in kept if not says_no_more(f"{row.key} {row.value}", said)])


def of_person(connection: Connection, person: str) -> list[Fact]:
    """All facts of a person, in every audience."""
    return _facts(connection, fact.c.person == person)


def with_derived(connection: Connection, where: ColumnElement[bool]) -> frozenset[int]:
    """The row ids of these facts and of what falls with them."""
    named = select(fact.c.person, fact.c.id).where(where)
    found = [(person, str(id_)) for person, id_ in connection.execute(named)]
    people = {person for person, _ in found}
    known = _facts(connection, fact.c.person.in_(sorted(people))) if people else []
    return frozenset(int(id_) for id_ in fallen(known, [id_ for _, id_ in found]))


def _link(connection: Connection, source_message: int | None) -> str | None:
    if source_message is None:
        return None
    row = connection.execute(select(message.c.permalink).where(message.c.id == source_message)).one_or_none()
    if row is None:
        raise StoreError("What this comes from was forgotten meanwhile, so it is not kept.")
    return row.permalink


def _facts(connection: Connection, where: ColumnElement[bool]) -> list[Fact]:
    """With their links, oldest first."""
    return _with_grounds(connection, connection.execute(_LINKED.where(where)).mappings().all())


def _with_grounds(connection: Connection, found: Sequence[Mapping[Any, Any]]) -> list[Fact]:
    if not found:
        return []
    links = connection.execute(_GROUNDS, {"found": [row["id"] for row in found]})
    grounds, derived = dict[int, list[str]](), dict[int, list[str]]()
    for one, ground in links:
        grounds.setdefault(one, []).append(str(ground))
        derived.setdefault(ground, []).append(str(one))
    return [_fact(row, grounds.get(row["id"], ()), derived.get(row["id"], ())) for row in found]


def _fact(row: Mapping[Any, Any], grounds: Iterable[str], derived: Iterable[str]) -> Fact:
    constraint = row["constraint_type"]
    return Fact(
        id=str(row["id"]),
        key=row["key"],
        value=row["value"],
        source=row["source"],
        timestamp=row["time"],
        audience=row["audience"],
        person=row["person"],
        authority=Authority(row["authority"]),
        is_valid=row["is_valid"],
        superseded_by=_text(row["superseded_by"]),
        supersedes=_text(row["supersedes"]),
        memory_type=MemoryType(row["memory_type"]),
        scope=Scope(row["scope"]),
        scope_id=row["scope_id"],
        depends_on=tuple(grounds),
        derived_facts=tuple(derived),
        needs_review=row["needs_review"],
        is_constraint=row["is_constraint"],
        constraint_type=None if constraint is None else ConstraintType(constraint),
        source_message=row["source_message"],
        permalink=row["permalink"],
        everywhere=row["everywhere"],
    )


def _columns(one: Fact) -> dict[str, Any]:
    """The inverse of `_fact`, but for id and grounds."""
    return {
        "key": one.key,
        "value": one.value,
        "source": one.source,
        "time": one.timestamp,
        "audience": one.audience,
        "person": one.person,
        "authority": int(one.authority),
        "is_valid": one.is_valid,
        "superseded_by": _number(one.superseded_by),
        "supersedes": _number(one.supersedes),
        "memory_type": one.memory_type,
        "scope": one.scope,
        "scope_id": one.scope_id,
        "needs_review": one.needs_review,
        "is_constraint": one.is_constraint,
        "constraint_type": one.constraint_type,
        "source_message": one.source_message,
        "everywhere": one.everywhere,
    }


def _store(connection: Connection, before: Sequence[Fact], after: Sequence[Fact]) -> None:
    """Let the rows be as `after` says. What is new has its row already, but no grounds yet."""
    known = {one.id: one for one in before}
    gone = [int(id_) for id_ in known.keys() - {one.id for one in after}]
    lost = or_(fact_ground.c.fact.in_(gone), fact_ground.c.ground.in_(gone))
    if gone:
        connection.execute(delete(fact_ground).where(lost))
        connection.execute(delete(fact).where(fact.c.id.in_(gone)))
    for one in after:
        was = known.get(one.id)
        if was is not None and was != one:
            connection.execute(update(fact).where(fact.c.id == int(one.id)).values(_columns(one)))
        if one.depends_on != (was.depends_on if was else ()):
            _ground(connection, one)


def _ground(connection: Connection, one: Fact) -> None:
    connection.execute(delete(fact_ground).where(fact_ground.c.fact == int(one.id)))
    if one.depends_on:
        grounds = [{"fact": int(one.id), "ground": int(ground)} for ground in one.depends_on]
        connection.execute(insert(fact_ground), grounds)


def _renamed(one: Fact, id_: str) -> Fact:
    """With its row's id in the place of NEW, wherever that stands."""
    return replace(
        one,
        id=id_ if one.id == NEW else one.id,
        superseded_by=id_ if one.superseded_by == NEW else one.superseded_by,
        derived_facts=tuple(id_ if derived == NEW else derived for derived in one.derived_facts),
    )


def _text(id_: int | None) -> str | None:
    return None if id_ is None else str(id_)


def _number(id_: str | None) -> int | None:
    return None if id_ is None else int(id_)
