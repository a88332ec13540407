"""Recall: a search in a person's past threads, for a reply in one place.

Rules
  A search reads only the index entries of the asker, so only threads in which they wrote. The audience labels and the
  excluded conversation are conditions of the query itself: a message that may not flow into the reply has no effect on
  the result, neither as a hit nor as a neighbour nor in the rarity of a word.
  If the query asks for it, the search also reads the entries of places with messages that are shared with their teams.
  That a message is shared at this moment is a condition of the query in the same way (`store.search.text.SHARED`): its
  channel shares, its writer has not opted out, and it still belongs to the team's audience.
  Matches of both engines are ranked here, so both rank alike.
  A query with a period and no keywords finds the messages of that period, the newest first.
"""

import heapq
import json
import math
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final, NamedTuple, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    ScalarSelect,
    Select,
    bindparam,
    exists,
    func,
    or_,
    select,
    text,
    tuple_,
)

from agent.memory.audience import by_account
from agent.memory.periods import TimeSpan
from agent.recall_query import Hit, RecallQuery
from agent.stored_messages import Author
from store import row_mapping
from store.conversations import stored_messages
from store.databases.database import StorableText, is_postgresql
from store.json_lists import ids_in_parameter, json_rows
from store.message_tables import message, participant, person, place
from store.search import word_matching
from store.search.index import PLACES
from store.search.query import EVER, OF_SHARED, SHARED, Range, SearchQuery
from store.search.text import (
    entry_terms,
    in_both_kana,
    index_words,
    keywords,
    normalised,
    stem,
    telling_words,
    wanted_terms,
)
from store.search.vectors import nearness_of
from store.search.word_matching import MATCH_LIMIT, Match

# Ranking of the found messages. Pure.
#
# Rules (measured in conversations between people, and between people and a bot)
#   A rare keyword weighs more than a common one; rarity is counted among the messages that this search may see, so
#   other people's words do not change the order. A word counts once per message, and less in a long message (BM25's
#   length norm).
#   A keyword counts in full in its message and less in the neighbouring messages (NEAR): people answer one another in
#   few words. Each keyword counts once for a message, from the nearest message that has it.
#   The bot's replies are not lifted by neighbours, and separate the messages before and after them: long replies repeat
#   everything. A reply lifts the question that it answers, never the other way round; replies weigh less than people's
#   messages. If the question is about the bot, its replies count like people's messages.
#   A thread with more than one good message is about the keywords; that lifts all its messages a little.
#   Names of people who wrote are no keywords: messages of people who are named, and the asker's own if the question is
#   about the asker, come first.
#   If there are embeddings, the message nearest in meaning gets a share of the score of the best words
#   (`Meaning.weight`), the farthest one compared gets none, and the others in proportion: matching words say more than
#   similarity.
#   Periods in the question lift messages of that time, and to a lesser degree those soon after. Between equal scores
#   the newest comes first; age itself lowers no score.
#   Each of several wordings is ranked by itself, and all their words together once more: one wording may find what the
#   others miss, and a message with words of many is the most likely one.

# The best matches by their own words, whose neighbours are read: this number finds as much as all would.
CANDIDATES: Final = 64
NOTHING: Final[Mapping[int, float]] = {}
TINY: Final = 1e-9
K1: Final = 1.2
B: Final = 0.4
NEAR: Final = (1.0, 0.5, 0.3)  # The weight of a keyword in its message, in the next message, in the one after that
COMPANY: Final = 3  # The number of other messages of its thread that lift a message
COMPANY_SHARE: Final = 0.2
BOT_PRIOR: Final = 0.7
NAMED: Final = 1.8
DATED: Final = 2.0
SOON_DATED: Final = 1.5
# The constant of reciprocal rank fusion. 60 was published for lists of a thousand; here 2 to 10 are equal, and better.
RANK: Final = 10
SOON: Final = timedelta(days=7)  # People report what happened within days


class FoundLine(NamedTuple):
    """A message's place in its thread: `before` and `after` are its next two neighbours, the nearest first."""

    conversation: str
    by_person: bool
    person: str
    time: datetime
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()


