"""Recall: a person's past threads, searched for a reply in one place.

Above: `store.memories`. Below: `store.index`, sought, text, forms, ranking, conversations, tables.

Rules
  A search reads only the entries of the person who asks, so only threads that they wrote in. The audience labels and
  the excluded conversation are conditions of the query itself: what may not flow into the reply never leaves it, not
  as a hit, not as a neighbour, not in the rarity of a word.
  What the engines find is ranked here, so both rank alike.
  A time with nothing to look for is a question too: then what was said at that time is found, the newest first.
"""

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from sqlalchemy import Connection, Integer, ScalarSelect, bindparam, func, select, tuple_

from agent.records import Author, Hit, RecallQuery, StoredMessage
from store import index, people, ranking, rows
from store.conversations import stored_messages
from store.forms import forms
from store.ranking import Hints, Line
from store.sought import EVER, Sought
from store.tables import message, participant, person
from store.text import index_words, keywords

_hit, _near_it = message.alias("hit"), message.alias("near")


def _beside(*, after: bool, step: int) -> ScalarSelect[int]:
    """The next message of the thread on one side of a hit that the search may see, or the one after it."""
    here, there = tuple_(_hit.c.turn, _hit.c.id), tuple_(_near_it.c.turn, _near_it.c.id)
    order = (_near_it.c.turn, _near_it.c.id)
    return (
        select(_near_it.c.id)
        .where(_near_it.c.conversation == _hit.c.conversation)
        .where(_near_it.c.audience.in_(bindparam("audiences", expanding=True)))
        .where(there > here if after else there < here)
        .order_by(*(order if after else [column.desc() for column in order]))
        .limit(1)
        .offset(step)
        .scalar_subquery()
    )


NEIGHBOURS: Final = select(
    _hit.c.id, *(_beside(after=after, step=step) for after in (False, True) for step in (0, 1))
).where(_hit.c.id.in_(bindparam("hits", expanding=True)))

Neighbours: TypeAlias = Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]]
"""For each message those before and those after it, nearest first."""


def search(connection: Connection, query: RecallQuery) -> list[Hit]:
    words = keywords(query.text)
    sought = _sought(connection, query, words)
    if sought is None:
        return []
    found = ranking.candidates(index.matches(connection, sought), total=_total(connection, query.person))
    near = _near(connection, found.strengths, sought)
    lines, names = _lines(connection, near)
    best = ranking.ranked(found, lines, _hints(query, words, names))
    fitting = [(id_, score) for id_, score in best if _fits(lines[id_], sought)]
    if not best and query.within is not None:
        fitting = [(id_, 0.0) for id_ in _recent(connection, query, sought)]
    return _hits(connection, fitting[: max(query.limit, 0)], near, sought)


def _sought(connection: Connection, query: RecallQuery, words: list[str]) -> Sought | None:
    """None: there is nothing to look for, or nobody who may find it, or nobody of that name."""
    number = people.number_of(connection, query.person)
    if number is None or not query.audiences or not (words or query.within):
        return None
    wrote = _people_named(connection, query) if query.by else None
    author = query.author or (Author.PERSON if query.by else None)
    return (
        None
        if wrote == ()
        else Sought(
            words=tuple(dict.fromkeys(map(forms, words))),
            number=number,
            audiences=tuple(sorted(query.audiences)),
            exclude=query.exclude_conversation,
            since=query.within.since if query.within else EVER[0],
            until=query.within.until if query.within else EVER[1],
            author=author or "",
            people=wrote,
        )
    )


def _people_named(connection: Connection, query: RecallQuery) -> tuple[str, ...]:
    """Who is meant by `query.by`, among those who wrote in the person's threads."""
    mine, theirs = participant.alias(), participant.alias()
    wrote = mine.join(theirs, theirs.c.conversation == mine.c.conversation).join(person, person.c.id == theirs.c.person)
    met = select(person.c.id, person.c.name).distinct().select_from(wrote).where(mine.c.person == query.person)
    wanted = set(index_words(query.by))
    return tuple(
        id_ for id_, name in connection.execute(met) if id_ == query.by or (wanted and wanted <= set(index_words(name)))
    )


