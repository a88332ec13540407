"""Background learning about people.

No reply waits for this work. While the model on this machine is needed for an answer, learning yields.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from agent.admission_terms import Authority
from agent.errors import ProviderUnavailable, RequestWithheld
from agent.jobs import Job
from agent.loop import as_data, complete
from agent.memory.audience import GroupAudience, audience_of
from agent.memory.doubts import NOTHING_SETTLED, doubts_prompt, read_doubts
from agent.memory.profile import LEARNING, Partition, Utterance, learned, partition_of
from agent.memory.statements import head_and_tail
from agent.memory.synthesizer import ImpressionSynthesizer, synthesised
from agent.messages import Depth, Message, ModelCall
from agent.ports.clock import Clock
from agent.ports.jobs import Jobs
from agent.ports.memory import Facts, Memories, Profiles
from agent.ports.model import CallOptions
from agent.ports.spending import Spending
from agent.recall_query import RecallQuery
from bot.chat.foreground import ForegroundPriority
from bot.chat.learning_model import LearningModel
from bot.memory import texts as memory_texts

log = logging.getLogger(__name__)

DOUBTS: Final = "doubts"  # The kind of the jobs that settle which facts are outdated
OPTIONS = CallOptions(depth=Depth.FAST)
SYNTHESIZER = ImpressionSynthesizer()


HasBudget: TypeAlias = Callable[[str], Awaitable[bool]]  # Whether this person, by id, may spend anything now


async def may_spend(person: str) -> bool:  # noqa: ARG001 -- without budgets, each person may spend
    return True


@dataclass(frozen=True, slots=True)
class LearningLimits:
    quiet: timedelta = timedelta(minutes=1)
    """Delay after the last answer: an active conversation is read in one call, and answers get the model first."""
    batch: int = 40
    """Messages per call: given more, a model extracts less from each."""
    batch_chars: int = 16_000
    """About 4,000 tokens of messages, so that the prompt fits a small local model. At least one message is sent."""
    budget_pause: timedelta = timedelta(hours=1)
    """Until the budget of a person who has used it up is looked at again: it is filled up at midnight."""
    known: int = 50
    """Known facts shown to the model: about as many things as a person is concerned with at a time."""
    alike: int = 20
    """Earlier messages of a similar meaning whose facts are among those shown."""
    meaning_chars: int = 1_000
    """Of the messages, their beginning and end, by whose meaning these are searched: a search reads a question."""
    doubts: int = 30
    """Pairs of facts in one call: as many as a small model still keeps apart."""
    asked: int = 3
    """Calls that ask about one pair: the first soon after it was marked, the others on later days. A model that leaves
    a pair open as often will do so again.
    """
    tries: int = 5
    """Unreadable model answers before the messages are skipped: about a quarter of an hour of retries."""


@dataclass(frozen=True, slots=True)
class Learner:
    """Learns profiles and facts from people's messages, as a job of each partition.

    Theory of operation. When a turn ends with an answer, its question is marked as unlearned and the job of its
    partition (person and audience) is scheduled a minute later, so that consecutive messages share one model call. The
    job extracts insights and saves them. When enough is new and no message waits, it synthesises the profile. The
    jobs table runs one job of a partition at a time across all processes, and a profile is saved only over the
    revision that was read.

    Rules
      Pairs of facts that the rules leave open are judged by the model directly after the messages were learned from,
      in one call; those that it leaves open, on later days.
      No reply waits for learning. While the model on this machine is needed for an answer, the job stops and is
      scheduled again.
      Its calls are charged to the person, and none is made while that person's budget is used up.
      A message stays marked until its insights are saved. An unreadable answer changes nothing, and the job is tried
      again; messages that yield unreadable answers every time, or that a hook withholds, are skipped after `tries`.
    """

    profiles: Profiles
    facts: Facts
    jobs: Jobs
    spending: Spending
    model: Callable[[], LearningModel]
    clock: Clock
    floor: ForegroundPriority
    synthesizer: ImpressionSynthesizer = SYNTHESIZER
    limits: LearningLimits = LearningLimits()
    has_budget: HasBudget = may_spend
    meanings: Memories | None = None
    """The search that finds messages by their meaning; None without a model for embeddings."""

    def due(self, now: datetime) -> datetime | None:
        """Return when to learn from a turn that ends at `now`; None while no model can learn."""
        return now + self.limits.quiet if self.model().can_learn else None

    async def learn(self, job: Job) -> None:
        """Run the job: learn from the oldest unlearned messages of a partition. Raises ProviderError and StoreError."""
        if not self.model().can_learn:
            return
        if not await self.has_budget(job.person):
            await self._reschedule(job, self.limits.budget_pause)
            return
        partition = partition_of(job.person, job.key)
        last_try = job.attempts >= self.limits.tries
        waiting = await self.profiles.unlearned(partition, self.limits.batch + 1)
        batch = self._first_batch(waiting)
        authority = Authority(int(job.payload or Authority.EMPLOYEE))
        if batch and not await self._extract(partition, batch, authority, last_try=last_try):
            if await self.profiles.unlearned(partition, 1):
                await self._reschedule(job, self.limits.quiet)
        elif len(batch) < len(waiting):
            await self._reschedule(job, timedelta())
        else:
            await self._schedule_doubts(partition)
            if not await self._synthesise(partition, last_try=last_try):
                await self._reschedule(job, self.limits.quiet)

    async def settle(self, job: Job) -> None:
        """Run the job: ask which facts of a partition newer ones have replaced. Raises ProviderError and StoreError.

        Code decides what may be replaced (`agent.memory.judging`): the model only settles what the rules leave open.
        """
        if not self.model().can_learn:
            return
        if not await self.has_budget(job.person):
            await self._reschedule(job, self.limits.budget_pause)
            return
        partition = partition_of(job.person, job.key)
        pairs = await self.facts.doubts(partition.person, partition.audience, self.limits.doubts, self.limits.asked)
        if not pairs:
            return
        last_try = job.attempts >= self.limits.tries
        answer = await self._ask(partition, doubts_prompt(pairs), last_try=last_try)
        if answer is None:
            await self._reschedule(job, self.limits.quiet)
            return
        settled = read_doubts(answer, len(pairs))
        if settled is None:
            _handle_unreadable(last_try=last_try)
            settled = NOTHING_SETTLED
        for number, (older, newer) in enumerate(pairs):
            replaced = True if number in settled.outdated else False if number in settled.both else None
            await self.facts.settle(partition.person, partition.audience, older.id, newer.id, replaced=replaced)
        await self._schedule_doubts(partition)

    async def _schedule_doubts(self, partition: Partition) -> None:
        """Have doubts settled of which no model was asked yet; those that one left open, on the next day (UTC)."""
        now = self.clock.now()
        tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        for asked, run_at in ((1, now), (self.limits.asked, tomorrow)):
            if await self.facts.doubts(partition.person, partition.audience, 1, asked):
                await self.jobs.schedule(DOUBTS, partition.key, "", run_at, person=partition.person)
                return

    async def _extract(
        self, partition: Partition, messages: Sequence[Utterance], authority: Authority, *, last_try: bool
    ) -> bool:
        """Save what these messages tell; return False if the extraction must be repeated later.

        `authority`: the person's, at the place of their latest message.
        """
        # Known facts are numbered in the prompt, so that the model reports a change under the same key.
        said = "\n".join(message.text for message in messages)
        near = await self._alike(partition, said)
        known = await self.facts.latest(partition.person, partition.audience, self.limits.known, said, near)
        answer = await self._ask(partition, self.synthesizer.insight_prompt(messages, known), last_try=last_try)
        if answer is None:
            return False
        insights = self.synthesizer.read_insights(answer, messages)
        if insights is None:
            _handle_unreadable(last_try=last_try)
        before = await self.profiles.get(partition)
        profile = learned(before, partition.audience, insights or (), len(messages), self.clock.now())
        stated = [
            fact.to_new_fact(partition, authority) for fact in self.synthesizer.read_facts(answer, messages, known)
        ]
        return await self.profiles.save(partition, profile, messages, stated)

    async def _alike(self, partition: Partition, said: str) -> list[int]:
        """Return the ids of earlier messages that mean something similar: facts from them may be outdated now, though
        they share no word with what is said.
        """
        if self.meanings is None:
            return []
        text = head_and_tail(said, self.limits.meaning_chars)
        query = RecallQuery(partition.person, text, frozenset({partition.audience}), "", self.limits.alike)
        return [hit.message.id for hit in await self.meanings.search(query)]

    async def _synthesise(self, partition: Partition, *, last_try: bool) -> bool:
        """Refine the profile if that is due; return False if the synthesis must be repeated later.

        A concurrent change of the profile wins: the next synthesis includes it.
        """
        profile = await self.profiles.get(partition)
        if not self.synthesizer.is_due(profile):
            return True
        answer = await self._ask(partition, self.synthesizer.synthesis_prompt(profile), last_try=last_try)
        if answer is None:
            return False
        refined = self.synthesizer.read_synthesis(answer, profile, self.clock.now())
        if refined is None:
            _handle_unreadable(last_try=last_try)
        await self.profiles.save(partition, refined or synthesised(profile))
        return True

    async def _ask(self, partition: Partition, prompt: Sequence[Message], *, last_try: bool) -> str | None:
        """Return the model's answer; None if a reply needs the model. What a hook withholds to the end has an answer
        that cannot be read, so that its messages do not stop all learning.
        """

        async def count(call: ModelCall) -> None:
            await self.spending.charge(partition.person, LEARNING, [call], self.clock.now())

        model = await self.model().at(*_channel_of(partition))
        call = complete(model.provider, as_data(prompt), count, OPTIONS)
        try:
            return await self.floor.while_free(call) if model.is_local else await call
        except RequestWithheld:
            if not last_try:
                raise
            return ""

    async def _reschedule(self, job: Job, delay: timedelta) -> None:
        await self.jobs.schedule(job.kind, job.key, job.payload, self.clock.now() + delay, person=job.person)

    def _first_batch(self, waiting: Sequence[Utterance]) -> Sequence[Utterance]:
        chars = 0
        for index, message in enumerate(waiting[: self.limits.batch]):
            chars += min(len(message.text), self.synthesizer.utterance_chars)
            if index and chars > self.limits.batch_chars:
                return waiting[:index]
        return waiting[: self.limits.batch]


def _channel_of(partition: Partition) -> tuple[str, str]:
    """Return the source and the channel of what is only about one channel. What several channels read is about none."""
    audience = audience_of(partition.audience)
    source, _, channel = audience.place.rpartition(":") if isinstance(audience, GroupAudience) else ("", "", "")
    return source, channel


def _handle_unreadable(*, last_try: bool) -> None:
    """Raise ProviderUnavailable for an unreadable answer; on the last try, log a warning instead."""
    if not last_try:
        raise ProviderUnavailable(memory_texts.JOB_UNREADABLE)
    log.warning(
        "the learning model keeps sending answers that cannot be read, so nothing was learned from some messages"
    )
