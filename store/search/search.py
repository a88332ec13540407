"""Recall: a person's past threads, searched for a reply in one place.

Rules
  A search reads only the entries of the person who asks, so only threads that they wrote in. The audience labels and
  the excluded conversation are conditions of the query itself: what may not flow into the reply never leaves it, not
  as a hit, not as a neighbour, not in the rarity of a word.
  What the engines find is ranked here, so both rank alike.
  A time with nothing to look for is a question too: then what was said at that time is found, the newest first.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Final

from sqlalchemy import Connection, Integer, ScalarSelect, bindparam, func, select, tuple_

from agent.records import Author, Hit, RecallQuery
from store import rows
from store.history import stored_messages
from store.rows import ids_in_parameter, json_rows
from store.search import index, ranking
from store.search.ranking import NEAR, FoundLine, Hints, Range
from store.search.text import EVER, SearchQuery, index_words, keywords, normalised, stem
from store.search.vectors import nearness_of
from store.tables import message, participant, person

# --------------------------------------------------------------------------------------------------
# Where found messages stand: in which thread, by whom, when, and what stands beside them.
#
# Rules
#   What stands beside a message is asked for within the same audiences as the message: nothing else is seen.
#   A message without words, such as a picture alone, is nobody's neighbour.


_hit, _near_it = message.alias("hit"), message.alias("near")


def _beside(*, after: bool) -> ScalarSelect[str]:
    """The next messages of the thread on one side of a hit that the search may see, nearest first."""
    here, there = tuple_(_hit.c.turn, _hit.c.id), tuple_(_near_it.c.turn, _near_it.c.id)
    order = (_near_it.c.turn, _near_it.c.id)
    nearest = (
        select(_near_it.c.id, _near_it.c.author, _near_it.c.person, person.c.name, _near_it.c.time)
        .join_from(_near_it, person, person.c.id == _near_it.c.person)
        .where(_near_it.c.conversation == _hit.c.conversation)
        .where(_near_it.c.audience.in_(bindparam("audiences", expanding=True)))
        .where(there > here if after else there < here, _near_it.c.length > 0)
        .order_by(*(order if after else [column.desc() for column in order]))
        .limit(len(NEAR) - 1)
        .correlate(_hit)
        .subquery("nearest")
    )
    return select(json_rows(*nearest.c)).scalar_subquery()


SURROUNDINGS: Final = (
    select(_hit.c.id, _hit.c.conversation, _hit.c.author, _hit.c.person, person.c.name, _hit.c.time)
    .add_columns(_beside(after=False), _beside(after=True))
    .join_from(_hit, person, person.c.id == _hit.c.person)
    .where(_hit.c.id.in_(ids_in_parameter("hits")))
)


def lines_of(
    connection: Connection, hits: Iterable[int], audiences: tuple[str, ...]
) -> tuple[dict[int, FoundLine], dict[str, str]]:
    """The lines of these messages and of those beside them, and the names of their people by id."""
    lines: dict[int, FoundLine] = {}
    names: dict[str, str] = {}
    found = connection.execute(SURROUNDINGS, {"hits": list(hits), "audiences": audiences}).all()
    for hit, thread, hit_author, hit_person, hit_name, hit_time, *sides in found:
        beside = [json.loads(side) for side in sides]
        for id_, author, who, name, time in chain(*beside):
            if id_ not in lines:
                lines[id_] = FoundLine(thread, author == Author.PERSON, who, _time(time))
                names[who] = name
        ways = (tuple(near[0] for near in side) for side in beside)
        lines[hit] = FoundLine(thread, hit_author == Author.PERSON, hit_person, hit_time, *ways)
        names[hit_person] = hit_name
    return lines, names


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)  # SQLite keeps no offset (see UtcDateTime)


# --------------------------------------------------------------------------------------------------
# Whom a question speaks of without a name: "what did I say", "what did you suggest". Pure.
#
# Rule: what only asks politely ("can you tell me …") speaks of nobody.


_POLITE: Final = re.compile(
    r"\b(?:(?:can|could|would|will) you|do you (?:know|remember|recall)|(?:tell|remind|show|give|send|help|let) me)\b"
)
_ASKER: Final = re.compile(r"\b(?:i|me|my|mine|myself)\b|我|私|僕|俺")
_BOT: Final = re.compile(r"\b(?:you|your|yours|yourself)\b|你|您|あなた")


def speaks_of_asker(question: str) -> bool:
    return bool(_ASKER.search(_plain(question)))


def speaks_of_bot(question: str) -> bool:
    return bool(_BOT.search(_plain(question)))


def _plain(question: str) -> str:
    return _POLITE.sub(" ", normalised(question))


# --------------------------------------------------------------------------------------------------
# English words whose forms no ending tells: a question says "buy", the message "bought". Pure.


_FORMS: Final = """
arise arose arisen, awake awoke awoken, beat beaten, become became, begin began begun, bend bent, bind bound,
bite bit bitten, bleed bled, blow blew blown, break broke broken, bring brought, build built, burn burnt, buy bought,
catch caught, choose chose chosen, cling clung, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt,
drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found,
flee fled, fly flew flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven,
freeze froze frozen, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden, hold held,
keep kept, kneel knelt, know knew known, lay laid, lead led, lean leant, learn learnt, leave left, lend lent, lie lain,
light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, pay paid, ride rode ridden,
ring rang rung, rise rose risen, run ran, see saw seen, seek sought, sell sold, send sent, sew sewn, shake shook shaken,
shine shone, shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept,
slide slid, speak spoke spoken, spend spent, spill spilt, spin spun, spoil spoilt, stand stood, steal stole stolen,
stick stuck, sting stung, strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken,
teach taught, tear tore torn, think thought, throw threw thrown, understand understood, wake woke woken, wear wore worn,
weave wove woven, weep wept, win won, write wrote written,
child children, foot feet, goose geese, half halves, knife knives, man men, mouse mice, person people, shelf shelves,
tooth teeth, wife wives, wolf wolves, woman women
"""
_GROUPS: Final = {stem(form): tuple(group.split()) for group in _FORMS.split(",") for form in group.split()}


def word_forms(word: str) -> tuple[str, ...]:
    """The words that mean the same but for time or number, `word` among them; most have no other."""
    return _GROUPS.get(stem(word), (word,))


READER: Final = select(
    select(person.c.number).where(person.c.id == bindparam("person")).scalar_subquery(),
    func.count(type_=Integer),
    func.coalesce(func.min(message.c.id), 0),
    func.coalesce(func.max(message.c.id), 0),
).where(message.c.person == bindparam("person"))
STORED: Final = stored_messages().where(message.c.id.in_(ids_in_parameter("wanted")))


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


def _sought(query: RecallQuery, words: list[str], number: int, wrote: tuple[str, ...] | None) -> SearchQuery:
    """`wrote`: the people whose words alone are asked for; the bot's are nobody's."""
    author = query.author or (None if wrote is None else Author.PERSON)
    return SearchQuery(
        words=tuple(dict.fromkeys(map(word_forms, words))),
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
    groups = list(dict.fromkeys(map(word_forms, words)))
    asker = {query.person} if speaks_of_asker(query.text) else set[str]()
    return Hints(
        names=frozenset(at for at, group in enumerate(groups) if called.intersection(group)),
        people=frozenset(who for who, part in parts.items() if part.intersection(words)) | asker,
        bot=speaks_of_bot(query.text),
        periods=query.periods,
    )


def _fits(line: FoundLine, sought: SearchQuery) -> bool:
    """What stands beside a match was not asked for by time or author."""
    author = Author.PERSON if line.by_person else Author.BOT
    return (
        sought.since <= line.time < sought.until
        and sought.author in {"", author}
        and (sought.people is None or line.person in sought.people)
    )


def _recent(connection: Connection, query: RecallQuery, sought: SearchQuery) -> list[int]:
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
