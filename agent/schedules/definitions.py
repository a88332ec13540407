"""Schedules: reminders and scheduled questions.

Rules
  Each occurrence is one turn of the ledger, accepted once whichever process finds it due: its id names the schedule and
  its time. A missed occurrence runs late, and says so; of several missed ones only the last runs, for all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import TypeAlias

from agent.incoming import Incoming
from agent.memory.audience import Place


class ScheduleKind(StrEnum):
    REMINDER = "reminder"
    """Its text is posted; no model is called."""
    QUESTION = "question"
    """It is asked at each time, as the person who made it; the answer may be empty."""
    WORK = "work"
    """It is asked once, at once, and takes minutes."""


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """Paused by its person; or it has lapsed, and its person has not yet said whether it goes on."""
    ENDED = "ended"
    """It has no next time, or is no longer allowed (see `why`). It is listed for a while, then deleted."""
    WORKING = "working"
    """Long work whose turn has begun and has not ended. It is not stored; it follows from the turn."""


class CheckKind(StrEnum):
    PAGE = "page"
    """A web page: its content."""
    CHANNEL = "channel"
    """A channel: whether there are new messages."""
    TOOL = "tool"
    """A tool that only reads: its result."""


@dataclass(frozen=True, slots=True)
class FirstCheck:
    """What is checked for changes before a model is called. `target`: an address, a channel's id, or a tool's name
    with its arguments `args`; `seen`: a digest of the last content, "" before the first check.
    """

    kind: CheckKind
    target: str
    args: Mapping[str, object] = field(default_factory=dict[str, object])
    seen: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Either `at`: one time (aware); or `rule`: as agent/cron_rules.py says, read in `zone`, which ends at `until`.

    `zone`: an IANA name ("Europe/Berlin"); "" for a time whose person's zone is unknown. A rule has no occurrence
    before `since`. With `weeks` 2 only every second week counts; weeks begin on Monday in `zone`, and the week of
    `since` is the first. With `days` 3 only every third day counts, from the day of `since` on. `lapses`: its person
    gave no end, so they are asked at `until` whether it goes on.
    """

    zone: str
    at: datetime | None = None
    rule: str = ""
    until: datetime | None = None
    since: datetime | None = None
    weeks: int = 1
    days: int = 1
    lapses: bool = False

    def seen_from(self, zone: str) -> "Timing":
        """The timing with `zone` in place of an unknown zone."""
        return replace(self, zone=self.zone or zone)


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`words`: the text to post or to ask. `source`, `channel`: where it is posted, as in `Incoming`; `place`: who
    could read there when it was made. `conversation`: where it was requested; `message`: the platform's id of the
    request, with which it is forgotten. `direct`: it is posted to its person alone. `mention`: the person is mentioned
    when long work is done. `own`: its text is only the person's own.

    `report`: the name of the rule that decides whether the answer to a question is posted; "" for the usual one.
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
    mention: bool = False
    own: bool = False
    report: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    """A stored schedule. `next`: when it is due next, None if never; `why`: why it has ended, a sentence or "".

    `last`: its last occurrence that was begun. `epoch` fences the processes that begin occurrences. `warned`: its
    person was told that it will lapse.
    """

    id: int
    definition: NewSchedule
    next: datetime | None
    state: ScheduleState = ScheduleState.ACTIVE
    last: datetime | None = None
    why: str = ""
    epoch: int = 0
    warned: bool = False


class ScheduleRefused(Enum):
    """Why a schedule is not stored."""

    MANY_OF_PERSON = auto()
    MANY_IN_CHANNEL = auto()
    QUESTION_DELETED = auto()
    """The question was deleted while it was answered."""
    MANY_AT_WORK = auto()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence of a schedule that is due. `time`: its planned time; `missed`: how many before it did not run."""

    schedule: Schedule
    time: datetime
    missed: int = 0


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The person may no longer have this done there. `why`: a sentence for them."""

    why: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to a schedule's person: its place (`incoming`) and text. There is one notice for each `name`."""

    name: str
    incoming: Incoming
    words: str


# The question of an occurrence, with its current readers and its person's current rank.
Admitted: TypeAlias = Incoming | NotAllowed
