"""A message during an answer waits, or, by a setting, joins the turn. Real turns; the rest is in memory."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent.appended_messages import JUST_ARRIVED
from agent.errors import ProviderRefused
from agent.events import Outcome
from agent.messages import Message
from agent.providers.scripted import Answer, Answering, Until
from bot.chat.turns.runner import TurnRunner
from tests.bot.chat.turns.test_worker import REMEMBER, World
from tests.fakes.incoming import said


class Joining(World):
    """Messages join."""

    def runner(self) -> TurnRunner:
        return replace(super().runner(), joins=True)


def behind(world: World, *texts: str) -> Answering:
    """A first round in which the person writes again, before the tool is called."""

    async def write_on() -> None:
        for text in texts:
            await world.store.ledger.accept(said(text))

    def answer(_: Sequence[Message]) -> Answer:
        return ["Noting it.\n", Until(write_on), REMEMBER]

    return answer


def told(world: World) -> list[int]:
    """Return how many newly arrived messages each request contains."""
    return [sum(message.text.count(JUST_ARRIVED) for message in request) for request in world.model.requests]


async def test_a_message_that_comes_meanwhile_waits_for_its_own_answer() -> None:
    world = World([])
    world.model.script = [behind(world, "and the sails?"), "Noted.", "White."]
    async with world.serving() as turns:
        await turns.submit(said("Remember my boat"))
        await turns.idle()
    assert world.stored() == ["Remember my boat", "Noting it.\n\nNoted.", "and the sails?", "White."]
    assert told(world) == [0, 0, 0]


async def test_by_setting_it_joins_and_is_answered_by_the_running_answer_alone() -> None:
    world = Joining([])
    world.model.script = [behind(world, "and the sails?", "and the mast?"), "Noted, all of it."]
    async with world.serving() as turns:
        await turns.submit(said("Remember my boat"))
        await turns.idle()
    assert told(world) == [0, 2]
    assert world.shown() == ["Noting it.\n\nNoted, all of it."]
    everything = ["Remember my boat", "and the sails?", "and the mast?", "Noting it.\n\nNoted, all of it."]
    assert world.stored() == everything


async def test_what_comes_after_the_last_round_waits_all_the_same() -> None:
    world = Joining([])

    async def write_on() -> None:
        await world.store.ledger.accept(said("and the sails?"))

    world.model.script = [["Hello.", Until(write_on)], "White."]
    async with world.serving() as turns:
        await turns.submit(said("Hello?"))
        await turns.idle()
    assert world.stored() == ["Hello?", "Hello.", "and the sails?", "White."]


async def test_what_joined_an_answer_that_failed_is_answered_by_itself() -> None:
    world = Joining([])
    world.model.script = [
        lambda _: [REMEMBER],
        [ProviderRefused("No more.")],
        "White.",
    ]
    async with world.serving() as turns:
        await turns.submit(said("Remember my boat"))
        await world.store.ledger.accept(said("and the sails?"))
        await turns.idle()
    assert told(world) == [0, 1, 0]
    assert world.stored() == ["Remember my boat", "No more.", "and the sails?", "White."]


async def test_a_stop_ends_what_runs_and_what_waits_behind_it() -> None:
    world = Joining([])
    thinking, never = asyncio.Event(), asyncio.Event()

    async def think() -> None:
        thinking.set()
        await never.wait()

    world.model.script = [behind(world, "and the sails?"), ["Well,", Until(think)]]
    async with world.serving() as turns:
        await turns.submit(said("Remember my boat"))
        await thinking.wait()
        await turns.stop_conversation("thread")
        await turns.idle()
    assert len(world.model.requests) == 2
    assert [turn.outcome for turn in world.store.turns if turn.outcome] == [Outcome.STOPPED] * 2


@pytest.mark.slow
@pytest.mark.parametrize("patience", range(0, 60, 3))
async def test_an_answer_that_goes_on_in_another_process_is_joined_once(patience: int) -> None:
    """The first process ends after this many iterations of the event loop."""
    world = Joining(lambda messages: "Noted." if "<results>" in messages[-1].text else REMEMBER)
    await world.store.ledger.accept(said("Remember my boat"))
    await world.store.ledger.accept(said("and the sails?"))
    async with world.serving():
        for _ in range(patience):
            await asyncio.sleep(0)
    async with world.serving() as turns:
        await turns.idle()
    assert world.stored() == ["Remember my boat", "and the sails?", "Noted."]
    assert max(told(world)) == 1
