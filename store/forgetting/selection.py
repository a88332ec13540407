"""Which rows a forgetting plan names by itself, before anything that falls with them.

Rule: what a person asks for reaches rows of that person alone: what they wrote, what answered them, what is known of
them.
"""

import hashlib
import hmac
from collections import ChainMap
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, TypeVarTuple, assert_never, cast

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, and_, exists, false, or_, select

from agent.memory import forgetting_plans as plans
from agent.memory.audience import AudienceKind, PersonAudience, label
from agent.messages import Json
from agent.records import SCHEDULED, UNASKED, Author, Incoming
from store.knowledge_tables import document
from store.memory import people
from store.rows import ids_in, read_json, texts_in
from store.search import index, passages
from store.search.text import holds, index_words, stem, telling_words
from store.tables import (
    fact,
    installation,
    message,
    person,
    preference,
    profile_entry,
    profile_source,
    schedule,
    sign_in,
    tool_account,
    turn,
)

# Ids in handfuls. Pure.

T = TypeVar("T", int, str)
V = TypeVar("V")
Ts = TypeVarTuple("Ts")

MOST: Final = 10_000  # In one statement: what it finds stands in memory, and whoever waits is told between two of them
CHUNK: Final = 2_000  # Messages that are read at a time where there may be a hundred thousand

# Is told now and then how many messages were found; what it raises ends the search.
Watch: TypeAlias = Callable[[int], object]


def unwatched(_: int) -> None:
    """For a search that nobody waits for."""


def batches(values: Collection[T]) -> Iterator[list[T]]:
    ordered = sorted(values)
    return (ordered[start : start + MOST] for start in range(0, len(ordered), MOST))


def in_batches(column: ColumnElement[Any], values: Collection[T]) -> Iterator[ColumnElement[bool]]:
    """Conditions that together say: the column holds one of these values. Each goes into a statement of its own, with
    all its values in one parameter: to read, plan and keep a statement of ten thousand takes longer than to answer it.
    """
    return (column.in_(_listed(some)) for some in batches(values))


def _listed(values: list[T]) -> Select[Any]:
    return texts_in(cast("list[str]", values)) if isinstance(values[0], str) else ids_in(cast("list[int]", values))


def rows_in(
    connection: Connection, query: Select[*Ts], column: ColumnElement[Any], values: Collection[T]
) -> Iterator[Row[*Ts]]:
    """What the query finds where the column holds one of these values."""
    return (row for where in in_batches(column, values) for row in connection.execute(query.where(where)).all())


def values_in(
    connection: Connection, wanted: ColumnElement[V], column: ColumnElement[Any], values: Collection[T]
) -> Iterator[V]:
    """What stands in a column where another one holds one of these values."""
    return (row[0] for row in rows_in(connection, select(wanted), column, values))


NOBODY: Final = ""  # Whose the facts of an organisation are: they hold until somebody takes them back


class ForgottenMessage(NamedTuple):
    """There may be a hundred thousand."""

    id: int
    turn: int
    conversation: str
    author: str
    person: str
    audience: str
    channel: str
    message_id: str | None
    time: datetime
    text: str


_OF_MESSAGE: Final = tuple(message.c[name] for name in ForgottenMessage._fields)


@dataclass(frozen=True, slots=True)
class Selection:
    """`turns` fall even where nothing of them was said (yet). `whole`: everything in the plan's reach is here; False:
    there is more, because only some were wanted.
    """

    said: dict[int, ForgottenMessage]
    turns: frozenset[int] = frozenset()
    entries: frozenset[int] = frozenset()
    facts: frozenset[int] = frozenset()
    whole: bool = True
    schedules: frozenset[int] = frozenset()


