"""What is done at a time, as only Discord has it; what is the same on each platform is in `test_schedules`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from agent.memory.audience import Place, TeamAudience
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from bot.platforms import texts as platforms_texts
from store.engine import open_store
from tests.fakes.discord_bot import WINDOW_S, by_the_bot
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import BO, DM_OF, GENERAL, GUILD, VIEW, parts, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.ready_process import calling
from tests.flows.platform_process import discord_main
from tests.flows.test_schedules import WORDS, ends, office
from tests.flows.worlds import on_discord
from tests.patience import PATIENCE_S

PERSON, TEAM, DM = f"discord:{BO}", f"discord:{GUILD}", DM_OF[BO]
PUBLIC = Place(TeamAudience(TEAM), within_team=TEAM)
SECOND = "The second one."


async def test_who_names_a_time_of_the_clock_is_asked_for_their_zone_first() -> None:
    async with office(on_discord, replicas=1) as here:
        fake = here.world.fake
        called = await fake.command(BO, "remind", GENERAL, words=f"tomorrow at 9:00 | {WORDS}")
        shown = fake.world.messages
        await fake.until(lambda: called.original and [one for one in parts(shown[called.original]) if one["type"] == 3])
        panel = shown[called.original]
        (menu,) = [part for part in parts(panel) if part["type"] == 3]
        assert not await here.hosts[0].store.schedules.of_person(PERSON)
        await fake.choose_in(BO, panel, menu["custom_id"].rpartition(":")[2], "Asia/Tokyo")
        await fake.until(lambda: "09:00 Asia/Tokyo" in seen(panel))
        (kept,) = await here.hosts[0].store.schedules.of_person(PERSON)
        assert kept.definition.timing.zone == "Asia/Tokyo"


@pytest.mark.parametrize("kind", ScheduleKind)
async def test_in_a_channel_that_was_closed_to_its_person_nothing_is_done_any_more(kind: ScheduleKind) -> None:
    async with office(on_discord) as here:
        await here.keep(kind=kind)
        shut_out = {"id": BO, "type": 1, "allow": "0", "deny": str(VIEW)}
        here.world.fake.world.channels[GENERAL]["permission_overwrites"] = [shut_out]
        await ends(here, kind, platforms_texts.SCHEDULE_LEFT)


async def test_who_takes_no_direct_messages_is_not_told_that_something_has_ended() -> None:
    async with office(on_discord) as here:
        fake = here.world.fake
        await here.keep(channel=here.world.secret)
        await here.world.open_secret()
        fake.world.closed_dms.add(DM)
        await here.later()
        await fake.until(lambda: any(call.status == 403 for call in fake.calls))
        fake.world.closed_dms.clear()
        await here.rest()
        assert not here.world.in_secret()
        assert len(here.told()) == 1  # the mark


@asynccontextmanager
async def process(fake: FakeDiscord, folder: Path) -> AsyncGenerator[None, None]:
    """The bot, until it is killed at the end of the block."""
    addresses = fake.api_base_url, fake.gateway_url
    started = fake.world.clock.now().isoformat()
    bot = calling(discord_main, folder, addresses, started)
    try:
        yield
    finally:
        bot.kill()
        bot.wait(PATIENCE_S)


async def test_a_process_that_is_killed_before_discord_has_answered_leaves_one_reminder(tmp_path: Path) -> None:
    """Discord posts it all the same, nobody has written down that it did, and its nonce says nothing any more."""
    clock = FastClock(speed=1.0)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        store, now = await open_store(f"sqlite:///{tmp_path / 'bot.db'}"), clock.now()
        for words, seconds in ((WORDS, 1), (SECOND, 6)):
            at = Timing("UTC", now + timedelta(seconds=seconds))
            await store.schedules.add(
                NewSchedule(PERSON, "discord", GENERAL, PUBLIC, ScheduleKind.REMINDER, words, at, now)
            )
        await store.close()
        fake.rest.fail("POST", f"/channels/{GENERAL}/messages", 0, delay_s=1.0)
        async with process(fake, tmp_path):
            await fake.until(lambda: not fake.rest.faults)
        await fake.until(lambda: by_the_bot(fake))
        fake.rest.forget_nonces()
        async with process(fake, tmp_path):
            await fake.until(lambda: f"<@{BO}> {SECOND}" in [said["content"] for said in by_the_bot(fake)])
        assert [said["content"] for said in by_the_bot(fake)] == [f"<@{BO}> {WORDS}", f"<@{BO}> {SECOND}"]
