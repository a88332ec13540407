"""Slack limits, hangs or is slow, and nobody waits without a sign: waits are skipped, so that times are exact."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from agent.providers.scripted import Part, ScriptPause
from agent.turn_records import Claiming
from benchmarks.skipping_loop import run_skipping
from bot.chat.reply.attached_files import LONG_LINES
from bot.chat.texts import replies as reply_texts
from bot.chat.turns.answering import ATTACH_S, LONGEST_OUTAGE
from bot.chat.turns.worker import TurnWorkerLimits
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.agent_view import status_of
from bot.platforms.slack.api import TIMEOUT_S
from tests.examples import is_thorough, one_in
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_faults import DOWN, HANGS, HANGS_LATER, Fault, limited
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.fakes.turns_host import turns_host
from tests.flows.test_slack_replies import World, asked

ME = f"<@{BOT_USER}>"
PATIENCE_S = 3.0  # A person's
GROWING: list[Part] = [part for number in range(50) for part in (f"{number} {'word ' * 12}", ScriptPause(0.1))]
ANSWER_S = 5.0
# For hours, of which most is nothing new. Each attempt beyond the longest outage takes minutes, so there are few.
RARELY = TurnWorkerLimits(sweep_s=30.0, lease=timedelta(minutes=2), max_attempts=2)
SOME_ATTEMPTS_S = 600.0

Play = Callable[[World], Awaitable[None]]


def played(play: Play, answer: list[Part], turns: int = 1) -> World:
    """Play it with a bot that gives this answer to each question, until so many are answered."""

    async def run() -> World:
        async with FakeSlack(FastClock(speed=1.0)) as slack:
            world = World(slack, [answer] * turns)
            async with world.running():
                await play(world)
                await world.answered(turns)
            return world

    return run_skipping(run(), lambda: 0.0)


async def mention(world: World) -> None:
    await world.slack.say(world.ann, world.general, f"{ME} tell me")


async def write(world: World) -> None:
    await world.slack.say(world.ann, world.dm, "tell me")


async def command(world: World) -> None:
    await world.slack.acked(await world.slack.command(world.ann, world.general, "/ask", "tell me"))


def states(world: World) -> list[FakeMessage]:
    return [message for message in world.slack.state.messages if message.bot_id and "asks:" not in message.text]


def test_the_answer_to_a_command_grows_as_that_to_a_mention_does() -> None:
    (asked,), (mentioned,) = states(played(command, GROWING)), states(played(mention, GROWING))
    assert [len(text) for _, text in asked.versions] == [len(text) for _, text in mentioned.versions]
    assert len(asked.versions) > 3


@pytest.mark.parametrize("fault", [HANGS, HANGS_LATER])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
@pytest.mark.parametrize("door", [mention, command])
def test_a_write_that_is_never_answered_is_looked_up_and_made_again(door: Play, method: str, fault: Fault) -> None:
    async def play(world: World) -> None:
        if door is command and method == "chat.postMessage":
            await command(world)  # the question itself is posted before
            world.slack.faults[method].append(fault)
        else:
            world.slack.faults[method].append(fault)
            await door(world)

    world = played(play, GROWING)
    (answer,) = states(world)
    assert answer.text.startswith("0 word")
    assert answer.text.rstrip().endswith("word")
    assert "49 word" in answer.text
    assert answer.versions[-1][0] < ANSWER_S + TIMEOUT_S + PATIENCE_S


@pytest.mark.parametrize("method", ["chat.startStream", "chat.appendStream", "chat.stopStream"])
@pytest.mark.parametrize("fault", [HANGS, HANGS_LATER])
def test_a_stream_that_is_never_answered_ends_as_a_message(method: str, fault: Fault) -> None:
    async def play(world: World) -> None:
        world.slack.faults[method].append(fault)
        await write(world)

    world = played(play, GROWING)
    complete = [message for message in states(world) if "49 word" in message.text]
    assert len(complete) == 1
    assert len(states(world)) == 1


@pytest.mark.parametrize("method", ["files.getUploadURLExternal", "upload", "files.completeUploadExternal"])
@pytest.mark.parametrize("fault", [HANGS, HANGS_LATER])
def test_a_file_that_slack_never_takes_holds_up_neither_its_answer_nor_the_next_question(
    method: str, fault: Fault
) -> None:
    code = "\n".join(f"print({number})" for number in range(LONG_LINES + 1))

    async def play(world: World) -> None:
        world.slack.faults[method].append(fault)
        await mention(world)
        await world.answered()
        assert not world.slack.faults[method]
        assert world.slack.clock.monotonic() < ATTACH_S + PATIENCE_S
        await mention(world)
        await world.answered(2)

    world = played(play, [f"```python\n{code}\n```"], turns=2)
    assert len([page for page in states(world) if f"print({LONG_LINES})" in page.text]) == 2
    assert len(world.slack.state.files) == (
        2 if (method, fault) == ("files.completeUploadExternal", HANGS_LATER) else 1
    )


@pytest.mark.parametrize("door", [mention, write])
def test_another_process_goes_on_within_ten_seconds_after_a_kill_and_shows_it(door: Play) -> None:
    """The killed one had claimed the turn, and neither renews nor returns it."""

    async def run() -> None:
        async with FakeSlack(FastClock(speed=1.0)) as slack:
            world = World(slack, [[ScriptPause(2.0), "Blue."]])
            clock, store = slack.clock, world.store
            host = turns_host(store, world.model, clock, limits=TurnWorkerLimits())
            async with serving(slack, host):
                await door(world)
                await slack.until(lambda: store.turns)
                claim = await store.ledger.claim(Claiming("killed", clock.now(), TurnWorkerLimits().lease))
                assert claim is not None
                began = clock.monotonic()
                async with host.turns.serving():
                    await slack.until(lambda: slack.state.statuses)
                    assert clock.monotonic() - began <= 10.0
                    await world.answered()
            assert slack.state.statuses[0][2] == status_of(reply_texts.CONTINUING)
            assert [message.text for message in states(world)] == ["Blue."]

    run_skipping(run(), lambda: 0.0)


@pytest.mark.parametrize(
    ("lasting", "shown"),
    [
        (timedelta(hours=1.5), "Blue."),
        (LONGEST_OUTAGE + timedelta(minutes=30), "I could not finish this answer after"),
    ],
)
def test_an_answer_outlasts_an_outage_of_hours_and_is_given_up_after_a_longer_one(
    lasting: timedelta, shown: str
) -> None:
    async def run() -> None:
        clock = MovedClock(speed=1.0)
        async with FakeSlack(clock) as slack:
            world = World(slack, [["Blue."]])
            host = turns_host(world.store, world.model, slack.clock, limits=RARELY)
            async with serving(slack, host), host.turns.serving():
                for method in ("chat.postMessage", "conversations.replies"):
                    slack.faults[method] += [DOWN] * 10_000
                await mention(world)
                if is_thorough():
                    await clock.sleep(lasting.total_seconds())
                else:  # the same attempts at its beginning and at its end
                    await clock.sleep(SOME_ATTEMPTS_S)
                    clock.leap(lasting)
                    await clock.sleep(SOME_ATTEMPTS_S)
                assert not states(world)
                slack.faults.clear()
                await world.answered()
            (answer,) = states(world)
            assert answer.text.startswith(shown)

    run_skipping(run(), lambda: 0.0)


async def privately(world: World) -> None:
    await world.slack.acked(await world.slack.command(world.ann, world.general, "/ask", "privately tell me"))


def signs(world: World) -> int:
    """What Ann has seen of the bot."""
    return len(world.slack.state.statuses) + len(world.slack.state.ephemerals) + len(states(world))


@pytest.mark.parametrize(
    ("door", "method", "times"),
    one_in(
        3,
        [mention, write, command, privately],
        ["users.info", "conversations.info", "conversations.members"],
        [1, 3],
    ),
)
def test_whoever_waits_for_a_lookup_that_is_never_answered_sees_a_sign_and_one_answer(
    door: Play, method: str, times: int
) -> None:
    async def play(world: World) -> None:
        world.slack.faults[method] += [HANGS] * times
        began = world.slack.clock.monotonic()
        await door(world)
        await world.slack.until(lambda: signs(world))
        assert world.slack.clock.monotonic() - began <= PATIENCE_S + 0.1

    world = played(play, ["Blue."])
    shown = [one.text for one in (*states(world), *world.slack.state.ephemerals)]
    assert shown.count("Blue.") == 1
    assert shown.count(platforms_texts.SLACK_KEPT_WAITING) <= 1


@pytest.mark.parametrize("code", ["internal_error", "access_denied"])
def test_a_person_whom_slack_never_describes_keeps_nobody_else_from_an_answer(code: str) -> None:
    """Their own messages wait in their order, until Slack describes them."""

    async def run() -> None:
        async with FakeSlack(FastClock(speed=1.0)) as slack:
            world = World(slack, lambda messages: f"To {asked(messages).rpartition(' ')[2]}.")

            def answered() -> list[str]:
                return [message.text for message in states(world)]

            async with world.running():
                slack.refusing["users.info", world.bob] = code
                await slack.say(world.bob, world.general, f"{ME} I am Bob1")
                await slack.clock.sleep(5.0)
                await slack.say(world.bob, world.general, f"{ME} I am Bob2")
                await slack.say(world.ann, world.general, f"{ME} I am Ann1")
                await slack.until(answered)
                await slack.say(world.bob, world.general, f"{ME} I am Bob3")
                began = slack.clock.monotonic()
                await slack.say(world.ann, world.general, f"{ME} I am Ann2")
                await slack.until(lambda: len(answered()) == 2)
                assert slack.clock.monotonic() - began <= PATIENCE_S
                assert answered() == ["To Ann1.", "To Ann2."]
                slack.refusing.clear()
                await world.answered(5)
                assert answered()[2:] == ["To Bob1.", "To Bob2.", "To Bob3."]

    run_skipping(run(), lambda: 0.0)


@pytest.mark.parametrize("fault", [Fault(503), Fault(500, lost=True), HANGS, HANGS_LATER, limited(30)])
def test_the_outcome_of_a_command_is_shown_where_slack_fails_for_a_moment(fault: Fault) -> None:
    async def run() -> None:
        async with FakeSlack(FastClock(speed=1.0)) as slack:
            world = World(slack, [])
            async with world.running():
                slack.faults["response_url"].append(fault)
                began = slack.clock.monotonic()
                await slack.command(world.ann, world.general, "/usage")
                await slack.until(lambda: slack.state.ephemerals)
                assert slack.clock.monotonic() - began <= PATIENCE_S + 0.1
                await slack.clock.sleep(60.0)
            shown = [one.text for one in slack.state.ephemerals]
            assert shown[-1].startswith("You have not asked anything this month")
            assert {*shown[:-1]} <= {shown[-1], platforms_texts.TAKES_LONGER}

    run_skipping(run(), lambda: 0.0)
