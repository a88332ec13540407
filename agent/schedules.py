"""Schedules: reminders and scheduled questions, and when they are due. Pure.

Rules
  A schedule means a time on the clock of its zone: "nine in Berlin" stays nine when the clocks change. A time that the
  clocks skip occurs right after the gap; a time that they show twice occurs once. An hourly rule follows elapsed time.
  Each occurrence is one turn of the ledger, accepted once whichever process finds it due: its id names the schedule and
  its time. A missed occurrence runs late, and says so; of several missed ones only the last runs, for all of them.
  Long work is a question that is asked at once, beside the conversation in which it was requested: a separate turn,
  with higher limits of rounds, time and text than a normal one.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import Enum, StrEnum, auto
from itertools import pairwise
from typing import Final, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from agent.cron_rules import comes_too_often, is_hourly, parse_rule, rule_in_words, single_rules
from agent.incoming import Incoming, platform_of
from agent.memory.audience import Place
from agent.texts import duration_in_words
from agent.turn_kinds import TurnKind
from agent.turn_records import Accepted


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
    """Paused by its person."""
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
    `since` is the first. With `days` 3 only every third day counts, from the day of `since` on.
    """

    zone: str
    at: datetime | None = None
    rule: str = ""
    until: datetime | None = None
    since: datetime | None = None
    weeks: int = 1
    days: int = 1

    def seen_from(self, zone: str) -> "Timing":
        """The timing with `zone` in place of an unknown zone."""
        return replace(self, zone=self.zone or zone)


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`words`: the text to post or to ask. `source`, `channel`: where it is posted, as in `Incoming`; `place`: who
    could read there when it was made. `conversation`: where it was requested; `message`: the platform's id of the
    request, with which it is forgotten. `direct`: it is posted to its person alone. `mention`: the person is mentioned
    when long work is done. `own`: its text is only the person's own.
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


@dataclass(frozen=True, slots=True)
class Schedule:
    """A stored schedule. `next`: when it is due next, None if never; `why`: why it has ended, a sentence or "".

    `last`: its last occurrence that was begun. `epoch` fences the processes that begin occurrences.
    """

    id: int
    definition: NewSchedule
    next: datetime | None
    state: ScheduleState = ScheduleState.ACTIVE
    last: datetime | None = None
    why: str = ""
    epoch: int = 0


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


def source_of(person: str) -> str:
    """The source under which a person's schedules are due: the platform's; for a terminal, the person's id."""
    source = person.rpartition(":")[0]
    return person if source == "terminal" else source


def schedule_id(schedule: int) -> str:
    """The id of a schedule, as a part of other ids: "scheduled:7"."""
    return f"scheduled:{schedule}"


def occurrence_id(schedule: int, time: datetime, kind: TurnKind = TurnKind.SCHEDULED) -> str:
    """The id of an occurrence, for its turn's event and message: "scheduled:7:1795424400"; of long work, or of a notice
    about the occurrence, with ":work" or ":told" behind it, so that each is a turn of its own.
    """
    suffix = {TurnKind.WORK: WORK, TurnKind.NOTICE: NOTICE}.get(kind, "")
    return f"{schedule_id(schedule)}:{int(time.timestamp())}{suffix}"


# Long work: its ids and its limits.

WORK: Final = ":work"  # In the ids of long work's turn and conversation, which are made of those of others
NOTICE: Final = ":told"  # The same of a notice to a schedule's person
_WORK_CONVERSATION: Final = re.compile(r"(?P<asked>.+):work:\d{1,19}", re.ASCII | re.DOTALL)

MAX_AT_WORK: Final = 2  # Of one person at the same time: each is watched, and uses a model that others wait for
WORK_ROUNDS: Final = 60  # Enough to read forty threads one after the other and to summarise them
WORK_TIME: Final = timedelta(minutes=30)  # Longer work is requested in parts; fruitless work ends
# Length of tool results: about 100,000 tokens, which are sent again in each round and which most models can read.
WORK_CHARS: Final = 400_000
# A longer time between two rounds does not count as work: it waited for consent, or for another process.
MAX_ROUND_TIME: Final = timedelta(minutes=2)


def work_conversation(asked_in: str, schedule: int) -> str:
    """The conversation of long work, beside the one of the request: "slack:T1:C1:1712345678.000100:work:7"."""
    return f"{asked_in}{WORK}:{schedule}"


