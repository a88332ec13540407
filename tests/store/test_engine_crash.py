"""A process that is killed (SIGKILL) at any step loses nothing and doubles nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from agent.events import Outcome
from agent.progress import decode
from agent.turn_records import Claiming, Closing
from store.engine import Store, open_store
from store.message_tables import message
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PostgresServer
from tests.store.processes import line, running

WORKER = """
import asyncio, sys
from agent.events import Outcome
from agent.turn_records import Claiming, Closing
from store.engine import open_store
from tests.fakes.incoming import LEASE, START, said

async def main():
    store = await open_store(sys.argv[1])
    await store.ledger.accept(said("hello", number=1))
    if sys.argv[2] != "accepted":
        claim = await store.ledger.claim(Claiming("worker", START, LEASE))
        if sys.argv[2] != "claimed":
            await store.ledger.save(claim, progress="step 1", reply_ref="page 1")
        if sys.argv[2] == "finished":
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "hi"), START)
    print(sys.argv[2], flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@asynccontextmanager
async def killed_when(step: str, url: str) -> AsyncGenerator[Store]:
    """The store as it is found after a process was killed at this step."""
    async with running(WORKER, url, step) as worker:
        assert await line(worker) == step
    store = await open_store(url)
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("step", "released", "progress", "page", "attempt"),
    [("accepted", 0, "", "", 1), ("claimed", 1, "", "", 2), ("saved", 1, "step 1", "page 1", 1)],
)
async def test_an_interrupted_turn_goes_on_from_its_last_saved_step(
    url: str, step: str, released: int, progress: str, page: str, attempt: int
) -> None:
    async with killed_when(step, url) as store:
        assert (await store.ledger.accept(said("hello", number=1))).duplicate
        assert await store.ledger.release_all() == released
        claim = await claimed(store, "after")
        assert (claim.progress, claim.reply_ref, claim.attempts) == (progress, page, attempt)
        await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "hi"), START)
        assert await store.ledger.claim(Claiming("after", START, LEASE)) is None
        history = await store.conversations.history("thread", before_turn=claim.turn + 1, limit=9)
        assert [m.text for m in history] == ["hello", "hi"]


async def test_a_finished_turn_is_not_run_again(url: str) -> None:
    async with killed_when("finished", url) as store:
        assert await store.ledger.release_all() == 0
        assert await store.ledger.claim(Claiming("after", START, LEASE)) is None
        stored = select(func.count()).select_from(message)
        assert await store.database.read(lambda c: c.execute(stored).scalar_one()) == 2


async def test_without_a_restart_a_lease_that_ran_out_is_taken_over(url: str) -> None:
    async with killed_when("saved", url) as store:
        assert await store.ledger.claim(Claiming("after", START, LEASE)) is None
        claim = await store.ledger.claim(Claiming("after", START + LEASE, LEASE))
        assert claim is not None
        assert claim.progress == "step 1"


@pytest.mark.parametrize("step", ["claimed", "saved"])
async def test_on_a_server_another_process_takes_over_when_the_lease_has_run_out(
    postgres: PostgresServer, step: str
) -> None:
    async with killed_when(step, await postgres.empty()) as store:
        assert (await store.ledger.accept(said("hello", number=1))).duplicate
        assert await store.ledger.release_all() == 0
        assert await store.ledger.claim(Claiming("after", START, LEASE)) is None
        claim = await claimed(store, "after", now=START + LEASE)
        assert (claim.progress, claim.attempts) == (("step 1", 1) if step == "saved" else ("", 2))


SCHEDULER = """
import asyncio, sys
from dataclasses import replace
from agent.schedules.definitions import NewSchedule, ScheduleKind, Timing
from store.engine import open_store
from tests.fakes.incoming import START, dm, said

async def main():
    store = await open_store(sys.argv[1])
    timing, words = Timing("UTC", rule="0 9 * * *"), "water the plants"
    made = NewSchedule("ann", "test", "channel", dm("ann"), ScheduleKind.REMINDER, words, timing, START)
    await store.schedules.add(made)
    if sys.argv[2] != "kept":
        (due,) = await store.schedules.due(frozenset({"test"}), START + TO_NINE, 1)
        if sys.argv[2] != "taken":
            await store.schedules.begin(due, said(words), START + TO_NINE, reply=words)
    print(sys.argv[2], flush=True)
    sys.stdin.read()

from datetime import timedelta
TO_NINE = timedelta(days=1)
asyncio.run(main())
"""


@pytest.mark.parametrize("step", ["kept", "taken", "begun"])
async def test_whatever_step_a_scheduler_is_killed_at_the_occurrence_comes_once(url: str, step: str) -> None:
    async with running(SCHEDULER, url, step) as worker:
        assert await line(worker) == step
    store, nine = await open_store(url), START + timedelta(days=1)
    try:
        for now in (nine, nine + LEASE, nine + 2 * LEASE):
            for due in await store.schedules.due(frozenset({"test"}), now, 9):
                await store.schedules.begin(due, said("water the plants"), now, reply="water the plants")
        claim = await claimed(store, now=nine + 2 * LEASE)
        assert decode(claim.progress).reply == "water the plants"
        assert (await store.ledger.load()).waiting == 0
        (one,) = await store.schedules.of_person("ann")
        assert (one.last, one.next) == (nine, nine + timedelta(days=1))
    finally:
        await store.close()
