"""Stopping and going on, and what becomes of an answer whose question is edited or deleted; on each platform."""

import asyncio

import pytest

from agent.errors import StreamBroken
from agent.providers.scripted import Until
from bot.chat.reply.surface import ReplyAction
from bot.platforms import texts as platforms_texts
from tests.flows.talks import Talk, hang, talking
from tests.flows.worlds import WORLDS, AnyWorld, Page, Who, World, mainly_in_slack, mainly_on_discord

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

HALF, OTHER_HALF = "Half an answer", "The other half."
STOPPED = f"{HALF}\n\n*Stopped.*"
GROWING = [HALF, Until(hang)]
BROKEN = [HALF, StreamBroken("The answer broke off.")]


@mainly_in_slack
async def test_the_word_stop_of_anybody_in_its_thread_ends_an_answer_with_what_was_said(open_world: AnyWorld) -> None:
    async with talking(open_world, [GROWING]) as talk:
        question = await talk.world.ask("hello?")
        await talk.until(HALF, question)
        await talk.world.ask("stop.", question, Who.OTHER)
        await talk.until(STOPPED, question)
        await talk.ended(1)
        (answer,) = talk.world.answers()
        await talk.world.until(lambda: talk.world.label(ReplyAction.REGENERATE) in answer.buttons)
        assert "Stop" not in answer.buttons
        assert talk.texts() == [STOPPED]


async def test_the_growing_answer_to_a_question_that_is_deleted_disappears(open_world: AnyWorld) -> None:
    async with talking(open_world, [GROWING, "Hello."]) as talk:
        question = await talk.world.ask("hello?")
        await talk.until(HALF, question)
        await talk.world.delete(question)
        await talk.world.until(lambda: not talk.world.answers())
        await talk.idle()
        await talk.world.ask("hello again?")
        await talk.until("Hello.")
        await talk.idle()
        assert talk.texts() == ["Hello."]


@pytest.mark.parametrize("by_command", [True, False])
async def test_a_growing_answer_disappears_when_its_asker_reacts_with_a_wastebasket_and_nobody_else(
    open_world: AnyWorld, *, by_command: bool
) -> None:
    async with talking(open_world, [GROWING, "Hello."]) as talk:
        await (talk.world.command("ask", "hello?") if by_command else talk.world.ask("hello?"))
        growing = await talk.until(HALF)
        await talk.world.until(lambda: talk.store.turns[0].reply_ref)
        await talk.world.react(growing, "🗑", Who.OTHER)
        await talk.world.ask("and you?", who=Who.OTHER)
        await talk.until("Hello.")
        assert growing in talk.world.answers()
        await talk.world.react(growing, "🗑")
        await talk.world.until(lambda: growing not in talk.world.answers())
        await talk.idle()
        assert "Hello." in talk.texts()


async def test_an_edited_question_that_waits_is_answered_as_edited_and_a_deleted_one_is_dropped(
    open_world: AnyWorld,
) -> None:
    gate = asyncio.Event()
    async with talking(open_world, [[HALF, Until(gate.wait)], "Second."]) as talk:
        question = await talk.world.ask("first")
        await talk.until(HALF, question)
        edited, deleted = [await talk.world.ask(text, question) for text in ("secnod", "third")]
        await talk.world.until(lambda: len(talk.store.turns) == 3)
        await talk.world.edit(edited, "second")
        await talk.world.delete(deleted)
        await talk.world.until(lambda: [turn.state for turn in talk.store.turns].count("done") == 1)
        await talk.world.until(lambda: talk.store.turns[1].incoming.text == "second")
        gate.set()
        await talk.ended(3)
        assert [turn.incoming.text for turn in talk.store.turns] == ["first", "second", ""]
        assert talk.texts() == [HALF, "Second."]


async def cut(talk: Talk[World]) -> Page:
    """An answer that was cut, below which it can be told to go on."""
    answer = await talk.asked("hello?")
    await talk.world.until(lambda: "Continue" in answer.buttons)
    assert answer.text.startswith(HALF)
    return answer


@mainly_on_discord
@pytest.mark.parametrize("who", [Who.ASKER, Who.OTHER])
async def test_an_answer_that_was_cut_goes_on_at_a_press_of_its_button(open_world: AnyWorld, who: Who) -> None:
    async with talking(open_world, [BROKEN, OTHER_HALF]) as talk:
        answer = await cut(talk)
        await talk.world.press(answer, "Continue", who)
        await talk.ended(2)
        assert [page.text for page in talk.world.answers()][1:] == [OTHER_HALF]
        first, second = (turn.incoming for turn in talk.store.turns)
        assert (second.text, second.person.id) == (platforms_texts.GO_ON, talk.world.person(who))
        assert second.conversation == first.conversation
        assert not talk.world.private()


@mainly_in_slack
async def test_two_presses_of_continue_are_one_question(open_world: AnyWorld) -> None:
    async with talking(open_world, [BROKEN, OTHER_HALF, "Hello."]) as talk:
        answer = await cut(talk)
        again = answer.copy()
        await talk.world.press(answer, "Continue")
        await talk.world.press(again, "Continue")
        await talk.until(OTHER_HALF)
        await talk.asked("hello again?")
        assert talk.texts()[1:] == [OTHER_HALF, "Hello."]


async def test_an_answer_that_went_on_can_still_be_deleted(open_world: AnyWorld) -> None:
    async with talking(open_world, [BROKEN, OTHER_HALF]) as talk:
        answer = await cut(talk)
        await talk.world.press(answer, "Continue")
        await talk.ended(2)
        await talk.world.press(answer, talk.world.label(ReplyAction.DELETE))
        await talk.world.until(lambda: talk.texts() == [OTHER_HALF])
