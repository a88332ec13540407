"""An event of a webhook on Discord: where it may be posted now, who reads it, and who is mentioned."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import pytest

from agent.admission_terms import Authority
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.ports.webhooks import EventPlatform, EventTarget
from agent.schedules.definitions import NotAllowed
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.reply_to import decode_address
from tests.fakes.discord_bot import WINDOW_S, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import BO, EVERYBODY, GENERAL, GUILD, STAFF, VIEW, Payload
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import recording_host
from tests.patience import PATIENCE_S

TEAM = f"discord:{GUILD}"
FORUM = "25"


@asynccontextmanager
async def posting() -> AsyncGenerator[tuple[FakeDiscord, EventPlatform]]:
    clock, host = FastClock(speed=1.0), recording_host()
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        fake.world.everyone_may = EVERYBODY
        readers: list[Payload] = fake.world.channels[STAFF]["permission_overwrites"]
        readers.append({"id": BO, "type": 1, "allow": str(VIEW), "deny": "0"})
        fake.world.open_channel(FORUM, "help", 15)
        async with serving(fake, host):
            yield fake, host.platforms.events["discord"]


def to(channel: str = GENERAL, page: str = "", mention: tuple[str, ...] = ()) -> EventTarget:
    return EventTarget("hook:7", "alerts", channel, page, "It burns", mention)


async def test_it_is_a_message_of_nobody_with_the_readers_of_its_channel() -> None:
    async with posting() as (_, platform):
        event = await platform.event(to(mention=("42", "&35")))
        assert isinstance(event, Incoming)
        assert (event.event_id, event.own, event.authority) == ("hook:7", False, Authority.STRANGER)
        assert event.place == Place(TeamAudience(TEAM), within_team=TEAM)
        address = decode_address(event.reply_to)
        assert (address.channel, address.thread, address.person, address.mentions) == (GENERAL, "", "", "42,&35")
        staff = await platform.event(to(STAFF))
        assert isinstance(staff, Incoming)
        assert staff.place.audience == GroupAudience(f"discord:{STAFF}")


async def test_below_a_page_it_goes_to_the_thread_of_that_message() -> None:
    async with posting() as (_, platform):
        event = await platform.event(to(page=f"{GENERAL}/777"))
        assert isinstance(event, Incoming)
        assert event.conversation == "discord:777"
        address = decode_address(event.reply_to)
        assert (address.channel, address.message, address.thread) == (GENERAL, "777", "It burns")


def _mute(fake: FakeDiscord) -> None:
    overwrites: list[Payload] = [{"id": "900", "type": 1, "allow": "0", "deny": str(1 << 11)}]
    fake.world.channels[GENERAL]["permission_overwrites"] = overwrites


REFUSALS: Mapping[str, tuple[bool, str]] = {
    "999": (False, platforms_texts.SCHEDULE_PLACE_GONE),
    FORUM: (False, platforms_texts.EVENT_NO_TEXT_CHANNEL),
    GENERAL: (True, "Send Messages"),
}


@pytest.mark.parametrize("channel", REFUSALS)
async def test_where_it_may_not_be_posted_it_says_why(channel: str) -> None:
    is_muted, why = REFUSALS[channel]
    async with posting() as (fake, platform):
        if is_muted:
            _mute(fake)
            await fake.dispatch("CHANNEL_UPDATE", fake.world.channels[GENERAL])
        async with asyncio.timeout(PATIENCE_S):
            while not isinstance(found := await platform.event(to(channel)), NotAllowed):  # noqa: ASYNC110 -- no event reports that the client has heard of the change
                await asyncio.sleep(0.01)
        assert why in found.why
