"""Learning who people are, and summarising long conversations, in the background; and what people are told of what a
turn has kept. Nobody waits for it: while this machine's own model is needed for an answer, it gives way.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from agent.admission_terms import Authority
from agent.errors import ProviderUnavailable, Refused, StoreError, ToolError
from agent.loop import as_data, complete
from agent.memory.audience import PersonAudience, Place
from agent.memory.forgetting_plans import PAUSED, EntriesPlan
from agent.memory.profile import LEARNING, Partition, Utterance, learned, partition_of
from agent.memory.synthesizer import ImpressionSynthesizer, synthesised
from agent.memory.writing import Written
from agent.messages import Depth, JsonObject, Message, ModelCall
from agent.ports import (
    CallOptions,
    Clock,
    Facts,
    Forgetting,
    Jobs,
    Memories,
    Preferences,
    Profiles,
    Spending,
    Summaries,
    ToolContext,
)
from agent.protocol.render import speakers
from agent.records import Incoming, Job, StoredMessage
from agent.state import ActionRecord, SituationSummary
from agent.summary import SUMMARY, Uncovered, extracted, read_summary, summary_batch, summary_prompt
from agent.tools.recall import query_of
from bot.access.admission import Readers
from bot.caches import ForegroundPriority
from bot.memory.view import PauseLearning
from bot.models.choice import LearningModel
from bot.schedule_desk import ScheduleDesk
from bot.texts import memory_texts, reply_texts, setup_texts
from bot.texts.formatting import literal, shortened

log = logging.getLogger(__name__)

OPTIONS = CallOptions(depth=Depth.FAST)
SYNTHESIZER = ImpressionSynthesizer()


@dataclass(frozen=True, slots=True)
class LearningLimits:
    quiet: timedelta = timedelta(minutes=1)
    """After the last answer: a conversation in full swing goes in one call, and answers have the model first."""
    batch: int = 40
    """Messages in one call: of more a model tells less about each."""
    batch_chars: int = 16_000
    """About 4,000 tokens of messages, so that the prompt fits a small local model. One message always goes."""
    known: int = 50
    """Facts that are known already, shown to the model: about as many things as a person follows at a time."""
    tries: int = 5
    """How often a model may answer nonsense before the messages are given up: a quarter of an hour by now."""


@dataclass(frozen=True, slots=True)
class Learner:
    """Theory of operation. The end of an answered turn marks its question as to be learned from, and puts the job of
    its partition (person and audience) a quiet minute off; so what is said in a row goes in one model call. The job
    asks for insights, keeps them, and when enough is new and nothing waits any more, asks for a synthesis. The
    ledger of jobs runs one job of a partition at a time, in whatever process; a profile is kept only by whoever read
    its newest revision.

    Rules
      Nobody waits for it. While this machine's own model is needed for an answer, it gives way, and begins again later.
      A message is marked until what it tells is kept. An answer that cannot be read changes nothing, and is asked for
      again later; messages of which a model makes nonsense every time are given up after `tries`.
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

    def due(self, now: datetime) -> datetime | None:
        """When to learn from a turn that ends now; None while there is no model that can."""
        return now + self.limits.quiet if self.model().can_learn else None

    async def learn(self, job: Job) -> None:
        """The job: learn from the oldest messages that wait in a partition. Raises ProviderError and StoreError."""
        if not self.model().can_learn:
            return
        partition = partition_of(job.person, job.key)
        last_try = job.attempts >= self.limits.tries
        waiting = await self.profiles.unlearned(partition, self.limits.batch + 1)
        said = self._batch(waiting)
        authority = Authority(int(job.payload or Authority.EMPLOYEE))
        if said and not await self._extract(partition, said, authority, last_try=last_try):
            if await self.profiles.unlearned(partition, 1):
                await self._again(job, self.limits.quiet)
        elif len(said) < len(waiting):
            await self._again(job, timedelta())
        elif not await self._synthesise(partition, last_try=last_try):
            await self._again(job, self.limits.quiet)

    async def _extract(
        self, partition: Partition, messages: Sequence[Utterance], authority: Authority, *, last_try: bool
    ) -> bool:
        """Keep what these messages tell; False if that has to begin again later.

        `authority`: of the person where they wrote last.
        """
        # Shown by number, so that the model names what has changed, under the same key.
        known = await self.facts.latest(partition.person, partition.audience, self.limits.known)
        answer = await self._ask(partition, self.synthesizer.insight_prompt(messages, known))
        if answer is None:
            return False
        insights = self.synthesizer.read_insights(answer, messages)
        if insights is None:
            _complain(last_try=last_try)
        before = await self.profiles.of(partition)
        profile = learned(before, partition.audience, insights or (), len(messages), self.clock.now())
        stated = [fact.written(partition, authority) for fact in self.synthesizer.read_facts(answer, messages, known)]
        return await self.profiles.save(partition, profile, messages, stated)

    async def _synthesise(self, partition: Partition, *, last_try: bool) -> bool:
        """Refine the profile if that is due; False if it has to begin again later.

        What became of the profile meanwhile stands: the next synthesis knows of it.
        """
        profile = await self.profiles.of(partition)
        if not self.synthesizer.is_due(profile):
            return True
        answer = await self._ask(partition, self.synthesizer.synthesis_prompt(profile))
        if answer is None:
            return False
        refined = self.synthesizer.read_synthesis(answer, profile, self.clock.now())
        if refined is None:
            _complain(last_try=last_try)
        await self.profiles.save(partition, refined or synthesised(profile))
        return True

    async def _ask(self, partition: Partition, prompt: Sequence[Message]) -> str | None:
        """The model's answer; None if somebody who waits for theirs needs the model."""

        async def count(call: ModelCall) -> None:
            await self.spending.charge(partition.person, LEARNING, [call], self.clock.now())

        model = self.model()
        asking = complete(model.provider, as_data(prompt), count, OPTIONS)
        return await self.floor.while_free(asking) if model.is_local else await asking

    async def _again(self, job: Job, after: timedelta) -> None:
        await self.jobs.schedule(job.kind, job.key, job.payload, self.clock.now() + after, person=job.person)

    def _batch(self, waiting: Sequence[Utterance]) -> Sequence[Utterance]:
        chars = 0
        for number, one in enumerate(waiting[: self.limits.batch]):
            chars += min(len(one.text), self.synthesizer.utterance_chars)
            if number and chars > self.limits.batch_chars:
                return waiting[:number]
        return waiting[: self.limits.batch]


