"""The usage and cost of model calls, summed by person, channel, day or model; and the duration of turns. Pure.

Rule: days are in UTC, so that all budgets reset at the same moment.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NewType, Self

from agent.messages import CallTiming, ModelCall, Usage
from agent.model_names import model_behind

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation
    from genai_prices.types import Provider as PricedVendor

# The cost of a model call at its vendor's list price, by the prices that genai-prices ships.
#
# Rules
#   Money is a whole number of nano-dollars. In micro-dollars a cached token of the cheapest model would cost nothing.
#   A price belongs to a model at one vendor: the same name at a gateway has the gateway's price, if it is known.
#   An unknown price is None, never 0: an unknown model is not free, and a local model is paid for elsewhere.
#   Mistral's names without a version mean the newest version, and genai-prices may lag behind: if its price for such a
#   name differs from that of the newest version that it knows by month, it may be wrong, and the price is None.
#   A call is priced once, when it is stored. Newer prices do not change earlier costs.

Money = NewType("Money", int)  # US dollars, in billionths
NOTHING: Final = Money(0)

# The nano-dollars of one dollar. A price of $1 per million tokens is 1,000 of them per token.
NANO: Final = 1_000_000_000

# The date for prices that have a start or an end: the date of the locked version of genai-prices.
PRICES_AS_OF: Final = date(2026, 11, 20)
_NOON: Final = datetime.combine(PRICES_AS_OF, time(12), UTC)
# A turn asks several times what each of its calls has cost: its budgets, its row and its footer.
PRICES_KEPT: Final = 256

# Our names of vendors, and those of genai-prices. Gemini Live bills speech, which cannot be derived from text tokens.
_VENDORS: Final = {
    "openai": "openai",
    "openai-realtime": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "mistral": "mistral",
    "xai": "x-ai",
    "openrouter": "openrouter",
    "azure": "azure",
    "vertex": "google",
    "bedrock": "aws",
}

_MONTH: Final = re.compile(r"\d{4}", re.ASCII)


def cost(call: ModelCall) -> Money | None:
    """Return the cost of the call (of "openai:gpt-6-luna") at list price; None if its model has none."""
    return _priced(call.model, call.usage)


@lru_cache(maxsize=PRICES_KEPT)
def _priced(name: str, usage: Usage) -> Money | None:
    vendor, _, model = name.partition(":")
    if vendor not in _VENDORS:
        return None
    model = model_behind(vendor, model)
    import genai_prices  # noqa: PLC0415 -- 0.1 s and 3 MB, which a start avoids

    tokens = genai_prices.Usage(
        input_tokens=usage.input_uncached + usage.input_cached + usage.input_written,
        cache_read_tokens=usage.input_cached,
        cache_write_tokens=usage.input_written,
        output_tokens=usage.output + usage.reasoning,
    )

    def price_of(name: str) -> "PriceCalculation":
        return genai_prices.calc_price(tokens, name, provider_id=_VENDORS[vendor], genai_request_timestamp=_NOON)

    try:
        price = price_of(model)
    except LookupError:
        return None
    newest = _newest_version(price.provider, model) if vendor == "mistral" else model
    if price.model_price.input_mtok is None or (newest != model and price_of(newest).total_price != price.total_price):
        return None
    return Money(round(price.total_price * NANO))


def context_window(name: str) -> int | None:
    """Return how many tokens the context of a model holds ("azure:chat/gpt-6.1-terra"), by the same table; None if that
    does not say.
    """
    vendor, _, model = name.partition(":")
    if vendor not in _VENDORS:
        return None
    import genai_prices  # noqa: PLC0415 -- as above

    try:
        found = genai_prices.calc_price(
            genai_prices.Usage(),
            model_behind(vendor, model),
            provider_id=_VENDORS[vendor],
            genai_request_timestamp=_NOON,
        )
    except LookupError:
        return None
    return found.model.context_window


def _newest_version(vendor: "PricedVendor", model: str) -> str:
    """Return the newest name with a month ("mistral-large-2512") for a name without one; else the name itself."""
    matches = [priced_model.match for priced_model in vendor.models]
    clauses = [clause for match in matches for clause in getattr(match, "or_", (match,))]
    names = (str(getattr(clause, "equals", "")) for clause in clauses)
    family = model.removesuffix("-latest")
    return max((name for name in names if _MONTH.fullmatch(name.removeprefix(f"{family}-"))), default=model)


class By(StrEnum):
    """The key by which usage is summed."""

    PERSON = "person"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    """A Slack workspace; a platform without workspaces is a single one, such as "discord"."""
    DAY = "day"
    MODEL = "model"
    DOOR = "door"
    """The value of `agent.doors.Door`; "" for the chat."""
    KEY = "key"
    """Whose key the service billed: OPERATORS_KEY or CHANNELS_KEY."""


OPERATORS_KEY: Final = "the operator's keys"
CHANNELS_KEY: Final = "channels' own keys"


# The prefix of the owner of a workspace's preferences ("workspace:slack:T0123").
WORKSPACE: Final = "workspace:"
APP: Final = "app"  # The preference of a workspace that names its app, where there are several apps


@dataclass(frozen=True, slots=True)
class SpentBy:
    """Whose calls are summed up: those for these people, for the people of a workspace (`source`), in a channel; with
    none of them, everyone's.
    """

    people: tuple[str, ...] = ()
    source: str = ""
    channel: str = ""


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
    """The sum of some calls. `cost` sums the calls with a price, `unpriced` counts the others."""

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: Money = NOTHING
    unpriced: int = 0

    @classmethod
    def on(cls, calls: Iterable[ModelCall]) -> "Spent":
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
    """The spending of one person, channel, day or model.

    `key`: the id or name, or the day as 2026-11-21; "" for forgotten channels. `name`: a person's name, if known.
    """

    key: str
    spent: Spent
    name: str = ""


@dataclass(frozen=True, slots=True)
class SpendingAccount:
    """One person's spending today and in this month so far, today included."""

    today: Spent
    month: Spent


