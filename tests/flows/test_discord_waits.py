"""Discord limits, hangs or fails, and nobody waits without a sign: an answer goes around it, or is tried again in time.

Real discord.py and real turns over real sockets; waits are skipped, so that times are exact.
"""

from collections.abc import Awaitable, Callable

import pytest

from agent.providers.scripted import Part, ScriptedProvider, ScriptPause
from benchmarks.skipping_loop import run_skipping
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.client import IDENTIFY_GAP_S
from bot.platforms.discord.http_client import MAX_RECONNECT_S, REQUEST_S
from bot.platforms.discord.rest import THREAD_S
from bot.platforms.discord.settings import ReplyMode
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_requests import Call
from tests.fakes.discord_rest import Interaction
from tests.fakes.discord_world import ANN, BO, BOT, DM_OF, GENERAL, seen
from tests.fakes.fast_clock import FastClock

ASK = f"<@{BOT}> "
PATIENCE_S = 3.0  # A person's
LONG_S = 600.0

TYPING_S = 10.0  # So long Discord shows that somebody types


def seconds(first: float, last: float) -> list[float]:
    return [first + number for number in range(int(last - first) + 1)]


Play = Callable[[FakeDiscord, AnsweringHost], Awaitable[None]]


def in_no_time() -> float:
    return 0.0


def played(play: Play, answer: list[Part] | str = "Blue.", questions: int = 1) -> FakeDiscord:
    """Play it with a bot that gives this answer to each question, until all are answered."""

    async def run() -> FakeDiscord:
        clock = FastClock(speed=1.0)
        host = answering_host(ScriptedProvider(lambda _: answer, sleep=clock.sleep), clock)
        async with running_discord(clock) as fake:
            async with serving(fake, host, edit_interval_s=1.1), host.answering():
                await play(fake, host)
                await fake.until(lambda: len(host.taken) == questions)
                await host.turns.idle()
            return fake

    return run_skipping(run(), in_no_time)


def signs(fake: FakeDiscord) -> list[Call]:
    """What a reader sees of the bot: that it types, or a message."""
    return [
        call
        for call in fake.calls
        if call.method == "POST" and call.path.endswith(("/typing", "/messages")) and call.status < 300
    ]


@pytest.mark.parametrize("left", [0, 1, 3])
def test_where_threads_are_limited_for_minutes_the_next_question_is_answered_in_the_channel(left: int) -> None:
    """Discord's headers name a reset in minutes while `left` threads may still be started."""

    async def ask(fake: FakeDiscord, host: AnsweringHost) -> None:
        fake.rest.rates["/threads"] = (left + 1, 300.0)
        asked = ""
        for number in range(left + 2):
            began = fake.world.clock.monotonic()
            asked = (await fake.say(ANN, f"{ASK}which colour has boat {number}?"))["id"]
            await fake.until(lambda: len(host.taken) == number + 1)  # noqa: B023 -- awaited here
            await host.turns.idle()
            assert fake.world.clock.monotonic() - began < PATIENCE_S
            assert fake.world.shown(asked) == (["Blue."] if number <= left else [])
        (last,) = [message for message in by_the_bot(fake) if message["channel_id"] == GENERAL]
        assert last["message_reference"]["message_id"] == asked

    fake = played(ask, questions=left + 2)
    assert all(call.status != 429 for call in fake.calls), "the headers said so before"


def test_a_limit_of_threads_that_only_a_refusal_names_is_gone_around_too() -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        body = {"message": "You are being rate limited.", "retry_after": 21.5, "global": False}
        fake.rest.fail("POST", "/threads$", 429, headers={"Via": "1.1 google"}, body=body)
        began = fake.world.clock.monotonic()
        await fake.say(ANN, f"{ASK}which colour?")
        await fake.until(lambda: fake.world.shown(GENERAL)[-1:] == ["Blue."])
        assert fake.world.clock.monotonic() - began < PATIENCE_S

    played(ask)


def test_twenty_questions_at_once_in_one_channel_each_get_a_sign_within_seconds() -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        for number in range(20):
            await fake.say(ANN if number % 2 else BO, f"{ASK}which colour has boat {number}?")

    fake = played(ask, ["Blue", ScriptPause(2.0), "."], questions=20)
    answers = [call.time for call in signs(fake) if call.path.endswith("/messages")]
    typed = [call.time for call in signs(fake) if call.path == f"/channels/{GENERAL}/typing"]
    assert len(answers) == 20
    assert typed[0] < PATIENCE_S, "in the channel where all of them wait"
    waiting = seconds(typed[0], max(answers) - PATIENCE_S)
    assert all(any(sign <= time < sign + TYPING_S for sign in typed) for time in waiting)


