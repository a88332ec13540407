"""Opens the store: the database that a URL names, its version, its parts.

Rule: every failure is a StoreError with one sentence that says what to do.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, insert, inspect, select, text

from agent import texts
from agent.errors import StoreError
from agent.jobs import Job
from agent.memory.documents import DocumentQuery, DocumentRefused, Documents, FoundPassage, NewDocument
from agent.ports.acts import Acts
from agent.ports.api_tokens import ApiTokens
from agent.ports.budget_days import BudgetDays
from agent.ports.consents import Approvals, AskedQuestions, Consents, OpenQuestions
from agent.ports.conversations import Knowledge, Summaries, WorkingSet
from agent.ports.embeddings import Embeddings
from agent.ports.eval_runs import EvalRuns
from agent.ports.explanations import Explanations
from agent.ports.feedback import Feedback
from agent.ports.forgetting import Forgetting
from agent.ports.handoffs import Handoffs
from agent.ports.installations import Installations
from agent.ports.jobs import Jobs
from agent.ports.ledger import Ledger
from agent.ports.memory import Facts, Memories, Profiles
from agent.ports.operator_sessions import OperatorSessions
from agent.ports.outbox import Outbox
from agent.ports.place_keys import PlaceKeys
from agent.ports.preferences import Preferences
from agent.ports.replies import Replies
from agent.ports.shard_leases import ShardLeases
from agent.ports.shared_rates import SharedRates
from agent.ports.spending import CodeTime, Spending
from agent.ports.tool_accounts import ToolAccounts
from agent.ports.tool_audit import ToolAudit
from agent.ports.unanswered import UnansweredQuestions
from agent.ports.webhooks import WebhookEvents
from agent.ports.written_turns import WrittenTurns
from agent.recall_query import Hit, RecallQuery
from agent.schedules.port import Schedules
from store.api_tokens import SqlApiTokens
from store.budget_days import SqlBudgetDays
from store.code_time import SqlCodeTime
from store.conversations import SqlConversations
from store.databases.database import (
    LOCK_SPACE,
    Database,
    LocalNotifier,
    SqlStore,
    is_postgresql,
    migrating,
    reads,
    run_in_thread,
    writes,
)
from store.databases.sqlite import open_sqlite, open_sqlite_beside
from store.derived_data import DERIVED, Renewal, outdated, reached_by, renew
from store.erased_ids import ErasedIds
from store.eval_runs import SqlEvalRuns
from store.explanations import SqlExplanations
from store.feedback import SqlFeedback
from store.forgetting.erase import mark_sweep_due
from store.forgetting.sql_forgetting import SqlForgetting
from store.handoffs import SqlHandoffs
from store.installations import SqlInstallations
from store.job_queue import SqlJobs
from store.memory.fact_store import SqlFacts
from store.memory.known_for_turn import SqlKnowledge
from store.memory.profiles import SqlProfiles
from store.migrations import MIGRATIONS, OLDEST, Migrations, TableHeld, make_indexes, migrate, version
from store.model_calls import SqlSpending
from store.operator_sessions import SqlOperatorSessions
from store.outbox import SqlOutbox
from store.place_keys import SqlPlaceKeys
from store.preferences import SqlPreferences
from store.recent_writes import SqlRecentWrites
from store.replies import SqlReplies
from store.saved_files import SqlSavedFiles
from store.schedule_store import SqlSchedules
from store.schema import meta
from store.search import index, passage_search, passages
from store.search.search import search
from store.search.vectors import SqlEmbeddings
from store.shard_leases import SqlShardLeases
from store.shared_rates import SqlSharedRates
from store.summaries import SqlSummaries
from store.tool_accounts import SqlToolAccounts
from store.tool_calls import SqlToolAudit
from store.turns.approvals import SqlApprovals
from store.turns.asked_questions import SqlAskedQuestions
from store.turns.consents import SqlConsents
from store.turns.ledger import SqlLedger
from store.turns.open_questions import SqlOpenQuestions
from store.turns.posts import SqlActs
from store.turns.write_memory import WriteMemory
from store.turns.written import SqlWrittenTurns
from store.unanswered import SqlUnanswered
from store.webhook_events import SqlWebhookEvents
from store.working_sets import SqlWorkingSet

log = logging.getLogger(__name__)
P = ParamSpec("P")
T = TypeVar("T")
Part_co = TypeVar("Part_co", covariant=True)

# Migrating a database to the newest version, and giving it a key of erased ids.
#
# Rules
#   Alembic is imported only for a database at another version: importing it takes longer than the rest of the store's
#   start.
#   The whole upgrade is one transaction. On PostgreSQL, processes that start together run it one after another, while
#   processes of the previous release keep working: a step that waits for a table gives up soon, because every later
#   query on that table queues behind it, and the upgrade is retried. Indexes of large tables are made afterwards
#   (`index_later`).
#   A program works on a newer database whose newer revisions only add to it (`EXPANDS`).

ERASED_KEY: Final = "erased_key"
OLDEST_POSTGRESQL: Final = 14  # The first with bit_count for bit strings, by which vectors are compared
# How long a migration waits for a table's lock. Readers hold it for milliseconds, and all other queries queue behind.
TABLE_S: Final = 1.0
PAUSE_S: Final = 2.0  # Between two attempts: the slow query has ended by then, or the queued ones have run
MIGRATION_TRIES: Final = 100
# No time limit for the migration of a large table, or for waiting for another process's migration; only for table
# locks.
_LOCK_MIGRATIONS: Final = text(
    "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true), "
    f"pg_advisory_xact_lock({LOCK_SPACE}, 2), set_config('lock_timeout', '{TABLE_S:g}s', true)"
)
# NULL where the search path names no schema that exists: that is no right, either.
_MAY_CREATE: Final = text(
    "SELECT NOT pg_is_in_recovery() AND coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"
)
_MAY_WRITE: Final = text("SELECT NOT pg_is_in_recovery() AND has_table_privilege('meta', 'INSERT')")


@dataclass(frozen=True, slots=True)
class Prepared:
    """`key`: of the erased ids. `before`: the version that was found, None if the database was empty. `outdated`: what
    another version of the program derived from rows, to be derived again.
    """

    key: bytes = field(repr=False)
    before: str | None
    outdated: tuple[Renewal, ...] = ()
    version: str = ""


def prepare(connection: Connection, where: str, key: Callable[[], bytes], migrations: Migrations) -> Prepared:
    """Bring the database to the newest version. `key` makes the key of the erased ids if there is none.

    Raises StoreError.
    """
    lock_migrations(connection)
    before = version(connection)
    serves = is_compatible(connection, before, migrations)
    if before != migrations.head and not serves:
        if (fault := obstacle(connection, where, migrations)) is not None:
            raise StoreError(fault)
        migrate(connection, where, migrations)
    stored = erased_key(connection)
    if stored is None:
        stored = key()
        connection.execute(insert(meta).values(name=ERASED_KEY, value=stored))
    return Prepared(stored, before, outdated(connection), before if serves and before else migrations.head)


def is_compatible(connection: Connection, found: str | None, migrations: Migrations) -> bool:
    """Whether `found` is a newer version that only adds to ours, so that this program works on it. Reads only."""
    if found is None or found.isdecimal() or found <= migrations.head:
        return False
    stored = connection.execute(select(meta.c.value).where(meta.c.name == OLDEST)).scalar_one_or_none()
    of, _, oldest = (stored or b"").decode().partition(":")
    if of != found or oldest > migrations.head:
        return False
    return all(reached_by(connection, derived) != 0 for derived in DERIVED)


def erased_key(connection: Connection) -> bytes | None:
    return connection.execute(select(meta.c.value).where(meta.c.name == ERASED_KEY)).scalar_one_or_none()


def lock_migrations(connection: Connection) -> None:
    """Take the lock under which tables are changed and a process begins to serve, until the transaction ends."""
    if is_postgresql(connection):
        connection.execute(_LOCK_MIGRATIONS)


def require_head(connection: Connection, where: str, migrations: Migrations) -> None:
    """Raise StoreError if the database is at another version. For callers that only read."""
    if (fault := obstacle(connection, where, migrations)) is not None:
        raise StoreError(fault)
    if version(connection) != migrations.head:
        raise StoreError(texts.OTHER_VERSION.format(where=where))


def obstacle(
    connection: Connection, where: str, migrations: Migrations, instead: str = texts.ANOTHER_DATABASE
) -> str | None:
    """Why this database cannot be brought to the newest version, as a sentence; None if it can. Reads only.

    `instead`: what to do if no upgrade helps.
    """
    found, on_server = version(connection), is_postgresql(connection)
    if on_server and (outdated := too_old(connection.dialect.server_version_info, where)):
        return outdated
    if found == migrations.head:
        may_write = not on_server or connection.execute(_MAY_WRITE).scalar_one()
        return None if may_write else texts.NO_RIGHT_TO_WRITE.format(where=where)
    # Tables without our version are another program's: a migration would write among them.
    if found is None and inspect(connection).get_table_names():
        return texts.OTHER_PROGRAM.format(where=where)
    if found is not None and found.isdecimal():
        return texts.BEFORE_THE_FIRST.format(where=where, found=found, instead=instead)
    if found is not None and found not in migrations.versions:
        return texts.NEWER_VERSION.format(where=where, instead=instead)
    if on_server and not connection.execute(_MAY_CREATE).scalar_one():
        return texts.NO_RIGHT_TO_CREATE.format(where=where)
    return None


def too_old(server: tuple[Any, ...] | None, where: str) -> str | None:
    """Why this version of PostgreSQL cannot be used, as a sentence; None if it can."""
    if server is None or server[0] >= OLDEST_POSTGRESQL:
        return None
    return texts.POSTGRESQL_TOO_OLD.format(where=where, found=server[0], oldest=OLDEST_POSTGRESQL)


# Searches in people's past threads and in the documents of places.


class SearchReader(Protocol):
    """The database that searches read: the primary, or its replica."""

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T: ...


class SqlDocuments(SqlStore):
    listed = reads(passages.listed)
    opened = reads(passages.opened)

    def __init__(self, database: Database, reader: SearchReader | None = None) -> None:
        super().__init__(database)
        self._reader = reader or database

    async def search(self, query: DocumentQuery) -> list[FoundPassage]:
        return await self._reader.read(passage_search.search, query)

    next_look = writes(passages.next_look)
    looked = writes(passages.looked)

    async def keep(self, new: NewDocument, *, renews: int | None = None) -> DocumentRefused | None:
        added = await self.database.write(passages.keep, new, await run_in_thread(passages.rows_of, new), renews)
        if isinstance(added, DocumentRefused):
            return added
        await self._work(added)
        for older_id in await self.database.read(passages.older, added):
            await self._work(older_id)
        return None

    async def remove(self, id_: int) -> None:
        for removed_id in await self.database.write(passages.remove, id_):
            await self._work(removed_id)

    async def _work(self, id_: int) -> None:
        while await self.work_on(id_):
            pass

    async def work_on(self, id_: int) -> bool:
        return await self.database.write(passages.work_on, id_, mark_sweep_due)


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


PATIENCE_S: Final = 1.0  # How long to wait for another program that has the SQLite file locked, such as a backup


@dataclass(frozen=True, slots=True)
class Store:
    """The open store. `close` closes its database.

    `version_before`: the version that opening found and migrated to `version`; None if the database was new.
    """

    ledger: Ledger
    consents: Consents
    approvals: Approvals
    budget_days: BudgetDays
    open_questions: OpenQuestions
    asked_questions: AskedQuestions
    explanations: Explanations
    feedback: Feedback
    unanswered: UnansweredQuestions
    conversations: SqlConversations
    knowledge: Knowledge
    memories: Memories
    documents: Documents
    embeddings: Embeddings
    facts: Facts
    working_set: WorkingSet
    saved_files: SqlSavedFiles
    profiles: Profiles
    forgetting: Forgetting
    handoffs: Handoffs
    preferences: Preferences
    spending: Spending
    code_time: CodeTime
    acts: Acts
    jobs: Jobs
    schedules: Schedules
    replies: Replies
    summaries: Summaries
    tool_accounts: ToolAccounts
    place_keys: PlaceKeys
    api_tokens: ApiTokens
    webhook_events: WebhookEvents
    written_turns: WrittenTurns
    audit: ToolAudit
    operator_sessions: OperatorSessions
    eval_runs: EvalRuns
    outbox: Outbox
    recent_writes: SqlRecentWrites
    installations: Installations
    shard_leases: ShardLeases
    shared_rates: SharedRates
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
    searches. Raises StoreLocked if another process has the file open, StoreError if the database cannot be used.
    """
    return await open_on(database_of(url, patience_s, replica_url=replica_url), key, migrations)


