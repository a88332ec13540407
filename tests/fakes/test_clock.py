"""The fake clock keeps its guarantees: deterministic order, no waiting, no sleeper left behind."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from agent.ports.clock import Clock
from tests.fakes.clock import NOON, FakeClock


def sleeper(clock: FakeClock, woken: list[tuple[str, float]]) -> Callable[[str, float], Coroutine[Any, Any, None]]:
    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((name, clock.monotonic()))

    return sleep


async def test_time_jumps_to_the_next_waker_when_everybody_waits() -> None:
    clock: Clock = FakeClock()
    await clock.sleep(3600)
    assert clock.monotonic() == 3600
    assert (clock.now() - NOON).total_seconds() == 3600


async def test_sleepers_wake_in_the_order_of_their_time_then_of_their_coming() -> None:
    clock, woken = FakeClock(), list[tuple[str, float]]()
    sleep = sleeper(clock, woken)
    await asyncio.gather(sleep("late", 5), sleep("first", 2), sleep("second", 2))
    assert woken == [("first", 2), ("second", 2), ("late", 5)]


async def test_time_stands_still_while_anybody_has_work() -> None:
    clock = FakeClock()
    waiting = asyncio.create_task(clock.sleep(1))
    for _ in range(1000):
        await asyncio.sleep(0)
    assert clock.monotonic() == 0
    await waiting


async def test_a_cancelled_sleeper_does_not_move_time() -> None:
    clock = FakeClock()
    cancelled = asyncio.create_task(clock.sleep(1))
    await asyncio.sleep(0)
    cancelled.cancel()
    await clock.sleep(10)
    assert clock.monotonic() == 10


async def test_by_hand_time_moves_only_as_far_as_it_is_told() -> None:
    clock, woken = FakeClock(auto=False), list[tuple[str, float]]()
    sleep = sleeper(clock, woken)
    tasks = [asyncio.create_task(sleep("a", 1)), asyncio.create_task(sleep("b", 10))]
    await clock.advance(5)
    assert woken == [("a", 1)]
    assert clock.monotonic() == 5
    await clock.advance(5)
    await asyncio.wait_for(asyncio.gather(*tasks), 1)
    assert woken == [("a", 1), ("b", 10)]


async def test_a_sleeper_that_sleeps_again_is_woken_within_one_advance() -> None:
    clock, ticks = FakeClock(auto=False), list[float]()

    async def tick() -> None:
        for _ in range(3):
            await clock.sleep(1)
            ticks.append(clock.monotonic())

    ticking = asyncio.create_task(tick())
    await clock.advance(10)
    await asyncio.wait_for(ticking, 1)
    assert ticks == [1, 2, 3]


async def test_advancing_by_hand_works_beside_jumping() -> None:
    clock, woken = FakeClock(), list[tuple[str, float]]()
    sleep = sleeper(clock, woken)
    task = asyncio.create_task(sleep("a", 7))
    await clock.advance(3)
    assert woken == []
    await task
    assert woken == [("a", 7)]
