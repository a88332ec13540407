"""What the replies on Discord share."""

import asyncio

from bot.platforms.discord.connection import Connection
from tests.fakes.clock import FakeClock


async def test_each_place_has_one_pace_for_all_who_write_there() -> None:
    connection = Connection(FakeClock(), edit_interval_s=1.2)
    gate = connection.gate("20")
    assert connection.gate("20") is gate
    assert connection.gate("21") is not gate


async def test_an_interaction_is_acknowledged_once_and_waited_for() -> None:
    connection = Connection(FakeClock(), edit_interval_s=1.2)
    await connection.until_acknowledged("unknown")
    assert connection.acknowledging("7")
    assert not connection.acknowledging("7")
    waiting = asyncio.create_task(connection.until_acknowledged("7"))
    connection.acknowledged("7")
    await waiting
