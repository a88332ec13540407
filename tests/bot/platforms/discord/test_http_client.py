"""How long a request to Discord waits for a rate limit, whatever its headers say: real discord.py, skipped time."""

import asyncio
from collections.abc import Awaitable, Callable

import discord
import pytest
from discord.http import Route
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.skipping_loop import run_skipping
from bot.platforms.discord.http_client import ONCE, REQUEST_S, BoundedClient, Unanswered, wait_at_most
from bot.platforms.discord.run import point_at
from tests.examples import examples
from tests.fakes.discord_bot import settings as discord_settings
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import GENERAL
from tests.fakes.fast_clock import FastClock

LATENCY_S = 0.1

Play = Callable[[FakeDiscord, BoundedClient], Awaitable[None]]


async def type_in(client: BoundedClient) -> None:
    await client.http.request(Route("POST", "/channels/{channel_id}/typing", channel_id=GENERAL))


def played(play: Play, allowance: int = 5, window_s: float = 5.0) -> FakeDiscord:
    async def run() -> FakeDiscord:
        async with running_discord(FastClock(speed=1.0), allowance=allowance, window_s=window_s) as fake:
            point_at(discord_settings(fake))
            async with BoundedClient(intents=discord.Intents(guilds=True)) as client:
                await client.login(TOKEN)
                await play(fake, client)
            return fake

    return run_skipping(run(), lambda: 0.0)


@settings(max_examples=examples(20), deadline=None)
@given(
    allowance=st.integers(1, 6),
    window_s=st.sampled_from([0.5, 5.0, 60.0, 600.0]),
    patience_s=st.sampled_from([0.0, 2.0, 30.0]),
    starts=st.lists(st.floats(0.0, 12.0), min_size=1, max_size=12),
)
def test_a_request_waits_for_no_longer_than_it_may_and_none_is_refused_by_discord(
    allowance: int, window_s: float, patience_s: float, starts: list[float]
) -> None:
    async def play(fake: FakeDiscord, client: BoundedClient) -> None:
        clock = fake.world.clock

        async def ask(after: float) -> bool:
            await asyncio.sleep(after)
            began = clock.monotonic()
            try:
                with wait_at_most(patience_s):
                    await type_in(client)
                sent = True
            except discord.RateLimited:
                sent = False
            assert clock.monotonic() - began <= patience_s + LATENCY_S
            return sent

        sent = await asyncio.gather(*map(ask, starts))
        # Until the first response has named the limit, one request is on its way, and the others wait for it.
        known = min(allowance, len(starts)) if patience_s else 1
        assert sum(sent) >= known, "while requests are left, they are sent"

    fake = played(play, allowance, window_s)
    assert not [call for call in fake.calls if call.status == 429]


def test_a_request_that_is_never_answered_ends_and_the_next_one_is_sent() -> None:
    async def play(fake: FakeDiscord, client: BoundedClient) -> None:
        fake.rest.hang("POST", "/typing$")
        began = fake.world.clock.monotonic()
        with pytest.raises(TimeoutError):
            await type_in(client)
        assert fake.world.clock.monotonic() - began == pytest.approx(REQUEST_S, abs=LATENCY_S)
        await type_in(client)

    played(play)


@pytest.mark.parametrize(("status", "sent"), [(502, 1), (429, 2)])
def test_a_request_that_may_have_taken_effect_is_sent_once_and_again_only_after_a_rate_limit(
    status: int, sent: int
) -> None:
    async def play(fake: FakeDiscord, client: BoundedClient) -> None:
        wait = {"message": "wait", "retry_after": 0.5, "global": False}
        headers = {"Via": "1.1 google"}
        fake.rest.fail("POST", "/typing$", status, body=wait if status == 429 else None, headers=headers)
        route = Route("POST", "/channels/{channel_id}/typing", channel_id=GENERAL)
        if sent == 1:
            with pytest.raises(Unanswered):
                await client.http.request(route, middlewares=ONCE)
        else:
            await client.http.request(route, middlewares=ONCE)

    assert len([call for call in played(play).calls if call.path.endswith("/typing")]) == sent
