"""Vectors that are made in the background, and searches without them."""

import logging
from dataclasses import dataclass, field, replace

import pytest

from agent.memory.audience import may_flow_from
from agent.providers.static_embeddings import StaticEmbedder
from agent.recall_query import RecallQuery
from agent.spending import By, SpendingPeriod
from bot.chat.foreground import ForegroundPriority
from bot.memory.meanings import EMBEDDING, MeaningfulMemories, MeaningLimits, MeaningWriter, between
from store.engine import Store
from tests.contracts.steps import answered
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.incoming import LEASE, START, dm, said
from tests.fakes.store import store_in_memory

LIMITS = MeaningLimits()
QUERY = RecallQuery("ann", "which boat", may_flow_from(dm("ann")), "")


@dataclass
class World:
    store: Store
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    clock: FakeClock = field(default_factory=lambda: FakeClock(auto=False))
    floor: ForegroundPriority = field(default_factory=ForegroundPriority)

    async def write(self, limits: MeaningLimits = LIMITS) -> float:
        """Run the job once; return the seconds until it is due again."""
        store = self.store
        writer = MeaningWriter(
            store.embeddings, self.embedder, store.jobs, store.spending, self.clock, self.floor, limits
        )
        await writer.begin()
        job = await store.jobs.claim(frozenset({EMBEDDING}), "me", self.clock.now(), LEASE)
        assert job is not None
        await writer.write(job)
        await store.jobs.finish(job)
        soon = await store.jobs.claim(frozenset({EMBEDDING}), "me", self.clock.now(), LEASE)
        if soon is not None:
            await store.jobs.finish(soon)
            return 0
        later = await store.jobs.claim(frozenset({EMBEDDING}), "me", self.clock.now() + limits.pause, LEASE)
        assert later is not None
        await store.jobs.finish(later)
        return limits.pause.total_seconds()

    def memories(self) -> MeaningfulMemories:
        store = self.store
        return MeaningfulMemories(store.memories, store.embeddings, self.embedder, store.spending, self.clock)

    async def found(self) -> list[str]:
        return [hit.message.text for hit in await self.memories().search(QUERY)]


@pytest.fixture
async def world() -> World:
    store = store_in_memory()
    await answered(store, said("my vessel leaks", conversation="a"), "Oh dear.")
    await answered(store, said("the railway", person="ben", conversation="b"), "Late.")
    return World(store)


async def test_messages_get_vectors_and_are_found_by_them(world: World) -> None:
    assert await world.found() == []
    assert await world.write() == 60
    assert (await world.found())[0] == "my vessel leaks"


async def test_wordings_are_embedded_in_the_same_call_as_their_question(world: World) -> None:
    await world.write()
    asked = replace(QUERY, text="what floats", wordings=("boat", "which boat"))
    assert (await world.memories().search(asked))[0].message.text == "my vessel leaks"
    assert world.embedder.asked[-1] == ["what floats", "boat", "which boat"]


def test_a_question_weighs_as_much_as_its_wordings_together() -> None:
    assert between((1.0, 0.0)) == (1.0, 0.0)
    assert between((1.0, 0.0), (0.0, 1.0), (0.0, 1.0)) == (1.0, 1.0)


async def test_missing_vectors_are_made_at_once_and_then_there_is_a_pause(world: World) -> None:
    small = MeaningLimits(batch=2)
    assert [await world.write(small) for _ in range(3)] == [0, 0, 60]
    assert sum(map(len, world.embedder.asked)) == 4


async def test_each_person_is_charged_for_their_own_messages(world: World) -> None:
    await world.write()
    await world.found()
    assert [sorted(texts) for texts in world.embedder.asked] == [
        ["Oh dear.", "my vessel leaks"],
        ["Late.", "the railway"],
        ["which boat"],
    ]


async def test_only_the_beginning_of_a_long_message_is_sent(world: World) -> None:
    await world.write(MeaningLimits(message_chars=5))
    assert max(len(text) for texts in world.embedder.asked for text in texts) == 5


async def test_answers_have_priority_on_the_model_of_this_machine(world: World) -> None:
    with world.floor.answering():
        assert await world.write() == 60
    assert await world.store.embeddings.missing(world.embedder.name, 9)
    await world.write()
    assert await world.store.embeddings.missing(world.embedder.name, 9) == []


async def test_a_failing_service_leaves_the_search_for_words_and_is_logged_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await answered(world.store, said("a boat", conversation="c"), "Nice.")
    world.embedder.down = True
    memories = world.memories()
    with caplog.at_level(logging.WARNING):
        hits = [*await memories.search(QUERY), *await memories.search(QUERY)]
    assert [hit.message.text for hit in hits] == ["a boat", "a boat"]
    assert [record.message for record in caplog.records] == [
        "recall uses only words until fake:meanings answers again: The service for meanings is away."
    ]


@pytest.mark.slow
async def test_the_built_in_model_finds_synonyms_and_charges_no_one(world: World) -> None:
    store, clock, embedder = world.store, world.clock, StaticEmbedder()
    await store.jobs.schedule(EMBEDDING, embedder.name, "", clock.now())
    job = await store.jobs.claim(frozenset({EMBEDDING}), "me", clock.now(), LEASE)
    assert job is not None
    await MeaningWriter(store.embeddings, embedder, store.jobs, store.spending, clock).write(job)
    memories = MeaningfulMemories(store.memories, store.embeddings, embedder, store.spending, clock)
    assert (await memories.search(QUERY))[0].message.text == "my vessel leaks"
    assert await world.store.spending.totals(SpendingPeriod.days_until(START, 99), By.MODEL) == []


async def test_the_job_of_the_previous_model_ends(world: World) -> None:
    store, clock = world.store, world.clock
    await store.jobs.schedule(EMBEDDING, "fake:before", "", clock.now())
    job = await store.jobs.claim(frozenset({EMBEDDING}), "me", clock.now(), LEASE)
    assert job is not None
    await MeaningWriter(store.embeddings, world.embedder, store.jobs, store.spending, clock).write(job)
    assert world.embedder.asked == []
