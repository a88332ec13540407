"""Finds the periods of time that a text mentions: "in May", "last week", "on 3 June 2025", 先週. Pure.

Rules
  Days begin at midnight in the person's time zone; weeks begin on Monday.
  A month without a year is the latest one that has begun. "may" and "march" are months only after "in" or a similar
  word, or with a day or a year. A day that does not exist is read as its month.
  Other expressions are ignored. A text without known ones gives no period.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from agent.patterns import compile_later

MAX_PERIODS: Final = 8  # More than one question mentions; a pasted calendar is not a question
MAX_CHARS: Final = 1_000  # Of a text; a longer one is pasted, and its dates do not narrow a search


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """The period from `since` (included) to `until` (excluded); both are timezone-aware."""

    since: datetime
    until: datetime


_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH: Final = {name[:length]: n for n, name in enumerate(_MONTHS, 1) for length in (3, len(name))} | {"sept": 9}
_ALSO_VERBS: Final = frozenset({"may", "march", "mar"})
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "a few": 3}

_NAMED: Final = "|".join(sorted(_MONTH, key=len, reverse=True))
_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?P<year>(?:19|20)\d\d)"
_BEFORE_MONTH: Final = r"(?P<led>\b(?:in|of|since|during|last|this|early|mid|late|until|by|from)\s+)?"

# The most exact form first: a day with its month, then a month alone, then a year alone, as each would match within the
# one before.
_PATTERNS: Final = tuple(
    compile_later(pattern)
    for pattern in (
        r"\b(?P<year>(?:19|20)\d\d)-(?P<number>\d{1,2})(?:-(?P<day>\d{1,2}))?\b",
        r"(?:(?P<year>(?:19|20)\d\d)\s*年\s*)(?:(?P<number>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号號])?)?",
        r"(?P<number>\d{1,2})\s*月(?:\s*(?P<day>\d{1,2})\s*[日号號])?",
        rf"\b{_DAY}\s+(?:of\s+)?(?P<month>{_NAMED})\b\.?(?:,?\s+{_YEAR}\b)?",
        rf"\b(?P<month>{_NAMED})\b\.?\s+{_DAY}\b(?:,?\s+{_YEAR}\b)?",
        rf"{_BEFORE_MONTH}\b(?P<month>{_NAMED})\b\.?(?:,?\s+{_YEAR}\b)?",
        rf"\b{_YEAR}\b",
        r"\b(?P<count>\d{1,3}|a few|an?|one|two|three|four|five|six)\s+(?P<unit>day|week|month|year)s?\s+ago\b",
        r"\b(?:last|past)\s+(?P<past>\d{1,3}|few|two|three|four|five|six)\s+(?P<unit>day|week|month|year)s\b",
        r"\b(?P<which>last|this|past|previous)\s+(?P<unit>week|month|year|weekend)\b",
        rf"\b(?:last|on|this)\s+(?P<weekday>{'|'.join(_WEEKDAYS)})\b",
        r"\b(?P<word>today|yesterday|tonight)\b",
        r"(?P<word>今天|今日|昨天|昨日|前天|一昨日)",
        r"(?P<cjk>上周|上週|上星期|先週|本周|今週|这周|這週|上个月|上個月|先月|这个月|這個月|今月|去年|今年)",
    )
)
_DAYS_BACK: Final = {
    "today": 0, "tonight": 0, "今天": 0, "今日": 0, "yesterday": 1, "昨天": 1, "昨日": 1, "前天": 2, "一昨日": 2,
}  # fmt: skip
_CJK: Final = {
    **dict.fromkeys(("上周", "上週", "上星期", "先週"), ("week", 1)),
    **dict.fromkeys(("本周", "今週", "这周", "這週"), ("week", 0)),
    **dict.fromkeys(("上个月", "上個月", "先月"), ("month", 1)),
    **dict.fromkeys(("这个月", "這個月", "今月"), ("month", 0)),
    "去年": ("year", 1),
    "今年": ("year", 0),
}


def periods_in(text: str, now: datetime, time_zone: str) -> tuple[TimeSpan, ...]:
    """Return the periods that `text` mentions, relative to `now` (timezone-aware).

    `time_zone`: a name of the IANA database; UTC is used for unknown ones.
    """
    zone = _zone(time_zone)
    today = now.astimezone(zone).date()
    periods: list[TimeSpan] = []
    for days in _days(text[:MAX_CHARS].lower(), today):
        try:
            periods.append(
                TimeSpan(*(datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC) for day in days))
            )
        except (ValueError, OverflowError):
            continue
    return tuple(dict.fromkeys(periods))[:MAX_PERIODS]


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return UTC


def _days(text: str, today: date) -> Iterator[tuple[date, date]]:
    """Yield the first day and the day after the last of each expression; a longer one covers those in it."""
    covered = [False] * len(text)
    for pattern in _PATTERNS:
        for match in pattern.finditer(text):
            if any(covered[match.start() : match.end()]):
                continue
            try:
                days = _read(match.groupdict(), today)
            except (ValueError, OverflowError):
                continue  # 31 June, a thousand years ago
            if days is not None:
                covered[match.start() : match.end()] = [True] * (match.end() - match.start())
                yield days


def _read(groups: Mapping[str, str | None], today: date) -> tuple[date, date] | None:
    unit = groups.get("unit") or ""
    if word := groups.get("word"):
        return _day(today - timedelta(days=_DAYS_BACK[word]))
    if cjk := groups.get("cjk"):
        return _SPANS[_CJK[cjk][0]](today, _CJK[cjk][1])
    if weekday := groups.get("weekday"):
        # People who search the past mean the weekday before today, and on a Monday "Monday" is a week ago.
        back = (today.weekday() - _WEEKDAYS.index(weekday)) % 7
        return _day(today - timedelta(days=back or 7))
    if count := groups.get("count"):
        return _ago(unit, _number(count), today)
    if past := groups.get("past"):
        # Months and years have no fixed length, so they begin where the calendar begins them.
        first = _SPANS[unit](today, _number(past))[0] if unit in {"month", "year"} else None
        return first or today - timedelta(days=_number(past) * (7 if unit == "week" else 1)), today + timedelta(days=1)
    if which := groups.get("which"):
        return _SPANS[unit](today, 0 if which == "this" else 1)
    return _calendar(groups, today)


def _calendar(groups: Mapping[str, str | None], today: date) -> tuple[date, date] | None:
    year, day, name = groups.get("year"), groups.get("day"), groups.get("month")
    # "may" and "march" are months only where something beside them says so.
    if name in _ALSO_VERBS and not (year or day or groups.get("led")):
        return None
    month = int(groups.get("number") or 0) or _MONTH.get(name or "", 0)
    if not month:
        return _year(date(int(year or 0), 1, 1), 0)
    first = date(int(year or today.year), month, int(day or 1))
    # A search is about the past: "in November", said in June, is the last November.
    if year is None and first > today:
        first = first.replace(year=today.year - 1)
    return _day(first) if day else _month(first, 0)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.get(text, 3)


def _ago(unit: str, count: int, today: date) -> tuple[date, date]:
    if unit == "week":  # "two weeks ago" is no exact number of days
        middle = today - timedelta(weeks=count)
        return middle - timedelta(days=3), middle + timedelta(days=4)
    return _day(today - timedelta(days=count)) if unit == "day" else _SPANS[unit](today, count)


def _day(day: date) -> tuple[date, date]:
    return day, day + timedelta(days=1)


def _week(day: date, back: int) -> tuple[date, date]:
    monday = day - timedelta(days=day.weekday() + 7 * back)
    return monday, monday + timedelta(days=7)


def _weekend(day: date, back: int) -> tuple[date, date]:
    monday, end = _week(day, back)
    return monday + timedelta(days=5), end


def _month(day: date, back: int) -> tuple[date, date]:
    months = day.year * 12 + day.month - 1 - back
    return date(months // 12, months % 12 + 1, 1), date((months + 1) // 12, (months + 1) % 12 + 1, 1)


def _year(day: date, back: int) -> tuple[date, date]:
    return date(day.year - back, 1, 1), date(day.year - back + 1, 1, 1)


_SPANS: Final[Mapping[str, Callable[[date, int], tuple[date, date]]]] = {
    "day": lambda day, back: _day(day - timedelta(days=back)),
    "week": _week,
    "weekend": _weekend,
    "month": _month,
    "year": _year,
}
