"""The processes that share one database."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from agent.admission_terms import Rate, RateReached
from agent.errors import StoreError, Unexpected
from agent.ports.clock import Clock
from agent.ports.shard_leases import ShardLeases
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken, SharedRates
from bot.chat.caches import T
from bot.chat.unexpected import unexpected_logged

#
# Theory of operation. Each process registers itself regularly, and so learns how many others there are. A process that
# is alone counts in memory, without the database. It also does so while the database fails or is slow: it then makes an
# equal part of the calls, because exceeding a person's rate for a while is better than not answering.

LOOK_S: Final = 5.0  # How long others may not know of a new process; meanwhile each counts for itself
PRESENCE: Final = timedelta(seconds=20)  # A process that has not registered for this long is gone
PATIENCE_S: Final = 1.0  # For counting what a person does; a hundred times what it takes
# For taking calls: processes under load are slow to send the request and slow to read its answer.
CALLS_PATIENCE_S: Final = 5.0
ALONE_S: Final = 10.0  # After the database failed or was slow, it is not asked again for this long


@dataclass(slots=True)
class Replicas:
    """`owner`: this process. Methods return None if it is alone, or if the database does not answer in time."""

    leases: ShardLeases
    rates: SharedRates
    owner: str
    clock: Clock
    patience_s: float = PATIENCE_S
    calls_patience_s: float = CALLS_PATIENCE_S
    _others: int = 0
    _alone_until: float = float("-inf")
    _asking: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Register this process regularly until the block ends."""
        await self.look()
        looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking, *self._asking})

    async def _keep_looking(self) -> None:
        while True:
            await self.clock.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Register this process, and update the number of others."""
        # The log says so.
        with suppress(StoreError, Unexpected), unexpected_logged("the registration of this process"):
            self._others = await self.rates.others(self.owner, self.clock.now(), PRESENCE)

    @property
    def others(self) -> int:
        """How many other processes there were at the last look."""
        return self._others

    @property
    def is_alone(self) -> bool:
        return self._others == 0 or self.is_cut_off

    @property
    def is_cut_off(self) -> bool:
        """Whether there are other processes, but the database cannot count for all of them."""
        return self._others > 0 and self.clock.monotonic() < self._alone_until

    def share(self, calls: int) -> int:
        """Return how many of `calls` this process may make by itself."""
        return max(1, calls // (1 + self._others)) if self.is_cut_off else calls

    async def count(self, what: str, rates: Sequence[Rate], person: str, channel: str) -> RateReached | None:
        """Count one more action `what` of this person; or return the rate that it would exceed, and do not count it."""
        return await self._ask(self.rates.count(what, rates, person, channel, self.clock.now()), self.patience_s)

    async def take(self, name: str, rate: CallRate, calls: int, asking: int, made: int) -> CallsTaken | None:
        """Take some of the calls of `name` from the budget of all processes; see `CallsAsked`."""
        asks = CallsAsked(self.owner, calls, asking, made)
        return await self._ask(self.rates.take(name, rate, asks, self.clock.now()), self.calls_patience_s)

    async def book(self, name: str, interval_s: float) -> float | None:
        """Take the next place in the queue `name`; return in how many seconds it is."""
        booking = self.rates.book(name, timedelta(seconds=interval_s), self.clock.now())
        wait = await self._ask(booking, self.calls_patience_s)
        return None if wait is None else wait.total_seconds()

    async def hold(self, name: str, after_s: float) -> None:
        """Allow no call of `name` for `after_s` seconds in any process."""
        await self._ask(self.rates.hold(name, self.clock.now() + timedelta(seconds=after_s)), self.calls_patience_s)

    async def _ask(self, asking: Coroutine[Any, Any, T], patience_s: float) -> T | None:
        if self.is_alone:
            asking.close()
            return None
        task = asyncio.create_task(asking)  # not cancelled when slow: a transaction is finished first
        self._asking.add(task)
        task.add_done_callback(self._forget_task)
        await asyncio.wait({task}, timeout=patience_s)
        with suppress(StoreError):
            if task.done():
                return task.result()
        self._alone_until = self.clock.monotonic() + ALONE_S
        return None

    def _forget_task(self, task: asyncio.Task[Any]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, because no caller may be waiting for it any more
