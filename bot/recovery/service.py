"""Notices what a failover of the database lost, and takes it in again.

A database that replicates asynchronously may lose its last transactions. Each process looks every LOOK_S whether the
database continues on the timeline that is settled (`agent.ports.recent_writes`), and whether what it stored lately is
still there. If not, it repeats what people had forgotten, stores which of the lost messages it has answered, so that no
process answers them again, and brings its turns back to the state in which it left them. Once every process has done
that, turns are claimed again. A process that does not reach the database is waited for during SETTLE_S.

After SETTLE_S, when every process has noticed which of its turns are lost, the platforms' histories are read, from
before the first message that was lost: of a platform that is not connected, once it is.

What only a process knew that has ended meanwhile is not known: what it had answered may be answered again.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
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
WAIT_S: Final = 0.5  # Until the next look while turns wait
REPAIRS: Final = 3  # In one look: other processes take in messages, and this one shows pages, meanwhile
SETTLE_S: Final = 15.0  # Several looks, for processes that reach the database later
AGE: Final = timedelta(days=1)  # Histories are not read from before that, and a platform is not waited for longer


async def _nothing() -> None:
    pass


@dataclass(slots=True)
class _Loss:
    """What was lost at one time. `read`: the sources whose histories were read."""

    since: datetime
    due: float
    read: set[str] = field(default_factory=set[str])
    is_settled: bool = False
    """Whether the histories of those that were connected are read, and nothing is left to repair."""


@dataclass(slots=True)
class LostWritesService:
    """`histories`: of the platforms, by the source of their messages. `others`: returns how many other processes serve
    the same database; None if that is unknown. `end_lost`: ends the turns of this process whose claims are lost, so
    that nothing more is shown of them.
    """

    writes: RecentWrites
    clock: Clock
    histories: Mapping[str, ReadHistory]
    others: Callable[[], int | None] = lambda: None
    end_lost: Callable[[], Awaitable[None]] = _nothing
    _repaired: str = ""
    """The timeline on which this process has repaired last."""
    _others: int | None = None
    """As of the last look at a settled timeline: a failover may lose which processes there are."""
    _unsettled: str = ""
    _unsettled_since: float | None = None
    _losses: list[_Loss] = field(default_factory=list[_Loss])
    _reading: "asyncio.Task[None] | None" = None

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        await self._look_logged()  # before the first turn is claimed
        looking = asyncio.create_task(self._keep_looking())
        try:
            yield
        finally:
            tasks = {looking} if self._reading is None else {looking, self._reading}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _keep_looking(self) -> NoReturn:
        while True:
            await self.clock.sleep(LOOK_S if self._unsettled_since is None else WAIT_S)
            await self._look_logged()

    async def _look_logged(self) -> None:
        with _logged():
            await self.look()
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_logged())

    async def _read_logged(self) -> None:
        with _logged():
            await self.read_again()

    async def look(self) -> None:
        """Look once, and repair what can be without the platforms. Raises CogencyError; the next look then tries
        again.
        """
        timeline = await self.writes.timeline()
        now = self.clock.monotonic()
        if timeline.is_settled:
            self._unsettled_since = None
            self._others = self.others()
            await self._look_settled(timeline.name)
            return
        if self._unsettled_since is None or self._unsettled != timeline.name:
            self._unsettled, self._unsettled_since = timeline.name, now
        waits, is_repaired = now - self._unsettled_since < SETTLE_S, False
        try:
            await self.end_lost()
            for _ in range(REPAIRS):
                is_repaired = is_repaired or not await self._repair(thorough=True)
        finally:
            if is_repaired:
                self._repaired = timeline.name
            if is_repaired or not waits:  # what cannot be repaired must not stop the bot
                await self.writes.settle(self._others, waits=waits)

    async def _look_settled(self, timeline: str) -> None:
        is_new = timeline != self._repaired  # other processes have settled it while this one did not reach the database
        if is_new:
            await self.end_lost()
        await self._repair(thorough=is_new or any(not loss.is_settled for loss in self._losses))
        self._repaired = timeline

    async def _repair(self, *, thorough: bool) -> bool:
        """Repair what is lost; return whether there was something."""
        lost = await self.writes.lost(thorough=thorough)
        if lost is None:
            return False
        messages = counted(lost.messages, "message", "messages")
        turns = counted(lost.turns, "answer", "answers")
        forgettings = counted(lost.forgettings, "forgetting", "forgettings")
        log.warning(
            (
                "The database no longer has what this process stored since %s: %s, %s, %s. It may have failed over "
                "without synchronous replication. Data is forgotten again, and the platforms' messages of that time "
                "are read again. Other changes of that time are lost."
            ),
            f"{lost.since:%F %T} UTC",
            messages,
            turns,
            forgettings,
        )
        now = self.clock.monotonic()
        if self._losses and now < self._losses[-1].due:  # nothing is read for it yet
            self._losses[-1].since = min(lost.since, self._losses[-1].since)
        else:
            self._losses.append(_Loss(lost.since, now + SETTLE_S))
        await self.writes.repair(self.clock.now())
        return True

    async def read_again(self) -> None:
        """Read the histories that are due. Raises CogencyError; what was not read is still due."""
        now = self.clock.monotonic()
        self._losses = [loss for loss in self._losses if now < loss.due + AGE.total_seconds()]
        for loss in self._losses:
            if self._unsettled_since is not None or self.clock.monotonic() < loss.due:
                continue
            since = max(loss.since, self.clock.now() - AGE)
            if not loss.is_settled:
                await self.writes.delete_unfinished(self.clock.now())
            unread = [(source, read) for source, read in self.histories.items() if source not in loss.read]
            ended = await asyncio.gather(*(read(since) for _, read in unread), return_exceptions=True)
            loss.read |= {source for (source, _), has_read in zip(unread, ended, strict=True) if has_read is True}
            for failure in ended:
                if isinstance(failure, BaseException):
                    raise failure
            loss.is_settled = True


@contextmanager
def _logged() -> Generator[None]:
    try:
        with unexpected_logged("the look for what the database lost"):
            yield
    except StoreError as error:
        log.debug("what was stored lately could not be read: %s", error)
    except CogencyError as error:
        log.log(severity(error), "what the database lost could not be taken in again: %s", error)
