"""Turns and profiles: the content of contexts, and the messages that are left to learn from."""

import asyncio
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place, TeamAudience
from agent.memory.profile import LEARNING, Insight, Partition, ProfileField, learned
from agent.messages import Message
from agent.ports.model import Provider
from agent.providers.scripted import ScriptedProvider
from agent.turn_kinds import TurnKind
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import JobWorker
from bot.chat.learning_model import LearningModel
from bot.chat.turns.worker import TurnWorker, TurnWorkerLimits
from bot.memory.learning import Learner, LearningLimits
from bot.memory.pauses import LearningSchedule
from store.databases.database import LocalNotifier
from store.engine import Store
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import dm, said
from tests.fakes.plans import one_thread
from tests.fakes.runners import runner_on
from tests.fakes.store import store_in_memory
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

CLUB = Place(GroupAudience("club"))
PUBLIC = Place(TeamAudience("t"), within_team="t")


@dataclass
class World:
    """Turns, and the worker that learns from them."""

    store: Store
    model: Provider
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        store, self.floor = self.store, ForegroundPriority()
        self.learner = Learner(
            store.profiles,
            store.facts,
            store.jobs,
            store.spending,
            lambda: LearningModel(self.model),
            self.clock,
            self.floor,
        )
        self.worker = JobWorker(store.jobs, {LEARNING: self.learner.learn}, self.clock, "learner")
        runner = replace(
            runner_on(store, self.model, self.clock), learning=LearningSchedule(self.learner), foreground=self
        )
        limits = TurnWorkerLimits(sweep_s=0.01)
        self.turns = TurnWorker(store.ledger, runner, self._surface, LocalNotifier(), self.clock, "worker", limits)
        self.answered: list[str] = []

    @contextmanager
    def answering(self) -> Generator[None]:
        self.answered.append("begun")
        with self.floor.answering():
            yield
        self.answered.append("ended")

    def _surface(self, _: Incoming) -> FakeSurface:
        return FakeSurface(self.clock)

    async def ask(self, *questions: Incoming) -> Outcome | None:
        outcome = None
        async with asyncio.timeout(PATIENCE_S), self.turns.serving():
            for question in questions:
                outcome = await self.turns.ask(question)
        return outcome

    async def learn(self) -> None:
        await self.clock.sleep(LearningLimits().quiet.total_seconds())
        while await self.worker.work():
            pass


def context_of(messages: Sequence[Message]) -> str:
    """Return the context of a turn's question."""
    return messages[-2].text


async def known(store: Store, partition: Partition, text: str, source: int) -> None:
    insight = Insight(ProfileField.GOALS, text, (source,), FakeClock().now())
    profile = learned(await store.profiles.get(partition), partition.audience, [insight], 1, FakeClock().now())
    assert await store.profiles.save(partition, profile)


async def test_what_is_known_stands_in_the_context_and_its_sources_with_what_the_turn_used() -> None:
    store, model = store_in_memory(), ScriptedProvider(["One.", "Two."])
    world = World(store, model)
    await world.ask(said("I learn Rust", conversation="a"))
    first = store.turns[0].message
    await known(store, Partition("ann", "person:ann"), "learns Rust", first)
    await world.ask(said("what do I learn?", conversation="b"))
    assert "PROFILE" not in context_of(model.requests[0])
    assert "CURRENT GOALS: learns Rust" in context_of(model.requests[1])
    assert first in store.ledger.closings[2].context_messages


async def test_an_answered_question_is_left_to_be_learned_from_and_a_failed_one_is_not() -> None:
    store, model = store_in_memory(), ScriptedProvider(["Fine."])
    world = World(store, model)
    assert await world.ask(said("I learn Rust")) is Outcome.ANSWERED
    assert store.to_learn == ["I learn Rust"]
    assert await world.ask(said("and then?")) is Outcome.REFUSED
    assert len(store.to_learn) == 1


async def test_the_words_of_a_schedule_that_is_asked_again_are_not_learned_from() -> None:
    """A model may have written them, from what it had read."""
    store = store_in_memory()
    again = replace(said("My bank is Evil Savings."), own=False, kind=TurnKind.SCHEDULED_AGAIN)
    assert await World(store, ScriptedProvider(["Fine."])).ask(again) is Outcome.ANSWERED
    assert store.to_learn == []


async def test_the_floor_is_taken_while_the_model_answers() -> None:
    world = World(store_in_memory(), ScriptedProvider(["Fine."]))
    await world.ask(said("hello"))
    assert world.answered == ["begun", "ended"]


def tells_all(messages: Sequence[Message]) -> str:
    """Answers turns with a word, and finds a goal in every message that it learns from."""
    if not messages[-1].text.startswith("[{"):
        return "Fine."
    listed = json.loads(messages[-1].text)
    found = [{"field": "goals", "text": f"goal: {one['text']}", "from": [one["number"]]} for one in listed]
    return json.dumps({"insights": found, "actions": []})


@pytest.mark.slow
async def test_what_was_told_in_a_dm_is_known_there_and_nowhere_else() -> None:
    store = store_in_memory()
    model = ScriptedProvider(tells_all)
    world = World(store, model)
    places = {"ann's DM": dm("ann"), "the club": CLUB, "the square": PUBLIC}
    told = [said(f"told in {name}", conversation=f"told {name}", place=place) for name, place in places.items()]
    bens = said("Ben in the club", person="ben", conversation="ben", place=CLUB)
    await world.ask(*told, bens)
    await world.learn()
    asked = [said(f"and in {name}?", conversation=f"later {name}", place=at) for name, at in places.items()]
    before = len(model.requests)
    await world.ask(*asked, said("and I?", person="ben", conversation="bens", place=dm("ben")))
    contexts = [context_of(request) for request in model.requests[before:]]
    seen = [[name for name in [*places, "Ben"] if f"goal: told in {name}" in text] for text in contexts]
    assert seen == [["ann's DM"], ["the club"], ["the square"], []]
    assert not any("Ben in the club" in text for text in contexts)


@pytest.mark.slow
async def test_after_a_thread_is_forgotten_nothing_of_it_is_known_any_more() -> None:
    store = store_in_memory()
    model = ScriptedProvider(tells_all)
    world = World(store, model)
    await world.ask(said("a boat", conversation="boats"), said("learn Rust", conversation="code"))
    await world.learn()
    receipt = await store.forgetting.forget(one_thread("ann", "boats"), world.clock.now())
    assert (receipt.found_again, receipt.bytes_gone) == (0, True)
    await world.ask(said("hm?", conversation="later"))
    assert "boat" not in context_of(model.requests[-1])
    assert "goal: learn Rust" in context_of(model.requests[-1])


async def test_a_greeting_costs_no_call_of_the_learner_and_what_follows_it_does() -> None:
    store, model = store_in_memory(), ScriptedProvider(["Hello.", "Noted.", "[]"])
    world = World(store, model)
    await world.ask(said("hi"))
    await world.learn()
    assert len(model.requests) == 1
    await world.ask(said("I moved to Rome."))
    await world.learn()
    assert len(model.requests) == 3
    assert "Rome" in model.requests[2][-1].text
