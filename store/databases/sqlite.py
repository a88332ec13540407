"""SQLite: one file, one process, one writer, and what its errors mean to a person.

Rules
  The file belongs to one process. The lock lies beside it, and the system drops it when the process dies.
  A write begins with BEGIN IMMEDIATE and there is one at a time: SQLite's default mode loses updates, a plain BEGIN
  fails with "database is locked" when it turns to writing, and several writers sleep in the busy handler.
  A file that was moved away or replaced takes nothing: what was acknowledged would be lost.
  Of a file there are readers beside the writer; in memory all share one connection.
"""

import asyncio
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar, cast

import aiosqlite
from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy import URL, Connection, QueuePool, StaticPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from agent import texts
from agent.errors import StoreError, StoreLocked, StoreUnavailable
from agent.machine import place_of, sqlite_path
from store.databases.database import DatabaseFiles, OutageKind, OutageLog, quieten

P = ParamSpec("P")
T = TypeVar("T")

# What was acknowledged survives a power cut, for one fsync a write; NORMAL could lose the last half minute.
SYNCHRONOUS: Final = "FULL"
_PRAGMAS: Final = """
PRAGMA busy_timeout = {patience_ms};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = {synchronous};
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
"""
# Some builds leave secure_delete off: deleted words would stay in the file. Sorting to disk would copy them there.


