"""The state of a database, as operators see it: read without changing it, also while another process serves from it."""

from contextlib import suppress
from dataclasses import dataclass

from agent.errors import StoreError
from agent.machine import sqlite_path
from store.databases.database import Database
from store.databases.sqlite import is_locked, open_sqlite_beside, unwritable
from store.derived_data import Renewal, outdated
from store.engine import PATIENCE_S, database_of, is_compatible, obstacle
from store.migrations import MIGRATIONS, Migrations, version


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """The state of a database. `version`: None if there is no database yet. `is_locked`: a process holds the file's
    lock.

    `outdated`: what the next start rebuilds. `remarks`: other facts for operators, as sentences. `is_newer`: its
    version belongs to a newer release, and this release works on it.
    """

    where: str
    version: str | None
    is_locked: bool = False
    outdated: tuple[Renewal, ...] = ()
    remarks: tuple[str, ...] = ()
    is_newer: bool = False


async def look_at(
    url: str, *, patience_s: float = PATIENCE_S, migrations: Migrations = MIGRATIONS, replica_url: str = ""
) -> DatabaseState:
    """Read the state of a database without changing it; another process may serve from it.

    Raises StoreError where `open_store` would, except for a file that another process holds.
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
        is_newer = await database.read(is_compatible, found, migrations)
        if not is_newer and (fault := await database.read(obstacle, database.where, migrations)) is not None:
            raise StoreError(fault)
        held = path is not None and is_locked(path)
        stale = ()
        if found is not None:
            with suppress(StoreError):  # before migration it may lack the tables or columns
                stale = await database.read(outdated)
        remarks = await _remarks(database) if database.is_shared else ()
        return DatabaseState(database.where, found, is_locked=held, outdated=stale, remarks=remarks, is_newer=is_newer)
    finally:
        await database.close()


async def _remarks(database: Database) -> tuple[str, ...]:
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- a start with SQLite does without it
    from store.search import hnsw  # noqa: PLC0415 -- as above

    remarks: list[str] = []
    if isinstance(database, PostgresDatabase):
        remarks += filter(None, [database.pooler_remark])
        if database.replica is not None:
            from store.databases.replica import RecallReplica  # noqa: PLC0415 -- as above

            remarks.append(await RecallReplica(database, database.replica).remark())
    with suppress(StoreError):  # before it is migrated
        remarks += filter(None, [await database.read(hnsw.remark)])
    return tuple(remarks)
