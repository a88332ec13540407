"""The usage of models, as the store counts it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from agent.messages import ModelCall
from agent.spending import By, SpendingPeriod, Total


class Spending(Protocol):
    """The usage of model calls: tokens, and nano-dollars at list prices."""

    async def totals(self, period: SpendingPeriod, by: By, *, person: str | None = None) -> list[Total]:
        """Return the usage in these days, of everyone or of one person: a total for each key, in order of the keys."""
        ...

    async def charge(self, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = "") -> None:
        """Store the usage of calls outside of turns; `kind` is their purpose, `where` their channel."""
        ...
