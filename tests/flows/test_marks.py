"""The bot's reactions on a question follow its turn, where an operator has switched them on; on each platform."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.errors import ProviderRefused
from agent.providers.scripted import Answer, Until
from tests.flows.talks import Script, Talk, hang, talk_in
from tests.flows.worlds import WORLDS, AnyWorld, World, mainly_in_slack, mainly_on_discord

pytestmark = pytest.mark.parametrize("open_world", WORLDS)


@asynccontextmanager
async def marking(open_world: AnyWorld, script: Script, *, marks: bool = True) -> AsyncGenerator[Talk[World]]:
    async with talk_in(open_world, script) as talk:
        talk.world.marks = marks
        async with talk.running():
            yield talk


@mainly_in_slack
@pytest.mark.parametrize("is_direct", [True, False])
@pytest.mark.parametrize(("answer", "mark"), [("Hello.", "✅"), (ProviderRefused("No."), "⚠️")])
async def test_a_question_is_marked_while_it_is_answered_and_then_with_how_that_ended(
    open_world: AnyWorld, answer: str | ProviderRefused, mark: str, *, is_direct: bool
) -> None:
    gate = asyncio.Event()
    script: list[Answer] = [[Until(gate.wait), answer]]
    async with marking(open_world, script) as talk:
        asked = await (talk.world.write("hello?") if is_direct else talk.world.ask("hello?"))
        await talk.world.until(lambda: talk.world.marked(asked) == ["👀"])
        gate.set()
        await talk.world.until(lambda: talk.world.marked(asked) == [mark])


@mainly_on_discord
async def test_a_question_that_was_stopped_loses_its_mark(open_world: AnyWorld) -> None:
    async with marking(open_world, [["Half", Until(hang)]]) as talk:
        asked = await talk.world.ask("hello?")
        await talk.world.until(lambda: talk.world.marked(asked) == ["👀"])
        await talk.host.turns.stop_conversation(talk.world.conversation(asked))
        await talk.world.until(lambda: not talk.world.marked(asked))
        await talk.idle()
        assert not talk.world.marked(asked)


async def test_a_question_whose_message_was_deleted_loses_its_mark_and_gets_no_other(open_world: AnyWorld) -> None:
    async with marking(open_world, [["Half", Until(hang)], "Hello."]) as talk:
        asked = await talk.world.ask("hello?")
        await talk.world.until(lambda: talk.world.marked(asked) == ["👀"])
        await talk.world.delete(asked)
        await talk.world.until(lambda: talk.world.times_marked(asked) == 2 and not talk.world.marked(asked))
        again = await talk.world.ask("and now?")
        await talk.world.until(lambda: talk.world.marked(again) == ["✅"])
        await talk.idle()
        assert talk.world.times_marked(asked) == 2


async def test_the_process_that_goes_on_with_a_question_takes_its_mark_over(open_world: AnyWorld) -> None:
    async with talk_in(open_world, [["Half", Until(hang)]]) as talk:
        talk.world.marks = True
        async with talk.running():
            asked = await talk.world.ask("hello?")
            await talk.world.until(talk.world.answers)
            await talk.world.until(lambda: talk.world.marked(asked) == ["👀"])
        assert talk.world.marked(asked) == ["👀"]
        async with talk.running(["Hello again."]):
            await talk.world.until(lambda: talk.world.marked(asked) == ["✅"])


@mainly_in_slack
async def test_a_question_in_a_thread_of_the_bot_is_marked_there(open_world: AnyWorld) -> None:
    async with marking(open_world, ["Hello.", "Again."]) as talk:
        asked = await talk.world.ask("hello?")
        await talk.world.until(lambda: talk.world.marked(asked) == ["✅"])
        more = await talk.world.ask("and now?", asked)
        await talk.world.until(lambda: talk.world.marked(more) == ["✅"])


@mainly_in_slack
async def test_no_question_is_marked_by_default(open_world: AnyWorld) -> None:
    async with marking(open_world, ["Hello."], marks=False) as talk:
        asked = await talk.world.ask("hello?")
        await talk.ended(1)
        assert talk.texts() == ["Hello."]
        assert talk.world.times_marked(asked) == 0
