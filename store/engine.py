"""Opens the store: the database that a URL names, its version, its parts.

Rule: whatever goes wrong is a StoreError with one sentence that says what to do.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, insert, inspect, select, text, update

from agent import ports, texts
from agent.errors import StoreError
from agent.machine import sqlite_path
from agent.memory.documents import DocumentQuery, DocumentRefused, Documents, FoundPassage, NewDocument
from agent.memory.statements import READER
from agent.records import Hit, Job, RecallQuery
from agent.schedules import Schedules
from store.calls import SqlSpending, SqlToolAudit
from store.databases.database import (
    LOCK_SPACE,
    Database,
    LocalNotifier,
    SqlStore,
    aside,
    is_postgresql,
    migrating,
    reads,
    writes,
)
from store.databases.sqlite import is_held, open_sqlite, open_sqlite_beside, unwritable
from store.forgetting.erase import owe
from store.forgetting.selection import ErasedIds
from store.forgetting.sql_forgetting import SqlForgetting
from store.history import SqlConversations, SqlReplies, SqlSummaries, SqlWorkingSet
from store.job_queue import SqlJobs
from store.memory import fact_index
from store.memory.fact_store import SqlFacts
from store.memory.people import SqlKnowledge, SqlPreferences, SqlProfiles
from store.migrations import MIGRATIONS, OLDEST, Migrations, TableHeld, make_indexes, migrate, version
from store.replicas import SqlShardLeases, SqlSharedRates
from store.schedule_store import SqlSchedules
from store.search import index, passages
from store.search.matching import SqlEmbeddings
from store.search.search import search
from store.sign_ins import SqlInstallations, SqlOperatorSessions, SqlToolAccounts
from store.tables import meta
from store.turns.ledger import SqlLedger
from store.turns.turn_queue import SqlConsents, SqlOpenQuestions

P = ParamSpec("P")
T = TypeVar("T")

# Brings a database to the newest version, and gives it a key of erased ids.
#
# Rules
#   Alembic is imported only for a database at another version: it costs a start more than the rest of the store.
#   The whole upgrade is one transaction. On PostgreSQL processes that start together follow one another in it, while
#   those of the release before go on: a step that waits for a table gives up soon, since all who want that table wait
#   behind it, and the upgrade is tried again. Indexes of large tables follow it (`index_later`).
#   A program works on a newer database whose newer revisions only add to it (`EXPANDS`).

ERASED_KEY: Final = "erased_key"
OLDEST_POSTGRESQL: Final = 14  # The first that counts the bits of a bit string, by which vectors are compared
# How long a migration waits for a table: those who read it take milliseconds, and meanwhile all others wait, too.
TABLE_S: Final = 1.0
PAUSE_S: Final = 2.0  # Until it is tried again: what took so long is over then, or those who waited have had their turn
MIGRATION_TRIES: Final = 100
# However long a large table, or another process's migration, takes; but not who holds a table.
_ONE_BY_ONE: Final = text(
    "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true), "
    f"pg_advisory_xact_lock({LOCK_SPACE}, 2), set_config('lock_timeout', '{TABLE_S:g}s', true)"
)
_MAY_CREATE: Final = text(
    "SELECT NOT pg_is_in_recovery() AND coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"
)
_MAY_WRITE: Final = text("SELECT NOT pg_is_in_recovery() AND has_table_privilege('meta', 'INSERT')")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The key of the erased ids; the version that was found, None if the database was empty; and what another version
    of the program has derived.
    """

    key: bytes = field(repr=False)
    before: str | None
    outdated: "tuple[Renewal, ...]" = ()
    version: str = ""


def prepare(connection: Connection, where: str, key: Callable[[], bytes], migrations: Migrations) -> Prepared:
    """Bring the database to the newest version. `key` makes the key of the erased ids if there is none.

    Raises StoreError.
    """
    one_by_one(connection)
    before = version(connection)
    serves = works_on(connection, before, migrations)
    if before != migrations.head and not serves:
        if (fault := obstacle(connection, where, migrations)) is not None:
            raise StoreError(fault)
        migrate(connection, where, migrations)
    stored = erased_key(connection)
    if stored is None:
        stored = key()
        connection.execute(insert(meta).values(name=ERASED_KEY, value=stored))
    return Prepared(stored, before, outdated(connection), before if serves and before else migrations.head)


