"""The examination ends, also where Discord cannot be reached or does not answer."""

import asyncio

from benchmarks.skipping_loop import run_skipping
from bot.chat.findings import Finding, Level
from bot.platforms.discord.doctor import examine
from bot.platforms.discord.http_client import REQUEST_S
from tests.fakes.discord_bot import settings
from tests.fakes.discord_gateway import running_discord
from tests.fakes.fast_clock import FastClock


def test_discord_that_cannot_be_reached_is_a_problem() -> None:
    async def run() -> list[Finding]:
        async with running_discord(FastClock(speed=1.0)) as fake:
            gone = settings(fake)
        return await examine(gone, FastClock(speed=1.0))

    (finding,) = asyncio.run(run())
    assert (finding.level, finding.where) == (Level.PROBLEM, "Discord")
    assert "Discord could not be reached at http" in finding.what
    assert "DISCORD_API_BASE_URL" in finding.remedy


def test_discord_that_never_answers_is_a_problem_too() -> None:
    async def run() -> list[Finding]:
        clock = FastClock(speed=1.0)
        async with running_discord(clock) as fake:
            fake.rest.hang("GET", "/users/@me$")
            found = await examine(settings(fake), clock)
            assert clock.monotonic() < 2 * REQUEST_S
            return found

    (finding,) = run_skipping(run(), lambda: 0.0)
    assert finding.level is Level.PROBLEM
