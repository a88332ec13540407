"""Schedules of users, when they are due."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from agent.memory.audience import Place
from agent.schedules.definitions import NewSchedule, Occurrence, Schedule, ScheduleKind, Timing
from bot.chat.access.acl import AccessRules, parse_entries
from bot.chat.access.admission import AdmissionRules
from bot.chat.host import Host
from bot.schedules import texts as schedule_texts
from bot.schedules.scheduler import Scheduler
from tests.fakes.answering_host import AnsweringHost
from tests.fakes.hosts import Stored

NINE = datetime(2026, 1, 5, 9, tzinfo=UTC)


def due(
    person: str,
    source: str,
    channel: str,
    place: Place,
    *,
    kind: ScheduleKind = ScheduleKind.REMINDER,
    direct: bool = False,
    created: datetime = NINE - timedelta(days=1),
    conversation: str = "",
    number: int = 7,
) -> Occurrence:
    timing = Timing("Europe/Berlin", at=NINE)
    words = "Water the plants."
    schedule = NewSchedule(
        person, source, channel, place, kind, words, timing, created, conversation=conversation, direct=direct
    )
    return Occurrence(Schedule(number, schedule, NINE), NINE)


def ended(kind: ScheduleKind, why: str, words: str = "Water the plants.") -> str:
    """Return the private notice of a schedule that its person is no longer allowed."""
    template = schedule_texts.WORK_TAKEN_AWAY if kind is ScheduleKind.WORK else schedule_texts.SCHEDULE_ENDED
    return template.format(kind=schedule_texts.KINDS[kind], words=words, why=why)


@asynccontextmanager
async def doing(host: Host, store: Stored) -> AsyncGenerator[Scheduler, None]:
    """Run due schedules in a replica, built as `bot.app` does it, until the block ends."""
    scheduler = Scheduler(
        store.schedules,
        host.platforms.schedules,
        host.messages.clock,
        host.turns.wake,
        host.admission.refusal,
        host.admission.budget_left,
    )
    async with scheduler.serving():
        yield scheduler


def let_in(host: AnsweringHost, allow: str) -> AnsweringHost:
    """Return the same host, restricted to these people."""
    rules = AdmissionRules(AccessRules(allow=parse_entries(allow)))
    admission = replace(host.admission, rules=rules)
    return replace(host, admission=admission, messages=replace(host.messages, admission=admission))