def asked_in(conversation: str) -> str:
    """The conversation where this conversation's long work was requested; any other conversation itself."""
    match = _WORK_CONVERSATION.fullmatch(conversation)
    return conversation if match is None else match["asked"]


def worked_for(round_starts: Sequence[datetime], now: datetime) -> timedelta:
    """How long a turn has worked, given the times when its rounds began."""
    gaps = (min(later - earlier, MAX_ROUND_TIME) for earlier, later in pairwise([*round_starts, now]))
    return sum(gaps, timedelta())


TERMINAL: Final = "terminal"


def lasting_source(source: str, person: str) -> str:
    """The source where a schedule is done. A terminal's source ends with its process, so a schedule is done in any
    terminal of its person, "terminal:ann".
    """
    return person if platform_of(source) == TERMINAL else source


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
        """Pause the schedule, or resume it from its next time after `now`."""
        ...

    async def cancel(self, person: str, id_: int, now: datetime) -> Schedule | None:
        """Delete the schedule and its waiting turns. Returns the deleted schedule."""
        ...

    async def due(self, sources: frozenset[str], now: datetime, limit: int) -> Sequence[Occurrence]:
        """Claim due occurrences of these sources for some seconds, in order of time; no other process gets them."""
        ...

    async def begin(
        self, due: Occurrence, incoming: Incoming, now: datetime, *, reply: str | None = None, seen: str | None = None
    ) -> Accepted:
        """Accept the occurrence as a turn and compute the next time, in one transaction; once for each occurrence.

        `reply`: its text without a model. `seen`: the current digest of its first check.
        """
        ...

    async def skip(
        self, due: Occurrence, now: datetime, *, seen: str | None = None, notice: "Notice | None" = None
    ) -> None:
        """Skip this occurrence. A notice to its person is stored in the same transaction."""
        ...

    async def end(self, due: Occurrence, why: str, now: datetime, *, notice: "Notice | None" = None) -> None:
        """End a schedule that is no longer allowed. `notice`: as for `skip`."""
        ...

    async def put_off(self, due: Occurrence, until: datetime) -> None:
        """Try again then, because it could not be determined now whether it is allowed."""
        ...

    def on_change(self, heard: Callable[[], None]) -> None:
        """Call `heard` when a process may have stored a new time. Calls may be lost or superfluous."""
        ...

    async def by_id(self, id_: int) -> Schedule | None:
        """Return the schedule of any person."""
        ...

    async def first_due(self, sources: frozenset[str]) -> datetime | None:
        """Return when the next occurrence of these sources is due; None if never."""
        ...


# The duration of a rule without an end, so that a forgotten one ends by itself.
DEFAULT_DURATION: Final = timedelta(days=180)
MAX_AHEAD: Final = timedelta(days=5 * 366)  # Into the future: the rules of time zones are hardly known further ahead
MIN_INTERVAL: Final = timedelta(minutes=5)  # Between two times of a rule, on the clock: a chat is no monitor
MAX_WEEKS: Final = 26  # A rule that is rarer than twice a year should be a date
MAX_YEARS: Final = 50  # Into the future: a rule without an occurrence by then never has one
SHOWN_TIMES: Final = 3  # Of a repetition that is confirmed: enough to see what it does


def with_end(timing: Timing, now: datetime) -> Timing:
    """The timing; a rule without an end gets one."""
    if not timing.rule or timing.until is not None:
        return timing
    return replace(timing, until=now + DEFAULT_DURATION)


def next_occurrence(timing: Timing, after: datetime) -> datetime | None:
    """Return the first time after `after` (aware), in UTC; None if there is none.

    Raises ValueError for an invalid rule or an unknown zone.
    """
    if timing.at is not None:
        at = timing.at.astimezone(UTC)
        return at if at > after else None
    zone, start = zone_of(timing.zone), after.replace(microsecond=0)
    if timing.since is not None and timing.since > start:
        start = timing.since.replace(microsecond=0) - timedelta(seconds=1)
    found = [_next_of(timing, rule, after, start, zone) for rule in single_rules(timing.rule)]
    return min((moment for moment in found if moment is not None), default=None)


