"""When somebody wants something done, read in their words: "every Monday at 8", "morgen um neun", 20分後に. Pure.

Rules
  Time words stand at the beginning, at the end, or at both; what is between them is what is to be done.
  What may mean two times is given back as a choice, spelled so that it means one; nothing is guessed.
  An hour of a clock with twelve of them ("at 3") means two times; from 7 to 12 on another day than today, or again and
  again, it is in the morning or at noon.
Each language is read by itself, and the one of which most was understood counts.
"""

import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from agent.schedules import Timing, moment_of
from bot.schedule_words import (
    ClockTime,
    EitherDate,
    InDays,
    OnDate,
    OnMonthday,
    OnNthWeekday,
    OnWeekdays,
    Repetition,
    TimeAfter,
    TimeItem,
    TimeReader,
    TimeValue,
    is_spaceless,
    languages,
    tokens_of,
)

MAX_CHARS: Final = 2_000  # Of what is to be said or asked, with its time
MAX_CHOICES: Final = 4
EVERY_DAY: Final = "* * *"  # Of a rule its days of months, months and days of weeks
MAX_TOKENS: Final = 40  # Of the time words at the end; those of eight items are fewer
# What is offered where no hour was said.
_HOURS: Final = {
    "": (9, 12, 17),
    "morning": (8, 9, 10),
    "afternoon": (14, 15, 16),
    "evening": (18, 19, 20),
    "night": (21, 22, 23),
}


# --------------------------------------------------------------------------------------------------
# What is read.


@dataclass(frozen=True, slots=True)
class WhenChoice:
    """One of the times that may be meant: the moment, or the hour of what comes again; and the words that mean it."""

    time: datetime | time
    words: str


@dataclass(frozen=True, slots=True)
class WhenRead:
    """`words`: what is to be said or asked. `direct`: to whom, if that was said: its person alone, or everybody there.

    `private`: it was asked for in so many words.
    """

    timing: Timing
    words: str
    direct: bool | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class WhenUnclear:
    """Which of these is meant? `passed`: what was said is over for today."""

    choices: tuple[WhenChoice, ...]
    passed: bool = False


When: TypeAlias = WhenRead | WhenUnclear | None  # None: no time is to be found in it, or none that can be kept


# --------------------------------------------------------------------------------------------------
# When that is.


def read_when(text: str, now: datetime, zone: ZoneInfo) -> When:
    """When it is wanted, said at `now` (aware) by somebody in `zone`."""
    text = unicodedata.normalize("NFC", " ".join(text[:MAX_CHARS].split()))
    tokens = tokens_of(text)
    found = [_read(TimeReader(name, lexicon, tokens, text)) for name, lexicon in languages().items()]
    best = max(found, key=lambda one: one.weight + (one.spaceless and is_spaceless(text)))
    return _Meaning(best, text, now.astimezone(zone), zone).when() if best.items else None


@dataclass(frozen=True, slots=True)
class _Found:
    """Items by their roles, with what each takes of the text; the words around them; how much was understood."""

    items: Mapping[str, TimeValue] = field(default_factory=dict[str, TimeValue])
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    words: str = ""
    direct: bool | None = None
    private: bool = False
    weight: int = 0
    spaceless: bool = False


def _read(reader: TimeReader) -> _Found:
    tokens, end = reader.tokens, reader.end()
    first, direct, private = 0, None, False
    while lead := reader.take(first, "me", "here", "private"):
        direct, private, first = lead[0] != "here", private or lead[0] == "private", lead[1]
    items, begun = reader.run(first)
    last, behind = end, begun
    if not _is_whole(items):
        last, items = _at_the_end(reader, behind, end, items)
    if items or direct is not None:
        behind = min(_after_fillers(reader, behind, last), last)
    for at in {behind, last}:
        if (said := reader.take(at, "private")) and (at == behind or said[1] == end):
            private, direct = True, True
            behind = said[1] if at == behind else behind
    words = reader.text[tokens[behind].start : tokens[last - 1].end] if behind < last else ""
    if last == end and behind < last:
        words = reader.text[tokens[behind].start :]
    spans = {one.role: (tokens[one.start].start, tokens[one.end - 1].end) for one in items}
    for one, other in pairwise(items):
        if one.end < other.start and (other.end <= begun or one.start >= last):  # with the link between them
            spans[one.role] = spans[one.role][0], tokens[other.start - 1].end
    taken = sum(tokens[n].end - tokens[n].start for one in items for n in range(one.start, one.end))
    taken += sum(token.end - token.start for token in tokens[:first])
    return _Found(
        {one.role: one.value for one in items}, spans, words.strip(), direct, private, taken, reader.language == "ja"
    )


