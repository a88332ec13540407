"""What this process has lately done, for the operators' page: as Prometheus has it, but of the last hour, and with no
other program to ask.

Rules
  It is told on the event loop and read there. It holds numbers, times, and names of platforms, models and kinds of
  work: never who asked, nor what. Of each there are so many at most, whatever happens.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, assert_never

from agent.events import CallFinished, ModelAnswered, Outcome
from agent.messages import ResultStatus
from agent.ports import Clock
from agent.records import Load
from bot.telemetry import (
    AgentTold,
    Charged,
    ConnectionClosed,
    ConnectionOpened,
    JobEnd,
    JobOver,
    LoopWoke,
    PageWritten,
    PhaseBegan,
    RateLimited,
    Recalled,
    SilenceSeen,
    StoreSeen,
    TelemetryEvent,
    ToolDecided,
    TurnBegan,
    TurnOver,
    TurnUnended,
    WriteEnd,
)

HOUR: Final = timedelta(hours=1)
MOST_TURNS: Final = 5_000
"""Of the last hour: more than one process ends in that time."""
MOST_FAILURES: Final = 100
"""Kinds of failures with where they were; the one that was met longest ago goes."""
GOOD: Final = frozenset({Outcome.ANSWERED, Outcome.STOPPED, TurnUnended.PUT_ASIDE, TurnUnended.GIVEN_BACK})


class FailureKind(StrEnum):
    """What has failed; `bot.texts.page_texts` says of each what to do."""

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
    """`where`: the model, platform, tool or kind of work; `count`: since the process began."""

    kind: FailureKind
    where: str
    count: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class SocketsSeen:
    """Of one platform: how many are open, since when the oldest; `silent_s`: nothing has come for so long, if known."""

    platform: str
    count: int
    oldest: datetime | None
    silent_s: float | None


@dataclass(frozen=True, slots=True)
class HourSeen:
    """The last hour. `turns`: how many ended in each of its minutes, the oldest first; `first_text_s`: of each reply
    that was shown, sorted; `failed`: turns that ended otherwise than they should.
    """

    turns: Sequence[int]
    failed: int
    first_text_s: Sequence[float]

    @property
    def ended(self) -> int:
        return sum(self.turns)

    def quantile(self, share: float) -> float | None:
        """So large a share of first texts came within this time; None where there is none."""
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
    """Implements `bot.telemetry.Telemetry`. `since`: when it began to listen."""

    clock: Clock
    since: datetime = field(init=False)
    load: Load | None = field(init=False, default=None)
    """Of all processes, as it was seen last."""
    late_s: Mapping[str, float] = field(init=False, default_factory=dict[str, float])
    loop_late_s: float = field(init=False, default=0.0)
    """The latest beat of the last minutes."""
    _open: dict[int, _RunningTurn] = field(init=False, default_factory=dict[int, _RunningTurn])
    _ended: deque[tuple[datetime, bool]] = field(
        init=False, default_factory=lambda: deque[tuple[datetime, bool]](maxlen=MOST_TURNS)
    )
    _first: deque[tuple[datetime, float]] = field(
        init=False, default_factory=lambda: deque[tuple[datetime, float]](maxlen=MOST_TURNS)
    )
    _late: deque[tuple[datetime, float]] = field(
        init=False, default_factory=lambda: deque[tuple[datetime, float]](maxlen=300)
    )
    _failures: dict[tuple[FailureKind, str], FailureSeen] = field(
        init=False, default_factory=dict[tuple[FailureKind, str], FailureSeen]
    )
    _sockets: dict[tuple[str, int], datetime] = field(init=False, default_factory=dict[tuple[str, int], datetime])
    _silent_s: Mapping[str, float] = field(init=False, default_factory=dict[str, float])

    def __post_init__(self) -> None:
        self.since = self.clock.now()

    def tell(self, event: TelemetryEvent, /) -> None:
        match event:
            case TurnBegan(turn, platform, _, waited_s, resumed):
                self._open[turn] = _RunningTurn(platform, self.clock.monotonic(), waited_s, resumed)
            case PageWritten():
                self._written(event)
            case TurnOver(turn, end):
                self._over(turn, end)
            case AgentTold(_, ModelAnswered(model, _, failure)) if failure:
                self._failed(_MODEL.get(failure, FailureKind.MODEL_OTHER), model)
            case AgentTold(_, CallFinished(_, result)) if result.status is not ResultStatus.SUCCESS:
                self._failed(FailureKind.TOOL_FAILED, result.name)
            case RateLimited(platform):
                self._failed(FailureKind.LIMITED, platform)
            case JobOver(kind, JobEnd.FAILED):
                self._failed(FailureKind.JOB_FAILED, kind)
            case JobOver(kind, JobEnd.GIVEN_UP):
                self._failed(FailureKind.JOB_GIVEN_UP, kind)
            case StoreSeen(load, late_s):
                self.load, self.late_s = load, late_s
            case ConnectionOpened(platform, socket):
                self._sockets[platform, socket] = self.clock.now()
            case ConnectionClosed(platform, socket):
                self._sockets.pop((platform, socket), None)
            case SilenceSeen(silent_s):
                self._silent_s = silent_s
            case LoopWoke(late_s):
                self._late.append((self.clock.now(), late_s))
            case AgentTold() | JobOver() | PhaseBegan() | Charged() | ToolDecided() | Recalled():
                pass
            case _:
                assert_never(event)

    def _written(self, event: PageWritten) -> None:
        if (begun := self._open.get(event.turn)) is None:
            return
        if event.end is WriteEnd.FAILED:
            self._failed(FailureKind.WRITE_FAILED, begun.platform)
        if event.has_text and event.end is WriteEnd.DONE and not begun.shown:
            begun.shown = True
            self._first.append((self.clock.now(), begun.waited_s + self.clock.monotonic() - begun.at))

    def _over(self, turn: int, end: Outcome | TurnUnended) -> None:
        if (begun := self._open.pop(turn, None)) is None:
            return
        if end in _TURN:
            self._failed(_TURN[end], begun.platform)
        if end not in {TurnUnended.PUT_ASIDE, TurnUnended.GIVEN_BACK, TurnUnended.PUT_OFF}:
            self._ended.append((self.clock.now(), end in GOOD))

    def _failed(self, kind: FailureKind, where: str) -> None:
        now = self.clock.now()
        known = self._failures.pop((kind, where), FailureSeen(kind, where, 0, now, now))
        self._failures[kind, where] = replace(known, count=known.count + 1, last=now)
        if len(self._failures) > MOST_FAILURES:
            del self._failures[next(iter(self._failures))]

    def hour(self) -> HourSeen:
        now = self.clock.now()
        ended = [(int((now - at).total_seconds() // 60), good) for at, good in self._ended if now - at < HOUR]
        turns = [0] * 60
        for minute, _ in ended:
            turns[59 - max(0, minute)] += 1
        first = sorted(seconds for at, seconds in self._first if now - at < HOUR)
        return HourSeen(turns, sum(not good for _, good in ended), first)

    def failures(self) -> list[FailureSeen]:
        """Since the process began, the newest first."""
        return [*self._failures.values()][::-1]

    def latest_beat_s(self, within: timedelta) -> float:
        """How late the event loop was at most."""
        now = self.clock.now()
        return max((late for at, late in self._late if now - at <= within), default=0.0)

    def sockets(self) -> list[SocketsSeen]:
        """Of each platform that has one, or counts as connected."""
        seen = list[SocketsSeen]()
        for platform in sorted({*self._silent_s, *(name for name, _ in self._sockets)}):
            since = [at for (name, _), at in self._sockets.items() if name == platform]
            seen.append(SocketsSeen(platform, len(since), min(since, default=None), self._silent_s.get(platform)))
        return seen
