"""From what people write to what they read, on each platform: real adapter, turns and store; the model is scripted."""

import asyncio
from collections.abc import Sequence

import pytest

from agent.messages import Message
from agent.providers.scripted import Until
from tests.fakes.answers import answer_of
from tests.flows.talks import hang, talk_in, talking
from tests.flows.worlds import WORLDS, AnyWorld, Who, mainly_in_slack

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

HALF, WHOLE = "Half an answer", "Half an answer, and the other half."


def says_it_back(messages: Sequence[Message]) -> str:
    return f"To {messages[-1].text}"


async def test_a_mention_is_answered_in_a_thread_of_its_message(open_world: AnyWorld) -> None:
    async with talking(open_world, ["Hello."]) as talk:
        question = await talk.world.ask("hello?")
        await talk.ended(1)
        (answer,) = talk.world.answers(question)
        assert answer.text == "Hello."
        assert not answer.stands_alone
        assert talk.world.answers() == [answer]


async def test_a_direct_message_is_answered_there(open_world: AnyWorld) -> None:
    async with talking(open_world, ["Hello."]) as talk:
        await talk.world.write("hello?")
        await talk.ended(1)
        assert [page.text for page in talk.world.direct()] == ["Hello."]
        assert not talk.world.answers()
        assert talk.host.taken[0].person.name == talk.world.name


@mainly_in_slack
async def test_two_people_at_once_in_two_threads_each_get_their_answer(open_world: AnyWorld) -> None:
    async with talking(open_world, says_it_back) as talk:
        one, two = [await talk.world.ask(text, who=who) for text, who in (("apples", Who.ASKER), ("pears", Who.OTHER))]
        await talk.ended(2)
        assert [page.text for page in talk.world.answers(one)] == [f"To {talk.world.name}: apples"]
        (answer,) = talk.world.answers(two)
        assert answer.text.endswith(": pears")


@mainly_in_slack
async def test_two_people_at_once_in_one_thread_are_answered_in_order_and_by_name(open_world: AnyWorld) -> None:
    async with talking(open_world, says_it_back) as talk:
        question = await talk.world.ask("apples")
        await talk.ended(1)
        await asyncio.gather(talk.world.ask("more", question), talk.world.ask("pears", question, Who.OTHER))
        await talk.ended(3)
        mine, other = talk.world.name, talk.store.turns[2].incoming.person.name
        answers = [page.text for page in talk.world.answers(question)]
        assert answers == [f"To {mine}: apples", f"To {mine}: more", f"To {other}: pears"]
        assert other != mine


async def test_a_reply_that_a_dead_process_began_is_finished_in_the_same_message(open_world: AnyWorld) -> None:
    async with talk_in(open_world, [[HALF, Until(hang)]]) as talk:
        async with talk.running():
            await talk.world.ask("tell me")
            begun = await talk.until(HALF)
        async with talk.running([WHOLE]):
            await talk.ended(1)
        assert talk.world.answers() == [begun]
        assert begun.text == WHOLE


async def test_pages_that_the_finished_answer_does_not_need_are_deleted_after_a_crash(open_world: AnyWorld) -> None:
    async with talk_in(open_world, [[answer_of(9_000), Until(hang)]]) as talk:
        async with talk.running():
            await talk.world.ask("tell me")
            await talk.world.until(lambda: len(talk.world.answers()) > 1)
            begun = talk.world.answers()[0]
        async with talk.running(["Blue."]):
            await talk.ended(1)
        assert talk.world.answers() == [begun]
        assert begun.text == "Blue."


async def test_a_page_that_somebody_deleted_ends_the_answer(open_world: AnyWorld) -> None:
    gate = asyncio.Event()
    async with talking(open_world, [[HALF, Until(gate.wait), ", and the other half."]]) as talk:
        await talk.world.ask("tell me")
        growing = await talk.until(HALF)
        await talk.world.delete_reply(growing, unheard=True)
        gate.set()
        await talk.world.until(lambda: all(turn.state == "done" for turn in talk.store.turns))
        await talk.idle()
        assert not talk.world.answers()