def _after_fillers(reader: TimeReader, at: int, last: int) -> int:
    """Behind "me" and "to" and marks between a time and what is to be done."""
    for category in ("me", "to"):
        while at < last and reader.is_text(at, *":,-–、"):
            at += 1
        at = reader.skip(at, category)
    while at < last and reader.is_text(at, *":,-–、"):
        at += 1
    return at


def _at_the_end(reader: TimeReader, begin: int, end: int, items: list[TimeItem]) -> tuple[int, list[TimeItem]]:
    """Where the time words at the end begin, and all items, if they say nothing twice."""
    for at in range(max(begin, end - MAX_TOKENS), end):
        found, behind = reader.run(at, items)
        if behind >= end and len(found) > len(items):
            return at, found
    return end, items


def _is_whole(items: Sequence[TimeItem]) -> bool:
    """Whether nothing is missing of the time, so that words at the end are what is to be done."""
    roles = {one.role for one in items}
    return "after" in roles or {"day", "clock"} <= roles


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What was read, seen from a moment: `now` as the clocks of `zone` show it."""

    found: _Found
    text: str
    now: datetime
    zone: ZoneInfo

    def when(self) -> When:
        try:
            return self._again() if "every" in self.found.items else self._once()
        except (ValueError, OverflowError):
            return None

    def _read(self, timing: Timing) -> When:
        said = self.found
        return WhenRead(timing, said.words, said.direct, said.private)

    def _once(self) -> When:
        items, now = self.found.items, self.now
        after, clock = items.get("after"), items.get("clock")
        day = items.get("day")
        if isinstance(after, TimeAfter):
            if after.minutes and not (after.days or after.months):
                moment = now.astimezone(UTC) + timedelta(minutes=after.minutes)
                return self._read(Timing(self.zone.key, moment.replace(microsecond=0)))
            dates = [_months_on(now.date(), after.months) + timedelta(days=after.days)]
            if clock is None and "part" not in items:
                return self._kept(dates[0], now.time().replace(microsecond=0))
        elif day is None:
            dates = []
        else:
            dates = list(_dates(day, now.date()))
        if clock is None and not dates:
            return None
        hours = self._hours(clock)
        if not dates:
            return self._today(hours, isinstance(clock, ClockTime) and clock.spoken)
        today, spoken = now.date(), isinstance(clock, ClockTime) and clock.spoken and clock.hour > 6
        moments = [(on, hour) for on in dates for hour in (hours if on == today or not spoken else hours[:1])]
        ahead = [one for one in moments if self._moment(*one) > now]
        if not ahead and isinstance(day, OnDate) and day.year is not None:
            return self._kept(*moments[0])
        if not ahead:
            return self._unclear([(today + timedelta(days=1), hour) for hour in hours], passed=True)
        if isinstance(clock, ClockTime) and clock.midnight:
            ahead = [*ahead, *((on + timedelta(days=1), hour) for on, hour in ahead)]
        return self._kept(*ahead[0]) if len(ahead) == 1 and clock is not None else self._unclear(ahead)

    def _today(self, hours: Sequence[time], spoken: bool) -> When:  # noqa: FBT001 -- of the clock
        """An hour alone."""
        today, tomorrow = self.now.date(), self.now.date() + timedelta(days=1)
        ahead = [(today, hour) for hour in hours if self._moment(today, hour) > self.now]
        over = [(tomorrow, hour) for hour in hours if (today, hour) not in ahead]
        clock = self.found.items.get("clock")
        if isinstance(clock, ClockTime) and clock.midnight:
            return self._kept(tomorrow, hours[0])
        if not ahead:
            return self._unclear(over if not spoken or hours[0].hour <= 6 else over[:1], passed=True)
        if len(ahead) == 1 and (not over or hours[0].hour <= 6):
            return self._kept(*ahead[0])
        return self._unclear([*ahead, *over])

    def _hours(self, clock: object) -> tuple[time, ...]:
        """The times of the day that may be meant; the likeliest first."""
        part = self.found.items.get("part")
        named = part if isinstance(part, str) else ""
        if not isinstance(clock, ClockTime):
            return tuple(time(hour) for hour in _HOURS[named])
        hour, part = clock.hour, clock.part or named
        both = (hour, hour + 12) if clock.spoken and hour < 12 else (hour,)
        match part:
            case "am" | "morning" if hour <= 12:
                both = (hour % 12 if part == "am" else hour,)
            case "pm" | "afternoon" | "evening" if hour <= 12:
                both = (hour % 12 + 12,)
            case "night" if hour <= 12:
                both = (hour + 12 if 6 <= hour < 12 else hour % 12,)
            case _:
                pass
        return tuple(time(one, clock.minute) for one in both)

    def _again(self) -> When:
        items, now = self.found.items, self.now
        every, clock, day = items["every"], items.get("clock"), items.get("day")
        if not isinstance(every, Repetition):
            return None
        until = self._until()
        if isinstance(until, WhenUnclear):
            return until
        if every.unit in {"minute", "hour"}:
            rule = _rule_of_hours(every, clock.minute if isinstance(clock, ClockTime) else 0)
            return self._read(Timing(self.zone.key, rule=rule, until=until)) if rule and day is None else None
        hours = self._hours(clock)
        first = hours[0]
        if clock is None or (len(hours) > 1 and first.hour <= 6):
            return self._unclear([(None, hour) for hour in hours])
        days = _rule_of_days(every, day, now.date())
        if days is None:
            return None
        timing = Timing(self.zone.key, rule=f"{first.minute} {first.hour} {days}", until=until)
        weeks = every.count if every.unit == "week" else 1
        apart = every.count if every.unit == "day" and days == EVERY_DAY else 1
        counts = weeks > 1 or apart > 1 or isinstance(day, InDays | OnDate)
        since = self._since(every, day, first) if counts else None
        return self._read(replace(timing, weeks=weeks, days=apart, since=since))

    def _since(self, every: Repetition, day: object, hour: time) -> datetime | None:
        """When what comes again begins: on its day, or in the week in which it comes first."""
        if every.unit in {"month", "year"}:
            return None
        today = self.now.date()
        if isinstance(day, InDays | OnDate):
            return self._moment(next(iter(_dates(day, today))), time())
        days = every.weekdays or (day.days if isinstance(day, OnWeekdays) else (today.weekday(),))
        days = tuple(range(7)) if every.unit == "day" else days
        for ahead in range(8):
            on = today + timedelta(days=ahead)
            if on.weekday() in days and (moment := self._moment(on, hour)) > self.now:
                return moment
        return None

    def _until(self) -> datetime | WhenUnclear | None:
        day = self.found.items.get("until")
        if day is None:
            return None
        dates = list(_dates(day, self.now.date()))
        if isinstance(day, OnWeekdays) and len(dates) > 1:
            dates = dates[-1:]
        if len(dates) > 1:
            start, end = self.found.spans["until"]
            spelled = {on: f"{self.text[:start]}until {on}{self.text[end:]}" for on in dates}
            return WhenUnclear(tuple(WhenChoice(self._moment(on, time()), words) for on, words in spelled.items()))
        return self._moment(dates[0] + timedelta(days=1), time()) - timedelta(seconds=1) if dates else None

    def _moment(self, on: date, hour: time) -> datetime:
        return moment_of(datetime.combine(on, hour), self.zone)

    def _kept(self, on: date, hour: time) -> When:
        return self._read(Timing(self.zone.key, self._moment(on, hour)))

    def _unclear(self, meant: Sequence[tuple[date | None, time]], *, passed: bool = False) -> WhenUnclear:
        choices = sorted({self._choice(on, hour) for on, hour in meant}, key=lambda one: str(one.time))
        return WhenUnclear(tuple(choices[:MAX_CHOICES]), passed)

    def _choice(self, on: date | None, hour: time) -> WhenChoice:
        """With words in which it stands in place of what was said."""
        spans = self.found.spans
        written = f"{hour:%H:%M}" if on is None else f"{on} {hour:%H:%M}"
        roles = ("clock", "part") if on is None else ("day", "clock", "part", "after")
        places = sorted({spans[role] for role in roles if role in spans and spans[role] != spans.get("every")})
        if not places:
            end = spans["every"][1] if "every" in spans else 0
            return WhenChoice(hour, f"{self.text[:end]} {written}{self.text[end:]}".strip())
        words, behind = "", 0
        for n, (start, end) in enumerate(places):
            words += self.text[behind:start] + (written if n == 0 else "")
            behind = max(behind, end)
        said = " ".join((words + self.text[behind:]).split())
        return WhenChoice(hour if on is None else self._moment(on, hour), said)


def _dates(day: object, today: date) -> Iterator[date]:
    """The days that may be meant, from today on."""
    match day:
        case InDays(days):
            yield today + timedelta(days=days)
        case OnWeekdays((weekday,), week=True):
            yield today + timedelta(days=7 - today.weekday() + weekday)
        case OnWeekdays((weekday,), coming):
            ahead = (weekday - today.weekday()) % 7
            if ahead or not coming:
                yield today + timedelta(days=ahead)
            if not ahead or (coming and today.weekday() + ahead <= 6):
                yield today + timedelta(days=ahead + 7)
        case OnDate(month, number, year):
            years = [year] if year is not None else range(today.year, today.year + 9)
            fitting = [date(one, month, number) for one in years if number <= monthrange(one, month)[1]]
            yield next(one for one in fitting if year is not None or one >= today)
        case EitherDate(dates):
            for one in dates:
                yield from _dates(one, today)
        case OnMonthday(number):
            first = today.replace(day=1)
            lasts = {one: monthrange(one.year, one.month)[1] for one in (_months_on(first, n) for n in range(13))}
            on = [one.replace(day=last if number < 0 else number) for one, last in lasts.items() if number <= last]
            yield next(one for one in on if one >= today)
        case OnNthWeekday(nth, weekday):
            months = [_months_on(today.replace(day=1), n) for n in range(13)]
            yield next(one for month in months if (one := _nth_of(month, nth, weekday)) >= today)
        case _:
            return


def _nth_of(month: date, nth: int, weekday: int) -> date:
    days = [month.replace(day=n) for n in range(1, monthrange(month.year, month.month)[1] + 1)]
    fitting = [day for day in days if day.weekday() == weekday]
    return fitting[nth - 1 if nth > 0 else nth]


def _months_on(day: date, months: int) -> date:
    """The same day some months later, or the last one there is."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def _rule_of_hours(every: Repetition, minute: int) -> str:
    """Every so many minutes or hours, where they come at the same times of each day; else ""."""
    if every.unit == "minute":
        whole = 0 < every.count < 60 and 60 % every.count == 0
        return f"*/{every.count} * * * *" if whole else "0 * * * *" if every.count == 60 else ""
    if every.count == 1:
        return f"{minute} * * * *"
    return f"{minute} */{every.count} * * *" if 0 < every.count < 24 and 24 % every.count == 0 else ""