def _complain(*, last_try: bool) -> None:
    """An answer cannot be read. Raises ProviderUnavailable unless it was the last try."""
    if not last_try:
        raise ProviderUnavailable(setup_texts.JOB_UNREADABLE)
    log.warning("the model for learning answers nonsense every time: nothing is learned from some messages")


# Whether the bot may learn from what somebody says, where they say it: people may pause that.
#
# Rules
#   A pause of the person, of theirs in a channel, or of the channel for everybody: each is enough. What is said
#   during a pause is never learned later. So after a pause only what was said after its end counts; and what waits to
#   be learned from when a pause begins is passed over.

PAUSE: Final = "learning"  # The preference's name


@dataclass(frozen=True, slots=True)
class LearningPauses:
    preferences: Preferences
    profiles: Profiles | None
    clock: Clock

    async def may_learn(self, incoming: Incoming) -> bool:
        """Whether this message may be learned from. Raises StoreError."""
        own = await self.preferences.of(incoming.person.id)
        common = await self.preferences.of(owner_of(incoming.channel))
        kept = (own.get(PAUSE), own.get(name_in(incoming.channel)), common.get(PAUSE))
        return all(_allows(one, incoming.time) for one in kept)

    async def is_paused(self, person: str) -> bool:
        """Whether the person has paused learning everywhere. Raises StoreError."""
        return (await self.preferences.of(person)).get(PAUSE) == PAUSED

    async def among(self, people: Collection[str], channel: str) -> frozenset[str]:
        """Those of these people who have paused it, there or everywhere. Raises StoreError."""
        found = set[str]()
        for person in people:
            kept = await self.preferences.of(person)
            if PAUSED in (kept.get(PAUSE), kept.get(name_in(channel))):
                found.add(person)
        return frozenset(found)

    async def lasting(self, person: str, channel: str) -> list[PauseLearning]:
        """The pauses for which nothing is learned from this person there, the widest first. Raises StoreError."""
        own = await self.preferences.of(person)
        common = await self.preferences.of(owner_of(channel))
        kept = (
            (own.get(PAUSE), PauseLearning()),
            (own.get(name_in(channel)), PauseLearning(here=True)),
            (common.get(PAUSE), PauseLearning(here=True, for_everybody=True)),
        )
        return [pause for value, pause in kept if value == PAUSED]

    async def set(self, person: str | None, channel: str | None, *, on: bool) -> None:
        """Pause, or go on: for a person (None: everybody), in a channel (None: everywhere). Raises StoreError."""
        owner = owner_of(channel or "") if person is None else person
        name = PAUSE if person is None or channel is None else name_in(channel)
        if on:
            await self.preferences.set(owner, name, PAUSED)
            if self.profiles is not None:
                await self.profiles.skip_learning(person=person, channel=channel)
        elif (await self.preferences.of(owner)).get(name) == PAUSED:
            await self.preferences.set(owner, name, self.clock.now().isoformat())


