"""Reads when something is to be done from a person's words: "every Monday at 8", "morgen um neun", 20分後に. Pure.

Rules
  Time words are at the beginning, at the end, or at both; the text between them says what is to be done.
  An ambiguous time is returned as a choice, each in words that are unambiguous; nothing is guessed.
  An hour on a twelve-hour clock ("at 3") is ambiguous. From 7 to 12 it means the morning or noon, if it is on another
  day than today, or repeated.
Each language is read by itself, and the one that understood most of the text counts.
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

MAX_CHARS: Final = 2_000  # Of a reminder or a question, with its time
MAX_CHOICES: Final = 4
EVERY_DAY: Final = "* * *"  # The fields of a cron rule for days of months, months and days of weeks
MAX_TOKENS: Final = 40  # Of the time words at the end; those of eight items are fewer
# The hours offered when none was given.
_HOURS: Final = {
    "": (9, 12, 17),
    "morning": (8, 9, 10),
    "afternoon": (14, 15, 16),
    "evening": (18, 19, 20),
    "night": (21, 22, 23),
}


# --------------------------------------------------------------------------------------------------
# Results.


@dataclass(frozen=True, slots=True)
class WhenChoice:
    """One of several possible times: a moment, or the hour of a repetition; and words that mean only this one."""

    time: datetime | time
    words: str


@dataclass(frozen=True, slots=True)
class WhenRead:
    """`words`: what is to be said or asked. `direct`: True for the person alone, False for everyone there, None if that
    was not said. `private`: privacy was asked for explicitly.
    """

    timing: Timing
    words: str
    direct: bool | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class WhenUnclear:
    """The time is ambiguous. `passed`: the time that was given is over for today."""

    choices: tuple[WhenChoice, ...]
    passed: bool = False


When: TypeAlias = WhenRead | WhenUnclear | None  # None: no time was found, or none that can be stored


# --------------------------------------------------------------------------------------------------
# Reading.


def read_when(text: str, now: datetime, zone: ZoneInfo) -> When:
    """Return when it is wanted, if a person in `zone` wrote this at `now` (aware)."""
    text = unicodedata.normalize("NFC", " ".join(text[:MAX_CHARS].split()))
    tokens = tokens_of(text)
    readings = [_read(TimeReader(name, lexicon, tokens, text)) for name, lexicon in languages().items()]
    best = max(readings, key=lambda reading: reading.weight + (reading.spaceless and is_spaceless(text)))
    return _Meaning(best, text, now.astimezone(zone), zone).when() if best.items else None


@dataclass(frozen=True, slots=True)
class _TimeReading:
    """Items by their roles, with the span of text that each takes; the other words; and how much was understood."""

    items: Mapping[str, TimeValue] = field(default_factory=dict[str, TimeValue])
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    words: str = ""
    direct: bool | None = None
    private: bool = False
    weight: int = 0
    spaceless: bool = False


def _read(reader: TimeReader) -> _TimeReading:
    tokens, end = reader.tokens, reader.end()
    first, direct, private = 0, None, False
    while lead := reader.take(first, "me", "here", "private"):
        direct, private, first = lead[0] != "here", private or lead[0] == "private", lead[1]
    items, items_end = reader.run(first)
    last, position = end, items_end
    if not _is_complete(items):
        last, items = _items_at_end(reader, position, end, items)
    if items or direct is not None:
        position = min(_after_fillers(reader, position, last), last)
    for at in {position, last}:
        if (match := reader.take(at, "private")) and (at == position or match[1] == end):
            private, direct = True, True
            position = match[1] if at == position else position
    words = reader.text[tokens[position].start : tokens[last - 1].end] if position < last else ""
    if last == end and position < last:
        words = reader.text[tokens[position].start :]
    spans = {item.role: (tokens[item.start].start, tokens[item.end - 1].end) for item in items}
    for item, next_item in pairwise(items):
        if item.end < next_item.start and (next_item.end <= items_end or item.start >= last):  # with the words between
            spans[item.role] = spans[item.role][0], tokens[next_item.start - 1].end
    weight = sum(tokens[n].end - tokens[n].start for item in items for n in range(item.start, item.end))
    weight += sum(token.end - token.start for token in tokens[:first])
    return _TimeReading(
        {item.role: item.value for item in items},
        spans,
        words.strip(),
        direct,
        private,
        weight,
        reader.language == "ja",
    )


def _after_fillers(reader: TimeReader, at: int, last: int) -> int:
    """Skip "me", "to" and punctuation between a time and what is to be done."""
    for category in ("me", "to"):
        while at < last and reader.is_text(at, *":,-–、"):
            at += 1
        at = reader.skip(at, category)
    while at < last and reader.is_text(at, *":,-–、"):
        at += 1
    return at


def _items_at_end(reader: TimeReader, begin: int, end: int, items: list[TimeItem]) -> tuple[int, list[TimeItem]]:
    """Return where the time words at the end begin, and all items, unless one of them occurs twice."""
    for at in range(max(begin, end - MAX_TOKENS), end):
        found, end_of_found = reader.run(at, items)
        if end_of_found >= end and len(found) > len(items):
            return at, found
    return end, items


def _is_complete(items: Sequence[TimeItem]) -> bool:
    """Whether the time is complete, so that words at the end belong to what is to be done."""
    roles = {item.role for item in items}
    return "after" in roles or {"day", "clock"} <= roles


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What was read, seen from a moment: `now` as the clocks of `zone` show it."""

    reading: _TimeReading
    text: str
    now: datetime
    zone: ZoneInfo

    def when(self) -> When:
        try:
            return self._repeated() if "every" in self.reading.items else self._single()
        except (ValueError, OverflowError):
            return None

    def _result(self, timing: Timing) -> When:
        reading = self.reading
        return WhenRead(timing, reading.words, reading.direct, reading.private)

    def _single(self) -> When:
        items, now = self.reading.items, self.now
        after, clock = items.get("after"), items.get("clock")
        day = items.get("day")
        if isinstance(after, TimeAfter):
            if after.minutes and not (after.days or after.months):
                moment = now.astimezone(UTC) + timedelta(minutes=after.minutes)
                return self._result(Timing(self.zone.key, moment.replace(microsecond=0)))
            dates = [_months_on(now.date(), after.months) + timedelta(days=after.days)]
            if clock is None and "part" not in items:
                return self._read_moment(dates[0], now.time().replace(microsecond=0))
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
        ahead = [candidate for candidate in moments if self._moment(*candidate) > now]
        if not ahead and isinstance(day, OnDate) and day.year is not None:
            return self._read_moment(*moments[0])
        if not ahead:
            return self._unclear([(today + timedelta(days=1), hour) for hour in hours], passed=True)
        if isinstance(clock, ClockTime) and clock.midnight:
            ahead = [*ahead, *((on + timedelta(days=1), hour) for on, hour in ahead)]
        return self._read_moment(*ahead[0]) if len(ahead) == 1 and clock is not None else self._unclear(ahead)

    def _today(self, hours: Sequence[time], spoken: bool) -> When:  # noqa: FBT001 -- of the clock
        """An hour without a day."""
        today, tomorrow = self.now.date(), self.now.date() + timedelta(days=1)
        ahead = [(today, hour) for hour in hours if self._moment(today, hour) > self.now]
        later = [(tomorrow, hour) for hour in hours if (today, hour) not in ahead]
        clock = self.reading.items.get("clock")
        if isinstance(clock, ClockTime) and clock.midnight:
            return self._read_moment(tomorrow, hours[0])
        if not ahead:
            return self._unclear(later if not spoken or hours[0].hour <= 6 else later[:1], passed=True)
        if len(ahead) == 1 and (not later or hours[0].hour <= 6):
            return self._read_moment(*ahead[0])
        return self._unclear([*ahead, *later])

    def _hours(self, clock: object) -> tuple[time, ...]:
        """The possible times of the day; the likeliest first."""
        part = self.reading.items.get("part")
        part_of_day = part if isinstance(part, str) else ""
        if not isinstance(clock, ClockTime):
            return tuple(time(hour) for hour in _HOURS[part_of_day])
        hour, part = clock.hour, clock.part or part_of_day
        hours = (hour, hour + 12) if clock.spoken and hour < 12 else (hour,)
        match part:
            case "am" | "morning" if hour <= 12:
                hours = (hour % 12 if part == "am" else hour,)
            case "pm" | "afternoon" | "evening" if hour <= 12:
                hours = (hour % 12 + 12,)
            case "night" if hour <= 12:
                hours = (hour + 12 if 6 <= hour < 12 else hour % 12,)
            case _:
                pass
        return tuple(time(hour_of_day, clock.minute) for hour_of_day in hours)

    def _repeated(self) -> When:
        items, now = self.reading.items, self.now
        every, clock, day = items["every"], items.get("clock"), items.get("day")
        if not isinstance(every, Repetition):
            return None
        until = self._until()
        if isinstance(until, WhenUnclear):
            return until
        if every.unit in {"minute", "hour"}:
            rule = _rule_of_hours(every, clock.minute if isinstance(clock, ClockTime) else 0)
            return self._result(Timing(self.zone.key, rule=rule, until=until)) if rule and day is None else None
        hours = self._hours(clock)
        first = hours[0]
        if clock is None or (len(hours) > 1 and first.hour <= 6):
            return self._unclear([(None, hour) for hour in hours])
        days = _rule_of_days(every, day, now.date())
        if days is None:
            return None
        timing = Timing(self.zone.key, rule=f"{first.minute} {first.hour} {days}", until=until)
        weeks = every.count if every.unit == "week" else 1
        day_step = every.count if every.unit == "day" and days == EVERY_DAY else 1
        needs_start = weeks > 1 or day_step > 1 or isinstance(day, InDays | OnDate)
        since = self._since(every, day, first) if needs_start else None
        return self._result(replace(timing, weeks=weeks, days=day_step, since=since))

    def _since(self, every: Repetition, day: object, hour: time) -> datetime | None:
        """When a repetition begins: on its day, or in the week in which it first occurs."""
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
        day = self.reading.items.get("until")
        if day is None:
            return None
        dates = list(_dates(day, self.now.date()))
        if isinstance(day, OnWeekdays) and len(dates) > 1:
            dates = dates[-1:]
        if len(dates) > 1:
            start, end = self.reading.spans["until"]
            texts = {on: f"{self.text[:start]}until {on}{self.text[end:]}" for on in dates}
            return WhenUnclear(tuple(WhenChoice(self._moment(on, time()), words) for on, words in texts.items()))
        return self._moment(dates[0] + timedelta(days=1), time()) - timedelta(seconds=1) if dates else None

    def _moment(self, on: date, hour: time) -> datetime:
        return moment_of(datetime.combine(on, hour), self.zone)

    def _read_moment(self, on: date, hour: time) -> When:
        return self._result(Timing(self.zone.key, self._moment(on, hour)))

    def _unclear(self, candidates: Sequence[tuple[date | None, time]], *, passed: bool = False) -> WhenUnclear:
        choices = sorted({self._choice(on, hour) for on, hour in candidates}, key=lambda choice: str(choice.time))
        return WhenUnclear(tuple(choices[:MAX_CHOICES]), passed)

    def _choice(self, on: date | None, hour: time) -> WhenChoice:
        """A choice, with a text in which it replaces the ambiguous words."""
        spans = self.reading.spans
        written = f"{hour:%H:%M}" if on is None else f"{on} {hour:%H:%M}"
        roles = ("clock", "part") if on is None else ("day", "clock", "part", "after")
        replaced = sorted({spans[role] for role in roles if role in spans and spans[role] != spans.get("every")})
        if not replaced:
            end = spans["every"][1] if "every" in spans else 0
            return WhenChoice(hour, f"{self.text[:end]} {written}{self.text[end:]}".strip())
        words, position = "", 0
        for n, (start, end) in enumerate(replaced):
            words += self.text[position:start] + (written if n == 0 else "")
            position = max(position, end)
        text = " ".join((words + self.text[position:]).split())
        return WhenChoice(hour if on is None else self._moment(on, hour), text)


