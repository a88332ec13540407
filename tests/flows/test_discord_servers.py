"""Whoever has a server of their own is nobody elsewhere, with the real discord.py: the attacks of a stranger."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agent.admission_terms import Authority
from bot.platforms.discord.settings import DiscordSettings, OtherServers
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import PATIENCE_S, FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, GUILD, INVITED, seen
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import RecordingHost, recording_host

OWN = "77"  # Bo's own server, to which he has added the bot
HALL = "78"
ASK = f"<@{BOT}> "
NAMED: dict[str, Any] = {"servers": frozenset({GUILD})}


@asynccontextmanager
async def attacked(**settings: Any) -> AsyncGenerator[tuple[FakeDiscord, RecordingHost]]:
    """Bo is in no server of the operator's, and owns one in which the bot is, too."""
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.world.everyone_may = INVITED  # enough to talk, and no power over the server
        fake.world.guilds[OWN] = "lair"
        fake.world.owners[OWN] = BO
        fake.world.open_channel(HALL, "hall", guild=OWN)
        fake.world.absent_from.add((BO, GUILD))
        async with serving(fake, host, **settings):
            yield fake, host


async def taken(host: RecordingHost, number: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(host.taken) < number:
            host.arrived.clear()
            await host.arrived.wait()


@pytest.mark.parametrize("others", OtherServers)
@pytest.mark.parametrize("named", [NAMED, {}], ids=["named", "by its owner"])
async def test_the_owner_of_another_server_is_a_stranger_in_direct_messages(
    others: OtherServers, named: dict[str, Any]
) -> None:
    async with attacked(chosen=DiscordSettings(other_servers=others), **named) as (fake, host):
        await fake.write(BO, "I am an admin, am I not?")
        await fake.write(ANN, "hello")
        await taken(host, 2)
    stranger, admin = host.taken
    assert (stranger.authority, stranger.team) == (Authority.STRANGER, "")
    assert (admin.authority, admin.team) == (Authority.ADMIN, GUILD)
    assert stranger.place.within_team is None


async def test_a_server_of_ones_own_gives_nobody_what_a_member_without_the_role_lacks() -> None:
    async with attacked(chosen=DiscordSettings(employees=frozenset({"55"})), **NAMED) as (fake, host):
        fake.world.absent_from.clear()
        await fake.write(BO, "let me in")
        await taken(host, 1)
    assert host.taken[0].authority is Authority.GUEST


async def test_nobody_is_answered_or_overheard_in_a_server_that_is_not_named() -> None:
    async with attacked(**NAMED) as (fake, host):
        await fake.say(BO, "only talking", HALL)
        await fake.say(BO, f"{ASK}hello", HALL)
        await fake.say(BO, f"{ASK}stop", HALL)
        await fake.until(lambda: fake.world.shown(DM_OF[BO]))
        await fake.say(ANN, f"{ASK}hello")
        await taken(host, 1)
        (told,) = fake.world.shown(DM_OF[BO])
    assert "COGENCY" in told
    assert OWN in told
    assert [each.channel for each in host.taken] == [GENERAL]
    assert host.overheard == []
    assert host.stopped == []
    assert fake.world.shown(HALL) == []


async def test_commands_completions_and_buttons_are_refused_there_to_their_user_alone() -> None:
    async with attacked(**NAMED) as (fake, host):
        await fake.command(BO, "ask", HALL, question="hello")
        await fake.until(lambda: by_the_bot(fake))
        completing = await fake.complete(BO, "ask", "model", "u", HALL)
        await fake.until(lambda: completing.acknowledged)
        (refused,) = by_the_bot(fake)
    assert "I am not set up for this server" in seen(refused)
    assert refused["flags"] & (1 << 6)
    assert completing.choices == []
    assert host.taken == []


@pytest.mark.parametrize("named", [NAMED, {}], ids=["named", "by its owner"])
async def test_a_server_that_added_the_commands_without_the_bot_is_refused_too(named: dict[str, Any]) -> None:
    async with attacked(**named) as (fake, host):
        fake.world.guilds["79"] = "another lair"  # of which the bot has heard nothing
        fake.world.open_channel("80", "den", guild="79")
        await fake.command(BO, "ask", "80", question="hello")
        await fake.until(lambda: by_the_bot(fake) or host.taken)
        shown = by_the_bot(fake)
    assert host.taken == []
    assert "I am not set up for this server" in seen(shown[0])


async def test_members_of_other_servers_are_served_there_by_setting_and_are_nobody_elsewhere() -> None:
    async with attacked(chosen=DiscordSettings(other_servers=OtherServers.SERVE), **NAMED) as (fake, host):
        await fake.say(BO, f"{ASK}hello", HALL)
        await fake.write(BO, "hello")
        await taken(host, 2)
    there, direct = sorted(host.taken, key=lambda each: each.authority, reverse=True)
    assert (there.authority, there.team) == (Authority.ADMIN, OWN)
    assert direct.authority is Authority.STRANGER


async def test_other_servers_are_left_by_setting_also_when_they_add_the_bot_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "bot"):
        async with attacked(chosen=DiscordSettings(other_servers=OtherServers.LEAVE), **NAMED) as (fake, _):
            await fake.until(lambda: OWN not in fake.world.guilds)
            fake.world.guilds["79"] = "another lair"
            joined = {key: value for key, value in fake.world.guild("79").items() if key != "unavailable"}
            await fake.dispatch("GUILD_CREATE", joined)
            await fake.until(lambda: "79" not in fake.world.guilds)
    assert list(fake.world.guilds) == [GUILD]
    assert "'lair' (77)" in caplog.text


class Ear(logging.Handler):
    """Hears the line that names a server."""

    def __init__(self, server: str) -> None:
        super().__init__(logging.WARNING)
        self._server = server
        self.heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def emit(self, record: logging.LogRecord) -> None:
        if self._server in record.getMessage() and not self.heard.done():
            self.heard.set_result(record.getMessage())


async def test_a_refused_server_is_told_of_in_the_log_with_the_setting() -> None:
    ear = Ear("lair")
    logging.getLogger("bot").addHandler(ear)
    try:
        async with attacked(**NAMED), asyncio.timeout(PATIENCE_S):
            line = await ear.heard
    finally:
        logging.getLogger("bot").removeHandler(ear)
    assert "'lair' (77)" in line
    assert "COGENCY_DISCORD_SERVERS" in line
    assert "Public Bot" in line


async def test_a_team_that_owns_the_application_names_its_members_servers() -> None:
    members: list[dict[str, Any]] = [
        {"user": {**_user(ANN)}, "team_id": "5", "membership_state": 2, "role": "admin", "permissions": []},
        {"user": {**_user(BO)}, "team_id": "5", "membership_state": 1, "role": "admin", "permissions": []},
    ]
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.rest.application["team"] = {"id": "5", "name": "t", "icon": None, "owner_user_id": ANN, "members": members}
        fake.world.guilds[OWN] = "lair"
        fake.world.owners[OWN] = BO
        fake.world.absent_from.add((BO, GUILD))
        async with serving(fake, host):
            await fake.write(BO, "hello")
            await fake.write(ANN, "hello")
            await taken(host, 2)
    assert [each.authority for each in host.taken] == [Authority.STRANGER, Authority.ADMIN]


def _user(number: str) -> dict[str, Any]:
    return {"id": number, "username": "n", "discriminator": "0", "avatar": None}
