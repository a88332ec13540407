"""What another version of the program has derived is made anew at a start: told of, in steps, whole after any kill."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, delete, func, select, table, update

from store.database_state import look_at
from store.databases.database import is_postgresql
from store.derived_data import DERIVED, outdated, renew_some
from store.engine import Store, open_store
from store.memory.fact_index import fact_term
from store.memory_tables import fact
from store.schema import meta
from store.search import index
from store.search.index import TERMS
from tests.contracts.steps import answered, texts_found
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database
from tests.fakes.postgresql import PostgresServer
from tests.store.processes import line, running

FACTS, ENTRIES = DERIVED
MESSAGES = 6


@pytest.fixture(params=["sqlite", "postgresql"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return await new_database(tmp_path / "store.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return await server.empty()


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Store]:
    store = await open_store(url)
    try:
        yield store
    finally:
        await store.close()


def spoil(connection: Connection) -> None:
    """As an earlier version has left it, which derived nothing that this one finds."""
    index.clear(connection)
    connection.execute(update(fact).values(reading="", reader=0))
    connection.execute(delete(fact_term))
    connection.execute(update(meta).values(value=b"1").where(meta.c.name.in_([one.name for one in DERIVED])))


async def lived(url: str) -> None:
    """A database of an earlier version, with three questions, their answers and a fact."""
    async with opened(url) as store:
        for number in range(MESSAGES // 2):
            await answered(store, said(f"boat {number}"), "noted")
        await remember(store.facts, "ann", "The boat is blue.", "person:ann", START)
        await store.database.write(spoil)
        assert await texts_found(store, "boat") == []


def versions(connection: Connection) -> dict[str, bytes]:
    rows = connection.execute(select(meta.c.name, meta.c.value)).all()
    return {name: value for name, value in rows if name in {one.name for one in DERIVED}}


async def test_a_start_makes_it_anew_and_says_so_when_it_begins_and_when_it_ends(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await lived(url)
    with caplog.at_level(logging.INFO, "store.derived_data"):
        async with opened(url) as store:
            assert sorted(await texts_found(store, "boat")) == [f"boat {number}" for number in range(MESSAGES // 2)]
            (known,) = await store.facts.readable("ann", frozenset({"person:ann"}))
            assert known.reading is not None
            assert await store.database.read(outdated) == ()
    told = [record.getMessage() for record in caplog.records]
    assert told[2] == "rebuilding the search index (messages: 6); answering starts after that"
    assert told[3].startswith("rebuilt the search index (messages: 6) in ")
    assert told[0] == "rebuilding the index of facts (facts: 1); answering starts after that"


async def test_a_start_with_nothing_to_make_anew_says_and_writes_nothing(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(url):
        pass
    with caplog.at_level(logging.INFO, "store.derived_data"):
        async with opened(url) as store:
            assert await store.database.read(versions) == {
                FACTS.name: str(FACTS.version).encode(),
                ENTRIES.name: str(TERMS).encode(),
            }
    assert caplog.records == []


async def test_what_a_start_will_make_anew_is_seen_before_it_and_changed_by_nobody_who_looks(url: str) -> None:
    await lived(url)
    for _ in range(2):
        look = await look_at(url)
        assert [(one.derived.what, one.left) for one in look.outdated] == [
            ("the index of facts", 1),
            ("the search index", 6),
        ]
    async with opened(url):
        pass
    assert (await look_at(url)).outdated == ()


KILLED_IN_THE_MIDDLE = """
import asyncio, sys
from store import derived_data, engine
from store.search import index

index._BATCH = 2  # steps of two messages

async def main():
    store = engine.store_on(engine.database_of(sys.argv[1], 1.0), engine.Prepared(b"", None), "")
    (_, entries) = derived_data.DERIVED
    for _ in range(2):
        await store.database.write_alone(derived_data.renew_some, entries)
    def third(connection):
        derived_data.renew_some(connection, entries)
        print("in the middle", flush=True)
        sys.stdin.read()
    await store.database.write_alone(third)

asyncio.run(main())
"""


async def test_a_kill_in_the_middle_leaves_nothing_half_made_and_the_next_start_goes_on_from_there(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    await lived(url)
    async with running(KILLED_IN_THE_MIDDLE, url) as process:
        assert await line(process) == "in the middle"
    look = await look_at(url)
    assert [(one.derived.what, one.left) for one in look.outdated] == [
        ("the index of facts", 1),
        ("the search index", 2),
    ]
    with caplog.at_level(logging.INFO, "store.derived_data"):
        async with opened(url) as store:
            assert sorted(await texts_found(store, "boat")) == [f"boat {number}" for number in range(MESSAGES // 2)]
            assert await store.database.read(entries) == MESSAGES, "one for each message and its person"
            assert await store.database.read(outdated) == ()
    assert any("(messages: 2) in" in record.getMessage() for record in caplog.records)


def entries(connection: Connection) -> int:
    kept = table("message_index" if is_postgresql(connection) else "message_index_kept")
    return connection.execute(select(func.count()).select_from(kept)).scalar_one()


async def test_an_earlier_version_does_not_take_what_is_half_made_by_a_later_one_for_its_own(url: str) -> None:
    await lived(url)
    async with opened(url) as store:

        def half_made(connection: Connection) -> None:
            connection.execute(update(meta).where(meta.c.name == ENTRIES.name).values(value=f"{TERMS + 1}:3".encode()))

        await store.database.write(half_made)
        ((derived, left),) = [(one.derived, one.left) for one in await store.database.read(outdated)]
        assert (derived, left) == (ENTRIES, MESSAGES)


@pytest.mark.parametrize("stored", [b"", b"0", b"2:0", b"22:5", b"nonsense"])
async def test_whatever_is_kept_of_an_earlier_making_it_ends_whole(url: str, stored: bytes) -> None:
    await lived(url)
    async with opened(url) as store:
        await store.database.write(spoil)

        def keep(connection: Connection) -> None:
            connection.execute(update(meta).where(meta.c.name == ENTRIES.name).values(value=stored))

        await store.database.write(keep)
        while await store.database.write_alone(renew_some, ENTRIES):
            pass
        assert await store.database.read(entries) == MESSAGES
