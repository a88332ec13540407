"""What people may spend in a day, in tokens and in money, and the sentence for when it is spent. Pure.

Above: `bot.access.allowances`, `bot.access.budget_desk`, `bot.access.budget_words`. Below: `agent.spending`,
`bot.amounts`, `bot.local_time`.

Rules. A day is one of UTC, so that everybody's budget begins anew at the same moment; people read it in their own time.
What was spent is known once a turn has ended, so a budget can be passed by what was running when it was reached.
Calls without a price count in tokens only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from agent.admission import Whose
from agent.prices import Money
from agent.spending import Spent
from bot.amounts import counted, money
from bot.local_time import at


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent in one day; None is no limit."""

    tokens: int | None = None
    money: Money | None = None

    @property
    def is_none(self) -> bool:
        return self.tokens is None and self.money is None


UNLIMITED: Final = Budget()

TOKENS: Final = "budget.tokens"
MONEY: Final = "budget.money"
EXEMPT: Final = "budget.exempt"
"""The names of the preferences: whole numbers of tokens and of nano-dollars, and a mark."""


@dataclass(frozen=True, slots=True)
class Budgets:
    """The usual ones. `everyone`: all together that this bot serves."""

    person: Budget = UNLIMITED
    channel: Budget = UNLIMITED
    everyone: Budget = UNLIMITED

    def of(self, whose: Whose) -> Budget:
        match whose:
            case Whose.PERSON:
                return self.person
            case Whose.CHANNEL:
                return self.channel
            case Whose.EVERYONE:
                return self.everyone


def tokens(spent: Spent) -> int:
    """All tokens, whatever they cost."""
    used = spent.usage
    return used.input_uncached + used.input_cached + used.input_written + used.output + used.reasoning


def exceeded(spent: Spent, budget: Budget) -> str | None:
    """The limit that is reached, in words; None while there is something left."""
    if budget.tokens is not None and tokens(spent) >= budget.tokens:
        return counted(budget.tokens, "token", "tokens")
    if budget.money is not None and spent.cost >= budget.money:
        return money(budget.money)
    return None


def over_budget(spent: Spent, budget: Budget, whose: Whose, now: datetime, zone: str = "UTC") -> str | None:
    """One sentence once a budget is spent: whose, how much, until when; None while there is something left.

    `spent`: today. `now` in UTC. `zone`: the person's time zone.
    """
    limit = exceeded(spent, budget)
    if limit is None:
        return None
    return f"{_WHO[whose]} used today's budget of {limit}; it begins anew at {at(midnight(now), zone)}."


def raised(usual: Budget, kept: Mapping[str, str]) -> Budget:
    """The usual budget with what `/budget` changed: raised, never lowered, or gone. `kept`: the owner's preferences."""
    if kept.get(EXEMPT) is not None:
        return UNLIMITED
    higher = _higher(usual.money, kept.get(MONEY))
    return Budget(_higher(usual.tokens, kept.get(TOKENS)), None if higher is None else Money(higher))


def midnight(now: datetime) -> datetime:
    """When the next day begins. `now` in UTC."""
    return datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)


def _higher(usual: int | None, kept: str | None) -> int | None:
    """What is kept, if it is more."""
    if usual is None or kept is None or not kept.isdecimal():
        return usual
    return max(usual, int(kept))


_WHO: Final = {
    Whose.PERSON: "You have",
    Whose.CHANNEL: "This channel has",
    Whose.EVERYONE: "Everybody together has",
}
