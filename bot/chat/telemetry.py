"""Telemetry: the events that happen while the bot works, and the port that receives them.

Rules
  An event holds numbers, values of closed sets, and our own ids: no text that people wrote, and no names of people.
  The sender does not know the receivers and never waits: `tell` neither awaits nor raises. A turn sends some dozens of
  events, and none for a piece of text.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from agent.events import AgentEvent, Outcome
from agent.hooks.values import HookUse
from agent.jobs import Job
from agent.messages import ModelCall
from agent.ports.clock import Clock
from agent.ports.memory import Memories
from agent.ports.spending import Spending
from agent.ports.tool_audit import AuditedCall, ToolAudit
from agent.recall_query import Hit, RecallQuery
from agent.spending import By, SpendingPeriod, Spent, SpentBy, Total
from agent.tool_policy import DecidedBy
from agent.turn_records import Claim, Load


class TurnUnended(StrEnum):
    """How a claim ended without ending its turn."""

    PUT_ASIDE = "put_aside"
    """The turn waits for its asker."""
    PUT_OFF = "put_off"
    """The ledger or the platform could not be reached; the turn is claimed again."""
    LOST = "lost"
    """The lease was lost: another process has the turn."""
    GIVEN_BACK = "given_back"
    """This process ends; another one takes over."""
    FAILED = "failed"


class Phase(StrEnum):
    """What a turn is doing, apart from model calls and tool calls. Phases follow each other without a gap."""

    PREPARE = "prepare"
    """Collecting its tools, files and context."""
    SAVE = "save"
    """Storing its progress before the next effect."""
    SHOW = "show"
    """Waiting until the platform shows the whole reply."""
    STORE = "store"


class WriteEnd(StrEnum):
    """How a write to a platform ended."""

    DONE = "done"
    QUEUED = "queued"
    """It waits behind other writes, by our own rate limit."""
    LIMITED = "limited"
    """It was too early, by the platform's answer or by our own rate limit."""
    UNSENT = "unsent"
    """It failed, and is tried again."""
    FAILED = "failed"


class JobEnd(StrEnum):
    DONE = "done"
    FAILED = "failed"
    """The job is tried again."""
    GIVEN_UP = "given_up"
    LOST = "lost"


class RequestEnd(StrEnum):
    """How a request of another program ended."""

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    """It was accepted before, by its id."""
    UNSIGNED = "unsigned"
    """Its signature or token is missing or wrong."""
    EXPIRED = "expired"
    """It was signed too long ago, or its token has expired or was revoked."""
    FORBIDDEN = "forbidden"
    """Who asks may not do this."""
    INVALID = "invalid"
    """Its content is not what this endpoint accepts."""
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    LIMITED = "limited"
    """There were too many, or a budget is used up."""
    UNAVAILABLE = "unavailable"
    """It could not be stored or answered now."""


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """A turn was claimed. `waited_s`: since its message was written, by the platform's clock; `resumed`: it had been
    claimed before.
    """

    turn: int
    platform: str
    conversation: str
    waited_s: float
    resumed: bool


@dataclass(frozen=True, slots=True)
class PhaseBegan:
    turn: int
    phase: Phase


@dataclass(frozen=True, slots=True)
class AgentReported:
    """The agent reported an event of a turn. `model`: the one that was asked."""

    turn: int
    event: AgentEvent
    model: str


@dataclass(frozen=True, slots=True)
class PageWritten:
    """A write of a turn's reply has returned. `kind`: find, post, edit or delete; `has_text`: the page has text."""

    turn: int
    kind: str
    end: WriteEnd
    took_s: float
    has_text: bool


@dataclass(frozen=True, slots=True)
class TurnOver:
    turn: int
    end: Outcome | TurnUnended


@dataclass(frozen=True, slots=True)
class Charged:
    """The usage of model calls was stored. `work`: their purpose, such as a turn or learning."""

    work: str
    calls: Sequence[ModelCall]


@dataclass(frozen=True, slots=True)
class ToolDecided:
    """A tool call was recorded in the audit."""

    decision: str
    effect: str


@dataclass(frozen=True, slots=True)
class HookUsed:
    """A hook of the operator was used."""

    use: HookUse


@dataclass(frozen=True, slots=True)
class Recalled:
    took_s: float


@dataclass(frozen=True, slots=True)
class JobOver:
    kind: str
    end: JobEnd
    took_s: float


class WebhookEnd(StrEnum):
    """How an attempt to deliver an outgoing webhook ended."""

    DELIVERED = "delivered"
    FAILED = "failed"
    """It is tried again."""
    GIVEN_UP = "given_up"
    DISABLED = "disabled"
    """The receiver wants no more webhooks."""


@dataclass(frozen=True, slots=True)
class WebhookSent:
    """An attempt to deliver an event to a receiver. `webhook`: its name in the operator's file."""

    webhook: str
    end: WebhookEnd


