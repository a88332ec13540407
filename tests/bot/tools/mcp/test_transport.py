"""Whenever the connection to a server is cancelled, its process has ended and was waited for."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from bot.tools.mcp.transport import Allowance, ConnectionStatus, Watchdog, stdio_streams
from tests.examples import one_in
from tests.fakes.cancelling import left_by, left_by_cancelling
from tests.fakes.mcp_world import called, config, connected, raw
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.server, pytest.mark.slow]


async def one_process() -> None:
    watchdog = Watchdog()
    try:
        async with stdio_streams(raw(), Allowance(time.monotonic), watchdog, ConnectionStatus(), PATIENCE_S):  # noqa: TID251 -- a real process
            await asyncio.sleep(0)
    finally:
        await watchdog.aclose()


async def one_call() -> None:
    async with connected(config(raw())) as (server,):
        await called(server, "echo")


@pytest.mark.parametrize(("work", "again"), one_in(2, [one_process, one_call], [False, True]))
def test_a_connection_that_is_cancelled_at_any_step_leaves_no_process(
    work: Callable[[], Coroutine[Any, Any, None]], again: bool
) -> None:
    assert left_by_cancelling(work, again=again) == []


def test_a_connection_whose_time_is_over_as_it_begins_leaves_no_process() -> None:
    async def too_late() -> None:
        with anyio.move_on_after(0):
            await one_process()

    assert left_by(too_late()) == []
