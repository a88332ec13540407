"""Background learning: prompts, what is stored, and that nothing is lost or done twice."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from agent.admission_terms import Authority
from agent.errors import ProviderUnavailable, RequestWithheld
from agent.events import Outcome
from agent.incoming import Incoming
from agent.memory.audience import GroupAudience, Place
from agent.memory.forgetting_plans import Everything
from agent.memory.profile import LEARNING, Partition, ProfileField
from agent.memory.writing import NewFact
from agent.messages import Depth, Message, Usage
from agent.providers.scripted import Answer, Answering, ScriptedProvider, Until
from agent.spending import By, SpendingPeriod
from agent.turn_records import Claiming, Closing
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import JobLimits, JobWorker
from bot.chat.learning_model import LearningModel
from bot.memory.learning import Learner, LearningLimits
from bot.memory.meanings import EMBEDDING, MeaningfulMemories, MeaningWriter
from store.engine import Store
from tests.contracts.steps import answered as contract_answered
from tests.examples import thorough
from tests.fakes.clock import FakeClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import open_new
from tests.fakes.store import StoreInMemory, store_in_memory
from tests.patience import PATIENCE_S

DM = Partition("ann", "person:ann")
CLUB = Place(GroupAudience("club"))
NOTHING = '{"insights": []}'
QUIET = LearningLimits().quiet
RETRY = JobLimits().first_retry


def tells(*texts: str) -> str:
    """A model's answer that finds one goal in each message."""
    found = [{"field": "goals", "text": text, "from": [number]} for number, text in enumerate(texts, 1)]
    return json.dumps({"insights": found})


@dataclass
class World:
    """A learner with its worker; time stands still until the test moves it."""

    script: Sequence[Answer | Answering] | Answering
    store: StoreInMemory = field(default_factory=store_in_memory)
    is_local: bool = False
    can_learn: bool = True
    spent: set[str] = field(default_factory=set[str])
    """People whose budget is used up."""

    async def has_budget(self, person: str) -> bool:
        return person not in self.spent

    def __post_init__(self) -> None:
        self.clock, self.floor = FakeClock(START, auto=False), ForegroundPriority()
        self.provider = ScriptedProvider(self.script, usage=Usage(100, output=10))
        self.learner = Learner(
            self.store.profiles,
            self.store.facts,
            self.store.jobs,
            self.store.spending,
            lambda: LearningModel(self.provider, self.is_local, self.can_learn),
            self.clock,
            self.floor,
            has_budget=self.has_budget,
        )
        self.worker = JobWorker(self.store.jobs, {LEARNING: self.learner.learn}, self.clock, "worker")

    async def hear(self, *texts: str, place: Place | None = None, person: str = "ann") -> None:
        for text in texts:
            asked = said(text, place=place, person=person, conversation=f"{person} in {place}")
            await answered(self.store, asked, self.learner, self.clock)

    async def wait(self, time: timedelta = QUIET) -> bool:
        """Let time pass, then run all due jobs; return whether there were any."""
        await self.clock.advance(time.total_seconds())
        return await worked(self.worker)

    async def goals(self, partition: Partition = DM) -> tuple[str, ...]:
        return tuple(one.text for one in (await self.store.profiles.get(partition)).of(ProfileField.GOALS))

    def shown(self, number: int) -> list[str]:
        """Return the texts in the n-th prompt."""
        return [one["text"] for one in json.loads(self.provider.requests[number - 1][-1].text)]


async def answered(store: Store, asked: Incoming, learner: Learner, clock: FakeClock) -> None:
    await store.ledger.accept(asked)
    claim = await store.ledger.claim(Claiming("turns", clock.now(), LEASE))
    assert claim is not None
    closing = Closing(Outcome.ANSWERED, "The bot's own words.", learn_at=learner.due(clock.now()))
    await store.ledger.finish(claim, closing, clock.now())


async def worked(worker: JobWorker) -> bool:
    did = False
    while await worker.work():
        did = True
    return did


