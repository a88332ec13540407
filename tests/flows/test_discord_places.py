"""Every kind of channel on Discord, told by its gateway: who reads it, and so what may be used there."""

import asyncio
from typing import Any

import pytest

from agent.memory.audience import GroupAudience, Place, TeamAudience, label
from tests.fakes.discord_bot import serving
from tests.fakes.discord_gateway import PATIENCE_S, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, GENERAL, GUILD, VIEW, Payload
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host

SERVER = f"discord:{GUILD}"
PUBLIC = Place(TeamAudience(SERVER), within_team=SERVER)
GROUP = Place(GroupAudience("discord:600"), within_team=SERVER)
# Nothing of the server may be used there either: not only its members read it.
ALONE = Place(GroupAudience("discord:600"))

TEXT, VOICE, NEWS, NEWS_THREAD, THREAD, PRIVATE_THREAD, STAGE, FORUM = 0, 2, 5, 10, 11, 12, 13, 15
HISTORY = 1 << 16
ROLE = "31"
CAGE = {"bitrate": 64_000, "user_limit": 0}  # What a voice channel or a stage has besides


OURS: Payload = {"id": BOT, "type": 1, "allow": str(VIEW | HISTORY), "deny": "0"}  # The bot is everywhere


def overwrite(target: str, *, allow: int = 0, deny: int = 0) -> Payload:
    return {"id": target, "type": 1 if target == BO else 0, "allow": str(allow), "deny": str(deny)}


def channel(kind: int, *overwrites: Payload, **more: Any) -> Payload:
    about: Payload = {"type": kind, "permission_overwrites": [*overwrites, OURS], "nsfw": False, **more}
    return {"id": "600", "guild_id": GUILD, "name": "there", "position": 1, "parent_id": None, "topic": None, **about}


CHANNELS: dict[str, tuple[Payload, Place]] = {
    "a text channel": (channel(TEXT), PUBLIC),
    "an announcement channel": (channel(NEWS), PUBLIC),
    "a channel that @everyone cannot see": (channel(TEXT, overwrite(GUILD, deny=VIEW)), GROUP),
    "a channel whose history @everyone cannot read": (channel(TEXT, overwrite(GUILD, deny=HISTORY)), GROUP),
    "a channel that one role may see": (
        channel(TEXT, overwrite(GUILD, deny=VIEW), overwrite(ROLE, allow=VIEW)),
        GROUP,
    ),
    "a channel that one role may not see": (channel(TEXT, overwrite(ROLE, deny=VIEW)), GROUP),
    "a channel that one member may not see": (channel(TEXT, overwrite(BO, deny=VIEW)), GROUP),
    "a channel in which one role may do more": (channel(TEXT, overwrite(ROLE, allow=1 << 13)), PUBLIC),
    "an age-restricted channel": (channel(TEXT, nsfw=True), GROUP),
    "the text of a voice channel": (channel(VOICE, **CAGE), ALONE),
    "the text of a stage": (channel(STAGE, **CAGE), ALONE),
}
THREADS: dict[str, tuple[int, Payload, Place]] = {
    "a public thread": (THREAD, channel(TEXT, id="500"), PUBLIC),
    "a thread of announcements": (NEWS_THREAD, channel(NEWS, id="500"), PUBLIC),
    "a post of a forum": (THREAD, channel(FORUM, id="500", available_tags=[]), PUBLIC),
    "a private thread of a public channel": (PRIVATE_THREAD, channel(TEXT, id="500"), GROUP),
    "a public thread of a private channel": (
        THREAD,
        channel(TEXT, overwrite(GUILD, deny=VIEW), id="500"),
        Place(GroupAudience("discord:500"), within_team=SERVER),
    ),
    "a post of a private forum": (
        THREAD,
        channel(FORUM, overwrite(GUILD, deny=VIEW), id="500", available_tags=[]),
        Place(GroupAudience("discord:500"), within_team=SERVER),
    ),
}


