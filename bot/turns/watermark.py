"""What was said while nobody listened: until when a platform has been heard, and how far back to look for the rest.

Theory of operation. As long as everything comes in, the time is kept every so often. At a start, and after a gap that
the platform does not fill by itself, its own history is read from that time on; the ledger knows what had come in
already, and what was forgotten. Until that is done the time stands still, so that a crash in between misses nothing.
The same holds while a message cannot be stored.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn, TypeVar

from agent.errors import CogencyError, StoreUnavailable
from agent.ports import Clock
from bot.caches import Backoff
from bot.host import Host
from bot.logs import severity

log = logging.getLogger(__name__)

T = TypeVar("T")

KEEP_S = 30.0  # How often the time is kept: one small write, and so much more to look through after a crash


TELL = 2  # Failures after which somebody is told: one alone, as when a database is started anew, is over at once


async def _nobody(_: CogencyError) -> None:
    """Nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    age: timedelta = timedelta(days=1)
    """An older question is better asked again than answered out of the blue."""
    overlap: timedelta = timedelta(minutes=3)
    """A socket may have been dead for that long before anybody noticed, and clocks differ."""
    known: timedelta = timedelta(days=14)
    """A conversation that rested longer is rarely taken up, and costs a request like any other."""
    places: int = 50
    """Channels, threads and direct conversations: a request each, a minute's worth of what Slack allows."""
    messages: int = 100
    """In one place: one request. Of more the newest."""
    attempts: int = 3
    """For a place that cannot be read, or a database that is away."""
    retry_s: float = 20.0
    """Doubling from a second to this, for what cannot be stored."""


@dataclass(slots=True)
class Watermark:
    """Up to when one platform has been heard. Call `begin` first, and leave `keep` running."""

    host: Host
    source: str
    clock: Clock
    bounds: Bounds = field(default_factory=Bounds)
    connected: bool = False
    """Whether events come in at all."""
    behind: bool = False
    """Whether something may have been missed that was not yet looked for."""
    first: datetime | None = None
    """When it began, if nobody had listened before. Another process may have begun with it, and heard what this one has
    to look for when it goes on in its place."""
    _until: datetime | None = None
    _owed: int = 0

    async def begin(self) -> None:
        self._until = await self.host.conversations.watermark(self.source)
        if self._until is None:  # the first process may die before it has heard anything; the next one looks back
            self.first = self.clock.now()
            await self._keep(self.first)

    def since(self, until: datetime | None = None) -> datetime | None:
        """From when on to look for what was missed; None if there was no listening before. `until`: of a part."""
        if (until := until or self._until) is None:
            return None
        return max(until - self.bounds.overlap, self.clock.now() - self.bounds.age)

    @property
    def until(self) -> datetime | None:
        """Up to when everything had come in; None if there was no listening before."""
        return self._until

    def silent_for(self) -> timedelta:
        """How long ago everything had come in; nothing if there was no listening before."""
        return timedelta() if self._until is None else self.clock.now() - self._until

    @property
    def owes(self) -> bool:
        """Whether something that arrived cannot be stored yet."""
        return self._owed > 0

    async def note(self) -> None:
        if not self.connected or self.behind or self._owed:
            return
        self._until = self.clock.now()
        await self._keep(self._until)

    async def insist(
        self,
        take: Callable[[], Awaitable[T]],
        tell: Callable[[CogencyError], Awaitable[None]] = _nobody,
        *,
        passing: tuple[type[CogencyError], ...] = (StoreUnavailable,),
    ) -> T:
        """Take something in, however often it fails for what may pass: whoever else waits for it keeps their order.

        `tell`: it did not work the second time either. Raises the last failure when it has become too old.
        """
        began, failures, backoff = self.clock.monotonic(), 0, Backoff(1.0, self.bounds.retry_s)
        try:
            while True:
                try:
                    return await take()
                except passing as error:
                    failures += 1
                    if failures == 1:
                        self._owed += 1
                    if self.clock.monotonic() - began > self.bounds.age.total_seconds():
                        raise
                    if failures == TELL:
                        await tell(error)
                await self.clock.sleep(backoff.failed())
        finally:
            if failures:
                self._owed -= 1

    async def _keep(self, time: datetime) -> None:
        try:
            await self.host.conversations.set_watermark(self.source, time)
        except CogencyError as error:
            log.log(severity(error), "until when %s was heard could not be kept: %s", self.source, error)

    async def keep(self) -> NoReturn:
        while True:
            await self.clock.sleep(KEEP_S)
            await self.note()
