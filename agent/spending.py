"""What model calls took, summed: by person, channel, day or model; and what turns took of time. Pure.

Rule: days are of UTC, so that everybody's budget begins anew at the same moment.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NewType, Self

from agent.messages import CallTiming, ModelCall, Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation
    from genai_prices.types import Provider as PricedVendor

# What a model call costs at its vendor's list price, by the prices that genai-prices ships.
#
# Rules
#   Money is a whole number of nano-dollars. In micro-dollars a cached token of the cheapest model would cost nothing.
#   A price belongs to a model at one vendor: the same name at a gateway costs what that gateway says, if it is known.
#   No price is None, and never 0: an unknown model is not free, and what a local model costs is on another bill.
#   Mistral's names without a version move to the newest one, and genai-prices may lag behind: where it prices such a
#   name unlike the newest version that it knows by its month, it may be wrong, and there is no price.
#   A call is priced once, when it is stored. Newer prices do not change what was paid before.

Money = NewType("Money", int)  # US dollars, in billionths
NOTHING: Final = Money(0)

# The nano-dollars of one dollar. A price of $1 per million tokens is 1,000 of them per token.
NANO: Final = 1_000_000_000

# Prices with a beginning or an end are those of this day, of which the locked genai-prices is.
PRICES_AS_OF: Final = date(2026, 11, 20)
_NOON: Final = datetime.combine(PRICES_AS_OF, time(12), UTC)

# Our names of vendors, and those of genai-prices. Gemini Live bills speech, which no count of text tells.
_VENDORS: Final = {
    "openai": "openai",
    "openai-realtime": "openai",
    "anthropic": "anthropic",
    "gemini": "google",
    "mistral": "mistral",
    "xai": "x-ai",
    "openrouter": "openrouter",
}

_MONTH: Final = re.compile(r"\d{4}", re.ASCII)


def cost(call: ModelCall) -> Money | None:
    """What the call ("openai:gpt-6-luna") costs at list price; None if its model has none."""
    vendor, _, model = call.model.partition(":")
    if vendor not in _VENDORS:
        return None
    import genai_prices  # noqa: PLC0415 -- 0.1 s and 3 MB, which a start does without

    used = call.usage
    tokens = genai_prices.Usage(
        input_tokens=used.input_uncached + used.input_cached + used.input_written,
        cache_read_tokens=used.input_cached,
        cache_write_tokens=used.input_written,
        output_tokens=used.output + used.reasoning,
    )

    def priced(name: str) -> "PriceCalculation":
        return genai_prices.calc_price(tokens, name, provider_id=_VENDORS[vendor], genai_request_timestamp=_NOON)

    try:
        found = priced(model)
    except LookupError:
        return None
    newest = _newest_version(found.provider, model) if vendor == "mistral" else model
    if found.model_price.input_mtok is None or (newest != model and priced(newest).total_price != found.total_price):
        return None
    return Money(round(found.total_price * NANO))


def _newest_version(vendor: "PricedVendor", model: str) -> str:
    """The newest of the names that say their month ("mistral-large-2512"), for one without; else the name itself."""
    matches = [one.match for one in vendor.models]
    clauses = [clause for match in matches for clause in getattr(match, "or_", (match,))]
    names = (str(getattr(clause, "equals", "")) for clause in clauses)
    family = model.removesuffix("-latest")
    return max((name for name in names if _MONTH.fullmatch(name.removeprefix(f"{family}-"))), default=model)


class By(StrEnum):
    """What a sum is taken for."""

    PERSON = "person"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    """Of Slack; what has none is one itself, as "discord"."""
    DAY = "day"
    MODEL = "model"


# Preferences of a workspace are kept under this and its name ("workspace:slack:T0123"),…
WORKSPACE: Final = "workspace:"
APP: Final = "app"  # … among them what its app is called among several


def workspace_of(person: str) -> str:
    """Of whose workspace a person is, by their id: "slack:T0123" of "slack:T0123:U0123"."""
    return person.rpartition(":")[0]


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
    by_day = {total.key: total.spent for total in days}
    return SpendingAccount(by_day.get(now.date().isoformat(), Spent()), sum(by_day.values(), Spent()))


@dataclass(frozen=True, slots=True)
class SpendingSpread:
    """What was spent in a period, by day ("2026-11-21") and model; and by the people and the channels of which it was
    most, the most expensive first: some of them, so their sum may be less.
    """

    by_day: Mapping[tuple[str, str], Spent]
    people: Sequence[Total] = ()
    channels: Sequence[Total] = ()
    workspaces: Sequence[Total] = ()

    @property
    def whole(self) -> Spent:
        return sum(self.by_day.values(), Spent())

    def of_days(self) -> dict[str, Spent]:
        return _summed((day, spent) for (day, _), spent in self.by_day.items())

    def of_models(self) -> dict[str, Spent]:
        return _summed((model, spent) for (_, model), spent in self.by_day.items())


def _summed(some: Iterable[tuple[str, Spent]]) -> dict[str, Spent]:
    sums = dict[str, Spent]()
    for key, spent in some:
        sums[key] = sums.get(key, Spent()) + spent
    return sums


# What turns took of people's time.


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn that is over, from its being taken in until its end."""

    id: int
    ended: datetime
    seconds: float


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """A call of a model in a turn. `cost`: None if its model has no price."""

    model: str
    usage: Usage
    cost: Money | None
    timing: CallTiming | None


@dataclass(frozen=True, slots=True)
class ToolTook:
    """A call of a tool in a turn: no word of what it was given. `ms`: None until it has ended."""

    tool: str
    began: datetime
    ms: int | None
    effect: str
    decision: str
    outcome: str


@dataclass(frozen=True, slots=True)
class TurnTook:
    """Where the time of a turn went. `began`: when it was claimed first; None of one that is older than this is kept.

    `name`: what its asker is called, as long as that is known.
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
