"""What the replies on Discord share."""

import asyncio
import gc

import pytest

from bot.platforms.discord.connection import Connection
from tests.fakes.clock import FakeClock


async def test_each_place_has_one_pace_for_all_who_write_there() -> None:
    connection = Connection(FakeClock(), edit_interval_s=1.2)
    gate = connection.gate("20")
    assert connection.gate("20") is gate
    assert connection.gate("21") is not gate


@pytest.mark.slow
async def test_the_pace_of_a_place_outlives_the_reply_that_wrote_there() -> None:
    connection = Connection(FakeClock(), edit_interval_s=1.2)
    for second in range(5):
        assert connection.gate("20").wait("first reply", 1.2 * second) == 0.0
        connection.gate("20").returned(1.2 * second)
    gc.collect()
    assert connection.gate("20").wait("next reply", 5.0) > 0


async def test_an_interaction_is_acknowledged_once_and_waited_for() -> None:
    connection = Connection(FakeClock(), edit_interval_s=1.2)
    await connection.until_acknowledged("unknown")
    assert connection.acknowledging("7")
    assert not connection.acknowledging("7")
    waiting = asyncio.create_task(connection.until_acknowledged("7"))
    connection.acknowledged("7")
    await waiting