def select_rows(
    connection: Connection, plan: plans.ForgettingPlan, limit: int | None = None, watch: Watch = unwatched
) -> Selection:
    """What the plan names; of messages at most `limit`, the oldest, with those that schedules which fall have asked."""
    named = _named_rows(connection, plan, limit, watch)
    falling = _schedules(connection, plan, named.said)
    if not falling:
        return named
    begun = [turn.c.event_id.startswith(f"{SCHEDULED}{id_}:", autoescape=True) for id_ in sorted(falling)]
    asked = [and_(message.c.turn.in_(select(turn.c.id).where(each)), _BY_PERSON) for each in begun]
    if isinstance(
        plan, plans.Everything | plans.Gone
    ):  # these name all of them themselves, or leave them where they are
        asked = []
    said = [messages_where(connection, each) for each in asked]
    return replace(named, said=dict(ChainMap(named.said, *said)), schedules=falling)


_BY_PERSON: Final = message.c.author == Author.PERSON


# What is done at a time falls with who made it, with where it was asked for and where it is posted, and with what it
# says.


def _schedules(
    connection: Connection, plan: plans.ForgettingPlan, said: Mapping[int, ForgottenMessage]
) -> frozenset[int]:
    match plan:
        case plans.Everything() | plans.Gone():
            return _ids(connection, schedule, schedules_named(plan))
        case plans.OneThread(person=who, conversations=conversations):
            named = and_(schedule.c.person == who, schedule.c.conversation.in_(sorted(conversations)))
        case plans.Deleted(channel=channel, messages=messages):
            asked = select(turn.c.conversation).where(
                turn.c.channel == channel, turn.c.message_id.in_(sorted(messages))
            )
            there = or_(schedule.c.channel == channel, schedule.c.conversation.in_(asked))
            named = and_(schedule.c.message.in_(sorted(messages)), there)
        case plans.During(person=who) | plans.AboutTopic(person=who):
            kept = select(schedule).where(schedule.c.person == who)
            found = [row["id"] for row in connection.execute(kept).mappings() if _is_meant(plan, row)]
            named = schedule.c.id.in_(found)
        case plans.OneReply() | plans.Expired():
            return frozenset()
        case _:
            assert_never(plan)
    return _ids(connection, schedule, named) | _quoting(connection, said)


def schedules_named(plan: plans.Everything | plans.Gone) -> ColumnElement[bool]:
    """Those of a person, or of a place, whatever they say."""
    match plan:
        case plans.Everything(person=who):
            return schedule.c.person == who
        case plans.Gone(conversations=conversations, channels=channels, audiences=audiences, sources=sources):
            alone = schedule.c.audience.startswith(f"{AudienceKind.PERSON}:")
            here = and_(schedule.c.channel.in_(sorted(channels)), ~alone)
            asked_here, theirs = (
                schedule.c.conversation.in_(sorted(conversations)),
                schedule.c.source.in_(sorted(sources)),
            )
            return or_(here, asked_here, theirs, schedule.c.audience.in_(sorted(audiences)))
        case _:
            assert_never(plan)


def _is_meant(plan: plans.During | plans.AboutTopic, row: Mapping[Any, Any]) -> bool:
    if isinstance(plan, plans.During):
        rest: Any = read_json(row["made"])
        return plan.period.since <= datetime.fromisoformat(rest["created"]) < plan.period.until
    wanted = {stem(word) for word in telling_words(plan.words)}
    return bool(wanted) and wanted <= set(map(stem, index_words(row["words"])))


