"""The revisions lead to the tables of `store.tables`, and back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, inspect
from sqlmodel import SQLModel

import store.migrations
from store import index, tables
from store.migrations import HEAD

FOLDER = Path(store.migrations.__file__).parent


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.begin() as opened:
        yield opened
    engine.dispose()


@pytest.fixture
def config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    return config


def test_the_newest_revision_is_the_one_that_the_code_expects(config: Config) -> None:
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_all_revisions_together_give_the_tables_of_the_code(connection: Connection, config: Config) -> None:
    command.upgrade(config, "head")
    assert tables.message.name in inspect(connection).get_table_names()
    context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _ours})
    assert compare_metadata(context, SQLModel.metadata) == []


def _ours(name: str | None, *_: object) -> bool:
    """The index's tables are FTS5's own."""
    return not str(name).startswith(index.NAME)


def test_all_revisions_can_be_taken_back(connection: Connection, config: Config) -> None:
    command.upgrade(config, "head")
    command.downgrade(config, "base")
    assert inspect(connection).get_table_names() == ["alembic_version"]
    command.upgrade(config, "head")