def owner_of(channel: str) -> str:
    """Under whose name choices for a channel are kept."""
    return f"channel:{channel}"


def name_in(channel: str) -> str:
    """The preference of a person who pauses learning in one channel."""
    return f"{PAUSE} in {channel}"


def _allows(kept: str | None, said: datetime) -> bool:
    """`kept`: nothing, that it is paused, or when a pause ended."""
    if kept is None:
        return True
    try:
        return said > datetime.fromisoformat(kept)
    except ValueError:
        return False


# Summarising what long conversations are about to lose from the model's sight. Until it is done the beginnings of what
# was said stand in the context (`agent.summary.digest`).
#
# Rules
#   It takes the model that learns. Its calls are charged to whoever's question made it due, and none is made once a
#   budget of theirs is used up, or where there is only the rehearsal: then the summary is what code can extract.
#   What was forgotten, edited or summarised by somebody else meanwhile is not brought back: the next turn asks anew.

# After so many failures code extracts what it can: the beginning of a conversation waits for no service.
TRIES: Final = 3
GIVE_WAY: Final = timedelta(seconds=30)


async def may_spend(person: str) -> bool:  # noqa: ARG001 -- nobody's budget is kept
    return True


@dataclass(frozen=True, slots=True)
class Summariser:
    """`has_budget`: whether anything may be spent on this person now."""

    summaries: Summaries
    jobs: Jobs
    spending: Spending
    model: Callable[[], LearningModel]
    clock: Clock
    floor: ForegroundPriority
    has_budget: Callable[[str], Awaitable[bool]] = may_spend

    async def summarise(self, job: Job) -> None:
        """The job: a conversation up to a message. Raises StoreError and the errors of the model's provider."""
        before = await self.summaries.uncovered(job.conversation, int(job.payload))
        if before is None or not before.messages:
            return
        said = summary_batch(before.messages)
        after = await self._summary(job, before, said)
        if after is None:
            await self._again(job, GIVE_WAY)
        elif not await self.summaries.keep(job.conversation, before, said, after):
            log.info("a summary was not kept: what it was made of has changed meanwhile")
        elif len(said) < len(before.messages):
            await self._again(job, timedelta())

    async def _summary(self, job: Job, before: Uncovered, messages: Sequence[StoredMessage]) -> SituationSummary | None:
        """None if somebody who waits for an answer needs the model."""
        model = self.model()
        names = speakers([(one.person, one.name) for one in messages])
        if not model.can_learn or job.attempts > TRIES or not await self.has_budget(job.person):
            return extracted(before.summary, messages, names)

        async def count(call: ModelCall) -> None:
            await self.spending.charge(job.person, SUMMARY, [call], self.clock.now())

        asking = complete(model.provider, as_data(summary_prompt(before.summary, messages, names)), count, OPTIONS)
        answer = await self.floor.while_free(asking) if model.is_local else await asking
        if answer is None:
            return None
        after = read_summary(answer, before.summary)
        if after is None:
            raise ProviderUnavailable(setup_texts.JOB_UNREADABLE)
        return after

    async def _again(self, job: Job, after: timedelta) -> None:
        run_at = self.clock.now() + after
        await self.jobs.schedule(
            SUMMARY, job.key, job.payload, run_at, person=job.person, conversation=job.conversation
        )


