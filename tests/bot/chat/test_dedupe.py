"""An action runs once, in however many processes, and leaves no readable record."""

import asyncio
from pathlib import Path

import pytest

from agent.errors import StoreError
from bot.chat.dedupe import MAX_MARKS, Deduplicator, mark_of
from store.engine import open_store
from tests.fakes.new_database import new_database
from tests.fakes.store import store_in_memory


async def test_an_action_runs_once_in_any_process() -> None:
    preferences = store_in_memory().preferences
    assert await Deduplicator(preferences).claim_once("slack:T", "C1:1.1")
    assert not await Deduplicator(preferences).claim_once("slack:T", "C1:1.1")
    assert await Deduplicator(preferences).claim_once("slack:T", "C1:1.2")
    assert await Deduplicator(preferences).claim_once("slack:OTHER", "C1:1.1")


async def test_one_of_many_concurrent_processes_runs_it() -> None:
    preferences = store_in_memory().preferences
    assert (
        sum(await asyncio.gather(*(Deduplicator(preferences).claim_once("slack:T", "C1:1.1") for _ in range(9)))) == 1
    )


async def test_a_failed_action_runs_the_next_time() -> None:
    preferences = store_in_memory().preferences

    async def fail() -> None:
        raise StoreError("The disk is full.")

    with pytest.raises(StoreError, match="full"):
        await Deduplicator(preferences).run_once("slack:T", "C1:1.1", fail)
    assert await Deduplicator(preferences).claim_once("slack:T", "C1:1.1")


async def test_the_latest_of_each_part_are_stored_as_hashes() -> None:
    preferences = store_in_memory().preferences
    in_one_part = [what for what in map("C1:{}".format, range(20_000)) if mark_of(what).startswith("00")][
        : MAX_MARKS + 1
    ]
    for what in in_one_part:
        assert await Deduplicator(preferences).claim_once("slack:T", what)
    (marks,) = (await preferences.all_of("source:slack:T:00")).values()
    assert len(marks.split()) == MAX_MARKS
    assert "C1" not in marks
    assert not await Deduplicator(preferences).claim_once("slack:T", in_one_part[-1])


@pytest.mark.slow
@pytest.mark.parametrize("number", [40, 300])
async def test_many_actions_at_the_same_moment_all_run_once_in_two_processes(tmp_path: Path, number: int) -> None:
    store = await open_store(await new_database(tmp_path / "bot.db"))
    try:
        processes = Deduplicator(store.preferences), Deduplicator(store.preferences)
        claims = [one.claim_once("slack:T", f"C1:{action}") for action in range(number) for one in processes]
        assert sum(await asyncio.gather(*claims)) == number
    finally:
        await store.close()