def works_on(connection: Connection, found: str | None, migrations: Migrations) -> bool:
    """Whether this program works on a database of a newer version, which has but grown since ours. Reads only."""
    if found is None or found.isdecimal() or found <= migrations.head:
        return False
    stored = connection.execute(select(meta.c.value).where(meta.c.name == OLDEST)).scalar_one_or_none()
    of, _, oldest = (stored or b"").decode().partition(":")
    if of != found or oldest > migrations.head:
        return False
    return all(_reached(connection, one) != 0 for one in DERIVED)


def erased_key(connection: Connection) -> bytes | None:
    return connection.execute(select(meta.c.value).where(meta.c.name == ERASED_KEY)).scalar_one_or_none()


def one_by_one(connection: Connection) -> None:
    """Let this transaction change tables while no other one does, or begins to serve."""
    if is_postgresql(connection):
        connection.execute(_ONE_BY_ONE)


def require_head(connection: Connection, where: str, migrations: Migrations) -> None:
    """For those who only read: raises StoreError if the database is at another version."""
    if (fault := obstacle(connection, where, migrations)) is not None:
        raise StoreError(fault)
    if version(connection) != migrations.head:
        raise StoreError(texts.OTHER_VERSION.format(where=where))


def obstacle(connection: Connection, where: str, migrations: Migrations) -> str | None:
    """Why this database cannot be brought to the newest version, as a sentence; None if it can. Reads only."""
    found, on_server = version(connection), is_postgresql(connection)
    if on_server and (outdated := too_old(connection.dialect.server_version_info, where)):
        return outdated
    if found == migrations.head:
        may_write = not on_server or connection.execute(_MAY_WRITE).scalar_one()
        return None if may_write else texts.NO_RIGHT_TO_WRITE.format(where=where)
    if found is None and inspect(connection).get_table_names():
        return texts.OTHER_PROGRAM.format(where=where)
    if found is not None and found.isdecimal():
        return texts.BEFORE_THE_FIRST.format(where=where, found=found)
    if found is not None and found not in migrations.versions:
        return texts.NEWER_VERSION.format(where=where)
    if on_server and not connection.execute(_MAY_CREATE).scalar_one():
        return texts.NO_RIGHT_TO_CREATE.format(where=where)
    return None


def too_old(server: tuple[Any, ...] | None, where: str) -> str | None:
    """Why this version of PostgreSQL cannot be used, as a sentence; None if it can."""
    if server is None or server[0] >= OLDEST_POSTGRESQL:
        return None
    return texts.POSTGRESQL_TOO_OLD.format(where=where, found=server[0], oldest=OLDEST_POSTGRESQL)


# What is derived from rows, the words that lead to messages and to facts, is made anew after the program derives
# something else: before anybody is answered, because half of it would find half.
#
# Rules
#   It takes minutes where a million messages are, so it says so. Memory and transactions stay small.
#   `meta` keeps how far it is, in the transaction that made it: a start after a kill goes on from there. A process of
#   an earlier version finds that it is not its own, and makes all of it anew.

log = logging.getLogger(__name__)

TELL_S: Final = 10.0  # Between two lines in the log


@dataclass(frozen=True, slots=True)
class Derived:
    """`name`: under which `meta` keeps its version; `what` it is, and `of` what, in words for operators."""

    name: str
    what: str
    of: str
    version: int
    renew: Callable[[Connection, int], list[int]]
    """Make the next rows behind an id anew; the ids of these."""
    left: Callable[[Connection, int], int]
    """How many there are behind an id."""


DERIVED: Final = (
    Derived("reader", "what facts say", "facts", READER, fact_index.renew, fact_index.left),
    Derived("index_terms", "the search index", "messages", index.TERMS, index.renew, index.left),
)


@dataclass(frozen=True, slots=True)
class Renewal:
    """Something derived that is to be made anew. `left`: how many rows are to be gone through."""

    derived: Derived
    left: int


def outdated(connection: Connection) -> "tuple[Renewal, ...]":
    """What is to be made anew. Reads only."""
    reached = [(one, _reached(connection, one)) for one in DERIVED]
    return tuple(Renewal(one, one.left(connection, after)) for one, after in reached if after is not None)


