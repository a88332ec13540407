"""The revisions lead to the tables of `store.all_tables` on both engines, and on with everything people said."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import (
    Connection,
    inspect,
    text,
)
from sqlmodel import SQLModel

from agent.errors import StoreError
from store.database_state import look_at
from store.engine import Store, open_spending, open_store
from store.migrations import HEAD, MIGRATIONS
from store.search.index import INDEXES
from tests.contracts.steps import claimed
from tests.fakes.incoming import said
from tests.store.migrating import ADD_A_COLUMN, ADD_A_TABLE, NEXT, with_one_more


@pytest.fixture
def url(new_on_either: str) -> str:
    """At the newest version: all revisions made the database that it is a copy of."""
    return new_on_either


@pytest.fixture
async def store(url: str) -> AsyncGenerator[Store]:
    opened = await open_store(url)
    yield opened
    await opened.close()


def test_the_revisions_are_one_line_in_the_order_of_their_numbers() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS.folder))
    walked = [revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()]
    assert walked[::-1] == MIGRATIONS.versions
    assert walked[0] == HEAD


def _ours(name: str | None, *_: object) -> bool:
    """The index's tables are each engine's own."""
    return not str(name).startswith(INDEXES)


async def test_all_revisions_together_give_the_tables_of_the_code(store: Store) -> None:
    def differences(connection: Connection) -> list[object]:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _ours})
        return compare_metadata(context, SQLModel.metadata)

    assert await store.database.write(differences) == []


async def test_every_constraint_has_the_name_that_the_code_gives_it(store: Store) -> None:
    """A later revision can only change what it can name. SQLite keeps no name of a key that it counts up itself."""
    declared = {name: {str(one.name) for one in table.constraints} for name, table in SQLModel.metadata.tables.items()}

    def unnamed_or_astray(connection: Connection) -> list[tuple[str, str | None]]:
        found = inspect(connection)
        return [
            (table, one["name"])
            for table, names in declared.items()
            for one in (
                found.get_pk_constraint(table),
                *found.get_foreign_keys(table),
                *found.get_unique_constraints(table),
                *found.get_check_constraints(table),
            )
            if one["name"] not in names
            if not (one["name"] is None and f"pk_{table}" in names and not store.database.is_shared)
        ]

    assert await store.database.read(unnamed_or_astray) == []


async def test_the_next_version_finds_everything_that_this_one_has_stored(
    url: str, store: Store, tmp_path: Path
) -> None:
    await store.ledger.accept(said("my boats"))
    await store.close()
    opened = await open_store(url, migrations=with_one_more(tmp_path, ADD_A_COLUMN))
    assert (opened.version_before, opened.version) == (HEAD, NEXT)
    claim = await claimed(opened)
    assert claim.incoming.text == "my boats"
    assert await opened.database.read(lambda c: c.execute(text("SELECT shoe_size FROM person")).scalar_one()) == ""
    await opened.close()


async def test_a_migration_that_fails_leaves_the_version_before_it(url: str, store: Store, tmp_path: Path) -> None:
    await store.close()
    with pytest.raises(ZeroDivisionError):
        await open_store(url, migrations=with_one_more(tmp_path, ADD_A_TABLE, "1 / 0"))
    opened = await open_store(url)
    assert opened.version_before == HEAD
    assert not await opened.database.read(lambda c: inspect(c).has_table("shoe"))
    await opened.close()


async def test_a_database_of_the_next_version_is_left_alone_by_this_one(url: str, store: Store, tmp_path: Path) -> None:
    await store.close()
    await (await open_store(url, migrations=with_one_more(tmp_path, ADD_A_COLUMN))).close()
    for opening in (open_store(url), look_at(url)):
        with pytest.raises(StoreError, match=r"written by a newer version of Cogency\. Install that version"):
            await opening


@pytest.mark.parametrize("version", ["0001", "0003", "0016"])
async def test_a_database_from_before_the_first_release_is_left_alone_and_one_sentence_says_what_to_do(
    url: str, store: Store, version: str
) -> None:
    def date_back(connection: Connection) -> None:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})

    await store.database.write(date_back)
    await store.close()
    sentence = rf"created before the first release \(version {version}\).*Please choose another database in"
    for opening in (open_store(url), look_at(url), open_spending(url).__aenter__()):
        with pytest.raises(StoreError, match=sentence):
            await opening
