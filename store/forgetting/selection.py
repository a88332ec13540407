"""The rows that a forgetting plan names itself, without the rows that are erased because of them.

Rule: a person's plan reaches only rows of that person: their messages, the replies to them, and facts and profile
entries about them.
"""

from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, TypeVarTuple, assert_never, cast

from sqlalchemy import Column, ColumnElement, Connection, Row, Select, Table, and_, exists, false, or_, select, true

from agent.incoming import UNASKED
from agent.memory import forgetting_plans as plans
from agent.memory.audience import AudienceKind, PersonAudience, label
from agent.messages import Json
from agent.ports.api_tokens import services_of
from agent.presentations import FOLLOW_UPS, turn_followed_up
from agent.repeats import AGAIN, message_of
from agent.schedules.long_work import asked_in
from agent.stored_messages import Author
from store.api_tokens import api_token
from store.channels import asked_for_schedule, in_channels
from store.file_tables import saved_file
from store.installations import installation
from store.json_columns import read_json
from store.json_lists import ids_in, texts_in
from store.memory import fact_store, participants
from store.memory_tables import fact, profile_entry, profile_source
from store.message_tables import message, person
from store.place_keys import place_key
from store.preferences import preference
from store.schedule_table import schedule
from store.search import index, passages
from store.search.passages import document
from store.search.search import speaks_of, topic_of
from store.search.text import holds
from store.tool_accounts import sign_in, tool_account
from store.turn_tables import turn
from store.working_sets import working_item

# Ids in batches. Pure.

T = TypeVar("T", int, str)
V = TypeVar("V")
Ts = TypeVarTuple("Ts")
BATCH: Final = 10_000  # Ids in one statement: its rows are in memory, and the progress is reported between statements
CHUNK: Final = 2_000  # Messages that are read at a time where there may be a hundred thousand
# Called now and then with the number of messages found so far; an exception that it raises ends the search.
Watch: TypeAlias = Callable[[int], object]


def unwatched(_: int) -> None:
    """For a search whose progress is not shown."""


def batches(values: Collection[T]) -> Iterator[list[T]]:
    ordered = sorted(values)
    return (ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH))


def in_batches(column: ColumnElement[Any], values: Collection[T]) -> Iterator[ColumnElement[bool]]:
    """Conditions that together mean that the column holds one of these values. Each is for a statement of its own, with
    its values in one parameter: parsing, planning and caching ten thousand parameters takes longer than the query.
    """
    return (column.in_(_listed(batch)) for batch in batches(values))


def _listed(values: list[T]) -> Select[Any]:
    return texts_in(cast("list[str]", values)) if isinstance(values[0], str) else ids_in(cast("list[int]", values))


def rows_in(
    connection: Connection, query: Select[*Ts], column: ColumnElement[Any], values: Collection[T]
) -> Iterator[Row[*Ts]]:
    """The rows of the query in which the column holds one of these values."""
    return (row for where in in_batches(column, values) for row in connection.execute(query.where(where)).all())


def values_in(
    connection: Connection, wanted: ColumnElement[V], column: ColumnElement[Any], values: Collection[T]
) -> Iterator[V]:
    """The values of the column `wanted` in the rows in which another column holds one of these values."""
    return (row[0] for row in rows_in(connection, select(wanted), column, values))


NOBODY: Final = ""  # The person of an organisation's facts, which hold until they are retracted


class ForgottenMessage(NamedTuple):
    """A message to be erased. A NamedTuple, because there may be a hundred thousand."""

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
    """`turns` are erased even without messages. `complete`: False if the plan reaches more than the limit."""

    messages: dict[int, ForgottenMessage]
    turns: frozenset[int] = frozenset()
    entries: frozenset[int] = frozenset()
    facts: frozenset[int] = frozenset()
    complete: bool = True
    schedules: frozenset[int] = frozenset()
    files: frozenset[int] = frozenset()