def renew_some(connection: Connection, derived: Derived) -> list[int]:
    """Make the next rows of it anew; their ids, none when all of it is."""
    after = _reached(connection, derived)
    if after is None:
        return []
    ids = derived.renew(connection, after)
    value = (f"{derived.version}:{ids[-1]}" if ids else f"{derived.version}").encode()
    kept = update(meta).where(meta.c.name == derived.name).values(value=value)
    if not connection.execute(kept).rowcount:
        connection.execute(insert(meta).values(name=derived.name, value=value))
    return ids


def _reached(connection: Connection, derived: Derived) -> int | None:
    """The id up to which it is made by this version; None if all of it is."""
    stored = connection.execute(select(meta.c.value).where(meta.c.name == derived.name)).scalar_one_or_none()
    version_, _, reached = (stored or b"").decode().partition(":")
    if version_ != str(derived.version):
        return 0
    return int(reached) if reached else None


async def _renew(database: Database, one: Renewal, monotonic: Callable[[], float]) -> None:
    derived, done, began = one.derived, 0, monotonic()
    told = began
    if one.left:
        log.info("making %s anew (%s: %d); answering begins after that", derived.what, derived.of, one.left)
    while ids := await database.write_alone(renew_some, derived):
        done += len(ids)
        if monotonic() - told >= TELL_S:
            told = monotonic()
            log.info("making %s anew (%s: %d of %d)", derived.what, derived.of, done, one.left)
    if one.left:
        log.info("made %s anew (%s: %d) in %.1f s", derived.what, derived.of, done, monotonic() - began)


# The search of people's past threads, and of what places know.


class SearchReader(Protocol):
    """Where searches are done."""

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T: ...


class SqlDocuments(SqlStore):
    listed = reads(passages.listed)
    opened = reads(passages.opened)

    def __init__(self, database: Database, reader: SearchReader | None = None) -> None:
        super().__init__(database)
        self._reader = reader or database

    async def search(self, query: DocumentQuery) -> list[FoundPassage]:
        return await self._reader.read(passages.search, query)

    next_look = writes(passages.next_look)
    looked = writes(passages.looked)

    async def keep(self, new: NewDocument, *, renews: int | None = None) -> DocumentRefused | None:
        kept = await self.database.write(passages.keep, new, await aside(passages.rows_of, new), renews)
        if isinstance(kept, DocumentRefused):
            return kept
        await self._work(kept)
        for before in await self.database.read(passages.older, kept):
            await self._work(before)
        return None

    async def remove(self, id_: int) -> None:
        for one in await self.database.write(passages.remove, id_):
            await self._work(one)

    async def _work(self, id_: int) -> None:
        while await self.work_on(id_):
            pass

    async def work_on(self, id_: int) -> bool:
        return await self.database.write(passages.work_on, id_, owe)


class SqlMemories(SqlStore):
    def __init__(self, database: Database, reader: SearchReader | None = None) -> None:
        super().__init__(database)
        self._reader = reader or database

    async def search(self, query: RecallQuery) -> list[Hit]:
        return await self._reader.read(search, query)

    async def index_more(self, job: Job) -> bool:
        if job.key.startswith(passages.DOCUMENT_JOB):
            return await SqlDocuments(self.database).work_on(int(job.payload))
        return await index.make_more(self.database, job)


PATIENCE_S: Final = 1.0  # How long to wait for another program that reads or writes an SQLite file, such as a backup


@dataclass(frozen=True, slots=True)
class Store:
    """The open store. `close` gives it back.

    `version_before`: what opening found and brought to `version`; None if the database was new.
    """

    ledger: ports.Ledger
    consents: ports.Consents
    open_questions: ports.OpenQuestions
    conversations: SqlConversations
    knowledge: ports.Knowledge
    memories: ports.Memories
    documents: Documents
    embeddings: ports.Embeddings
    facts: ports.Facts
    working_set: ports.WorkingSet
    profiles: ports.Profiles
    forgetting: ports.Forgetting
    preferences: ports.Preferences
    spending: ports.Spending
    jobs: ports.Jobs
    schedules: Schedules
    replies: ports.Replies
    summaries: ports.Summaries
    tool_accounts: ports.ToolAccounts
    audit: ports.ToolAudit
    operator_sessions: ports.OperatorSessions
    installations: ports.Installations
    shard_leases: ports.ShardLeases
    shared_rates: ports.SharedRates
    notifier: LocalNotifier
    database: Database
    version_before: str | None
    version: str

    async def close(self) -> None:
        await self.notifier.close()
        await self.database.close()


