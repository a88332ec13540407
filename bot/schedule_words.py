"""Reads words about times: "every Monday", "halb neun", 20分後. Pure.

Rules
  The meaning of each word is in schedule_words.toml, by language; this module knows how words follow each other.
  A date with the name of a month is found here, and the name is parsed by `dateparser`, which is imported only then.
  Words that are not understood do not belong to the time. Everything takes one pass.
"""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Final, TypeAlias

from agent.messages import normalisable

MAX_ITEMS: Final = 8  # Of one time: "every Monday and Friday at half past eight in the morning until May" has four
MAX_LOOKUPS: Final = 12  # Words that are looked up as months in one text; a time has two at most
MAX_AMOUNT: Final = 1_000
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
UNITS: Final = ("minute", "hour", "day", "week", "month", "year")
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
PARTS: Final = ("morning", "afternoon", "evening", "night")
_CJK: Final = "\u3005\u3040-\u30ff\u3400-\u9fff"
_SPACELESS: Final = re.compile(f"[{_CJK}]")
_TOKEN: Final = re.compile(rf"[{_CJK}]|\d+|(?:(?![{_CJK}])[^\W\d_])+|[^\s]")
_TRAILING: Final = frozenset(".!?。、,;:")


# --------------------------------------------------------------------------------------------------
# The meanings of words, independent of the moment at which they were written.


@dataclass(frozen=True, slots=True)
class InDays:
    days: int


@dataclass(frozen=True, slots=True)
class OnWeekdays:
    """`coming`: "next", of an unclear week; `week`: of next week."""

    days: tuple[int, ...]
    coming: bool = False
    week: bool = False


@dataclass(frozen=True, slots=True)
class OnDate:
    month: int
    day: int
    year: int | None = None


@dataclass(frozen=True, slots=True)
class EitherDate:
    """ "3/4": 3 April or 4 March."""

    dates: tuple[OnDate, OnDate]


@dataclass(frozen=True, slots=True)
class OnMonthday:
    """-1 is the last."""

    day: int


@dataclass(frozen=True, slots=True)
class OnNthWeekday:
    """The first Monday of a month; -1 the last."""

    nth: int
    weekday: int


TimeOfDays: TypeAlias = InDays | OnWeekdays | OnDate | EitherDate | OnMonthday | OnNthWeekday


@dataclass(frozen=True, slots=True)
class ClockTime:
    """`spoken`: on a twelve-hour clock, unless something else is said."""

    hour: int
    minute: int = 0
    spoken: bool = False
    part: str = ""
    midnight: bool = False


@dataclass(frozen=True, slots=True)
class TimeAfter:
    minutes: int = 0
    days: int = 0
    months: int = 0


@dataclass(frozen=True, slots=True)
class Repetition:
    unit: str
    count: int = 1
    weekdays: tuple[int, ...] = ()


TimeValue: TypeAlias = TimeOfDays | ClockTime | TimeAfter | Repetition | str


@dataclass(frozen=True, slots=True)
class TimeItem:
    """`role`: "day", "clock", "part", "after", "every" or "until". `end`: the token behind it."""

    role: str
    value: TimeValue
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TimeToken:
    text: str
    start: int
    end: int

    @property
    def number(self) -> int | None:
        return int(self.text) if self.text.isdecimal() and len(self.text) <= 4 else None


def _fold(text: str) -> str:
    if _SPACELESS.match(text) or text.isascii():
        return text.casefold()
    return "".join(
        c for c in unicodedata.normalize("NFKD", normalisable(text.casefold())) if not unicodedata.combining(c)
    )


def is_spaceless(text: str) -> bool:
    """Return whether a part of it is in a language that is written without blanks."""
    return _SPACELESS.search(text) is not None


def tokens_of(text: str) -> list[TimeToken]:
    return [TimeToken(_fold(found[0]), found.start(), found.end()) for found in _TOKEN.finditer(text)]


# By their first word, phrases and their categories; the longest first.
Lexicon: TypeAlias = Mapping[str, Sequence[tuple[tuple[str, ...], str]]]