async def open_on(database: Database, key: Callable[[], bytes] = new_key, migrations: Migrations = MIGRATIONS) -> Store:
    """Migrate this database and open its store. Raises StoreError; the database is closed then."""
    async with AsyncExitStack() as cleanup:
        cleanup.push_async_callback(database.close)
        async with migrating():
            prepared = await _prepared(database, key, migrations)
        if database.is_shared:
            await make_indexes(database)
        for renewal in prepared.outdated:
            await renew(database, renewal, asyncio.get_running_loop().time)
        database.outages.monotonic = asyncio.get_running_loop().time
        store = store_on(database, prepared, prepared.version)
        cleanup.push_async_callback(store.notifier.close)
        await store.forgetting.sweep()
        cleanup.pop_all()
    return store


async def _prepared(database: Database, key: Callable[[], bytes], migrations: Migrations) -> Prepared:
    for _ in range(MIGRATION_TRIES - 1):
        try:
            return await database.change_tables(prepare, database.where, key, migrations)
        except TableHeld as held:
            log.info("%s", held)
            await asyncio.sleep(PAUSE_S)
    return await database.change_tables(prepare, database.where, key, migrations)


@asynccontextmanager
async def beside(
    url: str, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
) -> AsyncGenerator[Database, None]:
    """Open a database at the newest version, while another process may serve from it. Raises StoreError."""
    database = database_beside(url, patience_s)
    try:
        await database.read(require_head, database.where, migrations)
        yield database
    finally:
        await database.close()


