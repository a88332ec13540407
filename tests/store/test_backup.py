"""Backups, restoring them, and moving to another engine: nothing lost, nothing doubled, nothing half."""

import os
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from agent.errors import StoreError, StoreLocked, StoreMisnamed
from agent.jobs import INDEXING
from agent.memory.audience import WIDE, PersonAudience, TeamAudience, label
from agent.memory.documents import DocumentPage, DocumentQuery, NewDocument, passages_of
from agent.memory.forgetting_plans import CONNECTED, Deleted, Everything
from agent.ports.api_tokens import NewApiToken
from agent.ports.place_keys import StoredPlaceKey
from agent.ports.saved_files import FileChanges, FileSource
from bot.chat.access.connected_accounts import ConnectedAccounts
from store.backup import MADE, backup, copy, digest, look_into, new_file, restore
from store.engine import Store, open_store
from store.schema import meta, metadata
from tests.contracts.steps import answered, texts_found
from tests.examples import one_in
from tests.fakes.facts import remember
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.new_database import new_database
from tests.fakes.operators import Forget, by_operator, own
from tests.fakes.postgresql import PostgresServer
from tests.store.processes import line, pieces_in_files, running

HERS = label(PersonAudience("ann"))
LATER = START + timedelta(days=1)
TOKEN = NewApiToken("", "", "ann", PersonAudience("ann"), "test", "", frozenset(), START, None)
CHANNELS_KEY = StoredPlaceKey("slack:T1", "C1", TeamAudience("slack:T1"), "openai", b"sealed", "…wxyz", "mark", START)


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[Store]:
    store = await open_store(url, patience_s=0.05)
    try:
        yield store
    finally:
        await store.close()


async def fill(url: str) -> int:
    """What two people said, a document and a file of code, and a last turn that was forgotten: its id, which must never
    come again.
    """
    async with opened(url) as store:
        for number in range(1, 6):
            await answered(store, said(f"my boat number {number} is blue", number=number), f"Noted, {number}.")
        tea = await answered(store, said("bob likes tea", person="bob", conversation="other", number=6), "Fine.")
        made_from = (FileSource(tea.message, asked=True),)
        tea_png = FileChanges("other", "bob", "person:bob", WIDE, [("tea.png", bytes(range(256)))], sources=made_from)
        assert await store.saved_files.save(tea_png, START)
        passages = passages_of([DocumentPage("Everybody has twenty-eight days of leave a year, says the handbook.", 7)])
        await store.documents.keep(NewDocument("handbook", HERS, "test", "channel", "ann", START, passages))
        last = await answered(store, said("a secret of carol", person="carol", conversation="third", number=7), "Hush.")
        await store.forgetting.forget(Everything("carol"), START)
        return last.turn