# The best matches by their own words: for each message id, the weight of each of its keywords.
Candidates: TypeAlias = Mapping[int, Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class Hints:
    """What the question says besides its keywords: `names` are the keywords that name people who wrote, `people` the
    ids of the people it is about, `bot` whether it is about the bot, `periods` the times it mentions.
    """

    names: frozenset[int] = frozenset()
    people: frozenset[str] = frozenset()
    bot: bool = False
    periods: tuple[TimeSpan, ...] = ()


def candidates(matches: Sequence[Sequence[Match]], among: Range) -> Candidates:
    """The best of `matches`, which hold for each keyword up to MATCH_LIMIT of the newest messages."""
    lengths = [length for found in matches for _, _, length in found]
    norm = K1 * B * len(lengths) / max(sum(lengths), 1)
    weights = {word: _weight(found, among) for word, found in enumerate(matches) if found}
    sums: defaultdict[int, float] = defaultdict(float)
    for word, weight in weights.items():
        for id_, by_person, length in matches[word]:
            sums[id_] += weight / (1 + K1 * (1 - B) + norm * length) * (1.0 if by_person else BOT_PRIOR)
    best = heapq.nlargest(CANDIDATES, sums, key=lambda id_: (sums[id_], id_))
    strengths: dict[int, dict[int, float]] = {id_: {} for id_ in best}
    for word, weight in weights.items():
        for id_, _, length in matches[word]:
            if id_ in strengths:
                strengths[id_][word] = weight * (K1 + 1) / (1 + K1 * (1 - B) + norm * length)
    return strengths


def _weight(found: Sequence[Match], among: Range) -> float:
    n = float(len(found))
    if n >= MATCH_LIMIT:  # older matches were not read: the count is extrapolated from the range of ids
        oldest = min(id_ for id_, _, _ in found)
        n *= max(1.0, (among.last - among.first) / max(among.last - oldest, 1))
    return math.log(1 + (max(among.total, n) - n + 0.5) / (n + 0.5))


def ranked(
    found: Candidates, lines: Mapping[int, FoundLine], hints: Hints = Hints(), nearness: Mapping[int, float] = NOTHING
) -> list[tuple[int, float]]:
    """(id, score), best first: the candidates, their neighbours, and messages near in meaning.

    `lines` holds the candidates and those of their neighbours that this search may see. `nearness`: the score of a
    message's meaning as a share of the best words' score.
    """
    around = _spread(_without(hints.names, found), lines)
    words = {id_: sum(near.values()) for id_, near in around.items()}
    sums = _mixed(words, {id_: near for id_, near in nearness.items() if id_ in lines})
    alone = {id_: score * _factor(lines[id_], hints) for id_, score in sums.items()}
    company = _company(alone, lines)
    scores = {id_: score + COMPANY_SHARE * company[lines[id_].conversation] for id_, score in alone.items()}
    return sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)


def fused(rankings: Sequence[Sequence[tuple[int, float]]]) -> Sequence[tuple[int, float]]:
    """(id, score), best first, by reciprocal rank fusion: the last ranking, of all words together, counts as much as
    all the others, of one wording each. A single ranking is returned unchanged.
    """
    if len(rankings) == 1:
        return rankings[0]
    *apart, together = rankings
    scores: defaultdict[int, float] = defaultdict(float)
    for ranking, votes in (*((single, 1) for single in apart), (together, len(apart))):
        for rank, (id_, _) in enumerate(ranking, 1):
            scores[id_] += votes / (RANK + rank)
    return sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)


def _without(names: frozenset[int], strengths: Candidates) -> Candidates:
    """The candidates without the keywords that are names, unless nothing else was found."""
    rest = {
        id_: remaining
        for id_, weights in strengths.items()
        if (remaining := {word: strength for word, strength in weights.items() if word not in names})
    }
    return rest or strengths


def _spread(
    strengths: Mapping[int, Mapping[int, float]], lines: Mapping[int, FoundLine]
) -> defaultdict[int, dict[int, float]]:
    """For each message the weight of each keyword in it or in its neighbours."""
    around: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for id_, weights in strengths.items():
        for near, share in _reach(id_, lines):
            spread_weights = around[near]
            for word, strength in weights.items():
                if (spread := share * strength) > spread_weights.get(word, 0.0):
                    spread_weights[word] = spread
    return around