def _next_of(timing: Timing, rule: str, after: datetime, start: datetime, zone: ZoneInfo) -> datetime | None:
    """The first time of one of the rules. `start`: where to look from, no later than `after` or the first day."""
    by_clock = not is_hourly(rule)
    begin: datetime | None = start.astimezone(zone)
    while begin is not None and begin.year <= start.year + MAX_YEARS:
        times = _times(rule, begin.replace(tzinfo=None, fold=0)) if by_clock else _elapsed(rule, begin)
        begin = None
        for found in times:
            moment = moment_of(found, zone) if by_clock else found.astimezone(UTC)
            if timing.until is not None and moment > timing.until:
                return None
            if (begin := _before_next_period(timing, found.date(), zone)) is not None:
                break
            if moment > after:  # else the clocks repeat this time, or it replaced a time that they skipped
                return moment
    return None


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
    """A note such as "This was due at 09:00; I was away, as for 3 before it."; "" for an occurrence in time."""
    if now - due.time <= LATE_AFTER and not due.missed:
        return ""
    if not (name := due.schedule.definition.timing.seen_from(person_zone).zone):
        return f"This was due {duration_in_words(now - due.time)} ago; I was away."
    zone = zone_of(name)
    time, today = due.time.astimezone(zone), now.astimezone(zone)
    when = f"{time:%H:%M}" if time.date() == today.date() else f"{time:%A} {_day(time)}, {time:%H:%M}"
    many = "more than 500" if due.missed >= MAX_MISSED else f"{due.missed}"
    before = f", as for {many} before it" if due.missed else ""
    return f"This was due at {when}; I was away{before}."


def _before_next_period(timing: Timing, day: date, zone: ZoneInfo) -> datetime | None:
    """The last second before the next week or day on which the rule applies; None if it applies on `day`."""
    first = (timing.since or datetime(1970, 1, 5, 12, tzinfo=UTC)).astimezone(zone).date()
    if timing.days > 1:
        begins = day + timedelta(days=-(day - first).days % timing.days)
    else:
        monday = first - timedelta(days=first.weekday())
        ahead = -((day - monday).days // 7) % timing.weeks
        begins = day - timedelta(days=day.weekday()) + timedelta(weeks=ahead) if ahead else day
    if begins == day:
        return None
    return datetime.combine(begins, time(), zone) - timedelta(seconds=1)


def problem_of(timing: Timing, now: datetime) -> str:
    """Return a sentence that says why this cannot be a schedule and what to do, or "": for a time in the past, an
    unknown zone, or a rule that is invalid, never occurs, or occurs more often than every five minutes.
    """
    try:
        zone_of(timing.zone or ("" if timing.at is None else "UTC"))
    except ValueError as error:
        return str(error)
    if (timing.at is None) == (not timing.rule):
        return "Give either a time or a rule."
    if timing.at is not None:
        return _problem_of_moment(timing.at, timing.zone, now)
    if not 1 <= timing.weeks <= MAX_WEEKS:
        return f"Take every week, or one week of {MAX_WEEKS} at most."
    # Steps of days and of weeks at once would both leave out days, and hardly ever meet.
    if not 1 <= timing.days <= MAX_WEEKS * 7 or timing.weeks > 1 < timing.days:
        return f"Take every day, or one day of {MAX_WEEKS * 7} at most, and then every week."
    try:
        too_often = comes_too_often(timing.rule, MIN_INTERVAL)
        # A rule can be valid and never come, such as the 30th of February.
        comes = next_occurrence(with_end(timing, now), now) is not None
    except ValueError as error:
        return str(error)
    if too_often:
        minutes = MIN_INTERVAL.seconds // 60
        return f"The rule {timing.rule!r} comes too often: leave at least {minutes} minutes between two times."
    if timing.until is None:
        within = f"within {DEFAULT_DURATION.days} days: give another rule, or an end."
        return "" if comes else f"The rule {timing.rule!r} does not come {within}"
    if timing.until > now + MAX_AHEAD:
        return "The end is too far ahead: take one within five years."
    return "" if comes else f"The rule {timing.rule!r} does not come before its end: give another rule, or a later end."


def in_words(timing: Timing, now: datetime) -> str:
    """Describe the timing: "Monday 24 November, 09:00 Europe/Berlin; then every Monday at 09:00, until 24 May 2027".

    "" if there is no next time; "in 20 minutes" if the zone is unknown. Raises ValueError as `next_occurrence`.
    """
    first = next_occurrence(timing, now)
    if first is None:
        return ""
    if not timing.zone:
        return f"in {duration_in_words(first - now)}"
    zone = zone_of(timing.zone)
    today, local = now.astimezone(zone), first.astimezone(zone)
    day = _day(local) if local.year == today.year else f"{_day(local)} {local.year}"
    words = f"{local:%A} {day}, {local:%H:%M} {timing.zone}"
    if not timing.rule:
        return words
    until = with_end(timing, now).until
    end = "" if until is None else f", until {_day(until.astimezone(zone))} {until.astimezone(zone).year}"
    return f"{words}; then {rule_in_words(timing.rule, timing.weeks, timing.days)}{end}"


def following_in_words(timing: Timing, now: datetime, zone: str) -> str:
    """The next times of a repetition on the clock of `zone`: "Mon 30 Nov 08:00, Mon 7 Dec 08:00, Mon 14 Dec 08:00".

    "" for a single time, or one in an unknown zone. Raises ValueError as `next_occurrence`.
    """
    if not timing.rule or not timing.zone:
        return ""
    here, found = zone_of(zone or timing.zone), list[datetime]()
    ends = with_end(timing, now)
    while len(found) < SHOWN_TIMES and (moment := next_occurrence(ends, found[-1] if found else now)) is not None:
        found.append(moment)
    shown = [moment.astimezone(here) for moment in found]
    return ", ".join(f"{at:%a} {at.day} {at:%b} {at:%H:%M}" for at in shown)


def zone_of(name: str) -> ZoneInfo:
    """Return the zone. Raises ValueError with a sentence if it is unknown."""
    unknown = f"The time zone {name[:60]!r} is unknown: give one such as Europe/Berlin."
    if not _ZONE.fullmatch(name):
        raise ValueError(unknown)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(unknown) from error


_ZONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,30}(?:/[A-Za-z0-9_+-]{1,30}){0,2}")


