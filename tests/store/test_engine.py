"""Opening the store: one process at a time, one version, one sentence when something is wrong."""

import asyncio
import logging
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from sqlalchemy import select

from agent.errors import SettingsError, StoreError, StoreLocked
from agent.machine import sqlite_path
from agent.recall_query import RecallQuery
from store.databases.sqlite import is_anybodys, unwritable
from store.engine import ERASED_KEY, open_store, too_old
from store.erased_ids import ErasedIds
from store.schema import meta
from tests.contracts.steps import answered
from tests.fakes.incoming import said
from tests.store.processes import line, output, running


async def test_a_missing_folder_and_file_are_created_for_the_owner_alone(url: str, path: Path) -> None:
    await (await open_store(url)).close()
    assert (_rights(path), _rights(path.parent)) == (0o600, 0o700)


async def test_a_file_with_wider_rights_and_its_logs_are_closed_to_others(url: str, path: Path) -> None:
    store = await open_store(url)
    await answered(store, said("my boat is blue"), "noted")
    files = [path, Path(f"{path}-wal"), Path(f"{path}-shm")]
    kept = [file.read_bytes() for file in files]
    await store.close()
    for file, content in zip(files, kept, strict=True):  # as a crash leaves them, made under a wide umask
        file.write_bytes(content)
        file.chmod(0o644)
    again = await open_store(url)
    assert [_rights(file) for file in files] == [0o600] * 3
    await again.close()


@pytest.mark.parametrize(
    ("mode", "owner", "user", "refused"),
    [
        (0o666, 1001, 1000, True),
        (0o644, 1001, 1000, True),
        (0o602, 1001, 1000, True),
        (0o660, 1001, 1000, False),
        (0o666, 1000, 1000, False),
        (0o666, 0, 1000, False),
        (0o666, 1001, 0, False),
    ],
)
def test_a_file_that_somebody_else_holds_open_for_everybody_is_no_database_of_ours(
    mode: int, owner: int, user: int, *, refused: bool
) -> None:
    assert is_anybodys(os.stat_result((mode, 0, 0, 1, owner, 0, 0, 0, 0, 0)), user) is refused


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may act as two users")
def test_words_are_written_to_no_file_that_somebody_else_has_laid_out() -> None:
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # others may not enter pytest's
    try:
        folder.chmod(0o1777)
        laid_out = folder / "cogency.db"
        laid_out.touch()
        laid_out.chmod(0o666)
        os.chown(laid_out, 1001, 1001)
        os.seteuid(1000)
        try:
            with pytest.raises(StoreError, match="belongs to another user"):
                asyncio.run(open_store(f"sqlite:///{laid_out}"))
            assert "belongs to another user" in (unwritable(laid_out) or "")
        finally:
            os.seteuid(0)
        assert laid_out.stat().st_size == 0
    finally:
        shutil.rmtree(folder)


def _rights(path: Path) -> int:
    return path.stat().st_mode & 0o777


async def test_what_was_stored_is_there_after_opening_again(url: str) -> None:
    first = await open_store(url)
    await answered(first, said("my boat is blue"), "noted")
    await first.close()
    again = await open_store(url)
    hits = await again.memories.search(RecallQuery("ann", "boat", frozenset({"person:ann"}), ""))
    await again.close()
    assert [hit.message.text for hit in hits] == ["my boat is blue"]


async def test_a_second_opening_is_refused_at_once_and_allowed_after_closing(url: str) -> None:
    first = await open_store(url)
    with pytest.raises(StoreLocked, match=r"Another process is using .*store\.db"):
        await open_store(url)
    await first.close()
    await (await open_store(url)).close()


async def test_a_closed_store_does_not_open_the_file_again(url: str) -> None:
    closed = await open_store(url)
    await closed.close()
    with pytest.raises(StoreError, match="The store is closed"):
        await closed.ledger.accept(said("too late"))
    with pytest.raises(StoreError, match="The store is closed"):
        await closed.conversations.threads("ann", limit=9)


async def test_the_key_of_the_erased_ids_is_made_once_and_never_shown(url: str) -> None:
    keys = iter([b"first key", b"second key"])
    for _ in range(2):
        store = await open_store(url, key=lambda: next(keys))
        stored = await store.database.read(
            lambda c: c.execute(select(meta.c.value).where(meta.c.name == ERASED_KEY)).scalars().all()
        )
        assert stored == [b"first key"]
        assert "first key" not in repr(ErasedIds(b"first key"))
        await store.close()


HOLDER = """
import asyncio, sys
from store.engine import open_store
async def main():
    store = await open_store(sys.argv[1])
    print("open", flush=True)
    sys.stdin.read()
    await store.close()
asyncio.run(main())
"""


