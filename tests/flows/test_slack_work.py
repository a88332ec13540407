"""Long work, as only Slack has it; what is the same on each platform is in `test_work`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.chat.texts import replies as reply_texts
from bot.schedules import texts as schedule_texts
from tests.fakes.fast_clock import FastClock
from tests.fakes.long_work import ASKED, ON_IT, RESULT
from tests.fakes.ready_process import calling
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import BOT_USER
from tests.flows.platform_process import COUNTED, GOES_ON, main
from tests.flows.test_work import STEP, working
from tests.flows.worlds import SLACK_ASKER, SLACK_DM, SLACK_GENERAL, in_slack
from tests.patience import PATIENCE_S

GENERAL, DM = SLACK_GENERAL, SLACK_DM


async def test_what_was_asked_privately_in_a_channel_is_done_in_direct_messages_and_stopped_where_it_was_asked() -> (
    None
):
    async with working(in_slack) as here:
        slack = here.world.slack
        await slack.command(SLACK_ASKER, GENERAL, "/ask", f"privately {ASKED}")
        await slack.until(lambda: here.tool.counted and slack.state.answers(DM))
        (work,) = slack.state.answers(DM)
        await slack.until(lambda: STEP in work.text)
        assert not slack.state.answers(GENERAL)
        await slack.command(SLACK_ASKER, GENERAL, "/stop")
        await slack.until(lambda: reply_texts.STOPPED in work.text)


async def test_what_was_asked_in_a_direct_message_is_done_in_its_thread() -> None:
    async with working(in_slack) as here:
        slack = here.world.slack
        here.tool.gate.set()
        asked = await slack.say(SLACK_ASKER, DM, ASKED)
        await slack.until(lambda: any(one.text.endswith(RESULT) for one in slack.state.answers(DM)))
        on_it, work = slack.state.answers(DM, asked.ts)
        assert (on_it.text, work.text.endswith(RESULT)) == (ON_IT, True)
        assert not slack.state.streams.streams(work)


@asynccontextmanager
async def process(slack: FakeSlack, folder: Path) -> AsyncGenerator[None]:
    """The bot, until it is killed at the end of the block."""
    bot = calling(main, folder, slack.url, slack.clock.now().isoformat(), works=True)
    try:
        await slack.connected()
        yield
    finally:
        bot.kill()
        bot.wait(PATIENCE_S)
        await slack.connected(0)


async def test_killed_work_is_finished_in_the_same_message_and_does_nothing_twice(tmp_path: Path) -> None:
    async with FakeSlack(FastClock(speed=5.0)) as slack:
        ann, general = slack.state.user("ann"), slack.state.channel("general")
        async with process(slack, tmp_path):
            question = await slack.say(ann, general, f"<@{BOT_USER}> {ASKED}")
            await slack.until(lambda: len(slack.state.answers(general)) == 2)
            work = slack.state.answers(general)[1]
            await slack.until(lambda: f"✓ {STEP}" in work.text and f"→ {STEP}" in work.text)
        (tmp_path / GOES_ON).touch()
        async with process(slack, tmp_path):
            await slack.until(lambda: len(slack.state.answers(general)) == 3)
        said = slack.state.answers(general, question.ts)
        assert said[1] is work
        assert work.text.endswith(RESULT)
        assert schedule_texts.WORK_DONE in said[2].text
        assert (tmp_path / COUNTED).read_text().split() == ["1", "2", "3"]