def _reach(id_: int, lines: Mapping[int, FoundLine]) -> list[tuple[int, float]]:
    line, reached = lines[id_], [(id_, NEAR[0])]
    sides = (line.before, line.after) if line.by_person else (line.before[:1],)
    for side in sides:
        for near, share in zip(side, NEAR[1:], strict=False):
            if near not in lines or not lines[near].by_person:
                break
            reached.append((near, share))
    return reached


def _mixed(words: Mapping[int, float], nearness: Mapping[int, float]) -> Mapping[int, float]:
    best = max(words.values(), default=1.0)
    return {id_: words.get(id_, 0.0) + best * nearness.get(id_, 0.0) for id_ in {*words, *nearness}}


def _company(scores: Mapping[int, float], lines: Mapping[int, FoundLine]) -> dict[str, float]:
    """For each thread the total score of its best messages after the first."""
    threads: defaultdict[str, list[float]] = defaultdict(list)
    for id_, score in scores.items():
        threads[lines[id_].conversation].append(score)
    return {thread: sum(heapq.nlargest(COMPANY + 1, thread_scores)[1:]) for thread, thread_scores in threads.items()}


def _factor(line: FoundLine, hints: Hints) -> float:
    factor = 1.0 if line.by_person or hints.bot else BOT_PRIOR
    if line.by_person and line.person in hints.people:
        factor *= NAMED
    return factor * max(_dated(line.time, period) for period in hints.periods) if hints.periods else factor


def _dated(time: datetime, period: TimeSpan) -> float:
    if period.since <= time < period.until:
        return DATED
    return SOON_DATED if period.until <= time < period.until + SOON else 1.0


# The surroundings of found messages: their thread, author, time and neighbours.
#
# Rules
#   Neighbours are read under the same audience conditions as the message itself.
#   A message without words, such as a picture alone, is no neighbour.

_hit, _near_it = message.alias("hit"), message.alias("near")
_NEAR_IS_SHARED: Final = text(SHARED.replace("message.", "near.")).bindparams(*OF_SHARED)
_HERE: Final = bindparam("exclude", type_=StorableText)


def _beside(*, after: bool, shared: bool) -> ScalarSelect[str]:
    """The next messages of the thread on one side of a hit that the search may see, nearest first."""
    here, there = tuple_(_hit.c.turn, _hit.c.id), tuple_(_near_it.c.turn, _near_it.c.id)
    order = (_near_it.c.turn, _near_it.c.id)
    nearest = (
        select(_near_it.c.id, _near_it.c.author, _near_it.c.person, person.c.name, _near_it.c.time)
        .join_from(_near_it, person, person.c.id == _near_it.c.person)
        .where(_near_it.c.conversation == _hit.c.conversation)
        .where(_near_it.c.audience.in_(bindparam("audiences", expanding=True)))
        .where(or_(_near_it.c.drawn_from.in_(bindparam("drawn", expanding=True)), _near_it.c.conversation == _HERE))
        .where(there > here if after else there < here, _near_it.c.length > 0)
        .where(*([_NEAR_IS_SHARED] if shared else []))
        .order_by(*(order if after else [column.desc() for column in order]))
        .limit(len(NEAR) - 1)
        .correlate(_hit)
        .subquery("nearest")
    )
    return select(json_rows(*nearest.c)).scalar_subquery()


def _surroundings(*, shared: bool) -> Select[*tuple[Any, ...]]:
    return (
        select(_hit.c.id, _hit.c.conversation, _hit.c.author, _hit.c.person, person.c.name, _hit.c.time)
        .add_columns(_beside(after=False, shared=shared), _beside(after=True, shared=shared))
        .join_from(_hit, person, person.c.id == _hit.c.person)
        .where(_hit.c.id.in_(ids_in_parameter("hits")))
    )


SURROUNDINGS: Final = (_surroundings(shared=False), _surroundings(shared=True))  # Indexed by whether shared


