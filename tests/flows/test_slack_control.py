"""Stopping and going on in Slack: real slack-bolt, sockets, turns and live replies; the model is scripted."""

import asyncio
from functools import partial

from agent.errors import StreamBroken
from agent.providers.scripted import ScriptedProvider, Until
from bot.chat.connections import serve_all
from bot.chat.turns.worker import LEAVE_S
from bot.platforms.slack.run import CLOSE_S, DELIVERY_CLOSE_S, serve
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import app_of, settings
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host
from tests.flows.test_slack_replies import ME, workspace

HALF = "Half an answer"


async def hang() -> None:
    await asyncio.Event().wait()


async def test_the_word_stop_ends_the_answer_with_what_was_said() -> None:
    async with workspace([[HALF, Until(hang)]]) as world, world.running():
        question = await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.slack.until(lambda: world.slack.state.answers(world.general))
        await world.slack.say(world.bob, world.general, f"{ME} stop", question.ts)
        await world.answered()
        await world.slack.until(lambda: "*Stopped.*" in world.slack.state.answers(world.general)[0].text)
        (answer,) = world.slack.state.answers(world.general)
    assert answer.text == f"{HALF}\n\n*Stopped.*"
    assert len(world.store.turns) == 1


async def test_the_growing_answer_to_a_question_that_is_deleted_disappears() -> None:
    async with workspace([[HALF, Until(hang)], "Hello."]) as world, world.running():
        question = await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.slack.until(lambda: world.slack.state.answers(world.general))
        gone = {"type": "message", "subtype": "message_deleted", "channel": question.channel}
        deletion = {**gone, "deleted_ts": question.ts, "previous_message": question.wire()}
        await world.slack.deliver(world.slack.envelope(deletion))
        await world.slack.until(lambda: not world.slack.state.answers(world.general))
        await world.answered()
        await world.slack.say(world.ann, world.general, f"{ME} hello again?")
        await world.answered(2)
        assert [answer.text for answer in world.slack.state.answers(world.general)] == ["Hello."]


async def test_a_growing_answer_disappears_when_its_asker_reacts_with_a_wastebasket_and_nobody_else() -> None:
    async with workspace([[HALF, Until(hang)], "Hello."]) as world, world.running():
        await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.slack.until(lambda: world.slack.state.answers(world.general))
        (growing,) = world.slack.state.answers(world.general)
        await world.slack.until(lambda: world.store.turns[0].reply_ref)
        await world.slack.acked(await world.slack.react(world.bob, growing, "wastebasket"))
        assert world.slack.state.answers(world.general)
        await world.slack.react(world.ann, growing, "wastebasket")
        await world.slack.until(lambda: not world.slack.state.answers(world.general))
        await world.answered()


async def test_an_answer_that_was_cut_goes_on_at_a_click() -> None:
    script = [[HALF, StreamBroken("The answer broke off.")], "The other half."]
    async with workspace(script) as world, world.running():
        question = await world.slack.say(world.ann, world.general, f"{ME} hello?")
        await world.answered()
        (offered,) = world.slack.state.answers(world.general)
        await world.slack.click(world.ann, offered, "Continue")
        await world.answered(2)
        cut, more = world.slack.state.answers(world.general)
    assert cut.text.startswith(HALF)
    assert (more.text, more.thread_ts) == ("The other half.", question.ts)
    assert not world.slack.state.ephemerals


async def test_the_end_of_the_process_does_not_wait_for_a_slack_that_has_frozen() -> None:
    async with FakeSlack(FastClock()) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        store = store_in_memory()
        host = turns_host(store, ScriptedProvider(["It is blue."]), slack.clock)
        serve_slack = partial(serve, host, app_of(slack), settings(slack), slack.clock)
        process = asyncio.create_task(
            serve_all({"Slack": serve_slack}, host.platforms, host.turns, host.messages.clock, grace_s=0.2)
        )
        await slack.connected()
        slack.stalled["chat.postMessage"] = asyncio.Event()
        await slack.say(ann, general, f"<@{BOT_USER}> which colour?")
        await slack.until(lambda: "chat.postMessage" in slack.state.stalling)
        began = asyncio.get_running_loop().time()
        process.cancel()
        await asyncio.wait({process}, timeout=10)
        assert process.cancelled()
        assert asyncio.get_running_loop().time() - began < 0.2 + LEAVE_S + DELIVERY_CLOSE_S + CLOSE_S + 0.5
