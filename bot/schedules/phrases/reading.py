"""Reads when something is to be done from a person's words: "every Monday at 8", "morgen um neun", 20分後に. Pure.

Rules
  Time words are at the beginning, at the end, or at both; the text between them says what is to be done.
  A time is understood whole: where a word beside it, or in the text, looks like a part of a time, the answer is a
  question that shows what was understood and what was not. Behind a `|` everything is what is to be done, and before
  it nothing may be left over.
  An ambiguous time is returned as a choice, each in words that are unambiguous; nothing is guessed.
  An hour on a twelve-hour clock ("at 3") is ambiguous. From 7 to 12 it means the morning or noon, if it is on another
  day than today, or repeated.
Each language is read by itself, and the one that understood most of the text counts; if two understood as much and
disagree, the answer is a question.
"""

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from agent.schedules.definitions import Timing
from agent.schedules.times import moment_of, next_occurrence
from bot.schedules.phrases.grammar import is_spaceless, tokens_of
from bot.schedules.phrases.lexicon import languages
from bot.schedules.phrases.meanings import UNSURE
from bot.schedules.phrases.slots import SlotReader
from bot.schedules.phrases.values import (
    ClockTime,
    ClockTimes,
    EitherDate,
    Except,
    InDays,
    NamedDay,
    OnDate,
    OnMonthday,
    OnNthWeekday,
    OnWeekdays,
    Repetition,
    Span,
    TimeAfter,
    TimeValue,
    Window,
    ZoneRead,
)
from bot.schedules.phrases.words import TimeItem, TimeReader

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
    """The time is ambiguous. `passed`: the time that was given is over for today. `understood`, `left`: the words that
    were understood as the time, and those that look like a part of it and were not. `divided`: the text with a `|`
    behind the time, if the rest may be what is to be done.
    """

    choices: tuple[WhenChoice, ...]
    passed: bool = False
    understood: str = ""
    left: str = ""
    divided: str = ""


When: TypeAlias = WhenRead | WhenUnclear | None  # None: no time was found, or none that can be stored


# --------------------------------------------------------------------------------------------------
# Reading.


def read_when(text: str, now: datetime, zone: ZoneInfo) -> When:
    """Return when it is wanted, if a person in `zone` wrote this at `now` (aware)."""
    before, divider, rest = unicodedata.normalize("NFC", text[:MAX_CHARS]).partition("|")
    time_words = _spaced(before)
    tokens = tokens_of(time_words)
    readings = [_read(TimeReader(SlotReader(language, tokens, time_words))) for language in languages().values()]
    best = max(reading.weight for reading in readings)
    found = [reading for reading in readings if reading.items and reading.weight == best]
    meant = [_meaning(reading, time_words, now, zone, divided=bool(divider)) for reading in found]
    when = _agreed(meant)
    if not divider:
        return when
    if isinstance(when, WhenRead):
        return replace(when, words=_spaced(rest))
    if isinstance(when, WhenUnclear):
        choices = (replace(choice, words=f"{choice.words} | {rest.strip()}".strip()) for choice in when.choices)
        return replace(when, choices=tuple(choices), divided="" if rest.strip() else when.divided)
    return None


def _spaced(text: str) -> str:
    """Return the text with single blanks. Its lines stay, and so do names: both say which words are others'
    (`agent.memory.attribution`), also when a schedule asks them.
    """
    return _BLANKS.sub(lambda found: found["name"] or " ", text).strip()


_BLANKS: Final = re.compile(r"(?P<name>(?<!\w)[@#][^ \t\n]+)|[^\S\n]+")


def _agreed(meant: Sequence[When]) -> When:
    """What all languages mean that understood as much; a question if that is not the same."""
    found = [when for when in meant if when is not None]
    if not found:
        return None
    whole = [when for when in found if not (isinstance(when, WhenUnclear) and when.left)]
    first = (whole or found)[0]
    read = [when for when in whole if isinstance(when, WhenRead)]
    if len(read) == len(whole) and len({when.timing for when in read}) > 1:
        moments = sorted({when.timing.at for when in read if when.timing.at is not None})
        choices = (WhenChoice(at, f"{at:%Y-%m-%d %H:%M} UTC | {read[0].words}") for at in moments)
        return WhenUnclear(tuple(choices)[:MAX_CHOICES])
    return first


