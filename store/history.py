"""What was said in a conversation, and which conversations a person has."""

from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, and_, bindparam, delete, exists, func, insert, select, true, union_all

from agent.memory.audience import AudienceKind, GroupAudience, audience_of
from agent.records import Author, LastSeen, StoredMessage, Thread
from agent.state import LastActions, SituationSummary
from store import rows
from store.databases.database import SqlStore, reads, writes
from store.tables import action_record, conversation, fact, message, meta, participant, person, profile, turn

# --------------------------------------------------------------------------------------------------
# What has been heard of each platform, and until when: where to look for what was missed.


LATEST_TURNS: Final = 5_000
"""How far back to look, whatever their age: a start must not read through years of messages."""
_HEARD: Final = "heard:"


def last_seen(connection: Connection, source: str, since: datetime, limit: int) -> list[LastSeen]:
    latest = select(turn.c.id, turn.c.source).order_by(turn.c.id.desc()).limit(LATEST_TURNS).subquery()
    asked = (
        select(message.c.conversation, message.c.channel, message.c.message_id, message.c.time)
        .join_from(latest, message, message.c.turn == latest.c.id)
        .where(latest.c.source == source, message.c.author == Author.PERSON, message.c.time >= since)
        .order_by(message.c.time.desc(), message.c.id.desc())
    )
    found: dict[str, LastSeen] = {}
    for row in connection.execute(asked):
        if len(found) >= limit:
            break
        found.setdefault(row.conversation, LastSeen(row.conversation, row.channel, row.message_id or "", row.time))
    return list(found.values())


def watermark(connection: Connection, source: str) -> datetime | None:
    kept = connection.execute(select(meta.c.value).where(meta.c.name == _HEARD + source)).scalar_one_or_none()
    return None if kept is None else datetime.fromisoformat(kept.decode())


def set_watermark(connection: Connection, source: str, time: datetime) -> None:
    connection.execute(delete(meta).where(meta.c.name == _HEARD + source))
    connection.execute(insert(meta).values(name=_HEARD + source, value=time.isoformat().encode()))


# --------------------------------------------------------------------------------------------------
# In which group places a person wrote: what may be theirs to read again where only they read.


_GROUPS: Final = f"{AudienceKind.GROUP}:%"


def groups(connection: Connection, person: str, limit: int) -> list[str]:
    """See the port Conversations."""
    found = connection.execute(_latest(), {"person": person, "most": max(limit, 0)}).scalars()
    audiences = map(audience_of, found)
    return [audience.place for audience in audiences if isinstance(audience, GroupAudience)]


@cache
def _latest() -> Select[Any]:
    """The labels of the person's threads, facts and profiles, by when something was last said there. Made once."""
    last: Select[tuple[datetime]] = (
        select(message.c.time)
        .where(message.c.conversation == participant.c.conversation)
        .order_by(message.c.turn.desc(), message.c.id.desc())
        .limit(1)
    )
    threads = (
        select(conversation.c.audience, last.scalar_subquery().label("last"))
        .join_from(participant, conversation, conversation.c.id == participant.c.conversation)
        .where(participant.c.person == bindparam("person"), conversation.c.audience.like(_GROUPS))
    )
    kept = [
        select(table.c.audience, time).where(table.c.person == bindparam("person"), table.c.audience.like(_GROUPS))
        for table, time in ((fact, fact.c.time), (profile, profile.c.updated))
    ]
    every = union_all(threads, *kept).subquery()
    return (
        select(every.c.audience)
        .group_by(every.c.audience)
        .order_by(func.max(every.c.last).desc(), every.c.audience)
        .limit(bindparam("most"))
    )


def stored_messages() -> Select[tuple[object, ...]]:
    """Messages with the name of their person, for `rows.message`."""
    return select(message, person.c.name).join_from(message, person, person.c.id == message.c.person)


# Those that each turn asks are made once: making them takes longer than running them.
_HISTORY: Final = (
    stored_messages()
    .where(message.c.conversation == bindparam("here"), message.c.turn < bindparam("before_turn"))
    .order_by(message.c.turn.desc(), message.c.id.desc())
    .limit(bindparam("most"))
)
_SUMMARY: Final = select(conversation.c.summary).where(conversation.c.id == bindparam("here"))


def history(connection: Connection, conversation: str, before_turn: int, limit: int) -> list[StoredMessage]:
    values = {"here": conversation, "before_turn": before_turn, "most": max(limit, 0)}
    return [rows.message(row) for row in connection.execute(_HISTORY, values).mappings().all()][::-1]


def summary(connection: Connection, conversation_id: str) -> tuple[SituationSummary, int]:
    """The summary, and the id of the last message that it covers."""
    stored = connection.execute(_SUMMARY, {"here": conversation_id}).scalar_one_or_none() or "{}"
    return rows.summary(stored), rows.covered(stored)


