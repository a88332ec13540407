"""The messages and summaries of conversations, a person's conversations, working sets, and replies in platforms."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import Index
from sqlmodel import Field

from agent import texts
from agent.errors import StoreError
from agent.memory.audience import NOWHERE, WIDE, AudienceKind, GroupAudience, audience_of
from agent.memory.documents import ON, SHARING
from agent.memory.forgetting_plans import PAUSED
from agent.memory.layers import WorkingItem
from agent.memory.own_words import FILES_NOTE
from agent.records import (
    Answered,
    AttachedMessage,
    Author,
    Incoming,
    LastSeen,
    ReplyVerdict,
    StoredMessage,
    Thread,
)
from agent.schedules import occurrence_id
from agent.state import LastActions, SituationSummary
from agent.summary import SUMMARY, Uncovered
from store import job_queue, rows
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, storable, writes
from store.memory_tables import fact, profile
from store.message_tables import conversation, message, participant, person, place
from store.preferences import preference
from store.schedule_table import schedule
from store.schema import NEVER_REUSED, TableRow, meta, metadata
from store.turn_tables import RUNNING, WAITING, action_record, turn


class WorkingItemRow(TableRow, table=True):
    """A scratch value of a conversation; deleted when it expires, and with the question in whose turn it was kept."""

    __table_args__: ClassVar[Any] = NEVER_REUSED

    id: int | None = Field(default=None, primary_key=True)
    conversation: str = Field(sa_type=StorableText, index=True)
    audience: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    value: str = Field(sa_type=StorableText)
    created: datetime = Field(sa_type=UtcDateTime)
    expires: datetime = Field(sa_type=UtcDateTime, index=True)
    message: int = Field(index=True)


working_item: Final = metadata.tables["working_item"]


class PageRow(TableRow, table=True):
    """A page of a finished reply, by the platform's own id; deleted with the reply's text."""

    __table_args__: ClassVar[Any] = (Index("ix_page_page", "page", "source"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    turn: int = Field(foreign_key="turn.id", index=True)
    source: str = Field(sa_type=StorableText)
    page: str = Field(sa_type=StorableText)


page: Final = metadata.tables["page"]


class VerdictRow(TableRow, table=True):
    """A reader's verdict on the reply of a turn."""

    turn: int = Field(primary_key=True, foreign_key="turn.id")
    person: str = Field(sa_type=StorableText, primary_key=True, index=True)
    verdict: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime, index=True)


verdict: Final = metadata.tables["verdict"]


# The last messages received from each platform, and the watermark: where a start looks for missed messages.

LATEST_TURNS: Final = 5_000  # The newest turns that are read: a start must not read years of messages
_HEARD: Final = "heard:"


def last_seen(connection: sa.Connection, source: str, since: datetime, limit: int) -> list[LastSeen]:
    latest = sa.select(turn.c.id, turn.c.source).order_by(turn.c.id.desc()).limit(LATEST_TURNS).subquery()
    questions = (
        sa.select(message.c.conversation, message.c.channel, message.c.message_id, message.c.time)
        .join_from(latest, message, message.c.turn == latest.c.id)
        .where(latest.c.source == source, message.c.author == Author.PERSON, message.c.time >= since)
        .order_by(message.c.time.desc(), message.c.id.desc())
    )
    found: dict[str, LastSeen] = {}
    for row in connection.execute(questions):
        if len(found) >= limit:
            break
        found.setdefault(row.conversation, LastSeen(row.conversation, row.channel, row.message_id or "", row.time))
    return list(found.values())


def watermark(connection: sa.Connection, source: str) -> datetime | None:
    stored = connection.execute(sa.select(meta.c.value).where(meta.c.name == _HEARD + source)).scalar_one_or_none()
    return None if stored is None else datetime.fromisoformat(stored.decode())


def set_watermark(connection: sa.Connection, source: str, time: datetime) -> None:
    connection.execute(sa.delete(meta).where(meta.c.name == _HEARD + source))
    connection.execute(sa.insert(meta).values(name=_HEARD + source, value=time.isoformat().encode()))


# The group places in which a person wrote: their content may be used where only this person reads.

_GROUPS: Final = f"{AudienceKind.GROUP}:%"


