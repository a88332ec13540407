"""What the database lost is repaired first, and read again from the platforms once all processes have done that."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.errors import StoreUnavailable
from agent.ports.recent_writes import LostWrites
from bot.recovery.service import LOOK_S, SETTLE_S, LostWritesService
from tests.fakes.clock import NOON, FakeClock

SINCE = NOON - timedelta(minutes=1)
EARLIER = NOON - timedelta(minutes=2)


@dataclass
class Writes:
    """The port RecentWrites, which loses what a test says; `away`: how many calls fail."""

    clock: FakeClock
    losing: list[LostWrites] = field(default_factory=list[LostWrites])
    away: int = 0
    broken: int = 0
    unread: int = 0
    steps: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])

    async def lost(self) -> LostWrites | None:
        if self.away:
            self.away -= 1
            raise StoreUnavailable("The database is away.")
        if self.broken:
            self.broken -= 1
            raise ValueError("unexpected")
        return self.losing[0] if self.losing else None

    async def repair(self, now: datetime) -> None:
        assert now == self.clock.now()
        self.steps.append((f"repaired {self.losing.pop(0).since:%H:%M}", self.clock.monotonic()))

    async def read(self, since: datetime) -> None:
        if self.unread:
            self.unread -= 1
            raise StoreUnavailable("The database is away.")
        self.steps.append((f"read {since:%H:%M}", self.clock.monotonic()))


async def served(writes: Writes, seconds: float) -> list[tuple[str, float]]:
    service = LostWritesService(writes, writes.clock, {"slack": writes.read})
    async with service.serving():
        await writes.clock.advance(seconds)
    return writes.steps


async def test_nothing_is_read_while_nothing_is_lost() -> None:
    assert await served(Writes(FakeClock(auto=False)), 10 * LOOK_S) == []


async def test_histories_are_read_once_after_other_processes_have_repaired_too() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)])
    assert await served(writes, 20 * LOOK_S) == [("repaired 11:59", LOOK_S), ("read 11:59", LOOK_S + SETTLE_S)]


async def test_an_unexpected_error_does_not_end_the_looking() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)], away=1, broken=1)
    assert await served(writes, 20 * LOOK_S) == [("repaired 11:59", 3 * LOOK_S), ("read 11:59", 3 * LOOK_S + SETTLE_S)]


async def test_a_history_that_cannot_be_read_is_read_after_the_next_look() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)], unread=1)
    read = 2 * (LOOK_S + SETTLE_S)
    assert await served(writes, 40 * LOOK_S) == [("repaired 11:59", LOOK_S), ("read 11:59", read)]


async def test_histories_are_read_from_the_earliest_loss_that_was_found() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1), LostWrites(EARLIER, 1, 0)])
    read = LOOK_S + SETTLE_S
    assert await served(writes, 20 * LOOK_S) == [
        ("repaired 11:59", LOOK_S),
        ("repaired 11:58", read),
        ("read 11:58", read),
    ]


async def test_a_database_that_goes_away_again_delays_the_reading() -> None:
    writes = Writes(FakeClock(auto=False), [LostWrites(SINCE, 3, 1)])
    service = LostWritesService(writes, writes.clock, {"slack": writes.read})
    looking = asyncio.create_task(service.look())
    await writes.clock.advance(SETTLE_S / 2)
    writes.away = 1
    await writes.clock.advance(SETTLE_S)
    with suppress(StoreUnavailable):
        await looking
    assert [step for step, _ in writes.steps] == ["repaired 11:59"]
    await served_again(service, writes)
    assert [step for step, _ in writes.steps] == ["repaired 11:59", "read 11:59"]


async def served_again(service: LostWritesService, writes: Writes) -> None:
    looking = asyncio.create_task(service.look())
    await writes.clock.advance(SETTLE_S)
    await looking
