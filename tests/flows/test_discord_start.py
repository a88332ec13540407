"""How the Discord adapter starts, or says in one sentence why it cannot: real discord.py over real sockets."""

import asyncio
import logging
from dataclasses import replace

import pytest

from agent.errors import SettingsError
from bot.chat.platform_errors import PlatformUnavailable
from bot.platforms.discord.run import DiscordUnreachable, serve
from bot.settings.secret import Secret
from tests.fakes.discord_bot import serving, settings
from tests.fakes.discord_gateway import PATIENCE_S, running_discord
from tests.fakes.discord_world import ANN, BOT, GENERAL, VIEW
from tests.fakes.fast_clock import FastClock
from tests.fakes.recording_host import recording_host

ASK = f"<@{BOT}> "


async def test_without_the_message_content_intent_mentions_and_dms_still_work(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = recording_host()
    async with running_discord(FastClock(speed=1.0)) as fake:
        fake.grant_message_content = False
        with caplog.at_level(logging.WARNING, "bot"):
            async with serving(fake, host):
                asked = await fake.say(ANN, f"{ASK}hello")
                fake.world.start_thread(GENERAL, asked["id"], "hello")
                await fake.say(ANN, "unseen", asked["id"])
                await fake.say(ANN, f"{ASK}seen", asked["id"])
                await fake.write(ANN, "in private")
                async with asyncio.timeout(PATIENCE_S):
                    while len(host.taken) < 3:
                        host.arrived.clear()
                        await host.arrived.wait()
    assert sorted(each.text for each in host.taken) == ["hello", "in private", "seen"]
    assert host.overheard == []
    (line,) = [record.getMessage() for record in caplog.records]
    assert "Message Content Intent is off" in line


class Ear(logging.Handler):
    """Hears one line."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.set_result(record.getMessage())


async def test_missing_permissions_are_named_at_start_up() -> None:
    ear = Ear()
    logging.getLogger("bot").addHandler(ear)
    try:
        async with running_discord(FastClock(speed=1.0)) as fake:
            fake.world.everyone_may, fake.world.bot_may = str(VIEW), "0"
            async with serving(fake, recording_host()), asyncio.timeout(PATIENCE_S):
                line = await ear.heard
    finally:
        logging.getLogger("bot").removeHandler(ear)
    assert "harbour: Send Messages, Read Message History, Create Public Threads" in line


async def test_a_wrong_token_is_one_sentence_that_names_the_setting() -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock) as fake:
        wrong = replace(settings(fake), token=Secret("wrong"))
        with pytest.raises(SettingsError, match=r"^Discord does not accept DISCORD_TOKEN. Reset it"):
            await serve(recording_host(), wrong, clock)


async def test_a_token_that_only_the_gateway_refuses_is_told_in_the_same_words() -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock) as fake:
        fake.gateway_token = "another"
        with pytest.raises(SettingsError, match=r"^Discord does not accept DISCORD_TOKEN"):
            await serve(recording_host(), settings(fake), clock)


@pytest.mark.parametrize(
    ("moved", "names"),
    [
        ({"api_base_url": "http://127.0.0.1:9/api/v10"}, "DISCORD_API_BASE_URL"),
        ({"gateway_url": "ws://127.0.0.1:9"}, "DISCORD_GATEWAY_URL"),
    ],
)
async def test_an_address_that_cannot_be_reached_is_one_sentence_that_names_it(
    moved: dict[str, str], names: str
) -> None:
    clock = FastClock(speed=1.0)
    async with running_discord(clock) as fake:
        with pytest.raises(PlatformUnavailable, match=names):  # so it is tried again for ever
            await serve(recording_host(), replace(settings(fake), **moved), clock)


async def test_a_token_that_the_gateway_refuses_once_while_it_is_served_is_tried_again() -> None:
    clock = FastClock(speed=20.0)
    async with running_discord(clock) as fake:
        serving_it = asyncio.create_task(serve(recording_host(), settings(fake), clock))
        await fake.until(lambda: fake.connected)
        fake.close_identify = 4004
        fake.forget_sessions()
        fake.drop()
        async with asyncio.timeout(PATIENCE_S):
            with pytest.raises(DiscordUnreachable):
                await serving_it
