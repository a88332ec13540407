"""The bell within one process: what wakes its workers when there is something to do. See the port Bell.

Above: `store.engine`, `store.databases.notify`. Below: nothing.

Rules
  A bell only hurries. Whatever is due is also found by looking into the ledger now and then, so a ring may get lost,
  and one too many does no harm.
  A ring while nobody waits is kept for the next wait.
"""

import asyncio
from contextlib import suppress


class LocalBell:
    """The port Bell within one process."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    @property
    def rung(self) -> bool:
        return self._rung.is_set()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, timeout_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        self._rung.clear()

    async def close(self) -> None:
        """Nothing to give back."""
