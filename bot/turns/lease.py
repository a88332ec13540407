"""Whether a claimed turn is surely still ours, told by this process's own clocks, and by the ledger where they cannot.

Above: `bot.turns.answering`. Below: the ports Ledger and Clock.

The ledger refuses what a process writes there after its lease ran out. A platform refuses nothing: a process that was
stopped for a while, and woke after another one had taken its turn over, would post a second message, or put an old text
over the finished one. So each write to a platform is begun only while the lease surely holds.
"""

from datetime import timedelta
from typing import Final

from agent.errors import LeaseLost, StoreError
from agent.ports import Clock, Ledger
from agent.records import Claim
from bot.surface import PageUnsent

RENEWALS: Final = 3
"""In each length of a lease, so that one may fail."""
SURE: Final = 2 / 3
"""Of a lease: what is begun then has the rest of it to reach the platform."""


class Lease:
    """Make it before the turn is claimed: it counts from then."""

    def __init__(self, ledger: Ledger, clock: Clock, length: timedelta) -> None:
        self._ledger = ledger
        self._clock = clock
        self._length = length
        self._asked = (clock.monotonic(), clock.now())

    @property
    def pause_s(self) -> float:
        """Between two renewals."""
        return self._length.total_seconds() / RENEWALS

    async def renew(self, claim: Claim) -> None:
        """Raises LeaseLost, and StoreError if the ledger cannot be asked."""
        asked = (self._clock.monotonic(), self._clock.now())
        await self._ledger.renew(claim, asked[1], self._length)
        self._asked = asked

    async def sure(self, claim: Claim) -> None:
        """Return when it is. Raises LeaseLost if somebody else has the turn, PageUnsent if nobody knows."""
        while not self._holds():
            try:
                await self.renew(claim)
            except LeaseLost:
                raise
            except StoreError as error:
                raise PageUnsent(f"whether the turn is still ours is not known: {error}") from error

    def _holds(self) -> bool:
        """By both clocks: the monotonic one may stand still while a machine sleeps, the other one may be set back."""
        sure, (asked, asked_at) = self._length * SURE, self._asked
        return self._clock.monotonic() - asked < sure.total_seconds() and self._clock.now() - asked_at < sure
