"""Recall: a person's past threads, searched for a reply in one place.

Above: `store.memory.memories`. Below: `store.search.index`, sought, text, forms, ranking, conversations, tables.

Rules
  A search reads only the entries of the person who asks, so only threads that they wrote in. The audience labels and
  the excluded conversation are conditions of the query itself: what may not flow into the reply never leaves it, not
  as a hit, not as a neighbour, not in the rarity of a word.
  What the engines find is ranked here, so both rank alike.
  A time with nothing to look for is a question too: then what was said at that time is found, the newest first.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final

from sqlalchemy import Connection, Integer, ScalarSelect, bindparam, func, select, tuple_

from agent.records import Author, Hit, RecallQuery, StoredMessage
from store import rows
from store.conversations import stored_messages
from store.search import index, ranking
from store.search.forms import forms
from store.search.ranking import Hints, Line, Range
from store.search.sought import EVER, Sought
from store.search.text import index_words, keywords
from store.tables import message, participant, person

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


SIDES: Final = tuple((after, step) for after in (False, True) for step in (0, 1))
NEIGHBOURS: Final = select(_hit.c.id, *(_beside(after=after, step=step) for after, step in SIDES)).where(
    _hit.c.id.in_(bindparam("hits", expanding=True))
)
LINES: Final = (
    select(message.c.id, message.c.conversation, message.c.author, message.c.person, message.c.time, person.c.name)
    .join_from(message, person, person.c.id == message.c.person)
    .where(message.c.id.in_(bindparam("wanted", expanding=True)), message.c.length > 0)  # words, not only a picture
)


def search(connection: Connection, query: RecallQuery) -> list[Hit]:
    words = keywords(query.text)
    number, among = _reader(connection, query.person)
    if number is None or not query.audiences or not (words or query.within):
        return []
    wrote = _people_named(connection, query) if query.by else None
    sought = _sought(query, words, number, wrote)
    found = ranking.candidates(index.matches(connection, sought), among)
    lines, names = _lines(connection, found.strengths, sought)
    fitting = [
        (id_, score)
        for id_, score in ranking.ranked(found, lines, _hints(query, words, names))
        if _fits(lines[id_], sought)
    ]
    if not fitting and query.within is not None:
        fitting = [(id_, 0.0) for id_ in _recent(connection, query, sought)]
    best = fitting[: max(query.limit, 0)]
    return _hits(connection, best, _beside_each(connection, best, {id_: lines[id_] for id_ in found.strengths}, sought))


def _reader(connection: Connection, person_id: str) -> tuple[int | None, Range]:
    """The person's number, and the size of what they said and were answered: others' threads hardly change it."""
    said = select(
        select(person.c.number).where(person.c.id == person_id).scalar_subquery(),
        func.count(type_=Integer),
        func.coalesce(func.min(message.c.id), 0),
        func.coalesce(func.max(message.c.id), 0),
    ).where(message.c.person == person_id)
    number, *size = connection.execute(said).one()
    return number, Range(*size)


def _sought(query: RecallQuery, words: list[str], number: int, wrote: tuple[str, ...] | None) -> Sought:
    """`wrote`: the people whose words alone are asked for; the bot's are nobody's."""
    author = query.author or (None if wrote is None else Author.PERSON)
    return Sought(
        words=tuple(dict.fromkeys(map(forms, words))),
        number=number,
        audiences=tuple(sorted(query.audiences)),
        exclude=query.exclude_conversation,
        since=query.within.since if query.within else EVER[0],
        until=query.within.until if query.within else EVER[1],
        author=author or "",
        people=wrote,
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


def _lines(connection: Connection, hits: Iterable[int], sought: Sought) -> tuple[dict[int, Line], dict[str, str]]:
    """Where these messages and those beside them stand, and the names of their people."""
    wanted = list(hits)
    if not wanted:
        return {}, {}
    lines: dict[int, Line] = {}
    names: dict[str, str] = {}
    beside = {
        hit: near for hit, *near in connection.execute(NEIGHBOURS, {"hits": wanted, "audiences": sought.audiences})
    }
    all_of_them = {*beside, *(id_ for near in beside.values() for id_ in near if id_ is not None)}
    for id_, thread, author, who, time, name in connection.execute(LINES, {"wanted": list(all_of_them)}):
        near = beside.get(id_, ())
        lines[id_] = Line(thread, author == Author.PERSON, who, time, _known(near[:2]), _known(near[2:]))
        names[who] = name
    return lines, names


def _known(ids: Sequence[int | None]) -> tuple[int, ...]:
    return tuple(id_ for id_ in ids if id_ is not None)


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
        .where(message.c.audience.in_(sought.audiences), message.c.length > 0)
        .where(message.c.time >= sought.since, message.c.time < sought.until)
    )
    if sought.author:
        found = found.where(message.c.author == sought.author)
    if sought.people is not None:
        found = found.where(message.c.person.in_(sought.people))
    newest = found.order_by(message.c.id.desc()).limit(max(query.limit, 0))
    return list(connection.execute(newest).scalars())


def _beside_each(
    connection: Connection, best: Sequence[tuple[int, float]], looked_at: Mapping[int, Line], sought: Sought
) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
    """For each hit the message before it and the one after it, if any; asked for where `looked_at` does not say."""
    before, after = _chained(looked_at)
    unknown = [id_ for id_, _ in best if id_ not in before or id_ not in after]
    asked = {id_: line for id_, line in _lines(connection, unknown, sought)[0].items() if id_ in unknown}
    more_before, more_after = _chained(asked)
    before, after = more_before | before, more_after | after
    return {id_: (before[id_], after[id_]) for id_, _ in best}


def _chained(lines: Mapping[int, Line]) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """What stands before and what after each message, as far as the two on either side of these lines tell."""
    before: dict[int, tuple[int, ...]] = {}
    after: dict[int, tuple[int, ...]] = {}
    for id_, line in lines.items():
        chain = (*line.before[::-1], id_, *line.after)
        for left, right in pairwise(chain):
            after[left], before[right] = (right,), (left,)
        if len(line.before) < len(SIDES) // 2:
            before[chain[0]] = ()
        if len(line.after) < len(SIDES) // 2:
            after[chain[-1]] = ()
    return before, after


def _hits(
    connection: Connection,
    best: Sequence[tuple[int, float]],
    beside: Mapping[int, tuple[tuple[int, ...], tuple[int, ...]]],
) -> list[Hit]:
    stored = _messages(connection, {id_ for hit, (before, after) in beside.items() for id_ in (hit, *before, *after)})
    return [Hit(stored[id_], score, *(_at(stored, side) for side in beside[id_])) for id_, score in best]


def _messages(connection: Connection, wanted: set[int]) -> dict[int, StoredMessage]:
    if not wanted:
        return {}
    found = connection.execute(stored_messages().where(message.c.id.in_(wanted))).mappings()
    return {row["id"]: rows.message(row) for row in found}


def _at(stored: Mapping[int, StoredMessage], ids: tuple[int, ...]) -> StoredMessage | None:
    return stored[ids[0]] if ids else None