async def place_in(*channels: Payload, thread: int | None = None, **change: Any) -> Place:
    """The place of a question of ann's in channel 600, or in a thread of that kind and number; `change` it before."""
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.world.channels |= {one["id"]: one for one in channels}
        if thread is not None:
            fake.world.start_thread("500", "600", "there", kind=thread)
        async with serving(fake, host):
            if change:
                await fake.say(ANN, f"<@{BOT}> hello", GENERAL)  # by then the server is known
                await arrived(host)
                fake.world.channels["600"] |= change
                await fake.dispatch("CHANNEL_UPDATE", fake.world.channels["600"])
            await fake.say(ANN, f"<@{BOT}> hello", "600")
            await arrived(host, 2 if change else 1)
    return host.taken[-1].place


async def arrived(host: RecordingHost, many: int = 1) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(host.taken) < many:
            host.arrived.clear()
            await host.arrived.wait()


@pytest.mark.parametrize("kind", CHANNELS)
async def test_a_channel_is_its_servers_only_if_every_member_reads_it(kind: str) -> None:
    told, place = CHANNELS[kind]
    assert await place_in(dict(told)) == place


@pytest.mark.parametrize("kind", THREADS)
async def test_a_thread_is_what_its_channel_is_unless_it_is_private(kind: str) -> None:
    number, parent, place = THREADS[kind]
    assert await place_in(dict(parent), thread=number) == place


async def test_a_channel_that_is_closed_is_a_group_from_then_on() -> None:
    assert await place_in(channel(TEXT), permission_overwrites=CLOSED) == GROUP


async def test_a_channel_that_is_opened_is_its_servers_from_then_on() -> None:
    assert await place_in(channel(TEXT, overwrite(GUILD, deny=VIEW)), permission_overwrites=[]) == PUBLIC


async def kept(before: Payload, **change: Any) -> list[str]:
    """Who may read what was said in channel 600, before and after that (or, "permissions", the role of everybody) is
    changed.
    """
    host, audiences = recording_host(), list[str]()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.world.channels["600"] = before
        async with serving(fake, host):
            await fake.say(ANN, f"<@{BOT}> hello", GENERAL)  # by then the server is known
            await arrived(host)
            await fake.say(ANN, f"<@{BOT}> hello", "600")
            await arrived(host, 2)
            audiences += [message.audience for turn, message in host.store.messages if turn == 2]
            if "permissions" in change:
                role = next(role for role in fake.world.guild()["roles"] if role["id"] == GUILD)
                await fake.dispatch("GUILD_ROLE_UPDATE", {"guild_id": GUILD, "role": {**role, **change}})
            else:
                fake.world.channels["600"] |= change
                await fake.dispatch("CHANNEL_UPDATE", fake.world.channels["600"])
            await fake.say(ANN, f"<@{BOT}> hello", GENERAL)
            await arrived(host, 3)
            audiences += [message.audience for turn, message in host.store.messages if turn == 2]
    return audiences


CLOSED = [overwrite(GUILD, deny=VIEW), OURS]


OF_ALL, OF_GROUP = label(PUBLIC.audience), label(GROUP.audience)


async def test_a_channel_keeps_what_it_held_once_it_is_closed_by_itself_or_for_everybody() -> None:
    assert await kept(channel(TEXT), permission_overwrites=CLOSED) == [OF_ALL, OF_GROUP]
    assert await kept(channel(TEXT), permissions="0") == [OF_ALL, OF_GROUP]


async def test_a_channel_that_stays_as_open_as_it_was_or_is_opened_narrows_nothing() -> None:
    assert await kept(channel(TEXT), topic="boats") == [OF_ALL, OF_ALL]
    assert await kept(channel(TEXT, *CLOSED), topic="boats") == [OF_GROUP, OF_GROUP]
    assert await kept(channel(TEXT, *CLOSED), permission_overwrites=[]) == [OF_GROUP, OF_GROUP]
