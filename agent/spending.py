"""What model calls took, summed: by person, channel, day or model. Pure.

Rule: days are of UTC, so that everybody's budget begins anew at the same moment.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final, NewType, Self

from agent.messages import ModelCall, Usage

# --------------------------------------------------------------------------------------------------
# What a model call costs at its vendor's list price, from a small dated table. Pure.
#
# Rules
#   Money is a whole number of nano-dollars. In micro-dollars a cached token of the cheapest model would cost nothing.
#   A price belongs to a model at one vendor: the same name at a gateway is another model, with no price here.
#   No price is None, and never 0: an unknown model is not free, and what a local model costs is on another bill.
#   A call is priced once, when it is stored. A newer table does not change what was paid before.


Money = NewType("Money", int)
"""US dollars, in billionths."""
NOTHING: Final = Money(0)

NANO: Final = 1_000_000_000
"""The nano-dollars of one dollar. A price of $1 per million tokens is 1,000 of them per token."""

PRICES_AS_OF: Final = date(2026, 11, 20)
"""When the table was last compared with the vendors' lists."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Nano-dollars per token. `written`: into the vendor's prompt cache, for its shortest time. Reasoning is output."""

    uncached: int
    cached: int
    written: int
    output: int


@dataclass(frozen=True, slots=True)
class Price:
    """`long` holds for the whole call, output included, once its input is longer than `long_above` tokens."""

    rates: Rates
    long_above: int | None = None
    long: Rates | None = None

    def rates_for(self, tokens_in: int) -> Rates:
        if self.long is None or self.long_above is None or tokens_in <= self.long_above:
            return self.rates
        return self.long


def _openai(uncached: int, cached: int, written: int, output: int) -> Price:
    """Long prompts cost twice as much to read, and half as much again to answer."""
    long = Rates(2 * uncached, 2 * cached, 2 * written, output + output // 2)
    return Price(Rates(uncached, cached, written, output), 272_000, long)


def _read(uncached: int, cached: int, output: int) -> Price:
    """A vendor that charges nothing extra for writing its cache."""
    return Price(Rates(uncached, cached, uncached, output))


PRICES: Final[Mapping[str, Price]] = {
    "openai:gpt-6.1-sol": _openai(2_000, 100, 2_500, 10_000),
    "openai:gpt-6.1-terra": _openai(1_000, 50, 1_250, 5_000),
    "openai:gpt-6-luna": _openai(100, 10, 125, 500),
    "openai-realtime:gpt-realtime-2.1": _read(4_000, 400, 24_000),
    "openai-realtime:gpt-realtime-2.1-mini": _read(600, 60, 2_400),
    "anthropic:claude-opus-5-5": Price(Rates(4_000, 200, 5_000, 20_000)),
    "anthropic:claude-sonnet-5-5": Price(Rates(2_000, 100, 2_500, 10_000)),
    "anthropic:claude-haiku-5-5": Price(Rates(100, 10, 125, 500), 100_000, Rates(500, 50, 625, 2_500)),
    "gemini:gemini-4-argon": _read(2_000, 100, 10_000),
    "gemini:gemini-3.8-flash": _read(750, 75, 3_750),
    "gemini:gemini-3.5-flash-lite": _read(300, 30, 2_500),
    "mistral:mistral-medium": _read(1_500, 150, 7_500),
    "openai:text-embedding-3-small": _read(20, 20, 0),
    "openai:text-embedding-3-large": _read(130, 130, 0),
}
"""By the model's name as COGENCY_MODEL has it, without a date. Text only."""

_VERSION: Final = re.compile(r"-(?:latest|\d{4}-\d{2}-\d{2}|\d{8}|\d{2}-\d{4}|\d{3,4})$")
"""How vendors name one version of a model: -2026-09-01, -20260901, -09-2026, -001, -2512."""


def price_of(model: str) -> Price | None:
    """The price of "provider:name", whichever version of the model that is; None if it is not in the table."""
    return PRICES.get(model) or PRICES.get(_VERSION.sub("", model))


def cost(call: ModelCall) -> Money | None:
    """What the call costs at list price; None if its model has none here."""
    price = price_of(call.model)
    if price is None:
        return None
    used = call.usage
    rates = price.rates_for(used.input_uncached + used.input_cached + used.input_written)
    return Money(
        used.input_uncached * rates.uncached
        + used.input_cached * rates.cached
        + used.input_written * rates.written
        + (used.output + used.reasoning) * rates.output
    )


class By(StrEnum):
    """What a sum is taken for."""

    PERSON = "person"
    CHANNEL = "channel"
    DAY = "day"
    MODEL = "model"


@dataclass(frozen=True, slots=True)
class SpendingPeriod:
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
class SpendingAccount:
    """What one person spent today and in this month so far, today included."""

    today: Spent
    month: Spent


def account(days: Iterable[Total], now: datetime) -> SpendingAccount:
    """From the totals by day of this month. `now` in UTC."""
    by_day = {total.key: total.spent for total in days}
    return SpendingAccount(by_day.get(now.date().isoformat(), Spent()), sum(by_day.values(), Spent()))