async def test_what_was_said_in_a_row_goes_in_one_call_after_a_quiet_minute() -> None:
    world = World([tells("Rust", "boats")])
    await world.hear("I learn Rust")
    assert not await world.wait(timedelta(seconds=40))
    await world.hear("I build boats")
    assert not await world.wait(timedelta(seconds=40))
    assert await world.wait(timedelta(seconds=20))
    assert world.shown(1) == ["I learn Rust", "I build boats"]
    assert await world.goals() == ("Rust", "boats")
    assert world.store.to_learn == []
    assert not await world.wait()


async def test_nothing_is_learned_from_a_person_whose_budget_is_used_up_until_it_is_filled_again() -> None:
    world = World([tells("boats")], spent={"ann"})
    await world.hear("I build boats")
    for _ in range(3):
        await world.wait(timedelta(hours=1))
    assert world.provider.requests == []
    world.spent.clear()
    assert await world.wait(timedelta(hours=1))
    assert await world.goals() == ("boats",)


async def test_the_model_is_asked_plainly_and_quickly() -> None:
    world = World([NOTHING])
    await world.hear("hello")
    await world.wait()
    assert world.provider.options[0].depth is Depth.FAST
    assert not any(re.search("</?(execute|think|workspace|summary)", one.text) for one in world.provider.requests[0])


async def test_a_prompt_holds_what_one_person_wrote_for_one_audience_and_nothing_else() -> None:
    world = World(lambda _: NOTHING)
    await world.hear("in the DM")
    await world.hear("in the club", place=CLUB)
    await world.hear("Ben in the club", place=CLUB, person="ben")
    await world.wait()
    assert [world.shown(n) for n in (1, 2, 3)] == [["in the DM"], ["in the club"], ["Ben in the club"]]
    assert "The bot's own words." not in str(world.provider.requests)


@pytest.mark.slow
async def test_seed_000_every_third_interaction_is_followed_by_a_synthesis() -> None:
    merge = json.dumps({"actions": [{"do": "merge", "entries": [1, 2], "text": "Rust and C"}]})
    world = World([tells("Rust"), tells("C"), tells("boats"), merge, NOTHING])
    for text in ("one", "two", "three"):
        await world.hear(text)
        await world.wait()
    assert await world.goals() == ("Rust and C", "boats")
    assert (await world.store.profiles.get(DM)).synthesis_version == 1
    await world.hear("four")
    await world.wait()
    assert len(world.provider.requests) == 5


async def test_what_its_calls_took_is_charged_to_the_person_they_were_about() -> None:
    world = World([tells("a", "b"), '{"actions": []}'])
    await world.hear("one", "two", "three")
    await world.wait()
    [total] = await world.store.spending.totals(SpendingPeriod.days_until(START, 1), By.PERSON)
    assert (total.key, total.spent.calls, total.spent.usage.output) == ("ann", 2, 20)
    assert world.store.kinds_of_calls == {LEARNING}


async def test_an_answer_that_cannot_be_read_changes_nothing_and_is_asked_for_again() -> None:
    world = World(["Sure! Here is what I found.", tells("Rust")])
    await world.hear("I learn Rust")
    await world.wait()
    assert await world.goals() == ()
    assert len(world.store.to_learn) == 1
    assert await world.wait(RETRY)
    assert await world.goals() == ("Rust",)


async def test_a_model_that_is_down_is_asked_again_later() -> None:
    world = World([[ProviderUnavailable("down")], tells("Rust")])
    await world.hear("I learn Rust")
    await world.wait()
    assert await world.wait(RETRY)
    assert await world.goals() == ("Rust",)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["nonsense", [RequestWithheld("a hook refused it")]])
async def test_messages_that_no_model_reads_well_or_may_read_do_not_stand_in_the_way_of_others(answer: Answer) -> None:
    world = World([*[answer] * 5, tells("Rust")])
    await world.hear("\\u0000 poison")
    for _ in range(8):
        await world.wait(timedelta(hours=1))
    assert world.store.to_learn == []
    await world.hear("I learn Rust")
    await world.wait()
    assert await world.goals() == ("Rust",)


async def test_a_synthesis_that_cannot_be_read_leaves_the_profile_and_is_tried_again() -> None:
    world = World([tells("a", "b", "c"), "no", '{"actions": [{"do": "drop", "entries": [1]}]}'])
    await world.hear("one", "two", "three")
    await world.wait()
    assert await world.goals() == ("a", "b", "c")
    assert await world.wait(RETRY)
    assert await world.goals() == ("b", "c")


