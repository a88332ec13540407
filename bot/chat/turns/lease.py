"""Whether this process certainly holds a claimed turn: by its own clocks, else by asking the ledger.

The ledger refuses writes of a process whose lease ran out. A platform does not: a process that was suspended, and
woke after another one had taken its turn over, would post a second message, or overwrite the finished text with an
old one. So each write to a platform starts only while the lease certainly holds.
"""

from datetime import timedelta
from typing import Final

from agent.errors import LeaseLost, StoreError
from agent.ports.clock import Clock
from agent.ports.ledger import Ledger
from agent.turn_records import Claim, lease_length
from bot.chat.reply.surface import PageUnsent

RENEWALS: Final = 4  # Per length of a lease, so that one may fail
SAFE_SHARE: Final = 1 / 2  # Of a lease: a write that starts within it has the rest of the lease to reach the platform


class Lease:
    """The lease of a turn. It counts from the creation of this object, which comes before the claim.

    `usual`: its length if the turn is claimed for the first time (see `lease_length`).
    """

    def __init__(self, ledger: Ledger, clock: Clock, usual: timedelta) -> None:
        self._ledger = ledger
        self._clock = clock
        self._length = usual
        self._renewed = (clock.monotonic(), clock.now())

    def claimed(self, attempts: int) -> None:
        """Take the length that the ledger gave the claim, from its count of attempts."""
        self._length = lease_length(self._length, attempts)

    @property
    def pause_s(self) -> float:
        return self._length.total_seconds() / RENEWALS

    async def renew(self, claim: Claim) -> None:
        """Raises LeaseLost, and StoreError if the ledger cannot be asked."""
        renewed = (self._clock.monotonic(), self._clock.now())
        await self._ledger.renew(claim, renewed[1], self._length)
        self._renewed = renewed

    async def ensure(self, claim: Claim) -> None:
        """Return if the lease holds, renewing it if necessary.

        Raises LeaseLost if another process has the turn, and PageUnsent if the ledger cannot be asked.
        """
        while not self._holds():
            try:
                await self.renew(claim)
            except LeaseLost:
                raise
            except StoreError as error:
                raise PageUnsent(f"could not check whether this process still has the turn: {error}") from error

    def _holds(self) -> bool:
        """By both clocks: the monotonic one may stop while a machine sleeps, the other one may be set back."""
        safe, (renewed, renewed_at) = self._length * SAFE_SHARE, self._renewed
        return self._clock.monotonic() - renewed < safe.total_seconds() and self._clock.now() - renewed_at < safe