def lines_of(
    connection: Connection, hits: Iterable[int], sought: SearchQuery
) -> tuple[dict[int, FoundLine], dict[str, str]]:
    """The lines of these messages and of their neighbours, and the names of their people by id."""
    lines: dict[int, FoundLine] = {}
    names: dict[str, str] = {}
    surroundings = SURROUNDINGS[sought.place is not None]
    found = connection.execute(surroundings, {**sought.bound, "hits": list(hits)}).all()
    sides = iter(
        json.loads(f"[{','.join(f'{before},{after}' for *_, before, after in found)}]")
    )  # parsed as one JSON text: 3 times as fast
    for hit, thread, hit_author, hit_person, hit_name, hit_time, *_ in found:
        its_sides = (next(sides), next(sides))
        for id_, author, who, name, time in chain(*its_sides):
            if id_ not in lines:
                lines[id_] = FoundLine(thread, author == Author.PERSON, who, _time(time))
                names[who] = name
        neighbours = [tuple([near[0] for near in side]) for side in its_sides]
        lines[hit] = FoundLine(thread, hit_author == Author.PERSON, hit_person, hit_time, *neighbours)
        names[hit_person] = hit_name
    return lines, names


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text if text[-6] in "+-" else f"{text}+00:00")  # SQLite keeps no offset: UtcDateTime


# Whether a question is about the asker or the bot: "what did I say", "what did you suggest". Pure.
#
# Rule: polite phrases ("can you tell me …") do not count.

# Their verbs ("tell", "show") are content words elsewhere, so they are removed as phrases.
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


# English words with irregular forms: a question says "buy", the message "bought". Pure.

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
Forms: TypeAlias = Mapping[str, tuple[str, ...]]
_GROUPS: Final = {stem(form): tuple(group.split()) for group in _FORMS.split(",") for form in group.split()}


def word_forms(word: str) -> tuple[str, ...]:
    """The forms of a word in other tenses or numbers, `word` among them; most words have no irregular form."""
    return _GROUPS.get(stem(word), (word,))


# What a text speaks of: one decision for recall, which looks for any of the words, and for `/forget about`, which takes
# the texts with all of them.

Topic: TypeAlias = tuple[tuple[str, ...], ...]  # For each word the terms of the index by which its forms are found


def topic_of(words: str) -> Topic:
    """Return the topic that these words name; empty if they name none."""
    telling = telling_words(words)
    return tuple(wanted_terms([kana for form in word_forms(word) for kana in in_both_kana(form)]) for word in telling)


def speaks_of(text: str, topic: Topic) -> bool:
    """Whether a text has a form of each word of the topic: what the index finds, for texts that are not in it."""
    held = set(map(stem, entry_terms(index_words(text))))
    return bool(topic) and all(not held.isdisjoint(map(stem, terms)) for terms in topic)


# The newest messages of a reader that are counted; the total is estimated from the range of their ids.
COUNTED: Final = 10_000


def _counted(messages: Select[int]) -> tuple[ColumnElement[Any], ...]:
    """The first id of these messages, the number of the newest ones, and the first and the last id of those."""
    newest = messages.order_by(message.c.id.desc()).limit(COUNTED).subquery()
    return (
        func.coalesce(messages.order_by(message.c.id).limit(1).scalar_subquery(), 0),
        func.count(newest.c.id, type_=Integer),
        func.coalesce(func.min(newest.c.id), 0),
        func.coalesce(func.max(newest.c.id), 0),
    )


_number = select(person.c.number).where(person.c.id == bindparam("person")).scalar_subquery()
_theirs = _counted(select(message.c.id).where(message.c.person == bindparam("person")))
READER: Final = {
    postgresql: select(_number, *_theirs).add_columns(*engine.READER)
    for postgresql, engine in word_matching.ENGINES.items()
}
_in_place = message.c.place == place.c.number
_PLACES: Final = select(place.c.number, place.c.audience).where(
    place.c.audience.in_(bindparam("audiences", expanding=True)), exists().where(_in_place)
)
_IN_PLACE: Final[Select[*tuple[Any, ...]]] = select(
    *_counted(select(message.c.id).where(message.c.place == bindparam("place")))
)
STORED: Final = stored_messages().where(message.c.id.in_(ids_in_parameter("wanted")))


