"""Every contract runs on a file of SQLite and on PostgreSQL.

A database of SQLite in memory runs the same statements as a file, by the same class. It differs in what `in_memory_too`
marks: one connection serves all readers and the writer, and there is no file that could still hold what was erased.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from store.engine import Store
from tests.contracts.steps import POSTGRESQL, SQLITE_FILE, SQLITE_MEMORY
from tests.fakes.new_database import new_database, open_new
from tests.fakes.postgresql import PostgresServer


@pytest.fixture(params=[SQLITE_FILE, POSTGRESQL])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    kind: str = request.param
    if kind == POSTGRESQL:
        server: PostgresServer = request.getfixturevalue("postgres")
        async with opened_store(await server.empty()) as opened:
            yield opened
    else:
        url = "sqlite://" if kind == SQLITE_MEMORY else await new_database(tmp_path / "store.db")
        async with opened_store(url) as opened:
            yield opened


@asynccontextmanager
async def opened_store(url: str) -> AsyncGenerator[Store]:
    opened = await open_new(url)
    yield opened
    await opened.close()
