"""What reaches whom in Slack: real slack-bolt and turns; the model is scripted. See `test_feedback`, too."""

import re
from datetime import UTC, datetime

from bot.platforms import texts as platforms_texts
from bot.platforms.slack.question_views import ANYWHERE_SHORTCUT
from tests.fakes.slack_things import FakeMessage
from tests.flows.test_slack_replies import ME, World, workspace

PING = re.compile(r"<@|<!(channel|here|everyone|group|subteam)|(?<!\w)@(channel|here|everyone|group)\b", re.IGNORECASE)
EVER = datetime(1970, 1, 1, tzinfo=UTC)


async def asked(world: World, words: str = "which colour?") -> FakeMessage:
    """Ann has asked in the channel and been answered; the reply."""
    done = len(world.store.turns) + 1
    question = await world.slack.say(world.ann, world.general, f"{ME} {words}")
    await world.answered(done)
    return world.slack.state.answers(world.general, question.ts)[-1]


async def test_a_verdict_is_thanked_for_in_the_thread_of_the_reply_alone() -> None:
    async with workspace(["It is blue."]) as world, world.running():
        answer = await asked(world)
        await world.slack.click(world.bob, answer, "Good answer")
        await world.slack.until(lambda: world.slack.state.ephemerals)
    (thanks,) = world.slack.state.ephemerals
    assert (thanks.user, thanks.thread_ts, thanks.text) == (
        world.bob,
        answer.thread_ts,
        platforms_texts.NOTED,
    )


async def test_nothing_that_a_model_writes_pings_or_unfolds() -> None:
    pings = "<!channel> <@U0BOB> <!subteam^S1> @here &lt;!everyone&gt; `<@U0BOB>` https://example.org"
    async with workspace([pings, pings]) as world, world.running():
        await asked(world)
        await world.slack.command(world.ann, world.general, "/ask", "privately again?")
        await world.answered(2)
        await world.slack.until(lambda: world.slack.state.ephemerals)
    shown = [message.text for message in world.slack.state.answers(world.general)]
    shown += [ephemeral.text for ephemeral in world.slack.state.ephemerals]
    assert len(shown) == 2
    assert not any(PING.search(text) for text in shown)
    assert not any(message.unfurl for message in world.slack.state.answers(world.general))


async def test_people_and_channels_are_named_to_the_model() -> None:
    async with workspace(["I will."]) as world, world.running():
        random = world.slack.state.channel("random")
        await asked(world, f"tell <@{world.bob}> about <#{random}>")
    question = world.model.requests[0][-1]
    assert "tell @bob about #random" in question.text


async def test_a_question_from_anywhere_is_answered_below_it() -> None:
    async with workspace(["It is blue."]) as world, world.running():
        await world.slack.shortcut_anywhere(world.ann, ANYWHERE_SHORTCUT)
        await world.slack.until(lambda: world.slack.state.views)
        await world.slack.fill_in(
            world.ann,
            world.slack.state.views[0],
            question={"value": "which colour?"},
            where={"selected_conversation": world.general},
        )
        await world.answered()
        question, answer = world.slack.state.answers(world.general)
    assert question.text == "**ann** asks:\n> which colour?"
    assert (answer.text, answer.thread_ts) == ("It is blue.", question.ts)


async def test_a_private_answer_whose_address_is_spent_goes_to_the_direct_messages_never_to_the_channel() -> None:
    async with workspace(["You earn enough."]) as world, world.running():
        elsewhere = world.slack.state.channel("elsewhere", bot=False)
        world.slack.expire_all()
        envelope = await world.slack.command(world.ann, elsewhere, "/ask", "privately what do I earn?")
        world.slack.expire_all()
        await world.slack.acked(envelope)
        await world.answered()
        await world.slack.until(lambda: world.slack.state.answers(world.dm))
    assert [message.text for message in world.slack.state.answers(world.dm)] == ["You earn enough."]
    assert not world.slack.state.ephemerals
    assert not world.slack.state.answers(elsewhere)


async def test_a_question_that_was_most_likely_meant_to_be_private_is_shown_to_nobody() -> None:
    async with workspace(["You earn enough."]) as world, world.running():
        for words in ("privatly what do I earn?", "deep: privatly what do I earn?", "deep:", ""):
            await world.slack.acked(await world.slack.command(world.ann, world.general, "/ask", words))
        assert not world.slack.state.answers(world.general)
        assert [one.text.partition(" ")[0] for one in world.slack.state.ephemerals] == [
            "I",
            "I",
            "Write",
            "Write",
        ]
        await world.slack.command(world.ann, world.general, "/ask", "deep: privately what do I earn?")
        await world.answered()
        await world.slack.until(lambda: len(world.slack.state.ephemerals) == 5)
    assert not world.slack.state.answers(world.general)


async def test_commands_in_a_thread_are_words_that_only_the_asker_sees_answered() -> None:
    async with workspace(["It is blue."]) as world, world.running():
        answer = await asked(world)
        for words in ("usage", "policy", "memory", "budget", "model", "help", "forget this thread"):
            await world.slack.say(world.ann, world.general, f"{ME} {words}", answer.thread_ts)
            await world.slack.settled()
        await world.slack.until(lambda: len(world.slack.state.ephemerals) == 7)
    assert {(one.user, one.thread_ts) for one in world.slack.state.ephemerals} == {(world.ann, answer.thread_ts)}
    assert len(world.store.turns) == 1
