"""The rules of schedules: five fields of cron, or several such rules with ";" between them. Pure.

"0 9 * * 1-5; 30 17 * * 1-5" comes on weekdays at 09:00 and at 17:30. In a month that is too short for the 29th, 30th or
31st, a rule comes on the last day instead, unlike in cron: people mean "once a month" (`with_short_months`).
"""

import re
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from itertools import pairwise
from typing import Final

from cronsim import CronSim, CronSimError

MAX_RULE_CHARS: Final = 100  # Longer than any sensible rule; the time to parse one grows with its length
MAX_LISTED: Final = 4  # Times of a day that are listed; more are told by their distance, if they are evenly spaced
DAY_MINUTES: Final = 24 * 60
_START: Final = datetime(2000, 1, 1)  # noqa: DTZ001 -- no real time: only the fields of a rule are used
_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_SHORTEST: Final = {1: 31, 2: 28, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}
_NTH: Final = ("first", "second", "third", "fourth", "fifth")


def single_rules(rule: str) -> list[str]:
    """Return the rules of five fields. Raises ValueError with a sentence if it is too long."""
    if len(rule) > MAX_RULE_CHARS or not rule.isascii():
        raise ValueError(_invalid(rule))
    return [one.strip() for one in rule.split(";")]


def parse_rule(rule: str, start: datetime) -> CronSim:
    """Return the times of one rule of five fields after `start`. Raises ValueError with a sentence."""
    if len(rule) > MAX_RULE_CHARS or len(rule.split()) != 5 or not rule.isascii():
        raise ValueError(_invalid(rule))
    try:
        return CronSim(rule, start)
    except (CronSimError, AssertionError, TypeError, ValueError) as error:
        raise ValueError(_invalid(rule)) from error


def _invalid(rule: str) -> str:
    return (
        f"{rule[:MAX_RULE_CHARS]!r} is not a valid rule: use five cron fields (minute, hour, day, month, weekday), "
        "such as '0 9 * * 1' for Mondays at nine."
    )


def with_short_months(rule: str) -> list[str]:
    """Return the single rules, and those for the last day of months that are too short for a named day. Both may come
    at the same time. Raises ValueError with a sentence.
    """
    rules = single_rules(rule)
    return [*rules, *filter(None, map(_in_short_months, rules))]


def _in_short_months(rule: str) -> str:
    """The rule for the months without a day that this one names; "" if there are none, or if it names no days: a range
    ends with the month, and a day of the week is one more condition.
    """
    fields = rule.split()
    if len(fields) != 5 or fields[4] != "*" or not all(day.isdecimal() for day in fields[2].split(",")):
        return ""
    latest = max(map(int, fields[2].split(",")))
    short = sorted(month for month in parse_rule(rule, _START).months if latest > _SHORTEST[month])
    return f"{fields[0]} {fields[1]} L {','.join(map(str, short))} *" if short else ""


def is_hourly(rule: str) -> bool:
    """Whether it comes in every hour, and so follows elapsed time."""
    return rule.split()[1:2] == ["*"]


def comes_too_often(rule: str, apart: timedelta) -> bool:
    """Whether two times of a day are nearer than that. Raises ValueError with a sentence if it is no rule."""
    times = _minutes_of_day(single_rules(rule))
    return any(timedelta(minutes=gap) < apart for gap in _gaps(times))


def _minutes_of_day(rules: Sequence[str]) -> list[int]:
    parsed = [parse_rule(one, _START) for one in rules]
    return sorted({hour * 60 + minute for one in parsed for hour in one.hours for minute in one.minutes})


def _gaps(times: Sequence[int]) -> list[int]:
    """The minutes between the times of a day, and over midnight."""
    return [later - earlier for earlier, later in pairwise([*times, times[0] + DAY_MINUTES])]


def rule_in_words(rule: str, weeks: int, days: int) -> str:
    """ "every Monday and Thursday at 09:00", "every 2 hours from 08:00 to 18:00". `weeks`, `days`: of every so many."""
    rules = single_rules(rule)
    by_days = dict[str, list[str]]()
    for one in rules:
        by_days.setdefault(" ".join(one.split()[2:]), []).append(one)
    if days > 1 and set(by_days) != {"* * *"}:
        return f"{rule_in_words(rule, weeks, 1)}, of every {days} days"
    return " and ".join(_of_days(fields, same, weeks, days) for fields, same in by_days.items())