def groups(connection: sa.Connection, person: str, limit: int) -> list[str]:
    found = connection.execute(_latest(), {"person": person, "most": max(limit, 0)}).scalars()
    audiences = map(audience_of, found)
    return [audience.place for audience in audiences if isinstance(audience, GroupAudience)]


@cache
def _latest() -> sa.Select[Any]:
    """The labels of the person's threads, facts and profiles, newest first by their last message. Built once."""
    last: sa.Select[tuple[datetime]] = (
        sa.select(message.c.time)
        .where(message.c.conversation == participant.c.conversation)
        .order_by(message.c.turn.desc(), message.c.id.desc())
        .limit(1)
    )
    threads = (
        sa.select(conversation.c.audience, last.scalar_subquery().label("last"))
        .join_from(participant, conversation, conversation.c.id == participant.c.conversation)
        .where(participant.c.person == sa.bindparam("person"), conversation.c.audience.like(_GROUPS))
    )
    remembered = [
        sa.select(table.c.audience, time).where(
            table.c.person == sa.bindparam("person"), table.c.audience.like(_GROUPS)
        )
        for table, time in ((fact, fact.c.time), (profile, profile.c.updated))
    ]
    all_labels = sa.union_all(threads, *remembered).subquery()
    return (
        sa.select(all_labels.c.audience)
        .group_by(all_labels.c.audience)
        .order_by(sa.func.max(all_labels.c.last).desc(), all_labels.c.audience)
        .limit(sa.bindparam("most"))
    )


# Messages that are shared with the team of their public channel (`agent.memory.documents.SHARING`).

_SHARED: Final = sa.select(
    sa.exists().where(
        place.c.audience.in_(sa.bindparam("audiences", expanding=True)), message.c.place == place.c.number
    )
)


def something_shared(connection: sa.Connection, audiences: frozenset[str]) -> bool:
    """Whether any message was ever shared with one of these teams."""
    return bool(connection.execute(_SHARED, {"audiences": sorted(audiences)}).scalar_one())


