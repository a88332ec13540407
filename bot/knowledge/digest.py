"""Once a week, lets the managers of a channel know how much was not answered there.

Rules
  A message has counts and a link, and no words: what it counts can be forgotten after it was sent.
  Only a person who manages the channel and can read it at that moment is told of it, so direct messages are never
  counted. Each person gets one message for all their channels, and can switch it off.
  One job finds the people, and one for each of them sends. A week's message that was sent is not sent again.
"""

import asyncio
import json
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from agent.approvers import CHANNEL_MANAGER, Approvers
from agent.errors import CogencyError
from agent.feedback import ChannelFeedback
from agent.incoming import Incoming, Person
from agent.jobs import Job
from agent.memory.audience import Place, TeamAudience, audience_of
from agent.ports.clock import Clock
from agent.ports.jobs import Jobs
from agent.ports.preferences import Preferences
from agent.ports.unanswered import UnansweredQuestions
from agent.unanswered import AskedChannel, QuestionGroup, grouped
from bot.chat.approvers import ApproverPlatform
from bot.chat.jobs import Handler
from bot.chat.panels import Panel
from bot.chat.reply.surface import PageGone
from bot.chat.texts.formatting import counted
from bot.knowledge import texts as knowledge_texts
from bot.knowledge.unanswered import DIGEST, DIGEST_OFF, MAX_QUESTIONS, why_text

log = logging.getLogger(__name__)

FIND: Final = "unanswered_digest"  # The kind of the job that finds the people
SEND: Final = "unanswered_digest_to"  # Of the jobs that send to one of them
PERIOD: Final = timedelta(days=7)
HOUR: Final = 8  # Of Monday, in UTC
MIN_QUESTIONS: Final = 3  # Of a channel: fewer are no reason for a message
MAX_CHANNELS: Final = 200  # In which somebody asked within the week, the most recent first
MAX_PEOPLE: Final = 20  # Whom a platform names for one channel: each may cost a request
MAX_LINES: Final = 20  # Channels in one message
MANAGERS: Final = Approvers(CHANNEL_MANAGER)


@dataclass(frozen=True, slots=True)
class ChannelCount:
    """How much was not answered in a channel. `link`: to the newest of the questions, "" if there is none."""

    source: str
    channel: str
    audience: str
    questions: int
    subjects: int
    why: str
    link: str


@dataclass(frozen=True, slots=True)
class UnansweredDigest:
    """`platforms`: by the source of their messages; the mapping follows which are connected."""

    questions: UnansweredQuestions
    jobs: Jobs
    preferences: Preferences
    clock: Clock
    platforms: Mapping[str, ApproverPlatform]

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {FIND: self.find_people, SEND: self.send}

    async def begin(self) -> None:
        """Schedule the first job, unless it waits: one that is late runs at once. Raises StoreError."""
        if not await self.jobs.replace(FIND, "", payload="", person=""):
            await self.jobs.schedule(FIND, "", "", next_time(self.clock.now()))

    async def find_people(self, job: Job) -> None:
        """Count what was not answered in each channel, and have its managers told. Raises StoreError."""
        now = self.clock.now()
        told = defaultdict[str, list[ChannelCount]](list)
        for channel in await self.questions.channels(now - PERIOD, MAX_CHANNELS):
            platform = self.platforms.get(channel.source)
            count = None if platform is None else await self._count(channel, now - PERIOD)
            if platform is None or count is None:
                continue
            try:
                ranked = await platform.candidates(MANAGERS, question_in(count, now))
                candidates = dict.fromkeys([*ranked[:MAX_PEOPLE], *channel.people])
            except CogencyError as error:
                log.warning("the managers of a channel could not be found: %r", error)
                continue
            for person in candidates:
                told[person].append(count)
        for person, counts in told.items():
            payload = json.dumps([asdict(count) for count in counts])
            await self.jobs.schedule(SEND, person, payload, now, person=person)
        await self.jobs.schedule(job.kind, job.key, "", next_time(now))

    async def _count(self, channel: AskedChannel, since: datetime) -> ChannelCount | None:
        """Return None if there is too little to tell."""
        view = ChannelFeedback(channel.source, channel.channel, frozenset({channel.audience}))
        groups = await asyncio.to_thread(grouped, await self.questions.asked(view, since, MAX_QUESTIONS))
        number = sum(len(group.questions) for group in groups)
        if number < MIN_QUESTIONS:
            return None
        newest = max((question for group in groups for question in group.questions), key=lambda one: one.turn)
        why = why_text(_together(groups))
        return ChannelCount(channel.source, channel.channel, channel.audience, number, len(groups), why, newest.link)

    async def send(self, job: Job) -> None:
        """Tell one person. Raises CogencyError: the job is then tried again."""
        person, now = job.key, self.clock.now()
        chosen, week = (await self.preferences.all_of(person)).get(DIGEST), f"{now:%G-W%V}"
        if chosen in {DIGEST_OFF, week}:
            return
        stored: list[Any] = json.loads(job.payload)
        counts = list[ChannelCount]()
        for count in (ChannelCount(**values) for values in stored):
            if len(counts) < MAX_LINES and await self._may_know(person, count, now):
                counts.append(count)
        platform = self.platforms.get(counts[0].source) if counts else None
        if platform is None:
            return
        try:
            await platform.send(person, Panel(digest_text(counts)))
        except PageGone:
            return  # the person takes no direct messages
        await self.preferences.set(person, DIGEST, week)

    async def _may_know(self, person: str, count: ChannelCount, now: datetime) -> bool:
        platform = self.platforms.get(count.source)
        found = None if platform is None else await platform.approver(person, MANAGERS, question_in(count, now))
        return found is not None and found.reads


def _together(groups: Sequence[QuestionGroup]) -> QuestionGroup:
    return QuestionGroup(tuple(question for group in groups for question in group.questions))


def next_time(now: datetime) -> datetime:
    """Return the next Monday's hour after `now`, in UTC."""
    monday = now.replace(hour=HOUR, minute=0, second=0, microsecond=0) - timedelta(days=now.weekday())
    return monday if monday > now else monday + timedelta(days=7)


def question_in(count: ChannelCount, now: datetime) -> Incoming:
    """Return a question in the channel, about whose managers a platform can be asked."""
    audience = audience_of(count.audience)
    team = audience.team.rpartition(":")[2] if isinstance(audience, TeamAudience) else ""
    return Incoming(
        source=count.source,
        event_id="",
        channel=count.channel,
        message_id="",
        conversation="",
        person=Person("", ""),
        place=Place(audience),
        text="",
        time=now,
        team=team,
    )


def digest_text(counts: Sequence[ChannelCount]) -> str:
    lines = [
        knowledge_texts.DIGEST_LINE.format(
            questions=counted(count.questions, "question", "questions"),
            subjects=counted(count.subjects, "subject", "subjects"),
            channel=f"[{knowledge_texts.DIGEST_CHANNEL}]({count.link})"
            if count.link.startswith(("https://", "http://"))
            else f"`{count.channel}`",
            why=count.why,
        )
        for count in counts
    ]
    return "\n".join([knowledge_texts.DIGEST_HEAD, *lines, "", knowledge_texts.DIGEST_END])
