"""Events of incoming webhooks: where they are posted, and how they are stored until then."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent.incoming import Incoming
from agent.schedules.definitions import NotAllowed
from agent.turn_kinds import TurnKind
from agent.turn_records import Accepted


@dataclass(frozen=True, slots=True)
class EventTarget:
    """Where a text about an event goes.

    `name`: of its turn's event and message, "hook:7". `hook`: the name of the webhook. `channel`: the platform's own
    id. `page`: the page of the message in whose thread it goes, "" for the channel itself. `title`: of a thread that
    has to be started. `mention`: the platform's ids of those who are notified.
    """

    name: str
    hook: str
    channel: str
    page: str = ""
    title: str = ""
    mention: tuple[str, ...] = ()


class EventPlatform(Protocol):
    """A platform's view of the places of events."""

    async def event(self, target: EventTarget) -> Incoming | NotAllowed:
        """Return the event as a message of nobody, with its current readers and without a text. Raises CogencyError if
        that cannot be determined now; the caller tries again.
        """
        ...


class EventState(StrEnum):
    """The values are stored."""

    RECEIVED = "received"
    POSTED = "posted"
    """The turn that posts it has begun, and a question about it is to follow."""
    DONE = "done"
    DROPPED = "dropped"
    IGNORED = "ignored"
    """Nothing follows from it. Its row knows a delivery that is sent again."""


class EventAdded(StrEnum):
    STORED = "stored"
    DUPLICATE = "duplicate"
    FULL = "full"
    """Too many events of the webhook wait."""


@dataclass(frozen=True, slots=True)
class NewWebhookEvent:
    """`ids`: the names of the delivery, the first of which is stored; it is a duplicate if any of them is known. `key`:
    what it is about, "" if it joins no thread. `closes`: later events of this key begin a new thread.
    """

    hook: str
    ids: tuple[str, ...]
    text: str
    key: str = ""
    closes: bool = False


@dataclass(frozen=True, slots=True)
class ArrivedEvent:
    """`run_at`: from when on it is posted."""

    event: NewWebhookEvent
    received: datetime
    run_at: datetime


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A stored event. `id`: of its row. `text`: "" once it is done. `source`: where it was posted, "" if it was not.
    `thread`: the page in whose thread.
    """

    id: int
    hook: str
    text: str
    key: str
    closes: bool
    received: datetime
    state: EventState
    source: str = ""
    thread: str = ""

    @property
    def name(self) -> str:
        return f"hook:{self.id}"


@dataclass(frozen=True, slots=True)
class NewEventTurn:
    """A turn to begin for an event. `reply`: its text, None if a model is asked. `thread`: see `WebhookEvent`."""

    incoming: Incoming
    state: EventState
    reply: str | None = None
    thread: str = ""


class WebhookEvents(Protocol):
    """The stored events. Raises StoreError."""

    async def add(self, arrived: Sequence[ArrivedEvent], limit: int) -> list[EventAdded]:
        """Store events in one transaction, in this order, each to be posted once; none while `limit` events of its
        webhook wait. Returns what became of each.
        """
        ...

    async def add_ignored(self, hook: str, ids: tuple[str, ...], now: datetime) -> EventAdded:
        """Store the ids of a delivery from which nothing follows, so that it is a duplicate when it is sent again."""
        ...

    async def due(self, hooks: frozenset[str], state: EventState, now: datetime, limit: int) -> list[WebhookEvent]:
        """Hold due events of these webhooks in this state for some seconds; no other process gets them. The webhooks
        take turns; their events are in order of arrival.
        """
        ...

    async def thread_of(self, event: WebhookEvent) -> str | None:
        """Return the page in whose thread the event belongs, "" for none; None while that is not known yet."""
        ...

    async def page_of(self, event: WebhookEvent) -> str | None:
        """Return the page with which the event was posted, "" if it was not shown; None while it is being posted."""
        ...

    async def open_turns(self, kind: TurnKind, person: str = "") -> int:
        """Return how many turns of this kind wait or run, in all processes; with `person`, those of this person."""
        ...

    async def begin(self, event: WebhookEvent, turn: NewEventTurn, now: datetime) -> Accepted | None:
        """Begin a turn, and set the event's state, in one transaction. None if another process did."""
        ...

    async def end(self, event: WebhookEvent, state: EventState) -> None:
        """Set the last state of an event, and erase its text."""
        ...

    async def put_off(self, event: WebhookEvent, until: datetime) -> None:
        """Examine the event again then."""
        ...

    async def first_due(self, hooks: frozenset[str]) -> datetime | None:
        """Return when the next event of these webhooks is due; None if none waits."""
        ...

    async def prune(self, before: datetime, waiting_before: datetime, most_ignored: int) -> int:
        """Delete what was received before, and all ignored deliveries of a webhook but the last ones; drop what was
        received before the second time and still waits. Return how many events were dropped.
        """
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a process may have stored an event. Calls may be lost or superfluous."""
        ...
