"""Recall by meaning, where a model for embeddings is set: vectors of messages and of questions."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from statistics import fmean
from typing import Final

from agent.errors import CogencyError
from agent.ports import Clock, Embedder, Embeddings, Jobs, Memories, Spending
from agent.records import Hit, Job, Meaning, RecallQuery, Unembedded
from bot.job_worker import JobWorker
from bot.turns.runner import ForegroundPriority

log = logging.getLogger(__name__)

KIND: Final = "embedding"


@dataclass(frozen=True, slots=True)
class MeaningLimits:
    batch: int = 64
    """Messages that are looked for at once; those of one person go in one call."""
    message_chars: int = 2_000
    """Of a message that are embedded: they tell what it is about, and fit the smallest models."""
    pause: timedelta = timedelta(minutes=1)
    """Between two looks, when nothing is left to do."""
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
                    await self.spending.charge(query.person, KIND, [embedded.call], self.clock.now())
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


@dataclass(frozen=True, slots=True)
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

    async def begin(self) -> None:
        await self.jobs.schedule(KIND, self.embedder.name, "", self.clock.now())

    async def write(self, job: Job) -> None:
        if job.key != self.embedder.name:
            return  # of a model that was set before
        missing = await self.embeddings.missing(self.embedder.name, self.limits.batch)
        ours = sorted(missing, key=lambda one: one.person)
        done = [await self._embed(who, list(some)) for who, some in groupby(ours, key=lambda one: one.person)]
        at_once = len(missing) == self.limits.batch and all(done)
        run_at = self.clock.now() + (timedelta() if at_once else self.limits.pause)
        await self.jobs.schedule(KIND, self.embedder.name, "", run_at)

    async def _embed(self, person: str, messages: Sequence[Unembedded]) -> bool:
        """Keep the vectors of one person's messages; False if somebody who waits for an answer needs the model."""
        asking = self.embedder.embed([one.text[: self.limits.message_chars] for one in messages])
        embedded = await asking if self.floor is None else await self.floor.while_free(asking)
        if embedded is None:
            return False
        if embedded.call is not None:
            await self.spending.charge(person, KIND, [embedded.call], self.clock.now())
        await self.embeddings.keep(self.embedder.name, messages, embedded.vectors)
        return True

    @asynccontextmanager
    async def writing(self, owner: str) -> AsyncGenerator[None]:
        await self.begin()
        async with JobWorker(self.jobs, {KIND: self.write}, self.clock, owner).serving():
            yield
