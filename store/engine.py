"""Opens the store: the database that a URL names, its version, its parts.

Rule: whatever goes wrong is a StoreError with one sentence that says what to do.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final

from agent.errors import StoreError
from agent.ports import (
    Conversations,
    Embeddings,
    Facts,
    Forgetting,
    Jobs,
    Knowledge,
    Ledger,
    Memories,
    Preferences,
    Profiles,
    Replies,
    Spending,
    Summaries,
    WorkingSet,
)
from store.conversations import SqlConversations
from store.databases.bell import LocalBell
from store.databases.database import Database, migrating
from store.databases.sqlite import is_held, open_sqlite, open_sqlite_beside, sqlite_path, unwritable
from store.databases.watched import Watched
from store.forgetting.erased import ErasedIds
from store.forgetting.forgetting import SqlForgetting
from store.jobs import SqlJobs
from store.knowledge import SqlKnowledge
from store.memory.embeddings import SqlEmbeddings
from store.memory.facts import SqlFacts
from store.memory.memories import SqlMemories
from store.memory.profiles import SqlProfiles
from store.memory.working import SqlWorkingSet
from store.migrations import HEAD
from store.preferences import SqlPreferences
from store.spending import SqlSpending
from store.summaries import SqlSummaries
from store.turns.ledger import SqlLedger
from store.turns.replies import SqlReplies
from store.upgrade import Prepared, obstacle, prepare, require_head, version

PATIENCE_S: Final = 1.0
"""How long to wait for another program that reads or writes an SQLite file, such as a backup."""
FORMS: Final = "use sqlite:///path/to/file.db or postgresql://user:password@host/database."


@dataclass(frozen=True, slots=True)
class Store:
    """The open store. `close` gives it back.

    `version_before`: what opening found and brought to `version`; None if the database was new.
    """

    ledger: Ledger
    conversations: Conversations
    knowledge: Knowledge
    memories: Memories
    embeddings: Embeddings
    facts: Facts
    working_set: WorkingSet
    profiles: Profiles
    forgetting: Forgetting
    preferences: Preferences
    spending: Spending
    jobs: Jobs
    replies: Replies
    summaries: Summaries
    bell: LocalBell
    database: Database
    version_before: str | None
    version: str = HEAD

    async def close(self) -> None:
        await self.bell.close()
        await self.database.close()


def new_key() -> bytes:
    return secrets.token_bytes(32)


async def open_store(url: str, *, patience_s: float = PATIENCE_S, key: Callable[[], bytes] = new_key) -> Store:
    """Open `url`, at the newest version: `sqlite:///file` (created with its folder), `sqlite://` in memory, or
    `postgresql://user:password@host/database`.

    `key` makes the key of the erased ids when the database is new. Raises StoreLocked if another process has the file
    open, StoreError if the database cannot be used.
    """
    async with AsyncExitStack() as unless_open:
        database = _database(url, patience_s)
        unless_open.push_async_callback(database.close)
        async with migrating():
            prepared = await database.write(prepare, database.where, key)
        store = _store(database, Watched(database, asyncio.get_running_loop().time), prepared)
        unless_open.push_async_callback(store.bell.close)
        await store.forgetting.sweep()
        unless_open.pop_all()
    return store


@asynccontextmanager
async def open_spending(url: str, *, patience_s: float = PATIENCE_S) -> AsyncGenerator[Spending, None]:
    """What was spent, to be read or added to while another process may serve from the database. Raises StoreError."""
    database = _database(url, patience_s, open_sqlite_beside)
    try:
        await database.read(require_head, database.where)
        yield SqlSpending(database)
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class Look:
    """What a database looks like. `version`: None while there is none. `is_held`: a process has the file as its own."""

    where: str
    version: str | None
    is_held: bool = False


async def look_at(url: str, *, patience_s: float = PATIENCE_S) -> Look:
    """Look at the database with nothing changed there; another process may serve from it.

    Raises StoreError if `open_store` would, but for a file that another process holds.
    """
    scheme, _, rest = url.partition("://")
    path = sqlite_path(rest) if scheme.partition("+")[0] == "sqlite" else None
    if path is not None and (fault := unwritable(path)) is not None:
        raise StoreError(fault)
    if path is not None and not path.exists():
        return Look(str(path), None)
    database = _database(url, patience_s, open_sqlite_beside)
    try:
        if (fault := await database.read(obstacle, database.where)) is not None:
            raise StoreError(fault)
        return Look(database.where, await database.read(version), is_held=path is not None and is_held(path))
    finally:
        await database.close()


def _database(url: str, patience_s: float, sqlite: Callable[[str, float], Database] = open_sqlite) -> Database:
    scheme, found, rest = url.partition("://")
    kind = scheme.partition("+")[0]
    if not found or (kind == "sqlite" and rest and not rest.startswith("/")):
        raise StoreError(f"The database URL cannot be read; {FORMS}")
    if kind in {"postgresql", "postgres"}:
        from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- a start with SQLite does without the driver

        return PostgresDatabase(url)
    if kind != "sqlite":
        raise StoreError(f"There is no store for {kind} databases; {FORMS}")
    return sqlite(rest, patience_s)


def _store(opened: Database, database: Database, prepared: Prepared) -> Store:
    """Its parts. `database`: what they work on, around the one that was opened."""
    erased_ids = ErasedIds(prepared.key)
    return Store(
        SqlLedger(database, erased_ids),
        SqlConversations(database),
        SqlKnowledge(database),
        SqlMemories(database),
        SqlEmbeddings(database),
        SqlFacts(database),
        SqlWorkingSet(database),
        SqlProfiles(database),
        SqlForgetting(database, erased_ids),
        SqlPreferences(database),
        SqlSpending(database),
        SqlJobs(database),
        SqlReplies(database),
        SqlSummaries(database),
        _bell(opened),
        database,
        prepared.before,
    )


def _bell(database: Database) -> LocalBell:
    if not database.is_shared:
        return LocalBell()
    from store.databases.notify import SharedBell  # noqa: PLC0415 -- as above
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- as above

    return SharedBell(database.connect) if isinstance(database, PostgresDatabase) else LocalBell()