async def test_what_is_forgotten_while_the_model_thinks_is_not_learned() -> None:
    async def forget() -> None:
        await world.store.forgetting.forget(Everything("ann"), START)

    world = World([[Until(forget), tells("Rust")]])
    await world.hear("I learn Rust")
    await world.wait()
    assert await world.goals() == ()
    assert not await world.wait(timedelta(days=1))


async def test_on_this_machines_own_model_nothing_is_learned_while_somebody_is_answered() -> None:
    world = World([tells("Rust")], is_local=True)
    await world.hear("I learn Rust")
    with world.floor.answering():
        await world.wait()
        assert world.provider.requests == []
    assert await world.wait()
    assert await world.goals() == ("Rust",)


async def test_on_this_machines_own_model_learning_gives_way_to_an_answer() -> None:
    begun = asyncio.Event()

    async def until_somebody_asks() -> None:
        begun.set()
        await asyncio.Event().wait()

    world = World([[Until(until_somebody_asks)], tells("Rust")], is_local=True)
    await world.hear("I learn Rust")
    await world.clock.advance(QUIET.total_seconds())
    async with asyncio.timeout(PATIENCE_S):
        working = asyncio.create_task(world.worker.work())
        await begun.wait()
        with world.floor.answering():
            await working
    assert world.provider.open_streams == 0
    assert await world.wait()
    assert await world.goals() == ("Rust",)


async def test_a_model_elsewhere_does_not_wait_for_answers() -> None:
    world = World([tells("Rust")])
    await world.hear("I learn Rust")
    with world.floor.answering():
        await world.wait()
    assert await world.goals() == ("Rust",)


async def test_without_a_model_that_can_learn_nothing_waits_and_nothing_is_asked() -> None:
    world = World([], can_learn=False)
    await world.hear("I learn Rust")
    assert world.store.to_learn == []
    assert not await world.wait()


async def test_a_rehearsal_that_is_chosen_meanwhile_leaves_what_waits() -> None:
    world = World([tells("Rust", "boats")])
    await world.hear("I learn Rust")
    world.can_learn = False
    await world.wait()
    assert (world.provider.requests, len(world.store.to_learn)) == ([], 1)
    world.can_learn = True
    await world.hear("I build boats")
    await world.wait()
    assert await world.goals() == ("Rust", "boats")


@pytest.mark.slow
async def test_long_messages_go_in_several_calls() -> None:
    world = World(lambda _: NOTHING)
    await world.hear(*["word " * 1_000] * 9)
    await world.wait()
    assert [len(world.shown(n)) for n in (1, 2, 3)] == [4, 4, 1]


def one_interest_each(messages: Sequence[Message]) -> str:
    """A model that finds the number of each message; syntheses change nothing."""
    listed = json.loads(messages[-1].text)
    if "field" in listed[0]:
        return '{"actions": []}'
    found = [{"field": "interests", "text": one["text"], "from": [one["number"]]} for one in listed]
    return json.dumps({"insights": found})


@pytest.mark.slow
@pytest.mark.parametrize("learners", [pytest.param(1, marks=thorough), 20])
async def test_a_backlog_is_learned_whole_and_once_with_no_more_calls_than_planned(learners: int) -> None:
    """200 messages of one person, learned by 20 workers at once."""
    store = await open_new()
    clock, model = FakeClock(START, auto=False), ScriptedProvider(one_interest_each)
    learner = Learner(
        store.profiles,
        store.facts,
        store.jobs,
        store.spending,
        lambda: LearningModel(model),
        clock,
        ForegroundPriority(),
    )
    try:
        for number in range(200):
            await answered(store, said(f"message {number:03}"), learner, clock)
        await clock.advance(QUIET.total_seconds())
        workers = [JobWorker(store.jobs, {LEARNING: learner.learn}, clock, f"w{n}") for n in range(learners)]
        async with asyncio.timeout(60):
            while any(await asyncio.gather(*(worked(worker) for worker in workers))):
                pass
        prompts = [json.loads(request[-1].text) for request in model.requests]
        insights = [one["text"] for listed in prompts if "field" not in listed[0] for one in listed]
        profile = await store.profiles.get(DM)
        assert await store.profiles.unlearned(DM, 1) == []
        assert profile.interaction_count == 200
        assert tuple(one.text for one in profile.of(ProfileField.INTERESTS)) == tuple(
            f"message {number:03}" for number in range(185, 200)
        )
        assert insights == [f"message {number:03}" for number in range(200)]
        assert len(model.requests) == 200 // LearningLimits().batch + 1
    finally:
        await store.close()


