"""SQLite: one file, one process, one writer, and sentences for its errors.

Rules
  One process holds the file's lock, a file beside it, which the system releases when the process dies.
  A write begins with BEGIN IMMEDIATE, and there is one at a time: SQLite's default mode loses updates, a plain BEGIN
  fails with "database is locked" at its first write, and several writers sleep in the busy handler.
  A file that was moved away or replaced is not written: acknowledged writes would be lost.
  For a file there are readers beside the writer; a database in memory has one connection for all.
  To find a few rows takes a quarter of the time that it takes to change threads for it, on the event loop as well. So
  that is read where it is asked for, without waiting: if another program has the file locked, a thread waits for it.
"""

import asyncio
import errno
import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Concatenate, Final, Generic, ParamSpec, TypeVar, cast

import aiosqlite
from filelock import BaseFileLock, FileLock, Timeout
from sqlalchemy import URL, Connection, QueuePool, StaticPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from agent import texts
from agent.errors import StoreError, StoreLocked, StoreUnavailable
from agent.machine import place_of, sqlite_path
from agent.path_errors import is_system_folder, nearest_existing, unwritable_reason
from store.databases.database import (
    CommitListeners,
    DatabaseFiles,
    OutageKind,
    OutageLog,
    announced,
    one_statement,
    quieten,
)

P = ParamSpec("P")
T = TypeVar("T")

# An acknowledged write survives a power cut, at the cost of one fsync each; NORMAL could lose the last half minute.
SYNCHRONOUS: Final = "FULL"
_PRAGMAS: Final = """
PRAGMA busy_timeout = {patience_ms};
PRAGMA journal_mode = WAL;
PRAGMA synchronous = {synchronous};
PRAGMA foreign_keys = ON;
PRAGMA secure_delete = ON;
PRAGMA temp_store = MEMORY;
"""
# Some builds turn secure_delete off: deleted words would stay in the file. Sorting to disk would copy words there.


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """A transaction's result, whether it has changed anything, and what it announced (`after_commit`)."""

    result: T
    changed: bool
    announced: Collection[str]


