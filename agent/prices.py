"""What a model call costs at its vendor's list price, from a small dated table. Pure.

Above: `agent.spending` sums it, `store.spending` keeps it with each call. Below: `agent.messages`.

Rules
  Money is a whole number of nano-dollars. In micro-dollars a cached token of the cheapest model would cost nothing.
  A price belongs to a model at one vendor: the same name at a gateway is another model, with no price here.
  No price is None, and never 0: an unknown model is not free, and what a local model costs is on another bill.
  A call is priced once, when it is stored. A newer table does not change what was paid before.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Final, NewType

from agent.messages import ModelCall

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
