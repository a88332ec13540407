"""Nobody's write waits for many entries of the index: a job makes what is left, and forgetting goes before it."""

from datetime import timedelta

from sqlalchemy import Connection, func, select, text

from agent.jobs import INDEXING, Job
from agent.memory.audience import Place, TeamAudience, label
from agent.memory.forgetting_plans import Everything
from agent.recall_query import RecallQuery
from store.databases.database import is_postgresql
from store.engine import Store
from store.job_queue import job
from store.search.index import AT_ONCE, AT_ONCE_WORDS
from tests.contracts.steps import found, proved, same_on_postgresql
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.plans import one_thread

CLUB = Place(TeamAudience("club"))  # Where everybody reads
OLD = 3 * AT_ONCE  # Messages of a thread before somebody joins it


async def next_job(store: Store, after: timedelta = timedelta()) -> Job | None:
    return await store.jobs.claim(frozenset({INDEXING}), "worker", START + after, LEASE)


async def indexed(store: Store) -> int:
    """Do all jobs; how many steps they took."""
    steps = 0
    while (held := await next_job(store)) is not None:
        while await store.memories.index_more(held):
            steps += 1
        steps += 1
        await store.jobs.finish(held)
    return steps


async def joined(store: Store, old: int = OLD, words: str = "boat") -> None:
    """Ann writes `old` messages in the thread, then Bob his first."""
    for number in range(old):
        await store.ledger.accept(said(f"{words} {number}", place=CLUB, number=number))
    await store.ledger.accept(said("hello", person="bob", place=CLUB, number=old))


async def entries(store: Store) -> int:
    def count(connection: Connection) -> int:
        table = "message_index" if is_postgresql(connection) else "message_index_kept"
        return connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()  # noqa: S608 -- of constants

    return await store.database.read(count)


async def jobs(store: Store) -> int:
    def count(connection: Connection) -> int:
        return connection.execute(select(func.count()).select_from(job).where(job.c.kind == INDEXING)).scalar_one()

    return await store.database.read(count)


async def finds(store: Store, person: str, word: str) -> bool:
    return bool(await found(store, word, person=person, place=CLUB))


@same_on_postgresql
async def test_who_joins_a_long_thread_finds_its_newest_part_at_once_and_all_of_it_after_the_job(store: Store) -> None:
    await joined(store)
    assert await entries(store) == OLD + 2 + AT_ONCE
    assert await finds(store, "bob", f"{OLD - 1}")
    assert not await finds(store, "bob", "0")
    assert await indexed(store) == OLD // AT_ONCE
    assert await finds(store, "bob", "0")
    assert await entries(store) == 2 * (OLD + 1)
    assert await jobs(store) == 0


@same_on_postgresql
async def test_a_short_thread_needs_no_job(store: Store) -> None:
    await joined(store, AT_ONCE - 1)
    assert await entries(store) == 2 * AT_ONCE
    assert await jobs(store) == 0


@same_on_postgresql
async def test_long_messages_are_left_to_the_job_of_which_each_step_makes_at_least_one(store: Store) -> None:
    await joined(store, 4, "boat " * (AT_ONCE_WORDS + 1))
    assert await entries(store) == 4 + 2, "each has its own words read before its transaction begins"
    await indexed(store)
    assert await entries(store) == 2 * 5


async def test_a_message_for_very_many_is_found_by_its_own_person_and_some_at_once_and_by_all_after_the_job(
    store: Store,
) -> None:
    many = [f"p{number}" for number in range(AT_ONCE + 10)]
    for number, person in enumerate(many):
        await store.ledger.accept(said("hello", person=person, place=CLUB, number=number))
    await indexed(store)
    before = await entries(store)
    await store.ledger.accept(said("boat", person=many[-1], place=CLUB, number=len(many)))
    assert await entries(store) - before == AT_ONCE
    assert await finds(store, many[-1], "boat")
    assert not await finds(store, many[-2], "boat")
    await indexed(store)
    assert [person for person in many if not await finds(store, person, "boat")] == []


@same_on_postgresql
async def test_what_a_killed_worker_had_made_is_kept_and_the_next_one_goes_on_from_there(store: Store) -> None:
    await joined(store)
    held = await next_job(store)
    assert held is not None
    assert await store.memories.index_more(held)
    assert await entries(store) == OLD + 2 + 2 * AT_ONCE
    later = await next_job(store, 2 * LEASE)
    assert later is not None
    assert not await store.memories.index_more(held), "it holds the job no longer"
    assert await entries(store) == OLD + 2 + 2 * AT_ONCE
    while await store.memories.index_more(later):
        pass
    assert await entries(store) == 2 * (OLD + 1)


async def test_a_message_that_is_forgotten_or_edited_before_the_job_gets_no_entry_of_its_old_words(
    store: Store,
) -> None:
    await joined(store)
    await store.ledger.withdraw("test", "channel", "post-0", START)
    await store.ledger.amend("test", "channel", "post-1", "canoe")
    await indexed(store)
    assert not await finds(store, "bob", "0")
    assert not await finds(store, "bob", "1")
    assert await finds(store, "bob", "canoe")
    assert await entries(store) == 2 * OLD


async def test_everything_of_the_other_person_is_forgotten_before_the_job(store: Store) -> None:
    await joined(store)
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert proved(receipt)
    await indexed(store)
    assert await entries(store) == 1
    assert not await finds(store, "bob", "boat")


async def test_who_is_forgotten_before_the_job_is_found_nowhere_and_the_job_is_gone(store: Store) -> None:
    await joined(store)
    held = await next_job(store)
    assert held is not None
    assert await store.memories.index_more(held)
    receipt = await store.forgetting.forget(Everything("bob"), START)
    assert proved(receipt)
    assert await jobs(store) == 0
    assert not await store.memories.index_more(held)
    assert await entries(store) == OLD


async def test_who_forgets_the_thread_before_the_job_finds_nothing_of_it(store: Store) -> None:
    await joined(store)
    receipt = await store.forgetting.forget(one_thread("bob", "thread"), START)
    assert proved(receipt)
    await indexed(store)
    assert await entries(store) == OLD
    assert await store.memories.search(RecallQuery("bob", "boat", frozenset({label(CLUB.audience)}), "")) == []
