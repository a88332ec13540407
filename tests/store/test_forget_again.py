"""The forgetting log: what was forgotten is forgotten again in a database that was restored to an earlier time."""

import shutil
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from agent.errors import StoreError
from agent.events import Outcome
from agent.memory.forgetting_plans import AboutTopic, Deleted, EntriesPlan, Everything, OneReply
from agent.turn_records import Closing
from store.engine import Store, open_store
from store.erased_ids import erased
from store.forget_again import forget_logged, look_at_log, with_forgetting_log
from store.forgetting.log import ForgettingLog
from tests.contracts.steps import answered, claimed, texts_found
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database
from tests.store.processes import pieces_in_files

LATER = START + timedelta(days=1)
MINE = "person:ann"


@asynccontextmanager
async def opened(url: str, log: Path | None) -> AsyncGenerator[Store]:
    store = await open_store(url)
    try:
        yield await with_forgetting_log(store, log, LATER)
    finally:
        await store.close()


async def fill(store: Store) -> int:
    """Messages of two people; returns the turn of a reply."""
    for number in range(1, 5):
        await answered(store, said(f"my boat number {number} is blue", number=number), f"Noted {number}.")
    await store.ledger.accept(said("what is a sloop", number=5))
    reply = await claimed(store)
    await store.ledger.finish(reply, Closing(Outcome.ANSWERED, "A sloop has one mast.", pages=("page",)), START)
    await answered(store, said("bob likes tea", person="bob", conversation="other", number=6), "Fine.")
    return reply.turn


async def forget_some(store: Store, reply: int) -> None:
    await store.forgetting.forget(Deleted("test", "channel", frozenset({"post-2"})), START)
    await store.forgetting.retire(Deleted("test", "channel", frozenset({"post-3"})), START, 100)
    await store.forgetting.forget(OneReply(reply), START)
    await store.forgetting.forget(Everything("bob"), START)


async def hashes(store: Store) -> set[str]:
    return {*await store.database.read(lambda c: c.execute(select(erased.c.hash)).scalars().all())}


def logged(log: Path, key: bytes) -> set[str]:
    return {hash_ for batch in ForgettingLog(log, key).lines() for hash_ in batch}


async def key_of(store: Store) -> bytes:
    [log_key] = await store.database.read(lambda c: c.exec_driver_sql(KEY_QUERY).scalars().all())
    return log_key


KEY_QUERY = "SELECT value FROM meta WHERE name = 'erased_key'"


@pytest.mark.slow
@pytest.mark.parametrize("by_command", [True, False], ids=["by the command", "at the start"])
async def test_a_restored_copy_of_the_file_loses_what_was_forgotten_since_and_nothing_else(
    tmp_path: Path, *, by_command: bool
) -> None:
    path, log = tmp_path / "data" / "db", tmp_path / "log"
    url = await new_database(path)
    async with opened(url, log) as store:
        reply = await fill(store)
    shutil.copy(path, tmp_path / "copy")
    async with opened(url, log) as store:
        await forget_some(store, reply)
        assert logged(log, await key_of(store)) == await hashes(store) != set()
        recorded = await hashes(store)
    shutil.copy(tmp_path / "copy", path)
    assert await pieces_in_files(path.parent, ["number 2 is blue", "bob likes tea"]) == 2, "the copy brought it back"
    state = await look_at_log(url, log, LATER)
    assert state is not None
    assert state.is_ahead
    async with opened(url, None if by_command else log) as store:
        if by_command:
            assert await forget_logged(store, log, LATER) == 7
            assert await forget_logged(store, log, LATER) == 0, "it can be repeated"
        assert await hashes(store) == recorded
        assert sorted(await texts_found(store, "boat")) == ["my boat number 1 is blue", "my boat number 4 is blue"]
        assert await texts_found(store, "sloop") == ["what is a sloop"]
        assert await texts_found(store, "tea", person="bob") == []
        assert (await store.ledger.accept(said("my boat number 2 is blue", number=2))).duplicate
        await answered(store, said("bob likes cocoa", person="bob", conversation="other", number=7), "Fine.")
    erased_texts = ["number 2 is blue", "number 3 is blue", "Noted 2", "Noted 3", "has one mast", "bob likes tea"]
    assert await pieces_in_files(path.parent, erased_texts) == 0
    assert await pieces_in_files(tmp_path / "data", ["number 1 is blue"]) == 1, "the search finds what is there"
    async with opened(url, log) as store:
        assert await texts_found(store, "cocoa", person="bob") == ["bob likes cocoa"], "what was said since stays"
    state = await look_at_log(url, log, LATER)
    assert state is not None
    assert (state.is_ahead, state.missing) == (False, 0)