class PartOpener(Protocol[Part_co]):
    """Opens one part of the store while another process may serve from the database. Raises StoreError."""

    def __call__(
        self, url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
    ) -> AbstractAsyncContextManager[Part_co]: ...


def _opener(part: Callable[[Database], Part_co]) -> PartOpener[Part_co]:
    @asynccontextmanager
    async def open_part(
        url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS
    ) -> AsyncGenerator[Part_co, None]:
        async with beside(url, patience_s, migrations) as database:
            yield part(database)

    return open_part


open_spending: Final[PartOpener[Spending]] = _opener(SqlSpending)
open_eval_runs: Final[PartOpener[EvalRuns]] = _opener(SqlEvalRuns)
open_preferences: Final[PartOpener[Preferences]] = _opener(SqlPreferences)
open_audit: Final[PartOpener[ToolAudit]] = _opener(SqlToolAudit)
open_feedback: Final[PartOpener[Feedback]] = _opener(SqlFeedback)
open_operator_sessions: Final[PartOpener[OperatorSessions]] = _opener(SqlOperatorSessions)
open_api_tokens: Final[PartOpener[ApiTokens]] = _opener(SqlApiTokens)
open_place_keys: Final[PartOpener[PlaceKeys]] = _opener(SqlPlaceKeys)
open_outbox: Final[PartOpener[Outbox]] = _opener(SqlOutbox)


