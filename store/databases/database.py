"""What the store asks of a database, whichever engine it is, and what both engines share.

Rules
  Work is a plain function of a Connection and is one transaction: all of it happens or none. It may be run again if
  another writer got in its way, so it has no effect but on the database.
  Work is the same on both engines. The few things that only PostgreSQL needs, because there writers do not wait for one
  another, are functions here that do nothing on SQLite.
  A caller that is cancelled before its turn comes does nothing; one that is cancelled later waits until its transaction
  has ended, so a connection is never left in the middle.
  Errors carry neither SQL nor parameters: they hold people's words. Nor do logs: the drivers are kept quiet.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum, auto
from types import CoroutineType
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, CursorResult, DateTime, Dialect, LargeBinary, Text, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.types import TypeDecorator, TypeEngine

from agent.errors import StoreUnavailable

P = ParamSpec("P")
T = TypeVar("T")

# Below WARNING they log every parameter: people's words, in files that forgetting cannot reach.
TALKATIVE: Final = ("asyncpg", "sqlalchemy")
# The first half of PostgreSQL's fixed advisory locks ("cog"). Those of conversations have one 64-bit key.
LOCK_SPACE: Final = 0x636F67
_IN_ORDER: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
_migrating: Final = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()


class DatabaseFiles(Protocol):
    """The files of a database that this process can look into."""

    async def checkpoint(self) -> bool:
        """Move the write-ahead log into the file and empty it. False while another reader holds it back."""
        ...

    async def find(self, pieces: frozenset[bytes]) -> frozenset[bytes]:
        """Those of `pieces` that stand anywhere in the files."""
        ...


class Database(Protocol):
    """Runs work in transactions. Every method raises StoreError with one sentence.

    `where`: in words for a person, without user name and password. `is_shared`: other processes may write to it at the
    same time. `files`: None if a server keeps them.
    """

    where: str
    is_shared: bool
    files: DatabaseFiles | None
    outages: "OutageLog"

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work` on one consistent state."""
        ...

    async def read_long(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `read`, for work that computes for more than a moment: the event loop goes on meanwhile."""
        ...

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """Run `work` in one transaction. After an error nothing of it has happened."""
        ...

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        """As `write`, while nobody else writes: for what has to know everything that is there. The event loop goes on,
        however long it takes.
        """
        ...

    async def close(self) -> None:
        """Wait for what is under way, then give everything back. Later work raises StoreError."""
        ...


def is_postgresql(connection: Connection) -> bool:
    return connection.dialect.name == "postgresql"


def in_order(connection: Connection, name: str) -> None:
    """Let the writers of one conversation follow one another, so that the order of ids is the order of commits.

    Otherwise a turn could be seen, and answered, before an earlier one of its conversation is visible. The lock ends
    with the transaction. SQLite has one writer anyway. Other names serve those who count before they write.
    """
    if is_postgresql(connection):
        connection.execute(_IN_ORDER, {"name": name})


def row_id(inserted: CursorResult[Any]) -> int:
    key = inserted.inserted_primary_key
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


async def whole(work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; if the caller is cancelled meanwhile, let it end first."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # nobody waits for it any more: seen
        raise


# A database that fails says so in the log, and again when it works: once for all who work on it.
#
# Rules
#   One line when it begins to fail, one every REPEAT_S while it does, one when it works again. Callers need not log it.
#   Work that only reads may succeed while nothing can be written: a disk that is full, a server that takes no writes.
#   So does work that finds nothing to write: only what was written shows that the database works again.

log = logging.getLogger(__name__)

REPEAT_S: Final = 60.0  # Often enough to see that it lasts, seldom enough to find the line that says why


class OutageKind(Enum):
    READ = auto()
    WRITE = auto()


@dataclass(slots=True)
class OutageLog:
    """`monotonic`: seconds of a clock that only goes forward; None while failures are told to the caller alone."""

    monotonic: Callable[[], float] | None = None
    _since: dict[OutageKind, float] = field(default_factory=dict[OutageKind, float])
    _told: float | None = None
    _announced: bool = False

    @property
    def lasts(self) -> bool:
        return bool(self._since)

    @contextmanager
    def noting(self, kind: OutageKind) -> Generator[None]:
        """Log a failure of the block. Whether it shows that the database works, its caller says (`note_success`)."""
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


class LocalNotifier:
    """The port Notifier within one process. A notification while nobody waits is kept for the next wait."""

    def __init__(self) -> None:
        self._notified = asyncio.Event()
        self._listeners: dict[str, set[Callable[[], None]]] = {}

    def listen(self, what: str, heard: Callable[[], None]) -> None:
        """Call this, once, when somebody tells that (a plain word), here or in another process."""
        self._listeners.setdefault(what, set()).add(heard)

    def tell(self, what: str) -> None:
        """Wakes nobody but who listens to that. Returns at once."""
        for heard in self._listeners.get(what, ()):
            heard()

    def hear_all(self) -> None:
        """As if everything had been told."""
        for what in self._listeners:
            LocalNotifier.tell(self, what)

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
        """Nothing to give back."""


async def aside(work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Run what takes more than some milliseconds and no transaction on a thread: the event loop goes on meanwhile."""
    return await asyncio.to_thread(work, *args, **options)


class SqlStore:
    """A port on a database: its methods are functions of a Connection, each in one transaction."""

    def __init__(self, database: Database) -> None:
        self.database = database


_Method: TypeAlias = "Callable[Concatenate[SqlStore, P], CoroutineType[Any, Any, T]]"


def reads(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work` on one consistent state."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.read(work, *args, **options)

    return run


def reads_long(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """The same for work that computes for more than a moment."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.read_long(work, *args, **options)

    return run


def writes(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work` in one transaction."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.write(work, *args, **options)

    return run


def writes_alone(work: Callable[Concatenate[Connection, P], T]) -> "_Method[P, T]":
    """A method that runs `work` in one transaction, while nobody else writes."""

    async def run(store: SqlStore, /, *args: P.args, **options: P.kwargs) -> T:
        return await store.database.write_alone(work, *args, **options)

    return run


# Column types that mean the same on SQLite and on PostgreSQL. Pure.


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def storable(text: str) -> str:
    """`text` without what a database refuses: NUL (PostgreSQL) and lone surrogates (no UTF-8) become U+FFFD."""
    if text.isascii():
        return text.replace("\0", REPLACEMENT)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", REPLACEMENT)


class StorableText(TypeDecorator[str]):
    """Text of any length and any content; also applied to the values that a column is compared with."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002  (SQLAlchemy's signature)
        return None if value is None else storable(value)


class _TimeProcessor(Protocol):
    def __call__(self, value: Any) -> datetime | None: ...  # noqa: ANN401 -- SQLAlchemy's signature


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time. SQLite keeps no offset, so times go in as UTC and come back as UTC; a naive one raises."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002  (as above)
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be stored")
        return value.astimezone(UTC)

    def result_processor(self, dialect: Dialect, coltype: object) -> _TimeProcessor | None:  # noqa: ARG002  (as above)
        """In one step, since forgetting reads tens of thousands. PostgreSQL's driver gives aware times."""
        return None if dialect.name == "postgresql" else _stored_time


# --------------------------------------------------------------------------------------------------


def _stored_time(value: Any) -> datetime | None:  # noqa: ANN401 -- SQLAlchemy's signature
    return None if value is None else datetime.fromisoformat(f"{value}+00:00")


class BitString(TypeDecorator[bytes]):
    """Whole bytes. PostgreSQL keeps them as bits, of which it can count those that differ."""

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
