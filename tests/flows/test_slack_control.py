"""Stopping and going on in Slack: real slack-bolt, sockets, turns and live replies; the model is scripted."""

import asyncio
from functools import partial

from agent.providers.scripted import ScriptedProvider
from bot.chat.connections import serve_all
from bot.chat.turns.worker import LEAVE_S
from bot.platforms.slack.run import CLOSE_S, DELIVERY_CLOSE_S, serve
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import app_of, settings
from tests.fakes.slack_things import BOT_USER
from tests.fakes.store import store_in_memory
from tests.fakes.turns_host import turns_host

HALF = "Half an answer"


async def hang() -> None:
    await asyncio.Event().wait()


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
