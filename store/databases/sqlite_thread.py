"""Connections of SQLite, each on a thread of its own, where all of its work is done.

Above: `store.databases.sqlite` has one for writing and some for reading. Below: aiosqlite, which keeps a connection and
its thread and brings results back to the loop; SQLAlchemy, which works on the connection without knowing of asyncio.

Rule: a transaction runs as a whole on the thread. aiosqlite's own methods, and SQLAlchemy's engine for it, change
threads several times for each statement, which takes longer than all statements of a turn together.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Final, Self, TypeVar, cast

import aiosqlite
from sqlalchemy import URL, Connection, Engine, StaticPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from agent.errors import StoreError
from store.databases.database import CLOSED, whole

T = TypeVar("T")

SYNCHRONOUS: Final = "FULL"
"""What was acknowledged survives a power cut, for one fsync a write; NORMAL could lose the last half minute."""
_BEGIN: Final = "store_begin"
_PRAGMAS: Final = """
PRAGMA busy_timeout = {patience_ms};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = {synchronous};
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
"""
# Some builds leave secure_delete off: deleted words would stay in the file. Sorting to disk would copy them there.
_ROWS_AT_ONCE: Final = 64
"""For aiosqlite's own cursors, which are not used here."""


class Begin(StrEnum):
    """How a transaction begins."""

    READING = "BEGIN"
    WRITING = "BEGIN IMMEDIATE"
    NOTHING = ""
    """There is none: for what SQLite does outside of transactions only."""


class SqliteThreads:
    """As many threads as may work at the same time on one database; in memory `most` is 1. Each connects when it is
    first used. Raises what SQLAlchemy raises, and StoreError after the end.

    `path`: None in memory. `patience_s`: how long to wait for another program that reads or writes the file.
    """

    def __init__(self, path: Path | None, patience_s: float, *, most: int) -> None:
        self._path = path
        self._patience_s = patience_s
        self._most = most
        self._free = asyncio.LifoQueue[SqliteThread | None]()  # the last one used is the next: the others may stay None
        for _ in range(most):
            self._free.put_nowait(None)
        self._closed = False

    async def transaction(self, begin: Begin, work: Callable[[Connection], T]) -> T:
        """Do `work` in one transaction, once a thread is free for it."""
        thread = await self._free.get()
        try:
            if self._closed:  # a late caller would open the file again, without the lock
                raise StoreError(CLOSED)
            if thread is None:
                thread = await whole(SqliteThread(self._path, self._patience_s).connect())
            return await whole(thread.transaction(begin, work))
        finally:
            self._free.put_nowait(thread)

    async def close(self) -> None:
        """Wait for what is under way and what waits, then close the connections."""
        threads = [await self._free.get() for _ in range(self._most)]
        self._closed = True
        for thread in threads:
            if thread is not None:
                await thread.close()
        for _ in range(self._most):
            self._free.put_nowait(None)


class SqliteThread(aiosqlite.Connection):
    """One thread and its connection, to be connected, and in the end closed."""

    def __init__(self, path: Path | None, patience_s: float) -> None:
        super().__init__(self._connected, _ROWS_AT_ONCE)
        self._thread.daemon = True  # a program that ends without closing is not kept alive by it
        self._pragmas = _PRAGMAS.format(patience_ms=int(patience_s * 1000), synchronous=SYNCHRONOUS)
        self._engine = create_engine(
            URL.create("sqlite", database=":memory:" if path is None else str(path)),
            poolclass=StaticPool,
            connect_args={"isolation_level": None},  # transactions are begun below, not by the driver
            hide_parameters=True,
        )
        event.listen(self._engine, "connect", self._prepare)
        event.listen(self._engine, "begin", _begin)
        self._begun_with = {begin: self._engine.execution_options(**{_BEGIN: begin}) for begin in Begin}

    async def connect(self) -> Self:
        try:
            await self
        except DBAPIError:
            await asyncio.to_thread(self._thread.join)  # it says so to the loop, which may be about to end
            raise
        return self

    async def transaction(self, begin: Begin, work: Callable[[Connection], T]) -> T:
        execute = cast("Callable[..., Awaitable[T]]", self._execute)  # pyright: ignore[reportUnknownMemberType] -- aiosqlite does not type it
        return await execute(_transaction, self._begun_with[begin], work)

    def _connected(self) -> sqlite3.Connection:
        with self._engine.connect() as connection:
            return cast("sqlite3.Connection", connection.connection.driver_connection)

    def _prepare(self, driver: sqlite3.Connection, _: object) -> None:
        try:
            driver.executescript(self._pragmas)
        except sqlite3.Error:
            driver.close()  # the pool does not know this connection yet
            raise


def _transaction(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _begin(connection: Connection) -> None:
    begin: Begin = connection.get_execution_options()[_BEGIN]
    if begin is not Begin.NOTHING:
        connection.exec_driver_sql(begin)
