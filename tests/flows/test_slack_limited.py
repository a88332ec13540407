"""Slack answers that a method is limited for half a minute: whoever waits sees a sign within a person's patience."""

from collections.abc import Awaitable, Callable

import pytest

from benchmarks.skipping_loop import run_skipping
from tests.examples import one_in
from tests.fakes.fast_clock import FastClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import limited
from tests.fakes.slack_things import BOT_USER
from tests.flows.test_slack_replies import World

ME = f"<@{BOT_USER}>"
PATIENCE_S = 3.0  # A person's
RETRY_AFTER_S = 30
TIMES = {"users.info": 2}  # Others ask it at the same time

Door = Callable[[World], Awaitable[None]]


async def mention(world: World) -> None:
    await world.slack.say(world.ann, world.general, f"{ME} tell me")


async def write(world: World) -> None:
    await world.slack.say(world.ann, world.dm, "tell me")


async def command(world: World) -> None:
    await world.slack.acked(await world.slack.command(world.ann, world.general, "/ask", "tell me"))


async def privately(world: World) -> None:
    await world.slack.acked(await world.slack.command(world.ann, world.general, "/ask", "privately tell me"))


def signs(world: World) -> int:
    """What Ann has seen of the bot."""
    state = world.slack.state
    return len(state.statuses) + len(state.ephemerals) + sum(bool(message.bot_id) for message in state.messages)


LIMITED = [
    ("chat.postMessage",),
    ("users.info",),
    ("conversations.info",),
    ("conversations.members",),
    ("chat.postEphemeral",),
    ("chat.startStream",),
    ("conversations.replies", "conversations.history"),
    ("assistant.threads.setStatus",),
    ("assistant.threads.setStatus", "chat.postMessage", "chat.startStream"),
]


@pytest.mark.parametrize(("methods", "door"), one_in(3, LIMITED, [mention, write, command, privately]))
def test_whoever_waits_for_a_limit_sees_a_sign(door: Door, methods: tuple[str, ...]) -> None:
    async def run() -> float:
        async with FakeSlack(FastClock(speed=1.0)) as slack:
            world = World(slack, [["Blue."]])
            async with world.running():
                for method in methods:
                    slack.faults[method] += [limited(RETRY_AFTER_S)] * TIMES.get(method, 1)
                began = slack.clock.monotonic()
                await door(world)
                await slack.until(lambda: signs(world))
                seconds = slack.clock.monotonic() - began
                await slack.until(lambda: "Blue." in shown(world))
                assert "users.info" not in methods or slack.clock.monotonic() - began > RETRY_AFTER_S - 1
                await world.answered()
                assert shown(world).count("Blue.") == 1
                return seconds

    assert run_skipping(run(), lambda: 0.0) <= PATIENCE_S


def shown(world: World) -> list[str]:
    return [one.text for one in (*world.slack.state.messages, *world.slack.state.ephemerals)]
