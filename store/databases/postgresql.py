"""PostgreSQL: many processes, a bounded pool, and sentences for its errors.

Rules
  Writers run side by side, at READ COMMITTED: each statement sees what was committed before it. Writers that must not
  overlap take a lock first: those of one conversation (`store.databases.database.in_order`), and those that must see
  every row (`write_alone`): every other write holds that lock's shared side, so none is half done meanwhile. A write
  that conflicts with another one (a duplicate, a deadlock) is retried: it then finds the other's result.
  Readers see one snapshot (REPEATABLE READ) and never wait. A server that is away is an error now; the next call tries
  again, so no restart is needed when it is back. After a restart of the server there is not even an error: work that
  finds its connection lost before it has written anything is retried. (To check each connection first would take three
  round trips for every transaction.)
  A pooler in front of the server is detected at the first connection: it reports another server process than the one
  that runs the queries. A pooler by transaction keeps no session state between transactions, so there each transaction
  sets its time limits as it begins, and LISTEN is not used (see `shared_notifier`). Statements are cached as prepared
  only if the pooler keeps them for all of its connections.
  Of several servers in the URL, the one that accepts writes is used, and after a failover the new one. A server that
  hangs must not keep us from the next one, so each has its own time limit.
  Work computes between its statements, on the event loop, and all other tasks wait meanwhile. Work that computes for
  long (`read_long`, `write_alone`) runs on an event loop in a thread of its own.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from enum import Enum, auto
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeAlias, TypeVar, cast

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # that is why this module is here
from sqlalchemy import Connection, TextClause, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.util import greenlet_spawn

from agent import texts
from agent.errors import StoreError, StoreUnavailable
from agent.machine import each_server, place_of
from store.databases import database

# The part of asyncpg's interface that we use directly, with types. It has none of its own.

# Errors of a connection: the server's, the driver's own, the network's (including time-outs), and that a server is
# read-only.
ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.TargetServerAttributeNotMatched,
    OSError,
)
UNREADABLE: Final = (asyncpg.ClientConfigurationError, ValueError)  # Errors of a malformed URL


class DriverConnection(Protocol):
    def get_server_pid(self) -> int: ...

    def transaction(self) -> AbstractAsyncContextManager[object]: ...

    async def execute(self, query: str, *, timeout: float | None = None) -> str: ...  # noqa: ASYNC109 -- the driver's own

    async def fetchval(self, query: str) -> object: ...

    async def prepare(self, query: str, *, name: str) -> object: ...

    async def fetch(self, query: str) -> Sequence[Sequence[object]]: ...

    async def add_listener(self, channel: str, callback: Callable[[object, int, str, str], None]) -> None: ...

    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...

    async def close(self) -> None: ...

    def terminate(self) -> None: ...


Connect: TypeAlias = Callable[[], Awaitable[DriverConnection]]

P = ParamSpec("P")
T = TypeVar("T")

# Connections of one process. The server allows 100 in all by default, and a transaction takes milliseconds.
POOL: Final = 8
# More connections for long work: two searches for what is to be forgotten, and two writers that erase or wait for that.
POOL_ASIDE: Final = 4
POOL_WAIT_S: Final = 10.0  # For a free connection; more than that is an overload, which waiting makes worse
CONNECT_S: Final = 10.0
# For a connection to one of several servers: one that hangs accepts it, but never answers.
CONNECT_EACH_S: Final = 3.0
STATEMENT_S: Final = 30.0  # For one statement; the slowest, the search for proof over a year of messages, takes seconds
# For a lock: longer than a writer should hold one, shorter than STATEMENT_S, so that the error names the lock.
LOCK_S: Final = 15.0
# For a process that stops in the middle of a transaction, such as on a frozen machine: the server ends the transaction
# and frees its locks before the processes that wait for them run out of connections (POOL_WAIT_S).
IDLE_S: Final = 9.0
PREPARED: Final = 100  # Prepared statements that one connection caches; fewer than that are used often
# Tries of a write that conflicts with others. Each waits for those before it, so the second nearly always succeeds.
TRIES: Final = 5

LIMITS: Final = {
    "statement_timeout": f"{STATEMENT_S:g}s",
    "lock_timeout": f"{LOCK_S:g}s",
    "idle_in_transaction_session_timeout": f"{IDLE_S:g}s",
    # No query here takes long enough to pay for JIT compilation or for parallel workers.
    "jit": "off",
    "max_parallel_workers_per_gather": "0",
}
_NAME: Final = {"application_name": "cogency"}
_NO_TRANSACTIONS: Final = "not allowed in statement pooling"  # As PgBouncer says it, without a code of its own
_PROBE: Final = "cogency_probe"
_PROBED: Final = f"SELECT count(*) FROM pg_prepared_statements WHERE name = '{_PROBE}'"  # noqa: S608 -- our own name
_SET_LIMITS: Final = "".join(f"SET LOCAL {name} = '{value}';" for name, value in LIMITS.items())


class Pooler(Enum):
    """The kind of pooler between us and the server: for how long it assigns one of its connections."""

    NONE = auto()
    BY_SESSION = auto()
    BY_TRANSACTION = auto()
    BY_TRANSACTION_WITH_STATEMENTS = auto()
    """It keeps prepared statements for all of its connections to the server, as PgBouncer does from 1.21 on."""


class _Connection(asyncpg.Connection):
    """Sends other statements in one message with the one that begins a transaction, which saves a round trip.

    `limits`: through a pooler, which rejects settings at connection, each transaction sets them first. `lock`: the
    statement that takes the next transaction's lock. `has_begun`, `has_failed`: whether it began, or could not.
    """

    limits = ""
    lock = ""
    has_begun = False
    has_failed = False

    async def execute(self, query: str, *args: object, **options: Any) -> str:  # noqa: ANN401 -- the driver's own
        begins = query.startswith("BEGIN")
        whole = query + self.limits + self.lock if begins else query
        self.has_failed = begins
        status = await super().execute(whole, *args, **options)  # pyright: ignore[reportUnknownMemberType]  # asyncpg leaves it untyped
        self.has_begun, self.has_failed = self.has_begun or begins, False
        return status


class _LimitedConnection(_Connection):
    limits = _SET_LIMITS


async def connect(
    url: str,
    *,
    timeout_s: float,
    command_timeout_s: float,
    settings: Mapping[str, str],
    pooler: Pooler = Pooler.NONE,
    writable: bool = False,
) -> DriverConnection:
    """Connect to `url` within `timeout_s`; each command has `command_timeout_s`. `settings` are the server's.

    `writable`: refuse a server that is read-only, unless the URL says otherwise.
    """
    untyped: Any = asyncpg
    connection: DriverConnection = await untyped.connect(
        url,
        timeout=timeout_s,
        command_timeout=command_timeout_s,
        server_settings=dict(settings),
        statement_cache_size=0 if pooler is Pooler.BY_TRANSACTION else 100,
        connection_class=_Connection if pooler is Pooler.NONE else _LimitedConnection,
        **({"target_session_attrs": "read-write"} if writable and "target_session_attrs" not in url else {}),
    )
    return connection


_BESIDE_OTHERS: Final = f"SELECT pg_advisory_xact_lock_shared({database.LOCK_SPACE}, 1);"
# As `database.in_order`, but sent with the statement that begins, which takes no parameters: so by the name in digits.
_IN_ORDER: Final = "SELECT pg_advisory_xact_lock(hashtextextended(convert_from(decode('{}', 'hex'), 'UTF8'), 0));"
_ALONE: Final = f"SELECT pg_advisory_xact_lock({database.LOCK_SPACE}, 1);"

_HAS_WRITTEN: Final = text("SELECT pg_current_xact_id_if_assigned() IS NOT NULL")

# Foreign key, unique key, serialisation, deadlock.
_CONFLICTS: Final = frozenset({"23503", "23505", "40001", "40P01"})


def store_error(error: Exception, where: str) -> StoreError:
    """The error for people, as one sentence. The server's own message is left out: it quotes rows and parameters."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    state = str(getattr(origin, "sqlstate", None) or "")
    for code, sentence in texts.POSTGRESQL_FAULTS.items():
        if state.startswith(code):
            return StoreUnavailable(sentence.format(where=where))
    if isinstance(error, PoolTimeoutError):
        return StoreUnavailable(texts.POSTGRESQL_OVERLOADED.format(where=where, seconds=POOL_WAIT_S))
    if state:
        return StoreError(texts.POSTGRESQL_REFUSED.format(where=where, state=state))
    return StoreUnavailable(texts.POSTGRESQL_AWAY.format(where=where))