class _Connections:
    """Up to `size` connections to a file (None: the one of a database in memory), and as many threads.

    `begin`: the statement that begins a transaction. `patience_s`: how long to wait for another program that has the
    file locked. `check`: raises StoreError if the database may not be used now.
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
        self._begin_with = begin
        self._here: Connection | None = None
        self._closed = False

    def start(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> Future[_Done[T]]:
        """Run `work` in one transaction.

        It runs on one thread: changing threads for each statement takes longer than all statements together.
        """
        return self.start_alone(partial(self._transaction, work, *args, **options))

    def start_alone(self, work: Callable[[], T]) -> Future[T]:
        """Run other work on a thread, in the place of a transaction."""
        if self._closed:  # a late caller would open the file again, without the lock
            raise StoreError(texts.STORE_CLOSED)
        return self._executor.submit(work)

    def run_here(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work`, which executes one statement, on the caller's thread, without a transaction.

        To take the connection from the pool, to begin and to commit takes twice as long as a short statement.
        """
        if self._closed:
            raise StoreError(texts.STORE_CLOSED)
        self._check()
        if self._here is None:
            self._here = self._engine.connect()
        try:
            result = work(one_statement(self._here), *args, **options)
            self._here.rollback()  # of SQLAlchemy's transaction only: the file has none
        except BaseException:
            self._here.close()
            self._here = None
            raise
        return result

    def start_unchecked(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> Future[_Done[T]]:
        """As `start`, while SQLite checks no foreign keys."""

        def run() -> _Done[T]:
            self._set_foreign_keys("OFF")
            try:
                return self._transaction(work, *args, **options)
            finally:
                self._set_foreign_keys("ON")

        return self.start_alone(run)

    def _set_foreign_keys(self, value: str) -> None:
        with closing(self._engine.raw_connection()) as pooled:  # SQLite ignores this setting in a transaction
            pooled.cursor().execute(f"PRAGMA foreign_keys = {value}")

    async def close(self) -> None:
        """Wait for running and queued work, then close the connections."""
        self._closed = True
        await asyncio.to_thread(self._executor.shutdown)
        if self._here is not None:
            self._here.close()
        self._engine.dispose()

    def _transaction(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> _Done[T]:
        self._check()
        with self._engine.begin() as connection:
            driver = cast("sqlite3.Connection", connection.connection.driver_connection)
            # Not as an event of SQLAlchemy's: with one listener, each statement looks for others, a third of its time.
            driver.execute(self._begin_with)
            before = driver.total_changes
            result = work(connection, *args, **options)
            return _Done(result, driver.total_changes != before, announced(connection))

    def _prepare(self, driver: sqlite3.Connection, _: object) -> None:
        try:
            driver.executescript(self._pragmas)
        except sqlite3.Error:
            driver.close()  # the pool does not have this connection yet
            raise


READERS: Final = 4  # Connections that read at the same time; each costs a thread
CHECKPOINT_TRIES: Final = 3  # Each waits for readers as long as the busy handler does
BLOCK_BYTES: Final = 1 << 20
SMALLEST_FREE: Final = 100_000  # Bytes that a new database takes before its first question: with less the disk is full
_OWNER_ONLY: Final = 0o600


def store_error(error: DBAPIError | sqlite3.Error, path: Path | None) -> StoreError:
    cause = error.orig if isinstance(error, DBAPIError) else error
    name = str(getattr(cause, "sqlite_errorname", ""))
    for code, sentence in texts.SQLITE_FAULTS.items():
        if name.startswith(code):
            return StoreUnavailable(sentence.format(path=path))
    return StoreError(texts.SQLITE_REFUSED.format(path=path or "in memory", cause=cause))


def open_sqlite(rest: str, patience_s: float) -> "SqliteDatabase":
    """Open the database of a URL `sqlite://rest`; creates its file and folder. Raises StoreLocked and StoreError.

    `patience_s`: how long to wait for another program that reads or writes the file.
    """
    path = sqlite_path(rest)
    if path is None:
        return SqliteDatabase(None, lock=None, file=None, patience_s=patience_s)
    lock = FileLock(f"{path}.lock")
    try:
        _refuse_other_kinds(path)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=0)
        file = os.open(path, os.O_RDWR | os.O_CREAT, _OWNER_ONLY)
        _close_to_others(path)
        if is_anybodys(os.fstat(file), _user()):
            os.close(file)
            lock.release()
            raise StoreError(texts.SQLITE_ANYBODYS.format(path=path))
    except Timeout:
        if not Path(lock.lock_file).exists():  # some file systems refuse to create a file in this way
            raise StoreError(texts.SQLITE_NO_LOCK.format(path=path)) from None
        raise StoreLocked(texts.SQLITE_LOCKED.format(path=path)) from None
    except OSError as error:
        lock.release()
        raise StoreError(texts.SQLITE_NOT_OPENED.format(path=path, reason=unwritable_reason(error, path))) from error
    return SqliteDatabase(path, lock=lock, file=file, patience_s=patience_s)


def _refuse_other_kinds(path: Path) -> None:
    """Raises StoreError for a folder or a device, which would tell SQLite something else, such as that it is full."""
    if path.exists() and not path.is_file():
        raise StoreError(texts.SQLITE_NOT_OPENED.format(path=path, reason=texts.NOT_A_FILE))


def _close_to_others(path: Path) -> None:
    """Make the file readable by its owner only, also one that was created with wider permissions, and the logs that a
    crash has left beside it. New logs inherit the permissions of the file.
    """
    for part in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        with suppress(OSError):  # it does not exist, has another owner, or the file system has no permissions
            if part.stat().st_mode & 0o077:
                part.chmod(_OWNER_ONLY)


def is_anybodys(status: os.stat_result, user: int) -> bool:
    """Whether a file has another owner than `user` and is readable or writable by all: `user` cannot restrict it.

    Files of root are accepted, and root itself may do anything.
    """
    return user != 0 and status.st_uid not in {user, 0} and bool(status.st_mode & (stat.S_IROTH | stat.S_IWOTH))


def _user() -> int:
    """The effective user id; 0 where the system has none."""
    return os.geteuid() if sys.platform != "win32" else 0


def open_sqlite_beside(rest: str, patience_s: float) -> "SqliteDatabase":
    """Open it for reading only, also while another process has it open. Raises StoreError if there is no file, or if
    nobody can say whether there is one: this user may not look into its folder.
    """
    path = sqlite_path(rest)
    try:
        is_missing = path is not None and not path.exists()
        if path is not None:
            _refuse_other_kinds(path)
    except OSError as error:
        raise StoreError(texts.SQLITE_NOT_OPENED.format(path=path, reason=error.strerror)) from error
    if is_missing:
        raise StoreError(texts.SQLITE_NOT_YET.format(path=path))
    return SqliteDatabase(path, lock=None, file=None, patience_s=patience_s)


def unwritable(path: Path) -> str | None:
    """Why a start could not open this file for writing, as a sentence; None if it could. Changes nothing."""
    try:
        return _unwritable(path)
    except OSError as error:  # such as a folder that this user may not look into
        return texts.SQLITE_NOT_OPENED.format(path=path, reason=error.strerror)


def _unwritable(path: Path) -> str | None:
    if path.is_file() and is_anybodys(path.stat(), _user()):
        return texts.SQLITE_ANYBODYS.format(path=path)
    existing = nearest_existing(path)
    if reason := _obstacle(path, existing):
        return texts.SQLITE_NOT_OPENED.format(path=path, reason=reason)
    if path.exists():
        fine = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)
    else:
        fine = os.access(existing, os.W_OK | os.X_OK)
    if not fine:
        return texts.SQLITE_FAULTS["SQLITE_READONLY"].format(path=path)
    usage = shutil.disk_usage(existing)
    is_full = usage.total > 0 and usage.free < SMALLEST_FREE  # some file systems report no size
    return texts.SQLITE_FAULTS["SQLITE_FULL"].format(path=path) if is_full else None


