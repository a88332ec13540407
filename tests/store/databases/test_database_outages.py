"""A database that fails says so in the log once, now and then again, and when it works again; nobody else needs to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from agent.errors import StoreError, StoreUnavailable
from store.databases.database import REPEAT_S, OutageKind, OutageLog
from store.databases.sqlite import open_sqlite
from store.engine import open_store
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.new_database import new_database

FULL = StoreUnavailable("The disk is full.")


def fail(_: Connection, error: Exception) -> None:
    raise error


def nothing(_: Connection) -> None:
    pass


def something(connection: Connection) -> None:
    connection.execute(text("CREATE TABLE IF NOT EXISTS thing (name TEXT)"))
    connection.execute(text("INSERT INTO thing VALUES ('boat')"))


async def test_a_failure_is_one_line_a_minute_and_its_end_another(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    database = open_sqlite("", 1.0)
    database.outages.monotonic = clock.monotonic
    for seconds in (0.0, 1.0, 29.0, 30.0, 1.0):
        await clock.advance(seconds)
        with pytest.raises(StoreUnavailable):
            await database.write(fail, FULL)
        await database.read(nothing)  # reading goes on all the while
    await clock.advance(12.0)
    await database.write(nothing)
    await database.write_alone(nothing)
    assert caplog.messages == ["The disk is full.", "The disk is full."], "nothing was written, so nothing is known"
    for _ in range(2):
        await database.write(something)
    await database.close()
    assert caplog.messages == ["The disk is full.", "The disk is full.", "the database works again, after 73 s"]


async def test_what_is_wrong_with_one_message_is_not_the_databases_fault(caplog: pytest.LogCaptureFixture) -> None:
    database = open_sqlite("", 1.0)
    database.outages.monotonic = lambda: 0.0
    with pytest.raises(StoreError):
        await database.write(fail, StoreError("It has no name."))
    await database.write(nothing)
    await database.close()
    assert caplog.messages == []


@given(st.lists(st.tuples(st.sampled_from(OutageKind), st.booleans(), st.floats(0, 100))))
def test_lines_alternate_and_never_come_faster_than_one_a_minute(
    happened: list[tuple[OutageKind, bool, float]],
) -> None:
    outage, now, told, lines = OutageLog(), 0.0, -REPEAT_S, list[str]()
    for kind, works, later in happened:
        now += later
        if not works and outage.failed(kind, now):
            assert now - told >= REPEAT_S
            told = now
            lines.append("fails")
        elif works and outage.worked(kind, now) is not None:
            assert lines[-1] == "fails"
            lines.append("works")
    assert outage.worked(OutageKind.WRITE, now) is None or lines[-1] == "fails"


async def test_a_full_disk_stores_nothing_and_everything_again_once_there_is_space(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_store(await new_database(tmp_path / "store.db"))

    def limit(connection: Connection, pages: int) -> int:
        return int(connection.execute(text(f"PRAGMA max_page_count = {pages}")).scalar_one())

    await store.database.write(limit, 1)  # no fewer than there are
    accepted = 0

    async def fill() -> None:
        nonlocal accepted
        while accepted < 1_000:
            await store.ledger.accept(said("a question " * 100))
            accepted += 1

    with pytest.raises(StoreUnavailable, match=r"^The disk is full. Free up some space for .*store\.db\.$"):
        await fill()
    await store.database.write(limit, 2**31)
    assert not (await store.ledger.accept(said("a question"))).duplicate
    assert len(await store.conversations.history("thread", before_turn=10**6, limit=10**6)) == accepted + 1
    await store.close()
    assert len(caplog.messages) == 2


async def test_a_file_that_was_replaced_takes_nothing_until_it_is_back(tmp_path: Path) -> None:
    path, aside = tmp_path / "store.db", tmp_path / "aside.db"
    store = await open_store(f"sqlite:///{path}")
    for replacement in (b"", None):
        path.rename(aside)
        if replacement is not None:
            path.write_bytes(replacement)
        for work in (store.ledger.accept(said("lost?")), store.conversations.threads("ann", limit=1)):
            with pytest.raises(StoreUnavailable, match="was replaced or deleted while the bot was running"):
                await work
        aside.replace(path)
    assert not (await store.ledger.accept(said("found"))).duplicate
    await store.close()