async def test_facts_that_were_deleted_alone_are_deleted_again(tmp_path: Path) -> None:
    path, log = tmp_path / "data" / "db", tmp_path / "log"
    url = await new_database(path)
    async with opened(url, log) as store:
        await fill(store)
        for food in ("herring", "kale", "oats", "plums", "rye"):
            await remember(store.facts, "ann", f"likes {food}", MINE, START)
        await remember(store.facts, "ann", "works on Apollo", MINE, START)
    shutil.copy(path, tmp_path / "copy")
    async with opened(url, log) as store:

        async def plan(food: str) -> EntriesPlan:
            known = await store.facts.readable("ann", frozenset({MINE}))
            return EntriesPlan("ann", facts=frozenset(fact.id for fact in known if food in fact.value))

        for food in ("herring", "oats", "plums"):
            await store.forgetting.delete_entries(await plan(food), food, LATER)
        await store.forgetting.wipe("herring")
        assert await store.forgetting.undo("ann", "plums")
        receipt = await store.forgetting.forget_entries(await plan("kale"), START)
        assert receipt.is_logged
        await store.forgetting.forget(AboutTopic("ann", "Apollo"), START)  # which ends the time to restore the oats
        assert logged(log, await key_of(store)) == await hashes(store)
    shutil.copy(tmp_path / "copy", path)
    async with opened(url, log) as store:
        known = await store.facts.readable("ann", frozenset({MINE}))
        assert sorted(fact.value for fact in known) == ["likes plums", "likes rye"]
        assert len(await texts_found(store, "boat")) == 4


@pytest.mark.slow
async def test_the_log_holds_no_words_and_no_ids(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "log"
    log.parent.mkdir()
    async with opened(await new_database(tmp_path / "db"), log) as store:
        await forget_some(store, await fill(store))
        assert (await key_of(store)) not in log.read_bytes()
    assert await pieces_in_files(log.parent, ["blue", "bob", "ann", "post-2", "channel", "test"]) == 0
    assert log.stat().st_mode & 0o077 == 0


async def test_a_log_that_cannot_be_written_is_said_in_the_receipt_and_completed_later(tmp_path: Path) -> None:
    log, url = tmp_path / "log", await new_database(tmp_path / "db")
    async with opened(url, log) as store:
        reply = await fill(store)
        log.rename(tmp_path / "away")
        log.mkdir()  # also for root, no file can be written there
        receipt = await store.forgetting.forget(Deleted("test", "channel", frozenset({"post-2"})), START)
        assert (receipt.erased["messages"], receipt.is_logged) == (2, False)
        log.rmdir()
        (tmp_path / "away").rename(log)
        receipt = await store.forgetting.forget(OneReply(reply), START)
        assert receipt.is_logged
        assert logged(log, await key_of(store)) == await hashes(store)
        log.rename(tmp_path / "away")
        log.mkdir()
        await store.forgetting.forget(Everything("bob"), START)
        log.rmdir()
        (tmp_path / "away").rename(log)
        await store.forgetting.sweep()  # a job does this soon after
        assert logged(log, await key_of(store)) == await hashes(store)


async def test_what_a_crash_left_out_is_appended_at_the_next_start(tmp_path: Path) -> None:
    log, url = tmp_path / "log", await new_database(tmp_path / "db")
    async with opened(url, log) as store:
        reply = await fill(store)
        await store.forgetting.forget(Deleted("test", "channel", frozenset({"post-2"})), START)
    async with opened(url, None) as store:  # as if each of these had been killed before the log was written
        await forget_some(store, reply)
    state = await look_at_log(url, log, LATER)
    assert state is not None
    assert state.missing > 0
    async with opened(url, log) as store:
        assert logged(log, await key_of(store)) == await hashes(store)


@pytest.mark.slow
async def test_a_log_of_another_database_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with opened(await new_database(tmp_path / "one"), log) as store:
        await forget_some(store, await fill(store))
    other = f"sqlite:///{tmp_path / 'other'}"  # with a key of its own
    for content in (log.read_bytes(), b"alias ls=ls", b"\n"):
        log.write_bytes(content)
        with pytest.raises(StoreError, match="not the forgetting log of this database"):
            async with opened(other, log):
                pass
        async with opened(other, None) as store:
            with pytest.raises(StoreError, match="not the forgetting log of this database"):
                await forget_logged(store, log, LATER)
        assert log.read_bytes() == content


async def test_a_log_that_cannot_be_opened_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    url = await new_database(tmp_path / "db")
    with pytest.raises(StoreError, match="Check COGENCY_FORGETTING_LOG"):
        async with opened(url, tmp_path / "none" / "log"):
            pass


@pytest.mark.slow
async def test_a_line_that_was_cut_anywhere_is_skipped_and_the_next_one_is_read(tmp_path: Path) -> None:
    one, two, log = "message:" + "a" * 64, "b" * 64, tmp_path / "log"
    async with opened(await new_database(tmp_path / "db"), log) as store:
        database, key = store.database, await key_of(store)
        head = log.read_bytes()
        assert await ForgettingLog(log, key).record(database, [one], START)
        whole = log.read_bytes()
        for length in range(len(head), len(whole) + 1):
            log.write_bytes(whole[:length])
            assert await ForgettingLog(log, key).record(database, [two], START)
            is_whole = length >= len(whole) - 1  # without its end of line, a line is whole, too
            assert logged(log, key) == ({one, two} if is_whole else {two})
