"""Schedules that somebody made, as they are due."""

from datetime import UTC, datetime, timedelta

from agent.memory.audience import Place
from agent.schedules import NewSchedule, Occurrence, Schedule, ScheduleKind, Timing

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
    made = NewSchedule(
        person, source, channel, place, kind, words, timing, created, conversation=conversation, direct=direct
    )
    return Occurrence(Schedule(number, made, NINE), NINE)
