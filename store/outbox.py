"""The outbox of webhooks: the rows of the operator's file, and the events that wait for their receivers.

Rules
  An event is stored in the transaction of what happened, once for each row that wants it. Without rows nothing is
  stored.
  Events of one key get their ids in the order of their commits (`in_order`), and a job for each row and key delivers
  them in that order. A job is scheduled with the event; one that waits for its next attempt keeps its time.
  A delivery holds ids and counts. Words of a turn are read when it is sent, so what was forgotten, edited or moved to a
  narrower audience meanwhile never leaves.
  What is erased takes its waiting deliveries with it: a receiver learns what it had got before from `forgotten`.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import Index
from sqlmodel import Field

from agent.admission_terms import Whose
from agent.consents import CONSENT_TIME
from agent.feedback import FeedbackReason
from agent.handoffs import Handoff
from agent.incoming import Incoming
from agent.memory import forgetting_plans as plans
from agent.memory.audience import WIDE, AudienceKind, label
from agent.messages import Json, JsonObject, Usage
from agent.outgoing import (
    CLEANUP,
    FAILED_KEPT,
    TRIED_FOR,
    Delivery,
    FailedDelivery,
    NearBudget,
    OutgoingEvent,
    Subscription,
    TurnWords,
    job_kind,
)
from agent.shown_replies import EPHEMERAL_PAGE, Answered, ReplyVerdict
from agent.stored_messages import Author
from agent.turn_records import Closing
from store.databases.database import SqlStore, StorableText, UtcDateTime, after_commit, in_order, reads, writes
from store.job_queue import due_topic, job
from store.json_columns import json_text
from store.json_lists import ids_in
from store.message_tables import message
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index
from store.turn_tables import RUNNING, WAITING, turn


class OutgoingWebhookRow(TableRow, table=True):
    """A row of the operator's file. `disabled`: since when its receiver wants no more events."""

    name: str = Field(sa_type=StorableText, primary_key=True)
    events: str = Field(sa_type=StorableText)
    places: str = Field(sa_type=StorableText)
    address: str = Field(sa_type=StorableText)
    disabled: datetime | None = Field(sa_type=UtcDateTime, default=None)


