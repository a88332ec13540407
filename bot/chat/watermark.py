"""The watermark of a platform: the time up to which its messages have come in, and from which to read its history.

Theory of operation. While all events come in, the current time is stored as the watermark every KEEP_S seconds. After a
start, and after a gap that the platform does not fill by itself, the platform's history is read from that time on; the
ledger knows which messages came in already and which were forgotten. Until this is done the watermark does not move, so
that a crash in between misses nothing. The same holds while a message cannot be stored.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NoReturn, TypeVar

from agent.errors import CogencyError, StoreUnavailable
from agent.ports.clock import Clock
from bot.chat.backoff import Backoff
from bot.chat.host import Host
from bot.chat.logs import severity
from bot.chat.patience import PATIENCE_S

log = logging.getLogger(__name__)

T = TypeVar("T")

KEEP_S = 30.0  # The interval of storing the watermark: one small write, and as much more history to read after a crash


REPORT_AFTER = 2  # Failures before `report` is called: a single one, as when a database restarts, is over at once


async def _no_report(_: CogencyError) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of a platform's history is read."""

    age: timedelta = timedelta(days=1)
    """Older questions are not answered: a late answer would surprise more than help."""
    overlap: timedelta = timedelta(minutes=3)
    """How far before the watermark to start: a socket may have been dead for that long unnoticed, and clocks differ."""
    known: timedelta = timedelta(days=14)
    """Conversations without a message for longer are not read: they are rarely continued, and each costs a request."""
    places: int = 50
    """Channels, threads and direct conversations: a request each, as many as Slack allows in a minute."""
    messages: int = 100
    """The newest in one place: one request."""
    attempts: int = 3
    """For a place that cannot be read, or while the database is unavailable."""
    retry_s: float = 20.0
    """The longest pause before storing is retried. The pauses double, from one second on."""


@dataclass(slots=True)
class Watermark:
    """The watermark of one platform. Call `begin` first, and keep `keep` running."""

    host: Host
    source: str
    clock: Clock
    bounds: Bounds = field(default_factory=Bounds)
    connected: bool = False
    """Whether events come in at all."""
    behind: bool = False
    """Whether events may have been missed that were not yet looked for."""
    first: datetime | None = None
    """When this process started, if there was no watermark before. Another process may have started at the same time,
    and received events that this one has to look for when it replaces it."""
    _until: datetime | None = None
    _owed: int = 0

    async def begin(self) -> None:
        """Read the stored watermark. Without one, store the current time."""
        self._until = await self.host.conversations.watermark(self.source)
        if self._until is None:  # this process may die before an event comes in; the next one reads back to here
            self.first = self.clock.now()
            await self._keep(self.first)

    def since(self, until: datetime | None = None) -> datetime | None:
        """Return the time from which to read history; None if there was no watermark. `until`: the watermark of a part
        of the platform.
        """
        if (until := until or self._until) is None:
            return None
        return max(until - self.bounds.overlap, self.clock.now() - self.bounds.age)

    @property
    def until(self) -> datetime | None:
        """The watermark; None if there was none at the start."""
        return self._until

    def silent_for(self) -> timedelta:
        """Return the age of the watermark; zero if there was none at the start."""
        return timedelta() if self._until is None else self.clock.now() - self._until

    @property
    def owes(self) -> bool:
        """Whether an event that arrived cannot be stored yet."""
        return self._owed > 0

    async def note(self) -> None:
        """Move the watermark to now, unless events may be missing."""
        if not self.connected or self.behind or self._owed:
            return
        self._until = self.clock.now()
        await self._keep(self._until)

    async def retry(
        self,
        take: Callable[[], Awaitable[T]],
        report: Callable[[CogencyError], Awaitable[None]] = _no_report,
        *,
        passing: tuple[type[CogencyError], ...] = (StoreUnavailable,),
    ) -> T:
        """Call `take` until it does not fail with a `passing` error. Later events wait, which keeps their order.

        `report` is called once: after the second failure, or at once if the wait is longer than PATIENCE_S. Raises the
        last failure when `bounds.age` has passed.
        """
        started, failures, is_told = self.clock.monotonic(), 0, False
        backoff = Backoff(1.0, self.bounds.retry_s)
        try:
            while True:
                try:
                    return await take()
                except passing as error:
                    failures += 1
                    if failures == 1:
                        self._owed += 1
                    if self.clock.monotonic() - started > self.bounds.age.total_seconds():
                        raise
                    wait_s = max(backoff.failed(), error.retry_after_s)
                    if not is_told and (failures >= REPORT_AFTER or wait_s > PATIENCE_S):
                        is_told = True
                        await report(error)
                await self.clock.sleep(wait_s)
        finally:
            if failures:
                self._owed -= 1

    async def _keep(self, time: datetime) -> None:
        try:
            await self.host.conversations.set_watermark(self.source, time)
        except CogencyError as error:
            log.log(severity(error), "the time up to which %s was read could not be stored: %s", self.source, error)

    async def keep(self) -> NoReturn:
        while True:
            await self.clock.sleep(KEEP_S)
            await self.note()
