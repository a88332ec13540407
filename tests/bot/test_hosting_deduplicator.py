"""An action runs once, in however many processes, and leaves no readable record."""

import asyncio

import pytest

from agent.errors import StoreError
from bot.hosting import MAX_MARKS, Deduplicator
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


async def test_the_latest_are_stored_as_hashes() -> None:
    preferences = store_in_memory().preferences
    for number in range(MAX_MARKS + 1):
        await Deduplicator(preferences).claim_once("slack:T", f"C1:{number}")
    (marks,) = (await preferences.all_of("source:slack:T")).values()
    assert len(marks.split()) == MAX_MARKS
    assert "C1" not in marks
