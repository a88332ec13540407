"""What people do about a reply that has ended, and who may; on each platform."""

import pytest

from agent.shown_replies import ReplyVerdict
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from tests.flows.talks import talk_in, talking
from tests.flows.worlds import WORLDS, AnyWorld, Who, mainly_in_slack, mainly_on_discord

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

BLUE, AZURE = "It is blue.", "It is azure."
GOOD, BAD = ReplyVerdict.GOOD, ReplyVerdict.BAD


@pytest.mark.parametrize(("action", "verdict"), [(ReplyAction.GOOD, GOOD), (ReplyAction.BAD, BAD)])
async def test_a_verdict_of_anybody_is_kept_and_a_good_one_thanked_for_alone_also_after_a_restart(
    open_world: AnyWorld, action: ReplyAction, verdict: ReplyVerdict
) -> None:
    async with talk_in(open_world, [BLUE]) as talk:
        async with talk.running():
            answer = await talk.asked()
        async with talk.running():
            await talk.world.press(answer, talk.world.label(action), Who.OTHER)
            await talk.world.until(lambda: talk.store.verdicts)
            if verdict is GOOD:
                await talk.told(platforms_texts.NOTED)
        (turn,) = talk.store.turns
        assert talk.store.verdicts == {(turn.id, talk.world.person(Who.OTHER)): verdict}
        assert talk.world.label(action) in answer.buttons


@mainly_in_slack
async def test_a_verdict_can_be_changed_and_counts_once(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE]) as talk:
        answer = await talk.asked()
        for times in (1, 2):
            await talk.world.press(answer, talk.world.label(ReplyAction.GOOD))
            thanks = [platforms_texts.NOTED] * times
            await talk.world.until(
                lambda thanks=thanks: [p.text.split("\n")[0] for p in talk.world.private()] == thanks
            )
        await talk.world.press(answer, talk.world.label(ReplyAction.BAD))
        await talk.world.until(lambda: [*talk.store.verdicts.values()] == [BAD])


@mainly_on_discord
async def test_reactions_of_anybody_are_verdicts_and_can_be_taken_back(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE]) as talk:
        answer = await talk.asked()
        for emoji, take_back, verdicts in (("👍", False, [GOOD]), ("👎", False, [BAD]), ("👎", True, [])):
            await talk.world.react(answer, emoji, Who.OTHER, take_back=take_back)
            await talk.world.until(lambda verdicts=verdicts: [*talk.store.verdicts.values()] == verdicts)
        assert not talk.world.private()


async def test_a_wastebasket_deletes_the_reply_for_whoever_asked_alone(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE]) as talk:
        answer = await talk.asked()
        await talk.world.react(answer, "🗑", Who.OTHER)
        await talk.world.react(answer, "👎", Who.OTHER)
        await talk.world.until(lambda: talk.store.verdicts)
        assert talk.world.answers() == [answer]
        await talk.world.react(answer, "🗑")
        await talk.world.until(lambda: not talk.world.answers())
        assert not talk.world.private()


async def test_a_question_is_answered_again_in_its_thread_for_its_asker_alone_and_once(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE, AZURE]) as talk:
        question = await talk.world.ask("which colour?")
        await talk.ended(1)
        (answer,) = talk.world.answers(question)
        again, regenerate = answer.copy(), talk.world.label(ReplyAction.REGENERATE)
        await talk.world.press(answer, regenerate, Who.OTHER)
        await talk.told(reply_texts.NOT_YOURS)
        assert regenerate in answer.buttons
        await talk.world.press(answer, regenerate)
        await talk.ended(2)
        await talk.world.press(again, regenerate)
        await talk.world.until(lambda: len(talk.host.taken) == 3)
        await talk.ended(2)
        assert [page.text for page in talk.world.answers(question)] == [BLUE, AZURE]
        first, second = (request[-1].text for request in talk.model.requests)
        assert first == second == f"{talk.world.name}: which colour?"


@mainly_in_slack
async def test_the_second_answer_can_be_asked_for_once_more(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE, AZURE, "It is navy."]) as talk:
        await talk.asked()
        for turns in (2, 3):
            await talk.world.press(talk.world.answers()[-1], talk.world.label(ReplyAction.REGENERATE))
            await talk.ended(turns)
        assert talk.texts() == [BLUE, AZURE, "It is navy."]


@mainly_in_slack
async def test_what_happens_to_a_question_happens_to_it_where_it_was_asked_again(open_world: AnyWorld) -> None:
    async with talking(open_world, [BLUE, AZURE]) as talk:
        question = await talk.world.ask("which colour?")
        await talk.ended(1)
        await talk.world.press(talk.world.answers()[-1], talk.world.label(ReplyAction.REGENERATE))
        await talk.ended(2)
        await talk.world.edit(question, "which number?")
        await talk.world.until(lambda: {turn.incoming.text for turn in talk.store.turns} == {"which number?"})
        await talk.world.delete(question)
        await talk.world.until(lambda: not talk.store.turns)


@pytest.mark.parametrize("by_its_asker", [True, False])
async def test_a_reply_that_its_asker_or_a_manager_deletes_is_not_said_to_the_model_again(
    open_world: AnyWorld, *, by_its_asker: bool
) -> None:
    async with talking(open_world, ["It is mauve.", "Hello."]) as talk:
        question = await talk.world.ask("which colour?")
        await talk.ended(1)
        (answer,) = talk.world.answers(question)
        if by_its_asker:
            await talk.world.press(answer, talk.world.label(ReplyAction.DELETE))
        else:
            await talk.world.delete_reply(answer)
        await talk.world.until(lambda: not talk.world.answers())
        await talk.asked("and now?", question)
        assert not any("mauve" in message.text for message in talk.model.requests[-1])
