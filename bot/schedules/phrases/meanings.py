"""What each rule of schedule_lexicon.toml means, given the values of its slots. Pure.

A rule's name is that of its kind and its action: "time.half" in the file is `ACTIONS["time.half"]` here. A function
returns None where the words mean nothing: "31 February", half a month.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from bot.schedules.phrases.grammar import Bindings
from bot.schedules.phrases.values import (
    ClockTime,
    EitherDate,
    Except,
    InDays,
    NamedDay,
    OnDate,
    OnMonthday,
    OnNthWeekday,
    OnWeekdays,
    Repetition,
    Roles,
    Span,
    TimeAfter,
    TimeOfDays,
    Window,
    valid_date,
)

WORKDAYS: Final = (0, 1, 2, 3, 4)
# "Every second Tuesday" is every other week, or once a month.
UNSURE: Final = Repetition("unsure")
MONTHS: Final = 12
MONTHS_OF: Final = {"quarter": ("month", 3)}


def _int(bound: Bindings, name: str, default: int = 0) -> int:
    value = bound.get(name, default)
    return value if isinstance(value, int) else default


def _number(bound: Bindings, name: str = "n") -> float:
    value = bound.get(name)
    return value if isinstance(value, int | float) else 0


def _text(bound: Bindings, name: str) -> str:
    return str(bound.get(name, ""))


def _spoken(hour: int, minute: int = 0, *, minutes_before: int = 0) -> ClockTime:
    """A time in words; `minutes_before`: of the hour, as in "ten to nine"."""
    minute_of_day = (hour * 60 + minute - minutes_before) % (24 * 60)
    shown, spoken = minute_of_day // 60, 1 <= hour <= 12
    return ClockTime(12 if shown == 0 and spoken else shown, minute_of_day % 60, spoken=spoken)


def _hour_of(bound: Bindings) -> int:
    """The hour in words: "noon" and "midnight" have none of their own."""
    return 12 if "noon" in bound else 0 if "midnight" in bound else _int(bound, "hour")


def _hour(bound: Bindings, minutes: int) -> ClockTime | None:
    hour = _hour_of(bound)
    if "noon" in bound:
        return ClockTime(12, minutes)
    return _spoken(hour % 24, minutes) if hour <= 24 else None


def _before(bound: Bindings, minutes: int) -> ClockTime:
    """So many minutes before an hour; before noon and midnight they are those of a clock of 24 hours."""
    clock = _spoken(_hour_of(bound), minutes_before=minutes)
    return replace(clock, spoken=False) if {"noon", "midnight"} & set(bound) else clock


def _clock(bound: Bindings) -> ClockTime | None:
    """A time with what stands around it. Of ".", and of 1530, something has to say that it is one."""
    clock = bound["time"]
    if not isinstance(clock, ClockTime):
        return None
    part = _text(bound, "ap")
    if part and clock.hour > 12 and (clock.hour > 23 or part == "am"):
        return None
    marked = bool(clock.marked or part or {"at", "oclock", "sharp"} & set(bound))
    spoken = clock.spoken and not (part and clock.hour > 12)
    return replace(clock, part=part or clock.part, marked=marked, spoken=spoken)


def _amount(number: float, unit: str) -> TimeAfter | None:
    """An amount of time; None for a part of a month or a year, or of a second."""
    seconds = {"second": 1, "minute": 60, "hour": 3_600}.get(unit)
    if seconds is not None:
        return TimeAfter(seconds=round(number * seconds)) if number > 0 else None
    days = {"day": 1, "week": 7}.get(unit)
    if days is not None:
        whole = number * days
        return TimeAfter(days=int(whole)) if whole == int(whole) > 0 else None
    whole = number * {"month": 1, "quarter": 3, "year": 12}.get(unit, 0)
    return TimeAfter(months=int(whole)) if whole == int(whole) > 0 else None


def _after_day(bound: Bindings) -> InDays | None:
    span = bound["duration"]
    if not isinstance(span, TimeAfter) or span.seconds or span.months:
        return None
    return InDays(span.days + _int(bound, "day-word"))


def _repetition(bound: Bindings) -> Repetition | None:
    unit, number = _text(bound, "unit"), bound.get("n", 1)
    count = 2 if "other" in bound else _int(bound, "nth") if "nth" in bound else number
    if not isinstance(count, int) or count < 1:
        return None
    return Repetition(*MONTHS_OF.get(unit, (unit, 1))) if count == 1 else Repetition(unit, count)


def _days(bound: Bindings, name: str) -> tuple[int, ...] | None:
    values = bound.get(name)
    return tuple(day for day in values if isinstance(day, int)) if isinstance(values, tuple) else None  # pyright: ignore[reportUnknownVariableType] -- a tuple of days


def _weekly(days: tuple[int, ...] | None, count: int = 1) -> Repetition | None:
    return Repetition("week", count, days) if days else None


def _weekdays(bound: Bindings) -> Repetition | None:
    days = _days(bound, "weekdays") or _days(bound, "weekday-range") or (_int(bound, "weekday"),)
    return _weekly(days, 2 if "other" in bound else _int(bound, "n", 1))


def _date(bound: Bindings) -> TimeOfDays | None:
    day = _int(bound, "d") or _int(bound, "day-number")
    return valid_date(_int(bound, "month"), day, _int(bound, "year") or None)


def _named(bound: Bindings) -> NamedDay | None:
    if "date" not in bound:
        number = _int(bound, "day-number") or _int(bound, "dth")
        return NamedDay(_int(bound, "weekday"), OnMonthday(number))
    day = bound["date"]
    return NamedDay(_int(bound, "weekday"), day) if isinstance(day, OnDate | EitherDate) else None


def _nth(bound: Bindings) -> OnNthWeekday:
    months = _int(bound, "month-word") if "month-word" in bound else None
    return OnNthWeekday(_int(bound, "nth"), _int(bound, "weekday"), _int(bound, "month") or None, months)


def _monthday(bound: Bindings) -> OnMonthday:
    months = _int(bound, "month-word") if "month-word" in bound else None
    return OnMonthday(_int(bound, "dth") or _int(bound, "day-number"), months)


def _monthly(day: OnMonthday | OnNthWeekday) -> Roles:
    return Roles((("every", Repetition("month")), ("day", day)))


def _today(part: str) -> Roles:
    return Roles((("day", InDays(0)), ("part", part)))


def _weekday_part(bound: Bindings, *, coming: bool) -> Roles | None:
    """ "Freitagabend"."""
    day, _, part = _text(bound, "weekday-part").partition(" ")
    return Roles((("day", OnWeekdays((int(day),), coming=coming)), ("part", part)))


def _holiday(bound: Bindings) -> OnDate:
    month, _, day = _text(bound, "holiday").partition("-")
    return OnDate(int(month), int(day))


def _part_of_days(bound: Bindings) -> Roles:
    part = next(_text(bound, name) for name in ("part-noun", "mornings") if name in bound)
    return Roles((("every", Repetition("day")), ("part", part)))


def _window(bound: Bindings) -> Window | None:
    times = list[ClockTime]()
    for suffix in ("", "2"):
        clock = bound[f"time{suffix}"]
        if not isinstance(clock, ClockTime):
            return None
        times.append(replace(clock, part=_text(bound, f"ap{suffix}")))
    begin, end = times
    if end.part == "pm" and not begin.part and begin.hour < end.hour % 12:
        begin = replace(begin, part="pm")  # "between 2 and 5pm"
    begin, end = _on_the_day(begin), _on_the_day(end)
    if (end.hour, end.minute) < (begin.hour, begin.minute) and end.hour < 12 and end.spoken:
        end = replace(end, hour=end.hour + 12)  # "from 9 to 5"
    return Window(begin, end) if (begin.hour, begin.minute) < (end.hour, end.minute) else None


def _on_the_day(clock: ClockTime) -> ClockTime:
    """The time on a clock of 24 hours, as "am" and "pm" say."""
    if clock.part not in {"am", "pm"} or clock.hour > 12:
        return clock
    return replace(clock, hour=clock.hour % 12 + (12 if clock.part == "pm" else 0), spoken=False)


def _span(bound: Bindings) -> Span | None:
    length = _amount(_number(bound), _text(bound, "unit") or _text(bound, "span-unit"))
    return Span(length) if length is not None else None


def _times(bound: Bindings) -> Span | None:
    count = _int(bound, "n")
    return Span(times=count) if 1 <= count <= 1_000 else None


def _halved(bound: Bindings, part: float) -> TimeAfter | None:
    return _amount(_number(bound) + part, _text(bound, "unit"))


def _adverb(bound: Bindings) -> Repetition:
    unit = _text(bound, "adverb")
    return Repetition(*MONTHS_OF.get(unit, (unit, 1)))


ACTIONS: Final[Mapping[str, Callable[[Bindings], object]]] = {
    "time.hm": lambda b: b["hm"],
    "time.dotted": lambda b: b["dotted"],
    "time.sure-dotted": lambda b: (
        replace(clock, marked=True)
        if isinstance(clock := b["dotted"], ClockTime) and not 1 <= clock.minute <= MONTHS
        else None  # which may be a date
    ),
    "time.hour": lambda b: replace(hour, marked=False) if (hour := _hour(b, 0)) else None,
    "time.padded": lambda b: ClockTime(_int(b, "padded"), marked=False),
    "time.sure": lambda b: _hour(b, 0),
    "time.minutes": lambda b: replace(
        _spoken(_int(b, "hour") or _int(b, "hour-word"), _int(b, "minute") or _int(b, "minute-word")),
        second=_int(b, "second"),
    ),
    "time.past": lambda b: _hour(b, _int(b, "minute")),
    "time.to": lambda b: _before(b, _int(b, "minute")),
    "time.half": lambda b: _spoken(_int(b, "hour-word"), 30) if "hour-word" in b else _hour(b, 30),
    "time.quarter": lambda b: _hour(b, 15),
    "time.three-quarters": lambda b: _hour(b, 45),
    "time.quarter-to": lambda b: _before(b, 15),
    "time.half-to": lambda b: _spoken(_int(b, "hour"), minutes_before=30),
    "time.quarter-of": lambda b: _spoken(_int(b, "hour"), minutes_before=45),
    "time.past-half-to": lambda b: _spoken(_int(b, "hour"), _int(b, "minute"), minutes_before=30),
    "time.to-half-to": lambda b: _spoken(_int(b, "hour"), minutes_before=30 + _int(b, "minute")),
    "time.noon": lambda _: ClockTime(12),
    "time.midnight": lambda _: ClockTime(0, midnight=True),
    "time.seconds": lambda b: replace(_spoken(_int(b, "hour"), _int(b, "minute")), second=_int(b, "second")),
    "time.hm-seconds": lambda b: (
        replace(hm, second=_int(b, "second")) if isinstance(hm := b["hm"], ClockTime) else None
    ),
    "clock.time": _clock,
    "clock.compact": lambda b: _clock({**b, "time": b["compact"]}),
    "clock.ish": lambda b: replace(clock, marked=True) if (clock := _clock(b)) else None,
    "date.numeric": lambda b: b["numdate"],
    "date.day-month": _date,
    "date.month-day": _date,
    "date.year-first": _date,
    "date.holiday": _holiday,
    "day.relative": lambda b: InDays(_int(b, "day-word")),
    "day.date": lambda b: _holiday(b) if "holiday" in b else b["date"],
    "day.weekday": lambda b: OnWeekdays(days) if (days := _days(b, "weekdays")) else None,
    "day.habit": lambda b: OnWeekdays((_int(b, "weekday"),), habit=True),
    "day.named-date": _named,
    "day.named-monthday": _named,
    "day.coming": lambda b: OnWeekdays((_int(b, "weekday"),), coming=True),
    "day.in-week": lambda b: OnWeekdays((_int(b, "weekday"),), week=_int(b, "week-word")),
    "day.monthday": _monthday,
    "day.number": lambda b: OnMonthday(_int(b, "day-number"), bare=True),
    "day.nth": lambda b: _nth(b) if "month-word" in b or _int(b, "nth") > 0 else None,  # "last Monday" is over
    "day.nth-month": _nth,
    "day.last-of-month": lambda _: OnMonthday(-1),
    "tonight.tomorrow": lambda b: Roles((("day", InDays(1)), ("part", _text(b, "tomorrow-word")))),
    "tonight.part": lambda b: _today(_text(b, "tonight-word")),
    "tonight.weekday-part": lambda b: _weekday_part(b, coming=False),
    "tonight.next-weekday-part": lambda b: _weekday_part(b, coming=True),
    "part.part": lambda b: b["part-word"],
    "every.unit": _repetition,
    "every.weekdays": _weekdays,
    "every.repeated": lambda b: _weekly(
        _days(b, "repeateds") or _days(b, "repeated-range") or _days(b, "weekdaysplural")
    ),
    "every.second": lambda b: _monthly(OnNthWeekday(2, _int(b, "weekday"))),
    "every.hours": lambda b: Repetition("hour", n) if isinstance(n := b["n"], int) else None,
    "every.workday": lambda b: Repetition("week", _int(b, "n", 1), WORKDAYS),
    "every.workdays": lambda _: Repetition("week", 1, WORKDAYS),
    "every.weekend": lambda _: Repetition("week", 1, (5, 6)),
    "every.range": lambda b: _weekly(_days(b, "weekday-range")),
    "every.adverb": _adverb,
    "every.fortnightly": lambda b: (
        _weekly((day,), 2) if isinstance(day := b.get("weekday"), int) else Repetition("week", 2)
    ),
    "every.alternate": lambda _: Repetition("day", 2),
    "every.part": _part_of_days,
    "every.date": lambda b: (
        Roles((("every", Repetition("year")), ("day", day)))
        if isinstance(day := b["date"], OnDate | EitherDate)
        else None
    ),
    "every.nth-alone": lambda b: UNSURE if _int(b, "nth") == 2 else _monthly(_nth(b)),
    "every.nth": lambda b: _monthly(_nth(b)),
    "every.nth-of-each": lambda b: _monthly(_nth(b)),
    "every.monthday": lambda b: _monthly(_monthday(b)),
    "every.nth-last": lambda _: _monthly(OnMonthday(-1)),
    "until.day": lambda b: b["day"],
    "from.day": lambda b: b["day"],
    "lasting.span": _span,
    "lasting.times": _times,
    "except.days": lambda b: Except(days) if (days := _days(b, "weekdays") or _days(b, "repeateds")) else None,
    "except.weekend": lambda _: Except((5, 6)),
    "between.times": _window,
    "amount.unit": lambda b: _amount(_number(b), _text(b, "unit")),
    "amount.and-half": lambda b: _halved(b, 0.5),
    "amount.half": lambda b: _halved(b, 0.5),
    "amount.one-half": lambda b: _halved(b, 1.5),
    "amount.quarter": lambda b: _halved(b, 0.25),
    "amount.three-quarters": lambda b: _halved(b, 0.75),
    "amount.couple": lambda b: _halved(b, 2),
    "amount.halfhour": lambda _: TimeAfter(seconds=1_800),
    "amount.quarterhour": lambda _: TimeAfter(seconds=900),
    "amount.fortnight": lambda _: TimeAfter(days=14),
    "amount.hours-minutes": lambda b: b["hours-minutes"],
    "after.in": lambda b: b["duration"],
    "after.later": lambda b: b["duration"],
    "after.from-day": lambda b: Roles((("day", day),)) if (day := _after_day(b)) else None,
    "zone.name": lambda b: b["zone-name"],
    "zone.city": lambda b: b["city"],
}
