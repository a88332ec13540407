"""The calls of a person's clients besides questions have a rate of their own."""

from bot.api.mcp_server.token_user import CALLS_A_MINUTE, call_rates
from tests.fakes.clock import FakeClock


async def test_a_person_has_a_bounded_number_of_calls_a_minute() -> None:
    rates, clock = call_rates(), FakeClock(auto=False)
    for _ in range(CALLS_A_MINUTE):
        assert await rates.obstacle("slack:T1:U1", "", clock.now()) is None
    assert await rates.obstacle("slack:T1:U1", "", clock.now()) is not None
    assert await rates.obstacle("slack:T1:U2", "", clock.now()) is None
    await clock.advance(60)
    assert await rates.obstacle("slack:T1:U1", "", clock.now()) is None