def _dates(day: object, today: date) -> Iterator[date]:
    """The possible days, from today on."""
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
            dates = [date(y, month, number) for y in years if number <= monthrange(y, month)[1]]
            yield next(candidate for candidate in dates if year is not None or candidate >= today)
        case EitherDate(dates):
            for candidate in dates:
                yield from _dates(candidate, today)
        case OnMonthday(number):
            first = today.replace(day=1)
            lasts = {
                month: monthrange(month.year, month.month)[1] for month in (_months_on(first, n) for n in range(13))
            }
            dates = [
                month.replace(day=last if number < 0 else number) for month, last in lasts.items() if number <= last
            ]
            yield next(candidate for candidate in dates if candidate >= today)
        case OnNthWeekday(nth, weekday):
            months = [_months_on(today.replace(day=1), n) for n in range(13)]
            yield next(candidate for month in months if (candidate := _nth_of(month, nth, weekday)) >= today)
        case _:
            return


def _nth_of(month: date, nth: int, weekday: int) -> date:
    days = [month.replace(day=n) for n in range(1, monthrange(month.year, month.month)[1] + 1)]
    matching = [day for day in days if day.weekday() == weekday]
    return matching[nth - 1 if nth > 0 else nth]


def _months_on(day: date, months: int) -> date:
    """The same day some months later, or that month's last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def _rule_of_hours(every: Repetition, minute: int) -> str:
    """The cron rule for a number of minutes or hours, if they come at the same times of each day; else ""."""
    if every.unit == "minute":
        divides_hour = 0 < every.count < 60 and 60 % every.count == 0
        return f"*/{every.count} * * * *" if divides_hour else "0 * * * *" if every.count == 60 else ""
    if every.count == 1:
        return f"{minute} * * * *"
    return f"{minute} */{every.count} * * *" if 0 < every.count < 24 and 24 % every.count == 0 else ""


def _cron_days(weekdays: Sequence[int]) -> str:
    """Days as cron counts them, from Sunday."""
    return "1-5" if tuple(weekdays) == (0, 1, 2, 3, 4) else ",".join(str((day + 1) % 7) for day in weekdays)


def _rule_of_days(every: Repetition, day: object, today: date) -> str | None:
    """The last three fields of the cron rule: days of months, months, days of weeks. None if there is no such rule."""
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
            month_list = "*" if count == 1 else ",".join(str(month) for month in months)
            if isinstance(day, OnNthWeekday):
                number = (day.weekday + 1) % 7
                return f"* {month_list} {number}{'L' if day.nth < 0 else f'#{day.nth}'}" if months else None
            number = "L" if isinstance(day, OnMonthday) and day.day < 0 else str(day.day if day else today.day)
            return f"{number} {month_list} *" if months else None
        case Repetition("year", 1), None | OnDate():
            on = (day.month, day.day) if day else (today.month, today.day)
            return f"{on[1]} {on[0]} *"
        case _:
            return None
