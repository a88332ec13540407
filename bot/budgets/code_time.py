"""The budget of Python code: how many seconds of it may run for one person in a day of UTC.

Rules
  A run counts once it has ended, so one that begins before the budget is spent may exceed it.
  Only code is refused then: questions are still answered. `exempt` of `/budget` lifts this limit, too, and operators
  have none.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from agent.ports.clock import Clock
from agent.ports.preferences import Preferences
from agent.ports.spending import CodeTime
from agent.spending import SpendingPeriod
from bot.budgets import texts as budgets_texts
from bot.budgets.budgets import EXEMPT
from bot.chat.texts.formatting import counted

DEFAULT_SECONDS: Final = 600  # Twenty runs of the longest kind, or a few hundred charts


@dataclass(frozen=True, slots=True)
class CodeBudget:
    """`usual`: seconds; None: no limit. `operates`: whether a person, by their id, is an operator."""

    time: CodeTime
    preferences: Preferences
    clock: Clock
    operates: Callable[[str], bool]
    usual: int | None = DEFAULT_SECONDS

    async def used_up(self, person: str) -> str | None:
        """Return a sentence once the person's seconds are used up; None while some are left. Raises StoreError."""
        if self.usual is None or await self._today(person) < self.usual:
            return None
        limit = await self._limit(person)
        return None if limit is None else budgets_texts.CODE_USED.format(limit=_in_words(limit))

    async def charge(self, person: str, seconds: float) -> None:
        """Count seconds that code ran for a person. Raises StoreError."""
        await self.time.charge_seconds(person, seconds, self.clock.now())

    async def line(self, person: str) -> str:
        """Return what of it is used, for its person. Raises StoreError."""
        month = await self.time.seconds_by_day(person, SpendingPeriod.month_of(self.clock.now()))
        limit = await self._limit(person)
        return budgets_texts.CODE_TIME.format(
            today=_in_words(month.get(self.clock.now().date(), 0.0)),
            limit=budgets_texts.NO_LIMIT if limit is None else budgets_texts.LIMIT.format(limit=_in_words(limit)),
            month=_in_words(sum(month.values())),
        )

    async def today(self, person: str) -> str:
        """Return what of it is used and left today. Raises StoreError."""
        used, limit = round(await self._today(person)), await self._limit(person)
        if limit is None:
            return budgets_texts.CODE_TODAY_UNLIMITED.format(used=_in_words(used))
        left = _in_words(max(0, limit - used))
        return budgets_texts.CODE_TODAY.format(used=_in_words(used), limit=_in_words(limit), left=left)

    async def _today(self, person: str) -> float:
        today = await self.time.seconds_by_day(person, SpendingPeriod.days_until(self.clock.now(), 1))
        return sum(today.values())

    async def _limit(self, person: str) -> int | None:
        if self.usual is None or self.operates(person):
            return None
        return None if (await self.preferences.all_of(person)).get(EXEMPT) is not None else self.usual


def _in_words(seconds: float) -> str:
    return counted(round(seconds), "second", "seconds")
