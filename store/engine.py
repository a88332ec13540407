"""Opens the store: the file, its lock, its version, its parts.

Above: `bot.app`. Below: everything in `store`.

Rules
  A SQLite file belongs to one process. The lock lies beside it, and the system drops it when the process dies.
  Alembic is imported only when the database is not at HEAD, because it costs a start more than the rest of the store.
  Whatever goes wrong is a StoreError with one sentence that says what to do.
"""

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout
from sqlalchemy import Connection, insert, inspect, select, text

from agent.errors import StoreError, StoreLocked
from agent.ports import Conversations, Forgetting, Ledger, Memories
from store.conversations import SqlConversations
from store.database import Database, migrating
from store.erase import SqlForgetting
from store.erased import ErasedIds
from store.ledger import SqlLedger
from store.memories import SqlMemories
from store.migrations import HEAD
from store.tables import meta

ERASED_KEY: Final = "erased_key"
PATIENCE_S: Final = 1.0
"""How long to wait for another program that reads or writes the file, such as a backup."""


@dataclass(frozen=True, slots=True)
class Store:
    """The open store. `close` gives the file back."""

    ledger: Ledger
    conversations: Conversations
    memories: Memories
    forgetting: Forgetting
    database: Database

    async def close(self) -> None:
        await self.database.close()


def new_key() -> bytes:
    return secrets.token_bytes(32)


async def open_store(url: str, *, patience_s: float = PATIENCE_S, key: Callable[[], bytes] = new_key) -> Store:
    """Open `url` (`sqlite:///file`, or `sqlite://` in memory), creating the file and its folder, at the newest version.

    `key` makes the key of the erased ids when the database is new. Raises StoreLocked if another process has the file
    open, StoreError if it cannot be used.
    """
    path = sqlite_path(url)
    database = _open(path, patience_s)
    try:
        async with migrating():
            erased_ids = ErasedIds(await database.write(_prepare, path, key))
        forgetting = SqlForgetting(database, erased_ids)
        await forgetting.sweep()
    except BaseException:
        await database.close()
        raise
    return Store(
        SqlLedger(database, erased_ids), SqlConversations(database), SqlMemories(database), forgetting, database
    )


def sqlite_path(url: str) -> Path | None:
    """The file that a database URL names, or None for a database in memory. Raises StoreError.

    What follows `sqlite:///` is the path as it is: nothing in it is decoded or split off.
    """
    scheme, found, rest = url.partition("://")
    kind = scheme.partition("+")[0]
    if not found or (kind == "sqlite" and rest and not rest.startswith("/")):
        raise StoreError("The database URL cannot be read; use sqlite:///path/to/file.db.")
    if kind in {"postgresql", "postgres"}:
        raise StoreError("PostgreSQL comes with a later version; use sqlite:///path/to/file.db.")
    if kind != "sqlite":
        raise StoreError(f"There is no store for {kind} databases; use sqlite:///path/to/file.db.")
    name = rest.removeprefix("/")
    return None if name in {"", ":memory:"} else Path(name).expanduser().absolute()


def _open(path: Path | None, patience_s: float) -> Database:
    if path is None:
        return Database(None, lock=None, file=None, patience_s=patience_s)
    lock = FileLock(f"{path}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock.acquire(timeout=0)
        # Other people's words: a new file is for its owner only. The write-ahead log takes over these rights.
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except Timeout:
        if not Path(lock.lock_file).exists():  # some file systems refuse a new file in this way
            raise StoreError(f"The database {path} cannot be opened: check its folder.") from None
        raise StoreLocked(f"Another process has {path} open: stop it, or choose another database.") from None
    except OSError as error:
        lock.release()
        raise StoreError(f"The database {path} cannot be opened ({error.strerror}): check its folder.") from error
    return Database(path, lock=lock, file=file, patience_s=patience_s)


def _prepare(connection: Connection, path: Path | None, key: Callable[[], bytes]) -> bytes:
    """Bring the database to HEAD; return the key of the erased ids."""
    if _version(connection) != HEAD:
        _migrate(connection, path)
    stored = connection.execute(select(meta.c.value).where(meta.c.name == ERASED_KEY)).scalar_one_or_none()
    if stored is None:
        stored = key()
        connection.execute(insert(meta).values(name=ERASED_KEY, value=stored))
    return stored


def _version(connection: Connection) -> str | None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _migrate(connection: Connection, path: Path | None) -> None:
    from alembic import command  # noqa: PLC0415  (see the rule above)
    from alembic.config import Config  # noqa: PLC0415  (as above)
    from alembic.util import CommandError  # noqa: PLC0415  (as above)

    if _version(connection) is None and inspect(connection).get_table_names():
        raise StoreError(f"{path} holds another program's tables: choose another file in COGENCY_DATABASE_URL.")
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreError(
            f"{path} was written by a newer version of Cogency: install that version, or choose another database."
        ) from error