@dataclass(frozen=True, slots=True)
class _TimeReading:
    """Items by their roles, with the span of text that each takes; the other words; and how much was understood.

    `left`: the span that looks like a part of a time and was not understood.
    """

    items: Mapping[str, TimeValue] = field(default_factory=dict[str, TimeValue])
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    words: str = ""
    direct: bool | None = None
    private: bool = False
    weight: int = 0
    left: tuple[int, int] | None = None


def _read(reader: TimeReader) -> _TimeReading:
    tokens, text, end = reader.slots.tokens, reader.slots.text, reader.end()
    first, direct, private = 0, None, False
    while lead := reader.take(first, "me", "here", "private"):
        direct, private, first = lead[0] != "here", private or lead[0] == "private", lead[1]
    items, items_end = reader.run(first)
    last, position = end, items_end
    if not _is_complete(items):
        last, items = _items_at_end(reader, position, end, items)
    closing = position
    if items or direct is not None:
        position = min(_after_fillers(reader, position, last), last)
    closed = any(reader.take(at, "closing") or reader.is_text(at, ":") for at in range(closing, position))
    for at in {position, last}:
        if (match := reader.take(at, "private")) and (at == position or match[1] == end):
            private, direct = True, True
            position = match[1] if at == position else position
    words = text[tokens[position].start : tokens[last - 1].end] if position < last else ""
    if last == end and position < last:
        words = text[tokens[position].start :]
    spans = {item.role: (tokens[item.start].start, tokens[item.end - 1].end) for item in items}
    for item, next_item in pairwise(items):
        if item.end < next_item.start and (next_item.end <= items_end or item.start >= last):  # with the words between
            spans[item.role] = spans[item.role][0], tokens[next_item.start - 1].end
    weight = sum(end - start for start, end in {*spans.values()})
    weight += sum(token.end - token.start for token in tokens[:first])
    left = reader.left_over(position, last, closed=closed, after=items_end) if items and position < last else None
    return _TimeReading(
        {item.role: item.value for item in items},
        spans,
        words.strip(),
        direct,
        private,
        2 * weight + (reader.slots.language.name == "ja" and is_spaceless(text)),
        (tokens[left[0]].start, tokens[left[1] - 1].end) if left else None,
    )


def _after_fillers(reader: TimeReader, at: int, last: int) -> int:
    """Skip "me", "to" and punctuation between a time and what is to be done."""
    for category in ("me", "closing"):
        at = _after_signs(reader, at, last)
        match = reader.take(at, category)
        at = match[1] if match else at
    return _after_signs(reader, at, last)


def _after_signs(reader: TimeReader, at: int, last: int) -> int:
    """Skip punctuation, as that of an abbreviation: "in 2 Std. Tee"."""
    while at < last and (reader.is_text(at, *":,-–、") or (reader.is_text(at, ".") and reader.is_before_blank(at))):
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
    return "after" in roles