class PostgresDatabase:
    """The port Database on a server. It connects at first use."""

    def __init__(self, url: str, replica_url: str = "") -> None:
        database.quieten()
        self.outages = database.OutageLog()
        self.commits = database.CommitListeners()
        self._url = f"postgresql://{url.partition('://')[2]}"
        self._servers = each_server(self._url)
        self.where = place_of(self._url)
        self.is_shared = True
        self.files: database.DatabaseFiles | None = None
        self.replica = PostgresDatabase(replica_url) if replica_url else None
        self._pooler: Pooler | None = None
        self._pool: _Pool | None = None
        self._thread_loop: _ThreadLoop | None = None
        self._closed = False

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler assigns connections by transaction. Known after the first use."""
        return self._pooler in {Pooler.BY_TRANSACTION, Pooler.BY_TRANSACTION_WITH_STATEMENTS}

    @property
    def prepares(self) -> bool:
        """Whether a statement is prepared once for each connection. Known after the first use."""
        return self._pooler is not Pooler.BY_TRANSACTION

    @property
    def pooler_remark(self) -> str | None:
        """The limits of the pooler, as a sentence; None if there are none. Known after the first use."""
        if not self.is_pooled:
            return None
        return (texts.POOLED if self.prepares else texts.POOLED_UNPREPARED).format(where=self.where)

    async def connect(self) -> DriverConnection:
        """Open a connection for the caller alone, with our time limits. Raises StoreError for a malformed URL."""
        try:
            if self._pooler is not None:
                return await self._connect(self._pooler)
            self._pooler, connection = await self._detect_pooler()
        except UNREADABLE:
            raise StoreError(texts.DATABASE_URL_UNREADABLE) from None
        return connection

    async def _connect(self, pooler: Pooler) -> DriverConnection:
        silent_s = STATEMENT_S + CONNECT_S  # the server enforces its own limits while it responds at all
        settings = _NAME if pooler is not Pooler.NONE else {**_NAME, **LIMITS}
        several = len(self._servers) > 1
        limit_s = CONNECT_EACH_S if several else CONNECT_S
        failed: Exception | None = None
        for server in self._servers:
            try:
                connection = await connect(
                    server,
                    timeout_s=limit_s,
                    command_timeout_s=silent_s,
                    settings=settings,
                    pooler=pooler,
                    writable=several,
                )
            except ERRORS as error:
                failed = failed or error
                continue
            self._servers = (server, *(other for other in self._servers if other != server))
            return connection
        raise failed or OSError

    async def _detect_pooler(self) -> tuple[Pooler, DriverConnection]:
        """The kind of pooler, and a first connection. Raises StoreError for a pooler by statement."""
        with suppress(asyncpg.ProtocolViolationError):  # a pooler that rejects the settings
            connection = await self._connect(Pooler.NONE)
            with suppress(asyncpg.PostgresConnectionError):
                if await _server_of(connection) == connection.get_server_pid():
                    return Pooler.NONE, connection
            connection.terminate()
        first = await self._connect(Pooler.BY_TRANSACTION)
        second = await self._connect(Pooler.BY_TRANSACTION)
        try:
            # By transaction, a connection gets the server process that the other one had, or changes its own.
            servers = [(tried, await _server_of(tried)) for tried in (first, first, second, second, first)]
        except asyncpg.PostgresConnectionError as error:
            first.terminate()
            if _NO_TRANSACTIONS not in str(error):
                raise
            raise StoreError(texts.POOLER_BY_STATEMENT.format(where=self.where)) from None
        finally:
            second.terminate()
        own = len(set(servers)) == len({server for _, server in servers}) == len((first, second))
        if own or not await _keeps_statements(first):
            return Pooler.BY_SESSION if own else Pooler.BY_TRANSACTION, first
        first.terminate()
        keeping = Pooler.BY_TRANSACTION_WITH_STATEMENTS
        return keeping, await self._connect(keeping)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(None, lambda c: work(c, *args, **options))

    async def read_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(None, lambda c: work(c, *args, **options), is_one=True)

    async def read_few(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self.read_one(work, *args, **options)

    async def read_long(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(None, lambda c: work(c, *args, **options), is_long=True)

    async def read_if(
        self, check: Callable[[Connection], object], work: Callable[[Connection], T]
    ) -> tuple[object, T | None]:
        """Return the result of `check`; if it is None, also that of `work`, run after it on the same connection."""
        try:
            return await database.run_to_end((await self._open_pool()).after(check, work))
        except (DBAPIError, PoolTimeoutError, *ERRORS) as error:
            raise store_error(error, self.where) from None

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(_BESIDE_OTHERS, lambda c: work(c, *args, **options))

    async def write_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(_BESIDE_OTHERS, lambda c: work(c, *args, **options), is_one=True)

    async def write_in_order(
        self, names: Sequence[str], work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        def in_order(connection: Connection) -> T:
            info = connection.info  # asked for now: a connection that is lost has none
            info[database.IN_ORDER] = names
            try:
                return work(connection, *args, **options)
            finally:
                del info[database.IN_ORDER]

        locks = [_IN_ORDER.format(database.storable(name).encode().hex()) for name in names]
        return await self._run("".join((_BESIDE_OTHERS, *locks)), in_order)

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return await self._run(_ALONE, lambda c: work(c, *args, **options), is_long=True)

    async def change_tables(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        return await self.write(work, *args, **options)  # a table is changed in its place

    @asynccontextmanager
    async def while_holding(self, lock: TextClause) -> AsyncGenerator[bool]:
        """Yield whether the statement `lock` got its lock (its row's last column), held until the block ends."""
        try:
            connection = await self.connect()
            try:
                async with connection.transaction():
                    (row,) = await connection.fetch(lock.text)
                    await connection.execute(
                        "SELECT"
                    )  # releases the snapshot of that query, for which others would wait
                    yield bool(row[-1])
            finally:
                connection.terminate()
        except ERRORS as error:
            raise store_error(error, self.where) from None

    async def run_alone(self, statements: Sequence[str], timeout_s: float) -> None:
        """Run statements that cannot run in a transaction, each within `timeout_s`, on a connection of their own."""
        try:
            connection = await self.connect()
            try:
                if not self.is_pooled:  # behind a pooler the setting would apply to the connection's next user
                    await connection.execute(f"SET statement_timeout = '{timeout_s:g}s'; SET lock_timeout = 0")
                for statement in statements:
                    await connection.execute(statement, timeout=timeout_s + CONNECT_S)
            finally:
                connection.terminate()
        except ERRORS as error:
            raise store_error(error, self.where) from None

    async def close(self) -> None:
        self._closed = True
        loop, self._thread_loop = self._thread_loop, None
        if self.replica is not None:
            await self.replica.close()
        if self._pool is not None:
            await self._pool.dispose()
        if loop is not None:
            await loop.close()

    async def _run(
        self, lock: str | None, work: Callable[[Connection], T], *, is_long: bool = False, is_one: bool = False
    ) -> T:
        """`lock`: the statement that a write begins with; None for a read. `is_one`: it is one statement."""
        kind = database.OutageKind.READ if lock is None else database.OutageKind.WRITE
        with self.outages.noting(kind):
            result, shows_health, announced = await self._retry(lock, work, is_long=is_long, is_one=is_one)
        if shows_health:
            self.outages.note_success(kind)
        self.commits.tell(announced)
        return result

    async def _retry(
        self, lock: str | None, work: Callable[[Connection], T], *, is_long: bool, is_one: bool
    ) -> tuple[T, bool, Collection[str]]:
        """The result of `work`; whether it only read, or has changed something; and what it announced."""
        begun = False

        def noted(connection: Connection) -> tuple[T, bool, Collection[str]]:
            nonlocal begun
            if lock is None or is_one:
                return work(connection), True, ()
            driver = _driver_of(connection)
            try:
                result = work(connection)
            finally:
                begun = driver.has_begun
            has_written = self.outages.lasts and bool(connection.execute(_HAS_WRITTEN).scalar_one())
            return result, has_written, database.announced(connection)

        tries = 0
        while True:
            if self._closed:
                raise StoreError(texts.STORE_CLOSED)
            tries += 1
            try:
                return await database.run_to_end(self._transaction(noted, lock, is_long=is_long, is_one=is_one))
            except (DBAPIError, PoolTimeoutError, *ERRORS) as error:
                if tries == TRIES or not (_is_conflict(error) or (_is_lost(error) and not begun)):
                    raise store_error(error, self.where) from None  # the original quotes people's words

    async def _transaction(
        self, work: Callable[[Connection], T], lock: str | None, *, is_long: bool, is_one: bool
    ) -> T:
        pool = await self._open_pool()
        if is_one and not self.is_pooled:  # there, the time limits are set as a transaction begins
            return await pool.statement(work)
        if not is_long:
            return await pool.transaction(work, lock)
        if self._thread_loop is None:
            self._thread_loop = _ThreadLoop(self.connect, prepares=self.prepares)
        return await self._thread_loop.transaction(work, lock)

    async def _open_pool(self) -> "_Pool":
        if self._pool is None:
            first = await self.connect()
            if self._pool is None:  # no other task has opened it meanwhile
                self._pool = _Pool(self.connect, POOL, prepares=self.prepares, first=first)
            else:
                first.terminate()
        return self._pool


async def _server_of(connection: DriverConnection) -> object:
    """The server process that runs this connection's next transaction."""
    async with connection.transaction():
        return await connection.fetchval("SELECT pg_backend_pid()")


async def _keeps_statements(connection: DriverConnection) -> bool:
    """Whether a pooler by transaction keeps prepared statements: then the server knows them by other names."""
    with suppress(asyncpg.DuplicatePreparedStatementError):  # left by a process that died here: it has our name
        async with connection.transaction():
            held = await connection.prepare("SELECT", name=_PROBE)
            known = await connection.fetchval(_PROBED)
            del held  # the driver closes a statement without references
            if not known:
                return True
            await connection.execute(f"DEALLOCATE {_PROBE}")
    return False


_READING: Final = "REPEATABLE READ"
_WRITING: Final = "READ COMMITTED"
_ONE_STATEMENT: Final = "AUTOCOMMIT"


class _Dialect(Protocol):
    """How SQLAlchemy's dialect for PostgreSQL is told about the next transactions of a connection."""

    def set_isolation_level(self, dbapi_connection: DBAPIConnection | None, level: str) -> None: ...

    def set_readonly(self, connection: DBAPIConnection | None, value: bool) -> None: ...  # noqa: FBT001 -- SQLAlchemy's own


class _Pool:
    """Connections of one event loop, to which asyncpg's are bound.

    `prepares`: whether a statement is prepared once for each connection. `first`: a connection that is already open.
    """

    def __init__(self, connect: Connect, size: int, *, prepares: bool, first: DriverConnection | None = None) -> None:
        self._connect = connect
        self._first = first
        self._prepared = PREPARED if prepares else 0
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://",
            creator=self._dbapi_connection,
            pool_size=size,
            max_overflow=0,
            pool_timeout=POOL_WAIT_S,
            pool_use_lifo=True,  # few connections do most of the work: each prepares every statement that it runs
            hide_parameters=True,
        )

    async def transaction(self, work: Callable[[Connection], T], lock: str | None) -> T:
        """Run `work` in one transaction. `lock`: the statement that a write begins with; None for a read."""
        # In one greenlet from the pool to the pool: AsyncEngine takes five, and a task, which doubles the time.
        return await greenlet_spawn(self._in_one, work, lock)

    def _in_one(self, work: Callable[[Connection], T], lock: str | None) -> T:
        isolation = _READING if lock is None else _WRITING
        with self._connected(isolation) as connection, _beginning_with(connection, lock or ""):
            return work(connection)

    async def statement(self, work: Callable[[Connection], T]) -> T:
        """Run `work`, which executes one statement, without a transaction. Raises RuntimeError for a second one."""
        return await greenlet_spawn(lambda: self._without(work))

    def _without(self, work: Callable[[Connection], T]) -> T:
        with self._connected(_ONE_STATEMENT) as connection:
            return work(database.one_statement(connection))

    async def after(
        self, check: Callable[[Connection], object], work: Callable[[Connection], T]
    ) -> tuple[object, T | None]:
        return await greenlet_spawn(self._in_two, check, work)

    def _in_two(
        self, check: Callable[[Connection], object], work: Callable[[Connection], T]
    ) -> tuple[object, T | None]:
        with self._connected(_READING) as connection:
            with _beginning_with(connection, ""):
                reason = check(connection)
            if reason is not None:
                return reason, None
            with _beginning_with(connection, ""):
                return None, work(connection)

    @contextmanager
    def _connected(self, isolation: str) -> Generator[Connection]:
        """A connection whose next transactions are isolated like this, whatever its last ones were."""
        # Not by an option of an engine: that is an event, and with events each statement takes longer.
        with self._engine.sync_engine.connect() as connection:
            dialect = cast("_Dialect", connection.dialect)
            dialect.set_isolation_level(connection.connection.dbapi_connection, isolation)
            dialect.set_readonly(connection.connection.dbapi_connection, isolation == _READING)
            yield connection

    async def dispose(self) -> None:
        await self._engine.dispose()

    def _dbapi_connection(self) -> DBAPIConnection:
        return self._engine.dialect.loaded_dbapi.connect(
            async_creator_fn=self._next, prepared_statement_cache_size=self._prepared
        )

    async def _next(self) -> DriverConnection:
        first, self._first = self._first, None
        return await self._connect() if first is None else first


