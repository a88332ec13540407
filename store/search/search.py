"""Recall: a person's past threads, searched for a reply in one place.

Above: `store.memory.memories`. Below: `store.search.index`, address, surroundings, vectors, sought, text, forms,
ranking.

Rules
  A search reads only the entries of the person who asks, so only threads that they wrote in. The audience labels and
  the excluded conversation are conditions of the query itself: what may not flow into the reply never leaves it, not
  as a hit, not as a neighbour, not in the rarity of a word.
  What the engines find is ranked here, so both rank alike.
  A time with nothing to look for is a question too: then what was said at that time is found, the newest first.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, Integer, bindparam, func, select

from agent.records import Author, Hit, RecallQuery
from store import rows
from store.conversations import stored_messages
from store.listed import listed
from store.search import index, ranking
from store.search.address import speaks_of_asker, speaks_of_bot
from store.search.forms import forms
from store.search.ranking import Hints, Line, Range
from store.search.sought import EVER, Sought
from store.search.surroundings import lines_of
from store.search.text import index_words, keywords
from store.search.vectors import nearness_of
from store.tables import message, participant, person

READER: Final = select(
    select(person.c.number).where(person.c.id == bindparam("person")).scalar_subquery(),
    func.count(type_=Integer),
    func.coalesce(func.min(message.c.id), 0),
    func.coalesce(func.max(message.c.id), 0),
).where(message.c.person == bindparam("person"))
STORED: Final = stored_messages().where(message.c.id.in_(listed("wanted")))


def search(connection: Connection, query: RecallQuery) -> list[Hit]:
    words = keywords(query.text)
    number, among = _reader(connection, query.person)
    if number is None or not query.audiences or not (words or query.within):
        return []
    wrote = _people_named(connection, query) if query.by else None
    sought = _sought(query, words, number, wrote)
    found = ranking.candidates(index.matches(connection, sought), among)
    near = nearness_of(connection, query.meaning, query.person, sought, found) if query.meaning else {}
    lines, names = lines_of(connection, {*found, *near}, sought.audiences)
    fitting = [
        (id_, score)
        for id_, score in ranking.ranked(found, lines, _hints(query, words, names), near)
        if _fits(lines[id_], sought)
    ]
    if not fitting and query.within is not None:
        fitting = [(id_, 0.0) for id_ in _recent(connection, query, sought)]
    return _hits(connection, fitting[: max(query.limit, 0)])


def _reader(connection: Connection, person_id: str) -> tuple[int | None, Range]:
    """The person's number, and the size of what they said and were answered: others' threads hardly change it."""
    number, *size = connection.execute(READER, {"person": person_id}).one()
    return number, Range(*size)


def _sought(query: RecallQuery, words: list[str], number: int, wrote: tuple[str, ...] | None) -> Sought:
    """`wrote`: the people whose words alone are asked for; the bot's are nobody's."""
    author = query.author or (None if wrote is None else Author.PERSON)
    return Sought(
        words=tuple(dict.fromkeys(map(forms, words))),
        number=number,
        audiences=tuple(sorted(query.audiences)),
        exclude=query.exclude_conversation,
        visible_from=query.visible_from,
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


def _hints(query: RecallQuery, words: list[str], names: Mapping[str, str]) -> Hints:
    parts = {who: set(index_words(name)) for who, name in names.items()}
    called = {word for part in parts.values() for word in part}
    groups = list(dict.fromkeys(map(forms, words)))
    asker = {query.person} if speaks_of_asker(query.text) else set[str]()
    return Hints(
        names=frozenset(at for at, group in enumerate(groups) if called.intersection(group)),
        people=frozenset(who for who, part in parts.items() if part.intersection(words)) | asker,
        bot=speaks_of_bot(query.text),
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
        .where(participant.c.person == query.person, sought.is_elsewhere)
        .where(message.c.audience.in_(sought.audiences), message.c.length > 0)
        .where(message.c.time >= sought.since, message.c.time < sought.until)
    )
    if sought.author:
        found = found.where(message.c.author == sought.author)
    if sought.people is not None:
        found = found.where(message.c.person.in_(sought.people))
    newest = found.order_by(message.c.id.desc()).limit(max(query.limit, 0))
    return list(connection.execute(newest).scalars())


def _hits(connection: Connection, best: Sequence[tuple[int, float]]) -> list[Hit]:
    found = connection.execute(STORED, {"wanted": [id_ for id_, _ in best]}).mappings().all()
    stored = {row["id"]: rows.message(row) for row in found}
    return [Hit(stored[id_], score) for id_, score in best]