def _of_days(fields: str, rules: Sequence[str], weeks: int, days: int) -> str:
    """Rules on the same days; `fields`: day of the month, month, day of the week."""
    monthday, month, weekday = fields.split()
    named = _days_in_words(monthday, month, weekday, weeks, days)
    times = _minutes_of_day(rules)
    if named is None:
        words = " and ".join(_explained(one) for one in rules)
        return f"{words}, every {weeks} weeks" if weeks > 1 else words
    gaps = set(_gaps(times)[:-1])
    if len(times) <= MAX_LISTED or len(gaps) > 1:
        clocks = [f"{_clock(at)}" for at in times]
        listed = f"{', '.join(clocks[:-1])} and {clocks[-1]}" if len(clocks) > 1 else clocks[0]
        return f"{named} at {listed}"
    return _spaced(times, gaps.pop(), "" if named == "every day" else named)


def _spaced(times: Sequence[int], gap: int, named: str) -> str:
    """Times that are evenly spaced: "every 30 minutes from 09:00 to 17:00"."""
    every = "every hour" if gap == 60 else f"every {gap // 60} hours" if gap % 60 == 0 else f"every {gap} minutes"
    if times[0] < gap and times[-1] + gap >= DAY_MINUTES:
        minute = times[0] % 60
        past = f" at {minute} minutes past the hour" if minute and gap % 60 == 0 else ""
        return ", ".join(filter(None, [f"{every}{past}", named]))
    return ", ".join(filter(None, [f"{every} from {_clock(times[0])} to {_clock(times[-1])}", named]))


def _clock(minutes: int) -> str:
    return f"{time(*divmod(minutes, 60)):%H:%M}"


def _explained(rule: str) -> str:
    words = parse_rule(rule, _START).explain()
    short = ", and on the last day of shorter months" if _in_short_months(rule) else ""
    return f"{words[:1].lower()}{words[1:]}{short}"


_WEEKDAYS: Final = re.compile(r"\*|[0-7](?:[,-][0-7])*")
_NTH_WEEKDAY: Final = re.compile(r"(?P<day>[0-7])(?:#(?P<nth>[1-5])|L)")


def _days_in_words(monthday: str, month: str, weekday: str, weeks: int, days: int) -> str | None:
    """The days of a rule; None for those that have no short words."""
    if monthday == month == "*" and _WEEKDAYS.fullmatch(weekday):
        named = _weekdays_in_words(weekday)
        if days > 1:
            return f"every {days} days"
        return f"every {weeks} weeks on {named}" if weeks > 1 else f"every {named}"
    # "Every two weeks on the 3rd" would be read as something else than the rule does.
    if weeks > 1:
        return None
    months = "every month" if month == "*" else _months_in_words(month)
    if months is None:
        return None
    if monthday == "*" and (nth := _NTH_WEEKDAY.fullmatch(weekday)):
        which = _NTH[int(nth["nth"]) - 1] if nth["nth"] else "last"
        return f"on the {which} {_DAYS[int(nth['day'])]} of {months}"
    # Cron joins days of the month and of the week by "or", for which there are no short words.
    if weekday != "*":
        return None
    if monthday == "L":
        return f"on the last day of {months}"
    if monthday.isdecimal():
        is_short = bool(_in_short_months(f"0 0 {monthday} {month} *"))
        if month.isdecimal():
            return f"every year on {months} {int(monthday)}{' (or 28)' if is_short else ''}"
        return f"on {_ordinal(int(monthday))}{' (or the last day)' if is_short else ''} of {months}"
    return None


def _ordinal(day: int) -> str:
    ending = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"the {day}{ending}"


def _months_in_words(months: str) -> str | None:
    numbers = months.split(",")
    if not all(one.isdecimal() and 1 <= int(one) <= 12 for one in numbers):
        return None
    *first, last = (_MONTHS[int(one) - 1] for one in numbers)
    return f"{', '.join(first)} and {last}" if first else last


def _weekdays_in_words(weekdays: str) -> str:
    if weekdays == "*":
        return "day"
    numbers = set[int]()
    for one in weekdays.split(","):
        first, _, last = one.partition("-")
        numbers |= {n or 7 for n in range(int(first), int(last or first) + 1)}
    days = sorted(numbers)
    if days == [1, 2, 3, 4, 5]:
        return "weekday"
    if len(days) > 2 and days == list(range(days[0], days[-1] + 1)):
        return "day" if len(days) == 7 else f"{_DAYS[days[0]]} to {_DAYS[days[-1]]}"
    *before, end = (_DAYS[day] for day in days)
    return f"{', '.join(before)} and {end}" if before else end
