"""What the operators' page shows of this process's last hour, without another program such as Prometheus.

Rule: these statistics are written and read on the event loop. They hold numbers, times, and names of platforms, models
and kinds of work: never who asked, nor what. Each collection has a size limit.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, assert_never

from agent.events import CallFinished, ModelAnswered, Outcome
from agent.messages import ResultStatus
from agent.ports.clock import Clock
from agent.turn_records import Load
from bot.chat.telemetry import (
    AgentReported,
    BudgetSeen,
    Charged,
    ConnectionClosed,
    ConnectionOpened,
    HookUsed,
    JobEnd,
    JobOver,
    LoopWoke,
    PageWritten,
    PhaseBegan,
    RateLimited,
    Recalled,
    RequestEnd,
    RequestHandled,
    ShardLeft,
    ShardTaken,
    SilenceSeen,
    StoreSeen,
    TelemetryEvent,
    ToolDecided,
    TurnBegan,
    TurnOver,
    TurnUnended,
    WebhookSent,
    WriteEnd,
)

HOUR: Final = timedelta(hours=1)
MAX_TURNS: Final = 5_000  # Of the last hour: more than a process answers in that time
MAX_ENDPOINTS: Final = 100  # Operators name them; of more, the one seen longest ago is dropped
MAX_FAILURES: Final = 100  # Pairs of kind and place; the one seen longest ago is dropped
ACCEPTED: Final = frozenset({RequestEnd.ACCEPTED, RequestEnd.REPEATED})
GOOD: Final = frozenset({Outcome.ANSWERED, Outcome.STOPPED, TurnUnended.PUT_ASIDE, TurnUnended.GIVEN_BACK})


class FailureKind(StrEnum):
    """The kinds of failures; `bot.operators.texts` has the remedy of each."""

    MODEL_UNAVAILABLE = "ProviderUnavailable"
    MODEL_SILENT = "ProviderSilent"
    MODEL_REFUSED = "ProviderRefused"
    MODEL_BROKE_OFF = "StreamBroken"
    MODEL_OTHER = "model"
    TURN_REFUSED = "refused"
    TURN_CUT = "cut"
    TURN_EXHAUSTED = "exhausted"
    TURN_FAILED = "failed"
    TURN_PUT_OFF = "put off"
    TURN_LOST = "lost"
    WRITE_FAILED = "write"
    LIMITED = "limited"
    TOOL_FAILED = "tool"
    JOB_FAILED = "job"
    JOB_GIVEN_UP = "job given up"


_MODEL: Final = {kind.value: kind for kind in FailureKind}
_TURN: Final[Mapping[Outcome | TurnUnended, FailureKind]] = {
    Outcome.REFUSED: FailureKind.TURN_REFUSED,
    Outcome.CUT: FailureKind.TURN_CUT,
    Outcome.EXHAUSTED: FailureKind.TURN_EXHAUSTED,
    TurnUnended.FAILED: FailureKind.TURN_FAILED,
    TurnUnended.PUT_OFF: FailureKind.TURN_PUT_OFF,
    TurnUnended.LOST: FailureKind.TURN_LOST,
}


@dataclass(frozen=True, slots=True)
class FailureSeen:
    """A kind of failure at a place. `where`: the model, platform, tool or kind of work; `count`: since the process
    started.
    """

    kind: FailureKind
    where: str
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class EndpointSeen:
    """The requests of other programs to one endpoint, since the process started. `ends`: how many ended in which way;
    `last`: when the last one did.
    """

    name: str
    ends: Mapping[RequestEnd, int]
    last: datetime

    @property
    def accepted(self) -> int:
        return sum(self.ends.get(end, 0) for end in ACCEPTED)


@dataclass(frozen=True, slots=True)
class SocketsSeen:
    """The open sockets of a platform. `oldest`: since when the oldest is open; `silent_s`: seconds since the last
    event, None if unknown.
    """

    platform: str
    count: int
    oldest: datetime | None
    silent_s: float | None


@dataclass(frozen=True, slots=True)
class HourSeen:
    """The last hour. `turns`: the turns that ended in each minute, oldest first; `failed`: turns without a good end;
    `first_text_s`: seconds until the first text of each reply, sorted.
    """

    turns: Sequence[int]
    failed: int
    first_text_s: Sequence[float]

    @property
    def ended(self) -> int:
        return sum(self.turns)

    def quantile(self, share: float) -> float | None:
        """Return the time within which this share of first texts appeared; None without any."""
        times = self.first_text_s
        return times[min(len(times) - 1, int(share * len(times)))] if times else None


@dataclass(slots=True)
class _RunningTurn:
    platform: str
    at: float
    waited_s: float
    shown: bool


@dataclass(slots=True, eq=False)
class Recent:
    """Collects statistics of the last hour. Implements `bot.chat.telemetry.Telemetry`. `since`: when it was created."""

    clock: Clock
    since: datetime = field(init=False)
    load: Load | None = field(init=False, default=None)
    """The latest known load of all processes."""
    late_s: Mapping[str, float] = field(init=False, default_factory=dict[str, float])
    _running: dict[int, _RunningTurn] = field(init=False, default_factory=dict[int, _RunningTurn])
    _ended: deque[tuple[datetime, bool]] = field(
        init=False, default_factory=lambda: deque[tuple[datetime, bool]](maxlen=MAX_TURNS)
    )
    _first_texts: deque[tuple[datetime, float]] = field(
        init=False, default_factory=lambda: deque[tuple[datetime, float]](maxlen=MAX_TURNS)
    )
    _loop_delays: deque[tuple[datetime, float]] = field(
        init=False, default_factory=lambda: deque[tuple[datetime, float]](maxlen=300)
    )
    _failures: dict[tuple[FailureKind, str], FailureSeen] = field(
        init=False, default_factory=dict[tuple[FailureKind, str], FailureSeen]
    )
    _endpoints: dict[str, EndpointSeen] = field(init=False, default_factory=dict[str, EndpointSeen])
    _sockets: dict[tuple[str, int], datetime] = field(init=False, default_factory=dict[tuple[str, int], datetime])
    _silent_s: Mapping[str, float] = field(init=False, default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.since = self.clock.now()

    def record(self, event: TelemetryEvent, /) -> None:
        match event:
            case TurnBegan(turn, platform, _, waited_s, resumed):
                self._running[turn] = _RunningTurn(platform, self.clock.monotonic(), waited_s, resumed)
            case PageWritten():
                self._page_written(event)
            case TurnOver(turn, end):
                self._turn_over(turn, end)
            case AgentReported(_, ModelAnswered(model, _, failure)) if failure:
                self._add_failure(_MODEL.get(failure, FailureKind.MODEL_OTHER), model)
            case AgentReported(_, CallFinished(_, result)) if result.status is not ResultStatus.SUCCESS:
                self._add_failure(FailureKind.TOOL_FAILED, result.name)
            case RateLimited(platform):
                self._add_failure(FailureKind.LIMITED, platform)
            case RequestHandled(endpoint, end):
                self._request_handled(endpoint, end)
            case JobOver(kind, JobEnd.FAILED):
                self._add_failure(FailureKind.JOB_FAILED, kind)
            case JobOver(kind, JobEnd.GIVEN_UP):
                self._add_failure(FailureKind.JOB_GIVEN_UP, kind)
            case StoreSeen(load, late_s):
                self.load, self.late_s = load, late_s
            case ConnectionOpened() | ConnectionClosed():
                self._connection_changed(event)
            case SilenceSeen(silent_s):
                self._silent_s = silent_s
            case LoopWoke(late_s):
                self._loop_delays.append((self.clock.now(), late_s))
            case AgentReported() | JobOver() | PhaseBegan() | Charged() | ToolDecided() | Recalled():
                pass
            # The page reads the shards of all processes from the database.
            case ShardTaken() | ShardLeft() | HookUsed() | WebhookSent() | BudgetSeen():
                pass
            case _:
                assert_never(event)

    def _connection_changed(self, event: ConnectionOpened | ConnectionClosed) -> None:
        match event:
            case ConnectionOpened(platform, socket):
                self._sockets[platform, socket] = self.clock.now()
            case ConnectionClosed(platform, socket):
                self._sockets.pop((platform, socket), None)

    def _page_written(self, event: PageWritten) -> None:
        if (running := self._running.get(event.turn)) is None:
            return
        if event.end is WriteEnd.FAILED:
            self._add_failure(FailureKind.WRITE_FAILED, running.platform)
        if event.has_text and event.end is WriteEnd.DONE and not running.shown:
            running.shown = True
            self._first_texts.append((self.clock.now(), running.waited_s + self.clock.monotonic() - running.at))

    def _turn_over(self, turn: int, end: Outcome | TurnUnended) -> None:
        if (running := self._running.pop(turn, None)) is None:
            return
        if end in _TURN:
            self._add_failure(_TURN[end], running.platform)
        if end not in {TurnUnended.PUT_ASIDE, TurnUnended.GIVEN_BACK, TurnUnended.PUT_OFF}:
            self._ended.append((self.clock.now(), end in GOOD))

    def _add_failure(self, kind: FailureKind, where: str) -> None:
        now = self.clock.now()
        seen = self._failures.pop((kind, where), FailureSeen(kind, where, 0, now, now))
        self._failures[kind, where] = replace(seen, count=seen.count + 1, last=now)
        if len(self._failures) > MAX_FAILURES:
            del self._failures[next(iter(self._failures))]

    def _request_handled(self, endpoint: str, end: RequestEnd) -> None:
        now = self.clock.now()
        seen = self._endpoints.pop(endpoint, EndpointSeen(endpoint, {}, now))
        self._endpoints[endpoint] = replace(seen, ends={**seen.ends, end: seen.ends.get(end, 0) + 1}, last=now)
        if len(self._endpoints) > MAX_ENDPOINTS:
            del self._endpoints[next(iter(self._endpoints))]

    def endpoints(self) -> list[EndpointSeen]:
        """Return the endpoints that other programs have called, by name."""
        return sorted(self._endpoints.values(), key=lambda seen: seen.name)

    def hour(self) -> HourSeen:
        now = self.clock.now()
        ended = [(int((now - at).total_seconds() // 60), is_good) for at, is_good in self._ended if now - at < HOUR]
        turns = [0] * 60
        for minute, _ in ended:
            turns[59 - max(0, minute)] += 1
        first_text_s = sorted(seconds for at, seconds in self._first_texts if now - at < HOUR)
        return HourSeen(turns, sum(not is_good for _, is_good in ended), first_text_s)

    def failures(self) -> list[FailureSeen]:
        """Return the failures since the process started, the newest first."""
        return [*self._failures.values()][::-1]

    def latest_beat_s(self, within: timedelta) -> float:
        """Return the largest delay of the event loop within this time."""
        now = self.clock.now()
        return max((late_s for at, late_s in self._loop_delays if now - at <= within), default=0.0)

    def sockets(self) -> list[SocketsSeen]:
        """Return the sockets of each platform that has one, or counts as connected."""
        seen = list[SocketsSeen]()
        for platform in sorted({*self._silent_s, *(name for name, _ in self._sockets)}):
            since = [at for (name, _), at in self._sockets.items() if name == platform]
            seen.append(SocketsSeen(platform, len(since), min(since, default=None), self._silent_s.get(platform)))
        return seen
