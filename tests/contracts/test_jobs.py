"""The contract of the port Jobs: when a job runs, that it runs once, and that forgetting takes it."""

import asyncio
from datetime import timedelta

import pytest

from agent.errors import LeaseLost
from agent.jobs import Job
from agent.memory.forgetting_plans import Everything
from store.engine import Store
from tests.contracts.steps import answered, in_memory_too, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.plans import one_thread

LEARN = frozenset({"learn"})
MINUTE = timedelta(minutes=1)


async def next_job(store: Store, minutes: int = 0, owner: str = "worker") -> Job:
    """The next claim of that minute; there has to be one."""
    job = await store.jobs.claim(LEARN, owner, START + minutes * MINUTE, LEASE)
    assert job is not None
    return job


async def none_due(store: Store, minutes: int = 0) -> bool:
    return await store.jobs.claim(LEARN, "worker", START + minutes * MINUTE, LEASE) is None


@same_on_postgresql
async def test_a_job_runs_at_its_time_and_once(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "a", START + MINUTE, person="ann", conversation="thread")
    assert await none_due(store)
    job = await next_job(store, 1)
    assert (job.kind, job.key, job.payload, job.run_at) == ("learn", "ann", "a", START + MINUTE)
    assert (job.person, job.conversation, job.owner, job.attempts) == ("ann", "thread", "worker", 1)
    await store.jobs.finish(job)
    assert await none_due(store, 99)


@same_on_postgresql
async def test_the_one_whose_time_came_first_goes_first(store: Store) -> None:
    for key, minutes in (("late", 3), ("early", 1), ("later", 4), ("middle", 2)):
        await store.jobs.schedule("learn", key, "", START + minutes * MINUTE)
    assert [(await next_job(store, 3)).key for _ in range(3)] == ["early", "middle", "late"]
    assert await none_due(store, 3)


async def test_a_job_that_is_to_run_again_delays_none_that_was_added_while_it_ran(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "first", START, person="ann", conversation="thread")
    job = await next_job(store)
    await store.jobs.again(job, START + 9 * MINUTE)
    await store.jobs.schedule("learn", "ann", "meanwhile", START + 2 * MINUTE)
    await store.jobs.again(job, START + 9 * MINUTE)
    await store.jobs.finish(job)
    assert (await next_job(store, 2)).payload == "meanwhile"


async def test_a_job_runs_again_at_its_time_as_it_was_and_at_the_earlier_of_two_times(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "first", START, person="ann", conversation="thread")
    job = await next_job(store)
    await store.jobs.again(job, START + 9 * MINUTE)
    await store.jobs.again(job, START + MINUTE)
    await store.jobs.finish(job)
    assert await none_due(store)
    then = await next_job(store, 1)
    assert (then.payload, then.person, then.conversation, then.attempts) == ("first", "ann", "thread", 1)
    with pytest.raises(LeaseLost):
        await store.jobs.again(job, START)


async def test_only_the_kinds_asked_for_are_claimed(store: Store) -> None:
    await store.jobs.schedule("remind", "ann", "", START)
    assert await none_due(store)
    assert await store.jobs.claim(frozenset({"learn", "remind"}), "worker", START, LEASE) is not None
    assert await store.jobs.claim(frozenset(), "worker", START, LEASE) is None


@same_on_postgresql
async def test_of_one_kind_and_key_one_waits_with_the_newest_payload_and_time(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "old", START)
    await store.jobs.schedule("learn", "ben", "other", START + MINUTE)
    await store.jobs.schedule("learn", "ann", "new", START + 2 * MINUTE)
    ben = await next_job(store, 1)
    assert ben.key == "ben"
    await store.jobs.finish(ben)
    assert await none_due(store, 1)
    assert (await next_job(store, 2)).payload == "new"
    assert await none_due(store, 2)


