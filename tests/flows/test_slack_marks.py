"""The bot's reactions on a question follow its turn, where an operator has switched them on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderRefused
from agent.providers.scripted import Answer, ScriptedProvider, Until
from bot.platforms.slack.settings import SlackSettings
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.store import StoreInMemory, store_in_memory

MARKED = SlackSettings(marks=True)


async def hang() -> None:
    await asyncio.Event().wait()


@asynccontextmanager
async def answering(
    slack: FakeSlack, store: StoreInMemory, *script: Answer, settings: SlackSettings = MARKED
) -> AsyncGenerator[AnsweringHost]:
    host = answering_host(ScriptedProvider(script), slack.clock, store)
    async with serving(slack, host, chosen=settings), host.answering():
        yield host


async def ask(slack: FakeSlack) -> FakeMessage:
    return await slack.say(slack.state.user("ann"), slack.state.channel("general"), f"<@{BOT_USER}> hello?")


async def until_marked(slack: FakeSlack, asked: FakeMessage, *names: str) -> None:
    await slack.until(lambda: slack.state.reactions[asked.channel, asked.ts] == [*names])


@pytest.mark.parametrize(("answer", "mark"), [("Hello.", "white_check_mark"), (ProviderRefused("No."), "warning")])
async def test_a_question_is_marked_while_it_is_answered_and_then_with_how_that_ended(
    answer: str | ProviderRefused, mark: str
) -> None:
    gate = asyncio.Event()
    async with FakeSlack(FastClock()) as slack, answering(slack, store_in_memory(), [Until(gate.wait), answer]):
        asked = await ask(slack)
        await until_marked(slack, asked, "eyes")
        gate.set()
        await until_marked(slack, asked, mark)


async def test_a_question_whose_message_was_deleted_loses_its_mark() -> None:
    async with FakeSlack(FastClock()) as slack, answering(slack, store_in_memory(), ["Half", Until(hang)]) as host:
        asked = await ask(slack)
        await until_marked(slack, asked, "eyes")
        await host.turns.withdraw(asked.channel, asked.ts)
        await until_marked(slack, asked)


async def test_a_question_that_was_stopped_loses_its_mark() -> None:
    async with FakeSlack(FastClock()) as slack, answering(slack, store_in_memory(), ["Half", Until(hang)]) as host:
        asked = await ask(slack)
        await until_marked(slack, asked, "eyes")
        await host.turns.stop_conversation(host.taken[0].conversation)
        await until_marked(slack, asked)
        await host.turns.idle()
        assert slack.state.reactions[asked.channel, asked.ts] == []


async def test_the_process_that_goes_on_with_a_question_takes_its_mark_over() -> None:
    store = store_in_memory()
    async with FakeSlack(FastClock()) as slack:
        async with answering(slack, store, ["Half", Until(hang)]):
            asked = await ask(slack)
            await slack.until(lambda: slack.state.answers(asked.channel, asked.ts))
            await until_marked(slack, asked, "eyes")
        await until_marked(slack, asked, "eyes")
        async with answering(slack, store, "Hello again."):
            await until_marked(slack, asked, "white_check_mark")


async def test_no_question_is_marked_by_default() -> None:
    async with (
        FakeSlack(FastClock()) as slack,
        answering(slack, store_in_memory(), "Hello.", settings=SlackSettings()) as host,
    ):
        asked = await ask(slack)
        await slack.until(lambda: slack.state.answers(asked.channel, asked.ts))
        await host.turns.idle()
        assert [call for call in slack.state.calls if call.method.startswith("reactions.")] == []
