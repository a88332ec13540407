"""Events of incoming webhooks: stored before they are acknowledged, and begun as turns of the ledger, once.

Rules
  A row is unique by its webhook and the id of its delivery, so that a duplicate is none even after the event is done.
  Rows are deleted some weeks later.
  The process that finds an event due holds it for LEASE: its `run_at` is moved forward. The turn of an event and its
  next state are written together, and only if the state is still the one that was read: a kill, or a second process
  after the lease, leaves one turn.
  The text of an event is in its row only until its last turn has begun; then it is the turn's.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field

from agent.ports.webhooks import ArrivedEvent, EventAdded, EventState, NewEventTurn, NewWebhookEvent, WebhookEvent
from agent.turn_kinds import TurnKind
from agent.turn_records import Accepted
from store.databases.database import (
    Database,
    LocalNotifier,
    SqlStore,
    StorableText,
    UtcDateTime,
    in_order,
    reads,
    reads_one,
    writes,
)
from store.erased_ids import ErasedIds
from store.json_columns import read_pages
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index
from store.search import index
from store.search.text import IndexedText
from store.turn_tables import RUNNING, WAITING, turn
from store.turns.written import accept_written

LEASE: Final = timedelta(seconds=30)  # Longer than a platform's call takes; a kill delays an event by that long
CHANGED: Final = "webhooks"  # The topic of notifications to all processes


class WebhookEventRow(TableRow, table=True):
    """An event. `delivery`: a digest of what identifies its delivery, `key`: one of what it is about. `run_at`: when it
    is examined next, None once it is done. `source`: of its turn, "" before that has begun.
    """

    __table_args__: ClassVar[Any] = (
        UniqueConstraint("hook", "delivery", name="uq_webhook_event_hook_delivery"),
        Index("ix_webhook_event_key", "hook", "key", "id"),
        Index("ix_webhook_event_received", "received"),
        partial_index("ix_webhook_event_run_at", "run_at", where="run_at IS NOT NULL"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    hook: str = Field(sa_type=StorableText)
    delivery: str = Field(sa_type=StorableText)
    text: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    closes: bool
    received: datetime = Field(sa_type=UtcDateTime)
    state: str = Field(sa_type=StorableText)
    run_at: datetime | None = Field(sa_type=UtcDateTime, default=None)
    source: str = Field(sa_type=StorableText, default="")
    thread: str = Field(sa_type=StorableText, default="")


webhook_event: Final = metadata.tables["webhook_event"]

_ROW: Final = webhook_event.c
_OPEN_TURN: Final = turn.c.state.in_((WAITING, RUNNING))


def add(connection: sa.Connection, arrived: Sequence[ArrivedEvent], limit: int) -> list[EventAdded]:
    for hook in sorted({each.event.hook for each in arrived}):  # always in the same order: no deadlock
        in_order(connection, f"webhook {hook}")
    return [_add(connection, each.event, each.received, each.run_at, limit) for each in arrived]


def _add(connection: sa.Connection, new: NewWebhookEvent, now: datetime, run_at: datetime, limit: int) -> EventAdded:
    of_hook = _ROW.hook == new.hook
    if _is_known(connection, new.hook, new.ids):
        return EventAdded.DUPLICATE
    waiting = sa.select(sa.func.count()).select_from(webhook_event).where(of_hook, _ROW.run_at.is_not(None))
    if connection.execute(waiting).scalar_one() >= limit:
        return EventAdded.FULL
    values = {"hook": new.hook, "delivery": new.ids[0], "text": new.text, "key": new.key, "closes": new.closes}
    row = sa.insert(webhook_event).values(**values, received=now, run_at=run_at, state=EventState.RECEIVED)
    connection.execute(row)
    return EventAdded.STORED


def add_ignored(connection: sa.Connection, hook: str, ids: tuple[str, ...], now: datetime) -> EventAdded:
    in_order(connection, f"webhook {hook}")
    if _is_known(connection, hook, ids):
        return EventAdded.DUPLICATE
    values = {"hook": hook, "delivery": ids[0], "text": "", "key": "", "closes": False}
    connection.execute(sa.insert(webhook_event).values(**values, received=now, state=EventState.IGNORED))
    return EventAdded.STORED


def _is_known(connection: sa.Connection, hook: str, ids: tuple[str, ...]) -> bool:
    known = sa.select(_ROW.id).where(_ROW.hook == hook, _ROW.delivery.in_(ids)).limit(1)
    return connection.execute(known).first() is not None


def due(
    connection: sa.Connection, hooks: frozenset[str], state: EventState, now: datetime, limit: int
) -> list[WebhookEvent]:
    # The first of each webhook come before all second ones: a flood of one does not delay the others.
    place = sa.func.row_number().over(partition_by=_ROW.hook, order_by=(_ROW.run_at, _ROW.id))
    waiting = _ROW.run_at <= now, _ROW.state == state, _ROW.hook.in_(sorted(hooks))
    ordered = sa.select(_ROW.id, place.label("place")).where(*waiting).subquery("ordered")
    first = sa.select(ordered.c.id).order_by(ordered.c.place, ordered.c.id).limit(limit)
    found = sa.select(webhook_event).where(_ROW.id.in_(first), *waiting).with_for_update(skip_locked=True)
    events = sorted((_event(row) for row in connection.execute(found).mappings()), key=lambda event: event.id)
    if events:
        held = sa.update(webhook_event).where(_ROW.id.in_([event.id for event in events]))
        connection.execute(held.values(run_at=now + LEASE))
    return events


def thread_of(connection: sa.Connection, event: WebhookEvent) -> str | None:
    if not event.key:
        return ""
    earlier = _ROW.hook == event.hook, _ROW.key == event.key, _ROW.id < event.id, _ROW.state != EventState.DROPPED
    before = sa.select(webhook_event).where(*earlier).order_by(_ROW.id.desc()).limit(1)
    row = connection.execute(before).mappings().one_or_none()
    if row is None or row["closes"]:
        # One that closes a thread and has not been posted does not delay the next one, which begins another.
        return ""
    if row["state"] == EventState.RECEIVED:
        return None
    return row["thread"] or page_of(connection, _event(row))


def page_of(connection: sa.Connection, event: WebhookEvent) -> str | None:
    """By the id of its event: a question that arrives late takes the number of a turn behind it."""
    same = turn.c.source == event.source, turn.c.event_id == event.name
    found = connection.execute(sa.select(turn.c.state, turn.c.pages).where(*same)).one_or_none()
    if found is None:
        return ""
    return None if found.state in {WAITING, RUNNING} else next(iter(read_pages(found.pages)), "")


def open_turns(connection: sa.Connection, kind: TurnKind, person: str = "") -> int:
    of_person = turn.c.person == person if person else sa.true()
    counted = sa.select(sa.func.count()).select_from(turn).where(_OPEN_TURN, turn.c.kind == kind, of_person)
    return connection.execute(counted).scalar_one()


def begin(
    connection: sa.Connection,
    event: WebhookEvent,
    new: NewEventTurn,
    indexed: IndexedText,
    erased_ids: ErasedIds,
    now: datetime,
) -> Accepted | None:
    unchanged = _ROW.id == event.id, _ROW.state == event.state
    if connection.execute(sa.select(_ROW.id).where(*unchanged).with_for_update()).first() is None:
        return None
    incoming = new.incoming
    accepted = accept_written(connection, incoming, new.reply, indexed, erased_ids)
    values: dict[str, object] = {"state": new.state}
    if new.state is EventState.DONE:
        values |= {"text": "", "run_at": None}
    else:
        values |= {"run_at": now}
    if event.state is EventState.RECEIVED:
        values |= {"source": incoming.source, "thread": new.thread}
    connection.execute(sa.update(webhook_event).where(_ROW.id == event.id).values(**values))
    return accepted


def end(connection: sa.Connection, event: WebhookEvent, state: EventState) -> None:
    ended = sa.update(webhook_event).where(_ROW.id == event.id).values(state=state, text="", run_at=None)
    connection.execute(ended)


def put_off(connection: sa.Connection, event: WebhookEvent, until: datetime) -> None:
    unchanged = _ROW.id == event.id, _ROW.state == event.state
    connection.execute(sa.update(webhook_event).where(*unchanged).values(run_at=until))


def first_due(connection: sa.Connection, hooks: frozenset[str]) -> datetime | None:
    waiting = sa.select(sa.func.min(_ROW.run_at)).where(_ROW.run_at.is_not(None), _ROW.hook.in_(sorted(hooks)))
    return connection.execute(waiting).scalar_one_or_none()


def prune(connection: sa.Connection, before: datetime, waiting_before: datetime, most_ignored: int) -> int:
    connection.execute(sa.delete(webhook_event).where(_ROW.received < before))
    ignored = _ROW.state == EventState.IGNORED
    for hook in connection.execute(sa.select(_ROW.hook).where(ignored).distinct()).scalars().all():
        # All of them have the key "", which the index has in order.
        of_hook = _ROW.hook == hook, _ROW.key == "", ignored
        beyond = sa.select(_ROW.id).where(*of_hook).order_by(_ROW.id.desc()).offset(most_ignored).limit(1)
        if (last := connection.execute(beyond).scalar_one_or_none()) is not None:
            connection.execute(sa.delete(webhook_event).where(*of_hook, _ROW.id <= last))
    overdue = sa.update(webhook_event).where(_ROW.received < waiting_before, _ROW.run_at.is_not(None))
    return connection.execute(overdue.values(state=EventState.DROPPED, text="", run_at=None)).rowcount


def _event(row: sa.RowMapping) -> WebhookEvent:
    return WebhookEvent(
        row["id"],
        row["hook"],
        row["text"],
        row["key"],
        row["closes"],
        row["received"],
        EventState(row["state"]),
        row["source"],
        row["thread"],
    )


class SqlWebhookEvents(SqlStore):
    """The port WebhookEvents."""

    add_ignored = writes(add_ignored)
    due = writes(due)
    thread_of = reads(thread_of)
    page_of = reads(page_of)
    open_turns = reads(open_turns)
    end = writes(end)
    put_off = writes(put_off)
    first_due = reads_one(first_due)
    prune = writes(prune)

    def __init__(self, database: Database, erased_ids: ErasedIds, notifier: LocalNotifier) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids
        self._notifier = notifier

    async def add(self, arrived: Sequence[ArrivedEvent], limit: int) -> list[EventAdded]:
        added = await self.database.write(add, arrived, limit)
        if EventAdded.STORED in added:
            self._notifier.publish(CHANGED)
        return added

    async def begin(self, event: WebhookEvent, turn: NewEventTurn, now: datetime) -> Accepted | None:
        indexed = await index.indexed(self.database, turn.incoming.text)
        return await self.database.write(begin, event, turn, indexed, self._erased_ids, now)

    def on_change(self, listener: Callable[[], None]) -> None:
        self._notifier.listen(CHANGED, listener)
