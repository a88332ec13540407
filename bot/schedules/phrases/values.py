"""What words about times mean, whenever they were written. Pure values."""

from dataclasses import dataclass
from datetime import date
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class InDays:
    days: int


@dataclass(frozen=True, slots=True)
class OnWeekdays:
    """Days from 0 for Monday on. `coming`: "next", of an unclear week; `week`: of this week (0), or so many later.
    `habit`: "le lundi", which may be every Monday.
    """

    days: tuple[int, ...]
    coming: bool = False
    week: int | None = None
    habit: bool = False


@dataclass(frozen=True, slots=True)
class OnDate:
    """`year`: below 100 if it was written with two digits."""

    month: int
    day: int
    year: int | None = None


@dataclass(frozen=True, slots=True)
class EitherDate:
    """ "3/4": 3 April or 4 March."""

    dates: tuple[OnDate, OnDate]


@dataclass(frozen=True, slots=True)
class OnMonthday:
    """-1 is the last. `months`: of this month (0), or so many later; None for the next such day. `bare`: a number
    without a word that marks it as a day.
    """

    day: int
    months: int | None = None
    bare: bool = False


@dataclass(frozen=True, slots=True)
class OnNthWeekday:
    """The first Monday of a month; -1 the last. `month`: of that month of the year; `months`: as for OnMonthday."""

    nth: int
    weekday: int
    month: int | None = None
    months: int | None = None


@dataclass(frozen=True, slots=True)
class NamedDay:
    """ "Friday, 3 December": nothing if that is no Friday."""

    weekday: int
    date: "OnDate | EitherDate | OnMonthday"


TimeOfDays: TypeAlias = InDays | OnWeekdays | OnDate | EitherDate | OnMonthday | OnNthWeekday | NamedDay


@dataclass(frozen=True, slots=True)
class ClockTime:
    """`spoken`: on a twelve-hour clock, unless something else is said. `marked`: it cannot be another number."""

    hour: int
    minute: int = 0
    second: int = 0
    spoken: bool = False
    part: str = ""
    midnight: bool = False
    marked: bool = True


@dataclass(frozen=True, slots=True)
class ClockTimes:
    times: tuple[ClockTime, ...]


@dataclass(frozen=True, slots=True)
class TimeAfter:
    seconds: int = 0
    days: int = 0
    months: int = 0

    def __add__(self, other: "TimeAfter") -> "TimeAfter":
        return TimeAfter(self.seconds + other.seconds, self.days + other.days, self.months + other.months)


@dataclass(frozen=True, slots=True)
class Repetition:
    unit: str
    count: int = 1
    weekdays: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """ "for 3 weeks", or "5 times"."""

    length: TimeAfter | None = None
    times: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """The hours between which a repetition comes, both included."""

    begin: ClockTime
    end: ClockTime


@dataclass(frozen=True, slots=True)
class ZoneRead:
    """`name`: an IANA name, "" if there is none. `minutes`: east of UTC, if the words say so."""

    name: str
    minutes: int | None = None


@dataclass(frozen=True, slots=True)
class Except:
    weekdays: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Roles:
    """Several items in one expression: "tonight", "the first Monday of every month"."""

    values: tuple[tuple[str, "TimeValue"], ...]


TimeValue: TypeAlias = (
    TimeOfDays | ClockTime | ClockTimes | TimeAfter | Repetition | Span | Window | ZoneRead | Except | str
)


def valid_date(month: int, day: int, year: int | None) -> OnDate | None:
    try:
        date(year or 2_000, month, day)
    except ValueError:
        return None
    return OnDate(month, day, year)
