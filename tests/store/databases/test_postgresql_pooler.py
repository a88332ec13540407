"""A real PgBouncer between the store and the server: what works by transaction, by session, and what is refused."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
from sqlalchemy import Connection, text

from agent.errors import StoreError
from store.database_state import look_at
from store.databases.postgresql import LIMITS, PostgresDatabase, connect
from store.databases.shared_notifier import SharedNotifier
from store.engine import open_store
from tests.contracts.steps import answered
from tests.fakes.incoming import said
from tests.fakes.pgbouncer import keeps_statements, running_pgbouncer, through
from tests.fakes.postgresql import PostgresServer
from tests.patience import PATIENCE_S


@pytest.fixture(params=[0, 200], ids=["keeps no statements", "keeps statements"])
async def pooled(request: pytest.FixtureRequest, postgres: PostgresServer) -> AsyncGenerator[str]:
    """The URL of an empty database, through a PgBouncer that hands connections out by transaction."""
    prepared: int = request.param
    if prepared and not await asyncio.to_thread(keeps_statements):
        pytest.skip("this PgBouncer is older than 1.21, which was the first to keep prepared statements")
    async with running_pgbouncer(postgres, prepared=prepared) as folder:
        yield through(folder, await postgres.empty())


def limits(connection: Connection) -> dict[str, str]:
    return {name: connection.execute(text(f"SHOW {name}")).scalar_one() for name in LIMITS}


async def test_by_transaction_all_is_kept_and_found_and_the_doctor_says_what_is_different(pooled: str) -> None:
    store = await open_store(pooled)
    await asyncio.gather(*(answered(store, said(f"boat {n}", conversation=str(n)), "Noted.") for n in range(20)))
    assert await store.database.read(lambda c: c.execute(text("SELECT count(*) FROM turn")).scalar_one()) == 20
    await store.close()
    (remark,) = (await look_at(pooled)).remarks
    assert "behind a transaction-level pooler" in remark


async def test_by_transaction_statements_are_prepared_if_the_pooler_keeps_them(
    pooled: str, request: pytest.FixtureRequest
) -> None:
    keeps = bool(request.node.callspec.params["pooled"])
    store = await open_store(pooled)
    for n in range(3):
        await answered(store, said(f"boat {n}"), "Noted.")
    known = await store.database.read(
        lambda c: c.execute(text("SELECT name FROM pg_prepared_statements")).scalars().all()
    )
    await store.close()
    assert any(name.startswith("PGBOUNCER_") for name in known) is keeps
    assert "cogency_probe" not in known
    (remark,) = (await look_at(pooled)).remarks
    assert ("PgBouncer 1.21 or later supports them" in remark) is not keeps


async def test_by_transaction_a_probe_that_somebody_left_keeps_nobody_from_starting(postgres: PostgresServer) -> None:
    async with running_pgbouncer(postgres, size=1, prepared=0) as folder:
        url = through(folder, await postgres.empty())
        dead = await connect(url, timeout_s=PATIENCE_S, command_timeout_s=PATIENCE_S, settings={})
        async with dead.transaction():
            await dead.prepare("SELECT", name="cogency_probe")
        dead.terminate()
        database = PostgresDatabase(url)
        assert await database.read(lambda c: c.execute(text("SELECT 1")).scalar_one()) == 1
        assert database.is_pooled
        assert not database.prepares
        await database.close()


async def test_by_transaction_each_transaction_has_our_limits_and_leaves_none(pooled: str) -> None:
    database = PostgresDatabase(pooled)
    for work in (database.read, database.write, database.read_long, database.write_alone):
        assert await work(limits) == LIMITS
    await database.close()
    bare = await connect(pooled, timeout_s=PATIENCE_S, command_timeout_s=PATIENCE_S, settings={})
    async with bare.transaction():
        assert await bare.fetchval("SHOW statement_timeout") == "0"
    await bare.close()


async def test_one_that_waits_too_long_is_told_so_through_a_pooler(pooled: str) -> None:
    database = PostgresDatabase(pooled)

    def slow(connection: Connection) -> None:
        connection.execute(text("SET LOCAL statement_timeout = 10"))
        connection.execute(text("SELECT pg_sleep(30)"))

    with pytest.raises(StoreError, match=r"canceled an operation because it took too long\. Try again"):
        await database.read(slow)
    await database.close()


async def test_by_transaction_what_others_tell_is_heard_by_looking(pooled: str) -> None:
    database = PostgresDatabase(pooled)
    notifier = SharedNotifier(database.connect, can_listen=False, poll_s=0.1)
    heard = asyncio.Event()
    notifier.listen("times", heard.set)
    async with asyncio.timeout(PATIENCE_S):
        await heard.wait()
    await notifier.close()
    await database.close()


async def test_who_listens_directly_hears_who_tells_through_a_pooler(pooled: str, postgres: PostgresServer) -> None:
    through_it, direct = await open_store(pooled), await open_store(await postgres.empty())
    heard = asyncio.Event()
    direct.notifier.listen("times", heard.set)
    async with asyncio.timeout(PATIENCE_S):
        await direct.notifier.wait(PATIENCE_S)  # it listens
        through_it.notifier.publish("times")
        await heard.wait()
    await through_it.close()
    await direct.close()


async def test_by_session_nothing_is_different(postgres: PostgresServer) -> None:
    async with running_pgbouncer(postgres, mode="session", size=20) as folder:
        url = through(folder, await postgres.empty())
        store = await open_store(url)
        await answered(store, said("my boat is blue"), "Noted.")
        assert await store.database.read(limits) == LIMITS
        await store.close()
        assert (await look_at(url)).remarks == ()


async def test_by_statement_is_refused_with_what_to_change(postgres: PostgresServer) -> None:
    async with running_pgbouncer(postgres, mode="statement") as folder:
        with pytest.raises(StoreError, match=r"in statement mode, .* Set its pool_mode to transaction\.$"):
            await open_store(through(folder, postgres.url("postgres")))


async def test_a_direct_connection_has_no_remark(postgres: PostgresServer) -> None:
    assert (await look_at(await postgres.empty())).remarks == ()
