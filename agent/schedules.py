"""What is done at a time: reminders and scheduled questions, when they are due, and when next. Pure.

Rules
  A schedule means a time on the clock of its zone: "nine in Berlin" stays nine when the clocks change. A time that the
  clocks leave out comes at once after the gap; one that they show twice comes once. A rule for every hour goes by the
  time that passes.
  Each occurrence is one turn of the ledger, taken in once whoever finds it due: it is named by the schedule and its
  time. What was missed is done late, and says so; of several that were missed the last one is done, for all of them.
  Work is a question that is asked at once, beside the conversation in which somebody asked for it: a turn of its own,
  with more rounds, time and text than theirs, and with an end to each.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import Enum, StrEnum, auto
from itertools import pairwise
from typing import Final, Protocol, TypeAlias
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from agent.memory.audience import Place
from agent.records import SCHEDULED, Accepted, Incoming, platform_of
from agent.texts import duration_in_words, rule_in_words


class ScheduleKind(StrEnum):
    REMINDER = "reminder"
    """Posts its words; no model is asked."""
    QUESTION = "question"
    """Is asked anew at each time, as the person who made it; may answer nothing."""
    WORK = "work"
    """Is asked once, at once, and takes minutes."""


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """By its person."""
    ENDED = "ended"
    """It has no next time, or may not be done any more: `why` says so. It is shown for a while, and then goes."""
    WORKING = "working"
    """Of work: its turn has begun, and has not ended. No row says so; its turn does."""


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

    `zone`: an IANA name ("Europe/Berlin"); "" of a moment of which nobody knows where its person is. `since` and
    `weeks` are of a rule: nothing of it comes before `since`, and with `weeks` 2 only what falls into every second week
    does; weeks begin on Monday in `zone`, and that of `since` is the first. With `days` 3 only what falls on every
    third day does, from that of `since` on.
    """

    zone: str
    at: datetime | None = None
    rule: str = ""
    until: datetime | None = None
    since: datetime | None = None
    weeks: int = 1
    days: int = 1

    def seen_from(self, zone: str) -> "Timing":
        """As its person's clock shows it, if that is known by now."""
        return replace(self, zone=self.zone or zone)


@dataclass(frozen=True, slots=True)
class NewSchedule:
    """`words`: what to say, or to ask. `source`, `channel`: where it is posted, as of an `Incoming`; `place`: who reads
    there, when it was made. `conversation` is where it was asked for and `message` the platform's id of the message,
    with which it falls; `direct`: it is posted to its person alone. `mention`: they are called at the end of work.
    `own`: its words are theirs, and nobody else's.
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
    QUESTION_DELETED = auto()
    """While it was being answered."""
    MANY_AT_WORK = auto()


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A schedule that is due: `time` is when it should have been, `missed` how many before that one were not done."""

    schedule: Schedule
    time: datetime
    missed: int = 0


def source_of(person: str) -> str:
    """By which the schedules of somebody are found due: their platform's; at a terminal only they are reminded."""
    source = person.rpartition(":")[0]
    return person if source == "terminal" else source


def occurrence_id(schedule: int, time: datetime) -> str:
    """Names one occurrence, as the event and as the message that its turn takes in: "scheduled:7:1795424400"."""
    return f"{SCHEDULED}{schedule}:{int(time.timestamp())}"


# Long work: its names, and its bounds.

WORK: Final = ":work"  # The name of an occurrence ends with this that is work
# And so does that of what its person is told about a schedule, in the words that the question has.
TELLS: Final = ":told"
_BESIDE: Final = re.compile(r"(?P<asked>.+):work:\d{1,19}", re.ASCII | re.DOTALL)

MAX_AT_WORK: Final = 2  # Of one person, at once: each of them is watched, and takes a model that others wait for
WORK_ROUNDS: Final = 60  # Forty threads, read one after the other, and what is made of them
WORK_TIME: Final = timedelta(minutes=30)  # What takes longer is asked for in parts; what leads nowhere has an end
# Of what tools brought: about 100,000 tokens, which are sent again in each round and which most models hold.
WORK_CHARS: Final = 400_000
# More between two rounds is no work: it waited for its person's word, or for another process.
MOST_OF_A_ROUND: Final = timedelta(minutes=2)


