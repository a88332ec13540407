"""Searches on a real streaming replica: while it is level with the primary, and never of what is gone meanwhile."""

import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager

import pytest

from agent.memory.forgetting_plans import Everything
from agent.recall_query import RecallQuery
from store.database_state import look_at
from store.databases.postgresql import PostgresDatabase
from store.databases.replica import RecallReplica
from store.engine import Store, open_store
from store.search.search import search
from tests.contracts.steps import answered
from tests.fakes.incoming import START, said
from tests.fakes.postgresql import PostgresServer, running_postgres, streaming_replica
from tests.patience import PATIENCE_S

BOAT = RecallQuery("ann", "blue boat", frozenset({"person:ann"}), "")
LEVEL, BEHIND, AWAY = "is up to date", "is behind the primary", "does not respond"


@pytest.fixture(scope="module")
def primary() -> Generator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def replica(primary: PostgresServer) -> Generator[PostgresServer]:
    with streaming_replica(primary) as server:
        yield server


@pytest.fixture
async def store(primary: PostgresServer, replica: PostgresServer) -> AsyncGenerator[Store]:
    """With a search on the replica, and a message to be found."""
    opened = await open_store(await primary.empty(), replica_url=replica.url("shared"))
    await answered(opened, said("my boat is blue", conversation="one"), "Noted.")
    yield opened
    await opened.close()


@asynccontextmanager
async def reader(primary: PostgresServer, replica: str) -> AsyncGenerator[RecallReplica]:
    """One that has not looked yet."""
    first, other = PostgresDatabase(primary.url("shared")), PostgresDatabase(replica)
    yield RecallReplica(first, other)
    await first.close()
    await other.close()


async def level(primary: PostgresServer, replica: PostgresServer) -> None:
    """Until the replica has all that the primary has written."""
    async with reader(primary, replica.url("shared")) as looking:
        while LEVEL not in await looking.remark():
            looking.look_again()


async def test_past_threads_are_searched_on_a_replica_that_is_level(
    primary: PostgresServer, replica: PostgresServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await level(primary, replica)
    with caplog.at_level(logging.INFO, "store.databases.replica"):
        assert [hit.message.text for hit in await store.memories.search(BOAT)] == ["my boat is blue"]
    assert LEVEL in caplog.text
    async with reader(primary, replica.url("shared")) as searching:
        assert len(await searching.read(search, BOAT)) == 1
        assert searching.searches == 1


async def test_what_is_forgotten_is_not_found_though_a_replica_has_it_still(
    primary: PostgresServer, replica: PostgresServer, store: Store
) -> None:
    await level(primary, replica)
    await replica.execute("SELECT pg_wal_replay_pause()", user="postgres")
    await store.forgetting.forget(Everything("ann"), START)
    late = PostgresDatabase(replica.url("shared"))
    assert len(await late.read(search, BOAT)) == 1
    await late.close()
    async with reader(primary, replica.url("shared")) as searching:
        assert await searching.read(search, BOAT) == []
        assert searching.searches == 0
        assert BEHIND in await searching.remark()
        await replica.execute("SELECT pg_wal_replay_resume()", user="postgres")
        await level(primary, replica)
        searching.look_again()
        assert await searching.read(search, BOAT) == []
        assert searching.searches == 1


async def test_a_replica_that_goes_away_is_said_once_and_the_primary_answers(
    primary: PostgresServer, replica: PostgresServer, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    await level(primary, replica)
    assert len(await store.memories.search(BOAT)) == 1
    replica.kill()
    try:
        for _ in range(3):
            assert len(await store.memories.search(BOAT)) == 1
    finally:
        replica.start()
    assert caplog.text.count(AWAY) == 1


async def test_what_is_no_replica_of_this_database_is_not_used(primary: PostgresServer, store: Store) -> None:
    assert store.database.is_shared
    (itself,) = (await look_at(primary.url("shared"), replica_url=primary.url("shared"))).remarks
    with streaming_replica(primary) as other:
        other.run("pg_ctl", "-D", other.data, "-w", "-t", PATIENCE_S, "promote")
        (promoted,) = (await look_at(primary.url("shared"), replica_url=other.url("shared"))).remarks
    for remark in (itself, promoted):
        assert "is not a streaming replica of the database in COGENCY_DATABASE_URL" in remark
