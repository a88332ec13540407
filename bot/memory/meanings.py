"""Recall by meaning: vectors of what is remembered, written in the background."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from statistics import fmean
from typing import Final

from agent.embeddings import Meaning, Unembedded
from agent.errors import CogencyError, StoreError
from agent.jobs import Job
from agent.ports.clock import Clock
from agent.ports.embeddings import Embedder, Embeddings
from agent.ports.jobs import Jobs
from agent.ports.memory import Memories
from agent.ports.spending import Spending
from agent.recall_query import Hit, RecallQuery
from bot.chat.foreground import ForegroundPriority
from bot.chat.logs import severity

log = logging.getLogger(__name__)


EMBEDDING: Final = "embedding"

# Semantic recall, if an embedding model is configured: vectors of messages and of questions.


@dataclass(frozen=True, slots=True)
class MeaningLimits:
    batch: int = 64
    """Messages that are looked up at a time; those of one person are embedded in one call."""
    message_chars: int = 2_000
    """How much of a message is embedded: enough to tell its topic, and within the limits of the smallest models."""
    pause: timedelta = timedelta(minutes=1)
    """Between two looks when nothing is left to do."""
    index_pause: timedelta = timedelta(hours=1)
    """Between two checks whether the vectors need an index."""
    patience_s: float = 2.0
    """How long a search waits for its question's vector."""


@dataclass(slots=True)
class MeaningfulMemories:
    """Implements the port Memories: adds the meaning of each question."""

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
                texts = [
                    (await self.embeddings.without_names(query.person, text))[: self.limits.message_chars]
                    for text in (query.text, *query.wordings)
                ]
                embedded = await self.embedder.embed(texts)
                if embedded.call is not None:
                    await self.spending.charge(query.person, EMBEDDING, [embedded.call], self.clock.now())
        except (CogencyError, TimeoutError) as error:
            if not self._failing:
                log.warning("recall uses only words until %s answers again: %s", self.embedder.name, error)
            self._failing = True
            return None
        self._failing = False
        return Meaning(self.embedder.name, between(*embedded.vectors), self.embedder.weight)


def between(question: Sequence[float], *wordings: Sequence[float]) -> tuple[float, ...]:
    """Return the direction between the question's vector and the mean of its wordings': it finds more than either."""
    if not wordings:
        return tuple(question)
    return tuple(value + fmean(others) for value, *others in zip(question, *wordings, strict=True))


@dataclass(slots=True)
class MeaningWriter:
    """The job that embeds messages. `floor`: of this machine's model, if the embedder shares it.

    Theory of operation. One job embeds the messages that lack a vector, a batch at a time, and postpones itself by a
    minute when none is left. Its key is the model, so that another model starts again. A search asks for its question's
    vector first, and continues without it if it does not arrive in time.

    Rules
      No person waits for a message's vector. While this machine's own model is needed for an answer, the job yields.
      A failing service delays a search by `patience_s` at most, and is logged once until it answers again.
      A call is charged to the person of the messages, or of the question.
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
            return  # a job of the previously configured model
        missing = await self.embeddings.missing(self.embedder.name, self.limits.batch)
        ordered = sorted(missing, key=lambda message: message.person)
        done = [
            await self._embed(person, list(messages))
            for person, messages in groupby(ordered, key=lambda message: message.person)
        ]
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
            log.log(severity(error), "the index of the vectors of %s could not be built: %s", self.embedder.name, error)

    async def _embed(self, person: str, messages: Sequence[Unembedded]) -> bool:
        """Store the vectors of one person's messages; False if an answer needed the model meanwhile."""
        work = self.embedder.embed([message.text[: self.limits.message_chars] for message in messages])
        result = await work if self.floor is None else await self.floor.while_free(work)
        if result is None:
            return False
        if result.call is not None:
            await self.spending.charge(person, EMBEDDING, [result.call], self.clock.now())
        await self.embeddings.keep(self.embedder.name, messages, result.vectors)
        return True


@dataclass(frozen=True, slots=True)
class Meanings:
    """An embedding model, and the store of its vectors. `is_local`: it runs on this machine."""

    embedder: Embedder
    embeddings: Embeddings
    is_local: bool

    def search_in(self, memories: Memories, spending: Spending, clock: Clock) -> "MeaningfulMemories":
        """Return the search that also finds by meaning what `memories` finds by words."""
        return MeaningfulMemories(memories, self.embeddings, self.embedder, spending, clock)


# Between two steps, so that others get access to the database; 30,000 messages take about a minute.
INDEX_PAUSE_S: Final = 0.05