def database_beside(url: str, patience_s: float = PATIENCE_S) -> Database:
    """The database of a URL for reading only, also while a bot serves from it. Raises StoreError."""
    return database_of(url, patience_s, open_sqlite_beside)


def database_of(
    url: str,
    patience_s: float = PATIENCE_S,
    sqlite: Callable[[str, float], Database] = open_sqlite,
    *,
    replica_url: str = "",
) -> Database:
    """The database of a URL, not connected yet; this process holds a file's lock from now on. Raises StoreError."""
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
    memory = WriteMemory(secrets.token_hex(8)) if database.is_shared else None
    forgetting = SqlForgetting(database, erased_ids, memory=memory)
    return Store(
        SqlLedger(database, erased_ids, memory),
        SqlConsents(database),
        SqlApprovals(database),
        SqlBudgetDays(database),
        SqlOpenQuestions(database),
        SqlAskedQuestions(database, erased_ids),
        SqlExplanations(database),
        SqlFeedback(database),
        SqlUnanswered(database),
        SqlConversations(database),
        SqlKnowledge(database),
        SqlMemories(database, reader),
        SqlDocuments(database, reader),
        SqlEmbeddings(database),
        SqlFacts(database),
        SqlWorkingSet(database),
        SqlSavedFiles(database),
        SqlProfiles(database),
        forgetting,
        SqlHandoffs(database),
        SqlPreferences(database),
        SqlSpending(database),
        SqlCodeTime(database),
        SqlActs(database, erased_ids),
        SqlJobs(database),
        SqlSchedules(database, erased_ids, notifier),
        SqlReplies(database),
        SqlSummaries(database),
        SqlToolAccounts(database),
        SqlPlaceKeys(database),
        SqlApiTokens(database),
        SqlWebhookEvents(database, erased_ids, notifier),
        SqlWrittenTurns(database, erased_ids),
        SqlToolAudit(database),
        SqlOperatorSessions(database),
        SqlEvalRuns(database),
        SqlOutbox(database),
        SqlRecentWrites(database, erased_ids, memory, forgetting),
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
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- as above
    from store.databases.shared_notifier import SharedNotifier  # noqa: PLC0415 -- as above

    if not isinstance(database, PostgresDatabase):
        return LocalNotifier()
    if (remark := database.pooler_remark) is not None:
        log.info("%s", remark)
    return SharedNotifier(database.connect, can_listen=not database.is_pooled)