def search(connection: Connection, query: RecallQuery) -> list[Hit]:
    """Search for all wordings with one query of the index and one for neighbours, for each source."""
    texts = dict.fromkeys(kana for text in (query.text, *query.wordings) for kana in in_both_kana(text))
    wordings = [*map(keywords, texts)]
    all_words = list(dict.fromkeys(chain(*wordings)))
    if not query.audiences or not (all_words or query.within):
        return []
    forms = {word: word_forms(word) for word in all_words}
    groups = _groups(all_words, forms)
    own, sources = _sources(connection, query, groups)
    if not sources:
        return []
    found_by_source = [word_matching.matches(connection, sought, size) for sought, size in sources]
    matches = dict(zip(groups, map(_newest, zip(*found_by_source, strict=True)), strict=True))
    among = _all([size for _, size in sources])
    # All words together are a search of their own, for messages that use some of each wording.
    searches = wordings if len(wordings) == 1 else [*wordings, all_words]
    found = [candidates([matches[group] for group in _groups(words, forms)], among) for words in searches]
    best, near = {id_ for per_search in found for id_ in per_search}, dict[int, float]()
    lines, names, shared, answers = dict[int, FoundLine](), dict[str, str](), set[int](), set[int]()
    for (sought, size), matched in zip(sources, found_by_source, strict=True):
        ids = best if len(sources) == 1 else best.intersection(id_ for per_word in matched for id_, _, _ in per_word)
        if query.meaning:
            near |= (by_meaning := nearness_of(connection, query.meaning, sought, ids, size.total))
            ids = {*ids, *by_meaning}
        source_lines, source_names = lines_of(connection, ids, sought)
        lines, names = lines | source_lines, names | source_names
        shared.update(source_lines if sought.place is not None else ())
        if sought.person != query.person:  # see `RecallQuery.admits`
            answers.update(id_ for id_, line in source_lines.items() if not line.by_person)
    rankings = [
        ranked(per_search, lines, _hints(query, words, forms, names), near)
        for words, per_search in zip(searches, found, strict=True)
    ]
    ranked_ids = ((id_, score) for id_, score in fused(rankings) if id_ not in answers)
    fitting = [(id_, score) for id_, score in ranked_ids if _fits(lines[id_], own)]
    # "What did we talk about last week?" has no words to find: the newest of that time are the answer.
    if not fitting and query.within is not None:
        recent = [(_recent(connection, query, sought), sought.place) for sought, _ in sources]
        fitting = [(id_, 0.0) for ids, _ in recent for id_ in ids]
        shared = {id_ for ids, place_ in recent if place_ is not None for id_ in ids}
    return _hits(connection, fitting[: max(query.limit, 0)], shared)


def _sources(
    connection: Connection, query: RecallQuery, groups: tuple[tuple[str, ...], ...]
) -> tuple[SearchQuery, list[tuple[SearchQuery, Range]]]:
    """The query, and for each reader whose entries are searched its own with its size: the person, their connected
    accounts, and places with shared messages.
    """
    audiences = {"audiences": sorted(query.audiences)}
    shared = connection.execute(_PLACES, audiences).all() if query.shared else ()
    writers = _people_named(connection, query, [place_ for place_, _ in shared]) if query.by else None
    own, sources = _sought(query, groups, writers), list[tuple[SearchQuery, Range]]()
    for account, labels in by_account(query.person, query.audiences).items():
        number, size = _reader(connection, account)
        if number is None or (account != query.person and query.author is Author.BOT):
            continue
        theirs = replace(own, number=number, person=account, audiences=tuple(sorted(labels)))
        sources.append((theirs if account == query.person else replace(theirs, author=Author.PERSON), size))
    for place_, audience in shared:
        first, total, oldest, last = connection.execute(_IN_PLACE, {"place": place_}).one()
        shared_query = replace(own, number=PLACES + place_, place=place_, audiences=(audience,))
        sources.append((shared_query, _range(first, total, oldest, last, last)))
    return own, sources


def _newest(matches: Sequence[Sequence[Match]]) -> Sequence[Match]:
    """The newest matches of one keyword in all sources: no message is in two of them."""
    return matches[0] if len(matches) == 1 else sorted(chain(*matches), reverse=True)[:MATCH_LIMIT]


def _all(sizes: Sequence[Range]) -> Range:
    first, last = min(size.first for size in sizes), max(size.last for size in sizes)
    return Range(sum(size.total for size in sizes), first, last)


def _groups(words: Iterable[str], forms: Forms) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(forms[word] for word in words))


