"""Long work in Slack: begun at once, seen while it goes on, stopped, finished, and told of, in the thread."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.messages import Usage
from agent.ports.tools import ToolEffect
from agent.providers.scripted import ScriptedProvider
from agent.tools.schedule import BackgroundTool
from bot.budgets.budgets import Budget, Budgets
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.schedules import texts as schedule_texts
from bot.schedules.scheduler import Scheduler
from bot.schedules.work import ASK_AGAIN_S
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.long_work import ASKED, BESIDE, ON_IT, RESULT, TASK, CountingTool, Worker
from tests.fakes.schedules import doing
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_bot import serving
from tests.fakes.slack_things import BOT_USER, TEAM, FakeMessage
from tests.fakes.store import store_in_memory
from tests.fakes.telling_model import HERE
from tests.flows.platform_process import COUNTED, GOES_ON, main
from tests.flows.test_slack_crash import processes
from tests.patience import PATIENCE_S

SOURCE = f"slack:{TEAM}"
ANN, GENERAL, DM = "U0ANN", "C0GENERAL", "D0ANN"
PERSON = f"{SOURCE}:{ANN}"
STEP = "Using count ferries…"
UNLIMITED, NO_USAGE = Budgets(), Usage()


@dataclass
class Working:
    slack: FakeSlack
    clock: MovedClock
    host: AnsweringHost
    scheduler: Scheduler
    model: ScriptedProvider
    worker: Worker
    tool: CountingTool
    question: FakeMessage = field(init=False)

    def said(self) -> list[str]:
        """In the thread, by the bot."""
        return [message.text for message in self.slack.state.answers(GENERAL, self.question.ts)]

    @property
    def work(self) -> FakeMessage:
        return self.slack.state.answers(GENERAL, self.question.ts)[1]

    async def ask(self) -> None:
        """Ann asks for work, which then is at its first step."""
        self.question = await self.slack.say(ANN, GENERAL, f"<@{BOT_USER}> {ASKED}")
        await self.slack.until(lambda: ON_IT in self.said())
        await self.slack.until(lambda: self.tool.counted and STEP in self.work.text)

    def calls(self) -> list[FakeMessage]:
        """What calls Ann."""
        return [message for message in self.slack.state.answers(GENERAL) if f"<@{ANN}>" in str(message.blocks)]

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()


@asynccontextmanager
async def service(
    worker: Worker | None = None,
    budgets: Budgets = UNLIMITED,
    usage: Usage = NO_USAGE,
    effect: ToolEffect = ToolEffect.READS,
) -> AsyncGenerator[Working]:
    clock, store, worker, tool = MovedClock(speed=20.0), store_in_memory(), worker or Worker(), CountingTool()
    tool.effect = effect
    model = ScriptedProvider(worker, usage=usage)
    async with FakeSlack(clock) as slack, AsyncExitStack() as stack:
        slack.state.user("ann")
        slack.state.user("bob")
        slack.state.channel("general")
        slack.state.channel("ann", "im")
        host = answering_host(model, clock, store, tools=[BackgroundTool(store.schedules), tool], budgets=budgets)
        await stack.enter_async_context(host.answering())
        await stack.enter_async_context(serving(slack, host, clock))
        scheduler = await stack.enter_async_context(doing(host, store))
        yield Working(slack, clock, host, scheduler, model, worker, tool)


async def test_work_is_answered_at_once_and_goes_on_while_the_next_question_is_answered() -> None:
    async with service() as here:
        await here.ask()
        assert here.said()[0] == ON_IT
        assert "Harbour 1 is next." in here.work.text
        await here.slack.say(ANN, GENERAL, f"<@{BOT_USER}> what time is it?", here.question.ts)
        await here.slack.until(lambda: BESIDE in here.said())
        assert not here.tool.ended
        work = here.work.ts
        here.tool.gate.set()
        await here.slack.until(lambda: here.work.text.endswith(RESULT))
        await here.idle()
        assert here.work.ts == work
        assert here.tool.counted == [1, 2]
        assert STEP not in here.work.text
        assert not here.calls()
        await here.slack.say(ANN, GENERAL, f"<@{BOT_USER}> and Bergen?", here.question.ts)
        await here.slack.until(lambda: here.said().count(BESIDE) == 2)
        assert RESULT in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_asked_to_be_called_is_called_below_the_result_and_once() -> None:
    async with service(Worker(mention=True, silent=True)) as here:
        await here.ask()
        here.tool.gate.set()
        await here.slack.until(here.calls)
        await here.idle()
        (call,) = here.calls()
        assert schedule_texts.WORK_DONE in call.text
        assert call.thread_ts == here.question.ts
        assert here.said() == [ON_IT, RESULT, call.text]


async def test_what_was_asked_privately_in_a_channel_is_done_in_direct_messages_and_stopped_where_it_was_asked() -> (
    None
):
    async with service() as here:
        await here.slack.command(ANN, GENERAL, "/ask", f"privately {ASKED}")
        await here.slack.until(lambda: here.tool.counted and here.slack.state.answers(DM))
        (work,) = here.slack.state.answers(DM)
        await here.slack.until(lambda: STEP in work.text)
        assert not here.slack.state.answers(GENERAL)
        await here.slack.command(ANN, GENERAL, "/stop")
        await here.slack.until(lambda: reply_texts.STOPPED in work.text)


async def test_what_was_asked_in_a_direct_message_is_done_in_its_thread() -> None:
    async with service() as here:
        here.tool.gate.set()
        asked = await here.slack.say(ANN, DM, ASKED)
        await here.slack.until(lambda: any(one.text.endswith(RESULT) for one in here.slack.state.answers(DM)))
        on_it, work = here.slack.state.answers(DM, asked.ts)
        assert (on_it.text, work.text.endswith(RESULT)) == (ON_IT, True)
        assert not here.slack.state.streams.streams(work)


async def test_what_acts_is_asked_for_again_once_a_tool_has_said_something_also_where_it_is_allowed_for_good() -> None:
    async with service(effect=ToolEffect.ACTS_OUTWARD) as here:
        here.question = await here.slack.say(ANN, GENERAL, f"<@{BOT_USER}> {ASKED}")
        await here.slack.until(lambda: here.slack.state.ephemerals)
        assert reply_texts.WAITS_FOR_CONSENT.format(tools=f"`{here.tool.name}`") in here.work.text
        assert not here.tool.counted
        await here.slack.say(ANN, GENERAL, f"<@{BOT_USER}> what time is it?", here.question.ts)
        await here.slack.until(lambda: BESIDE in here.said())
        here.tool.gate.set()
        await here.slack.click(ANN, here.slack.state.ephemerals[0], HERE)
        await here.slack.until(lambda: len(here.slack.state.ephemerals) > 1)
        assert here.tool.counted == [1]
        await here.slack.click(ANN, here.slack.state.ephemerals[1], tool_texts.ALLOW_ONCE)
        await here.slack.until(lambda: here.work.text.endswith(RESULT))
        assert here.tool.counted == [1, 2]
        standing = await here.host.store.consents.standing(f"{SOURCE}:{GENERAL}:{here.question.ts}", PERSON)
        assert standing == {here.tool.name}


async def say_stop(here: Working) -> None:
    await here.slack.say(ANN, GENERAL, f"<@{BOT_USER}> stop", here.question.ts)


async def press_stop(here: Working) -> None:
    await here.slack.click(ANN, here.work, "Stop")


async def use_the_command(here: Working) -> None:
    await here.slack.command(ANN, GENERAL, "/stop")


async def cancel_it(here: Working) -> None:
    await here.slack.command(ANN, GENERAL, "/schedules", "")
    await here.slack.until(lambda: here.slack.state.ephemerals)
    (shown,) = here.slack.state.ephemerals
    assert "long work" in shown.text
    await here.slack.click(ANN, shown, "Stop")


@pytest.mark.parametrize("stop", [say_stop, press_stop, use_the_command, cancel_it])
async def test_work_is_stopped_with_what_it_has_said(stop: Callable[[Working], Awaitable[None]]) -> None:
    async with service(Worker(mention=True)) as here:
        await here.ask()
        await stop(here)
        await here.slack.until(lambda: reply_texts.STOPPED in here.work.text)
        await here.idle()
        assert here.work.text.startswith("Harbour 1 is next.")
        assert (here.tool.counted, here.tool.ended) == ([1], 1)
        assert not here.calls()


async def test_the_button_of_another_answer_stops_no_work() -> None:
    async with service() as here:
        await here.ask()
        await here.host.turns.stop_conversation(f"{SOURCE}:{GENERAL}:{here.question.ts}", alone=True)
        here.tool.gate.set()
        await here.slack.until(lambda: here.work.text.endswith(RESULT))


async def test_work_ends_with_what_it_has_when_the_budget_is_used_up() -> None:
    spent = Usage(input_uncached=600, output=10)
    async with service(Worker(rounds=9, mention=True), Budgets(person=Budget(tokens=2_000)), spent) as here:
        await here.ask()
        here.tool.gate.set()
        await here.slack.until(here.calls)
        await here.idle()
        assert RESULT in here.work.text
        assert "I ended my work here" in here.work.text
        assert len(here.tool.counted) < 9
        assert schedule_texts.WORK_ENDED in here.calls()[0].text
        await here.slack.click(ANN, here.work, "Continue")
        await here.slack.until(lambda: BESIDE in here.said())
        assert here.host.taken[-1].conversation == f"{SOURCE}:{GENERAL}:{here.question.ts}"
        assert "I ended my work here" in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_has_left_the_channel_meanwhile_reads_nothing_more_there_and_learns_why_alone() -> None:
    async with service() as here:
        await here.ask()
        here.slack.state.channels[GENERAL].members.discard(ANN)
        here.clock.ahead_s += ASK_AGAIN_S + 1
        here.tool.gate.set()
        await here.slack.until(lambda: here.slack.state.answers(DM))
        await here.idle()
        (told,) = here.slack.state.answers(DM)
        assert told.text == schedule_texts.WORK_TAKEN_AWAY.format(words=TASK, why=platforms_texts.SCHEDULE_LEFT)
        assert RESULT not in here.work.text
        assert here.tool.counted == [1]


async def forget_everything(here: Working) -> None:
    await here.slack.command(ANN, GENERAL, "/forget", "everything")
    await here.slack.until(lambda: here.slack.state.ephemerals)
    await here.slack.click(ANN, here.slack.state.ephemerals[-1], "Forget")
    await here.slack.until(lambda: "forgot" in here.slack.state.ephemerals[-1].text.lower())


async def delete_the_question(here: Working) -> None:
    event = {"type": "message", "subtype": "message_deleted", "channel": GENERAL, "deleted_ts": here.question.ts}
    await here.slack.deliver(here.slack.envelope(event))


@pytest.mark.parametrize("forget", [forget_everything, delete_the_question])
async def test_work_falls_with_its_question_and_so_does_what_it_has_shown(
    forget: Callable[[Working], Awaitable[None]],
) -> None:
    async with service(Worker(mention=True)) as here:
        await here.ask()
        work = here.work
        await forget(here)
        await here.slack.until(lambda: work not in here.slack.state.answers(GENERAL))
        here.tool.gate.set()
        await here.idle()
        assert not await here.host.store.schedules.of_person(PERSON)
        assert not any(RESULT in message.text for message in here.slack.state.messages)
        assert here.tool.counted == [1]


@asynccontextmanager
async def process(slack: FakeSlack, folder: Path) -> AsyncGenerator[None]:
    """The bot, until it is killed at the end of the block."""
    given = {"works": True}
    bot = processes.Process(target=main, args=(folder, slack.url, slack.clock.now().isoformat()), kwargs=given)
    bot.start()
    try:
        await slack.connected()
        yield
    finally:
        bot.kill()
        bot.join(10)
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
