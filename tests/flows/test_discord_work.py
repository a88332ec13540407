"""Long work on Discord: begun at once, seen while it goes on, stopped, finished, and told of, in the thread."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.messages import Usage
from agent.providers.scripted import ScriptedProvider
from agent.tools.schedule import BackgroundTool
from bot.budgets.budgets import Budget, Budgets
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.schedules import texts as schedule_texts
from bot.schedules.scheduler import Scheduler
from bot.schedules.work import ASK_AGAIN_S
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.discord_bot import WINDOW_S, by_the_bot, serving
from tests.fakes.discord_gateway import FakeDiscord, running_discord
from tests.fakes.discord_world import BO, BOT, DM_OF, GENERAL, Payload, seen
from tests.fakes.fast_clock import FastClock, MovedClock
from tests.fakes.long_work import ASKED, BESIDE, ON_IT, RESULT, TASK, CountingTool, Worker
from tests.fakes.schedules import doing
from tests.fakes.store import store_in_memory
from tests.flows.platform_process import COUNTED, GOES_ON, discord_main
from tests.flows.test_discord_control import labels
from tests.flows.test_discord_schedules import EVERYBODY
from tests.flows.test_slack_crash import processes
from tests.patience import PATIENCE_S

PERSON, DM = f"discord:{BO}", DM_OF[BO]
STEP = "-# → Using count ferries…"
UNLIMITED, NO_USAGE = Budgets(), Usage()


@dataclass
class Harbour:
    fake: FakeDiscord
    clock: MovedClock
    host: AnsweringHost
    scheduler: Scheduler
    model: ScriptedProvider
    worker: Worker
    tool: CountingTool
    question: Payload = field(init=False)

    def posts(self, channel: str) -> list[Payload]:
        return [said for said in by_the_bot(self.fake) if said["channel_id"] == channel and not said["flags"] & 64]

    def said(self) -> list[str]:
        """In the thread of the question."""
        return [post["content"] for post in self.posts(self.question["id"])]

    @property
    def work(self) -> Payload:
        return self.posts(self.question["id"])[1]

    async def ask(self) -> None:
        """Bo asks for work, which then is at its first step."""
        self.question = await self.fake.say(BO, f"<@{BOT}> {ASKED}", GENERAL)
        await self.fake.until(lambda: ON_IT in self.said())
        await self.fake.until(lambda: self.tool.counted and STEP in self.work["content"])

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()


@asynccontextmanager
async def harbour(
    worker: Worker | None = None, budgets: Budgets = UNLIMITED, usage: Usage = NO_USAGE
) -> AsyncGenerator[Harbour]:
    clock, store, worker, tool = MovedClock(speed=2.0), store_in_memory(), worker or Worker(), CountingTool()
    model = ScriptedProvider(worker, usage=usage)
    async with running_discord(clock, window_s=WINDOW_S) as fake, AsyncExitStack() as stack:
        fake.world.everyone_may = EVERYBODY
        host = answering_host(model, clock, store, tools=[BackgroundTool(store.schedules), tool], budgets=budgets)
        await stack.enter_async_context(host.answering())
        await stack.enter_async_context(serving(fake, host))
        scheduler = await stack.enter_async_context(doing(host, store))
        yield Harbour(fake, clock, host, scheduler, model, worker, tool)


async def test_work_is_answered_at_once_and_goes_on_while_the_next_question_is_answered() -> None:
    async with harbour() as here:
        await here.ask()
        assert here.said()[0] == ON_IT
        assert "Harbour 1 is next." in here.work["content"]
        await here.fake.say(BO, f"<@{BOT}> what time is it?", here.question["id"])
        await here.fake.until(lambda: BESIDE in here.said())
        assert not here.tool.ended
        work = here.work["id"]
        here.tool.gate.set()
        await here.fake.until(lambda: here.work["content"].endswith(RESULT))
        await here.idle()
        assert here.work["id"] == work
        assert here.tool.counted == [1, 2]
        assert not any(f"<@{BO}>" in said for said in here.said())
        await here.fake.say(BO, f"<@{BOT}> and Bergen?", here.question["id"])
        await here.fake.until(lambda: here.said().count(BESIDE) == 2)
        assert RESULT in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_asked_to_be_called_is_called_below_the_result_and_once() -> None:
    told = f"<@{BO}> {schedule_texts.WORK_DONE}"
    async with harbour(Worker(mention=True, silent=True)) as here:
        await here.ask()
        here.tool.gate.set()
        await here.fake.until(lambda: told in here.said())
        await here.idle()
        assert here.said() == [ON_IT, RESULT, told]


async def test_what_was_asked_in_a_direct_message_is_done_there() -> None:
    async with harbour() as here:
        here.tool.gate.set()
        await here.fake.say(BO, ASKED, DM)
        await here.fake.until(lambda: ON_IT in [post["content"] for post in here.posts(DM)])
        await here.fake.until(lambda: here.posts(DM)[-1]["content"].endswith(RESULT))
        assert len(here.posts(DM)) == 2


async def say_stop(here: Harbour) -> None:
    await here.fake.say(BO, f"<@{BOT}> stop", here.question["id"])


async def press_stop(here: Harbour) -> None:
    await here.fake.press(BO, here.work, "Stop")


async def use_the_command(here: Harbour) -> None:
    await here.fake.command(BO, "stop", here.question["id"])


async def cancel_it(here: Harbour) -> None:
    called = await here.fake.command(BO, "schedules", GENERAL)
    await here.fake.until(lambda: called.original and "long work" in seen(here.fake.world.messages[called.original]))
    await here.fake.press(BO, here.fake.world.messages[called.original], "Stop")


@pytest.mark.parametrize("stop", [say_stop, press_stop, use_the_command, cancel_it])
async def test_work_is_stopped_with_what_it_has_said(stop: Callable[[Harbour], Awaitable[None]]) -> None:
    async with harbour(Worker(mention=True)) as here:
        await here.ask()
        await stop(here)
        await here.fake.until(lambda: reply_texts.STOPPED in here.work["content"])
        await here.idle()
        assert here.work["content"].startswith("Harbour 1 is next.")
        assert (here.tool.counted, here.tool.ended) == ([1], 1)
        assert not any(f"<@{BO}>" in said for said in here.said())


async def test_work_ends_with_what_it_has_when_the_budget_is_used_up() -> None:
    spent = Usage(input_uncached=600, output=10)
    async with harbour(Worker(rounds=9), Budgets(person=Budget(tokens=2_000)), spent) as here:
        await here.ask()
        here.tool.gate.set()
        await here.fake.until(lambda: "I ended my work here" in here.work["content"])
        await here.idle()
        assert RESULT in here.work["content"]
        assert len(here.tool.counted) < 9
        await here.fake.until(lambda: "Continue" in labels(here.work))
        await here.fake.press(BO, here.work, "Continue")
        await here.fake.until(lambda: BESIDE in here.said())
        assert here.host.taken[-1].conversation == f"discord:{here.question['id']}"
        assert "I ended my work here" in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_has_left_the_server_meanwhile_is_shown_nothing_more_there_and_learns_why_alone() -> None:
    async with harbour() as here:
        await here.ask()
        here.fake.world.absent.add(BO)
        here.clock.ahead_s += ASK_AGAIN_S + 1
        here.tool.gate.set()
        await here.fake.until(lambda: here.posts(DM))
        await here.idle()
        why = platforms_texts.SCHEDULE_LEFT_SERVER
        assert [post["content"] for post in here.posts(DM)] == [
            schedule_texts.WORK_TAKEN_AWAY.format(words=TASK, why=why)
        ]
        assert RESULT not in here.work["content"]
        assert here.tool.counted == [1]


async def forget_everything(here: Harbour) -> None:
    called = await here.fake.command(BO, "forget", GENERAL, what="everything")
    await here.fake.until(lambda: called.original and "Forget" in str(here.fake.world.messages[called.original]))
    await here.fake.press(BO, here.fake.world.messages[called.original], "Forget")


async def delete_the_question(here: Harbour) -> None:
    await here.fake.take_back(here.question)


@pytest.mark.parametrize("forget", [forget_everything, delete_the_question])
async def test_work_falls_with_its_question_and_so_does_what_it_has_shown(
    forget: Callable[[Harbour], Awaitable[None]],
) -> None:
    async with harbour(Worker(mention=True)) as here:
        await here.ask()
        work = here.work["id"]
        await forget(here)
        await here.fake.until(lambda: work not in here.fake.world.messages)
        here.tool.gate.set()
        await here.idle()
        async with asyncio.timeout(PATIENCE_S):
            while await here.host.store.schedules.of_person(PERSON):  # noqa: ASYNC110 -- the database tells nobody
                await asyncio.sleep(0.02)
        assert not any(RESULT in said["content"] for said in by_the_bot(here.fake))
        assert here.tool.counted == [1]


@asynccontextmanager
async def process(fake: FakeDiscord, folder: Path) -> AsyncGenerator[None]:
    """The bot, until it is killed at the end of the block."""
    addresses, before = (fake.api_base_url, fake.gateway_url), fake.identified
    given = folder, addresses, fake.world.clock.now().isoformat()
    bot = processes.Process(target=discord_main, args=given, kwargs={"works": True})
    bot.start()
    try:
        await fake.until(lambda: fake.identified > before)
        yield
    finally:
        bot.kill()
        bot.join(10)


async def test_killed_work_is_finished_in_the_same_message_and_does_nothing_twice(tmp_path: Path) -> None:
    async with running_discord(FastClock(speed=1.0), window_s=WINDOW_S) as fake:
        fake.world.everyone_may = EVERYBODY
        async with process(fake, tmp_path):
            await fake.say(BO, f"<@{BOT}> {ASKED}", GENERAL)
            await fake.until(lambda: len(by_the_bot(fake)) == 2)
            work = by_the_bot(fake)[1]
            await fake.until(lambda: "-# ✓ " in work["content"] and STEP in work["content"])
        (tmp_path / GOES_ON).touch()
        fake.rest.forget_nonces()
        async with process(fake, tmp_path):
            await fake.until(lambda: len(by_the_bot(fake)) == 3)
        on_it, finished, told = by_the_bot(fake)
        assert (on_it["content"], finished["id"]) == (ON_IT, work["id"])
        assert finished["content"].endswith(RESULT)
        assert told["content"] == f"<@{BO}> {schedule_texts.WORK_DONE}"
        assert (tmp_path / COUNTED).read_text().split() == ["1", "2", "3"]
