"""The bot's reactions on a question follow its turn, where an operator has switched them on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderRefused
from agent.providers.scripted import Answer, ScriptedProvider, Until
from bot.platforms.discord.settings import DiscordSettings
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import ANN, BOT, Payload
from tests.fakes.fast_clock import FastClock
from tests.fakes.store import store_in_memory
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


async def until_marked(fake: FakeDiscord, asked: Payload, *emojis: str) -> None:
    await fake.until(lambda: fake.rest.reactions[asked["channel_id"], asked["id"]] == [*emojis])


@pytest.mark.parametrize(("answer", "mark"), [("Hello.", "✅"), (ProviderRefused("No."), "⚠️")])
@pytest.mark.parametrize("is_direct", [True, False])
async def test_a_question_is_marked_while_it_is_answered_and_then_with_how_that_ended(
    answer: str | ProviderRefused, mark: str, *, is_direct: bool
) -> None:
    gate = asyncio.Event()
    async with talking([Until(gate.wait), answer]) as (fake, _):
        asked = await (fake.write(ANN, "hello?") if is_direct else fake.say(ANN, f"<@{BOT}> hello?"))
        await until_marked(fake, asked, "👀")
        gate.set()
        await until_marked(fake, asked, mark)


async def hang() -> None:
    await asyncio.Event().wait()


async def test_a_question_that_was_stopped_loses_its_mark() -> None:
    async with talking(["Half", Until(hang)]) as (fake, host):
        asked = await fake.say(ANN, f"<@{BOT}> hello?")
        await until_marked(fake, asked, "👀")
        await host.turns.stop_conversation(host.taken[0].conversation)
        await until_marked(fake, asked)
        await host.turns.idle()
        assert fake.rest.reactions[asked["channel_id"], asked["id"]] == []


async def test_a_question_whose_message_was_deleted_gets_no_other_mark() -> None:
    async with talking(["Half", Until(hang)], "Hello.") as (fake, host):
        asked = await fake.say(ANN, f"<@{BOT}> hello?")
        await until_marked(fake, asked, "👀")
        await fake.take_back(asked)
        await fake.until(
            lambda: [call.method for call in fake.calls if "/reactions/" in call.path] == ["PUT", "DELETE"]
        )
        again = await fake.say(ANN, f"<@{BOT}> and now?")
        await until_marked(fake, again, "✅")
        await host.turns.idle()
        assert len([call for call in fake.calls if asked["id"] in call.path and "/reactions/" in call.path]) == 2


async def test_the_process_that_goes_on_with_a_question_takes_its_mark_over() -> None:
    clock, store = FastClock(), store_in_memory()
    marked = DiscordSettings(marks=True)
    async with running_discord(clock, window_s=WINDOW_S) as fake:
        host = answering_host(ScriptedProvider([["Half", Until(hang)]]), clock, store)
        async with serving(fake, host, chosen=marked), host.answering():
            asked = await fake.write(ANN, "hello?")
            await until_marked(fake, asked, "👀")
        await until_marked(fake, asked, "👀")
        host = answering_host(ScriptedProvider(["Hello again."]), clock, store)
        async with serving(fake, host, chosen=marked), host.answering():
            await until_marked(fake, asked, "✅")


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


async def test_a_question_in_a_thread_of_the_bot_is_marked_there() -> None:
    async with talking("Hello.", "Again.") as (fake, _):
        asked = await fake.say(ANN, f"<@{BOT}> hello?")
        await until_marked(fake, asked, "✅")
        more = await fake.say(ANN, f"<@{BOT}> and now?", asked["id"])
        await until_marked(fake, more, "✅")


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


async def test_no_question_is_marked_by_default() -> None:
    async with talking("Hello.", marks=False) as (fake, host):
        asked = await fake.say(ANN, f"<@{BOT}> hello?")
        await fake.until(lambda: fake.world.shown(asked["id"]))
        await host.turns.idle()
        assert [call for call in fake.calls if "/reactions/" in call.path] == []
