"""PostgreSQL as a server that may refuse, be full or be away: one sentence each, and work again when it is back."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from threading import Event

import pytest
from sqlalchemy import Connection, func, insert, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from agent import texts
from agent.errors import StoreError, StoreUnavailable
from agent.turn_records import Claiming
from store.databases.database import LOCK_SPACE
from store.databases.postgresql import IDLE_S, LOCK_S, POOL_WAIT_S, STATEMENT_S, PostgresDatabase, store_error
from store.engine import Store, open_store
from store.schema import meta
from store.turn_tables import turn
from tests.contracts.steps import answered
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PASSWORD, SHARED, PostgresServer, running_postgres
from tests.patience import PATIENCE_S

CANCEL_WAITING = "SELECT pg_cancel_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@pytest.fixture
async def store(postgres: PostgresServer) -> AsyncIterator[Store]:
    opened = await open_store(await postgres.empty())
    yield opened
    await opened.close()


async def test_a_wrong_password_is_one_sentence_without_any_password(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError) as raised:
        await open_store(postgres.url("postgres", password="wrong sesame"))
    assert str(raised.value) == (
        f"PostgreSQL database postgres on {postgres.folder} did not accept the username or password. "
        "Check COGENCY_DATABASE_URL."
    )


async def test_an_unknown_database_is_one_sentence(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match=r"nowhere on .* does not exist. Create the database, or choose another"):
        await open_store(postgres.url("nowhere"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://cogency:secret@127.0.0.1:1/bot",
        "postgresql://cogency:secret@/bot?host=/no/such/folder",
        "postgres://cogency:secret@127.0.0.1:1/bot",
        "postgresql+asyncpg://cogency:secret@127.0.0.1:1/bot",
    ],
)
async def test_a_server_that_is_not_there_is_one_sentence(url: str) -> None:
    with pytest.raises(StoreError, match=r"PostgreSQL database bot on .* could not be reached") as raised:
        await open_store(url)
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["postgresql://cogency:secret@host:port/bot", "postgresql://[/bot"])
async def test_a_url_that_cannot_be_read_is_one_sentence(url: str) -> None:
    with pytest.raises(StoreError, match=texts.DATABASE_URL_UNREADABLE):
        await open_store(url)


async def test_another_programs_database_is_left_alone(postgres: PostgresServer) -> None:
    async with postgres.database() as url:
        name = url.partition("@/")[2].partition("?")[0]
        await postgres.execute("CREATE TABLE invoices (id integer)", database=name)
        with pytest.raises(StoreError, match="contains another program's tables"):
            await open_store(url)


async def test_a_read_only_database_is_one_sentence(postgres: PostgresServer) -> None:
    async with postgres.migrated() as url:
        name = url.partition("@/")[2].partition("?")[0]
        await postgres.execute("DELETE FROM meta", database=name)
        await postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        with pytest.raises(StoreError, match=r"is read-only\. Set COGENCY_DATABASE_URL to the primary server"):
            await open_store(url)


class ServerError(Exception):
    """As asyncpg's errors: the server's own words, and a code."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("DETAIL: Key (text)=(my secret) already exists.")
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("08006", "could not be reached"),
        ("25006", "is read-only"),
        ("25P03", "was idle for too long"),
        ("28P01", "did not accept the username or password"),
        ("28000", "did not accept the username or password"),
        ("3D000", "does not exist"),
        ("42501", "does not allow the database user to do that"),
        ("53100", "the database has no disk space left. Free up some space on its server."),
        ("53200", "is out of memory"),
        ("53300", "has no free connection"),
        ("55000", "is not ready for this operation. Try again."),
        ("55P03", "is busy with another operation"),
        ("57014", "took too long"),
        ("57P01", "could not be reached"),
        ("57P03", "could not be reached"),
        ("XX000", "refused an operation (SQLSTATE XX000)"),
        (None, "could not be reached"),
    ],
)
def test_each_error_is_a_sentence_that_says_what_to_do_and_quotes_nobody(code: str | None, sentence: str) -> None:
    error = store_error(DBAPIError("INSERT …", {"text": "my secret"}, ServerError(code)), "the database")
    assert sentence in str(error)
    assert "my secret" not in str(error)


def test_an_overload_is_a_sentence() -> None:
    assert "the database is overloaded: no connection became free" in str(
        store_error(PoolTimeoutError(), "the database")
    )


async def test_a_failing_statement_quotes_nobody_not_even_in_its_causes(store: Store) -> None:
    def again(connection: Connection) -> None:
        connection.execute(insert(meta), [{"name": "my secret", "value": b""}] * 2)

    with pytest.raises(StoreError, match=r"refused an operation \(SQLSTATE 23505\)") as raised:
        await store.database.write(again)
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


