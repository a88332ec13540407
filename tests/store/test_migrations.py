"""The revisions lead to the tables of `store.tables`, and back, on both engines, with everything that people said."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, insert, inspect
from sqlmodel import SQLModel

import store.migrations
from agent.records import RecallQuery
from store import tables
from store.databases.database import Database
from store.databases.postgresql import PostgresDatabase
from store.databases.sqlite import open_sqlite
from store.engine import open_store
from store.history import history
from store.memory.fact_store import readable
from store.migrations import HEAD
from store.search import index
from store.search.search import search
from tests.contracts.steps import claimed
from tests.fakes.incoming import START
from tests.fakes.postgresql import PostgresServer

FOLDER = Path(store.migrations.__file__).parent


def config(connection: Connection | None = None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    return config


REVISIONS = [revision.revision for revision in ScriptDirectory.from_config(config()).walk_revisions()][::-1]


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[str]:
    """An empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/store.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        async with server.database() as named:
            yield named


@pytest.fixture
async def database(url: str) -> AsyncGenerator[Database]:
    opened = open_sqlite(url.removeprefix("sqlite://"), 1.0) if url.startswith("sqlite") else PostgresDatabase(url)
    yield opened
    await opened.close()


def to(revision: str) -> Callable[[Connection], None]:
    """Bring a database there, whichever way it is."""

    def migrate(connection: Connection) -> None:
        before = MigrationContext.configure(connection).get_current_revision()
        if revision == "base" or (before is not None and before > revision):
            command.downgrade(config(connection), revision)
        else:
            command.upgrade(config(connection), revision)

    return migrate


def test_the_newest_revision_is_the_one_that_the_code_expects() -> None:
    assert REVISIONS[-1] == HEAD
    assert sorted(REVISIONS) == REVISIONS


async def test_all_revisions_together_give_the_tables_of_the_code(database: Database) -> None:
    def differences(connection: Connection) -> list[object]:
        assert tables.message.name in inspect(connection).get_table_names()
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _ours})
        return compare_metadata(context, SQLModel.metadata)

    await database.write(to("head"))
    assert await database.write(differences) == []


def _ours(name: str | None, *_: object) -> bool:
    """The index's tables are each engine's own."""
    return not str(name).startswith(index.NAME)


async def test_all_revisions_can_be_taken_back(database: Database) -> None:
    await database.write(to("head"))
    await database.write(to("base"))
    assert await database.read(lambda c: inspect(c).get_table_names()) == ["alembic_version"]
    await database.write(to("head"))


def live(connection: Connection) -> None:
    """What a database of the first revision may hold: an answered question, a waiting one, a note."""
    then = MetaData()
    then.reflect(connection, only=lambda name, _: _ours(name))

    def add(table: str, **columns: object) -> None:
        connection.execute(insert(then.tables[table]).values(columns))

    everywhere = {"conversation": "old", "person": "ann", "channel": "c"}
    turn = {**everywhere, "kind": "turn", "source": "s", "epoch": 1, "attempts": 1, "payload": "{}", "progress": ""}
    turn |= {"reply_ref": "", "pages": "[]", "usage": "{}", "context_messages": "[]", "context_notes": "[]"}
    message = {**everywhere, "time": START, "audience": "person:ann", "length": 2}
    add("person", id="ann", name="Ann", time_zone="UTC")
    add("conversation", id="old", audience="person:ann", summary="{}")
    add("participant", conversation="old", person="ann")
    add("turn", **turn, state="done", event_id="e1", message_id="m1")
    add("turn", **turn, state="waiting", event_id="e2", message_id="m2")
    add("message", **message, turn=1, author="person", text="my boats", message_id="m1")
    add("message", **message, turn=1, author="bot", text="Noted.", message_id="p1")
    add("message", **message, turn=2, author="person", text="and?", message_id="m2")
    add("note", person="ann", text="has a boat", audience="person:ann", time=START)
    index.add(connection, 1, ["my", "boats"], [1])


def lived(connection: Connection) -> object:
    """The same, as the code of today reads it."""
    query = RecallQuery("ann", "boat", frozenset({"person:ann"}), "")
    return (
        [m.text for m in history(connection, "old", 99, 99)],
        [fact.said for fact in readable(connection, "ann", query.audiences)],
        [hit.message.text for hit in search(connection, query)],
    )


@pytest.mark.parametrize("released", REVISIONS)
async def test_a_database_of_each_revision_is_brought_to_the_newest_with_everything_in_it_and_back(
    url: str, database: Database, released: str
) -> None:
    await database.write(to("0001"))
    await database.write(live)
    await database.write(to(released))
    await database.close()
    opened = await open_store(url)
    assert opened.version_before == released
    everything = (["my boats", "Noted.", "and?"], ["has a boat"], ["my boats"])
    assert await opened.database.read(lived) == everything
    assert (await claimed(opened)).incoming.text == "and?"
    for revision in (released, "0001", "head"):
        await opened.database.write(to(revision))
    assert await opened.database.read(lived) == everything
    await opened.close()
