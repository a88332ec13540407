"""Recall by meaning, where a model for embeddings is set: vectors of messages and of questions.

Theory of operation. One job makes the vectors that are missing, a batch at a time, and puts itself a minute off when
none is left; its key is the model, so that another model begins anew. A search asks for the vector of its question
first, and goes without when that does not come in time.

Rules
  Nobody waits for a vector of a message. While this machine's own model is needed for an answer, the job gives way.
  A service that fails costs a search its patience at most, and the log one line, until it answers again.
  What a call takes is charged to whom the messages, or the question, belong to.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
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


class MeaningfulMemories:
    """The port Memories, with the meaning of each question."""

    def __init__(
        self,
        memories: Memories,
        embeddings: Embeddings,
        embedder: Embedder,
        spending: Spending,
        clock: Clock,
        limits: MeaningLimits = MeaningLimits(),
    ) -> None:
        self._memories = memories
        self._embeddings = embeddings
        self._embedder = embedder
        self._spending = spending
        self._clock = clock
        self._limits = limits
        self._failing = False

    async def search(self, query: RecallQuery) -> list[Hit]:
        meaning = await self._meaning(query) if query.text.strip() else None
        return await self._memories.search(replace(query, meaning=meaning))

    async def _meaning(self, query: RecallQuery) -> Meaning | None:
        try:
            async with asyncio.timeout(self._limits.patience_s):
                asked = await self._embeddings.without_names(query.person, query.text)
                embedded = await self._embedder.embed([asked[: self._limits.message_chars]])
                await self._spending.charge(query.person, KIND, [embedded.call], self._clock.now())
        except (CogencyError, TimeoutError) as error:
            if not self._failing:
                log.warning("recall goes by words alone until %s answers again: %s", self._embedder.name, error)
            self._failing = True
            return None
        self._failing = False
        return Meaning(self._embedder.name, embedded.vectors[0])


class MeaningWriter:
    """The job that makes vectors of messages."""

    def __init__(
        self,
        embeddings: Embeddings,
        embedder: Embedder,
        jobs: Jobs,
        spending: Spending,
        clock: Clock,
        floor: ForegroundPriority | None = None,
        limits: MeaningLimits = MeaningLimits(),
    ) -> None:
        """`floor`: of this machine's model, if the embedder shares it."""
        self._embeddings = embeddings
        self._embedder = embedder
        self._jobs = jobs
        self._spending = spending
        self._clock = clock
        self._floor = floor
        self._limits = limits

    async def begin(self) -> None:
        """Put the job on the list. Raises StoreError."""
        await self._jobs.schedule(KIND, self._embedder.name, "", self._clock.now())

    async def write(self, job: Job) -> None:
        """The job. Raises ProviderError and StoreError."""
        if job.key != self._embedder.name:
            return  # of a model that was set before
        missing = await self._embeddings.missing(self._embedder.name, self._limits.batch)
        ours = sorted(missing, key=lambda one: one.person)
        done = [await self._embed(who, list(some)) for who, some in groupby(ours, key=lambda one: one.person)]
        at_once = len(missing) == self._limits.batch and all(done)
        run_at = self._clock.now() + (timedelta() if at_once else self._limits.pause)
        await self._jobs.schedule(KIND, self._embedder.name, "", run_at)

    async def _embed(self, person: str, messages: Sequence[Unembedded]) -> bool:
        """Keep the vectors of one person's messages; False if somebody who waits for an answer needs the model."""
        asking = self._embedder.embed([one.text[: self._limits.message_chars] for one in messages])
        embedded = await asking if self._floor is None else await self._floor.while_free(asking)
        if embedded is None:
            return False
        await self._spending.charge(person, KIND, [embedded.call], self._clock.now())
        await self._embeddings.keep(self._embedder.name, messages, embedded.vectors)
        return True

    @asynccontextmanager
    async def writing(self, owner: str) -> AsyncGenerator[None]:
        """Do it until the block ends. Raises StoreError."""
        await self.begin()
        async with JobWorker(self._jobs, {KIND: self.write}, self._clock, owner).serving():
            yield