def _meaning(reading: _TimeReading, text: str, now: datetime, zone: ZoneInfo, *, divided: bool) -> When:
    """The reading's meaning; a question if something was left over."""
    start, end = min(reading.spans.values())[0], max(reading.spans.values(), key=lambda span: span[1])[1]
    left = text[slice(*reading.left)] if reading.left else reading.words if divided else ""
    if left:
        understood = " … ".join(dict.fromkeys(text[slice(*span)] for span in sorted({*reading.spans.values()})))
        keeps = left in reading.words and end <= text.find(reading.words, start)
        return WhenUnclear(
            (), understood=understood, left=left, divided=f"{text[:end]} | {reading.words}" if keeps else ""
        )
    here = _Meaning(reading, text, now.astimezone(zone), zone, zone).when()
    named = reading.items.get("zone")
    if not isinstance(named, ZoneRead):
        return here
    return _Meaning(reading, text, now.astimezone(zone), zone, zone).in_zone(named)


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What was read, seen from a moment: `now` as the clocks of `zone` show it. `home`: the person's zone."""

    reading: _TimeReading
    text: str
    now: datetime
    zone: ZoneInfo
    home: ZoneInfo

    def when(self) -> When:
        try:
            return self._repeated() if "every" in self.reading.items else self._single()
        except (ValueError, OverflowError, StopIteration):
            return None

    # A zone that was named.

    def in_zone(self, named: ZoneRead) -> When:
        """The meaning on the clock of another zone. A day that is another one there, and an abbreviation that is not in
        use on that day ("PST" in summer), are asked back.
        """
        # "In two hours, New York time": a duration has no zone, so the words are not what they seem.
        if "after" in self.reading.items and "clock" not in self.reading.items:
            return self._not_understood("zone")
        if not named.name:
            return self._at_offset(named.minutes or 0)
        zone = ZoneInfo(named.name)
        there = replace(self, zone=zone, now=self.now.astimezone(zone)).when()
        # A repetition stays on the other zone's clock, through its changes of the hour.
        if not isinstance(there, WhenRead) or "every" in self.reading.items:
            is_sure = named.minutes is None or self.now.astimezone(zone).utcoffset() == timedelta(minutes=named.minutes)
            return there if is_sure else self._not_understood("zone")
        moments = {there.timing.at}
        # "At 9 Tokyo time", where it is already tomorrow: today may be meant here or there.
        if self.now.astimezone(zone).date() != self.now.date() and isinstance(
            self.reading.items.get("day"), InDays | None
        ):
            today_here = datetime.combine(self.now.date(), self.now.astimezone(zone).time(), zone)
            other = replace(self, zone=zone, now=today_here).when()
            moments |= {other.timing.at} if isinstance(other, WhenRead) else set()
        # "PST" in summer: the written offset and the zone's own differ, and people mean either.
        if named.minutes is not None and there.timing.at is not None:
            offset = there.timing.at.astimezone(zone).utcoffset() or timedelta()
            moments |= {there.timing.at + offset - timedelta(minutes=named.minutes)}
        found = sorted(at for at in moments if at is not None and at > self.now)
        if len(found) > 1:
            return WhenUnclear(tuple(self._at_home(at) for at in found))
        return replace(there, timing=replace(there.timing, zone=self.home.key))

    def _at_offset(self, minutes: int) -> When:
        """A single time in a zone such as UTC+5:30, which has no name."""
        if "every" in self.reading.items:
            return self._not_understood("zone")
        shift = timedelta(minutes=minutes)
        utc = ZoneInfo("UTC")
        there = replace(self, zone=utc, now=(self.now.astimezone(UTC) + shift).astimezone(utc)).when()
        if isinstance(there, WhenRead) and there.timing.at is not None:
            return replace(there, timing=Timing(self.home.key, there.timing.at - shift))
        return self._not_understood("zone")

    def _at_home(self, at: datetime) -> WhenChoice:
        return self._choice_of(at, f"{at.astimezone(self.home):%Y-%m-%d %H:%M}", ("day", "clock", "part", "zone"))

    def _not_understood(self, role: str) -> WhenUnclear:
        left = self.reading.spans[role]
        others = sorted({span for name, span in self.reading.spans.items() if name != role and span != left})
        return WhenUnclear(
            (), understood=" … ".join(self.text[slice(*span)] for span in others), left=self.text[slice(*left)]
        )

    # One time.

    def _result(self, timing: Timing) -> When:
        reading = self.reading
        return WhenRead(timing, reading.words, reading.direct, reading.private)

    def _single(self) -> When:
        items = self.reading.items
        after, clock, day = items.get("after"), items.get("clock"), items.get("day", items.get("from"))
        if (strange := self._strange_role(day)) is not None:
            return self._not_understood(strange)
        if isinstance(clock, ClockTimes):
            return self._several(clock, day)
        if isinstance(after, TimeAfter):
            return self._after(after, clock)
        if day is None:
            return self._today(clock) if clock is not None else None
        dates = list(dict.fromkeys(_dates(day, self.now.date())))
        if not dates:
            return self._not_understood("day" if "day" in items else "from")
        return self._on_dates(dates, clock)

    def _strange_role(self, day: object) -> str | None:
        """What a single time cannot have."""
        items = self.reading.items
        for role in ("lasting", "between", "except", "until"):
            if role in items:
                return role
        if "from" in items and "day" in items:
            return "from"
        after = items.get("after")
        if isinstance(after, TimeAfter) and (day is not None or (after.seconds and {"clock", "part"} & set(items))):
            return "after"
        return "day" if isinstance(day, OnWeekdays) and day.habit else None

    def _after(self, after: TimeAfter, clock: object) -> When:
        """So long from now: hours are elapsed time, days those of the calendar, at the present hour without one."""
        now = self.now
        later = _months_on(now.date(), after.months) + timedelta(days=after.days)
        if after.seconds:
            begin = self._moment(later, now.time()) if after.days or after.months else now.astimezone(UTC)
            moment = (begin + timedelta(seconds=after.seconds)).replace(microsecond=0)
            return self._result(Timing(self.zone.key, moment))
        if clock is None and "part" not in self.reading.items:
            return self._read_moment(later, now.time().replace(microsecond=0))
        return self._on_dates([later], clock)

    def _on_dates(self, dates: Sequence[date], clock: object) -> When:
        hours = self._hours(clock)
        if not hours:
            return self._not_understood("clock")
        today, spoken = self.now.date(), isinstance(clock, ClockTime) and clock.spoken and clock.hour > 6
        moments = [(on, hour) for on in dates for hour in (hours if on == today or not spoken else hours[:1])]
        ahead = [candidate for candidate in moments if self._moment(*candidate) > self.now]
        if not ahead and dates[0] < today:
            return self._read_moment(*moments[0])  # a date with its year, which is over
        if not ahead:
            return self._unclear([(today + timedelta(days=1), hour) for hour in hours], passed=True)
        if isinstance(clock, ClockTime) and clock.midnight:
            ahead = [*ahead, *((on + timedelta(days=1), hour) for on, hour in ahead)]
        return self._read_moment(*ahead[0]) if len(ahead) == 1 and clock is not None else self._unclear(ahead)

    def _several(self, clocks: ClockTimes, day: object) -> When:
        """Several hours of one day are several reminders: one of them is asked for."""
        dates = list(_dates(day, self.now.date())) if day is not None else [self.now.date()]
        hours = [hour for clock in clocks.times for hour in self._hours(clock)]
        ahead = [(on, hour) for on in dates for hour in hours if self._moment(on, hour) > self.now]
        return self._unclear(ahead) if ahead else self._not_understood("clock")

    def _today(self, clock: object) -> When:
        """An hour without a day."""
        hours, spoken = self._hours(clock), isinstance(clock, ClockTime) and clock.spoken
        if not hours:
            return self._not_understood("clock")
        today, tomorrow = self.now.date(), self.now.date() + timedelta(days=1)
        ahead = [(today, hour) for hour in hours if self._moment(today, hour) > self.now]
        later = [(tomorrow, hour) for hour in hours if (today, hour) not in ahead]
        # People mean the midnight that ends today, which the calendar counts to tomorrow.
        if isinstance(clock, ClockTime) and clock.midnight:
            return self._read_moment(tomorrow, hours[0])
        if not ahead:
            return self._unclear(later if not spoken or hours[0].hour <= 6 else later[:1], passed=True)
        # Said in the afternoon, "at five" is today at 17: nobody means five in the morning. At "at eight" both halves
        # are likely.
        if len(ahead) == 1 and (not later or hours[0].hour <= 6):
            return self._read_moment(*ahead[0])
        return self._unclear([*ahead, *later])

    def _hours(self, clock: object) -> tuple[time, ...]:
        """The possible times of the day, the likeliest first; none if the words contradict each other."""
        part = self.reading.items.get("part")
        part_of_day = part if isinstance(part, str) else ""
        if not isinstance(clock, ClockTime):
            return tuple(time(hour) for hour in _HOURS[part_of_day])
        hour = clock.hour
        if (clock.part, part_of_day) in {("am", "afternoon"), ("am", "evening"), ("pm", "morning")}:
            return ()
        part = clock.part or part_of_day
        # "At five" may be either half of the day; "5:00" is written by the clock of 24 hours.
        hours = (hour, hour + 12) if clock.spoken and hour < 12 else (hour,)
        match part:
            case "am" | "morning" if hour <= 12:
                hours = (hour % 12 if part == "am" else hour,)
            # "12 in the evening" is midnight, "12 pm" is noon.
            case "pm" | "afternoon" | "evening" if hour <= 12:
                hours = (hour % 12 + 12,) if part != "evening" or hour < 12 else (0,)
            # A night has two ends: "10 at night" is before midnight, "3 at night" behind it.
            case "night" if hour <= 12:
                hours = (hour + 12,) if 6 <= hour < 12 else (hour % 12,)
            case "morning" if hour > 12:
                return ()
            case _:
                pass
        return tuple(time(hour_of_day, clock.minute, clock.second) for hour_of_day in hours)

    # Repetitions.

    def _repeated(self) -> When:
        items, now = self.reading.items, self.now
        every, day = items["every"], items.get("day")
        if not isinstance(every, Repetition):
            return None
        if every == UNSURE:
            return self._not_understood("every")
        # "Every day in two hours" can mean a first time or a distance.
        if "after" in items:
            return self._not_understood("after")
        if isinstance(excluded := items.get("except"), Except):
            every = _without(every, excluded.weekdays)
            if every is None:
                return self._not_understood("except")
        begin = self._first_day()
        if isinstance(begin, WhenUnclear):
            return begin
        until = self._until()
        if isinstance(until, WhenUnclear):
            return until
        if every.unit in {"minute", "hour"}:
            timed = self._hourly(every, excluded if isinstance(excluded, Except) else None)
        else:
            timed = self._daily(every, day, begin or now.date())
        if not isinstance(timed, Timing):
            return timed
        # Steps of weeks or days count from a first occurrence; else "from May on" begins at midnight.
        since = timed.since if timed.since or begin is None else self._moment(begin, time())
        return self._ending(replace(timed, since=since, until=until), items.get("lasting"), begin or now.date())

    def _ending(self, timing: Timing, lasting: object, begin: date) -> When:
        """With the end of "for 3 weeks" or "5 times"."""
        if not isinstance(lasting, Span):
            return self._result(timing)
        if timing.until is not None:
            return self._not_understood("lasting")
        first = next_occurrence(replace(timing, until=None), self.now)
        if first is None:
            return None
        if lasting.length is not None:
            length = lasting.length
            if length.seconds:
                return self._not_understood("lasting")
            last = _months_on(max(first.astimezone(self.zone).date(), begin), length.months) + timedelta(
                days=length.days
            )
            return self._result(replace(timing, until=self._moment(last, time()) - timedelta(seconds=1)))
        moment = first
        for _ in range(lasting.times - 1):
            following = next_occurrence(timing, moment)
            if following is None:
                return None
            moment = following
        return self._result(replace(timing, until=moment))

    def _hourly(self, every: Repetition, excluded: Except | None) -> "Timing | When":
        items, clock, window = self.reading.items, self.reading.items.get("clock"), self.reading.items.get("between")
        if "part" in items:
            return self._not_understood("part")
        days = EVERY_DAY
        day = items.get("day")
        # "Every hour on Monday" repeats on Mondays; "next Monday" is one day, for which no rule stands.
        if isinstance(day, OnWeekdays) and day.week is None and not day.coming:
            days = f"* * {_cron_days(day.days)}"
        elif day is not None:
            return self._not_understood("day")
        if excluded is not None and days == EVERY_DAY:
            days = f"* * {_cron_days([n for n in range(7) if n not in excluded.weekdays])}"
        if isinstance(clock, ClockTimes):
            return self._not_understood("clock")
        # Of a clock only the minute counts: the hours come from the repetition.
        minute = clock.minute if isinstance(clock, ClockTime) else 0
        rule = _rule_of_hours(every, minute, window if isinstance(window, Window) else None, days)
        return Timing(self.zone.key, rule=rule) if rule else self._not_understood("every")

    def _daily(self, every: Repetition, day: object, earliest: date) -> "Timing | When":
        items, clock = self.reading.items, self.reading.items.get("clock")
        if "between" in items:
            return self._not_understood("between")
        clocks = clock.times if isinstance(clock, ClockTimes) else (clock,)
        hours = [self._hours(one) for one in clocks]
        if not all(hours):
            return self._not_understood("clock")
        # "Every day at five" would be wrong each day if it was guessed; from seven on the first half of the day is the
        # likelier one.
        ambiguous = next(
            (n for n, some in enumerate(hours) if clock is None or (len(some) > 1 and some[0].hour <= 6)), None
        )
        if ambiguous is not None:
            # A question about several hours at once would need a choice for each combination.
            if len(hours) > 1:
                return self._not_understood("clock")
            return self._unclear([(None, hour) for hour in hours[ambiguous]])
        times = sorted({some[0] for some in hours})
        # Cron has no seconds.
        if any(one.second for one in times):
            return self._not_understood("clock")
        days = _rule_of_days(every, day, earliest)
        if days is None:
            return self._not_understood("day" if day is not None else "every")
        timing = Timing(self.zone.key, rule=_rule_of_times(times, days))
        weeks = every.count if every.unit == "week" else 1
        day_step = every.count if every.unit == "day" and days == EVERY_DAY else 1
        since = self._since(every, day, times[0], earliest) if weeks > 1 or day_step > 1 else None
        return replace(timing, weeks=weeks, days=day_step, since=since)

    def _since(self, every: Repetition, day: object, hour: time, earliest: date) -> datetime | None:
        """When a repetition begins of which only every second or third time counts: when it first occurs."""
        if every.unit in {"month", "year"}:
            return None
        days = every.weekdays or (day.days if isinstance(day, OnWeekdays) else (earliest.weekday(),))
        days = tuple(range(7)) if every.unit == "day" else days
        for ahead in range(8):
            on = earliest + timedelta(days=ahead)
            if on.weekday() in days and (moment := self._moment(on, hour)) > self.now:
                return moment
        return None

    def _first_day(self) -> date | WhenUnclear | None:
        """The day from which on it comes: "from Monday", or "tomorrow … every day"."""
        items = self.reading.items
        day = items.get("day")
        role = "from" if "from" in items else "day" if isinstance(day, InDays | OnDate) else ""
        if not role or (role == "day" and isinstance(every := items.get("every"), Repetition) and every.unit == "year"):
            return None
        dates = list(_dates(items[role], self.now.date()))
        return dates[0] if len(dates) == 1 and dates[0] >= self.now.date() else self._not_understood(role)

    def _until(self) -> datetime | WhenUnclear | None:
        day = self.reading.items.get("until")
        if day is None:
            return None
        dates = list(_dates(day, self.now.date()))
        if isinstance(day, OnWeekdays) and len(dates) > 1:
            dates = dates[-1:]
        if not dates:
            return self._not_understood("until")
        if len(dates) > 1:
            start, end = self.reading.spans["until"]
            texts = {on: f"{self.text[:start]}until {on}{self.text[end:]}" for on in dates}
            return WhenUnclear(tuple(WhenChoice(self._moment(on, time()), words) for on, words in texts.items()))
        return self._moment(dates[0] + timedelta(days=1), time()) - timedelta(seconds=1)

    def _moment(self, on: date, hour: time) -> datetime:
        return moment_of(datetime.combine(on, hour), self.zone)

    def _read_moment(self, on: date, hour: time) -> When:
        return self._result(Timing(self.zone.key, self._moment(on, hour)))

    # Questions.

    def _unclear(self, candidates: Sequence[tuple[date | None, time]], *, passed: bool = False) -> WhenUnclear:
        choices = sorted({self._choice(on, hour) for on, hour in candidates}, key=lambda choice: str(choice.time))
        return WhenUnclear(tuple(choices[:MAX_CHOICES]), passed)

    def _choice(self, on: date | None, hour: time) -> WhenChoice:
        """A choice, with a text in which it replaces the ambiguous words."""
        if on is None:
            return self._choice_of(hour, f"{hour:%H:%M}", ("clock", "part"))
        at = self._moment(on, hour)
        shown = at.astimezone(self.home)
        written = f"{shown:%Y-%m-%d %H:%M}" + (f":{shown:%S}" if shown.second else "")
        return self._choice_of(at, written, ("day", "from", "clock", "part", "after", "zone"))

    def _choice_of(self, chosen: datetime | time, written: str, roles: Sequence[str]) -> WhenChoice:
        spans = self.reading.spans
        replaced = sorted({spans[role] for role in roles if role in spans and spans[role] != spans.get("every")})
        if not replaced:
            end = spans["every"][1] if "every" in spans else 0
            return WhenChoice(chosen, f"{self.text[:end]} {written}{self.text[end:]}".strip())
        words, position = "", 0
        for n, (start, end) in enumerate(replaced):
            words += self.text[position:start] + (f" {written} " if n == 0 else "")
            position = max(position, end)
        return WhenChoice(chosen, _spaced(words + self.text[position:]))