async def test_no_word_reaches_a_log_even_when_everything_is_logged(
    postgres: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        store = await open_store(await postgres.empty())
        await answered(store, said("a quince marmalade"), "noted")
        await store.close()
    assert "quince" not in caplog.text
    assert PASSWORD not in caplog.text


async def test_a_read_sees_one_state_and_cannot_write(store: Store) -> None:
    def write(connection: Connection) -> None:
        connection.execute(insert(meta).values(name="x", value=b""))

    with pytest.raises(StoreError, match="is read-only"):
        await store.database.read(write)
    isolation = await store.database.read(lambda c: c.execute(text("SHOW transaction_isolation")).scalar_one())
    assert isolation == "repeatable read"


async def test_one_statement_needs_no_transaction_and_a_second_one_is_refused(store: Store) -> None:
    count = select(func.count()).select_from(meta)
    alone = await store.database.read_one(lambda connection: connection.execute(count).scalar_one())
    assert alone == await store.database.read(lambda connection: connection.execute(count).scalar_one())
    with pytest.raises(RuntimeError, match="read in a transaction"):
        await store.database.read_one(lambda connection: [connection.execute(count) for _ in range(2)])


async def test_every_connection_has_its_time_limits(store: Store) -> None:
    def limits(connection: Connection) -> tuple[str, ...]:
        names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "application_name")
        return tuple(connection.execute(text(f"SHOW {name}")).scalar_one() for name in names)

    assert await store.database.read(limits) == ("30s", "15s", "9s", "cogency")


def test_the_locks_of_a_frozen_process_are_taken_from_it_before_others_run_out_of_connections() -> None:
    assert IDLE_S < POOL_WAIT_S < LOCK_S < STATEMENT_S


async def test_a_closed_store_connects_no_more(store: Store) -> None:
    await store.close()
    with pytest.raises(StoreError, match="The store is closed"):
        await store.ledger.accept(said("too late"))


