"""SQLite: one file, one process, one writer, and what its errors mean to a person.

Above: `store.engine` opens it. Below: `store.databases.database` (the port and the rules that hold for both engines),
SQLAlchemy, aiosqlite.

Rules
  The file belongs to one process. The lock lies beside it, and the system drops it when the process dies.
  A write begins with BEGIN IMMEDIATE and there is one at a time: SQLite's default mode loses updates, a plain BEGIN
  fails with "database is locked" when it turns to writing, and several writers sleep in the busy handler.
  A read of a file runs as a whole on one thread; in memory readers and writers share one connection.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy import URL, AdaptedConnection, Connection, Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from agent.errors import StoreError, StoreLocked
from store.databases.database import CLOSED, Files, quieten, whole

P = ParamSpec("P")
T = TypeVar("T")

READERS: Final = 4
"""Connections that may read at the same time; each costs a thread."""
CHECKPOINT_TRIES: Final = 3
"""Each waits for readers as long as the busy handler does."""
SYNCHRONOUS: Final = "FULL"
"""What was acknowledged survives a power cut, for one fsync a write; NORMAL could lose the last half minute."""
BLOCK_BYTES: Final = 1 << 20
_BEGIN: Final = "store_begin"

_POOL: Final[dict[str, Any]] = {"pool_size": READERS, "max_overflow": 0}
_OPTIONS: Final[dict[str, Any]] = {
    "connect_args": {"isolation_level": None},  # transactions are begun below, not by the driver
    "hide_parameters": True,
}
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


def store_error(error: DBAPIError, path: Path | None) -> StoreError:
    """The one sentence for a database error."""
    name = str(getattr(error.orig, "sqlite_errorname", ""))
    for code, sentence in _SENTENCES.items():
        if name.startswith(code):
            return StoreError(sentence.format(path=path))
    return StoreError(f"The database {path or 'in memory'} refused an operation: {error.orig}.")


def open_sqlite(rest: str, patience_s: float) -> "SqliteDatabase":
    """The database of a URL `sqlite://rest`, its file created with its folder. Raises StoreLocked and StoreError.

    `patience_s`: how long to wait for another program that reads or writes the file.
    """
    path = sqlite_path(rest)
    if path is None:
        return SqliteDatabase(None, lock=None, file=None, patience_s=patience_s)
    lock = FileLock(f"{path}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=0)
        # Other people's words: a new file is for its owner only. The write-ahead log takes over these rights.
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except Timeout:
        if not Path(lock.lock_file).exists():  # some file systems refuse a new file in this way
            raise StoreError(f"The database {path} cannot be opened: check its folder.") from None
        raise StoreLocked(f"Another process has {path} open: stop it, or choose another database.") from None
    except OSError as error:
        lock.release()
        raise StoreError(f"The database {path} cannot be opened ({error.strerror}): check its folder.") from error
    return SqliteDatabase(path, lock=lock, file=file, patience_s=patience_s)


def open_sqlite_beside(rest: str, patience_s: float) -> "SqliteDatabase":
    """The same for reading only, also while another process has it open. Raises StoreError if there is no file."""
    path = sqlite_path(rest)
    if path is not None and not path.exists():
        raise StoreError(f"There is no database {path} yet: it comes with the first start.")
    return SqliteDatabase(path, lock=None, file=None, patience_s=patience_s)


def sqlite_path(rest: str) -> Path | None:
    """The file that `sqlite://rest` names, or None in memory. Nothing in it is decoded or split off."""
    name = rest.removeprefix("/")
    return None if name in {"", ":memory:"} else Path(name).expanduser().absolute()


class SqliteDatabase:
    """The ports Database and Files on one file. `path` is None in memory; `lock` and `file` are closed with it.

    `file` is a descriptor of the database file, for `find`. It stays open until the engine is gone, because
    closing any descriptor of the file drops the locks that SQLite holds on it in this process.
    """

    def __init__(self, path: Path | None, *, lock: BaseFileLock | None, file: int | None, patience_s: float) -> None:
        self.path = path
        self._lock = lock
        self._file = file
        self._engine = _engine(path, patience_s)
        self._reader = None if path is None else _reader(path, patience_s)
        self._writer = self._engine.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
        self._bare = self._engine.execution_options(**{_BEGIN: None})
        self._writing = asyncio.Lock()
        self._closed = False

    @property
    def where(self) -> str:
        return "nowhere; it ends with this process" if self.path is None else str(self.path)

    @property
    def is_shared(self) -> bool:
        return False

    @property
    def files(self) -> Files:
        return self

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        def whole_work(connection: Connection) -> T:
            return work(connection, *args, **options)

        if self._reader is None:  # in memory there is one connection, so a reader takes its turn like a writer
            return await self._run(self._writing, lambda: _transaction(self._engine, whole_work))
        reader = self._reader
        return await self._run(nullcontext(), lambda: asyncio.to_thread(_read, reader, whole_work))

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(self._writing, lambda: _transaction(self._writer, lambda c: work(c, *args, **options)))

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.write(work, *args, **options)  # every write is alone

    async def checkpoint(self) -> bool:
        for _ in range(CHECKPOINT_TRIES):
            if await self._run(self._writing, lambda: _transaction(self._bare, _checkpointed)):
                return True
        return False

    async def find(self, pieces: frozenset[bytes]) -> frozenset[bytes]:
        if self._file is None:
            return frozenset()
        return await asyncio.to_thread(_found_in_files, self._file, Path(f"{self.path}-wal"), pieces)

    async def close(self) -> None:
        async with self._writing:
            self._closed = True
            await self._engine.dispose()
            if self._reader is not None:
                self._reader.dispose()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._lock is not None:
            self._lock.release()

    async def _run(self, turn: AbstractAsyncContextManager[Any], work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        try:
            async with turn:
                if self._closed:  # a late caller would open the file again, without the lock
                    raise StoreError(CLOSED)
                return await whole(work())
        except DBAPIError as error:
            raise store_error(error, self.path) from error


def _read(engine: Engine, work: Callable[[Connection], T]) -> T:
    with engine.begin() as connection:
        return work(connection)


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
    engine = create_async_engine(
        URL.create("sqlite+aiosqlite", database=":memory:" if path is None else str(path)),
        **_OPTIONS,
        **({} if path is None else _POOL),
    )

    async def run_pragmas(driver: Any) -> None:  # noqa: ANN401  (aiosqlite's connection)
        try:
            await driver.executescript(_pragmas(patience_s))
        except sqlite3.Error:
            await driver.close()  # the pool does not know this connection yet
            raise

    def connected(connection: AdaptedConnection, _: object) -> None:
        connection.run_async(run_pragmas)

    event.listen(engine.sync_engine, "connect", connected)
    event.listen(engine.sync_engine, "begin", _begin)
    return engine


def _reader(path: Path, patience_s: float) -> Engine:
    """For reading on a thread: the whole of it costs one change of thread, and not several for each statement."""
    engine = create_engine(URL.create("sqlite", database=str(path)), **_OPTIONS, **_POOL)

    def connected(driver: sqlite3.Connection, _: object) -> None:
        try:
            driver.executescript(_pragmas(patience_s))
        except sqlite3.Error:
            driver.close()  # as above
            raise

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", _begin)
    return engine


def _pragmas(patience_s: float) -> str:
    return _PRAGMAS.format(patience_ms=int(patience_s * 1000), synchronous=SYNCHRONOUS)


def _begin(connection: Connection) -> None:
    begin = connection.get_execution_options().get(_BEGIN, "BEGIN")
    if begin is not None:
        connection.exec_driver_sql(begin)


def _checkpointed(connection: Connection) -> bool:
    busy, _, _ = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
    return busy == 0
