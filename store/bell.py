"""Bells: what wakes the workers when there is something to do. See the port Bell.

Above: `store.engine` gives the one that fits the database. Below: `store.postgresql`'s connections, `store.driver`.

Rules
  A bell only hurries. Whatever is due is also found by looking into the ledger now and then, so a ring may get lost
  while the server is away, and one too many does no harm.
  A ring while nobody waits is kept for the next wait.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from store.driver import ERRORS, DriverConnection

log = logging.getLogger(__name__)

CHANNEL: Final = "cogency"
HEARTBEAT_S: Final = 30.0
"""A connection that has died without a word is noticed by then: something is sent over it that often."""
RECONNECT_S: Final = 1.0
Connect: TypeAlias = Callable[[], Awaitable[DriverConnection]]


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


class SharedBell(LocalBell):
    """The port Bell for all processes on one PostgreSQL: a ring is also a NOTIFY, and a NOTIFY of others is a ring.

    Many rings in a row are one NOTIFY. Needs a running loop; `close` ends its task.
    """

    def __init__(self, connect: Connect) -> None:
        super().__init__()
        self._connect = connect
        self._telling = asyncio.Event()
        self._task = asyncio.create_task(self._keep_listening())

    def ring(self) -> None:
        super().ring()
        self._telling.set()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _keep_listening(self) -> None:
        while True:
            try:
                await self._listen()
            except ERRORS as error:
                log.info("not listening for other processes, trying again (%s)", type(error).__name__)
            await asyncio.sleep(RECONNECT_S)

    async def _listen(self) -> None:
        connection = await self._connect()
        try:
            own = connection.get_server_pid()

            def heard(_: object, teller: int, _channel: str, _said: str) -> None:
                if teller != own:
                    self._rung.set()

            connection.add_termination_listener(lambda _: self._telling.set())
            await connection.add_listener(CHANNEL, heard)
            self._rung.set()  # for what was told before
            while True:
                await connection.execute(f"NOTIFY {CHANNEL}")
                with suppress(TimeoutError):
                    async with asyncio.timeout(HEARTBEAT_S):
                        await self._telling.wait()
                self._telling.clear()
        finally:
            connection.terminate()