_ASKED: Final = and_(message.c.turn == turn.c.id, message.c.audience.in_(bindparam("audiences", expanding=True)))
_DRAWN: Final = {"context_messages": message, "context_facts": fact}
_LAST_ACTIONS: Final = (
    select(action_record, turn.c.context_messages, turn.c.context_facts)
    .join_from(action_record, turn, action_record.c.turn == turn.c.id)
    .where(turn.c.conversation == bindparam("here"), turn.c.person == bindparam("asker"))
    .where(turn.c.id < bindparam("before_turn"), exists().where(_ASKED))
    .order_by(turn.c.id.desc(), action_record.c.iteration.desc())
    .limit(bindparam("most"))
)


def last_actions(
    connection: Connection,
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
        "before_turn": before_turn,
        "most": limit,
    }
    found = connection.execute(_LAST_ACTIONS, values).mappings().all()[::-1]
    drawn = [{column: rows.read_ids(row[column]) for column in _DRAWN} for row in found]
    closed = {
        column: _closed(connection, table, {id_ for one in drawn for id_ in one[column]}, audiences)
        for column, table in _DRAWN.items()
    }
    usable = [at for at, one in enumerate(drawn) if not any(closed[column] & set(one[column]) for column in _DRAWN)]
    sources = {id_ for at in usable for id_ in drawn[at]["context_messages"]}
    return LastActions(tuple(rows.action_record(found[at]) for at in usable), tuple(sorted(sources)))


def _closed(connection: Connection, table: Table, ids: set[int], audiences: frozenset[str]) -> set[int]:
    """Those of these rows that may not be used for these audiences: what was drawn from them would tell of them."""
    if not ids:
        return set()
    closed = select(table.c.id).where(table.c.id.in_(ids), table.c.audience.not_in(sorted(audiences)))
    return set(connection.execute(closed).scalars())


def threads(connection: Connection, person: str, limit: int, audiences: frozenset[str] | None = None) -> list[Thread]:
    own = message.alias("own")
    told, asked = (true() if audiences is None else said.c.audience.in_(sorted(audiences)) for said in (message, own))
    question = (
        select(own.c.text)
        .where(own.c.conversation == participant.c.conversation)
        .where(own.c.person == person, own.c.author == Author.PERSON, asked)
        .order_by(own.c.turn)
        .limit(1)
        .scalar_subquery()
    )
    last = func.max(message.c.time).label("last")
    listed = (
        select(participant.c.conversation, question.label("question"), last, func.count(message.c.id).label("messages"))
        .join_from(participant, message, message.c.conversation == participant.c.conversation)
        .where(participant.c.person == person, told)
        .group_by(participant.c.conversation)
        .order_by(last.desc(), func.max(message.c.id).desc())
        .limit(max(limit, 0))
    )
    return [rows.thread(row) for row in connection.execute(listed).mappings() if row["question"] is not None]


_ELSEWHERE: Final = (
    select(participant.c.conversation)
    .where(participant.c.person == bindparam("asker"), participant.c.conversation != bindparam("here"))
    .limit(1)
)


def wrote_elsewhere(connection: Connection, person_id: str, conversation_id: str) -> bool:
    return connection.execute(_ELSEWHERE, {"asker": person_id, "here": conversation_id}).first() is not None


def latest_elsewhere(connection: Connection, person: str, conversation: str) -> str | None:
    last = select(func.max(message.c.turn)).where(message.c.conversation == participant.c.conversation)
    latest = _ELSEWHERE.order_by(last.scalar_subquery().desc())
    return connection.execute(latest, {"asker": person, "here": conversation}).scalar_one_or_none()


def participants(connection: Connection, conversation: str) -> frozenset[str] | None:
    wrote = select(participant.c.person).where(participant.c.conversation == conversation)
    return frozenset(connection.execute(wrote).scalars()) or None


def messages_of(
    connection: Connection, person: str, audiences: frozenset[str], before: int | None, limit: int
) -> list[StoredMessage]:
    told = stored_messages().where(message.c.person == person, message.c.audience.in_(sorted(audiences)))
    earlier = told if before is None else told.where(message.c.id < before)
    newest = earlier.order_by(message.c.id.desc()).limit(max(limit, 0))
    return [rows.message(row) for row in connection.execute(newest).mappings()]


def last_said(connection: Connection, conversation: str) -> datetime | None:
    latest = select(message.c.time).where(message.c.conversation == conversation)
    return connection.execute(latest.order_by(message.c.time.desc()).limit(1)).scalar_one_or_none()


def questions(connection: Connection, person: str, limit: int) -> list[str]:
    asked = select(message.c.text).where(message.c.person == person, message.c.author == Author.PERSON)
    latest = asked.order_by(message.c.id.desc()).limit(max(limit, 0))
    return list(connection.execute(latest).scalars())[::-1]


class SqlConversations(SqlStore):
    """The port Conversations on a database."""

    history = reads(history)
    threads = reads(threads)
    groups = reads(groups)
    latest_elsewhere = reads(latest_elsewhere)
    participants = reads(participants)
    questions = reads(questions)
    messages_of = reads(messages_of)
    last_said = reads(last_said)
    last_seen = reads(last_seen)
    watermark = reads(watermark)
    set_watermark = writes(set_watermark)