def new_key() -> bytes:
    return secrets.token_bytes(32)


async def open_store(
    url: str,
    *,
    patience_s: float = PATIENCE_S,
    key: Callable[[], bytes] = new_key,
    migrations: Migrations = MIGRATIONS,
    replica_url: str = "",
) -> Store:
    """Open `url`, at the newest version: `sqlite:///file` (created with its folder), `sqlite://` in memory, or
    `postgresql://user:password@host/database`.

    `key` makes the key of the erased ids when the database is new. `replica_url`: a streaming replica of it, for
    searches. Raises StoreLocked if another process has the file
    open, StoreError if the database cannot be used.
    """
    return await open_on(database_of(url, patience_s, replica_url=replica_url), key, migrations)


async def open_on(database: Database, key: Callable[[], bytes] = new_key, migrations: Migrations = MIGRATIONS) -> Store:
    """The store on this database, brought to the newest version. Raises StoreError, and closes the database then."""
    async with AsyncExitStack() as unless_open:
        unless_open.push_async_callback(database.close)
        async with migrating():
            prepared = await _prepared(database, key, migrations)
        if database.is_shared:
            await make_indexes(database)
        for one in prepared.outdated:
            await _renew(database, one, asyncio.get_running_loop().time)
        database.outages.monotonic = asyncio.get_running_loop().time
        store = store_on(database, prepared, prepared.version)
        unless_open.push_async_callback(store.notifier.close)
        await store.forgetting.sweep()
        unless_open.pop_all()
    return store


async def _prepared(database: Database, key: Callable[[], bytes], migrations: Migrations) -> Prepared:
    for _ in range(MIGRATION_TRIES - 1):
        try:
            return await database.write(prepare, database.where, key, migrations)
        except TableHeld as held:
            log.info("%s", held)
            await asyncio.sleep(PAUSE_S)
    return await database.write(prepare, database.where, key, migrations)


@asynccontextmanager
async def open_spending(
    url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
) -> AsyncGenerator[ports.Spending, None]:
    """What was spent, to be read or added to while another process may serve from the database. Raises StoreError."""
    async with beside(url, patience_s, migrations) as database:
        yield SqlSpending(database)


@asynccontextmanager
async def open_audit(
    url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
) -> AsyncGenerator[ports.ToolAudit, None]:
    """The audit of tool calls, to be read while another process may serve from the database. Raises StoreError."""
    async with beside(url, patience_s, migrations) as database:
        yield SqlToolAudit(database)


@asynccontextmanager
async def open_operator_sessions(
    url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
) -> AsyncGenerator[ports.OperatorSessions, None]:
    """Who is signed in on the operators' page, while another process serves it. Raises StoreError."""
    async with beside(url, patience_s, migrations) as database:
        yield SqlOperatorSessions(database)


@asynccontextmanager
async def beside(
    url: str, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
) -> AsyncGenerator[Database, None]:
    """A database at the newest version, while another process may serve from it. Raises StoreError."""
    database = database_beside(url, patience_s)
    try:
        await database.read(require_head, database.where, migrations)
        yield database
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """What a database looks like. `version`: None while there is none. `is_held`: a process has the file as its own.

    `outdated`: what the next start makes anew. `remarks`: what else an operator may want to know, as sentences.
    `is_newer`: a newer release's, on which this one works.
    """

    where: str
    version: str | None
    is_held: bool = False
    outdated: tuple[Renewal, ...] = ()
    remarks: tuple[str, ...] = ()
    is_newer: bool = False


