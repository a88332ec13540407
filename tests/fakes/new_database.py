"""New databases of SQLite, at the newest version and without rows: copies of one that the migrations made."""

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from sqlalchemy import Connection

from store.databases.sqlite import open_sqlite
from store.engine import PATIENCE_S, Store, open_on, open_store

# The content of such a file, once one was made: migrations take ten times as long as opening it.
_made: list[bytes] = []
_made_in_memory: list[sqlite3.Connection] = []


async def new_database(path: Path) -> str:
    """Return the URL of a new file, or of an existing one."""
    url = f"sqlite:///{path}"
    if not _made and not path.exists():  # noqa: ASYNC240 -- a test may wait for its disk
        await (await open_store(url)).close()
        _made.append(path.read_bytes())  # noqa: ASYNC240 -- a test may wait for its disk
    else:
        _lay(path)
    return url


def lay_database(path: Path) -> None:
    """Make a new file for a program that starts: half of what most starts take is what they migrate. An existing one
    stays.
    """
    if not _made:
        with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:  # the caller may be in an event loop
            thread.submit(asyncio.run, new_database(Path(folder) / "new.db")).result()
    _lay(path)


def _lay(path: Path) -> None:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.write_bytes(_made[0])


async def open_new(url: str = "sqlite://") -> Store:
    """Like `open_store`, for tests that open many: one in memory begins as a copy."""
    if url != "sqlite://":
        return await open_store(url)
    if not _made_in_memory:
        store = await open_store(url)
        await store.database.read(_keep)
        await store.close()
    database = open_sqlite("", PATIENCE_S)
    await database.read(_fill)
    return await open_on(database)


def _keep(connection: Connection) -> None:
    _made_in_memory.append(sqlite3.connect(":memory:", check_same_thread=False))
    _copy(_driver(connection), _made_in_memory[0], within=_driver(connection))


def _fill(connection: Connection) -> None:
    _copy(_made_in_memory[0], _driver(connection), within=_driver(connection))


def _copy(source: sqlite3.Connection, target: sqlite3.Connection, *, within: sqlite3.Connection) -> None:
    """Copy outside of the transaction in which all work is done: SQLite cannot copy a database inside one."""
    within.execute("COMMIT")
    source.backup(target)
    within.execute("BEGIN")


def _driver(connection: Connection) -> sqlite3.Connection:
    return cast("sqlite3.Connection", connection.connection.driver_connection)
