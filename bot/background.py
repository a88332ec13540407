"""The work outside of turns: deletions at vendors and in platforms, erasing, learning, what recall needs."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from statistics import fmean
from typing import Final

from agent.errors import CogencyError, StoreError
from agent.memory.profile import LEARNING
from agent.ports import Clock, Embedder, Embeddings, Facts, Jobs, Memories, Profiles, Spending, Summaries
from agent.records import DELETE_REPLY, INDEXING, Hit, Job, Meaning, RecallQuery, Unembedded
from agent.summary import SUMMARY
from bot.caches import ForegroundPriority
from bot.logs import severity
from bot.memory.knowledge_desk import LinkedPages
from bot.memory.learning import Learner, LearningPauses, Summariser, may_spend
from bot.memory.retention import KIND as VENDOR_COPY
from bot.memory.retention import Delete, ReplyDeletion, Retention, VendorCopies
from bot.models.choice import ModelSwitch
from bot.scheduler import Handler, JobWorker
from bot.telemetry import SILENT, Telemetry, TimedMemories

log = logging.getLogger(__name__)

EMBEDDING: Final = "embedding"

# Recall by meaning, where a model for embeddings is set: vectors of messages and of questions.


@dataclass(frozen=True, slots=True)
class MeaningLimits:
    batch: int = 64
    """Messages that are looked for at once; those of one person go in one call."""
    message_chars: int = 2_000
    """Of a message that are embedded: they tell what it is about, and fit the smallest models."""
    pause: timedelta = timedelta(minutes=1)
    """Between two looks, when nothing is left to do."""
    index_pause: timedelta = timedelta(hours=1)
    """Between two looks whether the vectors have, or need, an index."""
    patience_s: float = 2.0
    """How long a search waits for the vector of its question."""


@dataclass(slots=True)
class MeaningfulMemories:
    """The port Memories, with the meaning of each question."""

    memories: Memories
    embeddings: Embeddings
    embedder: Embedder
    spending: Spending
    clock: Clock
    limits: MeaningLimits = MeaningLimits()
    _failing: bool = False

    async def search(self, query: RecallQuery) -> list[Hit]:
        meaning = await self._meaning(query) if query.text.strip() else None
        return await self.memories.search(replace(query, meaning=meaning))

    async def index_more(self, job: Job) -> bool:
        return await self.memories.index_more(job)

    async def _meaning(self, query: RecallQuery) -> Meaning | None:
        try:
            async with asyncio.timeout(self.limits.patience_s):
                asked = [
                    (await self.embeddings.without_names(query.person, text))[: self.limits.message_chars]
                    for text in (query.text, *query.wordings)
                ]
                embedded = await self.embedder.embed(asked)
                if embedded.call is not None:
                    await self.spending.charge(query.person, EMBEDDING, [embedded.call], self.clock.now())
        except (CogencyError, TimeoutError) as error:
            if not self._failing:
                log.warning("recall goes by words alone until %s answers again: %s", self.embedder.name, error)
            self._failing = True
            return None
        self._failing = False
        return Meaning(self.embedder.name, between(*embedded.vectors), self.embedder.weight)


def between(question: Sequence[float], *wordings: Sequence[float]) -> tuple[float, ...]:
    """The direction between the question's and what its wordings have in common, which tells more than either."""
    if not wordings:
        return tuple(question)
    return tuple(own + fmean(others) for own, *others in zip(question, *wordings, strict=True))