class OutgoingDeliveryRow(TableRow, table=True):
    """An event for one row of the file, until its receiver has it. `turn`: it falls with it. `until`: until when it
    is tried; `failed`: when it was given up.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_outgoing_delivery_key", "webhook", "key", "id"),
        partial_index("ix_outgoing_delivery_failed", "failed", where="failed IS NOT NULL"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    webhook: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    event: str = Field(sa_type=StorableText)
    time: datetime = Field(sa_type=UtcDateTime)
    data: str = Field(sa_type=StorableText)
    turn: int | None = Field(default=None, index=True)
    person: str = Field(sa_type=StorableText, index=True)
    until: datetime = Field(sa_type=UtcDateTime)
    attempts: int = 0
    reason: str = Field(sa_type=StorableText, default="")
    failed: datetime | None = Field(sa_type=UtcDateTime, default=None)


webhook: Final = metadata.tables["outgoing_webhook"]
delivery: Final = metadata.tables["outgoing_delivery"]

MAX_TURNS: Final = 500  # Ids in one event: more turns that are forgotten at once make several events
BATCH: Final = 10_000  # Ids in one statement
BUDGET_KEY: Final = "budget"
FORGOTTEN_KEY: Final = "forgotten"

# Statements are built once: building one takes longer than running it. Values are passed at execution.
_ENABLED: Final = sa.select(webhook.c.name, webhook.c.events, webhook.c.places).where(webhook.c.disabled.is_(None))
# For a statement that is executed anyway: without rows, nothing else is read.
HAS_ROWS: Final = sa.exists(_ENABLED)
_NEW: Final = sa.insert(delivery)
_EVENTS: Final = frozenset(OutgoingEvent)
_JOB_WAITS: Final = sa.select(job.c.id).where(
    job.c.kind == sa.bindparam("its_kind"), job.c.key == sa.bindparam("its_key"), job.c.state == WAITING
)
_NEW_JOB: Final = sa.insert(job)
_IS_WAITING: Final = delivery.c.failed.is_(None)


# Storing events.


def _subscriptions(connection: sa.Connection) -> list[Subscription]:
    return [
        # A process of a later version may have stored events that this one does not know.
        Subscription(row.name, _EVENTS.intersection(row.events.split()), frozenset(row.places.split()))
        for row in connection.execute(_ENABLED)
    ]


def is_wanted(connection: sa.Connection, event: OutgoingEvent) -> bool:
    """Whether any row wants this event, in whatever place."""
    return any(event in row.events for row in _subscriptions(connection))


def place_ids(source: str, channel: str, audience: str) -> frozenset[str]:
    """All ids of a place. `audience`: a label."""
    return frozenset({source, f"{source}:{channel}", audience.partition(":")[2]})


@dataclass(frozen=True, slots=True)
class _Happened:
    event: OutgoingEvent
    key: str
    data: JsonObject
    turn: int | None = None
    person: str = ""


def _add(connection: sa.Connection, rows: Sequence[Subscription], happened: _Happened, now: datetime) -> None:
    """Store an event for each of these rows, at least one."""
    in_order(connection, f"outgoing {happened.key}")
    common = {
        "key": happened.key,
        "event": happened.event,
        "time": now,
        "data": json_text(happened.data),
        "turn": happened.turn,
        "person": happened.person,
        "until": now + TRIED_FOR,
    }
    connection.execute(_NEW, [common | {"webhook": row.name} for row in rows])
    for row in rows:
        _ensure_job(connection, job_kind(row.name), happened.key, now)


def _ensure_job(connection: sa.Connection, kind: str, key: str, run_at: datetime) -> None:
    """Schedule a job, unless one of its kind and key waits."""
    if connection.execute(_JOB_WAITS, {"its_kind": kind, "its_key": key}).first() is None:
        values = {"kind": kind, "key": key, "payload": "", "run_at": run_at, "person": "", "conversation": ""}
        connection.execute(_NEW_JOB, values)
        after_commit(connection, due_topic(kind))


def turn_finished(connection: sa.Connection, number: int, asked: Incoming, closing: Closing, now: datetime) -> None:
    """Called only if there are rows (HAS_ROWS)."""
    audience = label(asked.place.audience)
    place = place_ids(asked.source, asked.channel, audience)
    rows = [row for row in _subscriptions(connection) if row.wants(OutgoingEvent.TURN_FINISHED, place)]
    if not rows:
        return
    used = sum((call.usage for call in closing.calls), Usage())
    data: JsonObject = {
        **_where(number, asked.source, asked.channel, asked.conversation, asked.person.id),
        "audience": audience.partition(":")[0],
        "kind": asked.kind.name.lower(),
        "schedule": asked.schedule,
        "outcome": closing.outcome,
        "message": asked.message_id,
        "replies": [page for page in closing.pages if not page.startswith(EPHEMERAL_PAGE)],
        "also_answers": [joined.turn for joined in closing.joined],
        "asked": asked.time.isoformat(),
        "finished": now.isoformat(),
        "model_calls": len(closing.calls),
        "input_tokens": used.input_uncached + used.input_cached + used.input_written,
        "output_tokens": used.output + used.reasoning,
        "tool_calls": sum(len(record.calls) for record in closing.actions),
    }
    happened = _Happened(OutgoingEvent.TURN_FINISHED, asked.conversation, data, number, asked.person.id)
    _add(connection, rows, happened, now)


def feedback_given(
    connection: sa.Connection,
    reply: Answered,
    person: str,
    opinion: ReplyVerdict | None,
    now: datetime,
    reason: FeedbackReason | None = None,
) -> None:
    place = place_ids(reply.source, reply.channel, reply.audience)
    rows = [row for row in _subscriptions(connection) if row.wants(OutgoingEvent.FEEDBACK_GIVEN, place)]
    if not rows:
        return
    data: JsonObject = {
        **_where(reply.turn, reply.source, reply.channel, reply.conversation, person),
        "verdict": opinion,
        "reason": reason,
    }
    _add(connection, rows, _Happened(OutgoingEvent.FEEDBACK_GIVEN, reply.conversation, data, reply.turn, person), now)


def _where(number: int, source: str, channel: str, conversation: str, person: str) -> JsonObject:
    return {"turn": number, "source": source, "channel": channel, "conversation": conversation, "person": person}


def tool_called(connection: sa.Connection, call: sa.RowMapping, now: datetime) -> None:
    """`call`: its row of the audit, which has ended. Nothing for one whose turn was forgotten."""
    rows = [row for row in _subscriptions(connection) if OutgoingEvent.TOOL_CALLED in row.events]
    if not rows or call["turn"] is None:
        return
    columns = sa.select(turn.c.source, turn.c.channel, turn.c.conversation, turn.c.person)
    asked = connection.execute(columns.where(turn.c.id == call["turn"])).one()
    place = place_ids(asked.source, asked.channel, call["audience"])
    if wanting := [row for row in rows if row.wants(OutgoingEvent.TOOL_CALLED, place)]:
        plain = ("tool", "effect", "decision", "decided_by", "outcome", "ms", "size")
        data: JsonObject = {
            **_where(call["turn"], asked.source, asked.channel, asked.conversation, asked.person),
            "call": call["id"],
            **{name: call[name] for name in plain},
        }
        happened = _Happened(OutgoingEvent.TOOL_CALLED, asked.conversation, data, call["turn"], asked.person)
        _add(connection, wanting, happened, now)


def consent_asked(
    connection: sa.Connection, number: int, asked: Incoming, tools: Collection[str], until: datetime
) -> None:
    """`tools`: those whose calls wait for a decision."""
    audience = label(asked.place.audience)
    place = place_ids(asked.source, asked.channel, audience)
    rows = [row for row in _subscriptions(connection) if row.wants(OutgoingEvent.CONSENT_ASKED, place)]
    if not rows:
        return
    data: JsonObject = {
        **_where(number, asked.source, asked.channel, asked.conversation, asked.person.id),
        "tools": [*sorted(tools)],
        "until": until.isoformat(),
    }
    happened = _Happened(OutgoingEvent.CONSENT_ASKED, asked.conversation, data, number, asked.person.id)
    _add(connection, rows, happened, until - CONSENT_TIME)


def handoff_changed(connection: sa.Connection, event: OutgoingEvent, handoff: Handoff, now: datetime) -> None:
    """Store what happened to a request for a human."""
    asked = handoff.question
    audience = label(asked.place.audience)
    place = place_ids(asked.source, asked.channel, audience)
    rows = [row for row in _subscriptions(connection) if row.wants(event, place)]
    if not rows:
        return
    data: JsonObject = {
        **_where(handoff.turn, asked.source, asked.channel, handoff.conversation, handoff.person),
        "handoff": handoff.number,
        "audience": audience.partition(":")[0],
        "state": handoff.state,
        "taker": handoff.taker or None,
        "asked": handoff.time.isoformat(),
    }
    _add(connection, rows, _Happened(event, _handoff_key(handoff.number), data, handoff.turn, handoff.person), now)


def _handoff_key(number: int) -> str:
    """The key of a request's events: they fall with any of the people whom they name."""
    return f"handoff {number}"