class BudgetMark(StrEnum):
    """What happened to a budget."""

    NEAR = "near"
    """People are warned that it is nearly used up."""
    WAITS = "waits"
    """A turn waits for a decision about it."""
    EXTENDED = "extended"
    DECLINED = "declined"


@dataclass(frozen=True, slots=True)
class BudgetSeen:
    """`budget`: the value of `agent.admission_terms.Whose`, or "turn" for the limit of one turn."""

    budget: str
    mark: BudgetMark


@dataclass(frozen=True, slots=True)
class StoreSeen:
    """`load`: of all processes; `late_s`: how long the first due job of each kind has been waiting."""

    load: Load
    late_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RateLimited:
    """A platform has answered that it was called too often (429)."""

    platform: str


@dataclass(frozen=True, slots=True)
class RequestHandled:
    """A request of another program was answered. `endpoint`: as the operator named it, such as "webhook grafana"; else
    "api" or "mcp".
    """

    endpoint: str
    end: RequestEnd


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """`socket`: its number among the platform's connections."""

    platform: str
    socket: int


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    platform: str
    socket: int


@dataclass(frozen=True, slots=True)
class ShardTaken:
    """This process took over a part of a platform. `orphaned`: its previous holder had stopped renewing its lease."""

    platform: str
    shard: int
    orphaned: bool


@dataclass(frozen=True, slots=True)
class ShardLeft:
    """This process gave up a part of a platform."""

    platform: str
    shard: int


@dataclass(frozen=True, slots=True)
class SilenceSeen:
    """How long each connected platform has been silent, by its name."""

    silent_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LoopWoke:
    """The event loop ran its periodic task this much too late."""

    late_s: float


TelemetryEvent: TypeAlias = (
    TurnBegan
    | PhaseBegan
    | AgentReported
    | PageWritten
    | TurnOver
    | Charged
    | ToolDecided
    | HookUsed
    | Recalled
    | JobOver
    | WebhookSent
    | BudgetSeen
    | StoreSeen
    | RateLimited
    | RequestHandled
    | ConnectionOpened
    | ConnectionClosed
    | ShardTaken
    | ShardLeft
    | SilenceSeen
    | LoopWoke
)


class Telemetry(Protocol):
    def record(self, event: TelemetryEvent, /) -> None: ...


class Silent:
    """Discards all events."""

    def record(self, event: TelemetryEvent, /) -> None: ...


SILENT: Final[Telemetry] = Silent()


@dataclass(frozen=True, slots=True)
class Several:
    """Passes each event to all listeners."""

    listeners: tuple[Telemetry, ...]

    def record(self, event: TelemetryEvent, /) -> None:
        for listener in self.listeners:
            listener.record(event)


def to_all(listeners: Iterable[Telemetry]) -> Telemetry:
    all_listeners = tuple(listeners)
    return SILENT if not all_listeners else all_listeners[0] if len(all_listeners) == 1 else Several(all_listeners)


# Ports of the store, wrapped so that their use is reported.


@dataclass(frozen=True, slots=True)
class TimedMemories:
    """Implements the port Memories."""

    memories: Memories
    clock: Clock
    telemetry: Telemetry

    async def search(self, query: RecallQuery) -> list[Hit]:
        started = self.clock.monotonic()
        hits = await self.memories.search(query)
        self.telemetry.record(Recalled(self.clock.monotonic() - started))
        return hits

    async def index_more(self, job: Job) -> bool:
        return await self.memories.index_more(job)


@dataclass(frozen=True, slots=True)
class ReportingSpending:
    """Implements the port Spending."""

    spending: Spending
    telemetry: Telemetry

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        return await self.spending.totals(period, by, person=person)

    async def spent_on(self, day: date, *whose: SpentBy) -> list[Spent]:
        return await self.spending.spent_on(day, *whose)

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = "") -> None:
        await self.spending.charge(person, kind, calls, now, where)
        self.telemetry.record(Charged(kind, calls))


@dataclass(frozen=True, slots=True)
class ReportingAudit:
    """Implements the port ToolAudit."""

    audit: ToolAudit
    telemetry: Telemetry

    async def add(self, call: AuditedCall, claim: Claim | None = None) -> int:
        id_ = await self.audit.add(call, claim)
        if claim is not None and call.decided_by != DecidedBy.HOOK:
            self.telemetry.record(ToolDecided(call.decision, call.effect))
        return id_

    async def keep_change(self, change: AuditedCall, owner: str, name: str, before: str | None, after: str) -> bool:
        return await self.audit.keep_change(change, owner, name, before, after)

    async def end(self, id_: int, ms: int, size: int, outcome: str) -> None:
        await self.audit.end(id_, ms, size, outcome)

    async def newest(self, limit: int, before: int | None = None) -> list[AuditedCall]:
        return await self.audit.newest(limit, before)

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        return await self.audit.names_of(ids)

    async def page(self, since: datetime, *, after: int, limit: int) -> list[AuditedCall]:
        return await self.audit.page(since, after=after, limit=limit)
