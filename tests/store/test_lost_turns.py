"""A failover brings turns back in an earlier state: no process claims them until those that know better have repaired.

Real PostgreSQL, put back to an earlier state below the stores of two processes.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Literal

import pytest

from agent.errors import LeaseLost
from agent.events import Outcome
from agent.ports.recent_writes import LostWrites
from agent.shown_replies import DELETE_REPLY, ShownPage
from agent.turn_records import Claim, Claiming, Closing
from store.databases.postgresql import connect
from store.engine import Store, open_store
from tests.contracts.steps import claimed
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PostgresServer
from tests.patience import PATIENCE_S

LATER = START + 2 * LEASE
ANSWER = Closing(Outcome.ANSWERED, "The red one.", pages=("page-1",))


@dataclass
class Both:
    """Two processes on one database."""

    first: Store
    second: Store
    url: str


@asynccontextmanager
async def both(postgres: PostgresServer) -> AsyncGenerator[Both]:
    async with postgres.migrated() as url:
        first, second = await open_store(url), await open_store(url)
        try:
            for store in (first, second):
                assert (await store.recent_writes.timeline()).is_settled
            yield Both(first, second, url)
        finally:
            await first.close()
            await second.close()


async def next_claim(store: Store, owner: str) -> Claim | None:
    return await store.ledger.claim(Claiming(owner, LATER, LEASE))


async def repaired(store: Store, others: int | None = 1) -> bool:
    """Look as `bot.recovery` does after a failover; return whether the timeline is settled then."""
    assert not (await store.recent_writes.timeline()).is_settled
    if await store.recent_writes.lost(thorough=True) is not None:
        await store.recent_writes.repair(LATER)
    assert await store.recent_writes.lost(thorough=True) is None
    return await store.recent_writes.settle(others, waits=True)


async def test_nothing_is_claimed_after_a_failover_until_every_process_has_repaired(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        await postgres.keep_replica(processes.url)
        await postgres.fail_over(processes.url)
        assert await next_claim(processes.first, "a") is None
        assert await next_claim(processes.second, "b") is None
        assert not await repaired(processes.first)
        assert not await repaired(processes.first), "a process counts once"
        accepted = await processes.second.ledger.accept(said("Which sail?"), claiming=Claiming("b", LATER, LEASE))
        assert accepted.claim is None
        assert await repaired(processes.second)
        assert (await processes.first.recent_writes.timeline()).is_settled
        assert await next_claim(processes.first, "a") is not None


async def test_a_process_that_does_not_know_the_others_waits_for_them_but_not_forever(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await postgres.keep_replica(processes.url)
        await postgres.fail_over(processes.url)
        assert not await repaired(processes.second, others=None)
        assert not await repaired(processes.first), "the other one was not counted"
        assert await processes.second.recent_writes.settle(None, waits=False)
        assert (await processes.first.recent_writes.timeline()).is_settled


async def test_a_turn_that_was_answered_is_not_answered_again(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        claim = await claimed(processes.first, "a")
        await processes.first.ledger.accept(said("And which sail?"))
        [joined] = await processes.first.ledger.waiting(claim)
        await postgres.keep_replica(processes.url)
        await processes.first.ledger.finish(claim, replace(ANSWER, joined=(joined,)), START)
        await postgres.fail_over(processes.url)
        assert await processes.first.recent_writes.lost() is None, "both messages are there"
        assert await processes.first.recent_writes.lost(thorough=True) == LostWrites(START, 0, 0, turns=2)
        await repaired(processes.first)
        assert await repaired(processes.second)
        assert await next_claim(processes.second, "b") is None
        assert await processes.second.ledger.pages(claim.turn) == ("page-1",)


async def test_a_message_that_comes_again_to_another_process_is_not_answered_again(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await postgres.keep_replica(processes.url)
        asked = said("Which boat?")
        await processes.first.ledger.accept(asked)
        await processes.first.ledger.finish(await claimed(processes.first, "a"), ANSWER, START)
        await postgres.fail_over(processes.url)
        assert not (await processes.second.ledger.accept(asked)).duplicate
        await repaired(processes.first)
        assert await repaired(processes.second)
        assert await next_claim(processes.second, "b") is None


async def test_a_message_that_comes_again_as_another_event_is_not_answered_again(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await postgres.keep_replica(processes.url)
        asked, of_other = said("Which boat?"), said("Which sail?", conversation="elsewhere")
        for message in (asked, of_other):
            await processes.first.ledger.accept(message)
            await processes.first.ledger.finish(await claimed(processes.first, "a"), ANSWER, START)
        await postgres.fail_over(processes.url)
        again = [replace(message, event_id=f"history {message.message_id}") for message in (asked, of_other)]
        assert not (await processes.second.ledger.accept(again[0])).duplicate
        await repaired(processes.first)
        assert await repaired(processes.second)
        assert await next_claim(processes.second, "b") is None
        assert (await processes.second.ledger.accept(again[1])).duplicate
        assert await processes.first.recent_writes.delete_unfinished(LATER) == 0


async def test_a_message_that_joined_is_not_answered_again_whoever_took_it_in(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        claim = await claimed(processes.first, "a")
        await processes.second.ledger.accept(said("And which sail?"))
        await postgres.keep_replica(processes.url)
        [joined] = await processes.first.ledger.waiting(claim)
        await processes.first.ledger.finish(claim, replace(ANSWER, joined=(joined,)), START)
        await postgres.fail_over(processes.url)
        await repaired(processes.first)
        assert await repaired(processes.second)
        assert await next_claim(processes.second, "b") is None


async def test_a_message_that_was_edited_while_it_joined_is_still_answered(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        claim, edited = await claimed(processes.first, "a"), said("And which sail?")
        await processes.first.ledger.accept(edited)
        [joined] = await processes.first.ledger.waiting(claim)
        await processes.first.ledger.amend("test", "channel", edited.message_id, "And which mast?")
        await postgres.keep_replica(processes.url)
        await processes.first.ledger.finish(claim, replace(ANSWER, joined=(joined,)), START)
        await postgres.fail_over(processes.url)
        await repaired(processes.first)
        assert await repaired(processes.second)
        again = await next_claim(processes.second, "b")
        assert again is not None
        assert again.incoming.text == "And which mast?"


async def lose_second_claim(postgres: PostgresServer, processes: Both) -> None:
    """The first process loses two claims of a turn, and the page that it has shown under the second."""
    await processes.first.ledger.accept(said("Which boat?"))
    await postgres.keep_replica(processes.url)
    await processes.first.ledger.release(await claimed(processes.first, "a"))
    await processes.first.ledger.save(await claimed(processes.first, "a"), reply_ref=json.dumps(["page-1"]))
    await postgres.fail_over(processes.url)


async def test_a_turn_that_another_process_runs_by_now_is_not_taken_from_it(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await lose_second_claim(postgres, processes)
        await processes.second.recent_writes.settle(None, waits=False)  # the first one was away for too long
        claim = await next_claim(processes.second, "b")
        assert claim is not None
        assert await processes.first.recent_writes.lost(thorough=True) is None
        await processes.second.ledger.finish(claim, ANSWER, LATER)


async def test_a_turn_that_another_process_claims_in_this_moment_is_not_taken_from_it(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await lose_second_claim(postgres, processes)
        assert await processes.first.recent_writes.lost(thorough=True) is not None
        connection = await connect(processes.url, timeout_s=PATIENCE_S, command_timeout_s=PATIENCE_S, settings={})
        try:
            async with connection.transaction():
                await connection.execute("UPDATE turn SET state = 'running', owner = 'b', epoch = 1")
                repairing = asyncio.create_task(processes.first.recent_writes.repair(LATER))
                waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                while not await postgres.value(waiting, database="postgres"):
                    assert not repairing.done()
            await repairing
            assert await connection.fetchval("SELECT owner FROM turn") == "b"
        finally:
            await connection.close()


async def test_a_turn_that_was_running_continues_on_the_pages_that_it_has(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        await postgres.keep_replica(processes.url)
        claim = await claimed(processes.first, "a")
        await processes.first.ledger.save(claim, reply_ref=json.dumps(["page-1"]))
        await postgres.fail_over(processes.url)
        await repaired(processes.first)
        assert await repaired(processes.second)
        with pytest.raises(LeaseLost):
            await processes.first.ledger.renew(claim, LATER, LEASE)
        again = await next_claim(processes.second, "b")
        assert again is not None
        assert (again.epoch, json.loads(again.reply_ref)) == (claim.epoch + 1, ["page-1"])


@pytest.mark.parametrize("is_shown", [False, True])
async def test_a_turn_whose_claim_is_not_lost_goes_on_with_the_pages_of_its_reply_alone(
    postgres: PostgresServer, is_shown: bool
) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        claim = await claimed(processes.first, "a", now=LATER)
        await postgres.keep_replica(processes.url)
        await processes.first.ledger.save(claim, reply_ref=json.dumps(["page-1"]))
        memory = processes.first.recent_writes.memory
        assert memory is not None
        if is_shown:  # its end is being stored
            memory.note_shown(claim, replace(ANSWER, pages=("page-1", "file-1")))
        await postgres.fail_over(processes.url)
        await repaired(processes.first)
        await repaired(processes.second)
        await processes.first.ledger.release(claim)
        again = await next_claim(processes.second, "b")
        assert again is not None
        assert json.loads(again.reply_ref) == ["page-1"]


async def test_a_reply_that_is_shown_without_its_claim_is_not_written_again(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        await postgres.keep_replica(processes.url)
        claim = await claimed(processes.first, "a")
        await postgres.fail_over(processes.url)
        with pytest.raises(LeaseLost):
            await processes.first.ledger.finish(claim, ANSWER, START)
        await repaired(processes.first)
        assert await repaired(processes.second)
        assert await next_claim(processes.second, "b") is None
        assert await processes.first.ledger.pages(claim.turn) == ("page-1",)


async def test_another_process_may_get_the_epoch_of_a_lost_claim_but_not_its_turn(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        await postgres.keep_replica(processes.url)
        lost = await claimed(processes.first, "a")
        await postgres.fail_over(processes.url)
        await processes.second.recent_writes.settle(None, waits=False)  # the first one was away for too long
        claim = await next_claim(processes.second, "b")
        assert claim is not None
        assert (claim.turn, claim.epoch) == (lost.turn, lost.epoch)
        with pytest.raises(LeaseLost):
            await processes.first.ledger.finish(lost, ANSWER, START)
        await processes.second.ledger.finish(claim, ANSWER, LATER)


async def deletions(store: Store) -> list[str]:
    found = list[str]()
    while (job := await store.jobs.claim(frozenset({DELETE_REPLY}), "d", LATER, LEASE)) is not None:
        found.append(ShownPage.decode(job.payload).page)
    return found


@pytest.mark.parametrize("comes_again", [None, "first", "second"])
async def test_a_page_that_nobody_finishes_is_deleted(
    postgres: PostgresServer, comes_again: Literal["first", "second"] | None
) -> None:
    async with both(postgres) as processes:
        kept, lost = said("Which boat?"), said("Which sail?", conversation="elsewhere")
        await processes.first.ledger.accept(kept)
        running = await claimed(processes.first, "a", now=LATER)
        await postgres.keep_replica(processes.url)
        await processes.first.ledger.save(running, reply_ref=json.dumps(["page-1"]))
        await processes.first.ledger.accept(lost)
        await processes.first.ledger.save(await claimed(processes.first, "a"), reply_ref=json.dumps(["page-2"]))
        await postgres.fail_over(processes.url)
        await repaired(processes.first)
        await repaired(processes.second)
        if comes_again is not None:
            store = processes.first if comes_again == "first" else processes.second
            await store.ledger.accept(lost)
            while (claim := await next_claim(store, "a" if comes_again == "first" else "b")) is not None:
                if claim.incoming.text == lost.text:
                    await store.ledger.save(claim, reply_ref=json.dumps(["page-3"]))
        assert await processes.first.recent_writes.delete_unfinished(LATER) == 1
        assert await processes.first.recent_writes.delete_unfinished(LATER) == 0
        assert await deletions(processes.second) == ["page-2"]


async def test_while_nothing_is_lost_no_page_is_deleted(postgres: PostgresServer) -> None:
    async with both(postgres) as processes:
        await processes.first.ledger.accept(said("Which boat?"))
        claim = await claimed(processes.first, "a")
        await processes.first.ledger.save(claim, reply_ref=json.dumps(["page-1"]))
        again = await next_claim(processes.second, "b")  # its lease ran out
        assert again is not None
        assert await processes.first.recent_writes.delete_unfinished(LATER) == 0
        await processes.second.ledger.finish(again, ANSWER, LATER)
        assert await processes.first.recent_writes.delete_unfinished(LATER) == 0
        assert await processes.first.recent_writes.lost(thorough=True) is None
