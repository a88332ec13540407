"""Brings a database to the newest version, has facts read anew, and gives it the key of its erased ids.

Rules
  Alembic is imported only when the database is not at HEAD, because it costs a start more than the rest of the store.
  The whole upgrade is one transaction. On PostgreSQL processes that start together follow one another in it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, insert, inspect, select, text

from agent.errors import StoreError
from store.databases.database import LOCK_SPACE, is_postgresql
from store.memory import fact_index
from store.migrations import HEAD
from store.tables import meta

ERASED_KEY: Final = "erased_key"
VERSIONS: Final = Path(__file__).parent / "migrations" / "versions"
_ONE_BY_ONE: Final = text(
    "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true), "
    f"pg_advisory_xact_lock({LOCK_SPACE}, 2)"
)
"""However long a large table, or another process, takes."""
_MAY_CREATE: Final = text(
    "SELECT NOT pg_is_in_recovery() AND coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)"
)
_MAY_WRITE: Final = text("SELECT NOT pg_is_in_recovery() AND has_table_privilege('meta', 'INSERT')")


@dataclass(frozen=True, slots=True)
class Prepared:
    """The key of the erased ids; the version that was found, None if the database was empty."""

    key: bytes = field(repr=False)
    before: str | None


def prepare(connection: Connection, where: str, key: Callable[[], bytes]) -> Prepared:
    """Bring the database to HEAD. `key` makes the key of the erased ids if there is none. Raises StoreError."""
    if is_postgresql(connection):
        connection.execute(_ONE_BY_ONE)
    before = version(connection)
    if before != HEAD:
        if (fault := obstacle(connection, where)) is not None:
            raise StoreError(fault)
        _migrate(connection, where)
    fact_index.renew(connection)
    stored = connection.execute(select(meta.c.value).where(meta.c.name == ERASED_KEY)).scalar_one_or_none()
    if stored is None:
        stored = key()
        connection.execute(insert(meta).values(name=ERASED_KEY, value=stored))
    return Prepared(stored, before)


def require_head(connection: Connection, where: str) -> None:
    """For who only reads: raises StoreError if the database is at another version."""
    if (fault := obstacle(connection, where)) is not None:
        raise StoreError(fault)
    if version(connection) != HEAD:
        raise StoreError(f"{where} is at another version than this program: run `cogency migrate` first.")


def obstacle(connection: Connection, where: str) -> str | None:
    """Why this database cannot be brought to HEAD, as a sentence; None if nothing speaks against it. Reads only."""
    found, on_server = version(connection), is_postgresql(connection)
    if found == HEAD:
        may_write = not on_server or connection.execute(_MAY_WRITE).scalar_one()
        return (
            None if may_write else f"{where} may not be written by its user: give that user the rights to its tables."
        )
    if found is None and inspect(connection).get_table_names():
        return f"{where} holds another program's tables: choose another database in COGENCY_DATABASE_URL."
    if found is not None and found not in _known():
        return f"{where} was written by a newer version of Cogency: install that version, or choose another database."
    if on_server and not connection.execute(_MAY_CREATE).scalar_one():
        return f"{where} may not be changed by its user: give that user the right to create tables there."
    return None


def _known() -> frozenset[str]:
    """Every version that this program can bring to HEAD: the files of the migrations begin with them."""
    return frozenset(path.name.partition("_")[0] for path in VERSIONS.glob("[0-9]*_*.py"))


def version(connection: Connection) -> str | None:
    """None if the database is empty."""
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _migrate(connection: Connection, where: str) -> None:
    from alembic import command  # noqa: PLC0415  (see the rule above)
    from alembic.config import Config  # noqa: PLC0415  (as above)
    from alembic.util import CommandError  # noqa: PLC0415  (as above)

    config = Config()
    config.set_main_option("script_location", str(VERSIONS.parent).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreError(f"{where} cannot be brought to version {HEAD}: {error}.") from error
