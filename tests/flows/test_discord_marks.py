"""The bot's reactions on a question, as only Discord has them; what is the same on each platform is in `test_marks`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.providers.scripted import Answer, ScriptedProvider
from bot.platforms.discord.settings import DiscordSettings
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT
from tests.fakes.fast_clock import FastClock
from tests.patience import PATIENCE_S


@asynccontextmanager
async def talking(*script: Answer, marks: bool = True) -> AsyncGenerator[tuple[FakeDiscord, AnsweringHost]]:
    clock = FastClock()
    host = answering_host(ScriptedProvider(script), clock)
    async with (
        running_discord(clock, window_s=WINDOW_S) as fake,
        serving(fake, host, chosen=DiscordSettings(marks=marks)),
        host.answering(),
    ):
        yield fake, host


async def test_a_question_that_is_answered_as_the_process_ends_gets_its_last_mark() -> None:
    async with talking("Hello.") as (fake, host):
        fake.rest.fail("DELETE", "/reactions/", 0, delay_s=15.0)  # Discord is slow to remove the first mark
        asked = await fake.write(ANN, "hello?")
        await fake.until(lambda: len(host.taken) == 1)
        await host.turns.idle()
        assert fake.rest.reactions[asked["channel_id"], asked["id"]] == ["👀"]
    assert fake.rest.reactions[asked["channel_id"], asked["id"]] == ["✅"]


async def test_a_mark_that_discord_does_not_take_does_not_keep_the_process_from_ending() -> None:
    async with asyncio.timeout(PATIENCE_S), talking("Hello.") as (fake, host):
        fake.rest.hang("DELETE", "/reactions/")
        await fake.write(ANN, "hello?")
        await fake.until(lambda: fake.rest.hanging)
        await host.turns.idle()


async def test_without_the_permission_a_question_is_answered_all_the_same() -> None:
    async with talking("Hello.") as (fake, host):
        fake.rest.fail("PUT", "/reactions/", 403, 50013, times=9)
        asked = await fake.say(ANN, f"<@{BOT}> hello?")
        await fake.until(lambda: any(message["content"] == "Hello." for message in by_the_bot(fake)))
        await host.turns.idle()
        assert fake.rest.reactions[asked["channel_id"], asked["id"]] == []


async def test_a_command_is_answered_without_a_mark() -> None:
    async with talking("Hello.") as (fake, host):
        await fake.command(ANN, "ask", question="hello?")
        await fake.until(lambda: len(host.taken) == 1)
        await host.turns.idle()
        assert [call for call in fake.calls if "/reactions/" in call.path] == []