def budget_near(connection: sa.Connection, near: NearBudget, now: datetime) -> None:
    """Called once for each budget and day."""
    place = frozenset({near.source, f"{near.source}:{near.id}", near.id})
    rows = [row for row in _subscriptions(connection) if row.wants(OutgoingEvent.BUDGET_NEAR, place)]
    if not rows:
        return
    data: JsonObject = {
        "whose": near.whose,
        "id": near.id,
        "source": near.source,
        "percent": near.percent,
        "tokens": near.tokens,
        "token_limit": near.token_limit,
        "dollars": near.dollars,
        "dollar_limit": near.dollar_limit,
        "resets": near.resets.isoformat(),
    }
    person = near.id if near.whose is Whose.PERSON else ""
    _add(connection, rows, _Happened(OutgoingEvent.BUDGET_NEAR, BUDGET_KEY, data, person=person), now)


# Forgetting.

_SCOPES: Final[Mapping[type, str]] = {
    plans.OneThread: "thread",
    plans.Everything: "person",
    plans.During: "period",
    plans.AboutTopic: "topic",
    plans.Deleted: "messages",
    plans.OneReply: "reply",
    plans.Gone: "place",
    plans.Expired: "retention",
}
# The counts of a receipt that people know: no turns, jobs or actions.
_COUNTED: Final = ("messages", "facts", "profile", "documents", "files", "schedules")