@same_on_postgresql
async def test_while_one_runs_the_next_of_its_key_waits_for_its_end(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "first", START)
    first = await next_job(store)
    await store.jobs.schedule("learn", "ann", "second", START)
    assert await none_due(store)
    await store.jobs.finish(first)
    assert (await next_job(store)).payload == "second"


async def test_a_job_whose_lease_ran_out_is_taken_over_and_the_zombie_changes_nothing(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "", START)
    zombie = await next_job(store, owner="old")
    await store.jobs.renew(zombie, START + LEASE, LEASE)
    assert await store.jobs.claim(LEARN, "new", START + LEASE, LEASE) is None
    taken = await store.jobs.claim(LEARN, "new", START + 2 * LEASE, LEASE)
    assert taken is not None
    assert (taken.id, taken.attempts, taken.owner) == (zombie.id, 2, "new")
    for write in (
        store.jobs.renew(zombie, START, LEASE),
        store.jobs.postpone(zombie, START),
        store.jobs.finish(zombie),
    ):
        with pytest.raises(LeaseLost):
            await write
    await store.jobs.finish(taken)


async def test_a_postponed_job_runs_again_later_and_counts_its_attempts(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "a", START)
    await store.jobs.postpone(await next_job(store), START + MINUTE)
    assert await none_due(store)
    again = await next_job(store, 1)
    assert (again.payload, again.attempts, again.run_at) == ("a", 2, START + MINUTE)


@same_on_postgresql
async def test_a_newer_job_that_waits_stands_for_the_postponed_one(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "old", START)
    job = await next_job(store)
    await store.jobs.schedule("learn", "ann", "new", START)
    await store.jobs.postpone(job, START)
    job = await next_job(store)
    assert job.payload == "new"
    await store.jobs.finish(job)
    assert await none_due(store, 9)


async def test_a_waiting_job_can_be_cancelled_and_a_running_one_ends_by_itself(store: Store) -> None:
    await store.jobs.schedule("learn", "ann", "", START)
    assert await store.jobs.cancel("learn", "ann")
    assert not await store.jobs.cancel("learn", "ann")
    assert await none_due(store)
    await store.jobs.schedule("learn", "ann", "", START)
    running = await next_job(store)
    assert not await store.jobs.cancel("learn", "ann")
    await store.jobs.finish(running)


@in_memory_too
async def test_jobs_scheduled_at_once_for_one_key_are_one(store: Store) -> None:
    await asyncio.gather(*(store.jobs.schedule("learn", "ann", f"{n}", START) for n in range(9)))
    await next_job(store)
    assert await none_due(store)


async def test_forgetting_takes_the_persons_jobs_of_the_conversation_or_all(store: Store) -> None:
    await answered(store, said("hello"), "hi")
    for key, person, conversation in (("1", "ann", "thread"), ("2", "ann", "other"), ("3", "ben", "thread")):
        await store.jobs.schedule("learn", key, "my secret", START, person=person, conversation=conversation)
    running = await next_job(store)
    receipt = await store.forgetting.forget(one_thread("ann", "thread"), START)
    assert (receipt.erased["jobs"], receipt.found_again) == (1, 0)
    with pytest.raises(LeaseLost):
        await store.jobs.finish(running)
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert (receipt.erased["jobs"], receipt.found_again) == (1, 0)
    last = await next_job(store)
    assert last.key == "3"
    await store.jobs.finish(last)
    assert await none_due(store, 9)


async def test_how_late_the_first_job_of_each_kind_is_can_be_told(store: Store) -> None:
    for kind, key, minute in (("learn", "ann", 1), ("learn", "bob", 3), ("index", "x", 9)):
        await store.jobs.schedule(kind, key, "", START + minute * MINUTE)
    assert await store.jobs.late(START) == {}
    assert await store.jobs.late(START + 4 * MINUTE) == {"learn": 3 * MINUTE}
    await next_job(store, 4)
    assert await store.jobs.late(START + 9 * MINUTE) == {"learn": 6 * MINUTE, "index": 0 * MINUTE}, "one runs"