async def look_at(
    url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS, replica_url: str = ""
) -> DatabaseState:
    """Look at the database with nothing changed there; another process may serve from it.

    Raises StoreError if `open_store` would, but for a file that another process holds.
    """
    scheme, _, rest = url.partition("://")
    path = sqlite_path(rest) if scheme.partition("+")[0] == "sqlite" else None
    if path is not None and (fault := unwritable(path)) is not None:
        raise StoreError(fault)
    if path is not None and not path.exists():
        return DatabaseState(str(path), None)
    database = database_of(url, patience_s, open_sqlite_beside, replica_url=replica_url)
    try:
        found = await database.read(version)
        is_newer = await database.read(works_on, found, migrations)
        if not is_newer and (fault := await database.read(obstacle, database.where, migrations)) is not None:
            raise StoreError(fault)
        held = path is not None and is_held(path)
        stale = ()
        if found is not None:
            with suppress(StoreError):  # before it is migrated, it may lack what is asked for
                stale = await database.read(outdated)
        remarks = await _remarks(database) if database.is_shared else ()
        return DatabaseState(database.where, found, is_held=held, outdated=stale, remarks=remarks, is_newer=is_newer)
    finally:
        await database.close()


async def _remarks(database: Database) -> tuple[str, ...]:
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- as below
    from store.search import hnsw  # noqa: PLC0415 -- as below

    remarks: list[str] = []
    if isinstance(database, PostgresDatabase):
        remarks += filter(None, [database.pooler_remark])
        if database.replica is not None:
            from store.databases.replica import RecallReplica  # noqa: PLC0415 -- as below

            remarks.append(await RecallReplica(database, database.replica).remark())
    with suppress(StoreError):  # before it is migrated
        remarks += filter(None, [await database.read(hnsw.remark)])
    return tuple(remarks)


def database_beside(url: str, patience_s: float = PATIENCE_S) -> Database:
    """The database of a URL for reading alone, also while a bot serves from it. Raises StoreError."""
    return database_of(url, patience_s, open_sqlite_beside)


def database_of(
    url: str,
    patience_s: float = PATIENCE_S,
    sqlite: Callable[[str, float], Database] = open_sqlite,
    *,
    replica_url: str = "",
) -> Database:
    """The database of a URL, not opened yet; a file is this process's own from now on. Raises StoreError."""
    scheme, found, rest = url.partition("://")
    kind = scheme.partition("+")[0]
    if not found or (kind == "sqlite" and rest and not rest.startswith("/")):
        raise StoreError(texts.DATABASE_URL_UNREADABLE)
    if kind in {"postgresql", "postgres"}:
        from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- a start with SQLite does without the driver

        return PostgresDatabase(url, replica_url)
    if kind != "sqlite":
        raise StoreError(texts.NO_SUCH_DATABASE.format(kind=kind))
    if replica_url:
        raise StoreError(texts.REPLICA_OF_A_FILE)
    return sqlite(rest, patience_s)


def store_on(database: Database, prepared: Prepared, version: str) -> Store:
    """The store on a database that is at the newest version."""
    erased_ids, notifier, reader = ErasedIds(prepared.key), _notifier(database), _reader(database)
    return Store(
        SqlLedger(database, erased_ids),
        SqlConsents(database),
        SqlOpenQuestions(database),
        SqlConversations(database),
        SqlKnowledge(database),
        SqlMemories(database, reader),
        SqlDocuments(database, reader),
        SqlEmbeddings(database),
        SqlFacts(database),
        SqlWorkingSet(database),
        SqlProfiles(database),
        SqlForgetting(database, erased_ids),
        SqlPreferences(database),
        SqlSpending(database),
        SqlJobs(database),
        SqlSchedules(database, erased_ids, notifier),
        SqlReplies(database),
        SqlSummaries(database),
        SqlToolAccounts(database),
        SqlToolAudit(database),
        SqlOperatorSessions(database),
        SqlInstallations(database),
        SqlShardLeases(database),
        SqlSharedRates(database, prepared.key),
        notifier,
        database,
        prepared.before,
        version,
    )


def _reader(database: Database) -> SearchReader:
    if not database.is_shared:
        return database
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- as above

    if not isinstance(database, PostgresDatabase) or database.replica is None:
        return database
    from store.databases.replica import RecallReplica  # noqa: PLC0415 -- as above

    return RecallReplica(database, database.replica)


def _notifier(database: Database) -> LocalNotifier:
    if not database.is_shared:
        return LocalNotifier()
    from store.databases.postgresql import PostgresDatabase, SharedNotifier  # noqa: PLC0415 -- as above

    if not isinstance(database, PostgresDatabase):
        return LocalNotifier()
    if (remark := database.pooler_remark) is not None:
        log.info("%s", remark)
    return SharedNotifier(database.connect, can_listen=not database.is_pooled)
