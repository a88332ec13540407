"""`kill -9` while an answer grows in Slack, then a restart on the same database: the same messages, finished, once."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.platforms.slack.surface import LIMITS
from tests.fakes.fast_clock import FastClock
from tests.fakes.reader import read_back
from tests.fakes.ready_process import calling
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_faults import HANGS_LATER
from tests.fakes.slack_things import BOT_USER, FakeMessage
from tests.flows.platform_process import ANSWER, UNSURE, main
from tests.patience import PATIENCE_S

Pages = list[FakeMessage]


@asynccontextmanager
async def process(slack: FakeSlack, folder: Path, acts: str = "") -> AsyncGenerator[None, None]:
    """The bot, until it is killed at the end of the block. `acts`: see `platform_process.main`."""
    bot = calling(main, folder, slack.url, slack.clock.now().isoformat(), acts=acts)
    try:
        await slack.connected()
        yield
    finally:
        bot.kill()
        bot.wait(PATIENCE_S)
        await slack.connected(0)


def read(pages: Pages) -> str:
    return read_back([page.text.replace("‹@", "<@") for page in pages], LIMITS.page_chars)


MOMENTS: dict[str, Callable[[Pages], object]] = {
    "as soon as the message is posted": lambda pages: pages,
    "after some edits": lambda pages: pages and pages[0].edits >= 2,
    "as soon as the second page is posted": lambda pages: len(pages) == 2,
}


@pytest.mark.parametrize("moment", MOMENTS)
async def test_a_killed_answer_is_finished_in_the_same_messages(tmp_path: Path, moment: str) -> None:
    async with FakeSlack(FastClock()) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with process(slack, tmp_path):
            await slack.say(ann, general, f"<@{BOT_USER}> tell me everything")
            await slack.until(lambda: MOMENTS[moment](slack.state.answers(general)))
        begun = [page.ts for page in slack.state.answers(general)]
        async with process(slack, tmp_path):
            await slack.until(lambda: len(slack.state.answers(general)) == 2 and finished(slack.state.answers(general)))
        pages = slack.state.answers(general)
    assert [page.ts for page in pages][: len(begun)] == begun
    assert len(pages) == 2


async def test_a_post_that_a_killed_process_may_have_made_is_not_made_again(tmp_path: Path) -> None:
    async with FakeSlack(FastClock()) as slack:
        ann, general, team = slack.state.user("ann"), slack.state.channel("general"), slack.state.channel("team")
        act = json.dumps({"name": "post_message", "args": {"where": team, "text": "once"}})
        async with process(slack, tmp_path, act):
            slack.faults["chat.postMessage"] += [HANGS_LATER]
            await slack.say(ann, general, f"<@{BOT_USER}> post it")
            await slack.until(lambda: slack.state.answers(team))
        async with process(slack, tmp_path, act):
            await slack.until(lambda: any(UNSURE in page.text for page in slack.state.answers(general)))
        assert [page.text for page in slack.state.answers(team)] == ["once"]


@pytest.mark.parametrize("appended", [0, 3])
async def test_a_killed_stream_is_ended_and_its_message_finished(tmp_path: Path, appended: int) -> None:
    async with FakeSlack(FastClock()) as slack:
        ann, dm = slack.state.user("ann"), slack.state.channel("ann", "im")
        async with process(slack, tmp_path):
            await slack.say(ann, dm, "tell me everything")
            await slack.until(lambda: len(slack.state.called("chat.appendStream")) >= appended)
            await slack.until(lambda: slack.state.answers(dm))
        (begun,) = slack.state.answers(dm)
        async with process(slack, tmp_path):
            await slack.until(lambda: finished(slack.state.answers(dm)) and slack.state.answers(dm)[-1].blocks)
        pages = slack.state.answers(dm)
    assert pages[0] is begun
    assert not any(slack.state.streams.streams(page) for page in pages)


def finished(pages: Pages) -> bool:
    try:
        return read(pages) == ANSWER
    except AssertionError:  # a page in the middle of its growth
        return False