def _problem_of_moment(at: datetime, zone: str, now: datetime) -> str:
    if at.tzinfo is None:
        return "The time needs its distance from UTC."
    if at <= now:
        return (
            f"That time is over: it is {now.astimezone(zone_of(zone or 'UTC')):%A %d %B %Y, %H:%M} {zone or 'UTC'} now."
        )
    return "That time is too far ahead: take one within five years." if at > now + MAX_AHEAD else ""


def _times(rule: str, start: datetime) -> Iterator[datetime]:
    """The times of the rule after `start`: on the clock if it has no zone. Ends after fifty years without any."""
    try:
        yield from parse_rule(rule, start)
    except OverflowError:  # the year 10000
        return


def _elapsed(rule: str, begin: datetime) -> Iterator[datetime]:
    """The times of an hourly rule after `begin`, by elapsed time: a time that the clocks show twice occurs twice, one
    that they skip does not occur.
    """
    zone, at = begin.tzinfo, begin.astimezone(UTC)
    while (offset := (at + _SECOND).astimezone(zone).utcoffset()) is not None:
        for found in _times(rule, (at + offset).replace(tzinfo=None)):
            moment = (found - offset).replace(tzinfo=UTC)
            samples = (*(at + timedelta(days=n) for n in range(1, (moment - at).days + 1)), moment)
            changed = next((sample for sample in samples if sample.astimezone(zone).utcoffset() != offset), None)
            if changed is not None:
                at = _clock_change(max(at + _SECOND, changed - timedelta(days=1)), changed, zone) - _SECOND
                break
            yield moment.astimezone(zone)
            at = moment
        else:
            return


_SECOND: Final = timedelta(seconds=1)


def moment_of(clock: datetime, zone: ZoneInfo) -> datetime:
    """The first time when the clocks of the zone show `clock`, in UTC; if they skip it, the end of that gap."""
    late = clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if late.astimezone(zone).replace(tzinfo=None) == clock:
        return late
    early = clock.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _clock_change(early, late, zone)


def _clock_change(early: datetime, late: datetime, zone: tzinfo | None) -> datetime:
    """The time of the clock change that is between these times."""
    before = early.astimezone(zone).utcoffset()
    while late - early > _SECOND:
        middle = (early + (late - early) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late


def _day(local: datetime) -> str:
    return f"{local.day} {local:%B}"
