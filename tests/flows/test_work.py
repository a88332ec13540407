"""Long work: begun at once, seen while it goes on, stopped, finished, and told of, in the thread; on each platform."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Generic

import pytest

from agent.messages import Usage
from agent.ports.tools import ToolEffect
from agent.providers.scripted import ScriptedProvider
from agent.tools.schedule import BackgroundTool
from bot.budgets.budgets import TOKENS, Budget, Budgets
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.schedules import texts as schedule_texts
from bot.schedules.work import ASK_AGAIN_S
from bot.tools import texts as tool_texts
from tests.fakes.answering_host import AnsweringHost, answering_host
from tests.fakes.long_work import ASKED, BESIDE, ON_IT, RESULT, TASK, CountingTool, Worker
from tests.fakes.schedules import doing
from tests.fakes.store import store_in_memory
from tests.fakes.telling_model import HERE
from tests.flows.worlds import WORLDS, AnyWorld, OpenWorld, Page, W, Who, World, mainly_in_slack
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.parametrize("open_world", WORLDS)

STEP = "Using count ferries…"
UNLIMITED, NO_USAGE = Budgets(), Usage()


@dataclass
class Working(Generic[W]):
    world: W
    host: AnsweringHost
    model: ScriptedProvider
    tool: CountingTool
    question: Page = field(init=False)

    def said(self) -> Sequence[str]:
        """In the thread of the question, by the bot."""
        return [page.text for page in self.world.answers(self.question)]

    @property
    def work(self) -> Page:
        return self.world.answers(self.question)[1]

    async def ask(self) -> None:
        """The asker asks for work, which then is at its first step."""
        self.question = await self.world.ask(ASKED)
        await self.world.until(lambda: ON_IT in self.said())
        await self.world.until(lambda: self.tool.counted and STEP in self.work.text)

    def calls(self) -> Sequence[Page]:
        """What notifies the asker."""
        return [page for page in self.world.answers() if self.world.calls(page)]

    async def idle(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            await self.host.turns.idle()


@asynccontextmanager
async def working(
    open_world: OpenWorld[W],
    worker: Worker | None = None,
    budgets: Budgets = UNLIMITED,
    usage: Usage = NO_USAGE,
    effect: ToolEffect = ToolEffect.READS,
) -> AsyncGenerator[Working[W]]:
    store, tool = store_in_memory(), CountingTool(effect=effect)
    model = ScriptedProvider(worker or Worker(), usage=usage)
    async with open_world() as world, AsyncExitStack() as stack:
        tools = [BackgroundTool(store.schedules), tool]
        host = answering_host(model, world.clock, store, tools=tools, budgets=budgets)
        await stack.enter_async_context(host.answering())
        await stack.enter_async_context(world.serving(host))
        await stack.enter_async_context(doing(host, store))
        yield Working(world, host, model, tool)


@mainly_in_slack
async def test_work_is_answered_at_once_and_goes_on_while_the_next_question_is_answered(open_world: AnyWorld) -> None:
    async with working(open_world) as here:
        await here.ask()
        assert here.said()[0] == ON_IT
        assert "Harbour 1 is next." in here.work.text
        await here.world.ask("what time is it?", here.question)
        await here.world.until(lambda: BESIDE in here.said())
        assert not here.tool.ended
        work = here.work
        here.tool.gate.set()
        await here.world.until(lambda: here.work.text.endswith(RESULT))
        await here.idle()
        assert here.work == work
        assert here.tool.counted == [1, 2]
        assert STEP not in here.work.text
        assert not here.calls()
        await here.world.ask("and Bergen?", here.question)
        await here.world.until(lambda: here.said().count(BESIDE) == 2)
        assert RESULT in "\n".join(message.text for message in here.model.requests[-1])


@mainly_in_slack
async def test_who_asked_to_be_called_is_called_below_the_result_and_once(open_world: AnyWorld) -> None:
    async with working(open_world, Worker(mention=True, silent=True)) as here:
        await here.ask()
        here.tool.gate.set()
        await here.world.until(here.calls)
        await here.idle()
        (call,) = here.calls()
        assert schedule_texts.WORK_DONE in call.text
        assert here.said() == [ON_IT, RESULT, call.text]


@mainly_in_slack
async def test_what_was_asked_in_a_direct_message_is_done_there(open_world: AnyWorld) -> None:
    async with working(open_world) as here:
        here.tool.gate.set()
        await here.world.write(ASKED)
        await here.world.until(lambda: any(page.text.endswith(RESULT) for page in here.world.direct()))
        on_it, work = here.world.direct()
        assert (on_it.text, work.text.endswith(RESULT)) == (ON_IT, True)


async def test_what_acts_is_asked_for_again_once_a_tool_has_said_something_also_where_it_is_allowed_for_good(
    open_world: AnyWorld,
) -> None:
    async with working(open_world, effect=ToolEffect.ACTS_OUTWARD) as here:
        here.question = await here.world.ask(ASKED)
        waits = reply_texts.WAITS_FOR_CONSENT.format(tools=f"`{here.tool.name}`")
        await here.world.until(lambda: waits in here.work.text)
        assert not here.tool.counted
        await here.world.ask("what time is it?", here.question)
        await here.world.until(lambda: BESIDE in here.said())
        here.tool.gate.set()
        await decide(here, HERE)
        await here.world.until(lambda: here.tool.counted == [1] and waits in here.work.text)
        await decide(here, tool_texts.ALLOW_ONCE)
        await here.world.until(lambda: here.work.text.endswith(RESULT))
        assert here.tool.counted == [1, 2]
        conversation, asker = here.world.conversation(here.question), here.world.person(Who.ASKER)
        assert await here.host.store.consents.standing(conversation, asker) == {here.tool.name}


async def decide(here: Working[World], label: str) -> None:
    """Press this button below what the work waits for."""
    before = len(here.world.private())
    await here.world.until(lambda: platforms_texts.DECIDE_BUTTON in here.work.buttons)
    await here.world.press(here.work, platforms_texts.DECIDE_BUTTON)
    await here.world.until(lambda: len(here.world.private()) > before and label in here.world.private()[-1].buttons)
    await here.world.press(here.world.private()[-1], label)


async def say_stop(here: Working[World]) -> None:
    await here.world.ask("stop", here.question)


async def press_stop(here: Working[World]) -> None:
    await here.world.press(here.work, "Stop")


async def use_the_command(here: Working[World]) -> None:
    await here.world.command("stop", below=here.question)


async def cancel_it(here: Working[World]) -> None:
    await here.world.command("schedules")
    await here.world.until(lambda: "long task" in here.world.private()[-1].text)
    await here.world.press(here.world.private()[-1], "Stop")


@pytest.mark.parametrize("stop", [say_stop, press_stop, use_the_command, cancel_it])
async def test_work_is_stopped_with_what_it_has_said(
    open_world: AnyWorld, stop: Callable[[Working[World]], Awaitable[None]]
) -> None:
    async with working(open_world, Worker(mention=True)) as here:
        await here.ask()
        await stop(here)
        await here.world.until(lambda: reply_texts.STOPPED in here.work.text)
        await here.idle()
        assert here.work.text.startswith("Harbour 1 is next.")
        assert (here.tool.counted, here.tool.ended) == ([1], 1)
        assert not here.calls()


@mainly_in_slack
async def test_the_button_of_another_answer_stops_no_work(open_world: AnyWorld) -> None:
    async with working(open_world) as here:
        await here.ask()
        await here.host.turns.stop_conversation(here.world.conversation(here.question), alone=True)
        here.tool.gate.set()
        await here.world.until(lambda: here.work.text.endswith(RESULT))


@mainly_in_slack
async def test_work_ends_with_what_it_has_when_the_budget_is_used_up(open_world: AnyWorld) -> None:
    spent = Usage(input_uncached=600, output=10)
    budgets = Budgets(person=Budget(tokens=2_000))
    async with working(open_world, Worker(rounds=9, mention=True), budgets, spent) as here:
        await here.ask()
        here.tool.gate.set()
        await here.world.until(here.calls)
        await here.idle()
        assert RESULT in here.work.text
        assert "I stopped early" in here.work.text
        assert len(here.tool.counted) < 9
        assert schedule_texts.WORK_ENDED in here.calls()[0].text
        await here.world.until(lambda: "Continue" in here.work.buttons)
        await here.host.preferences.set(here.world.person(Who.ASKER), TOKENS, "100000")
        await here.world.press(here.work, "Continue")
        await here.world.until(lambda: BESIDE in here.said())
        assert here.host.taken[-1].conversation == here.world.conversation(here.question)
        assert "I stopped early" in "\n".join(message.text for message in here.model.requests[-1])


async def test_who_has_left_the_place_meanwhile_is_shown_nothing_more_there_and_learns_why_alone(
    open_world: AnyWorld,
) -> None:
    async with working(open_world) as here:
        await here.ask()
        await here.world.leave()
        here.world.clock.ahead_s += ASK_AGAIN_S + 1
        here.tool.gate.set()
        await here.world.until(here.world.direct)
        await here.idle()
        (told,) = here.world.direct()
        assert told.text == schedule_texts.WORK_TAKEN_AWAY.format(words=TASK, why=here.world.left)
        assert RESULT not in here.work.text
        assert here.tool.counted == [1]


async def forget_everything(here: Working[World]) -> None:
    await here.world.command("forget", "everything")
    await here.world.until(lambda: "Forget" in here.world.private()[-1].buttons)
    await here.world.press(here.world.private()[-1], "Forget")
    await here.world.until(lambda: any("forgot" in page.text.lower() for page in here.world.private()))


async def delete_the_question(here: Working[World]) -> None:
    await here.world.delete(here.question)


@pytest.mark.parametrize("forget", [forget_everything, delete_the_question])
async def test_work_falls_with_its_question_and_so_does_what_it_has_shown(
    open_world: AnyWorld, forget: Callable[[Working[World]], Awaitable[None]]
) -> None:
    async with working(open_world, Worker(mention=True)) as here:
        await here.ask()
        work, asker = here.work, here.world.person(Who.ASKER)
        await forget(here)
        await here.world.until(lambda: work not in here.world.answers())
        here.tool.gate.set()
        await here.idle()
        async with asyncio.timeout(PATIENCE_S):
            while await here.host.store.schedules.of_person(asker):  # noqa: ASYNC110 -- the database tells nobody
                await asyncio.sleep(0.02)
        assert not any(RESULT in page.text for page in here.world.answers())
        assert here.tool.counted == [1]