def _total(connection: Connection, person_id: str) -> int:
    """About how many messages could match. A size for the scale of rarity; it need not be exact."""
    return connection.execute(
        select(func.count(type_=Integer)).select_from(message).where(message.c.person == person_id)
    ).scalar_one()


def _near(connection: Connection, hits: Iterable[int], sought: Sought) -> Neighbours:
    wanted = list(hits)
    if not wanted:
        return {}
    found = connection.execute(NEIGHBOURS, {"hits": wanted, "audiences": sought.audiences})
    return {hit: (_known(*beside[:2]), _known(*beside[2:])) for hit, *beside in found}


def _known(*ids: int | None) -> tuple[int, ...]:
    return tuple(id_ for id_ in ids if id_ is not None)


def _lines(connection: Connection, near: Neighbours) -> tuple[dict[int, Line], dict[str, str]]:
    """Where these messages and those beside them stand, and the names of their people."""
    wanted = {*near, *(id_ for sides in near.values() for side in sides for id_ in side)}
    if not wanted:
        return {}, {}
    standing = select(
        message.c.id, message.c.conversation, message.c.author, message.c.person, message.c.time, person.c.name
    ).join_from(message, person, person.c.id == message.c.person)
    lines: dict[int, Line] = {}
    names: dict[str, str] = {}
    for id_, thread, author, who, time, name in connection.execute(standing.where(message.c.id.in_(wanted))):
        lines[id_] = Line(thread, author == Author.PERSON, who, time, *near.get(id_, ()))
        names[who] = name
    return lines, names


def _hints(query: RecallQuery, words: list[str], names: Mapping[str, str]) -> Hints:
    parts = {who: set(index_words(name)) for who, name in names.items()}
    called = {word for part in parts.values() for word in part}
    groups = list(dict.fromkeys(map(forms, words)))
    return Hints(
        names=frozenset(at for at, group in enumerate(groups) if called.intersection(group)),
        people=frozenset(who for who, part in parts.items() if part.intersection(words)),
        periods=query.periods,
    )


def _fits(line: Line, sought: Sought) -> bool:
    """What stands beside a match was not asked for by time or author."""
    author = Author.PERSON if line.by_person else Author.BOT
    return (
        sought.since <= line.time < sought.until
        and sought.author in {"", author}
        and (sought.people is None or line.person in sought.people)
    )


def _recent(connection: Connection, query: RecallQuery, sought: Sought) -> list[int]:
    """The newest messages of the person's threads that fit, whatever they say."""
    found = (
        select(message.c.id)
        .join_from(participant, message, message.c.conversation == participant.c.conversation)
        .where(participant.c.person == query.person, message.c.conversation != sought.exclude)
        .where(message.c.audience.in_(sought.audiences))
        .where(message.c.time >= sought.since, message.c.time < sought.until)
    )
    if sought.author:
        found = found.where(message.c.author == sought.author)
    if sought.people is not None:
        found = found.where(message.c.person.in_(sought.people))
    newest = found.order_by(message.c.id.desc()).limit(max(query.limit, 0))
    return list(connection.execute(newest).scalars())


def _hits(connection: Connection, best: list[tuple[int, float]], near: Neighbours, sought: Sought) -> list[Hit]:
    near = {**near, **_near(connection, [id_ for id_, _ in best if id_ not in near], sought)}
    beside = {id_: (near[id_][0][:1], near[id_][1][:1]) for id_, _ in best}
    stored = _messages(connection, {id_ for hit, (before, after) in beside.items() for id_ in (hit, *before, *after)})
    hits: list[Hit] = []
    for id_, score in best:
        before, after = beside[id_]
        hits.append(Hit(stored[id_], score, _at(stored, before), _at(stored, after)))
    return hits


def _messages(connection: Connection, wanted: set[int]) -> dict[int, StoredMessage]:
    if not wanted:
        return {}
    found = connection.execute(stored_messages().where(message.c.id.in_(wanted))).mappings()
    return {row["id"]: rows.message(row) for row in found}


def _at(stored: Mapping[int, StoredMessage], ids: tuple[int, ...]) -> StoredMessage | None:
    return stored[ids[0]] if ids else None
