"""One database: short transactions, one writer, its file, and what SQLite's errors mean to a person.

Above: `store.engine` opens it; ledger, conversations, memories and erase run their work in it. Below: SQLAlchemy,
aiosqlite, `agent.errors`.

Rules
  Work is a plain function of a Connection and is one transaction: all of it happens or none.
  A write begins with BEGIN IMMEDIATE and there is one at a time: SQLite's default mode loses updates, a plain BEGIN
  fails with "database is locked" when it turns to writing, and several writers sleep in the busy handler.
  A caller that is cancelled before its turn comes does nothing; one that is cancelled later waits until its transaction
  has ended, so a connection is never left in the middle.
  Errors carry neither SQL nor parameters: they hold people's words. Nor do logs: the drivers are kept quiet.
"""

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from filelock import BaseFileLock
from sqlalchemy import URL, AdaptedConnection, Connection, Insert, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent.errors import StoreError

P = ParamSpec("P")
T = TypeVar("T")

READERS: Final = 4
"""Connections that may read at the same time; each costs a thread."""
CHECKPOINT_TRIES: Final = 3
"""Each waits for readers as long as the busy handler does."""
SYNCHRONOUS: Final = "FULL"
"""What was acknowledged survives a power cut, for one fsync a write; NORMAL could lose the last half minute."""
BLOCK_BYTES: Final = 1 << 20
TALKATIVE: Final = ("aiosqlite", "sqlalchemy")
"""Below WARNING they log every parameter: people's words, in files that forgetting cannot reach."""
_BEGIN: Final = "store_begin"
_migrating: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()

_PRAGMAS: Final = """
PRAGMA busy_timeout = {patience_ms};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = {synchronous};
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
"""
# Some builds leave secure_delete off: deleted words would stay in the file. Sorting to disk would copy them there.

_SENTENCES: Final = {
    "SQLITE_FULL": "The disk is full: free some space for {path}, then start again.",
    "SQLITE_READONLY": "The database {path} cannot be written: check the rights of the file and of its folder.",
    "SQLITE_CANTOPEN": "The database {path} cannot be opened: check the rights of the file and of its folder.",
    "SQLITE_PERM": "The database {path} cannot be opened: check the rights of the file and of its folder.",
    "SQLITE_NOTADB": "{path} is not a database: move that file away, or choose another in COGENCY_DATABASE_URL.",
    "SQLITE_CORRUPT": "The database {path} is damaged: restore a backup, or move the file away to start afresh.",
    "SQLITE_BUSY": "Another program is writing to the database {path}: close it and try again.",
    "SQLITE_IOERR": "The database {path} cannot be read or written: check the disk and its free space.",
}


def new_id(connection: Connection, statement: Insert) -> int:
    """Insert one row; return the number that it was given."""
    key = connection.execute(statement).inserted_primary_key
    return 0 if key is None else int(key[0])


def migrating() -> asyncio.Lock:
    """Held while a database is brought up to date: Alembic keeps the migration under way in module globals, so two at
    once would run on each other's connection. One lock for each loop, because a lock belongs to the loop it waited in.
    """
    return _migrating.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def quieten() -> None:
    """Let the drivers log nothing below WARNING (see TALKATIVE), whatever level the root logger has."""
    for name in TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def store_error(error: DBAPIError, path: Path | None) -> StoreError:
    """The one sentence for a database error."""
    name = str(getattr(error.orig, "sqlite_errorname", ""))
    for code, sentence in _SENTENCES.items():
        if name.startswith(code):
            return StoreError(sentence.format(path=path))
    return StoreError(f"The database {path or 'in memory'} refused an operation: {error.orig}.")


