"""How the tables came to be, one revision at a time (Alembic). Forward at every start that finds an older database.

Rules
  A revision that was released is never changed: the next change is a new one.
  A revision has its way back (`downgrade`), and says what the version before cannot hold (`LOSES`: what it is, and the
  query that counts it); or it says why there is none (`NO_WAY_BACK`). Without a way back there is the backup.
  While it runs, processes of the release before go on working. So a release only adds to the database (`EXPANDS = True`
  in the revision): tables, columns with a default on the server, indexes. What the release before reads or writes is
  renamed, narrowed or taken away by a later release, whose revisions say nothing of the kind: then the old ones are
  stopped first. What people say may stand in what is added only where it goes with a row that the release before
  erases (ON DELETE CASCADE), because that one's forgetting does not know the addition.
  An index of a table that may be large is made by `index_later`, while others write.
  Whoever merges two branches with a revision each numbers the later one anew: one line, no branches.

A new revision:
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db upgrade head
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db revision --autogenerate --rev-id r0002 -m "…"
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, delete, insert, select, text
from sqlalchemy.exc import DBAPIError

from agent import texts
from agent.errors import StoreError
from store.databases.database import LOCK_SPACE, Database
from store.tables import meta

if TYPE_CHECKING:
    from alembic.config import Config

log = logging.getLogger(__name__)

# The version of the database that each release of the program has.
RELEASES: Final[Mapping[str, str]] = {"0.1.0": "r0024"}


# Under which `meta` keeps its version, and the oldest one whose program works on it: "r0021:r0019".
OLDEST: Final = "oldest_program"
# Before the name of an index that is to be made, in `meta`; its value says on what, as in "turn (source, state)".
INDEX: Final = "index:"


INDEX_S: Final = 6 * 3600.0  # For one index: far above what some hundred million rows take
_ONE_INDEXES: Final = text(
    "SELECT set_config('idle_in_transaction_session_timeout', '0', true), "
    f"pg_try_advisory_xact_lock({LOCK_SPACE}, 3) AS first"
)


def index_later(connection: Connection, name: str, on: str) -> None:
    """Make an index once this migration is committed, CONCURRENTLY; in an SQLite file at once."""
    if connection.dialect.name == "postgresql":
        noted = text("INSERT INTO meta (name, value) VALUES (:name, :on)")
        connection.execute(noted, {"name": INDEX + name, "on": on.encode()})
    else:
        connection.execute(text(f"CREATE INDEX {name} ON {on}"))


@dataclass(frozen=True)
class Migrations:
    """The revisions in a folder with Alembic's `env.py`; their files begin with their numbers ("r0001_first.py")."""

    folder: Path

    @cached_property
    def versions(self) -> list[str]:
        """Every version that a database can be brought on from, in their order."""
        return sorted(path.name.partition("_")[0] for path in self.folder.glob("versions/r[0-9]*_*.py"))

    @property
    def head(self) -> str:
        return self.versions[-1]

    def named(self, name: str) -> str | None:
        """The version that is meant by its own number, or by that of a release; None if there is none."""
        version = RELEASES.get(name.removeprefix("v"), name)
        return version if version in self.versions else None


MIGRATIONS: Final = Migrations(Path(__file__).parent)
HEAD: Final = MIGRATIONS.head


class TableHeld(StoreError):
    """Others hold a table that a migration changes. Nothing has happened."""


def version(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def migrate(connection: Connection, where: str, migrations: Migrations) -> None:
    from alembic import command  # noqa: PLC0415 -- it costs a start more than the rest of the store
    from alembic.util import CommandError  # noqa: PLC0415  (as above)

    try:
        command.upgrade(_alembic(connection, migrations), "head")
    except CommandError as error:
        raise StoreError(texts.NOT_MIGRATED.format(where=where, head=migrations.head, error=error)) from error
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "55P03":
            raise
        raise TableHeld(texts.TABLE_HELD.format(where=where)) from None
    _note_oldest(connection, migrations.head, migrations)


def _note_oldest(connection: Connection, version: str, migrations: Migrations) -> None:
    """Keep in `meta` which programs work on this version: those from before the revisions that only add to it."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415  (as above)

    oldest = version
    for revision in ScriptDirectory.from_config(_alembic(connection, migrations)).iterate_revisions(version, "base"):
        if not getattr(revision.module, "EXPANDS", False):
            break
        oldest = str(revision.down_revision)
    connection.execute(delete(meta).where(meta.c.name == OLDEST))
    connection.execute(insert(meta).values(name=OLDEST, value=f"{version}:{oldest}".encode()))


def _alembic(connection: Connection, migrations: Migrations) -> "Config":
    from alembic.config import Config  # noqa: PLC0415  (as above)

    config = Config()
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def lost_before(connection: Connection, where: str, to: str, migrations: Migrations) -> dict[str, int]:
    """What an earlier version cannot hold, by what it is, and how much of it is there. Reads only.

    Raises StoreError where there is no way back to it.
    """
    from alembic.script import ScriptDirectory  # noqa: PLC0415  (as above)

    lost = dict[str, int]()
    scripts = ScriptDirectory.from_config(_alembic(connection, migrations))
    for revision in scripts.iterate_revisions(migrations.head, to):
        if (why := getattr(revision.module, "NO_WAY_BACK", None)) is not None:
            raise StoreError(texts.NO_WAY_BACK.format(where=where, version=revision.revision, why=why, to=to))
        for what, query in getattr(revision.module, "LOSES", ()):
            if count := connection.execute(text(query)).scalar_one():
                lost[what] = count
    return lost


def take_back(connection: Connection, to: str, migrations: Migrations) -> None:
    """Bring the database to an earlier version. What `lost_before` names is gone then."""
    from alembic import command  # noqa: PLC0415  (as above)

    command.downgrade(_alembic(connection, migrations), to)
    _note_oldest(connection, to, migrations)


# Indexes of tables that may be large, on a server: made while everybody goes on. What `index_later` has noted in a
# migration is made before this process answers; the others do without it until then. One that a process left half made
# is of no use, so it is dropped first. Through transactions that stay open they would wait for each other: so whoever
# makes them holds a lock, in a transaction that sees nothing, and the others leave it to them.


async def make_indexes(database: Database) -> None:
    """Make the indexes that migrations have left to be made. Raises StoreError."""
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- as below

    due = await database.read(_indexes_due)
    if not due or not isinstance(database, PostgresDatabase):
        return
    async with database.while_holding(_ONE_INDEXES) as is_first:
        if not is_first:
            return
        for name, on in (await database.read(_indexes_due)).items():
            log.info("making the index %s on %s; other processes answer meanwhile", name, on)
            made = f"CREATE INDEX CONCURRENTLY {name} ON {on}"
            await database.run_alone([f"DROP INDEX CONCURRENTLY IF EXISTS {name}", made], INDEX_S)
            await database.write(_index_made, name)


def _indexes_due(connection: Connection) -> dict[str, str]:
    rows = connection.execute(select(meta.c.name, meta.c.value).where(meta.c.name.startswith(INDEX)))
    return {row.name.removeprefix(INDEX): row.value.decode() for row in rows}


def _index_made(connection: Connection, name: str) -> None:
    connection.execute(delete(meta).where(meta.c.name == INDEX + name))
