"""A database that says in the log when it fails, and when it works again: once for all who work on it.

Rules
  One line when it begins to fail, one every REPEAT_S while it does, one when it works again. Whoever meets the error
  need not log it.
  Work that only reads may succeed while nothing can be written: a disk that is full, a server that takes no writes. So
  does work that finds nothing to write: only what was written shows that the database works again.
"""

import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, text

from agent.errors import StoreUnavailable
from store.databases.database import Database, DatabaseFiles, is_postgresql

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

REPEAT_S: Final = 60.0
"""Often enough to see that it lasts, seldom enough to find the line that says why."""


_CHANGES: Final = text("SELECT total_changes()")
_HAS_WRITTEN: Final = text("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")


class OutageKind(Enum):
    READ = auto()
    WRITE = auto()


@dataclass(slots=True)
class Outage:
    """What is to be said of a database that fails. Pure: times are seconds of any clock that only goes forward."""

    _since: dict[OutageKind, float] = field(default_factory=dict[OutageKind, float])
    _told: float | None = None
    _announced: bool = False

    @property
    def lasts(self) -> bool:
        return bool(self._since)

    def failed(self, kind: OutageKind, now: float) -> bool:
        """Whether to say so."""
        self._since.setdefault(kind, now)
        if self._told is not None and now - self._told < REPEAT_S:
            return False
        self._told, self._announced = now, True
        return True

    def worked(self, kind: OutageKind, now: float) -> float | None:
        """For how many seconds it failed, if it is to be said that it no longer does."""
        if not self._since:
            return None
        began = min(self._since.values())
        if kind is OutageKind.WRITE:
            self._since.clear()
        else:
            self._since.pop(kind, None)
        if self._since or not self._announced:
            return None
        self._announced = False
        return now - began


class Watched:
    """The port Database on another one. `monotonic`: seconds of a clock that only goes forward."""

    def __init__(self, database: Database, monotonic: Callable[[], float]) -> None:
        self._database = database
        self._monotonic = monotonic
        self._outage = Outage()

    @property
    def where(self) -> str:
        return self._database.where

    @property
    def is_shared(self) -> bool:
        return self._database.is_shared

    @property
    def files(self) -> DatabaseFiles | None:
        return self._database.files

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._seen(OutageKind.READ, self._database.read(work, *args, **options))

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._written(self._database.write, lambda connection: work(connection, *args, **options))

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._written(self._database.write_alone, lambda connection: work(connection, *args, **options))

    async def close(self) -> None:
        await self._database.close()

    async def _written(self, write: Callable[..., Coroutine[Any, Any, Any]], work: Callable[[Connection], T]) -> T:
        if not self._outage.lasts:
            return await self._seen(OutageKind.WRITE, write(work))
        done, anything = await self._seen(None, write(_noticing, work))
        if anything:
            self._worked(OutageKind.WRITE)
        return done

    async def _seen(self, kind: OutageKind | None, working: Coroutine[Any, Any, T]) -> T:
        """`kind` None: a write, of which it is not known yet whether it shows anything."""
        try:
            done = await working
        except StoreUnavailable as error:
            if self._outage.failed(kind or OutageKind.WRITE, self._monotonic()):
                log.warning("%s", error)
            raise
        if kind is not None:
            self._worked(kind)
        return done

    def _worked(self, kind: OutageKind) -> None:
        if (failed_for := self._outage.worked(kind, self._monotonic())) is not None:
            log.warning("the database works again, after %.0f s", failed_for)


def _noticing(connection: Connection, work: Callable[[Connection], T]) -> tuple[T, bool]:
    """Do the work; whether it wrote anything."""
    if is_postgresql(connection):
        done = work(connection)
        return done, bool(connection.execute(_HAS_WRITTEN).scalar_one())
    before = connection.execute(_CHANGES).scalar_one()
    done = work(connection)
    return done, connection.execute(_CHANGES).scalar_one() != before