def work_conversation(asked_in: str, schedule: int) -> str:
    """In which work runs, beside the conversation where it was asked for: "slack:T1:C1:1712345678.000100:work:7"."""
    return f"{asked_in}{WORK}:{schedule}"


def asked_in(conversation: str) -> str:
    """The conversation where the work was asked for that runs in this one; of any other, itself."""
    found = _BESIDE.fullmatch(conversation)
    return conversation if found is None else found["asked"]


def is_work(event_id: str) -> bool:
    return event_id.startswith(SCHEDULED) and event_id.endswith(WORK)


def schedule_of(event_id: str) -> int:
    """The number of the schedule of which this is an occurrence; 0 for none."""
    number = event_id.removeprefix(SCHEDULED).partition(":")[0]
    return int(number) if event_id.startswith(SCHEDULED) and number.isdecimal() else 0


def worked_for(begun: Sequence[datetime], now: datetime) -> timedelta:
    """How long a turn was at work whose rounds began then."""
    gaps = (min(later - earlier, MOST_OF_A_ROUND) for earlier, later in pairwise([*begun, now]))
    return sum(gaps, timedelta())


TERMINAL: Final = "terminal"


def lasting_source(source: str, person: str) -> str:
    """Where a schedule is done. The source of a terminal ends with its process: it is done at any that its person
    opens, "terminal:ann".
    """
    return person if platform_of(source) == TERMINAL else source


@dataclass(frozen=True, slots=True)
class NotAllowed:
    """The person may not have this done there any more. `why`: the sentence that they are told."""

    why: str


@dataclass(frozen=True, slots=True)
class Notice:
    """What the person of a schedule is told about it: where, and in which words. Of one name they are told once."""

    name: str
    incoming: Incoming
    words: str


# The question that an occurrence is, with who reads it there and what its person may do now.
Admitted: TypeAlias = Incoming | NotAllowed


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

    async def cancel(self, person: str, id_: int, now: datetime) -> Schedule | None:
        """It is gone, and so is what waits of it; the schedule that it was."""
        ...

    async def due(self, sources: frozenset[str], now: datetime, limit: int) -> Sequence[Occurrence]:
        """Take what is due there, what is due first first, for some seconds: nobody else is given it meanwhile."""
        ...

    async def begin(
        self, due: Occurrence, incoming: Incoming, now: datetime, *, reply: str | None = None, seen: str | None = None
    ) -> Accepted:
        """Take the occurrence in as a turn of its own name, and reckon out the next one, in one transaction; once.

        `reply`: what it says without a model. `seen`: what its first check says now.
        """
        ...

    async def skip(
        self, due: Occurrence, now: datetime, *, seen: str | None = None, notice: "Notice | None" = None
    ) -> None:
        """Nothing is to be done this time. With a notice its person is told, in the same transaction."""
        ...

    async def end(self, due: Occurrence, why: str, now: datetime, *, notice: "Notice | None" = None) -> None:
        """It may not be done any more. `notice`: as of `skip`."""
        ...

    async def put_off(self, due: Occurrence, until: datetime) -> None:
        """Try again then: nobody could say now whether it may be done."""
        ...

    def on_change(self, heard: Callable[[], None]) -> None:
        """Call this when there may be a new time, whichever process has kept it. It may be lost, or come too often."""
        ...

    async def by_id(self, id_: int) -> Schedule | None:
        """Whosoever it is."""
        ...

    async def first_due(self, sources: frozenset[str]) -> datetime | None:
        """When there is something to be looked at there again; None if never."""
        ...


# How long a rule goes on that was given no end: what nobody reads any more ends by itself.
ENDS_AFTER: Final = timedelta(days=180)
FARTHEST: Final = timedelta(days=5 * 366)  # Ahead: the clocks' rules are hardly known so far
APART: Final = timedelta(minutes=5)  # Of a rule, on the clock: a chat is no monitor
MAX_WEEKS: Final = 26  # Rarer than twice a year is a date
MOST_YEARS: Final = 50  # Ahead: what has not come by then never does
MAX_RULE_CHARS: Final = 100  # Longer than any rule that means something; reading one takes time by its length


def with_end(timing: Timing, now: datetime) -> Timing:
    """The same; a rule without an end gets one."""
    if not timing.rule or timing.until is not None:
        return timing
    return replace(timing, until=now + ENDS_AFTER)


