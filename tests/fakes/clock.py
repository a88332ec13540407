"""A clock that moves only when a test moves it, or when all tasks wait for it. Implements `agent.ports.clock.Clock`.

With `auto=True`, time jumps to the next waker as soon as the event loop has nothing else to run, so that hours pass in
milliseconds and always in the same order. That is exact if all waiting is for this clock, or for sockets with both ends
in this event loop. Work in threads or other processes looks idle to it: such tests take `auto=False` and call
`advance`.
"""

import asyncio
import heapq
from collections.abc import Sized
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import cast

NOON = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)


class FakeClock:
    def __init__(self, start: datetime = NOON, *, auto: bool = True) -> None:
        self._start = start
        self._auto = auto
        self._elapsed = 0.0
        self._wakers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()
        self._watch: asyncio.Handle | None = None
        self._by_hand = False

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waker = asyncio.get_running_loop().create_future()
        heapq.heappush(self._wakers, (self._elapsed + seconds, next(self._order), waker))
        self._watch_for_idleness()
        await waker

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, waking each sleeper at its own moment; its work runs before time continues."""
        until = self._elapsed + seconds
        self._by_hand = True
        await _settled()
        while (due := self._next_due()) is not None and due <= until:
            self._wake_at(due)
            await _settled()
        self._elapsed = until
        self._by_hand = False
        self._watch_for_idleness()

    def _watch_for_idleness(self) -> None:
        if self._auto and not self._by_hand and self._watch is None:
            self._watch = asyncio.get_running_loop().call_soon(self._jump_if_idle)

    def _jump_if_idle(self) -> None:
        self._watch = None
        due = self._next_due()
        if due is None or self._by_hand:
            return
        if not _ready():
            self._wake_at(due)
        self._watch_for_idleness()

    def _next_due(self) -> float | None:
        while self._wakers and self._wakers[0][2].done():
            heapq.heappop(self._wakers)
        return self._wakers[0][0] if self._wakers else None

    def _wake_at(self, due: float) -> None:
        self._elapsed = max(self._elapsed, due)
        while self._next_due() == due:
            heapq.heappop(self._wakers)[2].set_result(None)


async def _settled() -> None:
    while _ready():  # noqa: ASYNC110 - no event signals that no sleeper is left
        await asyncio.sleep(0)


def _ready() -> int:
    """Return how many callbacks the running loop is about to call, besides the caller's.

    asyncio has no public API for "nothing is left to do"; counting iterations of the loop would only guess.
    """
    return len(cast("Sized", vars(asyncio.get_running_loop())["_ready"]))