def _quoting(connection: Connection, said: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """Those of these people that say one of these messages."""
    people_ = {one.person for one in said.values()}
    kept = rows_in(connection, select(schedule.c.id, schedule.c.words), schedule.c.person, people_)
    words = {row.id: row.words for row in kept}
    longest = max(map(len, words.values()), default=0)
    texts = {one.text for one in said.values() if len(one.text) <= longest} if words else set[str]()
    return frozenset(id_ for id_, held in words.items() if any(holds(held, text) for text in texts))


def _named_rows(connection: Connection, plan: plans.ForgettingPlan, limit: int | None, watch: Watch) -> Selection:
    match plan:
        case plans.AboutTopic():
            return _about(connection, plan, watch)
        case plans.Deleted():
            return _deleted(connection, plan)
        case plans.OneReply(number):
            return Selection(messages_where(connection, and_(message.c.turn == number, message.c.author == Author.BOT)))
        case _:
            pass
    said = _many_messages(connection, said_by_plan(plan), watch, limit)
    whole = limit is None or len(said) < limit
    return Selection(
        said,
        turns=_ids(connection, turn, _turns(plan)) if whole else frozenset(),
        entries=_ids(connection, profile_entry, known_by_plan(plan, profile_entry)) if whole else frozenset(),
        facts=_ids(connection, fact, known_by_plan(plan, fact)) if whole else frozenset(),
        whole=whole,
    )


def reaches_anything(connection: Connection, plan: plans.ForgettingPlan) -> bool:
    """Is there something for it? Most of what is deleted in a platform was never said to the bot."""
    named = select_rows(connection, plan, limit=1)
    if named.said or named.turns or named.entries or named.facts or named.schedules:
        return True
    if passages.count(connection, documents_of(plan)):
        return True
    if not isinstance(plan, plans.Gone):
        return False
    removed = installation.c.source.in_(sorted(plan.sources)), installation.c.removed.is_not(None)
    owned = (select(column).where(of_sources(column, plan.sources), ~kept) for column, kept in _OWNED)
    each = (select(installation.c.source).where(*removed), *owned)
    return any(connection.execute(one.limit(1)).first() is not None for one in each)


# What people have who said nothing; and what of it outlives them.
_OWNED: Final = (
    (person.c.id, false()),
    (preference.c.owner, preference.c.value == plans.PAUSED),
    (tool_account.c.person, false()),
    (sign_in.c.person, false()),
    (installation.c.installer, false()),
)


def documents_of(plan: plans.ForgettingPlan) -> ColumnElement[bool]:
    """What places know and falls with the plan: with the place, not with whoever handed it in there."""
    match plan:
        case plans.Everything(who):
            return document.c.audience == label(PersonAudience(who))
        case plans.Gone(channels=channels, audiences=audiences, sources=sources):
            alone = document.c.audience.startswith(f"{AudienceKind.PERSON}:")
            return or_(
                document.c.audience.in_(sorted(audiences)),
                and_(document.c.channel.in_(sorted(channels)), ~alone),
                document.c.source.in_(sorted(sources)),
            )
        case _:
            return false()


def of_sources(column: ColumnElement[str], sources: Collection[str]) -> ColumnElement[bool]:
    """Whoever's id it holds is known from one of these platforms."""
    return or_(false(), *(column.startswith(f"{source}:", autoescape=True) for source in sorted(sources)))


def messages_where(
    connection: Connection, where: ColumnElement[bool], limit: int | None = None
) -> dict[int, ForgottenMessage]:
    """The messages of which this is true, the oldest first."""
    found = connection.execute(select(*_OF_MESSAGE).where(where).order_by(message.c.id).limit(limit))
    return {row[0]: ForgottenMessage(*row) for row in found}


def _many_messages(
    connection: Connection, where: ColumnElement[bool], watch: Watch, limit: int | None = None
) -> dict[int, ForgottenMessage]:
    """The same, read so that whoever waits can be told."""
    said: dict[int, ForgottenMessage] = {}
    wanted = select(*_OF_MESSAGE).where(where).order_by(message.c.id).limit(limit)
    for some in connection.execute(wanted, execution_options={"yield_per": CHUNK}).partitions():
        said |= {row[0]: ForgottenMessage(*row) for row in some}
        watch(len(said))
    return said


def messages_in(
    connection: Connection, column: ColumnElement[Any], values: Collection[T], *more: ColumnElement[bool]
) -> dict[int, ForgottenMessage]:
    """The messages in which the column holds one of these values."""
    places = in_batches(column, values)
    return {id_: one for where in places for id_, one in messages_where(connection, and_(where, *more)).items()}


def said_by_plan(
    plan: plans.OneThread | plans.Everything | plans.During | plans.Gone | plans.Expired,
) -> ColumnElement[bool]:
    match plan:
        case plans.OneThread(person, conversations):
            return and_(message.c.person == person, message.c.conversation.in_(sorted(conversations)))
        case plans.Everything(person):
            return message.c.person == person
        case plans.During(person, period):
            then = and_(message.c.time >= period.since, message.c.time < period.until)
            return and_(message.c.person == person, message.c.author == Author.PERSON, then)
        case plans.Gone(conversations, channels, audiences, sources):
            from_there = message.c.turn.in_(select(turn.c.id).where(turn.c.source.in_(sorted(sources))))
            there = and_(
                message.c.channel.in_(sorted(channels)), ~message.c.audience.startswith(f"{AudienceKind.PERSON}:")
            )
            return or_(
                message.c.conversation.in_(sorted(conversations)),
                message.c.audience.in_(sorted(audiences)),
                there,
                from_there,
            )
        case plans.Expired(kind, before):
            old = and_(message.c.author == Author.PERSON, message.c.time < before)
            return and_(message.c.audience.startswith(f"{kind}:"), old)
        case _:
            assert_never(plan)


def _turns(plan: plans.OneThread | plans.Everything | plans.During | plans.Gone | plans.Expired) -> ColumnElement[bool]:
    """Turns that fall with the plan whatever was said in them."""
    match plan:
        case plans.OneThread(person, conversations):
            return and_(turn.c.person == person, turn.c.conversation.in_(sorted(conversations)))
        case plans.Everything(person):
            return turn.c.person == person
        case plans.Gone(conversations=gone, sources=sources):
            return or_(turn.c.conversation.in_(sorted(gone)), turn.c.source.in_(sorted(sources)))
        case plans.During() | plans.Expired():
            return false()
        case _:
            assert_never(plan)


def known_by_plan(
    plan: plans.OneThread | plans.Everything | plans.During | plans.Gone | plans.Expired, table: Table
) -> ColumnElement[bool]:
    """What is known and falls with the plan whatever it was learned from."""
    match plan:
        case plans.Everything(person):
            return table.c.person == person
        case plans.During(person, period):
            then = and_(table.c.time >= period.since, table.c.time < period.until)
            return and_(table.c.person == person, then, _without_source(table))
        case plans.Gone(audiences=audiences, sources=sources):
            theirs = (table.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            return or_(table.c.audience.in_(sorted(audiences)), *theirs)
        case plans.Expired(kind, before):
            old = and_(table.c.audience.startswith(f"{kind}:"), table.c.time < before, _without_source(table))
            return and_(old, table.c.person != NOBODY)
        case plans.OneThread():
            return false()
        case _:
            assert_never(plan)


def _without_source(table: Table) -> ColumnElement[bool]:
    """What came of a message falls with that message, whenever it was written down."""
    sources = exists().where(profile_source.c.entry == profile_entry.c.id)
    return fact.c.source_message.is_(None) if table is fact else ~sources


def _about(connection: Connection, plan: plans.AboutTopic, watch: Watch) -> Selection:
    """Messages are found by the index, which the person's own are all in; what is known is little enough to read."""
    words = telling_words(plan.words)
    wanted = {stem(word) for word in words}

    def known(table: Table, column: Column[str]) -> frozenset[int]:
        theirs = select(table.c.id, table.c.key, column).where(table.c.person == plan.person)
        found = connection.execute(theirs).all() if wanted else ()
        return frozenset(id_ for id_, key, text in found if wanted <= set(map(stem, index_words(f"{key} {text}"))))

    number = people.number_of(connection, plan.person)
    having = false() if number is None or not words else message.c.id.in_(index.ids_having(connection, words, number))
    said = _many_messages(connection, and_(having, message.c.person == plan.person), watch)
    return Selection(said, entries=known(profile_entry, profile_entry.c.text), facts=known(fact, fact.c.value))


def unasked(connection: Connection, plan: plans.ForgettingPlan) -> dict[str, str]:
    """The person's questions that wait to be taken in and fall: what they say, by the names of their preferences."""
    if not isinstance(
        plan, plans.OneThread | plans.During | plans.AboutTopic
    ):  # everything takes all preferences, others are no wishes
        return {}
    kept = select(preference.c.name, preference.c.value).where(preference.c.owner == plan.person)
    found = connection.execute(kept.where(preference.c.name.startswith(UNASKED, autoescape=True))).all()
    read = {name: asked for name, value in found if isinstance(asked := read_json(value), dict)}
    return {name: str(asked.get("text")) for name, asked in read.items() if _reaches(plan, asked)}


def _reaches(plan: plans.OneThread | plans.During | plans.AboutTopic, asked: Mapping[str, Json]) -> bool:
    match plan:
        case plans.OneThread(_, conversations):
            named = asked.get("conversations")
            return isinstance(named, list) and any(one in conversations for one in named)
        case plans.During(_, period):
            return period.since <= datetime.fromisoformat(str(asked.get("asked"))) < period.until
        case plans.AboutTopic(_, words):
            wanted = {stem(word) for word in telling_words(words)}
            return bool(wanted) and wanted <= set(map(stem, index_words(str(asked.get("text")))))
        case _:
            assert_never(plan)


def _deleted(connection: Connection, plan: plans.Deleted) -> Selection:
    """By their turns, which the platform's ids lead to; a message that joined another turn is still in the thread."""
    own = and_(turn.c.channel == plan.channel, turn.c.message_id.in_(sorted(plan.messages)))
    begun = connection.execute(select(turn.c.id, turn.c.conversation).where(own)).all()
    there = message.c.conversation.in_(sorted({row.conversation for row in begun}))
    post = and_(message.c.channel == plan.channel, message.c.message_id.in_(sorted(plan.messages)))
    return Selection(messages_where(connection, and_(there, post, message.c.author == Author.PERSON)))


def _ids(connection: Connection, table: Table, where: ColumnElement[bool]) -> frozenset[int]:
    return frozenset(connection.execute(select(table.c.id).where(where)).scalars())


# Platform ids that were forgotten, as keyed hashes: enough to know one again, too little to read it. Pure.

FORGOTTEN: Final = "forgotten:"
NAME_DIGITS: Final = 16  # Enough to tell everybody in an audit apart


@dataclass(frozen=True, slots=True)
class ErasedIds:
    """Hashes under the database's own random key."""

    key: bytes = field(repr=False)

    def of_event(self, source: str, event_id: str) -> str:
        return self._hash("event", source, event_id)

    def of_post(self, channel: str, message_id: str) -> str:
        return self._hash("post", channel, message_id)

    def of_page(self, channel: str, page: str) -> str:
        """A page of the bot's own reply: another kind, because a surface may count its pages anew each time."""
        return self._hash("page", channel, page)

    def of_message(self, incoming: Incoming) -> tuple[str, str]:
        """The two hashes under which a message is known again."""
        return self.of_event(incoming.source, incoming.event_id), self.of_post(incoming.channel, incoming.message_id)

    def of_everything(self, who: str, time: int) -> str:
        """That all of a person was forgotten, for the first time (0) or a later one."""
        return self._hash("everything", who, str(time))

    def times_forgotten(self, who: str, hashes: Container[str]) -> int:
        """How often all of them was, as far as these say."""
        return next(time for time in count() if self.of_everything(who, time) not in hashes)

    def of_person(self, who: str) -> str:
        """What the audit calls somebody who was forgotten."""
        return f"{FORGOTTEN}{self._hash('person', who)[:NAME_DIGITS]}"

    def _hash(self, *parts: str) -> str:
        plain = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, plain, hashlib.sha256).hexdigest()