def _dates(day: object, today: date) -> Iterator[date]:
    """The possible days, from today on."""
    match day:
        case InDays(days):
            yield today + timedelta(days=days)
        case OnWeekdays((weekday,), week=int() as weeks):
            yield today + timedelta(days=7 * weeks - today.weekday() + weekday)
        # On a Monday "Monday" can be today or in a week; "next Friday" can be the coming one or that of the next week.
        # Both are yielded, and the caller asks.
        case OnWeekdays((weekday,), coming):
            ahead = (weekday - today.weekday()) % 7
            if ahead or not coming:
                yield today + timedelta(days=ahead)
            if not ahead or (coming and today.weekday() + ahead <= 6):
                yield today + timedelta(days=ahead + 7)
        case OnDate(month, number, year):
            # Nine years, because the 29th of February can be eight years away (2096 to 2104).
            years = [_whole_year(year, today)] if year is not None else range(today.year, today.year + 9)
            dates = [date(y, month, number) for y in years if number <= monthrange(y, month)[1]]
            yield from [candidate for candidate in dates if year is not None or candidate >= today][:1]
        case EitherDate(dates):
            for candidate in dates:
                yield from _dates(candidate, today)
        case NamedDay(weekday, inner):
            yield from (candidate for candidate in _dates(inner, today) if candidate.weekday() == weekday)
        case OnMonthday(number, months):
            first = today.replace(day=1)
            # Thirteen months, because this month's day may have passed.
            asked = range(13) if months is None else (months,)
            lasts = {month: monthrange(month.year, month.month)[1] for month in (_months_on(first, n) for n in asked)}
            dates = [
                month.replace(day=last if number < 0 else number) for month, last in lasts.items() if number <= last
            ]
            yield from [candidate for candidate in dates if candidate >= today][:1]
        case OnNthWeekday(nth, weekday, month, months):
            asked = range(13) if months is None else (months,)
            firsts = [
                first for first in (_months_on(today.replace(day=1), n) for n in asked) if month in {None, first.month}
            ]
            found = [candidate for first in firsts if (candidate := _nth_of(first, nth, weekday))]
            yield from [candidate for candidate in found if candidate >= today][:1]
        case _:
            return