def creation_obstacle(path: Path) -> str:
    """Why this user cannot create a file that does not exist yet, or write the one that exists; "" if they can. Raises
    OSError.
    """
    existing = nearest_existing(path)
    if reason := _obstacle(path, existing):
        return reason
    needed = os.W_OK if existing == path else os.W_OK | os.X_OK
    return "" if os.access(existing, needed) else os.strerror(errno.EACCES)


def _obstacle(path: Path, existing: Path) -> str:
    """Why no file can be where `path` is, whoever asks; "" if there can be one. `existing`: see
    `nearest_existing`.
    """
    if existing == path and not path.is_file():
        return texts.NOT_A_FILE
    if existing != path and not existing.is_dir():
        return texts.NOT_A_FOLDER.format(path=existing)
    folder = path.parent if existing == path else existing
    if is_system_folder(folder):
        return texts.TAKES_NO_FILES.format(path=folder)
    is_read_only = hasattr(os, "statvfs") and bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    return os.strerror(errno.EROFS) if is_read_only else ""


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of this file."""
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
    """The ports Database and DatabaseFiles on one file. `path` is None in memory; `lock` and `file` are closed with it.

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
        self.commits = CommitListeners()
        self._lock = lock
        self._file = file
        self._identity = None if file is None else _identity_of(file)
        self._patience_s = patience_s
        self._writer = _Connections(path, "BEGIN IMMEDIATE", 1, patience_s, self._check)
        self._readers = self._writer if path is None else _Connections(path, "BEGIN", READERS, patience_s, self._check)
        self._here = None if path is None else _Connections(path, "BEGIN", 1, 0.0, self._check)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        async with self._outcome(OutageKind.READ, self._readers.start(work, *args, **options)) as outcome:
            done = await outcome
        self.outages.note_success(OutageKind.READ)
        return done.result

    async def read_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.read(work, *args, **options)  # where a transaction begins costs nothing

    async def read_few(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        await asyncio.sleep(0)  # a loop of such reads must not keep other tasks waiting
        if self._here is not None:
            with suppress(DBAPIError, sqlite3.Error, StoreUnavailable):  # the thread waits, or meets the same error
                result = self._here.run_here(work, *args, **options)
                self.outages.note_success(OutageKind.READ)
                return result
        return await self.read(work, *args, **options)

    async def read_long(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.read(work, *args, **options)  # all work runs on threads

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        async with self._outcome(OutageKind.WRITE, self._writer.start(work, *args, **options)) as outcome:
            done = await outcome
        if done.changed:
            self.outages.note_success(OutageKind.WRITE)
        self.commits.tell(done.announced)
        return done.result

    async def write_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.write(work, *args, **options)

    async def write_in_order(
        self,
        names: Sequence[str],  # noqa: ARG002 -- there is one writer
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T:
        return await self.write(work, *args, **options)

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.write(work, *args, **options)  # there is one writer

    async def change_tables(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        # SQLite changes a table by copying it and dropping the original, which must not delete what refers to its rows.
        async with self._outcome(OutageKind.WRITE, self._writer.start_unchecked(work, *args, **options)) as outcome:
            done = await outcome
        return done.result

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
        if self._here is not None:
            await self._here.close()
        if self._file is not None:
            os.close(self._file)
            self._file = self._identity = None
        if self._lock is not None:
            self._lock.release()

    @asynccontextmanager
    async def _outcome(self, kind: OutageKind, started: Future[T]) -> AsyncGenerator[asyncio.Future[T]]:
        """Yield the outcome of the started work, to be awaited in the block. Translates errors and logs outages.

        A caller that is cancelled before a thread is free cancels the work; later it waits for the work.
        """
        done = asyncio.wrap_future(started)
        done.add_done_callback(_retrieve_exception)
        with self.outages.noting(kind):
            try:
                yield asyncio.shield(done)
            except asyncio.CancelledError:
                if not started.cancel():
                    await asyncio.wait({done})
                raise
            except (DBAPIError, sqlite3.Error) as error:
                raise store_error(error, self.path) from error

    def _check(self) -> None:
        if self.path is not None and self._identity is not None and self._identity != _identity_of(self.path):
            # Writes would be lost with the old file.
            raise StoreUnavailable(texts.SQLITE_REPLACED.format(path=self.path))


def _retrieve_exception(done: asyncio.Future[T]) -> None:
    """Retrieve the error, so that asyncio does not log it if the caller was cancelled."""
    if not done.cancelled():
        done.exception()


def _identity_of(file: int | Path) -> tuple[int, int] | None:
    """Return the device and the number of a file, which no other file gets while this one is open; None without one."""
    try:
        found = os.stat(file)  # noqa: PTH116 -- also of a descriptor, and each transaction asks: Path takes longer
    except OSError:
        return None
    return found.st_dev, found.st_ino


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
