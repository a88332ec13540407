"""The cost of a server's tool stays small compared with any call. The bounds are wide, for a busy machine."""

import pytest

from benchmarks.tools import BOUNDS, added_without_ms, call_ms, idle_cpu_percent

pytestmark = pytest.mark.server


async def test_a_call_through_us_takes_little_longer_than_one_by_the_bare_sdk() -> None:
    ours, bare = await call_ms(20)
    assert ours - bare < 10 * BOUNDS["call_overhead_ms"]


async def test_twenty_servers_that_nobody_asks_cost_nothing() -> None:
    assert await idle_cpu_percent(0.5) < BOUNDS["idle_cpu_percent_20_servers"]


def test_whoever_has_no_server_pays_next_to_nothing_for_them() -> None:
    assert added_without_ms() < 10 * BOUNDS["start_added_ms_0_servers"]
