"""Transactions: whole or not at all, one writer, readers beside it, errors as sentences."""

import asyncio
import gc
import sqlite3
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, text
from sqlalchemy.exc import OperationalError, StatementError

from agent.errors import StoreError
from store.databases.sqlite import open_sqlite, store_error
from store.engine import Store, open_store
from store.erased_ids import erased
from store.preferences import chosen
from store.schema import meta
from tests.fakes.incoming import said
from tests.fakes.new_database import new_database
from tests.patience import PATIENCE_S


def count(connection: Connection) -> None:
    """One step of a read-modify-write, where lost updates would show."""
    value = connection.execute(select(meta.c.value).where(meta.c.name == "count")).scalar_one()
    connection.execute(
        text("UPDATE meta SET value = :value WHERE name = 'count'"), {"value": str(int(value) + 1).encode()}
    )


async def counted(store: Store) -> int:
    return int(
        await store.database.read(lambda c: c.execute(select(meta.c.value).where(meta.c.name == "count")).scalar_one())
    )


async def test_no_concurrent_update_is_lost(store: Store) -> None:
    await store.database.write(lambda c: c.execute(insert(meta).values(name="count", value=b"0")))
    await asyncio.gather(*(store.database.write(count) for _ in range(100)))
    assert await counted(store) == 100


async def test_a_hundred_messages_at_once_are_all_taken_in(store: Store) -> None:
    accepted = await asyncio.gather(*(store.ledger.accept(said("hello", conversation=f"{n % 7}")) for n in range(100)))
    assert len({one.turn for one in accepted}) == 100


async def test_work_that_fails_leaves_nothing_behind(store: Store) -> None:
    def half(connection: Connection) -> None:
        connection.execute(insert(meta).values(name="half", value=b""))
        raise KeyError

    with pytest.raises(KeyError):
        await store.database.write(half)
    stored = await store.database.read(lambda c: c.execute(select(meta.c.name)).scalars().all())
    assert "half" not in stored


async def test_what_fails_after_its_caller_was_cancelled_is_not_logged_as_forgotten() -> None:
    began, go_on = threading.Event(), threading.Event()

    def fail(_: Connection) -> None:
        began.set()
        assert go_on.wait(PATIENCE_S)
        raise KeyError

    unheard: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: unheard.append(context))
    database = open_sqlite("", 1.0)
    failing = asyncio.create_task(database.write(fail))
    await asyncio.to_thread(began.wait, PATIENCE_S)
    failing.cancel()
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait({failing})
    assert failing.cancelled()
    gc.collect()
    await database.close()
    assert unheard == []


async def test_a_cancelled_write_is_whole_and_the_next_one_works(store: Store) -> None:
    tasks = [asyncio.create_task(store.ledger.accept(said("hello", number=n))) for n in range(900_000, 900_010)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    accepted = [await store.ledger.accept(said("hello", number=n)) for n in range(900_000, 900_010)]
    assert len({one.turn for one in accepted}) == 10
    questions = await store.conversations.questions("ann", limit=99)
    assert len(questions) == 10


async def test_every_connection_overwrites_what_it_deletes_and_checks_its_references(store: Store) -> None:
    def settings(connection: Connection) -> tuple[object, ...]:
        names = ("secure_delete", "foreign_keys", "journal_mode", "temp_store")
        return tuple(connection.execute(text(f"PRAGMA {name}")).scalar_one() for name in names)

    several = await asyncio.gather(*(store.database.read(settings) for _ in range(4)), store.database.write(settings))
    assert set(several) == {(1, 1, "wal", 2)}


async def test_times_come_back_as_they_went_in_whatever_their_offset(store: Store) -> None:
    madrid = datetime(2026, 1, 5, 10, 0, 0, 123456, tzinfo=timezone(timedelta(hours=1)))
    await store.database.write(lambda c: c.execute(insert(erased).values(hash="x", time=madrid)))
    stored = await store.database.read(lambda c: c.execute(select(erased.c.time)).scalar_one())
    assert stored == madrid
    assert stored.tzinfo is UTC


async def test_a_time_without_a_zone_is_refused(store: Store) -> None:
    naive = datetime(2026, 1, 5)  # noqa: DTZ001  (that is the point)
    with pytest.raises(StatementError, match="without a time zone"):
        await store.database.write(lambda c: c.execute(insert(erased).values(hash="x", time=naive)))


async def test_a_failing_statement_becomes_one_sentence_without_anybodys_words(store: Store) -> None:
    def again(connection: Connection) -> None:
        connection.execute(insert(meta), [{"name": "my secret", "value": b""}] * 2)

    with pytest.raises(StoreError) as raised:
        await store.database.write(again)
    assert "refused an operation" in str(raised.value)
    assert "my secret" not in f"{raised.value} {raised.value.__cause__}"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("SQLITE_FULL", "The disk is full"),
        ("SQLITE_READONLY_DIRECTORY", "is read-only"),
        ("SQLITE_CANTOPEN", "could not be opened"),
        ("SQLITE_NOTADB", "is not a database"),
        ("SQLITE_CORRUPT_VTAB", "is damaged"),
        ("SQLITE_BUSY_SNAPSHOT", "Another program is writing"),
        ("SQLITE_IOERR_WRITE", "could not be read or written"),
        ("SQLITE_MISUSE", "refused an operation"),
    ],
)
def test_each_error_of_sqlite_is_a_sentence_that_says_what_to_do(name: str, sentence: str) -> None:
    original = sqlite3.OperationalError("original")
    original.sqlite_errorname = name
    error = store_error(OperationalError("", {}, original), Path("/data/store.db"))
    assert sentence in str(error)
    assert "/data/store.db" in str(error)


async def test_a_few_rows_are_read_while_other_threads_are_busy_and_see_what_is_committed(tmp_path: Path) -> None:
    store = await open_store(await new_database(tmp_path / "bot.db"))
    begun, go_on = threading.Event(), threading.Event()

    def choose(connection: Connection) -> None:
        connection.execute(insert(meta).values(name="chosen", value=b""))
        begun.set()
        assert go_on.wait(PATIENCE_S)

    def names(connection: Connection) -> set[str]:
        return set(connection.execute(select(meta.c.name)).scalars())

    writing = asyncio.create_task(store.database.write(choose))
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    assert "chosen" not in await store.database.read_few(names)
    go_on.set()
    await writing
    assert "chosen" in await store.database.read_few(names)
    await store.close()
    with pytest.raises(StoreError):
        await store.database.read_few(names)


async def test_a_few_rows_of_a_file_that_is_locked_are_waited_for_without_stopping_the_loop(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    store = await open_store(f"sqlite:///{path}")
    await store.preferences.set("ann", "model", "small")
    await store.close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    database = open_sqlite(f"/{path}", PATIENCE_S)
    reading = asyncio.create_task(database.read_few(chosen, "ann"))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not reading.done()
    other.close()
    assert await reading == {"model": "small"}
    await database.close()


async def test_a_full_disk_is_one_sentence_and_loses_nothing(store: Store) -> None:
    await store.ledger.accept(said("before"))

    def fill(connection: Connection) -> None:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count = {pages + 3}"))
        connection.execute(insert(meta).values(name="large", value=b"x" * 100_000))

    with pytest.raises(StoreError, match=r"The disk is full\. Free up some space"):
        await store.database.write(fill)
    assert await store.conversations.questions("ann", limit=9) == ["before"]