@lru_cache(maxsize=1)
def languages() -> Mapping[str, Lexicon]:
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    lexicons: dict[str, Lexicon] = {}
    for name, categories in data.items():
        by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for category, phrases in categories.items():
            for phrase in phrases.split(", "):
                words = tuple(token.text for token in tokens_of(phrase))
                by_first.setdefault(words[0], []).append((words, category))
        lexicons[name] = {
            first: sorted(entries, key=lambda entry: -len(entry[0])) for first, entries in by_first.items()
        }
    return lexicons


_MONTHS_OF: Final = ["en", "de", "fr", "es", "it", "pt", "nl"]


@lru_cache(maxsize=4_096)
def _month_number(word: str) -> int | None:
    """The month with this name. Japanese months are numbers, and have no names."""
    dateparser = import_module("dateparser")  # slow to import, and seldom needed
    settings = {"PARSERS": ["absolute-time"], "REQUIRE_PARTS": ["day", "month"], "RELATIVE_BASE": datetime(2000, 1, 1)}  # noqa: DTZ001 -- a date without a time zone
    parsed = dateparser.parse(f"1 {word} 2000", languages=_MONTHS_OF, settings=settings)
    return parsed.month if parsed is not None and parsed.day == 1 else None


# --------------------------------------------------------------------------------------------------
# One language.


