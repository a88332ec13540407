"""Every contract runs on SQLite (file, memory) and on PostgreSQL."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from store.engine import Store
from tests.fakes.new_database import new_database, open_new
from tests.fakes.postgresql import PostgresServer


@pytest.fixture(params=["sqlite file", "sqlite memory", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store]:
    kind: str = request.param
    if kind == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        async with opened_store(await server.empty()) as opened:
            yield opened
    else:
        url = "sqlite://" if kind == "sqlite memory" else await new_database(tmp_path / "store.db")
        async with opened_store(url) as opened:
            yield opened


@asynccontextmanager
async def opened_store(url: str) -> AsyncGenerator[Store]:
    opened = await open_new(url)
    yield opened
    await opened.close()
