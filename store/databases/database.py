"""The interface of a database, the same for both engines, and the code that both engines share.

Rules
  Work is a plain function of a Connection and runs as one transaction. It may be retried after a conflict with another
  writer, so it has no side effects except on the database.
  Work is the same on both engines. What only PostgreSQL needs, because its writers run side by side, are functions here
  that do nothing on SQLite.
  A caller that is cancelled before its transaction starts changes nothing; one that is cancelled later waits until the
  transaction has ended, so a connection is never left in the middle.
  Errors contain neither SQL nor parameters, because these hold people's words. Neither do logs: the drivers' loggers
  are set to WARNING.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from types import CoroutineType
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar, cast
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, CursorResult, DateTime, Dialect, Executable, LargeBinary, Text, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeDecorator, TypeEngine

from agent.errors import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

# Below WARNING these log every parameter: people's words, in files that forgetting cannot reach.
VERBOSE_LOGGERS: Final = ("asyncpg", "sqlalchemy")
# The first key of PostgreSQL's advisory locks with two keys ("cog"). Locks by name have one 64-bit key.
LOCK_SPACE: Final = 0x636F67
# On PostgreSQL, a condition by which a statement waits for `write_alone` as it begins, as other writes do.
BESIDE_OTHERS: Final = text(f"(SELECT pg_advisory_xact_lock_shared({LOCK_SPACE}, 1)) IS NOT NULL")
_IN_ORDER: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
_migrating: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()


class DatabaseFiles(Protocol):
    """The files of a database that this process can read."""

    async def checkpoint(self) -> bool:
        """Move the write-ahead log into the file and empty it. Returns False while another reader prevents it."""
        ...

    async def find(self, pieces: frozenset[bytes]) -> frozenset[bytes]:
        """Return those of `pieces` that occur anywhere in the files."""
        ...


class Database(Protocol):
    """Runs work in transactions. Every method raises StoreError with one sentence.

    `where`: its address for messages to people, without username and password. `is_shared`: other processes may write
    to it at the same time. `files`: None if a server has them. `commits`: hears what work announces (`after_commit`).
    """

    where: str
    is_shared: bool
    files: DatabaseFiles | None
    outages: "OutageLog"
    commits: "CommitListeners"

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work` on one snapshot."""
        ...

    async def read_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `read`, for work that executes one statement: that is a snapshot by itself, without a transaction. Raises
        RuntimeError for a second one, where that would see another snapshot.
        """
        ...

    async def read_few(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `read_one`, for work that finds a few rows by an index: it may run on the event loop."""
        ...

    async def read_long(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `read`, for work that computes for long: it does not block the event loop."""
        ...

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work` in one transaction. After an error nothing has changed."""
        ...

    async def write_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `write`, for work that executes one statement (`BESIDE_OTHERS` is a condition of it), which changes a row
        by its key. It runs again if the connection is lost, although it may have run before.
        """
        ...

    async def write_in_order(
        self, names: Sequence[str], work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """As `write`, after all writes under these names that began before (`in_order`)."""
        ...

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `write`, without other writers: for work that must see every row. It does not block the event loop."""
        ...

    async def change_tables(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        """As `write`, for migrations: rows may refer to rows of a table that is replaced until `work` ends."""
        ...

    async def close(self) -> None:
        """Wait for running work, then close the connections. Later work raises StoreError."""
        ...


_ANNOUNCED: Final = "cogency.announced"
IN_ORDER: Final = "cogency.in_order"
"""In `Connection.info`: the names under which the transaction is in order since it began."""


def after_commit(connection: Connection, topic: str) -> None:
    """Tell the listeners of this topic in this process once the transaction is committed."""
    announced: set[str] = connection.info.setdefault(_ANNOUNCED, set[str]())
    announced.add(topic)


def announced(connection: Connection) -> Collection[str]:
    """Return what the work on this connection has announced, and forget it."""
    topics: Collection[str] = connection.info.pop(_ANNOUNCED, ())
    return topics


@dataclass(slots=True)
class CommitListeners:
    """Listeners for what was committed in this process. A caller that was cancelled meanwhile tells nobody: listeners
    look for themselves now and then.
    """

    _listeners: dict[str, set[Callable[[], None]]] = field(default_factory=dict[str, set[Callable[[], None]]])

    def listen(self, topic: str, callback: Callable[[], None]) -> None:
        self._listeners.setdefault(topic, set()).add(callback)

    def ignore(self, topic: str, callback: Callable[[], None]) -> None:
        self._listeners.get(topic, set()).discard(callback)

    def tell(self, topics: Collection[str]) -> None:
        for topic in topics:
            for callback in self._listeners.get(topic, ()):
                callback()


def one_statement(connection: Connection) -> Connection:
    """Return the part of a connection without a transaction that work needs which executes one statement."""
    return cast("Connection", _OneStatement(connection))


class _OneStatement:
    """The part of Connection that work needs which executes one statement."""

    def __init__(self, connection: Connection) -> None:
        self.dialect = connection.dialect
        self._connection: Connection | None = connection

    def execute(self, statement: Executable, parameters: Mapping[str, object] | None = None) -> CursorResult[Any]:
        connection, self._connection = self._connection, None
        if connection is None:
            raise RuntimeError("a second statement would see another snapshot: read in a transaction")
        return connection.execute(statement, parameters)


def is_postgresql(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def in_order(connection: Connection, name: str) -> None:
    """Serialise the writers of one conversation, so that the order of ids is the order of commits.

    Otherwise a turn could be seen, and answered, before an earlier one of its conversation is visible. The lock ends
    with the transaction. SQLite has one writer anyway. Other names serialise writers that count before they write.
    """
    if is_postgresql(connection) and name not in connection.info.get(IN_ORDER, ()):
        connection.execute(_IN_ORDER, {"name": name})


def row_id(inserted: CursorResult[Any]) -> int:
    key = inserted.inserted_primary_key
    return 0 if key is None else int(key[0])


def migrating() -> asyncio.Lock:
    """The lock held while a database is migrated: Alembic keeps the running migration in module globals, so two at once
    would use each other's connection. One lock for each event loop, because a lock is bound to the loop it waited in.
    """
    return _migrating.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def quieten() -> None:
    """Let the drivers log nothing below WARNING (see VERBOSE_LOGGERS), whatever level the root logger has."""
    for name in VERBOSE_LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; if the caller is cancelled meanwhile, let it end first."""
    task = asyncio.create_task(work)
    # Retrieved, so that asyncio does not log an error for which no caller waits any more: it may be cancelled twice.
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


# Logging of database outages: once for all callers.
#
# Rules
#   One line when the database begins to fail, one every REPEAT_S while it does, one when it works again. Callers need
#   not log it.
#   Reads may succeed while writes fail (a full disk, a server that refuses writes), and so may a write that finds
#   nothing to change: only a change shows that the database works again.

log = logging.getLogger(__name__)

REPEAT_S: Final = 60.0  # Often enough to show that it lasts, seldom enough to find the line with the cause


class OutageKind(Enum):
    READ = auto()
    WRITE = auto()


@dataclass(slots=True)
class OutageLog:
    """`monotonic`: a monotonic clock in seconds; None while failures are raised and not logged."""

    monotonic: Callable[[], float] | None = None
    _since: dict[OutageKind, float] = field(default_factory=dict[OutageKind, float])
    _last_logged: float | None = None
    _announced: bool = False

    @property
    def lasts(self) -> bool:
        return bool(self._since)

    @contextmanager
    def noting(self, kind: OutageKind) -> Generator[None]:
        """Log a failure of the block. The caller calls `note_success` if success shows that the database works."""
        try:
            yield
        except StoreUnavailable as error:
            if self.monotonic is not None and self.failed(kind, self.monotonic()):
                log.warning("%s", error)
            raise

    def note_success(self, kind: OutageKind) -> None:
        if self.lasts and self.monotonic is not None:
            failed_for = self.worked(kind, self.monotonic())
            if failed_for is not None:
                log.warning("the database works again, after %.0f s", failed_for)

    def failed(self, kind: OutageKind, now: float) -> bool:
        """Record a failure; returns whether to log it."""
        self._since.setdefault(kind, now)
        if self._last_logged is not None and now - self._last_logged < REPEAT_S:
            return False
        self._last_logged, self._announced = now, True
        return True

    def worked(self, kind: OutageKind, now: float) -> float | None:
        """Record a success; returns for how many seconds the database failed if its recovery is to be logged."""
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


class LocalNotifier:
    """The port Notifier within one process. A notification while no task waits is kept for the next wait."""

    def __init__(self) -> None:
        self._notified = asyncio.Event()
        self._listeners: dict[str, set[Callable[[], None]]] = {}

    def listen(self, topic: str, callback: Callable[[], None]) -> None:
        """Call `callback` once for each `publish` of this topic (a plain word), here or in another process."""
        self._listeners.setdefault(topic, set()).add(callback)

    def publish(self, topic: str) -> None:
        """Call the listeners of this topic only. Returns at once."""
        for callback in self._listeners.get(topic, ()):
            callback()

    def publish_all(self) -> None:
        """Call the listeners of all topics."""
        for topic in self._listeners:
            LocalNotifier.publish(self, topic)

    @property
    def is_notified(self) -> bool:
        return self._notified.is_set()

    def notify(self) -> None:
        self._notified.set()

    async def wait(self, timeout_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._notified.wait()
        self._notified.clear()

    async def close(self) -> None:
        """Nothing to close."""


async def run_in_thread(work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Run computation that needs no transaction on a thread, so that it does not block the event loop."""
    return await asyncio.to_thread(work, *args, **options)


class SqlStore:
    """Base of the ports on a database, whose methods run functions of a Connection, each in one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database


_Method: TypeAlias = "Callable[Concatenate[SqlStore, P], CoroutineType[Any, Any, T]]"


def reads(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work` on one snapshot."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.read(work, *args, **options)

    return run


def reads_one(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work`, which executes one statement."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.read_one(work, *args, **options)

    return run


def reads_few(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work`, which finds a few rows by one statement and an index."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.read_few(work, *args, **options)

    return run


def reads_long(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work`, which computes for long, on one snapshot."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.read_long(work, *args, **options)

    return run


def writes(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work` in one transaction."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.write(work, *args, **options)

    return run


def writes_alone(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work` in one transaction, with all other writers excluded."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.write_alone(work, *args, **options)

    return run


# Column types that mean the same on SQLite and on PostgreSQL. Pure.


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    """`text` with the characters that a database refuses, NUL (PostgreSQL) and lone surrogates, replaced by U+FFFD."""
    if text.isascii():
        return text.replace("\0", REPLACEMENT)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", REPLACEMENT)


class StorableText(TypeDecorator[str]):
    """Text of any length and content; also converts the values that a column is compared with."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  (SQLAlchemy's signature)
        return None if value is None else storable(value)


class _TimeProcessor(Protocol):
    def __call__(self, value: Any) -> datetime | None: ...  # noqa: ANN401 -- SQLAlchemy's signature


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored and returned as UTC, because SQLite has no offsets. A naive time raises ValueError."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  (as above)
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be stored")
        return value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> _TimeProcessor | None:  # noqa: ARG002  (as above)
        """One call per value, as forgetting reads tens of thousands. PostgreSQL's driver returns aware times."""
        return None if dialect.name == "postgresql" else _stored_time


# --------------------------------------------------------------------------------------------------


def _stored_time(value: Any) -> datetime | None:  # noqa: ANN401 -- SQLAlchemy's signature
    return None if value is None else datetime.fromisoformat(f"{value}+00:00")


class BitString(TypeDecorator[bytes]):
    """Whole bytes. PostgreSQL stores them as bit strings, whose differing bits it can count."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(postgresql.BIT(varying=True) if _has_bits(dialect) else LargeBinary())

    def process_bind_param(self, value: bytes | None, dialect: Dialect) -> object:
        return None if value is None else postgresql.BitString.from_bytes(value) if _has_bits(dialect) else value

    def process_result_value(self, value: postgresql.BitString | bytes | None, dialect: Dialect) -> bytes | None:  # noqa: ARG002  (as above)
        return value.to_bytes() if isinstance(value, postgresql.BitString) else value


def _has_bits(dialect: Dialect) -> bool:
    return dialect.name == "postgresql"
