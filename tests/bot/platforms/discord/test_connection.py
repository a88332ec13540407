"""What the replies on Discord share."""

import asyncio

import pytest

from bot.platforms.discord.connection import Connection
from tests.fakes.clock import FakeClock


async def test_writes_in_one_place_keep_their_distance_and_their_order() -> None:
    clock = FakeClock()
    connection = Connection(clock, edit_interval_s=1.2)
    began: list[tuple[str, float]] = []

    async def write(name: str) -> None:
        async with connection.gate("20"):
            began.append((name, clock.monotonic()))

    gate = connection.gate("20")
    await asyncio.gather(*(write(name) for name in "abc"))
    assert began == [("a", 0.0), ("b", pytest.approx(1.2)), ("c", pytest.approx(2.4))]
    assert connection.gate("20") is gate
    assert connection.gate("21") is not gate


async def test_one_who_gives_up_waiting_holds_nobody_up() -> None:
    clock = FakeClock(auto=False)
    gate = Connection(clock, edit_interval_s=1.2).gate("20")
    async with gate:
        pass

    async def write() -> float:
        async with gate:
            return clock.monotonic()

    first, second = asyncio.create_task(write()), asyncio.create_task(write())
    await clock.advance(0.5)
    first.cancel()
    await clock.advance(0.7)
    assert await second == pytest.approx(1.2)


async def test_an_interaction_is_acknowledged_once_and_waited_for() -> None:
    connection = Connection(FakeClock(), edit_interval_s=1.2)
    await connection.until_acknowledged("unknown")
    assert connection.acknowledging("7")
    assert not connection.acknowledging("7")
    waiting = asyncio.create_task(connection.until_acknowledged("7"))
    connection.acknowledged("7")
    await waiting
