"""A clock on which time passes faster than outside: for tests in which real sockets wait for one another.

It uses the event loop's own time. A pause of a second takes 20 ms.
"""

import asyncio
from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
SPEED = 50.0


class FastClock:
    """`start` is the time of its creation; pass a later one to a part that starts later."""

    def __init__(self, start: datetime = START, speed: float = SPEED) -> None:
        self._start = start
        self._speed = speed
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return (self._loop.time() - self._began) * self._speed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self._speed)


class MovedClock(FastClock):
    """A clock that a test may advance by `ahead_s`."""

    ahead_s = 0.0
    _leapt = timedelta()

    def leap(self, time: timedelta) -> None:
        """Let time pass, of which timeouts and pauses know nothing."""
        self._leapt += time

    def now(self) -> datetime:
        return super().now() + self._leapt

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead_s
