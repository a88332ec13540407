"""Long work and acts in a process that is killed on Discord; what is the same on each platform is in `test_work`."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.schedules import texts as schedule_texts
from tests.fakes.discord_bot import WINDOW_S, by_the_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import BO, BOT, EVERYBODY, GENERAL
from tests.fakes.fast_clock import FastClock
from tests.fakes.long_work import ASKED, ON_IT, RESULT
from tests.fakes.ready_process import calling
from tests.flows.platform_process import COUNTED, GOES_ON, UNSURE, discord_main
from tests.patience import PATIENCE_S

STEP = "-# → Using count ferries…"


@asynccontextmanager
async def process(fake: FakeDiscord, folder: Path, acts: str = "") -> AsyncGenerator[None]:
    """The bot, until it is killed at the end of the block. `acts`: see `platform_process.main`."""
    addresses, before = (fake.api_base_url, fake.gateway_url), fake.identified
    given = folder, addresses, fake.world.clock.now().isoformat()
    bot = calling(discord_main, *given, works=not acts, acts=acts)
    try:
        await fake.until(lambda: fake.identified > before)
        yield
    finally:
        bot.kill()
        bot.wait(PATIENCE_S)


async def test_killed_work_is_finished_in_the_same_message_and_does_nothing_twice(tmp_path: Path) -> None:
    async with running_discord(FastClock(speed=1.0), window_s=WINDOW_S) as fake:
        fake.world.everyone_may = EVERYBODY
        async with process(fake, tmp_path):
            await fake.say(BO, f"<@{BOT}> {ASKED}", GENERAL)
            await fake.until(lambda: len(by_the_bot(fake)) == 2)
            work = by_the_bot(fake)[1]
            await fake.until(lambda: "-# ✓ " in work["content"] and STEP in work["content"])
        (tmp_path / GOES_ON).touch()
        fake.rest.forget_nonces()
        async with process(fake, tmp_path):
            await fake.until(lambda: len(by_the_bot(fake)) == 3)
        on_it, finished, told = by_the_bot(fake)
        assert (on_it["content"], finished["id"]) == (ON_IT, work["id"])
        assert finished["content"].endswith(RESULT)
        assert told["content"] == f"<@{BO}> {schedule_texts.WORK_DONE}"
        assert (tmp_path / COUNTED).read_text().split() == ["1", "2", "3"]


PIER = "25"
ACTS = {
    "post_message": ({"where": PIER, "text": "once"}, f"/channels/{PIER}/messages"),
    "create_thread": ({"where": PIER, "title": "once", "text": "Hello."}, f"/channels/{PIER}/threads"),
}


@pytest.mark.parametrize("tool", ACTS)
async def test_an_act_that_a_killed_process_may_have_done_is_not_done_again(tmp_path: Path, tool: str) -> None:
    args, path = ACTS[tool]
    async with running_discord(FastClock(speed=1.0), window_s=WINDOW_S) as fake:
        fake.world.everyone_may = EVERYBODY
        fake.world.open_channel(PIER, "pier")

        def done() -> list[Any]:
            return [*fake.world.shown(PIER), *(one for one in fake.world.channels.values() if one["name"] == "once")]

        act = json.dumps({"name": tool, "args": args})
        async with process(fake, tmp_path, act):
            fake.rest.hang("POST", path, lost=True)
            await fake.say(BO, f"<@{BOT}> do it", GENERAL)
            await fake.until(done)
        fake.rest.forget_nonces()
        async with process(fake, tmp_path, act):
            await fake.until(lambda: any(UNSURE in one["content"] for one in by_the_bot(fake)))
        assert len(done()) == 1