def _cron_days(weekdays: Sequence[int]) -> str:
    """Cron counts from Sunday."""
    return "1-5" if tuple(weekdays) == (0, 1, 2, 3, 4) else ",".join(str((day + 1) % 7) for day in weekdays)


def _rule_of_days(every: Repetition, day: object, today: date) -> str | None:
    """The last three fields of its rule: days of months, months, days of weeks. None if it can be none."""
    match every, day:
        case Repetition("day", 7), None:
            return f"* * {_cron_days((today.weekday(),))}"
        case Repetition("day", _), None | InDays() | OnDate():
            return EVERY_DAY
        case Repetition("week", _, ()), OnWeekdays(days):
            return f"* * {_cron_days(days)}"
        case Repetition("week", _, ()), None:
            return f"* * {_cron_days((today.weekday(),))}"
        case Repetition("week", _, weekdays), None | InDays() | OnDate():
            return f"* * {_cron_days(weekdays)}" if weekdays else None
        case Repetition("month", count), None | OnMonthday() | OnNthWeekday():
            months = sorted((today.month - 1 + n) % 12 + 1 for n in range(0, 12, count)) if 12 % count == 0 else []
            named = "*" if count == 1 else ",".join(str(month) for month in months)
            if isinstance(day, OnNthWeekday):
                number = (day.weekday + 1) % 7
                return f"* {named} {number}{'L' if day.nth < 0 else f'#{day.nth}'}" if months else None
            number = "L" if isinstance(day, OnMonthday) and day.day < 0 else str(day.day if day else today.day)
            return f"{number} {named} *" if months else None
        case Repetition("year", 1), None | OnDate():
            on = (day.month, day.day) if day else (today.month, today.day)
            return f"{on[1]} {on[0]} *"
        case _:
            return None
