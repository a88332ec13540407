"""Work outside of turns: deletions at vendors and on platforms, erasing, learning, and indexing for recall."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agent.jobs import INDEXING, Job
from agent.memory.profile import LEARNING
from agent.ports.clock import Clock
from agent.ports.conversations import Summaries
from agent.ports.jobs import Jobs
from agent.ports.memory import Facts, Memories, Profiles
from agent.ports.spending import Spending
from agent.shown_replies import DELETE_REPLY
from agent.summary import SUMMARY
from bot.chat.foreground import ForegroundPriority
from bot.chat.jobs import Handler, JobWorker
from bot.chat.reply.surface import Delete
from bot.chat.telemetry import SILENT, Telemetry, TimedMemories
from bot.forgetting.retention import KIND as VENDOR_COPY
from bot.forgetting.retention import ReplyDeletion, Retention, VendorCopies
from bot.knowledge.pages import LinkedPages
from bot.memory.learning import DOUBTS, Learner, may_spend
from bot.memory.meanings import INDEX_PAUSE_S, Meanings, MeaningWriter
from bot.memory.pauses import LearningPauses
from bot.memory.summaries import Summariser
from bot.models.switch import ModelSwitch

log = logging.getLogger(__name__)


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
    jobs: Jobs,
    profiles: Profiles,
    facts: Facts,
    spending: Spending,
    models: ModelSwitch,
    clock: Clock,
    *,
    owner: str,
    learns: bool,
    memories: Memories,
    summaries: Summaries | None = None,
    has_budget: Callable[[str], Awaitable[bool]] = may_spend,
    retiring: Retention | None = None,
    pauses: LearningPauses | None = None,
    meanings: Meanings | None = None,
    pages: LinkedPages | None = None,
    deletions: Mapping[str, Delete] | None = None,
    telemetry: Telemetry = SILENT,
) -> AsyncGenerator[Background, None]:
    """Run jobs that are due until the block ends. Each kind of slow job has its own worker, and delays no other.

    `summaries`: None to summarise nothing. `has_budget`: returns whether anything may be spent on a person now.
    `retiring`: None to erase nothing here. `pages`: None to reread no web pages. `deletions`: functions that delete a
    page of a reply, by its question's source, added once a platform connects; None if this process serves no platform.
    """

    copies, floor = VendorCopies(jobs, clock, models.forget_handles), ForegroundPriority()
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
    workers: list[Mapping[str, Handler]] = [{VENDOR_COPY: copies.drop}, {INDEXING: partial(_index, memories, clock)}]
    if retiring is not None:
        await retiring.begin()
        workers.append(retiring.handlers)
    if pages is not None:
        await pages.begin()
        workers.append(pages.handlers)
    if deletions is not None:
        workers.append({DELETE_REPLY: ReplyDeletion(clock, deletions).delete})
    if summaries is not None:
        summariser = Summariser(summaries, jobs, spending, models.learning_model, clock, floor, has_budget)
        workers.append({SUMMARY: summariser.summarise})
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
        memories = by_meaning or memories
        if telemetry is not SILENT:
            memories = TimedMemories(memories, clock, telemetry)
        yield Background(copies, floor, learner if learns else None, memories)


async def _index(memories: Memories, clock: Clock, job: Job) -> None:
    """The job: index messages for a person who joined a long thread, or for many new readers. Raises StoreError."""
    while await memories.index_more(job):
        await clock.sleep(INDEX_PAUSE_S)


async def _learn(learner: Learner, profiles: Profiles, pauses: LearningPauses | None, job: Job) -> None:
    if pauses is not None and await pauses.is_paused(job.person):
        await profiles.skip_learning(person=job.person)  # messages collected just before the pause began
    else:
        await learner.learn(job)


async def _settle(learner: Learner, pauses: LearningPauses | None, job: Job) -> None:
    if pauses is None or not await pauses.is_paused(job.person):
        await learner.settle(job)
