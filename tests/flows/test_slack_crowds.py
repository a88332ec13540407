"""Many people ask in one channel at the same moment, by `/ask` or a mention: each is answered, or told why not."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.messages import Message
from agent.providers.scripted import ScriptedProvider
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from tests.fakes.fast_clock import SPEED, FastClock
from tests.fakes.slack import FakeSlack, asked_now
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER
from tests.flows.bot import live_host

QUEUED = re.compile(re.escape(platforms_texts.QUESTION_QUEUED).replace(re.escape("{seconds:.0f}"), r"\d+"))
PASSES = 500  # Of the event loop: far more than any command takes until it asks who its person is


def says_whom_it_answers(messages: Sequence[Message]) -> str:
    asked = messages[-1].text
    return f"The answer to: {asked[asked.rindex('number ') :].strip()}"


@asynccontextmanager
async def workspace(folder: Path, speed: float = SPEED) -> AsyncGenerator[FakeSlack, None]:
    """On a database in a file: one in memory is changed without a pause, so that no two changes meet."""
    clock = FastClock(speed=speed)
    model = ScriptedProvider(says_whom_it_answers)
    async with (
        FakeSlack(clock) as slack,
        live_host(folder, model, clock) as host,
        serving(slack, host),
    ):
        yield slack


def crowd(slack: FakeSlack, number: int, **facts: Any) -> list[str]:
    return [slack.state.user(f"person{one}", **facts) for one in range(number)]


async def ask_at_once(slack: FakeSlack, people: Sequence[str], channel: str, *, words: str = "") -> None:
    envelopes = await asyncio.gather(
        *(slack.command(one, channel, "/ask", f"{words}number {number}?") for number, one in enumerate(people))
    )
    await asyncio.gather(*map(slack.acked, envelopes))


async def ask_privately_at_once(slack: FakeSlack, people: Sequence[str], channel: str) -> None:
    await ask_at_once(slack, people, channel, words="privately ")


async def mention_at_once(slack: FakeSlack, people: Sequence[str], channel: str) -> None:
    await asyncio.gather(
        *(slack.say(one, channel, f"<@{BOT_USER}> number {number}?") for number, one in enumerate(people))
    )
    await slack.acknowledged()


def told(slack: FakeSlack) -> Counter[tuple[str, str]]:
    return Counter((ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals)


async def test_forty_who_ask_in_a_channel_at_once_are_all_answered(tmp_path: Path) -> None:
    async with workspace(tmp_path, speed=8.0) as slack:  # so that few posts leave while the questions still arrive
        people = crowd(slack, 40)
        general = slack.state.channel("general")
        await ask_at_once(slack, people, general)
        expected = {f"The answer to: number {number}?" for number in range(40)}
        await slack.until(lambda: expected <= {answer.text for answer in slack.state.answers(general)})
        await slack.settled()
        shown = Counter(answer.text for answer in slack.state.answers(general))
        assert {text: shown[text] for text in expected} == dict.fromkeys(expected, 1)
        assert len(slack.state.answers(general)) == 2 * len(people)
        queued = [(ephemeral.user, ephemeral.text) for ephemeral in slack.state.ephemerals]
        assert all(QUEUED.fullmatch(text) for _, text in queued)
        # One post a second: whoever is far behind reads at once that they wait, and each of them once. How many are far
        # behind depends on how fast their questions are taken in.
        assert len(people) // 4 <= len({user for user, _ in queued}) == len(queued)


async def test_forty_who_mention_the_bot_at_once_are_all_answered(tmp_path: Path) -> None:
    async with workspace(tmp_path) as slack:
        people = crowd(slack, 40)
        general = slack.state.channel("general")
        await mention_at_once(slack, people, general)
        expected = sorted(f"The answer to: number {number}?" for number in range(40))
        await slack.until(lambda: sorted(answer.text for answer in slack.state.answers(general)) == expected)
        assert not slack.state.ephemerals


async def test_forty_who_ask_privately_at_once_each_read_their_own_answer(tmp_path: Path) -> None:
    async with workspace(tmp_path) as slack:
        people = crowd(slack, 40)
        general = slack.state.channel("general")
        await ask_privately_at_once(slack, people, general)
        expected = Counter((one, f"The answer to: number {number}?") for number, one in enumerate(people))
        await slack.until(lambda: len(slack.state.ephemerals) >= len(people))
        await slack.settled()
        assert told(slack) == expected
        assert not slack.state.answers(general)


@pytest.mark.parametrize("ask", [ask_at_once, ask_privately_at_once, mention_at_once])
async def test_guests_who_ask_at_once_are_each_told_that_they_may_not_and_nobody_else_sees_it(
    tmp_path: Path, ask: Callable[[FakeSlack, Sequence[str], str], Awaitable[None]]
) -> None:
    async with workspace(tmp_path) as slack:
        guests = crowd(slack, 25, is_restricted=True)
        general = slack.state.channel("general")
        await ask(slack, guests, general)
        await slack.until(lambda: len(slack.state.ephemerals) >= len(guests))
        await slack.settled()
        why = reply_texts.CLOSED_TO[Authority.GUEST]
        assert told(slack) == Counter((one, why) for one in guests)
        assert not slack.state.answers(general)


async def test_slack_is_asked_once_who_somebody_is_who_asks_much_at_once(tmp_path: Path) -> None:
    """The first answer is held until all commands wait for it: without that they could find it in the cache."""
    async with workspace(tmp_path, speed=1.0) as slack:  # within the minute for which an answer counts
        (ann,) = crowd(slack, 1)
        slack.stalled["users.info"] = held = asyncio.Event()
        await ask_privately_at_once(slack, [ann] * 40, slack.state.channel("general"))
        await slack.until(lambda: slack.state.stalling and len(asked_now()) == 40)
        for _ in range(PASSES):
            await asyncio.sleep(0)
        assert slack.state.stalling == ["users.info"]
        del slack.stalled["users.info"]
        held.set()
        await slack.until(lambda: len(slack.state.ephemerals) == 40)
        assert slack.state.stalling == ["users.info"]
