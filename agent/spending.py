"""What model calls took, summed: by person, channel, day or model. Pure.

Above: the port Spending, `store.spending`, `bot.spending_text`, `bot.turns.footer`. Below: `agent.messages`,
`agent.prices`.

Rule: days are of UTC, so that everybody's budget begins anew at the same moment.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Self

from agent.messages import ModelCall, Usage
from agent.prices import NOTHING, Money, cost


class By(StrEnum):
    """What a sum is taken for."""

    PERSON = "person"
    CHANNEL = "channel"
    DAY = "day"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class Period:
    """Days of UTC, both included."""

    first: date
    last: date

    @classmethod
    def month_of(cls, now: datetime) -> Self:
        """From the first of the month until today. `now` in UTC."""
        today = now.date()
        return cls(today.replace(day=1), today)

    @classmethod
    def days_until(cls, now: datetime, days: int) -> Self:
        """Today and the days before it, `days` in all. `now` in UTC."""
        return cls(now.date() - timedelta(days=days - 1), now.date())


@dataclass(frozen=True, slots=True)
class Spent:
    """The sum of some calls. `cost` is of those with a price, `unpriced` counts the others."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Money = NOTHING
    unpriced: int = 0

    @classmethod
    def on(cls, calls: Iterable[ModelCall]) -> "Spent":
        """The sum of these calls, at the prices of today."""
        return sum((cls._on_one(call) for call in calls), cls())

    @classmethod
    def _on_one(cls, call: ModelCall) -> "Spent":
        price = cost(call)
        return cls(1, call.usage, NOTHING if price is None else price, int(price is None))

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.usage + other.usage,
            Money(self.cost + other.cost),
            self.unpriced + other.unpriced,
        )


@dataclass(frozen=True, slots=True)
class Total:
    """What was spent for one person, channel, day or model.

    `key`: their id or name, or the day as 2026-11-21; "" for channels that were forgotten. `name`: what a person is
    called, as long as that is known.
    """

    key: str
    spent: Spent
    name: str = ""


@dataclass(frozen=True, slots=True)
class Account:
    """What one person spent today and in this month so far, today included."""

    today: Spent
    month: Spent


def account(days: Iterable[Total], now: datetime) -> Account:
    """From the totals by day of this month. `now` in UTC."""
    by_day = {total.key: total.spent for total in days}
    return Account(by_day.get(now.date().isoformat(), Spent()), sum(by_day.values(), Spent()))