def places_of_erased(connection: sa.Connection, audiences: Mapping[int, str]) -> Mapping[int, frozenset[str]]:
    """Return the ids of the places of these turns, of which something is about to be erased. `audiences`: labels by
    turn, "" where no message is erased. Nothing is read without rows that want to hear of it.
    """
    if not is_wanted(connection, OutgoingEvent.FORGOTTEN):
        return {}
    places = dict[int, frozenset[str]]()
    for batch in _batches(audiences):
        columns = sa.select(turn.c.id, turn.c.source, turn.c.channel).where(turn.c.id.in_(ids_in(batch)))
        for id_, source, channel in connection.execute(columns):
            places[id_] = place_ids(source, channel, audiences[id_])
    return places


def _batches(turns: Collection[int]) -> Iterator[list[int]]:
    ordered = sorted(turns)
    return (ordered[start : start + BATCH] for start in range(0, len(ordered), BATCH))


def forgotten(
    connection: sa.Connection,
    plan: plans.ForgettingPlan,
    places: Mapping[int, frozenset[str]],
    counts: Mapping[str, int],
    now: datetime,
) -> None:
    """Store what was erased: the turns that a row could know, and for rows of all places the counts. Many ids make
    several events. `places`: of these turns, from `places_of_erased`.
    """
    counted: dict[str, Json] = {name: counts[name] for name in _COUNTED if counts.get(name)}
    for row in _subscriptions(connection):
        known = sorted(id_ for id_, place in places.items() if row.wants(OutgoingEvent.FORGOTTEN, place))
        everywhere = OutgoingEvent.FORGOTTEN in row.events and not row.places
        if not (known or (everywhere and counted)):
            continue
        for number, start in enumerate(range(0, max(len(known), 1), MAX_TURNS)):
            data: dict[str, Json] = {"scope": _SCOPES[type(plan)], "turns": [*known[start : start + MAX_TURNS]]}
            if everywhere and number == 0:
                data["erased"] = counted
            _add(connection, [row], _Happened(OutgoingEvent.FORGOTTEN, FORGOTTEN_KEY, data), now)


def drop_turns(connection: sa.Connection, turns: Collection[int]) -> None:
    """Delete the deliveries about these turns."""
    for batch in _batches(turns):
        connection.execute(sa.delete(delivery).where(delivery.c.turn.in_(ids_in(batch))))


def drop_handoffs(connection: sa.Connection, numbers: Collection[int]) -> None:
    """Delete the deliveries about these requests for a human."""
    for batch in _batches(numbers):
        keys = [_handoff_key(number) for number in batch]
        connection.execute(sa.delete(delivery).where(delivery.c.key.in_(keys)))


def drop_person(connection: sa.Connection, who: str) -> None:
    """Delete the deliveries that name this person."""
    connection.execute(sa.delete(delivery).where(delivery.c.person == who))


# Delivering.


def subscribe(
    connection: sa.Connection, rows: Sequence[Subscription], now: datetime, *, alone: bool
) -> Collection[str]:
    """`alone`: no other process uses the database, so that jobs which run are those of a dead one."""
    before = {row.name: row for row in connection.execute(sa.select(webhook))}
    names = [row.name for row in rows]
    connection.execute(sa.delete(delivery).where(delivery.c.webhook.not_in(names)))
    connection.execute(sa.delete(webhook))
    disabled: dict[str, datetime] = {}
    for row in rows:
        known = before.get(row.name)
        if known is not None and known.disabled is not None and known.address == row.address:
            disabled[row.name] = known.disabled
        values = {"events": " ".join(sorted(row.events)), "places": " ".join(sorted(row.places))}
        values |= {"name": row.name, "address": row.address, "disabled": disabled.get(row.name)}
        connection.execute(sa.insert(webhook).values(values))
    if alone:
        kinds = [job_kind(name) for name in names]
        connection.execute(sa.delete(job).where(job.c.kind.in_(kinds), job.c.state == RUNNING))
    waiting = sa.select(delivery.c.webhook, delivery.c.key).where(_IS_WAITING).distinct()
    for name, key in connection.execute(waiting).all():
        _ensure_job(connection, job_kind(name), key, now)
    return disabled


