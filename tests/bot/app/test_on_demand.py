"""What is open on demand opens for its first user, and closes once nobody uses it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agent.errors import StoreError, StoreLocked
from bot.app.on_demand import OnDemand
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S


@dataclass
class Thing:
    """`failures`: raised by the next openings."""

    failures: list[Exception] = field(default_factory=list[Exception])
    events: list[str] = field(default_factory=list[str])
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[str]:
        if self.failures:
            raise self.failures.pop(0)
        self.events.append("open")
        task = asyncio.current_task()
        yield "thing"
        assert asyncio.current_task() is task
        await asyncio.sleep(0)
        self.events.append("closed")
        self.closed.set()


async def test_users_at_the_same_time_share_it_and_it_closes_after_the_last() -> None:
    thing = Thing()
    demand = OnDemand(thing.open, FakeClock(), 0.01, 0)
    async with demand.using() as first, demand.using() as second:
        assert (first, second) == ("thing", "thing")
        await asyncio.sleep(0.05)
        assert thing.events == ["open"]
    async with asyncio.timeout(PATIENCE_S):
        await thing.closed.wait()
    async with demand.using() as third:
        assert third == "thing"
    await demand.close()
    assert thing.events == ["open", "closed", "open", "closed"]


async def test_a_user_who_comes_while_it_closes_opens_it_again() -> None:
    thing = Thing()
    demand = OnDemand(thing.open, FakeClock(), 60, 0)
    async with demand.using():
        pass
    closing = asyncio.create_task(demand.close())
    await asyncio.sleep(0)
    async with demand.using():
        assert thing.events == ["open", "closed", "open"]
    await closing
    await demand.close()


async def test_what_another_process_holds_is_tried_again_for_a_while() -> None:
    clock = FakeClock()
    thing = Thing([StoreLocked("held"), StoreLocked("held")])
    demand = OnDemand(thing.open, clock, 60, 10)
    async with demand.using():
        assert clock.monotonic() > 0
    await demand.close()
    thing.failures = [StoreLocked("held")] * 1_000
    with pytest.raises(StoreLocked):
        async with demand.using():
            pass
    assert clock.monotonic() > 10


async def test_each_user_gets_the_error_of_opening_and_the_next_one_tries_again() -> None:
    thing = Thing([StoreError("broken")])
    demand = OnDemand(thing.open, FakeClock(), 60, 10)

    async def use() -> str:
        async with demand.using() as opened:
            return opened

    results = await asyncio.gather(use(), use(), return_exceptions=True)
    assert [str(result) for result in results] == ["broken", "broken"]
    assert await use() == "thing"
    await demand.close()
