"""Stopping a conversation, and the buttons below an ended reply."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from agent.budget_days import BudgetPause
from agent.errors import StoreError, StoreUnavailable, StreamBroken
from agent.events import Outcome
from agent.ports.ledger import Ledger
from agent.providers.scripted import Answer, Until
from agent.toolbox.registry import Toolbox
from agent.turn_records import Claim
from bot.chat.reply.surface import PageLimited, PageRefused, PageUnsent, ReplyAction, ReplyEnd, SurfaceError
from bot.chat.turns.answering import SHOW_WAIT_S
from bot.chat.turns.tool_use import ToolUse
from bot.chat.turns.worker import TurnWorker
from bot.tools.approvals import ApprovalPolicy, PolicyTable
from store.databases.database import LocalNotifier
from store.erased_ids import ErasedIds
from store.turns.ledger import SqlLedger
from tests.bot.chat.turns.test_worker import World
from tests.fakes.incoming import said
from tests.fakes.one_turn import Echo
from tests.fakes.store import KEY, StoreInMemory
from tests.fakes.surface import BUTTONED, FakeSurface
from tests.patience import PATIENCE_S, until

HALF = "Half an answer"


async def hang() -> None:
    await asyncio.Event().wait()


async def asking(
    world: World, turns: TurnWorker, text: str, conversation: str = "thread"
) -> "asyncio.Task[Outcome | None]":
    """Return the task of a question that is being answered."""
    asked = len(world.model.requests)
    task = asyncio.create_task(turns.ask(said(text, conversation=conversation)))
    await until(lambda: len(world.model.requests) > asked)
    return task


async def test_stopping_a_conversation_ends_its_answer_with_what_was_said_and_a_line_that_is_not_stored() -> None:
    world = World([[HALF, Until(hang)]])
    async with world.serving() as turns:
        running = await asking(world, turns, "Hello?")
        await until(lambda: "thread" in world.surfaces and world.shown())
        assert await turns.stop_conversation("thread")
        assert await running is Outcome.STOPPED
    assert world.shown() == [f"{HALF}\n\n*Stopped.*"]
    assert world.surfaces["thread"].endings == [ReplyEnd.STOPPED]
    assert world.stored() == ["Hello?", HALF]


async def test_questions_that_wait_in_a_stopped_conversation_are_told_so_and_cost_nothing() -> None:
    world = World([[HALF, Until(hang)]])
    async with world.serving() as turns:
        running = await asking(world, turns, "one?")
        waiting = asyncio.create_task(turns.ask(said("two?")))
        await until(lambda: len(world.store.turns) == 2)
        await turns.stop_conversation("thread")
        assert await running is Outcome.STOPPED
        assert await waiting is Outcome.STOPPED
    assert world.shown() == [f"{HALF}\n\n*Stopped.*", "*Stopped.*"]
    assert len(world.model.requests) == 1


async def test_a_conversation_in_which_nothing_runs_has_nothing_to_stop_and_others_go_on() -> None:
    gate = asyncio.Event()
    world = World([["Hello.", Until(gate.wait)]])
    async with world.serving() as turns:
        running = await asking(world, turns, "Hello?")
        assert not await turns.stop_conversation("another")
        gate.set()
        assert await running is Outcome.ANSWERED
        assert not await turns.stop_conversation("thread")
    assert world.shown() == ["Hello."]


async def test_a_question_after_a_stop_is_answered() -> None:
    world = World([[Until(hang)], "Again."])
    async with world.serving() as turns:
        running = await asking(world, turns, "Hello?")
        await turns.stop_conversation("thread")
        assert await running is Outcome.STOPPED
        assert await turns.ask(said("And now?")) is Outcome.ANSWERED
    assert world.shown() == ["*Stopped.*", "Again."]


@pytest.mark.parametrize(
    ("answer", "outcome", "end", "offers"),
    [
        (
            ["Whole."],
            Outcome.ANSWERED,
            ReplyEnd.DONE,
            frozenset({ReplyAction.GOOD, ReplyAction.BAD, ReplyAction.REGENERATE, ReplyAction.DELETE}),
        ),
        (
            [HALF, StreamBroken("The answer broke off.")],
            Outcome.CUT,
            ReplyEnd.FAILED,
            frozenset({ReplyAction.CONTINUE, ReplyAction.DELETE}),
        ),
        (
            [StreamBroken("The answer broke off.")],
            Outcome.REFUSED,
            ReplyEnd.FAILED,
            frozenset({ReplyAction.REGENERATE, ReplyAction.DELETE}),
        ),
    ],
)
async def test_only_an_answer_that_was_cut_offers_to_go_on_and_only_a_whole_one_to_be_judged(
    answer: Answer, outcome: Outcome, end: ReplyEnd, offers: frozenset[ReplyAction]
) -> None:
    world = World([answer])
    world.surfaces["thread"] = FakeSurface(world.clock, BUTTONED)
    async with world.serving() as turns:
        assert await turns.ask(said("Hello?")) is outcome
    assert world.surfaces["thread"].offers == {"page-1-0": offers}
    assert world.surfaces["thread"].endings == [end]


async def test_a_turn_that_was_put_off_while_it_was_stopped_stays_stopped() -> None:
    world = World([[HALF, Until(hang)]])
    async with world.serving() as turns:
        running = await asking(world, turns, "Hello?")
        await until(lambda: "thread" in world.surfaces and world.shown())
        world.store.ledger.fail_next_save = StoreError("The database is busy.")
        await turns.stop_conversation("thread")
        await until(lambda: world.store.ledger.fail_next_save is None)
        await world.clock.advance(60)
        assert await running is Outcome.STOPPED
    assert world.shown() == ["*Stopped.*"]
    assert len(world.model.requests) == 1


async def test_a_stop_reaches_an_answer_that_another_process_gives() -> None:
    world = World([[HALF, Until(hang)]])
    other = world.turns("another process")
    async with world.serving() as turns:
        running = await asking(world, turns, "Hello?")
        await until(lambda: "thread" in world.surfaces and world.shown())
        assert await other.stop_conversation("thread")
        assert await running is Outcome.STOPPED
    assert world.shown() == [f"{HALF}\n\n*Stopped.*"]


TELLS_BEN = 'I will tell Ben.\n<execute>[{"name": "echo", "args": {"text": "Hello."}}]</execute>'


def asking_first(world: World, ledger: Ledger, tool: Echo) -> TurnWorker:
    """Turns in which the tool needs its asker's consent."""
    table = PolicyTable(world.store.preferences, world.store.audit, world.clock)
    policy = ApprovalPolicy(world.store.consents, world.store.approvals, world.clock, table)
    runner = replace(world.runner(), ledger=ledger, tools=ToolUse(Toolbox([tool]), policy))
    return TurnWorker(ledger, runner, world.surface, LocalNotifier(), world.clock, "worker", world.limits)