@dataclass(slots=True)
class MeaningWriter:
    """The job that makes vectors of messages. `floor`: of this machine's model, if the embedder shares it.

    Theory of operation. One job makes the vectors that are missing, a batch at a time, and puts itself a minute off
    when none is left; its key is the model, so that another model begins anew. A search asks for the vector of its
    question first, and goes without when that does not come in time.

    Rules
      Nobody waits for a vector of a message. While this machine's own model is needed for an answer, the job gives way.
      A service that fails costs a search its patience at most, and the log one line, until it answers again.
      What a call takes is charged to whom the messages, or the question, belong to.
    """

    embeddings: Embeddings
    embedder: Embedder
    jobs: Jobs
    spending: Spending
    clock: Clock
    floor: ForegroundPriority | None = None
    limits: MeaningLimits = MeaningLimits()
    _index_due: datetime | None = None

    async def begin(self) -> None:
        await self.jobs.schedule(EMBEDDING, self.embedder.name, "", self.clock.now())

    async def write(self, job: Job) -> None:
        if job.key != self.embedder.name:
            return  # of a model that was set before
        missing = await self.embeddings.missing(self.embedder.name, self.limits.batch)
        ours = sorted(missing, key=lambda one: one.person)
        done = [await self._embed(who, list(some)) for who, some in groupby(ours, key=lambda one: one.person)]
        at_once = len(missing) == self.limits.batch and all(done)
        if not missing:
            await self._index()
        run_at = self.clock.now() + (timedelta() if at_once else self.limits.pause)
        await self.jobs.schedule(EMBEDDING, self.embedder.name, "", run_at)

    async def _index(self) -> None:
        now = self.clock.now()
        if self._index_due is not None and now < self._index_due:
            return
        self._index_due = now + self.limits.index_pause
        try:
            await self.embeddings.make_index(self.embedder.name)
        except StoreError as error:
            log.log(severity(error), "no index of the vectors of %s could be made: %s", self.embedder.name, error)

    async def _embed(self, person: str, messages: Sequence[Unembedded]) -> bool:
        """Keep the vectors of one person's messages; False if somebody who waits for an answer needs the model."""
        asking = self.embedder.embed([one.text[: self.limits.message_chars] for one in messages])
        embedded = await asking if self.floor is None else await self.floor.while_free(asking)
        if embedded is None:
            return False
        if embedded.call is not None:
            await self.spending.charge(person, EMBEDDING, [embedded.call], self.clock.now())
        await self.embeddings.keep(self.embedder.name, messages, embedded.vectors)
        return True

    @asynccontextmanager
    async def writing(self, owner: str, telemetry: Telemetry = SILENT) -> AsyncGenerator[None]:
        await self.begin()
        async with JobWorker(self.jobs, {EMBEDDING: self.write}, self.clock, owner, telemetry=telemetry).serving():
            yield


# Everything of it, put together.


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
    pages: LinkedPages | None = None,
    deletions: Mapping[str, Delete] | None = None,
    telemetry: Telemetry = SILENT,
) -> AsyncGenerator[Background, None]:
    """Do what is due until the block ends. What takes minutes has a worker of its own, and delays no other.

    `summaries`: None summarises nothing. `has_budget`: whether anything may be spent on a person now. `retiring`: None
    erases nothing here. `pages`: None looks at no page of the web again. `deletions`: how to delete a page of a reply,
    by the source of its question, once its platform is connected; None: this process reaches none.
    """

    copies, floor = VendorCopies(jobs, clock, models.forget_handles), ForegroundPriority()
    learner = Learner(profiles, facts, jobs, spending, models.learning_model, clock, floor)
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
        workers.append({LEARNING: partial(_learn, learner, profiles, pauses)})
    async with AsyncExitStack() as stack:
        for handlers in workers:
            await stack.enter_async_context(JobWorker(jobs, handlers, clock, owner, telemetry=telemetry).serving())
        if meanings is not None:
            local = floor if meanings.is_local else None
            writer = MeaningWriter(meanings.embeddings, meanings.embedder, jobs, spending, clock, local)
            await stack.enter_async_context(writer.writing(owner, telemetry))
            memories = MeaningfulMemories(memories, meanings.embeddings, meanings.embedder, spending, clock)
        if telemetry is not SILENT:
            memories = TimedMemories(memories, clock, telemetry)
        yield Background(copies, floor, learner if learns else None, memories)


# Between two steps, so that whoever waits for the database gets it; 30,000 messages take about a minute.
INDEX_PAUSE_S: Final = 0.05


async def _index(memories: Memories, clock: Clock, job: Job) -> None:
    """The job: let somebody who joined a long thread, or many readers, find what they may. Raises StoreError."""
    while await memories.index_more(job):
        await clock.sleep(INDEX_PAUSE_S)


async def _learn(learner: Learner, profiles: Profiles, pauses: LearningPauses | None, job: Job) -> None:
    if pauses is not None and await pauses.is_paused(job.person):
        await profiles.skip_learning(person=job.person)  # what was gathered in the moment in which the pause began
    else:
        await learner.learn(job)