def _reader(connection: Connection, person_id: str) -> tuple[int | None, Range]:
    """The person's number, and the size of their own messages and replies: other people's messages hardly change it."""
    reader = READER[is_postgresql(connection)]
    number, *sizes = connection.execute(reader, {"person": person_id}).one()
    return number, _range(*sizes[:5])


def _range(first: int, total: int, oldest: int, last: int, newest: int) -> Range:
    if total >= COUNTED:  # extrapolated from the range of ids
        total = round(total * (last - first) / max(last - oldest, 1))
    return Range(total, first, last, newest)


def _sought(query: RecallQuery, groups: tuple[tuple[str, ...], ...], wrote: tuple[str, ...] | None) -> SearchQuery:
    """`wrote`: the people to whose messages the search is limited (None: no limit); that excludes the bot's."""
    author = query.author or (None if wrote is None else Author.PERSON)
    return SearchQuery(
        words=groups,
        number=0,
        person=query.person,
        audiences=tuple(sorted(query.audiences)),
        exclude=query.exclude_conversation,
        visible_from=query.visible_from,
        since=query.within.since if query.within else EVER[0],
        until=query.within.until if query.within else EVER[1],
        author=author or "",
        people=wrote,
    )


def _people_named(connection: Connection, query: RecallQuery, places: Sequence[int]) -> tuple[str, ...]:
    """The people that `query.by` names, of those who wrote in the person's threads or share in these places."""
    own, others = participant.alias(), participant.alias()
    wrote = own.join(others, others.c.conversation == own.c.conversation).join(person, person.c.id == others.c.person)
    accounts = by_account(query.person, query.audiences)
    met = select(person.c.id, person.c.name).distinct().select_from(wrote).where(own.c.person.in_(accounts))
    shares = exists().where(message.c.place.in_(places), message.c.person == person.c.id)
    known = met.union(select(person.c.id, person.c.name).where(shares)) if places else met
    asked_words = set(index_words(query.by))
    return tuple(
        id_
        for id_, name in connection.execute(known)
        if (id_ in accounts if query.by == query.person else id_ == query.by)
        or (asked_words and asked_words <= set(index_words(name)))
    )


def _hints(query: RecallQuery, words: list[str], forms: Forms, names: Mapping[str, str]) -> Hints:
    parts = {who: set(index_words(name)) for who, name in names.items()}
    called = {word for part in parts.values() for word in part}
    groups = _groups(words, forms)
    asker = {*by_account(query.person, query.audiences)} if speaks_of_asker(query.text) else set[str]()
    return Hints(
        names=frozenset(at for at, group in enumerate(groups) if called.intersection(group)),
        people=frozenset(who for who, part in parts.items() if part.intersection(words)) | asker,
        bot=speaks_of_bot(query.text),
        periods=query.periods,
    )


def _fits(line: FoundLine, sought: SearchQuery) -> bool:
    """Whether a message is of the period and authors of the query, which neighbours of matches may not be."""
    author = Author.PERSON if line.by_person else Author.BOT
    return (
        sought.since <= line.time < sought.until
        and sought.author in {"", author}
        and (sought.people is None or line.person in sought.people)
    )


def _recent(connection: Connection, query: RecallQuery, sought: SearchQuery) -> list[int]:
    found = select(message.c.id)
    if sought.place is None:
        found = found.join_from(participant, message, message.c.conversation == participant.c.conversation)
        found = found.where(participant.c.person == sought.person, sought.is_elsewhere)
    else:
        found = found.where(sought.is_shared)
    found = found.where(sought.is_usable, message.c.length > 0)
    found = found.where(message.c.time >= sought.since, message.c.time < sought.until)
    if sought.author:
        found = found.where(message.c.author == sought.author)
    if sought.people is not None:
        found = found.where(message.c.person.in_(sought.people))
    newest = found.order_by(message.c.id.desc()).limit(max(query.limit, 0))
    return list(connection.execute(newest).scalars())


def _hits(connection: Connection, best: Sequence[tuple[int, float]], shared: Container[int]) -> list[Hit]:
    found = connection.execute(STORED, {"wanted": [id_ for id_, _ in best]}).mappings().all()
    stored = {row["id"]: row_mapping.message(row) for row in found}
    return [Hit(stored[id_], score, id_ in shared) for id_, score in best]
