"""Notifications between all processes on one PostgreSQL: an implementation of the port Notifier.

Rule: a notification may get lost while the server is away; the workers poll the ledger, and then the log says that it
is away. Behind a pooler by transaction LISTEN cannot be used, because the connection soon serves another client: then
all topics count as notified every POLL_S, and the workers' polling does the rest.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Final

from store.databases import database
from store.databases.postgresql import ERRORS, Connect

log = logging.getLogger(__name__)

CHANNEL: Final = "cogency"
# For topics, where LISTEN cannot be used. Workers poll the ledger each second anyway.
POLL_S: Final = 5.0
# A connection that died silently is noticed by then: a NOTIFY is sent over it that often.
HEARTBEAT_S: Final = 30.0
RECONNECT_S: Final = 1.0


class SharedNotifier(database.LocalNotifier):
    """The port Notifier for all processes on one PostgreSQL: a notification here also sends a NOTIFY, and a NOTIFY of
    others wakes the waiting tasks here.

    Many notifications in a row are one NOTIFY. It needs a running loop; `close` ends its task.
    """

    def __init__(self, connect: Connect, *, can_listen: bool = True, poll_s: float = POLL_S) -> None:
        super().__init__()
        self._connect = connect
        self._can_listen = can_listen
        self._pause_s = HEARTBEAT_S if can_listen else poll_s
        self._has_pending = asyncio.Event()
        self._pending: set[str] = {""}
        self._task = asyncio.create_task(self._keep_listening())

    def notify(self) -> None:
        super().notify()
        self._pending.add("")
        self._has_pending.set()

    def publish(self, topic: str) -> None:
        super().publish(topic)
        self._pending.add(topic)
        self._has_pending.set()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})

    async def _keep_listening(self) -> None:
        while True:
            try:
                await self._listen()
            except ERRORS as error:
                log.debug("not listening for other processes; retrying (%s)", type(error).__name__)
            await asyncio.sleep(RECONNECT_S)

    async def _listen(self) -> None:
        connection = await self._connect()
        try:
            own = connection.get_server_pid()

            def receive(_: object, sender: int, _channel: str, topic: str) -> None:
                if sender == own:
                    return
                if topic:
                    database.LocalNotifier.publish(self, topic)
                else:
                    self._notified.set()

            connection.add_termination_listener(lambda _: self._has_pending.set())
            if self._can_listen:
                await connection.add_listener(CHANNEL, receive)
            self._notified.set()  # for notifications before this
            clock = asyncio.get_running_loop().time
            due = clock() + self._pause_s
            while True:
                pending, self._pending = self._pending, set()
                for topic in pending or {""}:
                    await connection.execute(f"NOTIFY {CHANNEL}, '{topic}'")
                with suppress(TimeoutError):
                    async with asyncio.timeout_at(due):
                        await self._has_pending.wait()
                self._has_pending.clear()
                if clock() >= due:
                    due = clock() + self._pause_s
                    if not self._can_listen:
                        self.publish_all()
        finally:
            connection.terminate()
