"""The stored schedules, and the platforms' view of them, as ports."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from agent.incoming import Incoming
from agent.schedules.definitions import Admitted, NewSchedule, Notice, Occurrence, Schedule, ScheduleRefused, Timing
from agent.turn_records import Accepted


class SchedulePlatform(Protocol):
    """A platform's view of the places and people of schedules, used when they are due."""

    async def admit(self, occurrence: Occurrence) -> Admitted:
        """Return the occurrence as a question of its person now. Raises CogencyError if that cannot be determined now;
        the caller tries again.
        """
        ...

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        """Return a message about the schedule to its person alone. Raises as `admit`."""
        ...


class Schedules(Protocol):
    """The stored schedules. Raises StoreError. Every write after `due` is fenced and raises LeaseLost."""

    async def add(self, new: NewSchedule) -> Schedule | ScheduleRefused:
        """Store a new schedule."""
        ...

    async def of_person(self, person: str) -> list[Schedule]:
        """Return the person's schedules in order of their next time; ended ones come last."""
        ...

    async def all(self, limit: int) -> list[Schedule]:
        """Return everyone's schedules for operators, in order of their next time."""
        ...

    async def change(
        self, person: str, id_: int, *, timing: Timing | None = None, words: str | None = None, now: datetime
    ) -> Schedule | None:
        """Change the time or the text. None if the person has no such schedule."""
        ...

    async def pause(self, person: str, id_: int, *, paused: bool, now: datetime) -> Schedule | None:
        """Pause the schedule, or resume it from its next time after `now`; if it lapses, then later by as long as a new
        one.
        """
        ...

    async def cancel(self, person: str, id_: int, now: datetime) -> Schedule | None:
        """Delete the schedule and its waiting turns. Returns the deleted schedule."""
        ...

    async def due(self, sources: frozenset[str], now: datetime, limit: int) -> Sequence[Occurrence]:
        """Claim due occurrences of these sources for some seconds, in order of time; no other process gets them."""
        ...

    async def begin(
        self,
        due: Occurrence,
        incoming: Incoming,
        now: datetime,
        *,
        reply: str | None = None,
        seen: str | None = None,
        lapse: "Notice | None" = None,
    ) -> Accepted:
        """Accept the occurrence as a turn and compute the next time, in one transaction; once for each occurrence.

        `reply`: its text without a model. `seen`: the current digest of its first check. `lapse`: the notice that the
        schedule lapses, or has lapsed, with this occurrence.
        """
        ...

    async def skip(
        self,
        due: Occurrence,
        now: datetime,
        *,
        seen: str | None = None,
        notice: "Notice | None" = None,
        lapse: "Notice | None" = None,
    ) -> None:
        """Skip this occurrence. A notice to its person is stored in the same transaction. `lapse`: as for `begin`."""
        ...

    async def end(self, due: Occurrence, why: str, now: datetime, *, notice: "Notice | None" = None) -> None:
        """End a schedule that is no longer allowed. `notice`: as for `skip`."""
        ...

    async def put_off(self, due: Occurrence, until: datetime) -> None:
        """Try again then, because it could not be determined now whether it is allowed."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a process may have stored a new time. Calls may be lost or superfluous."""
        ...

    async def by_id(self, id_: int) -> Schedule | None:
        """Return the schedule of any person."""
        ...

    async def last_answer(self, id_: int) -> str:
        """Return the last answer that a question of this schedule was given; "" if none is left. Failures are none."""
        ...

    async def first_due(self, sources: frozenset[str]) -> datetime | None:
        """Return when the next occurrence of these sources is due; None if never."""
        ...
