"""Whether a platform admits a person now, asked without a message of theirs."""

from datetime import datetime

from agent.incoming import person_source
from agent.memory.audience import PersonAudience, Place
from agent.schedules.definitions import Admitted, NewSchedule, Occurrence, Schedule, ScheduleKind, Timing
from agent.schedules.port import SchedulePlatform


async def admitted_now(platform: SchedulePlatform, person: str, now: datetime) -> Admitted:
    """Return a direct message of this person (their id) as the platform admits it now: as a question of theirs that is
    due now. Raises CogencyError if that cannot be determined.
    """
    place = Place(PersonAudience(person))
    source = person_source(person)
    due = NewSchedule(person, source, "", place, ScheduleKind.QUESTION, "", Timing(""), now, direct=True)
    return await platform.admit(Occurrence(Schedule(0, due, now), now))