def shares(channel: sa.ColumnElement[str], who: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """The condition that sharing is on in the channel ("channel:" and its id), and the person has not opted out."""
    setting = preference.c.name == SHARING
    on = sa.exists().where(preference.c.owner == channel, setting, preference.c.value == ON)
    return sa.and_(on, ~sa.exists().where(preference.c.owner == who, setting, preference.c.value == PAUSED))


# Messages and actions in a conversation.


def stored_messages() -> sa.Select[tuple[object, ...]]:
    """Messages with the name of their person, in the form that `rows.message` reads."""
    return sa.select(message, person.c.name).join_from(message, person, person.c.id == message.c.person)


# Statements that each turn runs are built once: building them takes longer than running them.
_HISTORY: Final = (
    stored_messages()
    .where(message.c.conversation == sa.bindparam("here"), message.c.turn < sa.bindparam("before_turn"))
    .order_by(message.c.turn.desc(), message.c.id.desc())
    .limit(sa.bindparam("most"))
)
REMINDED: Final = 3  # The newest messages of the asker's schedules: replies refer to the last ones
REMINDED_FOR: Final = timedelta(days=1)
_DONE_LATELY: Final = (
    sa.select(schedule.c.id, schedule.c.last)
    .where(schedule.c.person == sa.bindparam("asker"), schedule.c.last >= sa.bindparam("since"))
    .order_by(schedule.c.last.desc())
    .limit(REMINDED)
)
_SUMMARY: Final = sa.select(conversation.c.summary).where(conversation.c.id == sa.bindparam("here"))


def history(connection: sa.Connection, conversation: str, before_turn: int, limit: int) -> list[StoredMessage]:
    values = {"here": conversation, "before_turn": before_turn, "most": max(limit, 0)}
    return [rows.message(row) for row in connection.execute(_HISTORY, values).mappings().all()][::-1]


def reminded(
    connection: sa.Connection, incoming: Incoming, audiences: frozenset[str]
) -> list[tuple[int, StoredMessage]]:
    """The messages that the asker's schedules recently posted in this channel, with the schedules' ids; newest last."""
    found: list[tuple[int, StoredMessage]] = []
    values = {"asker": incoming.person.id, "since": incoming.time - REMINDED_FOR}
    for id_, last in connection.execute(_DONE_LATELY, values).all():
        posted = (
            stored_messages()
            .join(turn, turn.c.id == message.c.turn)
            .where(turn.c.source == incoming.source, turn.c.event_id == occurrence_id(id_, last))
            .where(message.c.author == Author.BOT, message.c.channel == incoming.channel)
            .where(message.c.audience.in_(sorted(audiences)), message.c.conversation != incoming.conversation)
        )
        found += [(id_, rows.message(row)) for row in connection.execute(posted).mappings()]
    return found[::-1]


def summary(connection: sa.Connection, conversation_id: str) -> tuple[SituationSummary, int]:
    """The conversation's summary, and the id of the last message that it covers."""
    stored = connection.execute(_SUMMARY, {"here": conversation_id}).scalar_one_or_none() or "{}"
    return rows.summary(stored), rows.covered(stored)


_ASKED: Final = sa.and_(message.c.turn == turn.c.id, message.c.audience.in_(sa.bindparam("audiences", expanding=True)))
_DRAWN: Final = {"context_messages": message, "context_facts": fact}
_LAST_ACTIONS: Final = (
    sa.select(action_record, turn.c.context_messages, turn.c.context_facts)
    .join_from(action_record, turn, action_record.c.turn == turn.c.id)
    .where(turn.c.conversation == sa.bindparam("here"), turn.c.person == sa.bindparam("asker"))
    .where(turn.c.id < sa.bindparam("before_turn"), sa.exists().where(_ASKED))
    .where(action_record.c.drawn_from.in_(sa.bindparam("drawn", expanding=True)))
    .order_by(turn.c.id.desc(), action_record.c.iteration.desc())
    .limit(sa.bindparam("most"))
)


def last_actions(
    connection: sa.Connection,
    conversation_id: str,
    person_id: str,
    audiences: frozenset[str],
    before_turn: int,
    limit: int,
) -> LastActions:
    values = {
        "here": conversation_id,
        "asker": person_id,
        "audiences": sorted(audiences),
        "drawn": [WIDE, *sorted(audiences)],
        "before_turn": before_turn,
        "most": limit,
    }
    found = connection.execute(_LAST_ACTIONS, values).mappings().all()[::-1]
    drawn = [{column: rows.read_ids(row[column]) for column in _DRAWN} for row in found]
    closed = {
        column: _closed(connection, table, {id_ for ids in drawn for id_ in ids[column]}, audiences, person_id)
        for column, table in _DRAWN.items()
    }
    usable = [at for at, ids in enumerate(drawn) if not any(closed[column] & ids[column] for column in _DRAWN)]
    sources = {id_ for at in usable for id_ in drawn[at]["context_messages"]}
    return LastActions(tuple(rows.action_record(found[at]) for at in usable), tuple(sorted(sources)))


_TAKES_PART: Final = sa.exists().where(
    participant.c.conversation == message.c.conversation, participant.c.person == sa.bindparam("asker")
)
_NO_LONGER_SHARED: Final = sa.and_(
    message.c.place.is_not(None), ~_TAKES_PART, ~shares("channel:" + message.c.channel, message.c.person)
)


def _closed(
    connection: sa.Connection, table: sa.Table, ids: set[int], audiences: frozenset[str], asker: str
) -> set[int]:
    """The ids of these rows that may not be used for these audiences: text drawn from them would disclose them. Of
    other people's messages also those that are no longer shared.
    """
    if not ids:
        return set()
    elsewhere = table.c.audience.not_in(sorted(audiences))
    narrower = sa.or_(elsewhere, _NO_LONGER_SHARED) if table is message else elsewhere
    closed = sa.select(table.c.id).where(table.c.id.in_(ids), narrower)
    return set(connection.execute(closed, {"asker": asker} if table is message else {}).scalars())


def threads(
    connection: sa.Connection, person: str, limit: int, audiences: frozenset[str] | None = None
) -> list[Thread]:
    own = message.alias("own")
    readable, own_readable = (
        sa.true() if audiences is None else table.c.audience.in_(sorted(audiences)) for table in (message, own)
    )
    question = (
        sa.select(own.c.text)
        .where(own.c.conversation == participant.c.conversation)
        .where(own.c.person == person, own.c.author == Author.PERSON, own_readable)
        .order_by(own.c.turn)
        .limit(1)
        .scalar_subquery()
    )
    last = sa.func.max(message.c.time).label("last")
    listed = (
        sa.select(
            participant.c.conversation, question.label("question"), last, sa.func.count(message.c.id).label("messages")
        )
        .join_from(participant, message, message.c.conversation == participant.c.conversation)
        .where(participant.c.person == person, readable)
        .group_by(participant.c.conversation)
        .order_by(last.desc(), sa.func.max(message.c.id).desc())
        .limit(max(limit, 0))
    )
    return [rows.thread(row) for row in connection.execute(listed).mappings() if row["question"] is not None]


_ELSEWHERE: Final = (
    sa.select(participant.c.conversation)
    .where(participant.c.person == sa.bindparam("asker"), participant.c.conversation != sa.bindparam("here"))
    .limit(1)
)


def wrote_elsewhere(connection: sa.Connection, person_id: str, conversation_id: str) -> bool:
    return connection.execute(_ELSEWHERE, {"asker": person_id, "here": conversation_id}).first() is not None


def latest_elsewhere(connection: sa.Connection, person: str, conversation: str) -> str | None:
    last = sa.select(sa.func.max(message.c.turn)).where(message.c.conversation == participant.c.conversation)
    latest = _ELSEWHERE.order_by(last.scalar_subquery().desc())
    return connection.execute(latest, {"asker": person, "here": conversation}).scalar_one_or_none()


def participants(connection: sa.Connection, conversation: str) -> frozenset[str] | None:
    found = sa.select(participant.c.person).where(participant.c.conversation == conversation)
    return frozenset(connection.execute(found).scalars()) or None


def messages_of(
    connection: sa.Connection, person: str, audiences: frozenset[str], before: int | None, limit: int
) -> list[StoredMessage]:
    usable = message.c.audience.in_(sorted(audiences)), message.c.drawn_from.in_([WIDE, *sorted(audiences)])
    messages = stored_messages().where(message.c.person == person, *usable)
    earlier = messages if before is None else messages.where(message.c.id < before)
    newest = earlier.order_by(message.c.id.desc()).limit(max(limit, 0))
    return [rows.message(row) for row in connection.execute(newest).mappings()]


def attached_messages(
    connection: sa.Connection, asker: str, here: str, audiences: frozenset[str], limit: int
) -> list[AttachedMessage]:
    columns = [message.c[field.name] for field in fields(AttachedMessage) if field.name != "name"]
    messages = sa.select(*columns, person.c.name).join_from(message, person, person.c.id == message.c.person)
    usable = messages.where(
        message.c.author == Author.PERSON,
        message.c.text.contains(FILES_NOTE, autoescape=True),
        message.c.message_id.is_not(None),
        message.c.audience.in_(sorted(audiences)),
    )
    newest = usable.order_by(message.c.id.desc()).limit(max(limit, 0))
    elsewhere = sa.and_(message.c.person == asker, message.c.conversation != here)
    found = [connection.execute(newest.where(condition)) for condition in (message.c.conversation == here, elsewhere)]
    return [AttachedMessage(**row) for rows_found in found for row in rows_found.mappings()]


def last_said(connection: sa.Connection, conversation: str) -> datetime | None:
    latest = sa.select(message.c.time).where(message.c.conversation == conversation)
    return connection.execute(latest.order_by(message.c.time.desc()).limit(1)).scalar_one_or_none()


def questions(connection: sa.Connection, person: str, limit: int) -> list[str]:
    asked = sa.select(message.c.text).where(message.c.person == person, message.c.author == Author.PERSON)
    latest = asked.order_by(message.c.id.desc()).limit(max(limit, 0))
    return list(connection.execute(latest).scalars())[::-1]


class SqlConversations(SqlStore):
    history = reads(history)
    threads = reads(threads)
    groups = reads(groups)
    latest_elsewhere = reads(latest_elsewhere)
    participants = reads(participants)
    questions = reads(questions)
    messages_of = reads(messages_of)
    attached_messages = reads(attached_messages)
    last_said = reads(last_said)
    last_seen = reads(last_seen)
    watermark = reads(watermark)
    set_watermark = writes(set_watermark)


# The summary of a conversation, made in the background from the messages that will soon not fit into the context.
#
# It is stored as one JSON object: its fields, and under rows.COVERED the id of the last message that it covers. It is
# made only from messages of the conversation's own audience, and stored only if it continues the summary that is still
# stored and all messages that it was made from still exist with the same text: so it never restores what was forgotten
# meanwhile. Forgetting, an edit or a more public place set it to "{}".

# The newest messages that a first summary reads: older ones in a thread without a summary are found by recall.
UNCOVERED_LIMIT: Final = 200


def schedule_summary(connection: sa.Connection, asked: Incoming, until: int, now: datetime) -> None:
    """Schedule a summary of the question's conversation up to that message; a waiting job keeps its time."""
    if not job_queue.replace(connection, SUMMARY, asked.conversation, payload=str(until), person=asked.person.id):
        values = {"payload": str(until), "run_at": now, "person": asked.person.id, "conversation": asked.conversation}
        job_queue.schedule(connection, SUMMARY, asked.conversation, values)


def uncovered(connection: sa.Connection, conversation_id: str, until: int) -> Uncovered | None:
    place = sa.select(conversation.c.summary, conversation.c.audience).where(conversation.c.id == conversation_id)
    found = connection.execute(place).one_or_none()
    if found is None:
        return None
    since = rows.covered(found.summary)
    messages = (
        sa.select(message, person.c.name)
        .join_from(message, person, person.c.id == message.c.person)
        .where(message.c.conversation == conversation_id, message.c.audience == found.audience)
        .where(message.c.id > since, message.c.id <= until, message.c.drawn_from != NOWHERE)
        .order_by(message.c.id.desc())
        .limit(UNCOVERED_LIMIT)
    )
    newest = [rows.message(row) for row in connection.execute(messages).mappings()]
    return Uncovered(rows.summary(found.summary), found.summary, since, tuple(reversed(newest)))


def keep_summary(
    connection: sa.Connection,
    conversation_id: str,
    before: Uncovered,
    made_of: Sequence[StoredMessage],
    summary: SituationSummary,
) -> bool:
    in_order(connection, conversation_id)
    ids = [source.id for source in made_of]
    stored = sa.select(message.c.id, message.c.text, message.c.audience).where(message.c.id.in_(ids))
    current = {id_: (text, audience) for id_, text, audience in connection.execute(stored)}
    if not made_of or any(current.get(source.id) != (source.text, source.audience) for source in made_of):
        return False
    same = sa.and_(
        conversation.c.id == conversation_id,
        conversation.c.summary == before.stored,
        conversation.c.audience == made_of[-1].audience,
    )
    text = rows.summary_text(summary, made_of[-1].id)
    return connection.execute(sa.update(conversation).where(same).values(summary=text)).rowcount == 1


class SqlSummaries(SqlStore):
    async def uncovered(self, conversation: str, until: int) -> Uncovered | None:
        return await self.database.read(uncovered, conversation, until)

    async def save(
        self, conversation: str, before: Uncovered, made_of: Sequence[StoredMessage], summary: SituationSummary
    ) -> bool:
        return await self.database.write(keep_summary, conversation, before, made_of, summary)


# The working sets of conversations (seed 003, layer 3).
#
# Rule: expired items are never read, and the next write of any conversation deletes them.

MOST_ITEMS: Final = 20  # Of one conversation: scratch values of a task, not its history. The oldest are deleted first.


def keep_item(connection: sa.Connection, conversation: str, audience: str, item: WorkingItem) -> None:
    in_order(connection, f"working set {conversation}")
    source = connection.execute(sa.select(message.c.taken_back).where(message.c.id == item.message)).first()
    if source is None or source.taken_back:
        raise StoreError(texts.SOURCE_FORGOTTEN)
    key, same = storable(item.key), working_item.c.conversation == conversation
    connection.execute(sa.delete(working_item).where(working_item.c.expires <= item.created_at))
    connection.execute(sa.delete(working_item).where(same, working_item.c.key == key))
    newest = sa.select(working_item.c.id).where(same).order_by(working_item.c.id.desc()).limit(MOST_ITEMS - 1)
    staying = connection.execute(newest).scalars().all()
    connection.execute(sa.delete(working_item).where(same, working_item.c.id.not_in(staying)))
    connection.execute(
        sa.insert(working_item).values(
            conversation=conversation,
            audience=audience,
            key=key,
            value=item.value,
            created=item.created_at,
            expires=item.expires_at,
            message=item.message,
        )
    )


class SqlWorkingSet(SqlStore):
    store_item = writes(keep_item)


def discard_kept_by(connection: sa.Connection, question: int) -> None:
    """Delete the items that the turn of this question has kept: the turn restarts, and keeps them again."""
    connection.execute(sa.delete(working_item).where(working_item.c.message == question))


_ITEMS: Final = (
    sa.select(working_item)
    .where(working_item.c.conversation == sa.bindparam("here"), working_item.c.expires > sa.bindparam("now"))
    .where(working_item.c.audience.in_(sa.bindparam("audiences", expanding=True)))
    .order_by(working_item.c.id)
)


def working_items(
    connection: sa.Connection, conversation: str, audiences: frozenset[str], now: datetime
) -> list[WorkingItem]:
    """The items of this conversation that may be used for these audiences, the oldest first."""
    values = {"here": conversation, "audiences": sorted(audiences), "now": now}
    return [
        WorkingItem(row.key, row.value, row.created, row.expires, row.message)
        for row in connection.execute(_ITEMS, values)
    ]


# Replies in platforms: found by a page or by their turn, and readers' verdicts on them.
#
# Rule: a reply is known as long as its question and its own text exist; its pages are deleted with them.

_QUESTION: Final = (
    sa.select(
        turn.c.id,
        turn.c.source,
        turn.c.conversation,
        turn.c.channel,
        turn.c.message_id,
        turn.c.person,
        message.c.text,
        message.c.audience,
    )
    .join_from(turn, message, message.c.turn == turn.c.id)
    .where(message.c.author == Author.PERSON)
    .order_by(message.c.id)
    .limit(1)
)


def by_page(connection: sa.Connection, source: str, page_id: str, channel: str = "") -> Answered | None:
    query = sa.select(page.c.turn).where(page.c.page == page_id, page.c.source == source)
    if channel:
        query = query.join_from(page, turn, turn.c.id == page.c.turn).where(turn.c.channel == channel)
    found = connection.execute(query.order_by(page.c.turn.desc()).limit(1)).scalar_one_or_none()
    return None if found is None else by_turn(connection, found)


def running_by_page(connection: sa.Connection, source: str, page_id: str, channel: str = "") -> Answered | None:
    open_ = sa.select(turn.c.id, turn.c.reply_ref).where(
        turn.c.state.in_((RUNNING, WAITING)), turn.c.source == source, turn.c.reply_ref != ""
    )
    for number, stored in connection.execute(open_.where(turn.c.channel == channel) if channel else open_):
        pages: tuple[str, ...] = tuple(json.loads(stored))
        if page_id in pages:
            asked = connection.execute(_QUESTION.where(turn.c.id == number)).one_or_none()
            return None if asked is None else Answered(*asked, pages=pages)
    return None


def by_turn(connection: sa.Connection, number: int) -> Answered | None:
    pages = tuple(connection.execute(_pages(), {"of": number}).scalars())
    asked = connection.execute(_QUESTION.where(turn.c.id == number)).one_or_none() if pages else None
    return None if asked is None else Answered(*asked, pages=pages)


def judge(connection: sa.Connection, number: int, person: str, opinion: ReplyVerdict | None, now: datetime) -> bool:
    in_order(connection, f"verdict {number} {person}")
    if by_turn(connection, number) is None:
        return False
    own = (verdict.c.turn == number, verdict.c.person == person)
    if opinion is None:
        connection.execute(sa.delete(verdict).where(*own))
    elif connection.execute(sa.update(verdict).where(*own).values(verdict=opinion, time=now)).rowcount == 0:
        connection.execute(sa.insert(verdict).values(turn=number, person=person, verdict=opinion, time=now))
    return True


def verdicts(connection: sa.Connection, since: datetime) -> dict[ReplyVerdict, int]:
    counted = sa.select(verdict.c.verdict, sa.func.count()).where(verdict.c.time >= since).group_by(verdict.c.verdict)
    return {ReplyVerdict(row[0]): row[1] for row in connection.execute(counted)}


class SqlReplies(SqlStore):
    by_page = reads(by_page)
    running_by_page = reads(running_by_page)
    verdicts = reads(verdicts)

    async def by_turn(self, turn: int) -> Answered | None:
        return await self.database.read(by_turn, turn)

    async def judge(self, turn: int, person: str, verdict: ReplyVerdict | None, now: datetime) -> bool:
        return await self.database.write(judge, turn, person, verdict, now)


def _pages() -> sa.Select[str]:
    return sa.select(page.c.page).where(page.c.turn == sa.bindparam("of")).order_by(page.c.id)