@pytest.mark.parametrize("lost", [False, True])
def test_a_thread_that_is_never_answered_for_is_shown_as_typing_and_then_gone_around(lost: bool) -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.hang("POST", "/threads$", times=2, lost=lost)
        began = fake.world.clock.monotonic()
        asked = await fake.say(ANN, f"{ASK}which colour?")
        await fake.until(lambda: signs(fake))
        assert signs(fake)[0].path == f"/channels/{GENERAL}/typing"
        assert fake.world.clock.monotonic() - began < PATIENCE_S
        await fake.until(lambda: by_the_bot(fake))
        assert fake.world.clock.monotonic() - began < 2 * THREAD_S + PATIENCE_S
        where = asked["id"] if by_the_bot(fake)[-1]["channel_id"] == asked["id"] else GENERAL
        await fake.until(lambda: fake.world.shown(where)[-1:] == ["Blue."])

    played(ask)


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(
    ("method", "path"), [("POST", r"/channels/\d+/messages$"), ("PATCH", r"/channels/\d+/messages/\d+$")]
)
def test_a_write_that_is_never_answered_is_made_again_once_its_deadline_is_over(
    method: str, path: str, lost: bool
) -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.hang(method, path, lost=lost)
        began = fake.world.clock.monotonic()
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: fake.rest.hanging)
        await fake.until(lambda: fake.world.shown(DM_OF[ANN]) == ["Blue, of course."])
        assert fake.world.clock.monotonic() - began < REQUEST_S + 2 * PATIENCE_S

    fake = played(ask, ["Blue", ScriptPause(2.0), ", of course."])
    assert len(by_the_bot(fake)) == 1, "looked up before it is made again"


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("path", ["/callback$", "@original$"])
def test_a_command_whose_request_is_never_answered_is_answered_once_its_deadline_is_over(
    path: str, *, private: bool
) -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.hang("POST" if path == "/callback$" else "PATCH", path)
        began = fake.world.clock.monotonic()
        await fake.command(ANN, "ask", question="which colour?", private=private)
        await fake.until(lambda: by_the_bot(fake) and by_the_bot(fake)[-1]["content"] == "Blue.")
        assert fake.world.clock.monotonic() - began < 2 * REQUEST_S

    played(ask)


def test_answers_elsewhere_go_on_while_one_request_hangs() -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.hang("POST", f"/channels/{DM_OF[ANN]}/messages$")
        await fake.write(ANN, "which colour?")
        await fake.until(lambda: fake.rest.hanging)
        began = fake.world.clock.monotonic()
        await fake.write(BO, "and which colour?")
        await fake.until(lambda: fake.world.shown(DM_OF[BO]) == ["Blue."])
        assert fake.world.clock.monotonic() - began < PATIENCE_S

    played(ask, questions=2)


@pytest.mark.parametrize("mode", [ReplyMode.CHAIN, ReplyMode.THREAD])
def test_a_rate_limit_that_grows_is_kept_to_without_a_refusal(mode: ReplyMode) -> None:
    """Many answers at once, in a channel that Discord limits to two posts in ten seconds."""

    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.rates["/messages"] = (2, 10.0)
        for number in range(6):
            await fake.write(ANN if number % 2 else BO, f"which colour has boat {number}?")

    fake = played(ask, questions=6)
    assert [message["content"] for message in by_the_bot(fake)] == ["Blue."] * 6
    assert sum(call.status == 429 for call in fake.calls) <= 2, mode


@pytest.mark.parametrize("lasting_s", [40.0, 300.0])
@pytest.mark.parametrize("resumes", [True, False])
def test_a_question_after_an_outage_of_the_gateway_is_heard_within_seconds(lasting_s: float, *, resumes: bool) -> None:
    async def ask(fake: FakeDiscord, _: AnsweringHost) -> None:
        clock = fake.world.clock
        fake.refuse_sockets = True
        if not resumes:
            fake.forget_sessions()
        fake.drop()
        await clock.sleep(lasting_s)
        fake.refuse_sockets = False
        back = clock.monotonic()
        if not resumes:
            await fake.until(lambda: fake.connected)
        await fake.say(ANN, f"{ASK}which colour?")
        await fake.until(lambda: by_the_bot(fake))
        assert clock.monotonic() - back < MAX_RECONNECT_S + IDENTIFY_GAP_S + PATIENCE_S

    played(ask)


def seen_by(fake: FakeDiscord, interaction: Interaction) -> str:
    """What the user of a command or a button reads in its response."""
    return seen(fake.world.messages.get(interaction.original, {}))


@pytest.mark.parametrize("lost", [False, True])
def test_the_outcome_of_a_command_is_shown_although_its_request_is_never_answered(*, lost: bool) -> None:
    async def play(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.hang("PATCH", "@original$", lost=lost)
        used = await fake.command(ANN, "usage")
        await fake.until(lambda: len(fake.rest.hanging) == 1 and fake.calls[-1].path.endswith("@original"))
        await fake.until(lambda: "You have not asked anything this month." in seen_by(fake, used))

    played(play, questions=0)


def test_whoever_sees_that_the_bot_is_thinking_after_a_lost_acknowledgement_reads_an_error() -> None:
    async def play(fake: FakeDiscord, _: AnsweringHost) -> None:
        fake.rest.hang("POST", "/callback$", lost=True)
        used = await fake.command(ANN, "usage")
        await fake.until(lambda: platforms_texts.DISCORD_TRY_AGAIN in seen_by(fake, used))

    played(play, questions=0)


def test_whoever_presses_a_button_whose_acknowledgement_is_lost_reads_an_error_and_nothing_is_done() -> None:
    async def play(fake: FakeDiscord, host: AnsweringHost) -> None:
        asked = await fake.say(ANN, f"{ASK}which colour?")
        await fake.until(lambda: fake.world.shown(asked["id"]) == ["Blue."])
        await host.turns.idle()
        fake.rest.hang("POST", "/callback$", lost=True)
        page = by_the_bot(fake)[-1]
        await fake.press(ANN, page, "Delete")
        await fake.until(
            lambda: any(seen(message) == platforms_texts.DISCORD_TRY_AGAIN for message in fake.world.messages.values())
        )
        assert fake.world.shown(asked["id"])[0] == "Blue."

    played(play)
