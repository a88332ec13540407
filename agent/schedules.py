"""What is done at a time: reminders and scheduled questions, when they are due, and when next. Pure.

Rules
  A schedule means a time on the clock of its zone: "nine in Berlin" stays nine when the clocks change. A time that the
  clocks leave out comes at once after the gap; one that they show twice comes once.
  Each occurrence is one turn of the ledger, taken in once whoever finds it due: it is named by the schedule and its
  time. What was missed is done late, and says so; of several that were missed the last one is done, for all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Protocol, TypeAlias

from agent.memory.audience import Place
from agent.records import Accepted, Closing, Incoming


class ScheduleKind(StrEnum):
    REMINDER = "reminder"
    """Posts its words; no model is asked."""
    QUESTION = "question"
    """Is asked anew at each time, as the person who made it; may answer nothing."""


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """By its person."""
    ENDED = "ended"
    """It has no next time, or may not be done any more: `why` says so. It is shown for a while, and then goes."""


class CheckKind(StrEnum):
    PAGE = "page"
    """Of a page on the web: what it says."""
    CHANNEL = "channel"
    """Of a channel: whether anything was written since."""
    TOOL = "tool"
    """Of a tool that only reads: what it answers."""


@dataclass(frozen=True, slots=True)
class FirstCheck:
    """What is looked at before a model is asked. `target`: an address, a channel's id, a tool's name, with `args` its
    arguments; `seen`: a digest of what it said last, "" before the first look.
    """

    kind: CheckKind
    target: str
    args: Mapping[str, object] = field(default_factory=dict[str, object])
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """`at`: once, a moment (aware); or `rule`: five fields as of cron, read in `zone`, until `until` at most.

    `zone`: an IANA name ("Europe/Berlin"). `since` and `weeks` are of a rule: nothing of it comes before `since`, and
    with `weeks` 2 only what falls into every second week does; weeks begin on Monday in `zone`, and that of `since` is
    the first.
    """

    zone: str
    at: datetime | None = None
    rule: str = ""
    until: datetime | None = None
    since: datetime | None = None
    weeks: int = 1


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`words`: what to say, or to ask. `source`, `channel`: where it is posted, as of an `Incoming`; `place`: who reads
    there, when it was made. `conversation` is where it was asked for and `message` the platform's id of the message,
    with which it falls; `direct`: it is posted to its person alone.
    """

    person: str
    source: str
    channel: str
    place: Place
    kind: ScheduleKind
    words: str
    timing: Timing
    created: datetime
    conversation: str = ""
    message: str = ""
    direct: bool = False
    check: FirstCheck | None = None


@dataclass(frozen=True, slots=True)
class Schedule:
    """One that is kept. `next`: when it is due next, None if never; `why`: why it has ended, a sentence or "".

    `last`: its last occurrence that was begun. `epoch` fences those who begin it.
    """

    id: int
    made: NewSchedule
    next: datetime | None
    state: ScheduleState = ScheduleState.ACTIVE
    last: datetime | None = None
    why: str = ""
    epoch: int = 0


class ScheduleRefused(Enum):
    """Why a schedule is not kept."""

    MANY_OF_PERSON = auto()
    MANY_IN_CHANNEL = auto()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A schedule that is due: `time` is when it should have been, `missed` how many before that one were not done."""

    schedule: Schedule
    time: datetime
    missed: int = 0


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The person may not have this done there any more. `why`: the sentence that they are told."""

    why: str


Admitted: TypeAlias = Incoming | NotAllowed
"""The question that an occurrence is, with who reads it there and what its person may do now."""


class SchedulePlatform(Protocol):
    """What a platform knows about the places and people of schedules, asked when they are due."""

    async def admit(self, occurrence: Occurrence) -> Admitted:
        """As what its person asks now. Raises CogencyError where that cannot be found out now: it is tried again."""
        ...

    async def direct(self, schedule: Schedule, time: datetime) -> Incoming:
        """A message to its person alone, about it. Raises as `admit`."""
        ...


class Schedules(Protocol):
    """The schedules that are kept. Raises StoreError. Every write after `due` is fenced and raises LeaseLost."""

    async def keep(self, new: NewSchedule) -> Schedule | ScheduleRefused:
        """Do it from now on."""
        ...

    async def of_person(self, person: str) -> list[Schedule]:
        """All of theirs, what is due first before the others; those that have ended last."""
        ...

    async def all(self, limit: int) -> list[Schedule]:
        """For operators: of everybody, what is due first first."""
        ...

    async def change(
        self, person: str, id_: int, *, timing: Timing | None = None, words: str | None = None, now: datetime
    ) -> Schedule | None:
        """Another time, or other words. None if they have no such schedule."""
        ...

    async def pause(self, person: str, id_: int, *, paused: bool, now: datetime) -> Schedule | None:
        """Let it rest, or go on from its next time after `now`."""
        ...

    async def cancel(self, person: str, id_: int) -> Schedule | None:
        """It is gone, and so is what waits of it; the schedule that it was."""
        ...

    async def due(self, sources: frozenset[str], owner: str, now: datetime, limit: int) -> Sequence[Occurrence]:
        """Take what is due there, what is due first first, for some seconds: nobody else is given it meanwhile."""
        ...

    async def begin(self, due: Occurrence, incoming: Incoming, reply: Closing | None, now: datetime) -> Accepted:
        """Take the occurrence in as a turn, and reckon out the next one, in one transaction; once.

        `reply`: what it says without a model.
        """
        ...

    async def skip(self, due: Occurrence, now: datetime, *, check: FirstCheck | None = None) -> None:
        """Nothing is to be done this time."""
        ...

    async def end(self, due: Occurrence, why: str) -> None:
        """It may not be done any more."""
        ...

    async def put_off(self, due: Occurrence, until: datetime) -> None:
        """Try again then: nobody could say now whether it may be done."""
        ...


def next_occurrence(timing: Timing, after: datetime) -> datetime | None:
    """The first time after that moment (aware), in UTC; None if there is none.

    Raises ValueError for a rule that is none, or for a zone that nobody knows.
    """
    raise NotImplementedError


def problem_of(timing: Timing, now: datetime) -> str:
    """Why this cannot be a schedule, a sentence that says what to do; "" if it can: the past, an unknown zone, a rule
    that is none, comes never or more often than every five minutes.
    """
    raise NotImplementedError


def in_words(timing: Timing, now: datetime) -> str:
    """ "Monday 24 November, 09:00 Europe/Berlin; then every Monday at 09:00, until 24 May 2027"."""
    raise NotImplementedError