def select_rows(
    connection: Connection, plan: plans.ForgettingPlan, limit: int | None = None, watch: Watch = unwatched
) -> Selection:
    """The rows that the plan names; up to `limit` messages, the oldest, and the questions of erased schedules."""
    named = _named_rows(connection, plan, limit, watch)
    schedule_ids = _schedules(connection, plan, named.messages)
    if not schedule_ids:
        return named
    if isinstance(plan, plans.Everything | plans.Gone):  # these name all messages themselves, or keep them
        return replace(named, schedules=schedule_ids)
    questions = questions_of(connection, schedule_ids)
    return replace(named, messages=dict(ChainMap(named.messages, questions)), schedules=schedule_ids)


def questions_of(connection: Connection, schedules: Collection[int]) -> dict[int, ForgottenMessage]:
    """The questions of the turns that these schedules began."""
    begun = in_batches(turn.c.schedule, schedules)
    asked = [and_(message.c.turn.in_(select(turn.c.id).where(condition)), _BY_PERSON) for condition in begun]
    return dict(ChainMap({}, *(messages_where(connection, condition) for condition in asked)))


def follow_ups_of(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> dict[int, ForgottenMessage]:
    """The questions that buttons below these replies asked: a model wrote their words, as a part of the reply."""
    # Below long work they are asked where it was requested.
    replies = {item.turn: asked_in(item.conversation) for item in messages.values() if item.author == Author.BOT}
    begins = [turn.c.message_id.startswith(prefix) for prefix in (FOLLOW_UPS, f"{AGAIN}{FOLLOW_UPS}")]
    pressed = select(turn.c.id, turn.c.message_id).where(or_(*begins))
    found = rows_in(connection, pressed, turn.c.conversation, set(replies.values()))
    asked = {row.id for row in found if turn_followed_up(message_of(row.message_id)) in replies}
    return messages_in(connection, message.c.turn, asked, _BY_PERSON)


def schedules_from(connection: Connection, messages: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The schedules that were asked for in these messages, and those that the turns of these replies made, unless the
    question's own words say the same.
    """
    made = select(schedule.c.id, schedule.c.words, message.c.id.label("question"), message.c.text).join_from(
        schedule, message, asked_for_schedule(message)
    )
    answered = {item.turn for item in messages.values() if item.author == Author.BOT}
    found = rows_in(connection, made.where(_BY_PERSON), message.c.turn, answered)
    derived = {row.id for row in found if not fact_store.is_covered_by(row.words, row.text)}
    return frozenset(derived | {row.id for row in rows_in(connection, made, message.c.id, messages.keys())})


def scratch_from(connection: Connection, messages: Iterable[ForgottenMessage]) -> frozenset[int]:
    """The scratch values that the turns of these messages made, unless the question's own words say the same."""
    asked = select(working_item.c.id, working_item.c.value, message.c.text).join(
        message, message.c.id == working_item.c.message
    )
    found = rows_in(connection, asked, message.c.turn, {item.turn for item in messages})
    return frozenset(row.id for row in found if not fact_store.is_covered_by(row.value, row.text))


_BY_PERSON: Final = message.c.author == Author.PERSON

# A schedule is erased with its owner, with the places in which it was made and posts, and with the text that it
# repeats.


def _schedules(
    connection: Connection, plan: plans.ForgettingPlan, forgotten: Mapping[int, ForgottenMessage]
) -> frozenset[int]:
    match plan:
        case plans.Everything() | plans.Gone():
            return _ids(connection, schedule, schedules_named(plan))
        case plans.OneThread(person=who, conversations=conversations):
            named = and_(schedule.c.person == who, schedule.c.conversation.in_(sorted(conversations)))
        case plans.Deleted(source, channel, messages):
            asked = select(turn.c.conversation).where(
                in_channels(turn, source, {channel}), turn.c.message_id.in_(sorted(messages))
            )
            same_place = or_(in_channels(schedule, source, {channel}), schedule.c.conversation.in_(asked))
            named = and_(schedule.c.message.in_(sorted(messages)), same_place)
        case plans.During(person=who) | plans.AboutTopic(person=who):
            schedules = select(schedule).where(schedule.c.person == who)
            found = [row["id"] for row in connection.execute(schedules).mappings() if _is_meant(plan, row)]
            named = schedule.c.id.in_(found)
        case plans.OneReply() | plans.Expired():
            return frozenset()
        case _:
            assert_never(plan)
    return _ids(connection, schedule, named) | _quoting(connection, forgotten)


def is_private(audience: ColumnElement[str]) -> ColumnElement[bool]:
    """The condition that an audience is that of somebody's direct messages."""
    return audience.startswith(f"{AudienceKind.PERSON}:")


def schedules_named(plan: plans.Everything | plans.Gone) -> ColumnElement[bool]:
    """The condition for the schedules of a person, or of a place, whatever their text."""
    match plan:
        case plans.Everything(person=who):
            return schedule.c.person == who
        case plans.Gone(conversations, channels, audiences, sources, within):
            posts_here = and_(in_channels(schedule, within, channels), ~is_private(schedule.c.audience))
            asked_here, from_sources = (
                schedule.c.conversation.in_(sorted(conversations)),
                schedule.c.source.in_(sorted(sources)),
            )
            return or_(posts_here, asked_here, from_sources, schedule.c.audience.in_(sorted(audiences)))
        case _:
            assert_never(plan)


def _is_meant(plan: plans.During | plans.AboutTopic, row: Mapping[Any, Any]) -> bool:
    if isinstance(plan, plans.During):
        rest: Any = read_json(row["made"])
        return plan.period.since <= datetime.fromisoformat(rest["created"]) < plan.period.until
    return speaks_of(row["words"], topic_of(plan.words))


def _quoting(connection: Connection, forgotten: Mapping[int, ForgottenMessage]) -> frozenset[int]:
    """The schedules of these messages' people whose text holds one of these messages."""
    owners = {item.person for item in forgotten.values()}
    schedules = rows_in(connection, select(schedule.c.id, schedule.c.words), schedule.c.person, owners)
    texts_by_id = {row.id: row.words for row in schedules}
    longest = max(map(len, texts_by_id.values()), default=0)
    texts = {item.text for item in forgotten.values() if len(item.text) <= longest} if texts_by_id else set[str]()
    return frozenset(id_ for id_, words in texts_by_id.items() if any(holds(words, text) for text in texts))


def _named_rows(connection: Connection, plan: plans.ForgettingPlan, limit: int | None, watch: Watch) -> Selection:
    match plan:
        case plans.AboutTopic():
            return _about(connection, plan, watch)
        case plans.Deleted(source, channel, messages):
            return Selection(posted(connection, source, channel, messages))
        case plans.OneReply(number):
            return Selection(messages_where(connection, and_(message.c.turn == number, message.c.author == Author.BOT)))
        case _:
            pass
    named = _many_messages(connection, said_by_plan(plan), watch, limit)
    complete = limit is None or len(named) < limit
    return Selection(
        named,
        turns=_ids(connection, turn, _turns(plan)) if complete else frozenset(),
        entries=_ids(connection, profile_entry, known_by_plan(plan, profile_entry)) if complete else frozenset(),
        facts=_ids(connection, fact, known_by_plan(plan, fact)) if complete else frozenset(),
        complete=complete,
        files=_ids(connection, saved_file, files_of(plan)) if complete else frozenset(),
    )


def reaches_anything(connection: Connection, plan: plans.ForgettingPlan) -> bool:
    """Whether the plan has anything to erase. Most messages that are deleted in a platform are unknown to the bot."""
    named = select_rows(connection, plan, limit=1)
    if named.messages or named.turns or named.entries or named.facts or named.schedules or named.files:
        return True
    if passages.count(connection, documents_of(plan)):
        return True
    if connection.execute(select(api_token.c.id).where(tokens_of(plan)).limit(1)).first() is not None:
        return True
    if connection.execute(select(place_key.c.id).where(place_keys_of(plan)).limit(1)).first() is not None:
        return True
    if not isinstance(plan, plans.Gone):
        return False
    removed = installation.c.source.in_(sorted(plan.sources)), installation.c.removed.is_not(None)
    owned = (select(column).where(of_sources(column, plan.sources), ~outlives) for column, outlives in _OWNED)
    queries = (select(installation.c.source).where(*removed), *owned)
    return any(connection.execute(query.limit(1)).first() is not None for query in queries)


# Rows of people who may have written nothing, and the condition for those that are kept when the people are erased.
_OWNED: Final = (
    (person.c.id, false()),
    (preference.c.owner, preference.c.value == plans.PAUSED),
    (tool_account.c.person, false()),
    (sign_in.c.person, false()),
    (installation.c.installer, false()),
)


def documents_of(plan: plans.ForgettingPlan) -> ColumnElement[bool]:
    """The condition for documents that are erased with the plan: with their place, not with who added them."""
    match plan:
        case plans.Everything(who):
            return document.c.audience == label(PersonAudience(who))
        case plans.Gone(_, channels, audiences, sources, within):
            return or_(
                document.c.audience.in_(sorted(audiences)),
                and_(in_channels(document, within, channels), ~is_private(document.c.audience)),
                document.c.source.in_(sorted(sources)),
            )
        case _:
            return false()


def tokens_of(plan: plans.ForgettingPlan) -> ColumnElement[bool]:
    """The condition for tokens of programs that are erased with the plan: with their person or their place."""
    match plan:
        case plans.Everything(who):
            return api_token.c.person == who
        case plans.Gone(_, channels, audiences, sources, within):
            return or_(
                api_token.c.source.in_(sorted(sources)),
                api_token.c.audience.in_(sorted(audiences)),
                and_(in_channels(api_token, within, channels), api_token.c.channel != ""),
            )
        case _:
            return false()


def place_keys_of(plan: plans.ForgettingPlan) -> ColumnElement[bool]:
    """The condition for the keys of channels that are erased with the plan: with their place."""
    match plan:
        case plans.Gone(_, channels, audiences, sources, within):
            return or_(
                place_key.c.source.in_(sorted(sources)),
                place_key.c.audience.in_(sorted(audiences)),
                in_channels(place_key, within, channels),
            )
        case _:
            return false()


def files_of(plan: plans.ForgettingPlan) -> ColumnElement[bool]:
    """The condition for the files of code that are erased with the plan whatever their sources."""
    match plan:
        case plans.Everything(who):
            return saved_file.c.person == who
        case plans.OneThread(person=who, conversations=conversations):
            return and_(saved_file.c.person == who, saved_file.c.conversation.in_(sorted(conversations)))
        case plans.Gone(conversations=conversations, audiences=audiences, sources=sources):
            drawn = or_(*(saved_file.c[name].in_(sorted(audiences)) for name in ("audience", "drawn_from")))
            return or_(
                drawn, saved_file.c.conversation.in_(sorted(conversations)), of_sources(saved_file.c.person, sources)
            )
        case _:
            return false()


BESIDE: Final = timedelta(hours=1)  # A document is added so soon after the words that brought it


def documents_left(
    connection: Connection, plan: plans.ForgettingPlan, messages: Collection[ForgottenMessage]
) -> list[str]:
    """The names of the documents that the plan's person added with what it erases, and that it leaves: they belong to
    their place. `messages`: those that it erases. A document knows its channel and its time, not its message.
    """
    match plan:
        case plans.Everything(person=who) | plans.AboutTopic(person=who):
            where = true()
        case plans.During(person=who, period=period):
            where = and_(document.c.time >= period.since, document.c.time < period.until)
        case plans.OneThread(person=who):
            times = [item.time for item in messages if item.person == who]
            channels = {item.channel for item in messages if item.person == who}
            if not times:
                return []
            meanwhile = and_(document.c.time >= min(times), document.c.time < max(times) + BESIDE)
            where = and_(document.c.channel.in_(sorted(channels)), meanwhile)
        case plans.Deleted() | plans.OneReply() | plans.Gone() | plans.Expired():
            return []
        case _:
            assert_never(plan)
    own = select(document.c.name).where(document.c.person == who, document.c.state != passages.GONE)
    names = connection.execute(own.where(where, ~documents_of(plan)).order_by(document.c.id)).scalars().all()
    topic = topic_of(plan.words) if isinstance(plan, plans.AboutTopic) else None
    return [name for name in names if topic is None or speaks_of(name, topic)]


def of_sources(column: ColumnElement[str], sources: Collection[str]) -> ColumnElement[bool]:
    """The condition that the column holds the id of a person from one of these sources."""
    return or_(false(), *(column.startswith(f"{source}:", autoescape=True) for source in sorted(sources)))


def messages_where(
    connection: Connection, where: ColumnElement[bool], limit: int | None = None
) -> dict[int, ForgottenMessage]:
    """The messages that meet the condition, the oldest first."""
    found = connection.execute(select(*_OF_MESSAGE).where(where).order_by(message.c.id).limit(limit))
    return {row[0]: ForgottenMessage(*row) for row in found}


def _many_messages(
    connection: Connection, where: ColumnElement[bool], watch: Watch, limit: int | None = None
) -> dict[int, ForgottenMessage]:
    """The same, read in chunks with a report of the progress after each."""
    messages: dict[int, ForgottenMessage] = {}
    query = select(*_OF_MESSAGE).where(where).order_by(message.c.id).limit(limit)
    for chunk in connection.execute(query, execution_options={"yield_per": CHUNK}).partitions():
        messages |= {row[0]: ForgottenMessage(*row) for row in chunk}
        watch(len(messages))
    return messages


def messages_in(
    connection: Connection, column: ColumnElement[Any], values: Collection[T], *more: ColumnElement[bool]
) -> dict[int, ForgottenMessage]:
    """The messages in whose rows the column holds one of these values."""
    found: dict[int, ForgottenMessage] = {}
    for condition in in_batches(column, values):
        found |= messages_where(connection, and_(condition, *more))
    return found


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
        case plans.Gone(conversations, channels, audiences, sources, within):
            # Programs ask from a source of their own, as people or services of these sources.
            from_there = or_(
                message.c.turn.in_(select(turn.c.id).where(turn.c.source.in_(sorted(sources)))),
                of_sources(message.c.person, sources),
            )
            services = message.c.person.startswith(services_of(within), autoescape=True)
            return or_(
                message.c.conversation.in_(sorted(conversations)),
                message.c.audience.in_(sorted(audiences)),
                and_(in_channels(message, within, channels), ~is_private(message.c.audience)),
                and_(message.c.channel.in_(sorted(channels)), services),
                from_there,
            )
        case plans.Expired(kind, before):
            old = and_(message.c.author == Author.PERSON, message.c.time < before)
            return and_(message.c.audience.startswith(f"{kind}:"), old)
        case _:
            assert_never(plan)


def _turns(plan: plans.OneThread | plans.Everything | plans.During | plans.Gone | plans.Expired) -> ColumnElement[bool]:
    """The condition for turns that are erased with the plan whatever their messages."""
    match plan:
        case plans.OneThread(person, conversations):
            return and_(turn.c.person == person, turn.c.conversation.in_(sorted(conversations)))
        case plans.Everything(person):
            return turn.c.person == person
        case plans.Gone(conversations=gone, sources=sources):
            from_there = or_(turn.c.source.in_(sorted(sources)), of_sources(turn.c.person, sources))
            return or_(turn.c.conversation.in_(sorted(gone)), from_there)
        case plans.During() | plans.Expired():
            return false()
        case _:
            assert_never(plan)


def known_by_plan(
    plan: plans.OneThread | plans.Everything | plans.During | plans.Gone | plans.Expired, table: Table
) -> ColumnElement[bool]:
    """The condition for facts or profile entries that are erased with the plan whatever their sources."""
    match plan:
        case plans.Everything(person):
            return table.c.person == person
        case plans.During(person, period):
            then = and_(table.c.time >= period.since, table.c.time < period.until)
            return and_(table.c.person == person, then, _without_source(table))
        case plans.Gone(audiences=audiences, sources=sources):
            of_people = (table.c.person.startswith(f"{source}:", autoescape=True) for source in sorted(sources))
            return or_(table.c.audience.in_(sorted(audiences)), *of_people)
        case plans.Expired(kind, before):
            old = and_(table.c.audience.startswith(f"{kind}:"), table.c.time < before, _without_source(table))
            return and_(old, table.c.person != NOBODY)
        case plans.OneThread():
            return false()
        case _:
            assert_never(plan)


def _without_source(table: Table) -> ColumnElement[bool]:
    """The condition that a row has no source message. A row with one is erased with that message, whatever its time."""
    sources = exists().where(profile_source.c.entry == profile_entry.c.id)
    return fact.c.source_message.is_(None) if table is fact else ~sources


def _about(connection: Connection, plan: plans.AboutTopic, watch: Watch) -> Selection:
    """Messages are found by the index, which has all of the person's own; facts and entries are few enough to read."""
    topic = topic_of(plan.words)

    def known(table: Table, column: Column[str]) -> frozenset[int]:
        own = select(table.c.id, table.c.key, column).where(table.c.person == plan.person)
        found = connection.execute(own).all() if topic else ()
        return frozenset(id_ for id_, key, text in found if speaks_of(f"{key} {text}", topic))

    number = participants.number_of(connection, plan.person)
    having = false() if number is None or not topic else message.c.id.in_(index.ids_having(connection, topic, number))
    messages = _many_messages(connection, and_(having, message.c.person == plan.person), watch)
    return Selection(messages, entries=known(profile_entry, profile_entry.c.text), facts=known(fact, fact.c.value))


def unasked(connection: Connection, plan: plans.ForgettingPlan) -> dict[str, str]:
    """The texts of the person's questions that wait to be accepted and are erased, by preference name."""
    # `Everything` erases all preferences, and the other plans are not a person's wish.
    if not isinstance(plan, plans.OneThread | plans.During | plans.AboutTopic):
        return {}
    own = select(preference.c.name, preference.c.value).where(preference.c.owner == plan.person)
    found = connection.execute(own.where(preference.c.name.startswith(UNASKED, autoescape=True))).all()
    read = {name: asked for name, value in found if isinstance(asked := read_json(value), dict)}
    return {name: str(asked.get("text")) for name, asked in read.items() if _reaches(plan, asked)}


def _reaches(plan: plans.OneThread | plans.During | plans.AboutTopic, asked: Mapping[str, Json]) -> bool:
    match plan:
        case plans.OneThread(_, conversations):
            named = asked.get("conversations")
            return isinstance(named, list) and any(name in conversations for name in named)
        case plans.During(_, period):
            return period.since <= datetime.fromisoformat(str(asked.get("asked"))) < period.until
        case plans.AboutTopic(_, words):
            return speaks_of(str(asked.get("text")), topic_of(words))
        case _:
            assert_never(plan)


def posted(
    connection: Connection, source: str, channel: str, message_ids: Collection[str]
) -> dict[int, ForgottenMessage]:
    """People's messages by the platform's ids, without what came of them: `select_rows` adds schedules' questions."""
    # Found by their turns, which have the platform's ids; a message that joined another is still in the thread.
    own = and_(in_channels(turn, source, {channel}), turn.c.message_id.in_(sorted(message_ids)))
    conversations = set(connection.execute(select(turn.c.conversation).where(own)).scalars())
    post = and_(message.c.channel == channel, message.c.message_id.in_(sorted(message_ids)))
    return messages_where(connection, and_(message.c.conversation.in_(sorted(conversations)), post, _BY_PERSON))


def _ids(connection: Connection, table: Table, where: ColumnElement[bool]) -> frozenset[int]:
    return frozenset(connection.execute(select(table.c.id).where(where)).scalars())