class _Connections:
    """Up to `size` connections to a file (None: the one of a database in memory), and as many threads to work on them.

    `begin`: how their transactions begin. `patience_s`: how long to wait for another program that has the file locked.
    `check`: raises StoreError if nothing may be done now.
    """

    def __init__(self, path: Path | None, begin: str, size: int, patience_s: float, check: Callable[[], None]) -> None:
        self._check = check
        self._executor = ThreadPoolExecutor(size, "sqlite")
        self._pragmas = _PRAGMAS.format(patience_ms=int(patience_s * 1000), synchronous=SYNCHRONOUS)
        self._engine = create_engine(
            URL.create("sqlite", database=":memory:" if path is None else str(path)),
            connect_args={"isolation_level": None, "check_same_thread": False},  # the driver begins no transactions
            hide_parameters=True,
            **({"poolclass": StaticPool} if path is None else {"poolclass": QueuePool, "pool_size": size}),
        )
        event.listen(self._engine, "connect", self._prepare)
        event.listen(self._engine, "begin", self._begin)
        self._begin_with = begin
        self._closed = False

    def start(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> Future[tuple[T, bool]]:
        """Do `work` in one transaction: its outcome, and whether it has changed anything.

        It runs on one thread as a whole: to change threads for each statement takes longer than all of them together.
        """
        return self.start_alone(partial(self._transaction, work, *args, **options))

    def start_alone(self, work: Callable[[], T]) -> Future[T]:
        """Do other work on a thread, in the place of a transaction."""
        if self._closed:  # a late caller would open the file again, without the lock
            raise StoreError(texts.STORE_CLOSED)
        return self._executor.submit(work)

    async def close(self) -> None:
        """Wait for what is under way and what waits, then close the connections."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown)
        self._engine.dispose()

    def _transaction(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> tuple[T, bool]:
        self._check()
        with self._engine.begin() as connection:
            driver = cast("sqlite3.Connection", connection.connection.driver_connection)
            before = driver.total_changes
            return work(connection, *args, **options), driver.total_changes != before

    def _begin(self, connection: Connection) -> None:
        connection.exec_driver_sql(self._begin_with)

    def _prepare(self, driver: sqlite3.Connection, _: object) -> None:
        try:
            driver.executescript(self._pragmas)
        except sqlite3.Error:
            driver.close()  # the pool does not know this connection yet
            raise


READERS: Final = 4  # Connections that may read at the same time; each costs a thread
CHECKPOINT_TRIES: Final = 3  # Each waits for readers as long as the busy handler does
BLOCK_BYTES: Final = 1 << 20
SMALLEST_FREE: Final = 100_000  # Bytes that a new database takes before its first question: less is a full disk
_OWNER_ONLY: Final = 0o600


def store_error(error: DBAPIError | sqlite3.Error, path: Path | None) -> StoreError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(cause, "sqlite_errorname", ""))
    for code, sentence in texts.SQLITE_FAULTS.items():
        if name.startswith(code):
            return StoreUnavailable(sentence.format(path=path))
    return StoreError(texts.SQLITE_REFUSED.format(path=path or "in memory", cause=cause))


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
        file = os.open(path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
        _close_to_others(path)
        if is_anybodys(os.fstat(file), _user()):
            os.close(file)
            lock.release()
            raise StoreError(texts.SQLITE_ANYBODYS.format(path=path))
    except Timeout:
        if not Path(lock.lock_file).exists():  # some file systems refuse a new file in this way
            raise StoreError(texts.SQLITE_NO_LOCK.format(path=path)) from None
        raise StoreLocked(texts.SQLITE_LOCKED.format(path=path)) from None
    except OSError as error:
        lock.release()
        raise StoreError(texts.SQLITE_NOT_OPENED.format(path=path, reason=error.strerror)) from error
    return SqliteDatabase(path, lock=lock, file=file, patience_s=patience_s)


def _close_to_others(path: Path) -> None:
    """Other people's words are for the owner of the file only, also in one that was made with wider rights, and in the
    logs that a crash has left beside it. New logs take over the rights of the file.
    """
    for part in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):  # it is not there, belongs to somebody else, or the file system knows no rights
            if part.stat().st_mode & 0o077:
                part.chmod(_OWNER_ONLY)


def is_anybodys(status: os.stat_result, user: int) -> bool:
    """Whether a file is somebody else's, who lets everybody read or write it: `user` cannot close it to them.

    What root has prepared is fine, and root itself may do anything.
    """
    return user != 0 and status.st_uid not in {user, 0} and bool(status.st_mode & (stat.S_IROTH | stat.S_IWOTH))


def _user() -> int:
    """0 where the system knows no such rights."""
    return os.geteuid() if sys.platform != "win32" else 0


def open_sqlite_beside(rest: str, patience_s: float) -> "SqliteDatabase":
    """The same for reading only, also while another process has it open. Raises StoreError if there is no file."""
    path = sqlite_path(rest)
    if path is not None and not path.exists():
        raise StoreError(texts.SQLITE_NOT_YET.format(path=path))
    return SqliteDatabase(path, lock=None, file=None, patience_s=patience_s)


def unwritable(path: Path) -> str | None:
    """Why a start could not open this file for writing, as a sentence; None if it could. Nothing is made or changed."""
    if path.is_file() and is_anybodys(path.stat(), _user()):
        return texts.SQLITE_ANYBODYS.format(path=path)
    there = path if path.exists() else next(one for one in path.parents if one.exists())
    if path.exists():
        fine = path.is_file() and os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    else:
        fine = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    if not fine:
        return texts.SQLITE_FAULTS["SQLITE_READONLY"].format(path=path)
    return (
        texts.SQLITE_FAULTS["SQLITE_FULL"].format(path=path) if shutil.disk_usage(there).free < SMALLEST_FREE else None
    )


def is_held(path: Path) -> bool:
    """Whether a process has this file open as its own."""
    lock = FileLock(f"{path}.lock")
    if not Path(lock.lock_file).exists():
        return False
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


class SqliteDatabase:
    """The ports Database and Files on one file. `path` is None in memory; `lock` and `file` are closed with it.

    `file` is a descriptor of the database file, for `find`. It stays open until the engine is gone, because
    closing any descriptor of the file drops the locks that SQLite holds on it in this process.
    """

    def __init__(self, path: Path | None, *, lock: BaseFileLock | None, file: int | None, patience_s: float) -> None:
        quieten()
        self.path = path
        self.where = place_of(f"sqlite:///{path or ''}")
        self.is_shared = False
        self.files: DatabaseFiles | None = self
        self.outages = OutageLog()
        self._lock = lock
        self._file = file
        self._patience_s = patience_s
        self._writer = _Connections(path, "BEGIN IMMEDIATE", 1, patience_s, self._check)
        self._readers = self._writer if path is None else _Connections(path, "BEGIN", READERS, patience_s, self._check)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        async with self._outcome(OutageKind.READ, self._readers.start(work, *args, **options)) as outcome:
            done, _ = await outcome
        self.outages.note_success(OutageKind.READ)
        return done

    async def read_long(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.read(work, *args, **options)  # all work is done on threads

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        async with self._outcome(OutageKind.WRITE, self._writer.start(work, *args, **options)) as outcome:
            done, changed = await outcome
        if changed:
            self.outages.note_success(OutageKind.WRITE)
        return done

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.write(work, *args, **options)  # every write is alone

    async def checkpoint(self) -> bool:
        path = self.path
        if path is None:
            return True

        def emptied() -> bool:
            self._check()
            return asyncio.run(_checkpointed(path, self._patience_s))

        for _ in range(CHECKPOINT_TRIES):
            async with self._outcome(OutageKind.WRITE, self._writer.start_alone(emptied)) as done:  # no write meanwhile
                if await done:
                    return True
        return False

    async def find(self, pieces: frozenset[bytes]) -> frozenset[bytes]:
        if self._file is None:
            return frozenset()
        return await asyncio.to_thread(_found_in_files, self._file, Path(f"{self.path}-wal"), pieces)

    async def close(self) -> None:
        await self._writer.close()
        await self._readers.close()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._lock is not None:
            self._lock.release()

    @asynccontextmanager
    async def _outcome(self, kind: OutageKind, begun: Future[T]) -> AsyncGenerator[asyncio.Future[T]]:
        """The outcome of what was begun, to be awaited in the block. Errors become sentences, and outages are logged.

        Whoever is cancelled before its thread is free has it not done; later it is waited for.
        """
        done = asyncio.wrap_future(begun)
        done.add_done_callback(_seen)
        with self.outages.noting(kind):
            try:
                yield asyncio.shield(done)
            except asyncio.CancelledError:
                if not begun.cancel():
                    await asyncio.wait({done})
                raise
            except (DBAPIError, sqlite3.Error) as error:
                raise store_error(error, self.path) from error

    def _check(self) -> None:
        if self.path is not None and self._file is not None and not _is_at(self._file, self.path):
            # What is written would be gone with it.
            raise StoreUnavailable(texts.SQLITE_REPLACED.format(path=self.path))


def _seen(done: asyncio.Future[T]) -> None:
    """Its caller may have been cancelled, even twice: asyncio need not log that nobody heard of its error."""
    if not done.cancelled():
        done.exception()


def _is_at(file: int, path: Path) -> bool:
    """Whether the path still leads to this open file."""
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


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


async def _checkpointed(path: Path, patience_s: float) -> bool:
    """On a connection of its own: SQLite does this outside of transactions only."""
    async with (
        aiosqlite.connect(path, timeout=patience_s, isolation_level=None) as connection,
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)") as answer,
    ):
        row = await answer.fetchone()
        return row is not None and row[0] == 0  # busy