@dataclass(slots=True)
class TimeReader:
    """Finds items in tokens. Methods return what begins at a token, and the token behind it."""

    language: str
    lexicon: Lexicon
    tokens: Sequence[TimeToken]
    text: str
    lookups: int = 0

    def take(self, at: int, *categories: str) -> tuple[str, int] | None:
        """Return the category of the longest phrase there."""
        if at >= len(self.tokens):
            return None
        for words, category in self.lexicon.get(self.tokens[at].text, ()):
            stop = at + len(words)
            if category in categories and all(
                at + n < len(self.tokens) and self.tokens[at + n].text == word for n, word in enumerate(words)
            ):
                return category, stop
        return None

    def skip(self, at: int, *categories: str) -> int:
        match = self.take(at, *categories)
        return match[1] if match else at

    def is_text(self, at: int, *texts: str) -> bool:
        return at < len(self.tokens) and self.tokens[at].text in texts

    def digits(self, at: int, limit: int) -> int | None:
        number = self.tokens[at].number if at < len(self.tokens) else None
        return number if number is not None and number <= limit else None

    def number(self, at: int, limit: int = MAX_AMOUNT) -> tuple[int, int] | None:
        if (digits := self.digits(at, limit)) is not None:
            return digits, at + 1
        match = self.take(at, *_NUMBERS)
        return (int(match[0][1:]), match[1]) if match and int(match[0][1:]) <= limit else None

    # Days.

    def weekdays(self, at: int, plural: str = "") -> tuple[tuple[int, ...], int] | None:
        """ "Monday", "Monday, Wednesday and Friday"."""
        names = [f"{day}{plural}" for day in WEEKDAYS]
        days, stop = list[int](), at
        while len(days) < len(names) and (found := self.take(at, *names)):
            days.append(names.index(found[0]))
            stop = found[1]
            at = self.skip(self.skip(stop + self.is_text(stop, ",", "&", "+"), "link"), "on", "each")
            if at == stop:
                break
        return (tuple(sorted({*days})), stop) if days else None

    def date(self, at: int) -> tuple[TimeOfDays, int] | None:
        """ "3 December 2026", "2026-12-03", "3/4", 12月3日."""
        first = self.digits(at, 9_999)
        if first is not None and self.is_text(at + 1, "-", "/", ".", "月", "年"):
            return self._numeric(at, first)
        if first is None:
            return self._date_with_month(at, at + 1)
        stop = at + 1
        for _ in range(3):
            stop = self.skip(stop, "ordinal") if self.take(stop, "ordinal") else self.skip(stop, "link")
        return self._date_with_month(stop, at)

    def _numeric(self, at: int, first: int) -> tuple[TimeOfDays, int] | None:
        sign, second = self.tokens[at + 1].text, self.digits(at + 2, 31)
        if second is None:
            return self._date_with_month(at + 2, at) if sign == "." else None
        if sign == "年":
            inner = self._numeric(at + 2, second) if self.is_text(at + 3, "月") else None
            return (replace(inner[0], year=first), inner[1]) if inner and isinstance(inner[0], OnDate) else None
        if sign == "月":
            return self._valid_date(first, second, None, at + 4) if self.is_text(at + 3, "日") else None
        third = self.digits(at + 4, 9_999) if self.is_text(at + 3, sign) else None
        if sign == "-" and first > 31:
            return self._valid_date(second, third, first, at + 5) if third else None
        if third is not None and third < 1_000:
            third = None
        stop = at + 5 if third is not None else at + 3
        if sign == "." and third is None:
            return self._valid_date(second, first, None, at + 4) if self.is_text(at + 3, ".") else None
        if sign == "-" and third is None and self.take(at - 1, "on", "day-lead") is None:
            return None
        if sign == "/" and self.language in {"en", "ja"} and first <= 12 and second <= 12 and first != second:
            dates = OnDate(second, first, third), OnDate(first, second, third)
            return (EitherDate(dates) if self.language == "en" else dates[1]), stop
        month_first = second > 12
        return self._valid_date(first if month_first else second, second if month_first else first, third, stop)

    def _date_with_month(self, word: int, number: int) -> tuple[TimeOfDays, int] | None:
        """A date with the month's name at the token `word`, and the day at the token `number` before or behind it."""
        day = self.digits(number, 31)
        if day is None or word >= len(self.tokens) or self.lookups >= MAX_LOOKUPS:
            return None
        name = self.tokens[word]
        if not (3 <= len(name.text) <= 12 and name.text.isalpha()) or self.tokens[word].text in self.lexicon:
            return None
        self.lookups += 1
        if (month := _month_number(self.text[name.start : name.end].casefold())) is None:
            return None
        stop = max(word, number) + 1
        stop = self.skip(stop, "ordinal") if number > word else stop + self.is_text(stop, ".")
        year_at = self.skip(stop + self.is_text(stop, ","), "link")
        year = self.digits(year_at, 2_199)
        if year is not None and year >= 1_970 and not self.is_text(year_at + 1, ":"):
            return self._valid_date(month, day, year, year_at + 1)
        return self._valid_date(month, day, None, stop)

    @staticmethod
    def _valid_date(month: int, day: int, year: int | None, stop: int) -> tuple[TimeOfDays, int] | None:
        try:
            date(year or 2_000, month, day)
        except ValueError:
            return None
        return OnDate(month, day, year), stop

    def day(self, at: int) -> tuple[TimeOfDays, int] | None:
        days = {"today": 0, "tomorrow": 1, "day-after": 2}
        if found := self.take(at, *days):
            return InDays(days[found[0]]), found[1]
        if (week := self.take(at, "week-next")) and (named := self.weekdays(self.skip(week[1], "on", "link"))):
            return OnWeekdays(named[0], week=True), named[1]
        lead = self.take(at, "day-lead") or self.take(at, "on")
        inner = lead[1] if lead else at
        if lead and (found := self.take(inner, *days)):
            return InDays(days[found[0]]), found[1]
        if found := self.date(inner):
            return found
        if lead and (again := self.take(inner, "link")) and (found := self.date(again[1])):
            return found
        nxt = self.take(inner, "next")
        if named := self.weekdays(nxt[1] if nxt else inner):
            stop = self.skip(named[1], "next")
            if week := self.take(self.skip(stop, "link"), "week-next"):
                return OnWeekdays(named[0], week=True), week[1]
            return OnWeekdays(named[0], coming=nxt is not None or stop != named[1]), stop
        return self._monthday(inner, lead[0] if lead else "")

    def _monthday(self, at: int, lead: str) -> tuple[TimeOfDays, int] | None:
        number = self.digits(at, 31)
        if number and (found := self.take(at + 1, "ordinal")):
            return OnMonthday(number), self._of_month(found[1])
        if number and lead == "day-lead" and not self.is_text(at + 1, ":", ".", "/"):
            return None if self.take(at + 1, *UNITS, "oclock", "am", "pm") else (OnMonthday(number), at + 1)
        if nth := self.take(at, *_ORDINALS):
            if named := self.weekdays(self.skip(nth[1], "link")):
                return OnNthWeekday(_ORDINALS[nth[0]], named[0][0]), self._of_month(named[1])
            if nth[0] == "last" and (unit := self.take(nth[1], "day")):
                return OnMonthday(-1), self._of_month(unit[1])
            if nth[0] == "first" and lead and self.take(nth[1], *UNITS) is None:
                return OnMonthday(1), self._of_month(nth[1])
        return None

    def _of_month(self, at: int) -> int:
        """The token behind "of the month", if that is there."""
        inner = self.skip(self.skip(at, "link"), "link")
        month = self.take(inner, "month")
        return month[1] if month and inner > at else at

    # Hours.

    def clock(self, at: int, *, bare: bool = False) -> tuple[ClockTime, int] | None:
        """Return a time of day: "9:30", "at nine", "halb neun", "9 Uhr 30", "noon". `bare`: accept a number alone."""
        lead = self.take(at, "at")
        inner = lead[1] if lead else at
        if found := self.take(inner, "noon", "midnight"):
            return ClockTime(12 if found[0] == "noon" else 0, midnight=found[0] == "midnight"), found[1]
        before = self.take(inner, "am-before", "pm-before", "half-past", "half-to", "quarter-past", "quarter-to")
        hour = self.number(before[1] if before else inner, 24)
        if hour is None:
            return None
        if lead and (found := self._relative_clock(hour)):
            return found
        if hour[0] == 24:
            return None
        halved = before is not None and before[0] in _TAILS
        clock, stop, marked = self._minutes(hour, in_digits=not halved, led=lead is not None)
        marked = marked or before is not None
        if (tail := self.take(stop, *_TAILS)) and not (tail[0] == "half-behind" and not marked):
            clock, stop, marked = _shift(clock, _TAILS[tail[0]]), tail[1], True
        if before and before[0] in _TAILS:
            clock = _shift(clock, _TAILS[before[0]])
        if clock.hour == 12 and (noon := self.take(stop, "noon")):
            stop = noon[1]
        part = self.take(stop, "am", "pm", *PARTS)
        if before and before[0] in {"am-before", "pm-before"}:
            clock = replace(clock, part=before[0][:2])
        elif part and clock.hour <= 12:
            clock, stop, marked = replace(clock, part=part[0]), part[1], True
        closed = stop >= self.end() or self.take(stop, "to") is not None or self.is_text(stop, ":")
        alone = bare and closed and self.tokens[hour[1] - 1].number is not None
        if not (marked or lead or alone) or (self.take(stop, *UNITS) and not marked) or self.is_text(stop, "%"):
            return None
        return clock, stop

    def _minutes(self, hour: tuple[int, int], *, in_digits: bool, led: bool) -> tuple[ClockTime, int, bool]:
        """The minutes behind an hour, and whether they or a word mark it as one: "9:30", "9 Uhr 30", "nine thirty"."""
        clock, stop = ClockTime(hour[0], spoken=1 <= hour[0] <= 12), hour[1]
        first = self.tokens[stop - 1]
        padded = self.text[first.start] == "0"
        minute = self.digits(stop + 1, 59) if first.number is not None and in_digits else None
        if minute is not None and self.is_text(stop, ":", ".", "h", "u", "時"):
            sign, second = self.tokens[stop].text, self.tokens[stop + 1]
            timed = self.take(stop + 2, "oclock", "am", "pm") or (led and not self.is_text(stop + 2, "."))
            if sign == "時" or (second.end - second.start == 2 and (sign != "." or timed)):
                stop = stop + 2 + self.is_text(stop + 2, "分")
                end = self.take(stop, "oclock")
                spoken = 1 <= clock.hour <= 6 and not padded
                return replace(clock, minute=minute, spoken=spoken), end[1] if end else stop, True
        if first.number is not None and padded:
            clock = replace(clock, spoken=False)
        if found := self.take(stop, "oclock"):
            more = self.number(found[1], 59) if in_digits else None
            if more and more[0] >= 5 and self.take(more[1], *UNITS[1:]) is None:
                return replace(clock, minute=more[0]), self.skip(more[1], "minute"), True
            return clock, found[1], True
        if led and first.number is None and (more := self.take(stop, "n15", "n20", "n30", "n45")):
            return replace(clock, minute=int(more[0][1:])), more[1], True
        return clock, stop, False

    def _relative_clock(self, minutes: tuple[int, int]) -> tuple[ClockTime, int] | None:
        """A time such as "ten to nine"."""
        sign = self.take(minutes[1], "past", "to-hour")
        hour = self.number(sign[1], 12) if sign else None
        if sign is None or hour is None or not minutes[0]:
            return None
        return _shift(ClockTime(hour[0], spoken=True), minutes[0] if sign[0] == "past" else -minutes[0]), hour[1]

    def end(self) -> int:
        """Return the token behind the last one that is not punctuation."""
        end = len(self.tokens)
        while end and self.tokens[end - 1].text in _TRAILING:
            end -= 1
        return end

    # Repetitions and durations.

    def every(self, at: int) -> tuple[list[TimeValue], int] | None:
        adverbs = {"hourly": "hour", "daily": "day", "weekly": "week", "monthly": "month", "yearly": "year"}
        if found := self.take(at, "biweekly", "alternate-days"):
            return [Repetition("week" if found[0] == "biweekly" else "day", 2)], found[1]
        if named := self.weekdays(self.skip(at, "on"), "s"):
            return [Repetition("week", 1, named[0])], named[1]
        if found := self.take(at, "workdays"):
            return [Repetition("week", 1, (0, 1, 2, 3, 4))], found[1]
        if found := self.take(at, *adverbs):
            return [Repetition(adverbs[found[0]])], found[1]
        amount = self.number(at)
        unit = self.take(amount[1], *UNITS) if amount else None
        if amount and unit and (found := self.take(unit[1], "every-behind")):
            return [Repetition(unit[0], amount[0])], found[1]
        each = self.take(at, "each")
        return self._each(each[1]) if each else None

    def _each(self, at: int) -> tuple[list[TimeValue], int] | None:
        if (nth := self.take(at, *_ORDINALS)) and (named := self.weekdays(nth[1])):
            if self.take(self.skip(self.skip(named[1], "link"), "link"), "month"):
                return [Repetition("month"), OnNthWeekday(_ORDINALS[nth[0]], named[0][0])], self._of_month(named[1])
            if not self.take(at, "other"):
                return [Repetition("month"), OnNthWeekday(_ORDINALS[nth[0]], named[0][0])], named[1]
        count = 1
        if other := self.take(at, "other"):
            count, at = 2, other[1]
        elif (nth := self.take(at, "third", "fourth")) and self.take(nth[1], *UNITS):
            count, at = _ORDINALS[nth[0]], nth[1]
        elif amount := self.number(at):
            count, at = amount
        if found := self.take(at, "workday"):
            return [Repetition("week", count, (0, 1, 2, 3, 4))], found[1]
        if found := self.take(at, "weekend"):
            return [Repetition("week", count, (5, 6))], found[1]
        if named := self.weekdays(at):
            return [Repetition("week", count, named[0])], named[1]
        if found := self.take(at, "morning", "afternoon", "evening", "night", "morning-also"):
            return [Repetition("day", count), found[0].removesuffix("-also")], found[1]
        unit = self.take(at, *UNITS)
        return ([Repetition(unit[0], count)], unit[1]) if unit and count > 0 else None

    def after(self, at: int) -> tuple[TimeAfter, int] | None:
        """ "in 20 minutes", "20 minutes from now", "in an hour and a half", "in 1 h 30"."""
        lead = self.take(at, "within")
        inner = lead[1] if lead else at
        if (half := self.take(inner, "half")) and (unit := self.take(half[1], "hour")):
            return (TimeAfter(minutes=30), self.skip(unit[1], "later")) if lead or self.take(unit[1], "later") else None
        total, stop = TimeAfter(), inner
        for _ in range(2):
            found = self._amount(self.skip(stop, "link") if stop > inner else inner)
            if found is None:
                break
            total, stop = _add(total, found[0]), found[1]
        if stop == inner:
            return None
        later = self.take(stop, "later")
        return (total, later[1] if later else stop) if lead or later else None

    def _amount(self, at: int) -> tuple[TimeAfter, int] | None:
        amount = self.number(at)
        if amount and self.is_text(amount[1], "h") and (minutes := self.digits(amount[1] + 1, 59)) is not None:
            return TimeAfter(minutes=amount[0] * 60 + minutes), self.skip(amount[1] + 2, "minute")
        if amount is None:
            return None
        half = self.take(amount[1], "and-half")
        unit = self.take(half[1] if half else amount[1], *UNITS)
        if unit is None and not self.is_text(amount[1], "h"):
            return None
        name, stop = unit or ("hour", amount[1] + 1)
        if half is None and name == "hour":
            half = self.take(stop, "and-half", "half-behind")
            stop = half[1] if half else stop
        if half and name != "hour":
            return None
        match name:
            case "minute" | "hour":
                return TimeAfter(minutes=amount[0] * (60 if name == "hour" else 1) + (30 if half else 0)), stop
            case "day" | "week":
                return TimeAfter(days=amount[0] * (7 if name == "week" else 1)), stop
            case _:
                return TimeAfter(months=amount[0] * (12 if name == "year" else 1)), stop

    def until(self, at: int) -> tuple[TimeOfDays, int] | None:
        if found := self.take(at, "until"):
            return self.day(found[1])
        found = self.day(at)
        stop = self.take(found[1], "until-behind") if found else None
        return (found[0], stop[1]) if found and stop else None

    # Sequences of items.

    def run(self, at: int, items: Sequence[TimeItem] = ()) -> tuple[list[TimeItem], int]:
        """Return the items that follow each other there, each role at most once, with `items` before them."""
        found, stop = list(items), at
        while len(found) < MAX_ITEMS:
            inner = stop
            if stop > at:
                inner = self.skip(self.skip(stop + self.is_text(stop, ","), "link"), "link")
            new = self._items(inner, found) or (self._items(stop, found) if inner != stop else None)
            if new is None or {item.role for item in new} & {item.role for item in found}:
                break
            found += new
            stop = new[-1].end
        return found, stop

    def _items(self, at: int, found: Sequence[TimeItem]) -> list[TimeItem] | None:
        if at >= len(self.tokens) or not (
            self.tokens[at].text in self.lexicon or self.tokens[at].number is not None or self.digits(at + 1, 31)
        ):
            return None
        roles = {item.role for item in found}
        if match := self.until(at):
            return [TimeItem("until", match[0], at, match[1])]
        if match := self.every(at):
            item_roles = ["every", *("part" if isinstance(value, str) else "day" for value in match[0][1:])]
            return [TimeItem(role, value, at, match[1]) for role, value in zip(item_roles, match[0], strict=True)]
        if match := self.after(at):
            return [TimeItem("after", match[0], at, match[1])]
        todays = {"evening-today": "evening", "afternoon-today": "afternoon"}
        if match := self.take(at, *todays):
            return [TimeItem("day", InDays(0), at, match[1]), TimeItem("part", todays[match[0]], at, match[1])]
        if "day" in roles and (match := self.take(at, "morning-also")):
            return [TimeItem("part", "morning", at, match[1])]
        if match := self.clock(at, bare=bool(roles & {"day", "every"})):
            return [TimeItem("clock", match[0], at, match[1])]
        if match := self.day(at):
            return [TimeItem("day", match[0], at, match[1])]
        if self.language == "ja" and "clock" in roles:
            return None  # in Japanese it precedes the hour, and 朝会 behind one is what is to be done
        match = self.take(at, *PARTS)
        return [TimeItem("part", match[0], at, match[1])] if match else None


_NUMBERS: Final = tuple(f"n{n}" for n in (*range(1, 13), 15, 20, 30, 45))
_TAILS: Final = {
    "half-past": 30, "half-to": -30, "quarter-past": 15, "quarter-to": -15, "hour-half": 30, "hour-quarter": 15,
    "hour-less-quarter": -15, "half-behind": 30,
}  # fmt: skip


def _shift(clock: ClockTime, minutes: int) -> ClockTime:
    minute_of_day = (clock.hour * 60 + minutes) % (24 * 60)
    hour = minute_of_day // 60
    return replace(clock, hour=12 if hour == 0 and clock.spoken else hour, minute=minute_of_day % 60)


def _add(first: TimeAfter, second: TimeAfter) -> TimeAfter:
    return TimeAfter(first.minutes + second.minutes, first.days + second.days, first.months + second.months)
