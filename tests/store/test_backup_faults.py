"""Backups and restores that are killed, that find a full disk, or that others write beside: nothing acknowledged before
is lost, and nothing half-restored is served.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from agent.events import Outcome
from agent.turn_records import Claiming, Closing
from store.backup import backup, look_into, restore
from store.engine import Store
from tests.contracts.steps import answered, texts_found
from tests.fakes.incoming import LEASE, START, said
from tests.patience import PATIENCE_S
from tests.store.processes import line, running
from tests.store.test_backup import LATER, checked, fill, new, opened

ENGINES = ["sqlite", "postgresql"]

_STEPS = """
import asyncio, resource, signal, sys
from pathlib import Path
from agent.errors import StoreError
from store.backup import backup, restore
from tests.fakes.incoming import START

_, what, file, url, after = sys.argv

def tell(what, done, of):
    if int(after) <= done:
        print(what, flush=True)
        sys.stdin.read()

async def main():
    if what == "backup":
        await backup(url, Path(file), START, replace=True, tell=tell)
    elif what == "restore":
        await restore(Path(file), url, START, replace=True, tell=tell)
    else:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(after), int(after)))
        try:
            if what == "full backup":
                await backup(url, Path(file), START, replace=True)
            else:
                await restore(Path(file), url, START, replace=True)
        except StoreError as error:
            print(error, flush=True)

asyncio.run(main())
"""


def texts_in(file: Path) -> set[str]:
    """What people say in a backup; it has to be whole."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as opened_:
        assert opened_.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert opened_.execute("PRAGMA foreign_key_check").fetchall() == []
        unasked = "SELECT count(*) FROM message AS m WHERE author = 'bot' AND NOT EXISTS (SELECT 1 FROM message AS q"
        assert opened_.execute(f"{unasked} WHERE q.turn = m.turn AND q.author = 'person')").fetchone() == (0,)
        return {row[0] for row in opened_.execute("SELECT text FROM message WHERE author = 'person'")}


@asynccontextmanager
async def load(store: Store) -> AsyncGenerator[list[str]]:
    """Four people write, and a worker answers, as fast as the database takes it; what was acknowledged to them."""
    acknowledged = list[str]()

    async def write(person: str, first: int) -> None:
        for number in range(first, first + 100_000):
            text = f"{person} wrote number {number}"
            await store.ledger.accept(said(text, person=person, conversation=f"of {person}", number=number))
            acknowledged.append(text)

    async def work() -> None:
        while True:
            if (claim := await store.ledger.claim(Claiming("worker", START, LEASE))) is None:
                await asyncio.sleep(0)
                continue
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Noted."), START)

    people = [write(f"person{one}", 1_000_000 * one) for one in range(1, 5)]
    tasks = [asyncio.create_task(task) for task in (*people, work())]
    try:
        yield acknowledged
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize("engine", ENGINES)
async def test_backups_under_load_hold_all_that_was_acknowledged_before_and_stop_nobody(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    url = await new(engine, request, tmp_path / "data")
    async with opened(url) as store, asyncio.timeout(PATIENCE_S):
        async with load(store) as acknowledged:
            number, meanwhile = 0, 0
            while number < 3 or not meanwhile:  # a short one may be over before anybody's turn has come
                number += 1
                while len(acknowledged) < 40 * number:  # noqa: ASYNC110 -- others write meanwhile
                    await asyncio.sleep(0.01)
                before = {*acknowledged}
                await backup(url, tmp_path / f"{number}", START)
                meanwhile += len(acknowledged) - len(before)
                assert before <= texts_in(tmp_path / f"{number}")
        everything = {*acknowledged}
    restored = f"sqlite:///{tmp_path}/restored/db"
    await backup(url, tmp_path / "last", START)
    await restore(tmp_path / "last", restored, LATER)
    assert everything <= texts_in(tmp_path / "last") == texts_in(tmp_path / "restored" / "db")


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_backup_that_is_killed_leaves_the_one_before_it_and_the_bot_goes_on(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    url, file = await new(engine, request, tmp_path / "data"), tmp_path / "backups" / "nightly"
    last = await fill(url)
    before = await backup(url, file, START)
    async with opened(url) as store:
        await answered(store, said("my hat is grey", number=51), "Noted.")
        async with running(_STEPS, "backup", str(file), url, "0") as process:
            assert await line(process) == "copying"
        assert look_into(file) == before
        assert await texts_found(store, "hat") == ["my hat is grey"]
        await backup(url, file, LATER, replace=True)
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    assert "my hat is grey" in texts_in(file)
    await checked(url, last)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bytes_", [20_000, 200_000])
async def test_a_full_disk_in_a_backup_leaves_the_one_before_it(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, bytes_: int
) -> None:
    url, file = await new(engine, request, tmp_path / "data"), tmp_path / "backups" / "nightly"
    last = await fill(url)
    before = await backup(url, file, START)
    async with running(_STEPS, "full backup", str(file), url, str(bytes_)) as process:
        assert "disk" in await line(process)
    assert look_into(file) == before
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]
    await checked(url, last)


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_full_disk_in_a_restore_leaves_the_database_before_it(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    url, file = await new(engine, request, tmp_path / "data"), tmp_path / "backup"
    last = await fill(url)
    await backup(url, file, START)
    async with opened(url) as store:
        await answered(store, said("my hat is grey", number=51), "Noted.")
    async with running(_STEPS, "full restore", str(file), url, "100000") as process:
        assert "disk" in await line(process)
    async with opened(url) as store:
        assert await texts_found(store, "hat") == ["my hat is grey"]
    await restore(file, url, LATER, replace=True)
    await checked(url, last)