def next_occurrence(timing: Timing, after: datetime) -> datetime | None:
    """The first time after that moment (aware), in UTC; None if there is none.

    Raises ValueError for a rule that is none, or for a zone that nobody knows.
    """
    if timing.at is not None:
        at = timing.at.astimezone(UTC)
        return at if at > after else None
    zone, start = zone_of(timing.zone), after.replace(microsecond=0)
    if timing.since is not None and timing.since > start:
        start = timing.since.replace(microsecond=0) - timedelta(seconds=1)
    by_clock = not _is_hourly(timing.rule)
    begin: datetime | None = start.astimezone(zone)
    while begin is not None and begin.year <= start.year + MOST_YEARS:
        times = _times(timing.rule, begin.replace(tzinfo=None, fold=0)) if by_clock else _passing(timing.rule, begin)
        begin = None
        for found in times:
            moment = moment_of(found, zone) if by_clock else found.astimezone(UTC)
            if timing.until is not None and moment > timing.until:
                return None
            if (begin := _before_next(timing, found.date(), zone)) is not None:
                break
            if moment > after:  # else the clocks show this time once more, or it came in place of what they left out
                return moment
    return None


MAX_MISSED: Final = 500  # So many are counted of those that were missed: a week of one for every 20 minutes


def last_until(timing: Timing, first: datetime, now: datetime) -> tuple[datetime, int]:
    """Of the times from `first`, which is one, until `now` the last one, and how many come before it (MAX_MISSED at
    most). Raises as `next_occurrence`.
    """
    last, before = first, 0
    while before < MAX_MISSED:
        later = next_occurrence(timing, last)
        if later is None or later > now:
            return last, before
        last, before = later, before + 1
    window = APART
    while (found := next_occurrence(timing, max(last, now - window))) is None or found > now:
        if now - window <= last:
            return last, before
        window *= 2
    while found is not None and found <= now:
        last, found = found, next_occurrence(timing, found)
    return last, before


LATE: Final = timedelta(minutes=2)  # Later than that says so: a start, or a platform that was slow, takes no longer
# A question is asked as late as that, if another time of it comes; nobody wants this morning's news tonight.
GRACE: Final = timedelta(hours=12)


def is_stale(due: Occurrence, now: datetime) -> bool:
    """Whether it is too late for this time: a question, of which another one comes. Reminders always come."""
    if due.schedule.made.kind is ScheduleKind.REMINDER:
        return False
    later = next_occurrence(due.schedule.made.timing, due.time)
    return later is not None and now - due.time > min(GRACE, (later - due.time) / 2)


def late_note(due: Occurrence, now: datetime, person_zone: str = "") -> str:
    """ "This was due at 09:00; I was away, 3 more times before." "" for what comes in time."""
    if now - due.time <= LATE and not due.missed:
        return ""
    if not (name := due.schedule.made.timing.seen_from(person_zone).zone):
        return f"This was due {duration_in_words(now - due.time)} ago; I was away."
    zone = zone_of(name)
    time, today = due.time.astimezone(zone), now.astimezone(zone)
    when = f"{time:%H:%M}" if time.date() == today.date() else f"{time:%A} {_day(time)}, {time:%H:%M}"
    many = "more than 500" if due.missed >= MAX_MISSED else f"{due.missed}"
    before = f", as for {many} before it" if due.missed else ""
    return f"This was due at {when}; I was away{before}."


