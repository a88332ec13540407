"""The database is repaired at once, turns wait for all processes, and platforms are read again after a while."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.errors import StoreUnavailable
from agent.ports.recent_writes import LostWrites, Timeline
from bot.recovery.service import AGE, LOOK_S, SETTLE_S, WAIT_S, LostWritesService
from tests.fakes.clock import NOON, FakeClock

SINCE = NOON - timedelta(minutes=1)
EARLIER = NOON - timedelta(minutes=2)
READ = LOOK_S * (SETTLE_S // LOOK_S + 1)  # The first look that is SETTLE_S after the one at the start


@dataclass
class Writes:
    """The port RecentWrites, which loses what a test says, and then is on a new timeline; `away`: how many calls fail.
    `repaired_by`: how many other processes have repaired.
    """

    clock: FakeClock
    losing: list[LostWrites] = field(default_factory=list[LostWrites])
    away: int = 0
    broken: int = 0
    unread: int = 0
    name: str = "1"
    unsettled: bool = False
    repaired_by: int = 0
    connected: bool = True
    settled_others: list[int | None] = field(default_factory=list[int | None])
    steps: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    async def timeline(self) -> Timeline:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("The database is away.")
        return Timeline(self.name, not self.unsettled)

    async def settle(self, others: int | None, *, waits: bool) -> bool:
        assert not self.losing
        self.settled_others.append(others)
        self.unsettled = waits and (others is None or self.repaired_by < others)
        if not self.unsettled:
            self._step("settled")
        return not self.unsettled

    async def lost(self, *, thorough: bool = False) -> LostWrites | None:
        assert thorough or not self.unsettled
        if self.broken:
            self.broken -= 1
            raise ValueError("unexpected")
        first = self.losing[0] if self.losing else None
        return first if first is None or thorough or first.messages or first.forgettings else None

    async def repair(self, now: datetime) -> None:
        assert now == self.clock.now()
        self._step(f"repaired {self.losing.pop(0).since:%H:%M}")

    async def end_lost(self) -> None:
        self._step("ended lost turns")

    async def delete_unfinished(self, now: datetime) -> int:
        assert now == self.clock.now()
        return 0

    async def read(self, since: datetime) -> bool:
        if self.unread:
            self.unread -= 1
            raise StoreUnavailable("The database is away.")
        self._step(f"read {since:%H:%M}")
        return True

    async def read_other(self, since: datetime) -> bool:
        if self.connected:
            self._step(f"read another {since:%H:%M}")
        return self.connected

    def _step(self, what: str) -> None:
        self.steps.append((what, self.clock.monotonic()))


def service_of(writes: Writes, others: int | None = 1) -> LostWritesService:
    return LostWritesService(writes, writes.clock, {"slack": writes.read}, lambda: others)


async def served(writes: Writes, seconds: float) -> list[tuple[str, float]]:
    async with service_of(writes).serving():
        await writes.clock.advance(seconds)
    return writes.steps


async def test_nothing_is_read_while_nothing_is_lost() -> None:
    assert await served(Writes(FakeClock(auto=False)), 10 * LOOK_S) == []


async def test_histories_are_read_once_after_other_processes_have_repaired_too() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)])
    assert await served(writes, 20 * LOOK_S) == [("repaired 11:59", 0), ("read 11:59", READ)]


async def test_an_unexpected_error_does_not_end_the_looking() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)], away=1, broken=1)
    steps = [("repaired 11:59", 2 * LOOK_S), ("read 11:59", 2 * LOOK_S + READ)]
    assert await served(writes, 20 * LOOK_S) == steps


async def test_a_history_that_cannot_be_read_is_read_after_the_next_look() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)], unread=1)
    assert await served(writes, 40 * LOOK_S) == [("repaired 11:59", 0), ("read 11:59", READ + LOOK_S)]


async def test_histories_are_read_from_the_earliest_loss_that_was_found() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1), LostWrites(EARLIER, 1, 0)])
    repaired = [("repaired 11:59", 0), ("repaired 11:58", LOOK_S)]
    assert await served(writes, 20 * LOOK_S) == [*repaired, ("read 11:58", READ)]


async def test_a_platform_that_is_not_connected_is_read_when_it_is() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)], connected=False)
    histories = {"slack": writes.read, "discord": writes.read_other}
    async with LostWritesService(writes, writes.clock, histories).serving():
        await writes.clock.advance(READ)
        histories["play"] = writes.read_other
        await writes.clock.advance(10 * LOOK_S)
        assert writes.steps == [("repaired 11:59", 0), ("read 11:59", READ)]
        writes.connected = True
        await writes.clock.advance(10 * LOOK_S)
    assert writes.steps[2:] == [("read another 11:59", READ + 11 * LOOK_S)] * 2


async def test_a_history_is_not_read_from_before_the_day_before() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(NOON - 2 * AGE, 3, 1)])
    assert await served(writes, 20 * LOOK_S) == [("repaired 12:00", 0), ("read 12:00", READ)]


async def test_what_a_second_failover_loses_is_read_although_the_first_was_just_read() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(EARLIER, 3, 1)], unread=2)
    async with service_of(writes).serving():
        await writes.clock.advance(READ)
        writes.losing = [LostWrites(SINCE, 1, 0)]  # while the first cannot be read
        await writes.clock.advance(20 * LOOK_S)
    again = READ + LOOK_S
    assert writes.steps == [
        ("repaired 11:58", 0),
        ("repaired 11:59", again),
        ("read 11:58", again + LOOK_S),
        ("read 11:59", again + READ),
    ]


async def test_a_process_that_was_away_while_others_settled_a_timeline_looks_thoroughly_once() -> None:
    writes = Writes(FakeClock(auto=False))
    async with LostWritesService(writes, writes.clock, {}, lambda: 1, writes.end_lost).serving():
        await writes.clock.advance(LOOK_S)
        writes.steps.clear()
        writes.name, writes.losing = "2", [LostWrites(SINCE, 0, 0, turns=1)]
        writes.broken = 1
        await writes.clock.advance(4 * LOOK_S)
    assert [step for step, _ in writes.steps] == ["ended lost turns", "ended lost turns", "repaired 11:59"]


async def test_each_failover_gives_other_processes_time_to_repair() -> None:
    writes = Writes(FakeClock(auto=False), unsettled=True)
    async with service_of(writes).serving():
        await writes.clock.advance(SETTLE_S - 1)
        writes.name = "2"
        await writes.clock.advance(SETTLE_S)
        assert writes.steps == []
        await writes.clock.advance(1)
    assert writes.steps == [("settled", 2 * SETTLE_S - 1 + WAIT_S)]


async def test_turns_wait_until_other_processes_have_repaired() -> None:
    writes = Writes(FakeClock(auto=False))
    async with service_of(writes).serving():
        await writes.clock.advance(LOOK_S)
        writes.unsettled, writes.losing = True, [LostWrites(SINCE, 0, 0, turns=1)]
        await writes.clock.advance(LOOK_S + WAIT_S)
        assert (writes.steps, writes.settled_others) == ([("repaired 11:59", 2 * LOOK_S)], [1, 1])
        writes.repaired_by = 1
        await writes.clock.advance(WAIT_S)
        assert writes.steps[1:] == [("settled", 2 * LOOK_S + 2 * WAIT_S)]


async def test_turns_do_not_wait_for_a_process_that_does_not_come_back() -> None:
    writes = Writes(FakeClock(auto=False))
    async with service_of(writes).serving():
        writes.unsettled = True
        await writes.clock.advance(2 * READ)
    assert writes.steps == [("settled", LOOK_S + SETTLE_S)]


async def test_lost_turns_end_before_the_timeline_is_settled() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 0, 0, turns=1)], unsettled=True)
    async with LostWritesService(writes, writes.clock, {}, lambda: 0, writes.end_lost).serving():
        await writes.clock.advance(SETTLE_S)
    assert [step for step, _ in writes.steps][:2] == ["ended lost turns", "repaired 11:59"]
    assert [step for step, _ in writes.steps][-2:] == ["ended lost turns", "settled"]


async def test_turns_do_not_wait_for_what_cannot_be_repaired() -> None:
    writes = Writes(FakeClock(auto=False), unsettled=True, broken=1_000)
    async with service_of(writes).serving():
        await writes.clock.advance(2 * SETTLE_S)
    assert writes.steps == [("settled", SETTLE_S)]


async def test_a_process_that_begins_after_a_failover_does_not_know_the_others() -> None:
    writes = Writes(FakeClock(auto=False), unsettled=True)
    async with service_of(writes, others=0).serving():
        await writes.clock.advance(WAIT_S)
        assert writes.settled_others == [None, None]


async def test_histories_are_not_read_before_all_have_repaired() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)])
    async with service_of(writes).serving():
        await writes.clock.advance(SETTLE_S - 1)
        writes.unsettled = True
        await writes.clock.advance(SETTLE_S)
        assert [step for step, _ in writes.steps] == ["repaired 11:59"]
        writes.repaired_by = 1
        await writes.clock.advance(2 * LOOK_S)
    assert [step for step, _ in writes.steps] == ["repaired 11:59", "settled", "read 11:59"]