def account(days: Iterable[Total], now: datetime) -> SpendingAccount:
    by_day = _sum_by_key((total.key, total.spent) for total in days)
    return SpendingAccount(by_day.get(now.date().isoformat(), Spent()), sum(by_day.values(), Spent()))


MIN_DAY: Final = timedelta(hours=4)  # Of a day of UTC: before, one long answer would be taken for a habit
MIN_DAYS: Final = timedelta(days=3)  # From the first day with calls: a week has days without work
MIN_CALLS: Final = 5


@dataclass(frozen=True, slots=True)
class Forecast:
    """How many times as much as until now a day and a month of UTC will have cost in all, if it goes on at this pace;
    None if there is too little to say.
    """

    day: float | None = None
    month: float | None = None


def forecast(days: Iterable[Total], now: datetime) -> Forecast:
    """`days`: those of this month until now, with their keys. `now` in UTC."""
    by_day = {key: spent for key, spent in _sum_by_key((each.key, each.spent) for each in days).items() if spent.calls}
    today, calls = by_day.get(now.date().isoformat(), Spent()), sum(spent.calls for spent in by_day.values())
    elapsed = now - datetime.combine(now.date(), time(), UTC)
    day = timedelta(days=1) / elapsed if elapsed >= MIN_DAY and today.calls >= MIN_CALLS else None
    if not by_day or calls < MIN_CALLS:
        return Forecast(day)
    began = datetime.combine(date.fromisoformat(min(by_day)), time(), UTC)
    next_month = (now.date().replace(day=1) + timedelta(days=32)).replace(day=1)
    whole = datetime.combine(next_month, time(), UTC) - began
    return Forecast(day, whole / (now - began) if now - began >= MIN_DAYS else None)


@dataclass(frozen=True, slots=True)
class SpendingSpread:
    """The spending in a period, by day ("2026-11-21") and model; and that of the people, channels and workspaces with
    the highest spending, the highest first. These are only some, so their sum may be less than the whole.
    """

    by_day: Mapping[tuple[str, str], Spent]
    people: Sequence[Total] = ()
    channels: Sequence[Total] = ()
    workspaces: Sequence[Total] = ()

    @property
    def whole(self) -> Spent:
        return sum(self.by_day.values(), Spent())

    def of_days(self) -> dict[str, Spent]:
        return _sum_by_key((day, spent) for (day, _), spent in self.by_day.items())

    def of_models(self) -> dict[str, Spent]:
        return _sum_by_key((model, spent) for (_, model), spent in self.by_day.items())


def _sum_by_key(items: Iterable[tuple[str, Spent]]) -> dict[str, Spent]:
    sums = dict[str, Spent]()
    for key, spent in items:
        sums[key] = sums.get(key, Spent()) + spent
    return sums


# The duration of turns.


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that is over. `seconds`: from its acceptance until its end."""

    id: int
    ended: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A model call in a turn. `cost`: None if its model has no price."""

    model: str
    usage: Usage
    cost: Money | None
    timing: CallTiming | None


@dataclass(frozen=True, slots=True)
class ToolTook:
    """A tool call in a turn, without its arguments. `ms`: None until it has ended."""

    tool: str
    began: datetime
    ms: int | None
    effect: str
    decision: str
    outcome: str


@dataclass(frozen=True, slots=True)
class TurnTook:
    """How a turn spent its time. `began`: its first claim; None for turns from versions that did not store it.

    `name`: the asker's name, if known.
    """

    id: int
    person: str
    name: str
    source: str
    channel: str
    outcome: str
    attempts: int
    taken: datetime
    began: datetime | None
    ended: datetime
    calls: tuple[AnsweredCall, ...] = ()
    tools: tuple[ToolTook, ...] = ()

    @property
    def seconds(self) -> float:
        return (self.ended - self.taken).total_seconds()