def states(key: str, value: str) -> str:
    return json.dumps({"insights": [], "facts": [{"key": key, "value": value, "from": [1]}]})


async def known(world: World) -> list[tuple[str, str, bool]]:
    facts = await world.store.facts.readable("ann", frozenset({DM.audience}))
    return [(fact.key, fact.value, fact.is_valid) for fact in facts]


@pytest.mark.slow
@pytest.mark.parametrize("by_meaning", [True, False])
async def test_a_fact_from_a_message_of_a_similar_meaning_is_shown_to_the_model_with_its_number(
    by_meaning: bool,
) -> None:
    """The newest facts are about other things, and "vessel" and "ship" share no word."""
    world = World([NOTHING])
    store, embedder = world.store, FakeEmbedder()
    if by_meaning:
        search = MeaningfulMemories(store.memories, store.embeddings, embedder, store.spending, world.clock)
        world.learner = replace(world.learner, meanings=search)
        world.worker = JobWorker(store.jobs, {LEARNING: world.learner.learn}, world.clock, "worker")
    claim = await contract_answered(store, said("my vessel leaks"), "Oh dear.")
    lost = NewFact("", "vessel", "my vessel leaks", "user", START, DM.audience, "ann", source_message=claim.message)
    await store.facts.write(lost)
    for number in range(LearningLimits().known + 5):
        await store.facts.write(NewFact("", f"key {number}", f"value {number}", "user", START, DM.audience, "ann"))
    writer = MeaningWriter(store.embeddings, embedder, store.jobs, store.spending, world.clock, None)
    await writer.begin()
    job = await store.jobs.claim(frozenset({EMBEDDING}), "me", world.clock.now(), LEASE)
    assert job is not None
    await writer.write(job)
    await world.hear("that ship is dry again")
    assert await world.wait()
    assert ("my vessel leaks" in world.provider.requests[0][0].text) is by_meaning


async def test_a_fact_that_is_stated_in_passing_is_kept_and_a_later_one_supersedes_it() -> None:
    world = World([states("deadline", "Friday"), states("deadline", "Monday")])
    await world.hear("Our deadline is Friday")
    assert await world.wait()
    await world.hear("No, it moved to Monday")
    assert await world.wait()
    assert await known(world) == [("deadline", "Friday", False), ("deadline", "Monday", True)]
    assert '{"1": "deadline: Friday"}' in world.provider.requests[1][0].text
    assert "Known facts by" not in world.provider.requests[0][0].text


async def test_a_fact_carries_the_authority_of_whoever_wrote_it() -> None:
    world = World([states("deadline", "Friday")])
    asked = replace(said("Our deadline is Friday", person="ann"), authority=Authority.MANAGER)
    await answered(world.store, asked, world.learner, world.clock)
    assert await world.wait()
    assert [fact.authority for fact in world.store.facts_kept] == [Authority.MANAGER]


async def test_nothing_is_kept_of_a_fact_whose_message_was_forgotten_while_the_model_thought() -> None:
    world = World([])

    async def forget() -> None:
        await world.store.forgetting.forget(Everything("ann"), START)

    world.provider = ScriptedProvider([[Until(forget), states("deadline", "Friday")]], usage=Usage(100, output=10))
    await world.hear("Our deadline is Friday")
    assert await world.wait()
    assert world.store.facts_kept == []


async def test_keys_of_other_audiences_are_not_shown_to_the_model() -> None:
    world = World([states("deadline", "Friday"), NOTHING])
    await world.hear("Our deadline is Friday")
    assert await world.wait()
    await world.hear("Hello, Friday", place=CLUB)
    assert await world.wait()
    assert "deadline of" in world.provider.requests[1][0].text  # the example
    assert "Known facts by" not in world.provider.requests[1][0].text
