"""The benchmark of a flood of webhooks, on a small scale: events are stored and posted, and people are answered."""

import pytest

from benchmarks.webhooks import HookFlood, first_come_ratio, measured
from tests.fakes.ready_process import ReadyService

pytestmark = [pytest.mark.server, pytest.mark.slow]


async def test_a_flood_is_stored_and_people_are_answered_beside_it() -> None:
    flood = HookFlood(deliveries=10, questions=1)
    run = await measured(flood, flooded=True, launch=ReadyService.logging)
    assert run.stored.requests >= 2 * flood.deliveries
    assert run.events >= 1
    assert {name: len(waited) for name, waited in run.waited.items()} == {"slack": 1, "discord": 1}


def test_in_the_order_of_arrival_people_wait_for_the_whole_flood() -> None:
    assert first_come_ratio(2_000, HookFlood()) > 50
    assert first_come_ratio(0, HookFlood()) == 1