def next_delivery(connection: sa.Connection, row: str, key: str) -> Delivery | None:
    of_key = delivery.c.webhook == row, delivery.c.key == key, _IS_WAITING
    enabled = sa.exists().where(webhook.c.name == row, webhook.c.disabled.is_(None))
    query = sa.select(delivery).where(*of_key, enabled).order_by(delivery.c.id).limit(1)
    found = connection.execute(query).mappings().one_or_none()
    if found is None:
        return None
    return Delivery(
        found["id"],
        row,
        key,
        found["event"],
        found["time"],
        found["until"],
        json.loads(found["data"]),
        found["turn"],
        found["attempts"],
    )


def delivered(connection: sa.Connection, id_: int) -> None:
    connection.execute(sa.delete(delivery).where(delivery.c.id == id_))


def attempted(connection: sa.Connection, id_: int, reason: str) -> None:
    counted = {"attempts": delivery.c.attempts + 1, "reason": reason}
    connection.execute(sa.update(delivery).where(delivery.c.id == id_).values(counted))


def give_up(connection: sa.Connection, id_: int, reason: str, now: datetime) -> None:
    attempted(connection, id_, reason)
    connection.execute(sa.update(delivery).where(delivery.c.id == id_).values(failed=now))
    _ensure_job(connection, CLEANUP, "", now + FAILED_KEPT)


def disable(connection: sa.Connection, row: str, reason: str, now: datetime) -> None:
    connection.execute(sa.update(webhook).where(webhook.c.name == row).values(disabled=now))
    waiting = sa.update(delivery).where(delivery.c.webhook == row, _IS_WAITING)
    connection.execute(waiting.values(failed=now, reason=reason))
    _ensure_job(connection, CLEANUP, "", now + FAILED_KEPT)


def failed(connection: sa.Connection, limit: int) -> list[FailedDelivery]:
    newest = sa.select(delivery).where(~_IS_WAITING).order_by(delivery.c.failed.desc(), delivery.c.id.desc())
    return [
        FailedDelivery(row.id, row.webhook, row.event, row.time, row.failed, row.attempts, row.reason)
        for row in connection.execute(newest.limit(limit))
    ]


def disabled(connection: sa.Connection) -> dict[str, datetime]:
    rows = sa.select(webhook.c.name, webhook.c.disabled).where(webhook.c.disabled.is_not(None))
    return {row.name: row.disabled for row in connection.execute(rows)}


def retry(connection: sa.Connection, row: str, id_: int | None, now: datetime) -> int:
    chosen = sa.and_(delivery.c.webhook == row, ~_IS_WAITING, sa.true() if id_ is None else delivery.c.id == id_)
    keys = connection.execute(sa.select(delivery.c.key).where(chosen).distinct()).scalars().all()
    again = sa.update(delivery).where(chosen).values(failed=None, attempts=0, until=now + TRIED_FOR)
    count = connection.execute(again).rowcount
    connection.execute(sa.update(webhook).where(webhook.c.name == row).values(disabled=None))
    for key in keys:
        _ensure_job(connection, job_kind(row), key, now)
    return count


def delete_old(connection: sa.Connection, now: datetime) -> None:
    connection.execute(sa.delete(delivery).where(delivery.c.failed <= now - FAILED_KEPT))
    first = connection.execute(sa.select(sa.func.min(delivery.c.failed))).scalar_one()
    if first is not None:
        _ensure_job(connection, CLEANUP, "", first + FAILED_KEPT)


def words(connection: sa.Connection, number: int) -> TurnWords | None:
    of_turn = sa.select(message.c.author, message.c.text, message.c.audience, message.c.drawn_from)
    found = connection.execute(of_turn.where(message.c.turn == number).order_by(message.c.id)).all()
    is_public = all(row.audience.startswith(f"{AudienceKind.TEAM}:") and row.drawn_from == WIDE for row in found)
    by_author = {author: [row.text for row in found if row.author == author] for author in Author}
    if not is_public or not by_author[Author.PERSON]:
        return None
    return TurnWords(*("\n\n".join(by_author[author]) for author in (Author.PERSON, Author.BOT)))


class SqlOutbox(SqlStore):
    next = reads(next_delivery)
    delivered = writes(delivered)
    attempted = writes(attempted)
    give_up = writes(give_up)
    disable = writes(disable)
    failed = reads(failed)
    disabled = reads(disabled)
    retry = writes(retry)
    delete_old = writes(delete_old)
    words = reads(words)

    async def subscribe(self, rows: Sequence[Subscription], now: datetime) -> Collection[str]:
        return await self.database.write(subscribe, rows, now, alone=not self.database.is_shared)
