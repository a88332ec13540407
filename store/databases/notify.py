"""The bell for all processes on one PostgreSQL. See the port Bell.

Above: `store.engine`. Below: `store.databases.bell`, `store.databases.driver`, and a connection that
`store.databases.postgresql` opens.

Rule: a ring may get lost while the server is away; the workers look into the ledger now and then, and then the log
says that it is away.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, TypeAlias

from store.databases.bell import LocalBell
from store.databases.driver import ERRORS, DriverConnection

log = logging.getLogger(__name__)

CHANNEL: Final = "cogency"
HEARTBEAT_S: Final = 30.0
"""A connection that has died without a word is noticed by then: something is sent over it that often."""
RECONNECT_S: Final = 1.0
Connect: TypeAlias = Callable[[], Awaitable[DriverConnection]]


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
                log.debug("not listening for other processes, trying again (%s)", type(error).__name__)
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