# What people are told of it: the line under the first reply to a person says what is remembered, and how to see, stop
# and erase it.
#
# Rule: once for each person, whichever of several processes answers them first, and however often that answer is begun
# anew after a crash. So the person's preferences keep in which turn it is said, and only that turn says it.

TOLD: Final = "told"  # The preference's name


@dataclass(frozen=True, slots=True)
class LearningSchedule:
    """Implements `bot.turns.runner.LearningRules`. `learner`: None where nothing is learned."""

    learner: Learner | None = None
    pauses: LearningPauses | None = None

    def due(self, now: datetime) -> datetime | None:
        return None if self.learner is None else self.learner.due(now)

    async def may_learn(self, incoming: Incoming) -> bool:
        return self.pauses is None or await self.pauses.may_learn(incoming)


@dataclass(frozen=True, slots=True)
class FirstNotice:
    """`learns`: whether anything is learned from what people write, now. `named`: a text for this person, with the
    commands as they are called where they read it.
    """

    preferences: Preferences
    learns: Callable[[], bool]
    named: Callable[[str, str], str] = lambda _, text: text

    async def line(self, person: str, turn: int) -> str:
        """What this turn says to the person, as Markdown; "" if another one has said it. Raises StoreError."""
        told, mine = (await self.preferences.of(person)).get(TOLD), str(turn)
        if told != mine and not (told is None and await self.preferences.swap(person, TOLD, None, mine)):
            return ""
        return self.named(person, memory_texts.LEARNS if self.learns() else memory_texts.KEEPS)


# What a turn has kept of its asker, said below its answer, and taken back where they do not want that.
#
# Rules
#   Code says it, from what is kept, and not the model. So nothing is kept of anybody without their seeing it. Taken
#   back is what the turn's question taught, also what was learned from it since, for the profile, too: by the asker
#   alone, once. It is erased, what it had superseded holds again, and the question teaches no more. What the profile
#   has of other messages as well stays.

LINE_CHARS: Final = 200  # Of one fact below an answer: two lines of a phone; `/memory` shows the whole of it
MOST: Final = 5  # Facts that are named; of more, how many there are


@dataclass(frozen=True, slots=True)
class KeptNotice:
    facts: Facts
    profiles: Profiles
    forgetting: Forgetting
    clock: Clock

    async def line(self, turn: int) -> str:
        """What stands below the answer of this turn, as Markdown; "" if it kept nothing. Raises StoreError."""
        kept = [_with_former(one) for one in await self.facts.kept_in(turn) if one.fact.is_valid]
        return memory_texts.KEPT.format(facts=_named(kept)) if kept else ""

    async def take_back(self, turn: int, person: str) -> str:
        """What is said to a person who wants that undone. Raises Refused for anybody else, and StoreError."""
        kept = await self.facts.kept_in(turn)
        if any(one.fact.person != person for one in kept):
            raise Refused(reply_texts.NOT_YOURS)
        if not kept:
            return memory_texts.NOTHING_KEPT
        places = frozenset(one.fact.audience for one in kept)
        taught = {one.fact.source_message for one in kept}
        learned = [
            entry.id
            for entry in await self.profiles.known(person, places)
            if entry.sources and taught.issuperset(entry.sources) and not entry.is_settled
        ]
        plan = EntriesPlan(person, frozenset(learned), frozenset(one.fact.id for one in kept))
        await self.forgetting.forget_entries(plan, self.clock.now())
        done = memory_texts.TAKEN_BACK.format(facts=_named([_short(one.fact.said) for one in kept]))
        now = {one.id for one in await self.facts.readable(person, places) if one.is_valid}
        before = [_short(old.said) for one in kept for old in one.superseded if old.id in now]
        return memory_texts.HOLDS_AGAIN.format(done=done, before=_named(before)) if before else done


