"""Looking at a database says where it is and at which version, and changes nothing there."""

from pathlib import Path

import pytest

from agent.errors import StoreError
from store.database_state import DatabaseState, look_at
from store.databases.sqlite import open_sqlite_beside
from store.engine import open_store
from store.migrations import HEAD
from tests.fakes.postgresql import PostgresServer


async def test_a_file_that_is_not_there_has_no_version_and_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "bot.db"
    assert await look_at(f"sqlite:///{path}") == DatabaseState(str(path), None)
    assert not path.parent.exists()


async def test_a_file_is_looked_at_while_a_bot_serves_from_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'bot.db'}"
    store = await open_store(url)
    try:
        look = await look_at(url)
    finally:
        await store.close()
    assert look == DatabaseState(store.database.where, HEAD, is_locked=True)


async def test_an_empty_file_has_no_version(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    path.touch()
    assert (await look_at(f"sqlite:///{path}")).version is None


async def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    path.write_text("I am a letter. " * 1_000)
    with pytest.raises(StoreError):
        await look_at(f"sqlite:///{path}")


async def test_a_path_that_the_system_does_not_look_up_is_told(tmp_path: Path) -> None:
    """As in a folder that this user may not look into: but root, as whom tests may run, looks into each."""
    url = f"sqlite:///{tmp_path / ('long' * 100)}"
    with pytest.raises(StoreError, match="could not be opened"):
        await look_at(url)
    with pytest.raises(StoreError, match="could not be opened"):
        open_sqlite_beside(url.removeprefix("sqlite://"), 1.0)


async def test_a_server_is_looked_at_without_making_tables(postgres: PostgresServer) -> None:
    async with postgres.database() as url:
        assert (await look_at(url)).version is None
        assert (await look_at(url)).version is None
        store = await open_store(url)
        await store.close()
        assert (await look_at(url)).version == HEAD


async def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(StoreError, match="sqlite:///"):
        await look_at("mysql://host/bot")
