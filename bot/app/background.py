"""Work outside of turns: deletions at vendors and on platforms, erasing, learning, and indexing for recall."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.jobs import INDEXING, Job
from agent.memory.profile import LEARNING
from agent.ports.clock import Clock
from agent.ports.memory import Memories, Profiles
from agent.summary import SUMMARY
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import Handler, JobWorker
from bot.chat.telemetry import SILENT, Telemetry, TimedMemories
from bot.forgetting.retention import KIND as VENDOR_COPY
from bot.forgetting.retention import VendorCopies
from bot.memory.learning import DOUBTS, Learner, may_spend
from bot.memory.meanings import INDEX_PAUSE_S, Meanings, MeaningWriter
from bot.memory.pauses import LearningPauses
from bot.memory.summaries import Summariser
from bot.models.switch import ModelSwitch
from store.engine import Store


@dataclass(frozen=True, slots=True)
class Background:
    """What turns need of the background work. `learner`: None if nothing is learned."""

    copies: VendorCopies
    floor: ForegroundPriority
    learner: Learner | None
    memories: Memories
    """For searches that may take time: with semantic recall, if an embedding model is configured."""


@asynccontextmanager
async def background(
    store: Store,
    models: ModelSwitch,
    clock: Clock,
    features: Sequence[Mapping[str, Handler]] = (),
    *,
    owner: str,
    learns: bool,
    has_budget: Callable[[str], Awaitable[bool]] = may_spend,
    meanings: Meanings | None = None,
    telemetry: Telemetry = SILENT,
) -> AsyncGenerator[Background, None]:
    """Run jobs that are due until the block ends. Each kind of slow job has its own worker, and delays no other.

    `features`: the jobs of features, by kind; each mapping gets a worker. `has_budget`: returns whether anything may be
    spent on a person now.
    """

    jobs, facts, profiles, spending, memories = store.jobs, store.facts, store.profiles, store.spending, store.memories
    copies, floor = VendorCopies(jobs, clock, models.forget_handles), ForegroundPriority()
    pauses = LearningPauses(store.preferences, profiles, clock)
    by_meaning = None if meanings is None else meanings.search_in(memories, spending, clock)
    learner = Learner(
        profiles,
        facts,
        jobs,
        spending,
        models.learning_model,
        clock,
        floor,
        has_budget=has_budget,
        meanings=by_meaning,
    )
    summariser = Summariser(store.summaries, jobs, spending, models.learning_model, clock, floor, has_budget)
    workers: list[Mapping[str, Handler]] = [
        {VENDOR_COPY: copies.drop},
        {INDEXING: partial(_index, memories, clock)},
        *features,
        {SUMMARY: summariser.summarise},
    ]
    if learns:
        workers.append(
            {LEARNING: partial(_learn, learner, profiles, pauses), DOUBTS: partial(_settle, learner, pauses)}
        )
    async with AsyncExitStack() as stack:
        for handlers in workers:
            await stack.enter_async_context(JobWorker(jobs, handlers, clock, owner, telemetry=telemetry).serving())
        if meanings is not None:
            shared_floor = floor if meanings.is_local else None
            writer = MeaningWriter(meanings.embeddings, meanings.embedder, jobs, spending, clock, shared_floor)
            await stack.enter_async_context(writer.writing(owner, telemetry))
        searched: Memories = by_meaning or memories
        if telemetry is not SILENT:
            searched = TimedMemories(searched, clock, telemetry)
        yield Background(copies, floor, learner if learns else None, searched)


async def _index(memories: Memories, clock: Clock, job: Job) -> None:
    """The job: index messages for a person who joined a long thread, or for many new readers. Raises StoreError."""
    while await memories.index_more(job):
        await clock.sleep(INDEX_PAUSE_S)


async def _learn(learner: Learner, profiles: Profiles, pauses: LearningPauses, job: Job) -> None:
    if await pauses.is_paused(job.person):
        await profiles.skip_learning(person=job.person)  # messages collected just before the pause began
    else:
        await learner.learn(job)


async def _settle(learner: Learner, pauses: LearningPauses, job: Job) -> None:
    if not await pauses.is_paused(job.person):
        await learner.settle(job)
