"""The schema's revisions (Alembic). Every start that finds an older database upgrades it.

Rules
  A released revision is never changed: the next change is a new revision.
  A revision has a `downgrade`, and declares what the previous version cannot hold (`LOSES`: a description, and the
  query that counts the rows); or it declares why it cannot be undone (`NO_WAY_BACK`). Then only a backup helps. While a
  revision runs, processes of the previous release keep working. So a release only adds to the database (`EXPANDS =
  True` in the revision): tables, columns with a server default, indexes. Renaming, narrowing or removing what the
  previous release uses is left to a later release, whose revisions do not set `EXPANDS`: then old processes are stopped
  first. An added table or column may hold people's words only if it is deleted with a row that the previous release
  erases (ON DELETE CASCADE), because that release's forgetting does not know the addition.
  An index of a table that may be large is made by `index_later`, while others write.
  A revision imports nothing of ours: its types are SQLAlchemy's (`env.py` says why).
  If two branches have a revision each, the one merged later is renumbered: one line, no branches.

A new revision:
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db upgrade head
    alembic -c store/migrations/alembic.ini -x url=sqlite:///dev.db revision --autogenerate --rev-id r0002 -m "…"
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, delete, insert, select, text
from sqlalchemy.exc import DBAPIError

from agent import texts
from agent.errors import StoreError
from agent.lean_imports import not_installed
from store.databases.database import LOCK_SPACE, Database
from store.schema import meta

if TYPE_CHECKING:
    from alembic.config import Config

log = logging.getLogger(__name__)

# The database version of each release of the program.
RELEASES: Final[Mapping[str, str]] = {"0.1.0": "r0051"}


# The key in `meta` of the database's version and the oldest version whose program works on it: "r0021:r0019".
OLDEST: Final = "oldest_program"
# The prefix in `meta` of an index to be made; the value is the indexed columns, as in "turn (source, state)".
INDEX: Final = "index:"


INDEX_S: Final = 6 * 3600.0  # For one index: far more than a hundred million rows need
_ONE_INDEXES: Final = text(
    "SELECT set_config('idle_in_transaction_session_timeout', '0', true), "
    f"pg_try_advisory_xact_lock({LOCK_SPACE}, 3) AS first"
)


def index_later(connection: Connection, name: str, on: str) -> None:
    """Make an index after this migration is committed, CONCURRENTLY; in an SQLite file at once."""
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
        """Every version that a database can be upgraded from, in order."""
        return sorted(path.name.partition("_")[0] for path in self.folder.glob("versions/r[0-9]*_*.py"))

    @property
    def head(self) -> str:
        return self.versions[-1]

    def named(self, name: str) -> str | None:
        """The version for its own number or for a release's; None if there is none."""
        version = RELEASES.get(name.removeprefix("v"), name)
        return version if version in self.versions else None


MIGRATIONS: Final = Migrations(Path(__file__).parent)
HEAD: Final = MIGRATIONS.head


class TableHeld(StoreError):
    """Another transaction has locked a table that a migration changes. Nothing was changed."""


def version(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def migrate(connection: Connection, where: str, migrations: Migrations) -> None:
    with not_installed("mako.ext.pygmentplugin"):  # Mako's colors, for which it loads all of Pygments
        from alembic import command  # noqa: PLC0415 -- importing it takes longer than the rest of the store's start
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
    """Store in `meta` the oldest version whose program works on this one: before the revisions that only add."""
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

    from store.migrations.environment import run_revisions  # noqa: PLC0415  (as above)

    config = Config()
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.attributes["run"] = partial(run_revisions, connection)
    return config


def lost_before(connection: Connection, where: str, to: str, migrations: Migrations) -> dict[str, int]:
    """What an earlier version cannot hold: the number of rows by description. Reads only.

    Raises StoreError if a revision in between cannot be undone.
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
    """Downgrade the database to an earlier version. What `lost_before` returns is lost."""
    from alembic import command  # noqa: PLC0415  (as above)

    command.downgrade(_alembic(connection, migrations), to)
    _note_oldest(connection, to, migrations)


# Indexes of large tables on a server are made while other processes keep working. Indexes that `index_later` has
# recorded are made before this process answers; other processes work without them until then. A half-made index of a
# killed process is invalid, so it is dropped first. CONCURRENTLY waits for open transactions, so two processes would
# wait for each other: the one that makes the indexes holds a lock, in a transaction without a snapshot, and the others
# skip it.


async def make_indexes(database: Database) -> None:
    """Make the indexes that migrations have recorded. Raises StoreError."""
    from store.databases.postgresql import PostgresDatabase  # noqa: PLC0415 -- importing it takes longer than the rest of the store's start

    due = await database.read(_indexes_due)
    if not due or not isinstance(database, PostgresDatabase):
        return
    async with database.while_holding(_ONE_INDEXES) as is_first:
        if not is_first:
            return
        for name, on in (await database.read(_indexes_due)).items():
            log.info("building the index %s on %s; other processes keep answering", name, on)
            statement = f"CREATE INDEX CONCURRENTLY {name} ON {on}"
            await database.run_alone([f"DROP INDEX CONCURRENTLY IF EXISTS {name}", statement], INDEX_S)
            await database.write(_index_made, name)


def _indexes_due(connection: Connection) -> dict[str, str]:
    rows = connection.execute(select(meta.c.name, meta.c.value).where(meta.c.name.startswith(INDEX)))
    return {row.name.removeprefix(INDEX): row.value.decode() for row in rows}


def _index_made(connection: Connection, name: str) -> None:
    connection.execute(delete(meta).where(meta.c.name == INDEX + name))
