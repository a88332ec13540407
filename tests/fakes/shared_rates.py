"""Rates that processes share: they count their calls, and can fail or never answer."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.admission_terms import Rate, RateReached
from agent.errors import StoreError
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken, SharedRates


@dataclass
class WatchedRates:
    rates: SharedRates
    asked: int = 0
    is_down: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.answers.set()

    async def _met(self) -> SharedRates:
        self.asked += 1
        await self.answers.wait()
        if self.is_down:
            raise StoreError("the database is down")
        return self.rates

    async def count(
        self, what: str, rates: Sequence[Rate], person: str, channel: str, now: datetime
    ) -> RateReached | None:
        return await (await self._met()).count(what, rates, person, channel, now)

    async def take(self, name: str, rate: CallRate, asks: CallsAsked, now: datetime) -> CallsTaken:
        return await (await self._met()).take(name, rate, asks, now)

    async def book(self, name: str, gap: timedelta, now: datetime) -> timedelta:
        return await (await self._met()).book(name, gap, now)

    async def hold(self, name: str, until: datetime) -> None:
        await (await self._met()).hold(name, until)

    async def others(self, owner: str, now: datetime, lease: timedelta) -> int:
        return await self.rates.others(owner, now, lease)
