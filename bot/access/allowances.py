"""What each budget is, with what `/budget` changed, and what is spent of it today.

Above: `bot.access.gate`, `bot.access.budget_desk`. Below: `bot.access.budgets`, the ports Spending and Preferences.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agent.admission import Whose
from agent.ports import Clock, Preferences, Spending
from agent.spending import By, Period, Spent, Total
from bot.access.budgets import EXEMPT, MONEY, TOKENS, Budget, Budgets, exceeded, over_budget, raised

FRESH_S: Final = 5.0
"""How old the sums of channels and of everybody may be: they are added up from every call of the day."""
NAMES: Final = (TOKENS, MONEY, EXEMPT)


@dataclass(frozen=True, slots=True)
class Account:
    """Whose budget it is; `id` names the person or the channel, and nobody for everybody's."""

    whose: Whose
    id: str = ""

    @property
    def owner(self) -> str:
        """Under whose name changes are kept among the preferences."""
        match self.whose:
            case Whose.PERSON:
                return self.id
            case Whose.CHANNEL:
                return f"channel:{self.id}"
            case Whose.EVERYONE:
                return "everyone"


@dataclass(slots=True)
class Allowances:
    usual: Budgets
    spending: Spending
    preferences: Preferences
    clock: Clock
    _channels: tuple[float, Period, list[Total]] | None = None

    async def used_up(self, account: Account, now: datetime, zone: str) -> str | None:
        """The sentence for when nothing is left. A changed budget is only read once the usual one is spent."""
        usual = self.usual.of(account.whose)
        if usual.is_none:
            return None
        spent = await self.spent(account, now)
        if exceeded(spent, usual) is None:
            return None
        return over_budget(spent, await self.agreed(account), account.whose, now, zone)

    async def agreed(self, account: Account) -> Budget:
        """The budget as it stands."""
        return raised(self.usual.of(account.whose), await self.preferences.of(account.owner))

    async def change(self, account: Account, kept: dict[str, str]) -> None:
        """Keep these changes in place of all earlier ones."""
        for name in NAMES:
            await self.preferences.set(account.owner, name, kept.get(name))

    async def spent(self, account: Account, now: datetime) -> Spent:
        """Today. `now` in UTC."""
        today = Period.days_until(now, 1)
        match account.whose:
            case Whose.PERSON:
                totals = await self.spending.totals(today, By.DAY, person=account.id)
            case Whose.CHANNEL:
                totals = [total for total in await self._by_channel(today) if total.key == account.id]
            case Whose.EVERYONE:
                totals = await self._by_channel(today)
        return sum((total.spent for total in totals), Spent())

    async def _by_channel(self, today: Period) -> list[Total]:
        """A few seconds old at most."""
        now = self.clock.monotonic()
        if self._channels is None or self._channels[1] != today or now - self._channels[0] > FRESH_S:
            self._channels = (now, today, await self.spending.totals(today, By.CHANNEL))
        return self._channels[2]