async def test_a_cancelled_write_is_whole_and_the_next_one_works(store: Store) -> None:
    tasks = [asyncio.create_task(store.ledger.accept(said("hello", number=n))) for n in range(910_000, 910_010)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    accepted = [await store.ledger.accept(said("hello", number=n)) for n in range(910_000, 910_010)]
    assert len({one.turn for one in accepted}) == 10


async def test_a_write_that_could_not_take_its_lock_leaves_its_connection_usable(
    store: Store, postgres: PostgresServer
) -> None:
    """The lock is taken in one message with BEGIN: where it fails, the transaction must not stay open."""

    def count(connection: Connection) -> int:
        return len(connection.execute(select(meta)).all())

    other = PostgresDatabase(postgres.url(SHARED))
    async with other.while_holding(text(f"SELECT pg_advisory_xact_lock({LOCK_SPACE}, 1) IS NOT NULL")):
        writing = asyncio.create_task(store.database.write(count))
        async with asyncio.timeout(PATIENCE_S):
            while not await postgres.value(CANCEL_WAITING, database=SHARED):
                pass
        with pytest.raises(StoreUnavailable, match="took too long"):
            await writing
    await other.close()
    before = await store.database.read(count)
    await store.database.write(lambda connection: connection.execute(insert(meta).values(name="one", value=b"")))
    assert await store.database.read(count) == before + 1


@pytest.mark.parametrize("name", ["thread", "it's \\ one", "Dörte \N{SLIGHTLY SMILING FACE}"])
async def test_a_write_in_order_waits_for_the_one_before_it_under_any_name(
    store: Store, postgres: PostgresServer, name: str
) -> None:
    def read(connection: Connection) -> int:
        return len(connection.execute(select(meta)).all())

    other, quoted = PostgresDatabase(postgres.url(SHARED)), name.replace("'", "''")
    before = text(f"SELECT pg_advisory_xact_lock(hashtextextended('{quoted}', 0)) IS NOT NULL")
    async with asyncio.timeout(PATIENCE_S):
        async with other.while_holding(before):
            writing = asyncio.create_task(store.database.write_in_order(["another", name], read))
            while await postgres.value(WAITING, database=SHARED) == 0:
                assert not writing.done()
        found = await writing
    await other.close()
    assert await store.database.write_in_order(["\0", "\ud800"], read) == found


async def test_the_pages_of_a_reply_are_stored_after_a_write_that_has_to_be_alone(
    store: Store, postgres: PostgresServer
) -> None:
    claim = (await store.ledger.accept(said("hello"), claiming=Claiming("worker", START, LEASE))).claim
    assert claim is not None
    other = PostgresDatabase(postgres.url(SHARED))
    async with asyncio.timeout(PATIENCE_S):
        async with other.while_holding(text(f"SELECT pg_advisory_xact_lock({LOCK_SPACE}, 1) IS NOT NULL")):
            saving = asyncio.create_task(store.ledger.save(claim, reply_ref='["page"]'))
            while await postgres.value(WAITING, database=SHARED) == 0:
                assert not saving.done()
        await saving
    await other.close()
    stored = await store.database.write_alone(lambda connection: connection.execute(select(turn.c.reply_ref)).all())
    assert [tuple(row) for row in stored] == [('["page"]',)]


async def test_more_work_at_once_than_connections_is_all_done(store: Store) -> None:
    await asyncio.gather(*(store.ledger.accept(said("hello", conversation=f"{n % 7}")) for n in range(60)))
    taken_in = await store.database.read(lambda connection: connection.execute(select(turn.c.event_id)).all())
    assert len(set(taken_in)) == 60


@asynccontextmanager
async def open_on(server: PostgresServer) -> AsyncGenerator[Store]:
    opened = await open_store(await server.empty())
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield opened
    finally:
        await opened.close()


async def test_processes_that_store_how_far_they_read_at_once_do_not_fail(store: Store) -> None:
    times = [datetime(2026, 1, 5, 12, 0, second, tzinfo=UTC) for second in range(60)]
    await asyncio.gather(*(store.conversations.set_watermark("test", time) for time in times))
    assert await store.conversations.watermark("test") in times


async def test_a_server_that_is_killed_and_comes_back_costs_one_sentence_and_no_restart() -> None:
    with running_postgres() as server:
        async with open_on(server) as store:
            await asyncio.gather(*(store.ledger.accept(said("before", conversation=f"{n}")) for n in range(6)))
            server.kill()
            for _ in range(3):
                with pytest.raises(StoreError, match=r"could not be reached\. Check that the server is running"):
                    await store.ledger.accept(said("meanwhile"))
                with pytest.raises(StoreError, match="could not be reached"):
                    await store.conversations.threads("ann", limit=9)
            server.start()
            assert len(await store.conversations.threads("ann", limit=9)) == 6
            await answered(store, said("after", conversation="0"), "yes")


async def test_a_server_that_was_started_anew_between_two_messages_costs_nothing() -> None:
    with running_postgres() as server:
        async with open_on(server) as store:
            await asyncio.gather(*(store.ledger.accept(said("before", conversation=f"{n}")) for n in range(6)))
            server.stop()
            server.start()
            again = (store.ledger.accept(said("after", conversation=f"{n}")) for n in range(6))
            assert not any(one.duplicate for one in await asyncio.gather(*again))


async def test_a_server_that_dies_in_the_middle_of_a_transaction_leaves_nothing_of_it() -> None:
    with running_postgres() as server:
        async with open_on(server) as store:

            def half(connection: Connection) -> None:
                connection.execute(insert(meta).values(name="half", value=b""))
                server.kill()
                connection.execute(select(meta.c.name))

            with pytest.raises(StoreError, match="could not be reached"):
                await store.database.write(half)
            server.start()
            stored = await store.database.read(lambda c: c.execute(select(meta.c.name)).scalars().all())
            assert "half" not in stored
            assert "erased_key" in stored


@asynccontextmanager
async def listening(server: PostgresServer | None) -> AsyncGenerator[str]:
    """Serve a server's socket on a port; without a server, accept connections and never answer. Yields host:port."""
    async with AsyncExitStack() as stack:

        async def forward(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):
                while data := await source.read(65_536):
                    target.write(data)
            target.close()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            stack.callback(writer.close)
            if server is not None:
                inner, outer = await asyncio.open_unix_connection(server.folder / ".s.PGSQL.5432")
                stack.callback(outer.close)
                await asyncio.gather(forward(reader, outer), forward(inner, writer))

        port = (await stack.enter_async_context(await asyncio.start_server(serve, "127.0.0.1", 0))).sockets[0]
        yield f"127.0.0.1:{port.getsockname()[1]}"
        await stack.aclose()


async def test_of_several_servers_the_one_that_answers_and_accepts_writes_is_used(postgres: PostgresServer) -> None:
    """As after a failover: one server hangs, and another one is a replica."""
    with running_postgres() as replica:
        setting = "ALTER SYSTEM SET default_transaction_read_only = on"
        replica.run("psql", "-h", replica.folder, "-U", "postgres", "-c", setting, "-c", "SELECT pg_reload_conf()")
        async with (
            asyncio.timeout(PATIENCE_S),
            listening(None) as frozen,
            listening(replica) as read_only,
            listening(postgres) as primary,
        ):
            name = (await postgres.empty()).partition("@/")[2].partition("?")[0]
            user = postgres.url(name).partition("@/")[0]
            store = await open_store(f"{user}@{frozen},{read_only},{primary}/{name}")
            try:
                await answered(store, said("Hello?"), "yes")
            finally:
                await store.close()


def test_a_database_is_named_without_user_and_password() -> None:
    named = {
        "postgresql://bot:sesame@db.example:6432/cogency?sslmode=require": "cogency on db.example",
        "postgresql://bot:sesame@/cogency?host=/run/pg": "cogency on /run/pg",
        "postgresql://bot@/": "bot on this machine",
        "postgresql://bot:sesame@db1.example:6432,db2.example/cogency": "cogency on db1.example, db2.example",
    }
    for url, name in named.items():
        assert PostgresDatabase(url).where == f"PostgreSQL database {name}"


async def test_a_transaction_that_stood_still_for_too_long_may_work_when_it_is_tried_again(store: Store) -> None:
    """As in a process that was stopped in the middle of one, and goes on: what it was about is not given up."""

    def frozen(connection: Connection) -> None:
        connection.execute(text("SET LOCAL idle_in_transaction_session_timeout = '1ms'"))
        while True:
            Event().wait(0.02)
            connection.execute(text("SELECT"))

    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(StoreUnavailable, match=r"was idle|could not be reached"):
            await store.database.write(frozen)
    await store.ledger.accept(said("hello"))
