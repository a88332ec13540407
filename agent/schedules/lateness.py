"""Occurrences that were missed or run late. Pure."""

from datetime import datetime, timedelta
from typing import Final

from agent.schedules.definitions import Occurrence, ScheduleKind, Timing
from agent.schedules.times import MIN_INTERVAL, day_in_words, next_occurrence, zone_of
from agent.texts import duration_in_words

MAX_MISSED: Final = 500  # Missed occurrences that are counted: a week of one for every 20 minutes


def last_until(timing: Timing, first: datetime, now: datetime) -> tuple[datetime, int]:
    """Return the last time from `first`, which is an occurrence, until `now`, and the number of times before it, up to
    MAX_MISSED. Raises as `next_occurrence`.
    """
    last, before = first, 0
    while before < MAX_MISSED:
        later = next_occurrence(timing, last)
        if later is None or later > now:
            return last, before
        last, before = later, before + 1
    window = MIN_INTERVAL
    while (found := next_occurrence(timing, max(last, now - window))) is None or found > now:
        if now - window <= last:
            return last, before
        window *= 2
    while found is not None and found <= now:
        last, found = found, next_occurrence(timing, found)
    return last, before


LATE_AFTER: Final = timedelta(
    minutes=2
)  # A later occurrence says that it is late; a start or a slow platform takes less
# The longest delay of a question that has a next time: this morning's news is useless tonight.
MAX_DELAY: Final = timedelta(hours=12)


def is_stale(due: Occurrence, now: datetime) -> bool:
    """Return whether it is too late for this occurrence, which is a question with a next time. Reminders never are."""
    if due.schedule.definition.kind is ScheduleKind.REMINDER:
        return False
    later = next_occurrence(due.schedule.definition.timing, due.time)
    return later is not None and now - due.time > min(MAX_DELAY, (later - due.time) / 2)


def late_note(due: Occurrence, now: datetime, person_zone: str = "") -> str:
    """A note such as "This was due at 09:00, but I was offline."; "" for an occurrence in time."""
    if now - due.time <= LATE_AFTER and not due.missed:
        return ""
    if not (name := due.schedule.definition.timing.seen_from(person_zone).zone):
        return f"This was due {duration_in_words(now - due.time)} ago, but I was offline."
    zone = zone_of(name)
    time, today = due.time.astimezone(zone), now.astimezone(zone)
    day = "" if time.date() == today.date() else f"on {time:%A}, {day_in_words(time)}, "
    when = f"{day}at {time:%H:%M}"
    many = "more than 500" if due.missed >= MAX_MISSED else f"{due.missed}"
    times = "time" if due.missed == 1 else "times"
    before = f" I also missed {many} earlier {times}." if due.missed else ""
    return f"This was due {when}, but I was offline.{before}"
