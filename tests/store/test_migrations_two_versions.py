"""A release that changes the database, while the release before it goes on working there."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, text, update

from agent.errors import StoreError
from agent.events import Outcome
from agent.turn_records import Claiming, Closing
from store.database_state import look_at
from store.databases.postgresql import PostgresDatabase
from store.derived_data import DERIVED
from store.engine import Store, open_store
from store.migrations import HEAD, INDEX
from store.schema import meta
from store.turn_tables import turn
from tests.contracts.steps import answered
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PostgresServer
from tests.patience import PATIENCE_S, until
from tests.store.migrating import ADD_A_COLUMN, ADD_A_TABLE, ADD_AN_INDEX, NEXT, with_one_more

ADDITIONS = (ADD_A_COLUMN, ADD_A_TABLE, ADD_AN_INDEX)
CONVERSATIONS, MESSAGES = 10, 60


@pytest.fixture
async def url(postgres: PostgresServer) -> AsyncGenerator[str]:
    async with postgres.migrated() as named:
        yield named


def valid(connection: Connection) -> list[bool]:
    """Whether the index of the newer release can be used; nothing if there is none."""
    found = text("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('ix_shoe')")
    return list(connection.execute(found).scalars())


async def work(store: Store, owner: str, done: list[int], over: asyncio.Event) -> None:
    """Answer whatever is there, until it is over and nothing is left."""
    while True:
        claim = await store.ledger.claim(Claiming(owner, START, LEASE))
        if claim is not None:
            done.append(claim.turn)
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, f"re: {claim.incoming.text}"), START)
        elif over.is_set():
            return
        else:
            await asyncio.sleep(0.01)


async def write(stores: list[Store], sent: int) -> None:
    """One message, told to each store, as a platform that is unsure whether it was heard."""
    message = said(f"{sent}", conversation=f"{sent % CONVERSATIONS}", person=f"p{sent % 7}")
    await asyncio.gather(*(store.ledger.accept(message) for store in stores))


async def test_two_versions_run_side_by_side_through_a_migration_and_nothing_is_lost_or_doubled(
    url: str, tmp_path: Path
) -> None:
    older = [await open_store(url), await open_store(url)]
    done: list[int] = []
    over = asyncio.Event()
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        for number, store in enumerate(older):
            tasks.create_task(work(store, f"older {number}", done, over))
        opening = asyncio.create_task(open_store(url, migrations=with_one_more(tmp_path, *ADDITIONS, expands=True)))
        sent = 0
        while sent < MESSAGES // 2 or not opening.done():
            await write(older, sent)
            sent += 1
        newer = await opening
        assert newer.version == NEXT
        tasks.create_task(work(newer, "newer", done, over))
        for more in range(sent, sent + MESSAGES // 2):
            await write([*older, newer], more)
        sent += MESSAGES // 2
        over.set()
    assert await newer.database.read(valid) == [True]
    answers = await newer.database.read(lambda c: list(c.execute(select(turn.c.state)).scalars()))
    assert len(done) == len(set(done)) == len(answers) == sent
    assert set(answers) == {"done"}
    for store in (*older, newer):
        await store.close()


async def test_the_release_before_starts_again_on_a_database_that_has_only_grown(url: str, tmp_path: Path) -> None:
    await (await open_store(url, migrations=with_one_more(tmp_path, *ADDITIONS, expands=True))).close()
    store = await open_store(url)
    assert store.version == NEXT
    await answered(store, said("my boat is blue"), "Noted.")
    await store.close()
    assert (await look_at(url)).is_newer


@pytest.mark.parametrize("why", ["it took something away", "something derived is newer"])
async def test_the_release_before_does_not_start_where_it_would_be_wrong(url: str, tmp_path: Path, why: str) -> None:
    newer = with_one_more(tmp_path, ADD_A_COLUMN, expands=why != "it took something away")
    store = await open_store(url, migrations=newer)
    if why == "something derived is newer":
        later = str(DERIVED[0].version + 1).encode()
        await store.database.write(
            lambda c: c.execute(update(meta).where(meta.c.name == DERIVED[0].name).values(value=later))
        )
    await store.close()
    for opening in (open_store(url), look_at(url)):
        with pytest.raises(StoreError, match="written by a newer version of Cogency"):
            await opening


async def test_an_index_that_was_left_half_made_is_made_again(url: str) -> None:
    store = await open_store(url)
    for message in ("one", "one"):
        await answered(store, said(message), "Noted.")
    with pytest.raises(StoreError):  # two rows of one text: it stays, and is of no use
        await PostgresDatabase(url).run_alone(["CREATE UNIQUE INDEX CONCURRENTLY ix_shoe ON message ((1))"], PATIENCE_S)
    assert await store.database.read(valid) == [False]
    await store.database.write(
        lambda c: c.execute(insert(meta).values(name=f"{INDEX}ix_shoe", value=b"message (author)"))
    )
    await store.close()
    again = await open_store(url)
    assert await again.database.read(valid) == [True]
    left = await again.database.read(lambda c: list(c.execute(select(meta.c.name)).scalars()))
    assert not [name for name in left if name.startswith(INDEX)]
    await again.close()


async def test_in_a_file_an_index_is_made_at_once(tmp_path: Path) -> None:
    newer = with_one_more(tmp_path, ADD_AN_INDEX)
    store = await open_store(f"sqlite:///{tmp_path}/store.db", migrations=newer)
    made = text("SELECT count(*) FROM sqlite_master WHERE name = 'ix_shoe'")
    assert await store.database.read(lambda c: c.execute(made).scalar_one()) == 1
    await store.close()


async def test_a_migration_that_waits_for_a_long_read_keeps_nobody_else_waiting(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(url)
    direct = await PostgresDatabase(url).connect()
    with caplog.at_level(logging.INFO, "store.engine"):
        async with direct.transaction():
            await direct.execute("SELECT count(*) FROM person")
            opening = asyncio.create_task(open_store(url, migrations=with_one_more(tmp_path, ADD_A_COLUMN)))
            await until(lambda: "while other processes lock its tables" in caplog.text)
            async with asyncio.timeout(PATIENCE_S):
                await answered(store, said("my boat is blue"), "Noted.")
            assert not opening.done()
        async with asyncio.timeout(PATIENCE_S):
            newer = await opening
    assert newer.version == NEXT != HEAD
    for one in (store, newer):
        await one.close()
    await direct.close()
