"""Who can read a group place of Discord now: its permissions decide; anything else is unknown or a no."""

from collections.abc import AsyncGenerator, Mapping

import pytest

from tests.fakes.discord_bot import serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BO, BOT, CONNECT, GENERAL, GUILD, STAFF, VIEW, VOICE
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import recording_host

OPEN, CLOSED = "600", "601"  # A public thread of the staff's channel, and a private one of the general channel


@pytest.fixture
async def fake() -> AsyncGenerator[FakeDiscord, None]:
    """A server of ann, its owner, and bo, who may read the staff's channel by an exception."""
    async with running_discord(FastClock()) as fake:
        fake.world.channels[STAFF]["permission_overwrites"].append(exception(BO, allow=VIEW))
        fake.world.start_thread(STAFF, OPEN, "minutes")
        fake.world.start_thread(GENERAL, CLOSED, "surprise", kind=12)
        yield fake


def exception(person: str, *, allow: int = 0, deny: int = 0) -> dict[str, object]:
    return {"id": person, "type": 1, "allow": str(allow), "deny": str(deny)}


async def read(fake: FakeDiscord, person: str, *channels: str) -> Mapping[str, bool]:
    host = recording_host()
    async with serving(fake, host):
        await fake.say(ANN, f"<@{BOT}> hello")  # by then the server is known
        await host.arrived.wait()
        known = await host.platforms.readers.platforms["discord"].readable(
            f"discord:{person}", [f"discord:{one}" for one in channels]
        )
    return {place.removeprefix("discord:"): reads for place, reads in known.items()}


async def test_whoever_may_view_a_channel_reads_it_and_its_public_threads(fake: FakeDiscord) -> None:
    assert await read(fake, BO, STAFF, OPEN) == {STAFF: True, OPEN: True}


async def test_whoever_is_shut_out_of_a_channel_reads_neither_it_nor_its_threads(fake: FakeDiscord) -> None:
    fake.world.channels[STAFF]["permission_overwrites"].pop()
    assert await read(fake, BO, STAFF, OPEN) == {STAFF: False, OPEN: False}


async def test_a_private_thread_is_read_by_those_who_were_invited(fake: FakeDiscord) -> None:
    fake.world.everyone_may = str(VIEW | 1 << 16)
    assert await read(fake, BO, CLOSED) == {CLOSED: False}
    fake.world.in_thread[CLOSED] = {BO}
    assert await read(fake, BO, CLOSED) == {CLOSED: True}


async def test_a_voice_channel_is_read_by_those_who_may_join_it(fake: FakeDiscord) -> None:
    assert await read(fake, BO, VOICE) == {VOICE: True}
    fake.world.channels[VOICE]["permission_overwrites"].append(exception(BO, deny=CONNECT))
    assert await read(fake, BO, VOICE) == {VOICE: False}


async def test_who_has_left_the_server_reads_nothing_of_it(fake: FakeDiscord) -> None:
    fake.world.absent.add(BO)
    assert await read(fake, BO, STAFF, GENERAL) == {STAFF: False, GENERAL: False}


async def test_of_a_channel_that_was_deleted_or_is_no_channel_of_a_server_nobody_is_a_reader(fake: FakeDiscord) -> None:
    assert await read(fake, BO, "999", "71", "no number") == {"999": False, "71": False, "no number": False}


@pytest.mark.slow
async def test_while_discord_does_not_answer_nothing_is_known(fake: FakeDiscord) -> None:
    fake.rest.fail("GET", f"/guilds/{GUILD}/members/{BO}", 403)
    assert await read(fake, BO, STAFF) == {}


async def test_one_server_is_asked_once_for_all_its_channels(fake: FakeDiscord) -> None:
    await read(fake, BO, STAFF, OPEN, GENERAL, VOICE)
    assert sum(call.path == f"/guilds/{GUILD}/members/{BO}" for call in fake.calls) == 1