class Database:
    """Runs work in transactions. `path` is None in memory; `lock` and `file` are closed with it.

    `file` is a descriptor of the database file, for `find`. It stays open until the engine is gone, because
    closing any descriptor of the file drops the locks that SQLite holds on it in this process.
    """

    def __init__(self, path: Path | None, *, lock: BaseFileLock | None, file: int | None, patience_s: float) -> None:
        self.path = path
        self._lock = lock
        self._file = file
        self._engine = _engine(path, patience_s)
        self._writer = self._engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._bare = self._engine.execution_options(**{_BEGIN: None})
        self._writing = asyncio.Lock()
        self._closed = False
        # In memory there is one connection, so a reader takes its turn like a writer.
        self._reading: AbstractAsyncContextManager[Any] = self._writing if path is None else nullcontext()

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work` on one consistent state. Raises StoreError."""
        return await self._run(self._reading, self._engine, lambda c: work(c, *args, **options))

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work` in one transaction, alone. Raises StoreError, and then nothing of it has happened."""
        return await self._run(self._writing, self._writer, lambda c: work(c, *args, **options))

    async def checkpoint(self) -> bool:
        """Move the write-ahead log into the file and empty it. False while another reader holds it back."""
        for _ in range(CHECKPOINT_TRIES):
            if await self._run(self._writing, self._bare, _checkpointed):
                return True
        return False

    async def find(self, pieces: frozenset[bytes]) -> frozenset[bytes]:
        """Those of `pieces` that stand anywhere in the database file or its write-ahead log."""
        if self._file is None:
            return frozenset()
        return await asyncio.to_thread(_found_in_files, self._file, Path(f"{self.path}-wal"), pieces)

    async def close(self) -> None:
        """Wait for a write that is under way, then give everything back. Later work raises StoreError."""
        async with self._writing:
            self._closed = True
            await self._engine.dispose()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._lock is not None:
            self._lock.release()

    async def _run(
        self, turn: AbstractAsyncContextManager[Any], engine: AsyncEngine, work: Callable[[Connection], T]
    ) -> T:
        try:
            async with turn:
                if self._closed:  # a late caller would open the file again, without the lock
                    raise StoreError("The store is closed.")
                return await _whole(_transaction(engine, work))
        except DBAPIError as error:
            raise store_error(error, self.path) from error


async def _transaction(engine: AsyncEngine, work: Callable[[Connection], T]) -> T:
    async with engine.begin() as connection:
        return await connection.run_sync(work)


def _found_in_files(database: int, log: Path, pieces: frozenset[bytes]) -> frozenset[bytes]:
    found = _found_in(database, pieces)
    if log.exists():  # SQLite's locks are on the file and the shared memory, not on the log: this one may be closed
        with log.open("rb") as opened:
            found |= _found_in(opened.fileno(), pieces)
    return found


def _found_in(file: int, pieces: frozenset[bytes]) -> frozenset[bytes]:
    longest = max(map(len, pieces), default=1)
    found: set[bytes] = set()
    at = 0
    while block := os.pread(file, BLOCK_BYTES + longest, at):  # blocks overlap, so no piece is cut in two
        found.update(piece for piece in pieces if piece in block)
        at += BLOCK_BYTES
    return frozenset(found)


def _engine(path: Path | None, patience_s: float) -> AsyncEngine:
    quieten()
    database = ":memory:" if path is None else str(path)
    sizes = {} if path is None else {"pool_size": READERS, "max_overflow": 0}
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=database),
        connect_args={"isolation_level": None},  # transactions are begun below, not by the driver
        hide_parameters=True,
        **sizes,
    )
    pragmas = _PRAGMAS.format(patience_ms=int(patience_s * 1000), synchronous=SYNCHRONOUS)

    async def run_pragmas(driver: Any) -> None:  # noqa: ANN401  (aiosqlite's connection)
        try:
            await driver.executescript(pragmas)
        except sqlite3.Error:
            await driver.close()  # the pool does not know this connection yet
            raise

    def connected(connection: AdaptedConnection, _: object) -> None:
        connection.run_async(run_pragmas)

    def begun(connection: Connection) -> None:
        begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
        if begin is not None:
            connection.exec_driver_sql(begin)

    event.listen(engine.sync_engine, "connect", connected)
    event.listen(engine.sync_engine, "begin", begun)
    return engine


def _checkpointed(connection: Connection) -> bool:
    busy, _, _ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
    return busy == 0


async def _whole(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; if the caller is cancelled meanwhile, let it end first."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # nobody waits for it any more: seen
        raise