async def test_another_process_is_refused_until_this_one_is_killed(url: str) -> None:
    async with running(HOLDER, url) as holder:
        assert await line(holder) == "open"
        with pytest.raises(StoreLocked):
            await open_store(url)
    await (await open_store(url)).close()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("mysql://host/db", "mysql databases are not supported"),
        ("not a url", "cannot be read"),
        ("", "cannot be read"),
        ("sqlite://host/x.db", "cannot be read"),
    ],
)
async def test_another_kind_of_database_is_refused(url: str, sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence):
        await open_store(url)


@pytest.mark.parametrize(
    ("rest", "path"),
    [
        ("", None),
        ("/:memory:", None),
        ("//var/lib/a b%20c?.db", Path("/var/lib/a b%20c?.db")),
        ("/~/x.db", Path.home() / "x.db"),
        ("/x.db", Path.cwd() / "x.db"),
    ],
)
def test_the_file_that_a_url_names(rest: str, path: Path | None) -> None:
    assert sqlite_path(rest) == path


def test_a_home_folder_of_nobody_is_told() -> None:
    with pytest.raises(SettingsError, match="a user who does not exist"):
        sqlite_path("/~nobody-of-that-name/x.db")


async def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear database, " * 100)
    with pytest.raises(StoreError, match=r"is not a database\. Move that file away"):
        await open_store(f"sqlite:///{letter}")
    assert letter.read_text() == "Dear database, " * 100


async def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE invoices (id INTEGER)")
    connection.close()
    with pytest.raises(StoreError, match="contains another program's tables"):
        await open_store(f"sqlite:///{other}")


async def test_a_database_of_a_newer_version_is_left_alone(url: str, path: Path) -> None:
    await (await open_store(url)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'r9999'")
    connection.close()
    with pytest.raises(StoreError, match="was written by a newer version of Cogency"):
        await open_store(url)


async def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "store.db", Path("/proc/no/such/store.db"), tmp_path):
        with pytest.raises(StoreError, match="could not be opened"):
            await open_store(f"sqlite:///{place}")


async def test_a_folder_without_the_right_to_write_is_one_sentence(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(0o500)
    if os.geteuid() == 0:
        locked = Path("/proc")  # root may write everywhere else
    with pytest.raises(StoreError, match="can create files in its folder"):
        await open_store(f"sqlite:///{locked}/store.db")


OPENER = """
import asyncio, sys
from store.engine import open_store
async def main():
    await (await open_store(sys.argv[1])).close()
asyncio.run(main())
print("alembic" in sys.modules)
"""


async def test_a_database_at_the_newest_version_opens_without_alembic(url: str) -> None:
    assert [await output(OPENER, url) for _ in range(2)] == ["True\n", "False\n"]


async def test_new_databases_can_be_opened_at_the_same_time(tmp_path: Path) -> None:
    opened = await asyncio.gather(*(open_store(f"sqlite:///{tmp_path}/{n}.db") for n in range(4)))
    for number, store in enumerate(opened):
        assert not (await store.ledger.accept(said(f"hello {number}"))).duplicate
        await store.close()


async def test_no_word_reaches_a_log_even_when_everything_is_logged(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        store = await open_store(url)
        await answered(store, said("a quince marmalade"), "noted")
        await store.close()
    assert "quince" not in caplog.text


def test_a_server_that_cannot_compare_vectors_is_refused_with_the_version_that_can() -> None:
    assert too_old((13, 22), "The database at db.example") == (
        "The database at db.example is PostgreSQL 13. Use version 14 or later."
    )
    assert too_old((14, 0), "The database at db.example") is None
    assert too_old(None, "The database at db.example") is None


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only Linux has /proc")
def test_a_database_that_nobody_can_create_has_the_true_reason(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for path, reason in [
        (Path("/proc/cogency/bot.db"), "files cannot be created in /proc"),
        (file / "bot.db", f"{file} is not a folder"),
        (tmp_path, "it is not a file"),
    ]:
        assert f"({reason})" in (unwritable(path) or "")
    with pytest.raises(StoreError, match=r"\(files cannot be created in /proc\)"):
        asyncio.run(open_store("sqlite:////proc/cogency/bot.db"))
    assert unwritable(tmp_path / "a" / "bot.db") is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
def test_a_device_is_no_full_disk() -> None:
    with pytest.raises(StoreError, match=r"\(it is not a file\)"):
        asyncio.run(open_store("sqlite:////dev/full"))
    assert not Path("/dev/full.lock").exists()
