"""The usage of models, and the time of code, as the store counts them. Every call may raise StoreError."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Protocol

from agent.messages import ModelCall
from agent.spending import By, SpendingPeriod, Spent, SpentBy, Total


class Spending(Protocol):
    """The usage of model calls: tokens, and nano-dollars at list prices."""

    async def spent_on(self, day: date, *whose: SpentBy) -> list[Spent]:
        """Return what each of them has spent on a day, without the bytes that were sent."""
        ...

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        """Return the usage in these days, of everyone or of one person: a total for each key, in order of the keys."""
        ...

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = "") -> None:
        """Store the usage of calls outside of turns; `kind` is their purpose, `where` their channel."""
        ...


class CodeTime(Protocol):
    """The seconds of Python code that ran for people, by days of UTC."""

    async def charge_seconds(self, person: str, seconds: float, now: datetime) -> None:
        """Count seconds that code ran for this person, on the day of `now`."""
        ...

    async def seconds_by_day(self, person: str, period: SpendingPeriod) -> Mapping[date, float]:
        """Return the seconds of the days in this period on which code ran for the person."""
        ...
