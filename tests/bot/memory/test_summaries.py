"""A long conversation keeps its beginning: real turns and a real database, with jobs run in between."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import pytest

from agent.context import ContextBudget
from agent.memory.forgetting_plans import Deleted
from agent.messages import Message
from agent.ports.model import Provider
from agent.providers.rehearsal import RehearsalProvider
from agent.providers.scripted import ScriptedProvider
from agent.recall_query import RecallQuery
from agent.spending import By, SpendingPeriod
from agent.state import SituationSummary
from agent.summary import SUMMARY
from agent.tools.recall import RecallTool, recollect
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import JobWorker
from bot.chat.learning_model import LearningModel
from bot.chat.turns.runner import TurnRunner
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.memory.learning import may_spend
from bot.memory.summaries import Summariser
from store.databases.database import LocalNotifier
from store.engine import Store
from tests.contracts.steps import answered, proved
from tests.fakes.clock import FakeClock
from tests.fakes.fixed_config import WORDED
from tests.fakes.incoming import START, said
from tests.fakes.new_database import open_new
from tests.fakes.runners import runner_on
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.slow

HERE = frozenset({"person:ann"})
WINDOW = 900
LONG = "Here is a long page about the weather in the harbour. " * 60
NOTES = '{"key_findings": "Ann\'s code word is PELICAN"}'
RECALL = '<execute>[{"name": "recall", "args": {"query": "code word"}}]\n</execute>'


@dataclass
class World:
    store: Store
    answers: ScriptedProvider = field(default_factory=lambda: ScriptedProvider(["Noted."] * 20))
    notes: ScriptedProvider = field(default_factory=lambda: ScriptedProvider([NOTES] * 20))
    can_learn: bool = True
    has_budget: Callable[[str], Awaitable[bool]] = may_spend
    recollects: bool = False
    clock: FakeClock = field(default_factory=FakeClock)

    def runner(self, model: Provider | None = None) -> TurnRunner:
        store = self.store
        return replace(
            runner_on(store, model or self.answers, self.clock, RecallTool(store.memories)),
            context=replace(
                WORDED,
                budget=ContextBudget(history=WINDOW),
                recollect=partial(recollect, store.memories, store.conversations) if self.recollects else None,
            ),
            summarises=True,
        )

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[TurnWorker]:
        store = self.store
        surface = FakeSurface(self.clock)
        limits = TurnWorkerLimits(sweep_s=0.01)
        turns = TurnWorker(
            store.ledger, self.runner(), lambda _: surface, LocalNotifier(), self.clock, "worker", limits
        )
        async with asyncio.timeout(PATIENCE_S), turns.serving():
            yield turns

    def summariser(self, floor: ForegroundPriority | None = None) -> Summariser:
        model = LearningModel(self.notes, is_local=floor is not None, can_learn=self.can_learn)
        return Summariser(
            self.store.summaries,
            self.store.jobs,
            self.store.spending,
            lambda: model,
            self.clock,
            floor or ForegroundPriority(),
            self.has_budget,
        )

    def worker(self, floor: ForegroundPriority | None = None) -> JobWorker:
        return JobWorker(self.store.jobs, {SUMMARY: self.summariser(floor).summarise}, self.clock, "worker")

    async def work(self) -> None:
        while await self.worker().work():
            pass

    async def talk(self, *, works: bool = True) -> None:
        """Tell the code word, then run five long turns."""
        async with self.serving() as turns:
            for text in ["My code word is PELICAN.", *[f"{number}. {LONG}" for number in range(5)], "What was it?"]:
                await turns.ask(said(text))
                if works:
                    await self.work()

    @property
    def last(self) -> Sequence[Message]:
        return self.answers.requests[-1]

    async def summary(self) -> SituationSummary:
        known = await self.store.knowledge.for_turn(said("?"), HERE, before_turn=10**6, messages=9, actions=0)
        return known.summary


@asynccontextmanager
async def world(url: str = "sqlite://") -> AsyncGenerator[World]:
    store = await open_new(url)
    try:
        yield World(store)
    finally:
        await store.close()


def context(messages: Sequence[Message]) -> str:
    return messages[-2].text


async def test_what_was_said_first_stands_in_the_summary_once_it_is_out_of_sight() -> None:
    async with world() as one:
        await one.talk()
        assert not any("PELICAN" in message.text for message in one.last[1:-2])
        assert "SUMMARY OF EARLIER MESSAGES:\nkey_findings: Ann's code word is PELICAN" in context(one.last)
        assert "PELICAN" in one.notes.requests[0][-1].text
        (total,) = await one.store.spending.totals(SpendingPeriod.days_until(START, 99), By.PERSON, person="ann")
        assert total.spent.calls == len(one.answers.requests) + len(one.notes.requests)


async def test_the_rehearsal_keeps_it_too() -> None:
    async with world() as one:
        one.can_learn = False
        await one.talk()
        assert "code word is PELICAN" in context(one.last)
        assert one.notes.requests == []


async def test_while_no_summary_is_made_the_beginnings_of_what_was_said_stand_there() -> None:
    async with world() as one:
        await one.talk(works=False)
        assert "BEGINNINGS OF EARLIER MESSAGES:\n- Ann: My code word is PELICAN.\n" in context(one.last)


async def test_no_model_is_asked_when_the_budget_is_used_up() -> None:
    async def spent(person: str) -> bool:
        return person != "ann"

    async with world() as one:
        one.has_budget = spent
        await one.talk()
        assert one.notes.requests == []
        assert "PELICAN" in context(one.last)


async def test_a_model_that_writes_nonsense_is_asked_again_later_and_then_no_more() -> None:
    async with world() as one:
        one.notes = ScriptedProvider(["I cannot do that."] * 9)
        await one.talk()
        for _ in range(5):
            await one.clock.advance(86_400)
            await one.work()
        assert len(one.notes.requests) == 3
        assert "PELICAN" in (await one.summary()).key_findings


async def test_an_answer_that_needs_this_machines_model_goes_first() -> None:
    async with world() as one:
        await one.talk(works=False)
        floor = ForegroundPriority()
        with floor.answering():
            assert await one.worker(floor).work()
        assert (await one.summary()).is_empty
        await one.clock.advance(60)
        assert await one.worker(floor).work()
        assert not (await one.summary()).is_empty


async def test_a_summary_as_long_as_a_book_takes_a_few_hundred_tokens_of_each_context() -> None:
    async with world() as one:
        book = "PELICAN " + "word " * 40_000
        one.notes = ScriptedProvider([f'{{"goal": "{book}", "key_findings": "{book}"}}'] * 9)
        one.answers = ScriptedProvider([f'Noted.\n<summary>{{"progress": "{book}"}}</summary>'] * 9)
        await one.talk()
        assert "PELICAN" in context(one.last)
        assert len(context(one.last)) < 6_000


async def test_recall_finds_what_is_out_of_sight_in_this_conversation_and_nothing_that_is_in_sight() -> None:
    async with world() as one:
        one.answers = ScriptedProvider(["Noted."] * 6 + [RECALL, "PELICAN."])
        await one.talk(works=False)
        found = one.last[-1].text
        assert "My code word is PELICAN." in found
        assert "4. Here is a long page" not in found


async def test_what_is_out_of_sight_is_recollected_unasked() -> None:
    async with world() as one:
        one.recollects = True
        await one.talk()
        async with one.serving() as turns:
            await turns.ask(said("What is my code word?"))
        assert "PELICAN" in context(one.last).partition("SUMMARY OF")[0]


async def test_with_everything_in_sight_recall_leaves_this_conversation_out() -> None:
    async with world() as one:
        claim = await answered(one.store, said("My code word is PELICAN."), "Noted.")
        query = RecallQuery("ann", "code word", HERE, "thread")
        assert await one.store.memories.search(query) == []
        assert await one.store.memories.search(replace(query, visible_from=claim.message)) == []
        hits = await one.store.memories.search(replace(query, visible_from=claim.message + 1))
        assert [hit.message.text for hit in hits] == ["My code word is PELICAN."]


async def test_a_summary_falls_with_what_it_was_made_of_and_is_made_anew_of_the_rest() -> None:
    async with world() as one:
        await one.talk()
        assert "PELICAN" in (await one.summary()).key_findings
        whole = await one.store.conversations.history("thread", before_turn=10**6, limit=99)
        gone = Deleted("test", "channel", frozenset({whole[0].message_id or ""}))
        assert proved(await one.store.forgetting.forget(gone, START))
        assert (await one.summary()).is_empty
        one.notes = ScriptedProvider(['{"key_findings": "the weather"}'] * 9)
        async with one.serving() as turns:
            await turns.ask(said("And now?"))
        await one.work()
        assert (await one.summary()).key_findings == "the weather"
        assert not any("PELICAN" in message.text for request in one.notes.requests for message in request)


@pytest.mark.parametrize("edited", [False, True])
async def test_what_is_forgotten_or_edited_while_a_summary_is_made_does_not_come_back_through_it(edited: bool) -> None:
    async with world() as one:
        await answered(one.store, said("My code word is PELICAN."), "Noted.")
        await answered(one.store, said("And more."), "Noted.")
        before = await one.store.summaries.uncovered("thread", 10**6)
        assert before is not None
        post = before.messages[0].message_id or ""
        if edited:
            assert await one.store.forgetting.update_text("test", "channel", post, "I have no code word", START)
        else:
            await one.store.forgetting.forget(Deleted("test", "channel", frozenset({post})), START)
        made = SituationSummary(key_findings="PELICAN")
        assert not await one.store.summaries.save("thread", before, before.messages, made)
        assert (await one.summary()).is_empty


async def test_only_one_of_two_summaries_of_the_same_is_kept() -> None:
    async with world() as one:
        await answered(one.store, said("My code word is PELICAN."), "Noted.")
        before = await one.store.summaries.uncovered("thread", 10**6)
        assert before is not None
        assert await one.store.summaries.save("thread", before, before.messages, SituationSummary(goal="one"))
        assert not await one.store.summaries.save("thread", before, before.messages, SituationSummary(goal="two"))
        after = await one.store.summaries.uncovered("thread", 10**6)
        assert after is not None
        assert (after.summary.goal, after.messages) == ("one", ())


async def test_the_rehearsal_answers_in_a_long_conversation_without_waiting_for_a_summary() -> None:
    async with world() as one:
        rehearsal = RehearsalProvider(pace_s=0)
        runner = one.runner(rehearsal)
        surface = FakeSurface(one.clock)
        turns = TurnWorker(
            one.store.ledger, runner, lambda _: surface, LocalNotifier(), one.clock, "w", TurnWorkerLimits()
        )
        async with asyncio.timeout(PATIENCE_S), turns.serving():
            await turns.ask(said("My code word is PELICAN."))
            for number in range(5):
                await turns.ask(said(f"{number}. {LONG}"))
            await turns.ask(said("what did I say about my code word?"))
        assert "PELICAN" in "".join(surface.shown)