def _whole_year(year: int, today: date) -> int:
    """A year of two digits in this century, or up to fifty years ago."""
    if year >= 100:
        return year
    whole = today.year // 100 * 100 + year
    return whole - 100 if whole > today.year + 49 else whole


def _nth_of(month: date, nth: int, weekday: int) -> date | None:
    days = [month.replace(day=n) for n in range(1, monthrange(month.year, month.month)[1] + 1)]
    matching = [day for day in days if day.weekday() == weekday]
    return matching[nth - 1 if nth > 0 else nth] if nth <= len(matching) else None


def _months_on(day: date, months: int) -> date:
    """The same day some months later, or that month's last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def _without(every: Repetition, excluded: Sequence[int]) -> Repetition | None:
    """The repetition on the other days of the week; None if it has none, or is not by days of the week."""
    if every.unit in {"minute", "hour"}:
        return every
    days = every.weekdays if every.unit == "week" else tuple(range(7)) if every == Repetition("day") else ()
    left = tuple(day for day in days if day not in excluded)
    return Repetition("week", every.count, left) if left and left != days else None


def _rule_of_hours(every: Repetition, minute: int, window: Window | None, days: str) -> str:
    """The cron rules for a number of minutes or hours, if they come at the same times of each day; else ""."""
    step = every.count * (1 if every.unit == "minute" else 60)
    if window is None:
        # Cron begins anew each hour and each day: only divisors of 60 and of 24 come at equal distances.
        if step < 60:
            return f"*/{step} * {days}" if 60 % step == 0 and not minute else ""
        hours = step // 60
        if step % 60 or 24 % hours:
            return ""
        return (
            f"{minute} * {days}" if hours == 1 else f"{minute} */{hours} {days}" if hours < 24 else f"{minute} 0 {days}"
        )
    begin, end = window.begin.hour * 60 + window.begin.minute, window.end.hour * 60 + window.end.minute
    # Between two hours the times are counted from the first and listed one by one.
    times = [time(*divmod(at, 60)) for at in range(begin + minute, end + 1, step)] if step else []
    return _rule_of_times(times, days) if len(times) > 1 else ""


def _rule_of_times(times: Sequence[time], days: str) -> str:
    """The cron rules for times of a day: one for all hours with the same minutes, ";" between them."""
    by_hour = dict[int, list[int]]()
    for one in times:
        by_hour.setdefault(one.hour, []).append(one.minute)
    by_minutes = dict[tuple[int, ...], list[int]]()
    for hour, minutes in sorted(by_hour.items()):
        by_minutes.setdefault(tuple(minutes), []).append(hour)
    rules = (f"{_cron_list(minutes)} {_cron_list(hours)} {days}" for minutes, hours in by_minutes.items())
    return "; ".join(rules)


def _cron_list(numbers: Sequence[int]) -> str:
    """Numbers as cron writes them, in short."""
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    if len(numbers) < 3 or len(steps) > 1:
        return ",".join(map(str, numbers))
    (step,) = steps
    return f"{numbers[0]}-{numbers[-1]}" + (f"/{step}" if step > 1 else "")


def _cron_days(weekdays: Sequence[int]) -> str:
    """Days as cron counts them, from Sunday."""
    return "1-5" if tuple(weekdays) == (0, 1, 2, 3, 4) else ",".join(str((day + 1) % 7) for day in weekdays)


def _rule_of_days(every: Repetition, day: object, today: date) -> str | None:
    """The last three fields of the cron rule: days of months, months, days of weeks. None if there is no such rule."""
    match every, day:
        # "Every 7 days" is a week, which a rule says without a stored beginning.
        case Repetition("day", 7), None:
            return f"* * {_cron_days((today.weekday(),))}"
        # A step of days has no form in cron: the rule is daily, and the timing carries the step.
        case Repetition("day", _), None | InDays() | OnDate():
            return EVERY_DAY
        case Repetition("week", _, ()), OnWeekdays(days, False, None):
            return f"* * {_cron_days(days)}"
        case Repetition("week", _, ()), None:
            return f"* * {_cron_days((today.weekday(),))}"
        case Repetition("week", _, weekdays), None | InDays() | OnDate():
            return f"* * {_cron_days(weekdays)}" if weekdays else None
        case Repetition("month", count), None | OnMonthday() | OnNthWeekday():
            # Cron counts months within one year, so only divisors of twelve come at equal distances.
            has_passed = isinstance(day, OnMonthday) and 0 < day.day < today.day
            begin = today.month - 1 + has_passed
            months = sorted((begin + n) % 12 + 1 for n in range(0, 12, count)) if 12 % count == 0 else []
            month_list = "*" if count == 1 else ",".join(str(month) for month in months)
            if isinstance(day, OnNthWeekday):
                # Python's week begins with Monday as 0, cron's with Sunday.
                number = (day.weekday + 1) % 7
                return f"* {month_list} {number}{'L' if day.nth < 0 else f'#{day.nth}'}" if months else None
            number = "L" if isinstance(day, OnMonthday) and day.day < 0 else str(day.day if day else today.day)
            return f"{number} {month_list} *" if months else None
        case Repetition("year", 1), None | OnDate():
            on = (day.month, day.day) if day else (today.month, today.day)
            return f"{on[1]} {on[0]} *"
        case _:
            return None