def _before_next(timing: Timing, day: date, zone: ZoneInfo) -> datetime | None:
    """The last moment before the next week, or day, on which the rule holds; None if it does on that day."""
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
    """Why this cannot be a schedule, a sentence that says what to do; "" if it can: the past, an unknown zone, a rule
    that is none, comes never or more often than every five minutes.
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
    if not 1 <= timing.days <= MAX_WEEKS * 7 or timing.weeks > 1 < timing.days:
        return f"Take every day, or one day of {MAX_WEEKS * 7} at most, and then every week."
    try:
        too_often = _too_often(timing.rule)
        comes = next_occurrence(with_end(timing, now), now) is not None
    except ValueError as error:
        return str(error)
    if too_often:
        return (
            f"The rule {timing.rule!r} comes too often: leave at least {APART.seconds // 60} minutes between two times."
        )
    if timing.until is None:
        within = f"within {ENDS_AFTER.days} days: give another rule, or an end."
        return "" if comes else f"The rule {timing.rule!r} does not come {within}"
    if timing.until > now + FARTHEST:
        return "The end is too far ahead: take one within five years."
    return "" if comes else f"The rule {timing.rule!r} does not come before its end: give another rule, or a later end."


def in_words(timing: Timing, now: datetime) -> str:
    """ "Monday 24 November, 09:00 Europe/Berlin; then every Monday at 09:00, until 24 May 2027". Raises ValueError as
    `next_occurrence`; "" for what comes no more; "in 20 minutes" where nobody knows the zone.
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
    explained = _parsed(timing.rule, datetime(2000, 1, 1)).explain()  # noqa: DTZ001 -- on no clock: only its fields
    return f"{words}; then {rule_in_words(timing.rule, explained, timing.weeks, timing.days)}{end}"


def zone_of(name: str) -> ZoneInfo:
    """Raises ValueError with a sentence for one that nobody knows."""
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
    return "That time is too far ahead: take one within five years." if at > now + FARTHEST else ""


def _parsed(rule: str, start: datetime) -> CronSim:
    if len(rule) > MAX_RULE_CHARS or len(rule.split()) != 5 or not rule.isascii():
        raise ValueError(_no_rule(rule))
    try:
        return CronSim(rule, start)
    except (CronSimError, AssertionError, TypeError, ValueError) as error:
        raise ValueError(_no_rule(rule)) from error


def _no_rule(rule: str) -> str:
    return (
        f"{rule[:MAX_RULE_CHARS]!r} is no rule: give five fields as of cron (minute, hour, day, month, weekday), "
        "such as '0 9 * * 1' for Mondays at nine."
    )


def _times(rule: str, start: datetime) -> Iterator[datetime]:
    """After `start`: on the clock if it has no zone. Ends after fifty years without any."""
    try:
        yield from _parsed(rule, start)
    except OverflowError:  # the year 10000
        return


def _passing(rule: str, begin: datetime) -> Iterator[datetime]:
    """When the clocks of its zone show one, after `begin`: twice where they are set back, and as they are set ahead."""
    zone, at = begin.tzinfo, begin.astimezone(UTC)
    while (ahead := (at + _SECOND).astimezone(zone).utcoffset()) is not None:
        for found in _times(rule, (at + ahead).replace(tzinfo=None)):
            moment = (found - ahead).replace(tzinfo=UTC)
            looks = (*(at + timedelta(days=n) for n in range(1, (moment - at).days + 1)), moment)
            changed = next((one for one in looks if one.astimezone(zone).utcoffset() != ahead), None)
            if changed is not None:
                at = _change(max(at + _SECOND, changed - timedelta(days=1)), changed, zone) - _SECOND
                break
            yield moment.astimezone(zone)
            at = moment
        else:
            return


def _is_hourly(rule: str) -> bool:
    return rule.split()[1:2] == ["*"]


_SECOND: Final = timedelta(seconds=1)


def moment_of(clock: datetime, zone: ZoneInfo) -> datetime:
    """When the clocks of the zone show this (first), in UTC; where they leave it out, the end of that gap."""
    late = clock.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if late.astimezone(zone).replace(tzinfo=None) == clock:
        return late
    early = clock.replace(tzinfo=zone, fold=1).astimezone(UTC)
    return _change(early, late, zone)


def _change(early: datetime, late: datetime, zone: tzinfo | None) -> datetime:
    """When the clocks change, which they do between these."""
    before = early.astimezone(zone).utcoffset()
    while late - early > _SECOND:
        middle = (early + (late - early) / 2).replace(microsecond=0)
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late


def _too_often(rule: str) -> bool:
    parsed = _parsed(rule, datetime(2000, 1, 1))  # noqa: DTZ001 -- on no clock: its fields alone are read
    minutes, hours = sorted(parsed.minutes), parsed.hours
    apart = int(APART.total_seconds() // 60)
    if any(later - one < apart for one, later in pairwise(minutes)):
        return True
    on_and_on = any((hour + 1) % 24 in hours for hour in hours)
    return on_and_on and minutes[0] + 60 - minutes[-1] < apart


def _day(local: datetime) -> str:
    return f"{local.day} {local:%B}"