def _with_former(one: Written) -> str:
    said, before = _short(one.fact.said), _named([_short(old.said) for old in one.superseded])
    return memory_texts.INSTEAD.format(fact=said, before=before) if before else said


def _named(texts: Sequence[str]) -> str:
    named = "; ".join(texts[:MOST])
    return named if len(texts) <= MOST else memory_texts.MORE_FACTS.format(facts=named, many=len(texts) - MOST)


def _short(text: str) -> str:
    return literal(shortened(" ".join(text.split()), LINE_CHARS))


# What a search would have found for its person elsewhere, told to them alone: a number, and never to the model.
#
# Rule: only what this very person may read in their direct messages counts, at this moment.

RECALL: Final = "recall"
# Of one turn: a model that looks for more has found no words for it, and each search is made twice.
MAX_SEARCHES: Final = 3


@dataclass(frozen=True, slots=True)
class WithheldNotice:
    memories: Memories
    readers: Readers
    clock: Clock

    async def aside(self, question: Incoming, actions: Sequence[ActionRecord]) -> str:
        """The sentence for the person alone, "" where nothing was left out."""
        try:
            count = await self.count(question, actions)
        except StoreError as error:
            log.info("nobody is told what a search left out: %s", error)
            return ""
        return memory_texts.withheld_text(count) if count else ""

    async def count(self, question: Incoming, actions: Sequence[ActionRecord]) -> int:
        """How many messages the searches of this turn would have found in direct messages besides. Raises StoreError.

        0 where only the person reads.
        """
        alone = Place(PersonAudience(question.person.id))
        searches = [call.args for action in actions for call in action.calls if call.name == RECALL][:MAX_SEARCHES]
        if question.place.audience == alone.audience or not searches:
            return 0
        groups = await self.readers.groups_of(alone)
        found = await asyncio.gather(*(self._hidden(args, question, alone, groups) for args in searches))
        return len(frozenset[int]().union(*found))

    async def _hidden(
        self, args: JsonObject, question: Incoming, alone: Place, groups: frozenset[str]
    ) -> frozenset[int]:
        """The ids of what this search finds for the person alone, as it would in direct messages."""
        here = ToolContext(question.person, question.place, question.conversation, 0, self.clock.now())
        try:
            shown = query_of(args, here)
            wider = query_of(args, replace(here, place=alone, readable_groups=groups))
        except ToolError:  # the model was told so, and looked for nothing
            return frozenset()
        hits = await self.memories.search(replace(wider, audiences=shown.audiences | wider.audiences, shared=False))
        return frozenset(hit.message.id for hit in hits if not shown.admits(hit.message))


@dataclass(frozen=True, slots=True)
class TurnNotices:
    """Implements `bot.turns.runner.ReplyNotices`: each sentence comes from the part that knows it."""

    first_notice: FirstNotice | None = None
    kept_notice: KeptNotice | None = None
    schedules: ScheduleDesk | None = None
    withheld: WithheldNotice | None = None

    async def first(self, person: str, turn: int) -> str:
        return "" if self.first_notice is None else await self.first_notice.line(person, turn)

    async def kept(self, turn: int) -> str:
        return "" if self.kept_notice is None else await self.kept_notice.line(turn)

    async def scheduled(self, question: Incoming) -> str:
        return "" if self.schedules is None else await self.schedules.line(question)

    async def aside(self, question: Incoming, actions: Sequence[ActionRecord]) -> str:
        return "" if self.withheld is None else await self.withheld.aside(question, actions)
