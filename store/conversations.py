"""The messages of conversations, and a person's conversations."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from agent.handoffs import HandoffState
from agent.incoming import Incoming
from agent.memory.attribution import FILES_NOTE
from agent.memory.audience import WIDE, AudienceKind, GroupAudience, audience_of
from agent.schedules.ids import occurrence_id
from agent.stored_messages import AttachedMessage, Author, StoredMessage, Thread
from store import row_mapping
from store.databases.database import SqlStore, UtcDateTime, reads, reads_few, reads_one, writes
from store.handoff_tables import handoff
from store.memory_tables import fact, profile
from store.message_tables import conversation, message, participant, person
from store.schedule_table import schedule
from store.turn_tables import turn
from store.watermarks import last_seen, set_watermark, watermark

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


def stored_messages() -> sa.Select[tuple[object, ...]]:
    """Messages with the name of their person, in the form that `row_mapping.message` reads."""
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
_LATELY: Final = sa.and_(
    schedule.c.person == sa.bindparam("asker"), schedule.c.last >= sa.bindparam("since", type_=UtcDateTime)
)
HAS_REMINDED: Final = sa.exists().where(_LATELY)
"""Whether schedules of a question's asker posted lately. Its parameters: `reminded_values`."""
_DONE_LATELY: Final = (
    sa.select(schedule.c.id, schedule.c.last).where(_LATELY).order_by(schedule.c.last.desc()).limit(REMINDED)
)


def history(connection: sa.Connection, conversation: str, before_turn: int, limit: int) -> list[StoredMessage]:
    values = {"here": conversation, "before_turn": before_turn, "most": max(limit, 0)}
    return [row_mapping.message(row) for row in connection.execute(_HISTORY, values).mappings().all()][::-1]


@cache
def _newest_of(conversations: int) -> sa.CompoundSelect[tuple[object, ...]]:
    """The newest messages of so many conversations. A window function would read them whole."""
    newest = (
        stored_messages()
        .where(message.c.conversation == sa.bindparam(f"there{number}"))
        .order_by(message.c.turn.desc(), message.c.id.desc())
        .limit(sa.bindparam("most"))
        .subquery()
        for number in range(conversations)
    )
    return sa.union_all(*map(sa.select, newest)).order_by(sa.text("turn"), sa.text("id"))


def newest_of(connection: sa.Connection, conversations: Sequence[str], limit: int) -> dict[str, list[StoredMessage]]:
    found: dict[str, list[StoredMessage]] = {conversation: [] for conversation in conversations}
    values = {f"there{number}": conversation for number, conversation in enumerate(found)} | {"most": max(limit, 0)}
    for row in connection.execute(_newest_of(len(found)), values).mappings() if found else ():
        found[row["conversation"]].append(row_mapping.message(row))
    return found


def reminded_values(incoming: Incoming) -> dict[str, object]:
    return {"asker": incoming.person.id, "since": incoming.time - REMINDED_FOR}


def reminded(
    connection: sa.Connection, incoming: Incoming, audiences: frozenset[str]
) -> list[tuple[int, StoredMessage]]:
    """The messages that the asker's schedules recently posted in this channel, with the schedules' ids; newest last."""
    found: list[tuple[int, StoredMessage]] = []
    for id_, last in connection.execute(_DONE_LATELY, reminded_values(incoming)).all():
        posted = (
            stored_messages()
            .join(turn, turn.c.id == message.c.turn)
            .where(turn.c.source == incoming.source, turn.c.event_id == occurrence_id(id_, last))
            .where(message.c.author == Author.BOT, message.c.channel == incoming.channel)
            .where(message.c.audience.in_(sorted(audiences)), message.c.conversation != incoming.conversation)
        )
        found += [(id_, row_mapping.message(row)) for row in connection.execute(posted).mappings()]
    return found[::-1]


def threads(
    connection: sa.Connection, person: str, limit: int, audiences: frozenset[str] | None = None
) -> list[Thread]:
    own = message.alias("own")
    readable, own_readable = (
        sa.true() if audiences is None else table.c.audience.in_(sorted(audiences)) for table in (message, own)
    )
    question, retold = (
        sa.select(column)
        .where(own.c.conversation == participant.c.conversation)
        .where(own.c.person == person, own.c.author == Author.PERSON, own_readable)
        .order_by(own.c.turn, own.c.id)
        .limit(1)
        .scalar_subquery()
        for column in (own.c.text, own.c.retold)
    )
    last = sa.func.max(message.c.time).label("last")
    listed = (
        sa.select(
            participant.c.conversation,
            question.label("question"),
            retold.label("retold"),
            last,
            sa.func.count(message.c.id).label("messages"),
        )
        .join_from(participant, message, message.c.conversation == participant.c.conversation)
        .where(participant.c.person == person, readable)
        .group_by(participant.c.conversation)
        .order_by(last.desc(), sa.func.max(message.c.id).desc())
        .limit(max(limit, 0))
    )
    return [row_mapping.thread(row) for row in connection.execute(listed).mappings() if row["question"] is not None]


_ELSEWHERE: Final = (
    sa.select(participant.c.conversation)
    .where(participant.c.person == sa.bindparam("asker"), participant.c.conversation != sa.bindparam("here"))
    .limit(1)
)


def latest_elsewhere(connection: sa.Connection, person: str, conversation: str) -> str | None:
    last = sa.select(sa.func.max(message.c.turn)).where(message.c.conversation == participant.c.conversation)
    latest = _ELSEWHERE.order_by(last.scalar_subquery().desc())
    return connection.execute(latest, {"asker": person, "here": conversation}).scalar_one_or_none()


# A person who has taken a conversation over takes part in it before they have written.
_PARTICIPANTS: Final = sa.union_all(
    sa.select(participant.c.person).where(participant.c.conversation == sa.bindparam("here")),
    sa.select(handoff.c.taker).where(
        handoff.c.conversation == sa.bindparam("here"), handoff.c.state == HandoffState.TAKEN
    ),
)


def participants(connection: sa.Connection, conversation: str) -> frozenset[str] | None:
    return frozenset(connection.execute(_PARTICIPANTS, {"here": conversation}).scalars()) or None


def messages_of(
    connection: sa.Connection, person: str, audiences: frozenset[str], before: int | None, limit: int
) -> list[StoredMessage]:
    usable = message.c.audience.in_(sorted(audiences)), message.c.drawn_from.in_([WIDE, *sorted(audiences)])
    messages = stored_messages().where(message.c.person == person, *usable)
    earlier = messages if before is None else messages.where(message.c.id < before)
    newest = earlier.order_by(message.c.id.desc()).limit(max(limit, 0))
    return [row_mapping.message(row) for row in connection.execute(newest).mappings()]


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
    typed = message.c.person == person, message.c.author == Author.PERSON, ~message.c.retold
    asked = sa.select(message.c.text).where(*typed)
    latest = asked.order_by(message.c.id.desc()).limit(max(limit, 0))
    return list(connection.execute(latest).scalars())[::-1]


class SqlConversations(SqlStore):
    history = reads_one(history)
    newest_of = reads_one(newest_of)
    threads = reads(threads)
    groups = reads(groups)
    latest_elsewhere = reads_one(latest_elsewhere)
    participants = reads_few(participants)
    questions = reads(questions)
    messages_of = reads(messages_of)
    attached_messages = reads(attached_messages)
    last_said = reads(last_said)
    last_seen = reads(last_seen)
    watermark = reads(watermark)
    set_watermark = writes(set_watermark)
