"""What happens while the bot works, told to whoever measures it: the events, the port, and nobody.

Rules
  An event holds numbers, values of closed sets, and ids of ours: no words of anybody, and no names of people.
  Who tells does not know who listens, and never waits: telling neither awaits nor raises. A turn tells some dozens of
  events, and none for a piece of text.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

from agent.events import AgentEvent, Outcome
from agent.messages import ModelCall
from agent.ports import AuditedCall, Clock, Memories, Spending, ToolAudit
from agent.records import Claim, Hit, Job, Load, RecallQuery
from agent.spending import By, SpendingPeriod, Total


class TurnUnended(StrEnum):
    """How a claim of a turn is over that did not end it."""

    PUT_ASIDE = "put_aside"
    """It waits for its asker."""
    PUT_OFF = "put_off"
    """The ledger or the platform could not be asked; it is claimed again."""
    LOST = "lost"
    """Its lease: another process has it."""
    GIVEN_BACK = "given_back"
    """This process ends; others go on with it."""
    FAILED = "failed"


class Phase(StrEnum):
    """What a turn is doing, apart from asking the model and running tools. One follows the other without a gap."""

    PREPARE = "prepare"
    """Collects its tools, files and context."""
    SAVE = "save"
    """Makes its progress durable before the next effect."""
    SHOW = "show"
    """Waits until the platform shows the whole reply."""
    STORE = "store"


class WriteEnd(StrEnum):
    """How a write to a platform went."""

    DONE = "done"
    QUEUED = "queued"
    """It has a place behind others, by our own count."""
    LIMITED = "limited"
    """Too fast, by the platform's word, or by our count of it."""
    UNSENT = "unsent"
    """It is tried again."""
    FAILED = "failed"


class JobEnd(StrEnum):
    DONE = "done"
    FAILED = "failed"
    """It is tried again."""
    GIVEN_UP = "given_up"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """A claimed turn. `waited_s`: since its message was written, by the platform's clock; `resumed`: not for the first
    time.
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
class AgentTold:
    """What the agent told of a turn; `model` was asked."""

    turn: int
    event: AgentEvent
    model: str


@dataclass(frozen=True, slots=True)
class PageWritten:
    """A write of a turn's reply has returned. `kind`: find, post, edit or delete; `has_text`: with words."""

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
    """What calls of models took was stored. `work`: what they were for, such as a turn or learning."""

    work: str
    calls: Sequence[ModelCall]


@dataclass(frozen=True, slots=True)
class ToolDecided:
    """A call of a tool was written down in the audit."""

    decision: str
    effect: str


@dataclass(frozen=True, slots=True)
class Recalled:
    took_s: float


@dataclass(frozen=True, slots=True)
class JobOver:
    kind: str
    end: JobEnd
    took_s: float


@dataclass(frozen=True, slots=True)
class StoreSeen:
    """`load`: of all processes; `late_s`: by the kind of job, how long the first that is due waits."""

    load: Load
    late_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RateLimited:
    """A platform has answered that it was asked too often (429)."""

    platform: str


@dataclass(frozen=True, slots=True)
class ConnectionOpened:
    """`socket`: its number among those of the platform."""

    platform: str
    socket: int


@dataclass(frozen=True, slots=True)
class ConnectionClosed:
    platform: str
    socket: int


@dataclass(frozen=True, slots=True)
class ShardTaken:
    """This process listens to a part of a platform. `orphaned`: another did that gave no sign of life any more."""

    platform: str
    shard: int
    orphaned: bool


@dataclass(frozen=True, slots=True)
class ShardLeft:
    """This process listens there no more."""

    platform: str
    shard: int


@dataclass(frozen=True, slots=True)
class SilenceSeen:
    """For how long each platform has been silent that counts as connected, by its name."""

    silent_s: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LoopWoke:
    """The event loop's beat, so much later than it was due."""

    late_s: float


TelemetryEvent: TypeAlias = (
    TurnBegan
    | PhaseBegan
    | AgentTold
    | PageWritten
    | TurnOver
    | Charged
    | ToolDecided
    | Recalled
    | JobOver
    | StoreSeen
    | RateLimited
    | ConnectionOpened
    | ConnectionClosed
    | ShardTaken
    | ShardLeft
    | SilenceSeen
    | LoopWoke
)


class Telemetry(Protocol):
    def tell(self, event: TelemetryEvent, /) -> None: ...


class Silent:
    """Nobody listens."""

    def tell(self, event: TelemetryEvent, /) -> None: ...


SILENT: Final[Telemetry] = Silent()


@dataclass(frozen=True, slots=True)
class Several:
    """Everybody who listens is told."""

    listeners: tuple[Telemetry, ...]

    def tell(self, event: TelemetryEvent, /) -> None:
        for listener in self.listeners:
            listener.tell(event)


def to_all(listeners: Iterable[Telemetry]) -> Telemetry:
    some = tuple(listeners)
    return SILENT if not some else some[0] if len(some) == 1 else Several(some)


# Ports of the store, whose use is told.


@dataclass(frozen=True, slots=True)
class TimedMemories:
    """The port Memories."""

    memories: Memories
    clock: Clock
    telemetry: Telemetry

    async def search(self, query: RecallQuery) -> list[Hit]:
        begun = self.clock.monotonic()
        found = await self.memories.search(query)
        self.telemetry.tell(Recalled(self.clock.monotonic() - begun))
        return found

    async def index_more(self, job: Job) -> bool:
        return await self.memories.index_more(job)


@dataclass(frozen=True, slots=True)
class ToldSpending:
    """The port Spending."""

    spending: Spending
    telemetry: Telemetry

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        return await self.spending.totals(period, by, person=person)

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = "") -> None:
        await self.spending.charge(person, kind, calls, now, where)
        self.telemetry.tell(Charged(kind, calls))


@dataclass(frozen=True, slots=True)
class ToldAudit:
    """The port ToolAudit."""

    audit: ToolAudit
    telemetry: Telemetry

    async def keep(self, call: AuditedCall, claim: Claim | None = None) -> int:
        kept = await self.audit.keep(call, claim)
        if claim is not None:
            self.telemetry.tell(ToolDecided(call.decision, call.effect))
        return kept

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
