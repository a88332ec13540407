"""A store in a file of its own, and the same on PostgreSQL."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from store.engine import Store, open_store
from tests.fakes.new_database import new_database
from tests.fakes.postgresql import PostgresServer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "store.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    opened = await open_store(await new_database(path), patience_s=0.05)
    yield opened
    await opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def either(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[Store]:
    """For what has to hold on both engines."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = await server.empty()
    else:
        url = await new_database(path)
    opened = await open_store(url, patience_s=0.05)
    yield opened
    await opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
async def empty_on_either(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[str]:
    """The URL of a database without tables, for what has to hold on both engines."""
    if request.param == "sqlite":
        yield f"sqlite:///{path}"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        async with server.database() as named:
            yield named


@pytest.fixture(params=["sqlite", "postgresql"])
async def new_on_either(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[str]:
    """The URL of a database of one's own without rows, at the newest version: for what changes or drops its tables."""
    if request.param == "sqlite":
        yield await new_database(path)
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        async with server.migrated() as named:
            yield named


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest) -> Callable[[], Awaitable[str]]:
    """For a property of both engines: the URL of a database without rows, for each example anew."""

    async def in_memory() -> str:
        return "sqlite://"

    if request.param == "sqlite":
        return in_memory
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.empty