async def new(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if kind == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        return await server.empty()
    return await new_database(folder / f"{kind}.db")


def digests(connection: Connection) -> dict[str, tuple[int, int]]:
    """Of what is kept; jobs and the index of passages are the engine's own affair."""
    kept = (table for table in metadata.sorted_tables if table.name not in {"job", "passage"})
    return {table.name: digest(connection, table) for table in kept}


async def checked(url: str, last: int) -> None:
    """Everything is found there that was said, and nothing else; and ids go on where they had been."""
    async with opened(url) as store:
        while (held := await store.jobs.claim(frozenset({INDEXING}), "worker", LATER, LEASE)) is not None:
            while await store.memories.index_more(held):
                pass
            await store.jobs.finish(held)
        assert len(await texts_found(store, "boat")) == 5
        assert await texts_found(store, "tea", person="bob") == ["bob likes tea"]
        assert await texts_found(store, "secret", person="carol") == []
        [leave] = await store.documents.search(DocumentQuery("days of leave", frozenset({HERS})))
        assert leave.passage.page == 7
        again = await store.ledger.accept(said("a secret of carol", person="carol", conversation="third", number=7))
        assert again.duplicate, "what was forgotten never comes in again"
        claim = await answered(store, said("and my kayak is red", number=90), "Noted.")
        assert claim.turn > last
        assert await store.database.read(lambda c: c.execute(select(meta).where(meta.c.name == MADE)).first()) is None


@pytest.mark.parametrize(  # `make test` goes from each to the other
    ("engine", "other"), one_in(2, ["sqlite", "postgresql"], ["postgresql", "sqlite"])
)
async def test_a_backup_of_either_engine_is_restored_on_either(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, other: str
) -> None:
    source, file = await new(engine, request, tmp_path / "source"), tmp_path / "backups" / "monday.cogency"
    last = await fill(source)
    holding = await backup(source, file, START)
    assert (holding.counts["messages"], holding.counts["people"], holding.made) == (12, 2, START)
    assert [*file.parent.iterdir()] == [file]
    assert file.stat().st_mode & 0o077 == 0
    assert await pieces_in_files(file.parent, ["secret of carol"]) == 0
    async with opened(source) as store:
        before = await store.database.read(digests)
    target = await new(other, request, tmp_path / "target")  # of PostgreSQL the same one, emptied
    restored = await restore(file, target, LATER)
    assert (restored.holding.counts, restored.again) == (holding.counts, 0)
    assert look_into(file) == holding, "a backup is not changed by restoring it"
    async with opened(target) as store:
        assert await store.database.read(digests) == before
    await checked(target, last)


async def test_a_database_is_copied_to_another_engine_and_back(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    here, server = await new("sqlite", request, tmp_path), await new("postgresql", request, tmp_path)
    last = await fill(here)
    told: list[tuple[str, int, int]] = []
    there = await copy(here, server, LATER, tell=lambda what, done, of: told.append((what, done, of)))
    back = f"sqlite:///{tmp_path / 'back' / 'cogency.db'}"
    assert (await copy(server, back, LATER)).counts == there.counts
    assert {what for what, _, _ in told} == {"copying", "comparing"}
    assert all(0 <= done <= of for what, done, of in told if what == "comparing")
    await checked(back, last)


async def test_a_backup_is_taken_while_a_bot_serves(url: str, path: Path, tmp_path: Path) -> None:
    await fill(await new_database(path))
    async with opened(url) as store:
        await answered(store, said("my tent is green", number=50), "Noted.")
        await backup(url, tmp_path / "backup", START)
        await answered(store, said("my hat is grey", number=51), "Noted.")
        with pytest.raises(StoreLocked, match="Another process is"):
            await restore(tmp_path / "backup", url, LATER, replace=True)
    await restore(tmp_path / "backup", url, LATER, replace=True)
    async with opened(url) as store:
        assert (await texts_found(store, "tent"), await texts_found(store, "hat")) == (["my tent is green"], [])


@pytest.mark.parametrize(("engine", "forget"), one_in(2, ["sqlite", "postgresql"], [own, by_operator]))
async def test_what_was_forgotten_since_a_backup_is_forgotten_again(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, forget: Forget
) -> None:
    url, file = await new(engine, request, tmp_path / "data"), tmp_path / "backup"
    await fill(url)
    async with opened(url) as store:
        await forget(store, "bob")  # what was said after that is in the backup
        await answered(store, said("bob likes tea again", person="bob", conversation="other", number=8), "Fine.")
        await remember(store.facts, "bob", "likes herring", "person:bob", START)
        await store.preferences.set("bob", "model", "herring")
        await store.preferences.set("ann", "model", "small")
        for one, other in (("ann", "ann2"), ("ann2", "ann"), ("ann", "ann3"), ("ann3", "ann")):
            await store.preferences.set(one, f"{CONNECTED} {other}", "then")
        tokens = [await store.api_tokens.add(replace(TOKEN, hash=name, name=name), 5) for name in ("lost", "kept")]
        for name in ("lost", "kept", "renewed"):
            await store.place_keys.put(replace(CHANNELS_KEY, vendor=name, mark=name))
    await backup(url, file, START)
    async with opened(url) as store:
        await store.api_tokens.revoke([token.id for token in tokens[:1] if token])
        assert await store.place_keys.drop("slack:T1", "C1", "lost")
        for name in ("renewed", "added"):
            await store.place_keys.put(replace(CHANNELS_KEY, vendor=name, mark=f"newer {name}", refused=LATER))
        keys = await store.place_keys.all(5)
        await ConnectedAccounts(store.preferences).separate("ann", "ann3")
        await answered(store, said("my hat is grey", number=51), "Noted.")
        await forget(store, "bob")
        await store.forgetting.forget(Deleted("test", "channel", frozenset({"post-2", "post-51"})), START)
    restored = await restore(file, url, LATER, replace=True)
    assert (restored.again, restored.knows) == (4, True)
    async with opened(url) as store:
        assert await texts_found(store, "tea", person="bob") == []
        assert await store.facts.readable("bob", frozenset({"person:bob"})) == []
        kept = [await store.preferences.all_of(who) for who in ("bob", "ann", "ann3")]
        assert kept == [{}, {"model": "small", f"{CONNECTED} ann2": "then"}, {}]
        assert len(await texts_found(store, "boat")) == 4
        assert (await store.ledger.accept(said("my hat is grey", number=51))).duplicate
        assert [token.definition.name for token in await store.api_tokens.all(5)] == ["kept"]
        assert await store.place_keys.all(5) == keys
        assert [key.mark for key in keys] == ["newer added", "kept", "newer renewed"]
    if engine == "sqlite":
        assert await pieces_in_files(tmp_path / "data", ["number 2 is blue", "bob likes tea", "herring"]) == 0
    assert (await restore(file, f"sqlite:///{tmp_path / 'new' / 'db'}", LATER)).knows is False


async def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(url: str, path: Path, tmp_path: Path) -> None:
    last = await fill(await new_database(path))
    file, other = tmp_path / "backup", tmp_path / "other"
    await backup(url, file, START)
    for refused, sentence in [
        (backup(url, file, START), "already exists. Choose another name, or add --replace"),
        (backup(f"sqlite:///{tmp_path / 'none.db'}", other, START), "does not exist yet"),
        (restore(other, url, LATER, replace=True), "does not exist"),
        (restore(file, url, LATER), "already contains 12 messages, 2 people"),
    ]:
        with pytest.raises(StoreError, match=sentence):
            await refused
    other.write_bytes(b"no database")
    with pytest.raises(StoreMisnamed, match="is not a backup"):
        await restore(other, url, LATER, replace=True)
    other.write_bytes(file.read_bytes()[:20_000])
    with pytest.raises(StoreError, match=r"is damaged|is no backup"):
        await restore(other, url, LATER, replace=True)
    other.write_bytes(file.read_bytes())
    with sqlite3.connect(other) as changed:
        changed.execute("UPDATE alembic_version SET version_num = 'r9999'")
    changed.close()
    with pytest.raises(
        StoreError, match=r"written by a newer version of Cogency\. Install that version, or choose another backup\.$"
    ):
        await restore(other, url, LATER, replace=True)
    await checked(url, last)
    assert {entry.name for entry in path.parent.iterdir()} <= {path.name, f"{path.name}.lock"}


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [("", "does not exist yet"), ("CREATE TABLE mine (id)", "contains another program's tables")],
)
async def test_a_file_of_another_program_is_not_backed_up(tmp_path: Path, statement: str, sentence: str) -> None:
    theirs, file = tmp_path / "theirs.db", tmp_path / "backup.db"
    theirs.touch()
    with closing(sqlite3.connect(theirs)) as connection:
        connection.executescript(statement)
    with pytest.raises(StoreError, match=sentence):
        await backup(f"sqlite:///{theirs}", file, START)
    (tmp_path / "text.db").write_text("No database at all. " * 100)
    with pytest.raises(StoreError, match=r"text\.db is not a database"):
        await backup(f"sqlite:///{tmp_path / 'text.db'}", file, START)
    assert not file.exists()


async def test_where_no_backup_can_be_written_is_one_sentence_and_stays_as_it_is(
    url: str, path: Path, tmp_path: Path
) -> None:
    last, (plain, folder, pipe) = await fill(await new_database(path)), (tmp_path / name for name in "abc")
    plain.write_text("no folder")
    folder.mkdir()
    os.mkfifo(pipe)
    for file, sentence in [
        (plain / "backup", "could not be written"),
        (tmp_path / ("x" * 300), "could not be written"),
        (folder, "is not a file"),
        (Path("/"), "is not a file"),
        (Path(), "is not a file"),
        (pipe, "is not a file"),
    ]:
        with pytest.raises(StoreError, match=sentence):
            await backup(url, file, START, replace=True)
    file = tmp_path / "backup"
    await backup(url, file, START)
    for target in (plain / "db", Path("/proc/self/fdinfo/none/db")):
        with pytest.raises(StoreError, match="could not be written"):
            await restore(file, f"sqlite:///{target}", LATER)
        with pytest.raises(StoreError, match="could not be written"):
            await copy(url, f"sqlite:///{target}", LATER)
    for unreadable, problem in (
        (tmp_path / "none" / "backup", "does not exist"),
        (plain / "backup", "does not exist"),
        (tmp_path / ("x" * 300), "could not be read"),
        (tmp_path, "is not a backup"),
        (pipe, "is not a backup"),
    ):
        with pytest.raises(StoreMisnamed, match=problem):
            await restore(unreadable, url, LATER)
    assert pipe.is_fifo()
    assert plain.read_text() == "no folder"
    await checked(url, last)


_STEPS = """
import asyncio, resource, sys
from pathlib import Path
from agent.errors import StoreError
from store.backup import backup, restore
from tests.fakes.incoming import START

def tell(what, done, of):
    if int(sys.argv[4]) < done:
        print(what, flush=True)
        sys.stdin.read()

async def main():
    if sys.argv[1] == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            await backup(sys.argv[3], Path(sys.argv[2]), START)
        except StoreError as error:
            print(error, flush=True)
        return
    await restore(Path(sys.argv[2]), sys.argv[3], START, replace=True, tell=tell)
    print("done", flush=True)

import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
asyncio.run(main())
"""


async def test_a_restore_writes_nothing_through_a_link_that_somebody_put_there(tmp_path: Path) -> None:
    url, read_by_all = await new_database(tmp_path / "a.db"), tmp_path / "read by all"
    last = await fill(url)
    await backup(url, tmp_path / "backup", LATER)
    read_by_all.touch(0o666)
    (tmp_path / ".b.db.part").symlink_to(read_by_all)
    await restore(tmp_path / "backup", f"sqlite:///{tmp_path}/b.db", LATER)
    assert read_by_all.read_bytes() == b""
    await checked(f"sqlite:///{tmp_path}/b.db", last)
    (tmp_path / "put there meanwhile").symlink_to(read_by_all)
    with pytest.raises(FileExistsError):
        new_file(tmp_path / "put there meanwhile")


@pytest.mark.parametrize(("engine", "after"), [("sqlite", 0), ("postgresql", 3), ("postgresql", 60)])
async def test_a_restore_that_is_killed_leaves_the_database_before_it(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str, after: int
) -> None:
    url, file = await new(engine, request, tmp_path / "data"), tmp_path / "backup"
    last = await fill(url)
    await backup(url, file, START)
    async with opened(url) as store:
        await answered(store, said("my hat is grey", number=51), "Noted.")
    async with running(_STEPS, "restore", str(file), url, str(after)) as process:
        assert await line(process) in {"copying", "comparing"}
    async with opened(url) as store:
        assert await texts_found(store, "hat") == ["my hat is grey"]
    await restore(file, url, LATER, replace=True)
    await checked(url, last)


async def test_a_full_disk_ends_a_backup_with_a_sentence_and_leaves_nothing(
    url: str, path: Path, tmp_path: Path
) -> None:
    last = await fill(await new_database(path))
    file = tmp_path / "backups" / "monday"
    async with running(_STEPS, "full", str(file), url, "0") as process:
        assert "Check the disk and its free space" in await line(process)
    assert [*file.parent.iterdir()] == []
    await checked(url, last)


async def test_a_digest_knows_no_order_and_every_value(url: str, path: Path) -> None:
    await fill(await new_database(path))
    async with opened(url) as store:
        before = await store.database.read(digests)
        await answered(store, replace(said("x", number=60), text="y"), "z")
        changed = {name for name, now in (await store.database.read(digests)).items() if now != before[name]}
    assert {"message", "turn"} <= changed