class PutAsideAtSecondTry(SqlLedger):
    def __init__(self, store: StoreInMemory) -> None:
        super().__init__(store.database, ErasedIds(KEY))
        self.tries = 0

    async def put_aside(self, claim: Claim, until: datetime, pause: BudgetPause | None = None) -> None:
        self.tries += 1
        if self.tries == 1:
            raise StoreUnavailable("the server restarts")
        await super().put_aside(claim, until, pause)


async def test_whoever_waits_for_an_answer_waits_until_it_is_put_aside_indeed() -> None:
    world, tool = World([TELLS_BEN]), Echo()
    ledger = PutAsideAtSecondTry(world.store)
    turns = asking_first(world, ledger, tool)
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        assert await turns.ask(said("tell Ben")) is None
        assert ledger.tries == 2
    assert len(await world.store.consents.undecided("ann")) == 1
    assert tool.said == []


@pytest.mark.parametrize(
    ("failures", "shown"),
    [
        ([], 1),
        ([PageLimited(2)], 2),
        ([PageLimited(2), PageUnsent("down")], 2),
        ([PageLimited(SHOW_WAIT_S + 1)], 1),
        ([PageRefused("no")], 1),
    ],
)
async def test_its_asker_is_shown_what_waits_once_it_is_put_aside_and_it_waits_also_if_that_fails(
    failures: list[SurfaceError], shown: int
) -> None:
    world, tool = World([TELLS_BEN]), Echo()
    surface = FakeSurface(world.clock, BUTTONED)
    world.surfaces["thread"], surface.fail_waiting = surface, failures
    ledger = PutAsideAtSecondTry(world.store)
    turns = asking_first(world, ledger, tool)
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        assert await turns.ask(said("tell Ben")) is None
        await until(lambda: len(surface.waiting_shown) == shown)
        await until(lambda: ReplyEnd.WAITS in surface.endings)
    assert surface.waiting_shown == [1] * shown
    assert (surface.begun, surface.endings) == ([False, True], [ReplyEnd.CONTINUES, ReplyEnd.WAITS])
    assert len(await world.store.consents.undecided("ann")) == 1


class PutAsideMeanwhile(SqlLedger):
    """Puts a turn aside just after the waiting turns were read."""

    def __init__(self, store: StoreInMemory) -> None:
        super().__init__(store.database, ErasedIds(KEY))
        self.putting_aside, self.looked = asyncio.Event(), asyncio.Event()

    async def put_aside(self, claim: Claim, until: datetime, pause: BudgetPause | None = None) -> None:
        self.putting_aside.set()
        await self.looked.wait()
        await super().put_aside(claim, until, pause)

    async def take_back(self, person: str, conversation: str | None) -> list[int]:
        found = await super().take_back(person, conversation)
        self.looked.set()
        return found


async def test_what_is_put_aside_while_it_is_taken_back_before_forgetting_is_taken_back_too() -> None:
    world, tool = World([TELLS_BEN]), Echo()
    ledger = PutAsideMeanwhile(world.store)
    turns = asking_first(world, ledger, tool)
    async with asyncio.timeout(PATIENCE_S), turns.serving():
        await turns.submit(said("tell Ben"))
        await ledger.putting_aside.wait()
        assert "I will tell Ben." in world.shown()[0]
        await turns.take_back("ann", None)
    assert world.shown() == []
    assert (tool.said, world.store.turns[0].outcome) == ([], Outcome.STOPPED)