def _driver_of(connection: Connection) -> _Connection:
    return cast("_Connection", connection.connection.driver_connection)


@contextmanager
def _beginning_with(connection: Connection, lock: str) -> Generator[None]:
    """A transaction whose first statement also runs `lock`."""
    driver = _driver_of(connection)
    driver.lock, driver.has_begun, driver.has_failed = lock, False, False
    try:
        with connection.begin():
            yield
    finally:
        if driver.has_failed:  # the driver may still count it as begun
            connection.invalidate()


class _ThreadLoop:
    """An event loop on a thread of its own, with its own connections, for long work."""

    def __init__(self, connect: Connect, *, prepares: bool) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgresql: aside", daemon=True)
        self._thread.start()
        self._pool = _Pool(connect, POOL_ASIDE, prepares=prepares)

    async def transaction(self, work: Callable[[Connection], T], lock: str | None) -> T:
        return await self._awaited(self._pool.transaction(work, lock))

    async def close(self) -> None:
        """Wait for running work, then end the loop and its thread."""
        await self._awaited(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()

    async def _ended(self) -> None:
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        await self._pool.dispose()

    async def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))


def _is_lost(error: Exception) -> bool:
    """Whether the connection was lost, before or during the transaction."""
    return isinstance(error, DBAPIError) and error.connection_invalidated


def _is_conflict(error: Exception) -> bool:
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _CONFLICTS
