"""Notices what a failover of the database lost, and takes it in again.

A database that replicates asynchronously may lose its last transactions. Each process looks every LOOK_S whether what
it stored lately is still there. If not, it first repeats what people had forgotten, and stores which of the lost
messages it has answered, so that no process answers them again. After SETTLE_S every other process that runs has done
the same. Then the platforms' histories are read, from before the first message that was lost.

What only a process knew that has ended meanwhile is not known: what it had answered may be answered again.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NoReturn

from agent.errors import CogencyError, StoreError
from agent.ports.clock import Clock
from agent.ports.recent_writes import RecentWrites
from bot.chat.logs import severity
from bot.chat.ports import ReadHistory
from bot.chat.texts.formatting import counted
from bot.chat.unexpected import unexpected_logged

log = logging.getLogger(__name__)

LOOK_S: Final = 2.0  # One read by keys; processes that stored nothing do not read
SETTLE_S: Final = 15.0  # Several looks, for processes that reach the database later


@dataclass(slots=True)
class LostWritesService:
    """`histories`: of the platforms that are connected, by the source of their messages."""

    writes: RecentWrites
    clock: Clock
    histories: Mapping[str, ReadHistory]
    _since: datetime | None = None
    """Since when writes are lost that were not yet read again."""

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.wait({looking})

    async def _keep_looking(self) -> NoReturn:
        while True:
            await self.clock.sleep(LOOK_S)
            try:
                with unexpected_logged("the look for what the database lost"):
                    await self.look()
            except StoreError as error:
                log.debug("what was stored lately could not be read: %s", error)
            except CogencyError as error:
                log.log(severity(error), "what the database lost could not be taken in again: %s", error)

    async def look(self) -> None:
        """Look once, and take in again what is lost. Raises CogencyError; the next look then tries again."""
        await self._repair()
        if self._since is None:
            return
        await self.clock.sleep(SETTLE_S)
        await self._repair()
        await asyncio.gather(*(read(self._since) for read in self.histories.values()))
        self._since = None

    async def _repair(self) -> None:
        """Repair what can be without the platforms."""
        lost = await self.writes.lost()
        if lost is None:
            return
        messages = counted(lost.messages, "message", "messages")
        forgettings = counted(lost.forgettings, "forgetting", "forgettings")
        log.warning(
            (
                "The database no longer has what this process stored since %s: %s, %s. It may have failed over without "
                "synchronous replication. Data is forgotten again, and the platforms' messages of that time are read "
                "again. Other changes of that time are lost."
            ),
            f"{lost.since:%F %T} UTC",
            messages,
            forgettings,
        )
        self._since = lost.since if self._since is None else min(lost.since, self._since)
        await self.writes.repair(self.clock.now())
