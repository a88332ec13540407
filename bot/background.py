"""The work outside of turns: deletions at vendors and in platforms, erasing, learning, what recall needs."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from agent.memory.profile import LEARNING
from agent.ports import Clock, Embedder, Embeddings, Facts, Jobs, Memories, Profiles, Spending, Summaries
from agent.records import DELETE_REPLY, INDEXING, Job
from agent.summary import SUMMARY
from bot.job_worker import Handler, JobWorker
from bot.memory.learning import Learner, LearningPauses, Summariser, may_spend
from bot.memory.retention import KIND as VENDOR_COPY
from bot.memory.retention import Delete, ReplyDeletion, Retention, VendorCopies
from bot.memory.semantic_recall import MeaningfulMemories, MeaningWriter
from bot.models.choice import ModelSwitch
from bot.turns.runner import ForegroundPriority


@dataclass(frozen=True, slots=True)
class Background:
    """What turns tell the work outside of them. `learner`: None if nothing is learned."""

    copies: VendorCopies
    floor: ForegroundPriority
    learner: Learner | None
    memories: Memories
    """To be searched by whoever may wait for it: by meaning, too, where there is a model for embeddings."""


@dataclass(frozen=True, slots=True)
class Meanings:
    """A model for embeddings, and where its vectors are kept. `is_local`: it runs on this machine."""

    embedder: Embedder
    embeddings: Embeddings
    is_local: bool


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
    deletions: Mapping[str, Delete] | None = None,
) -> AsyncGenerator[Background, None]:
    """Do what is due until the block ends. What takes minutes has a worker of its own, and delays no other.

    `summaries`: None summarises nothing. `has_budget`: whether anything may be spent on a person now. `retiring`: None
    erases nothing here. `deletions`: how to delete a page of a reply, by the source of
    its question, once its platform is connected; None: this process reaches none.
    """

    copies, floor = VendorCopies(jobs, clock, models.forget_handles), ForegroundPriority()
    learner = Learner(profiles, facts, jobs, spending, models.learning_model, clock, floor)
    workers: list[Mapping[str, Handler]] = [{VENDOR_COPY: copies.drop}, {INDEXING: partial(_index, memories, clock)}]
    if retiring is not None:
        await retiring.begin()
        workers.append(retiring.handlers)
    if deletions is not None:
        workers.append({DELETE_REPLY: ReplyDeletion(clock, deletions).delete})
    if summaries is not None:
        summariser = Summariser(summaries, jobs, spending, models.learning_model, clock, floor, has_budget)
        workers.append({SUMMARY: summariser.summarise})
    if learns:
        workers.append({LEARNING: partial(_learn, learner, profiles, pauses)})
    async with AsyncExitStack() as stack:
        for handlers in workers:
            await stack.enter_async_context(JobWorker(jobs, handlers, clock, owner).serving())
        if meanings is not None:
            local = floor if meanings.is_local else None
            writer = MeaningWriter(meanings.embeddings, meanings.embedder, jobs, spending, clock, local)
            await stack.enter_async_context(writer.writing(owner))
            memories = MeaningfulMemories(memories, meanings.embeddings, meanings.embedder, spending, clock)
        yield Background(copies, floor, learner if learns else None, memories)


INDEX_PAUSE_S: Final = 0.05
"""Between two steps, so that whoever waits for the database gets it; 30,000 messages take about a minute."""


async def _index(memories: Memories, clock: Clock, job: Job) -> None:
    """The job: let somebody who joined a long thread, or many readers, find what they may. Raises StoreError."""
    while await memories.index_more(job):
        await clock.sleep(INDEX_PAUSE_S)


async def _learn(learner: Learner, profiles: Profiles, pauses: LearningPauses | None, job: Job) -> None:
    if pauses is not None and await pauses.is_paused(job.person):
        await profiles.skip_learning(person=job.person)  # what was gathered in the moment in which the pause began
    else:
        await learner.learn(job)
