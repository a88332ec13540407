"""Several stores on one PostgreSQL database: nothing is claimed twice, order holds, zombies change nothing."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import Connection, func, select, text

from agent.admission_terms import Rate, Terms, TermsNotMet, Whose
from agent.errors import LeaseLost
from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import INDEXING
from agent.memory.audience import GroupAudience, Place
from agent.memory.documents import LinkedPage, NewDocument, Passage
from agent.memory.forgetting_plans import Everything, Gone
from agent.state import SituationSummary
from agent.turn_records import Accepted, Claim, Claiming, Closing
from store.engine import Store, open_store
from store.erased_ids import ErasedIds
from store.message_tables import person
from store.search.passages import keep, rows_of
from store.search.text import indexed_text
from store.turns.ledger import accept, finish
from store.turns.turn_queue import claim_turn as claim_next
from tests.contracts.steps import answered, claimed, summary_of
from tests.fakes.incoming import LEASE, START, said
from tests.fakes.postgresql import PostgresServer
from tests.patience import PATIENCE_S

CLUB = Place(GroupAudience("club"))
MOMENT_S = 0.4


@asynccontextmanager
async def replicas(url: str, number: int = 2) -> AsyncGenerator[list[Store]]:
    opened = [await open_store(url) for _ in range(number)]
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield opened
    finally:
        for store in opened:
            await store.close()


@asynccontextmanager
async def slow(
    store: Store, work: Callable[[Connection], object], until: asyncio.Event | None = None
) -> AsyncGenerator[asyncio.Task[object]]:
    """While the block runs, the transaction that did `work` stays open: until the event, then for a moment more."""
    done = asyncio.Event()

    def slowly(connection: Connection) -> object:
        result = work(connection)
        done.set()
        while until is not None and not until.is_set():
            connection.execute(text("SELECT pg_sleep(0.02)"))
        connection.execute(text(f"SELECT pg_sleep({MOMENT_S})"))
        return result

    task = asyncio.create_task(store.database.write(slowly))
    await done.wait()
    yield task
    await task


async def work_off(store: Store, owner: str) -> list[Claim]:
    """Claim and finish until three claims in a row find nothing, as others may hold the last ones."""
    done: list[Claim] = []
    idle = 0
    while idle < 3:
        claim = await store.ledger.claim(Claiming(owner, START, LEASE))
        idle = idle + 1 if claim is None else 0
        if claim is not None:
            done.append(claim)
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, f"re: {claim.incoming.text}"), START)
    return done


async def test_each_turn_is_claimed_once_and_conversations_keep_their_order(postgres: PostgresServer) -> None:
    async with replicas(await postgres.empty(), 3) as stores:
        messages = [said(f"{n}", conversation=f"{n % 5}", person=f"p{n % 3}") for n in range(60)]
        await asyncio.gather(
            *(stores[n % 3].ledger.accept(asked) for n, asked in enumerate(messages) if n % 5 != 0),
            in_turn(stores[0], messages[::5]),
        )
        workers = [work_off(store, f"worker {n} {m}") for n, store in enumerate(stores) for m in range(2)]
        done = [claim for some in await asyncio.gather(*workers) for claim in some]
        done += await work_off(stores[0], "the last one")
        assert sorted(claim.incoming.text for claim in done) == sorted(f"{n}" for n in range(60))
        for conversation in map(str, range(5)):
            history = await stores[1].conversations.history(conversation, before_turn=10**9, limit=99)
            questions = [m.text for m in history[::2]]
            assert [m.text for m in history[1::2]] == [f"re: {text}" for text in questions]
            assert len(questions) == 12
        history = await stores[2].conversations.history("0", before_turn=10**9, limit=99)
        assert [m.text for m in history[::2]] == [m.text for m in messages[::5]]


async def in_turn(store: Store, messages: list[Incoming]) -> None:
    for asked in messages:
        await store.ledger.accept(asked)


async def test_a_conversation_runs_one_turn_at_a_time_whoever_claims(postgres: PostgresServer) -> None:
    async with replicas(await postgres.empty()) as stores:
        for n in range(4):
            await stores[0].ledger.accept(said(f"{n}"))
        for n in range(4):
            claims = await asyncio.gather(
                *(stores[k % 2].ledger.claim(Claiming(f"{k}", START, LEASE)) for k in range(6))
            )
            [claim] = [claim for claim in claims if claim is not None]
            assert claim.incoming.text == f"{n}"
            await stores[n % 2].ledger.finish(claim, Closing(Outcome.ANSWERED, "yes"), START)


async def test_an_event_delivered_to_several_replicas_at_once_is_one_turn(postgres: PostgresServer) -> None:
    async with replicas(await postgres.empty(), 3) as stores:
        for _ in range(5):
            asked = said("hello")
            elsewhere = replace(asked, conversation=f"other {asked.event_id}")  # one mention, read in two ways
            both = (asked, elsewhere)
            accepted = await asyncio.gather(*(stores[k % 3].ledger.accept(both[k % 2]) for k in range(6)))
            assert [one.duplicate for one in accepted].count(False) == 1
            assert len({one.turn for one in accepted}) == 1


async def test_a_person_who_writes_in_many_places_at_once_is_one_person(postgres: PostgresServer) -> None:
    async with replicas(await postgres.empty(), 3) as stores:
        messages = [said("hello", person="new", conversation=f"{n}") for n in range(12)]
        await asyncio.gather(*(stores[n % 3].ledger.accept(asked) for n, asked in enumerate(messages)))
        people = select(func.count()).select_from(person)
        assert await stores[0].database.read(lambda c: c.execute(people).scalar_one()) == 1
        assert len(await stores[1].conversations.threads("new", limit=99)) == 12


async def test_a_dead_replicas_turn_is_taken_over_after_its_lease_and_the_zombie_changes_nothing(
    postgres: PostgresServer,
) -> None:
    async with replicas(await postgres.empty()) as (one, other):
        await one.ledger.accept(said("hello"))
        zombie = await claimed(one, "one")
        await one.ledger.save(zombie, progress="step 1", reply_ref="page 1")
        assert await other.ledger.release_all() == 0
        assert await other.ledger.claim(Claiming("other", START + LEASE - timedelta(seconds=1), LEASE)) is None
        taken = await claimed(other, "other", now=START + LEASE)
        assert (taken.turn, taken.progress, taken.reply_ref) == (zombie.turn, "step 1", "page 1")
        for write in (
            one.ledger.save(zombie, progress="more"),
            one.ledger.renew(zombie, START, LEASE),
            one.ledger.finish(zombie, Closing(Outcome.ANSWERED, "late"), START),
        ):
            with pytest.raises(LeaseLost):
                await write
        await other.ledger.finish(taken, Closing(Outcome.ANSWERED, "in time"), START)
        history = await one.conversations.history("thread", before_turn=10**9, limit=9)
        assert [m.text for m in history] == ["hello", "in time"]


async def test_forgetting_waits_for_a_turn_that_is_just_ending_and_takes_what_it_leaves(
    postgres: PostgresServer,
) -> None:
    async with replicas(await postgres.empty()) as (one, other):
        secret = await answered(one, said("quince", conversation="a", place=CLUB), "noted")
        await one.ledger.accept(said("what?", person="ben", conversation="b", place=CLUB))
        claim = await claimed(one)
        summary = SituationSummary(goal="quince")
        ending = Closing(Outcome.ANSWERED, "It was.", summary=summary, context_messages=(secret.message,))
        async with slow(one, lambda c: finish(c, claim, ending, indexed_text(ending.reply, stemmed=True), START)):
            receipt = await other.forgetting.forget(Everything("ann"), START)
        assert (receipt.found_again, receipt.bytes_gone, receipt.kept_by_server) == (0, False, True)
        assert await summary_of(one, "b") == SituationSummary()


async def test_a_later_turn_waits_for_an_earlier_one_that_is_not_committed_yet(postgres: PostgresServer) -> None:
    """Otherwise it could be claimed, and answered, first."""
    async with replicas(await postgres.empty()) as (one, other):
        await answered(one, said("before"), "yes")
        first = said("first")
        words = indexed_text(first.text, stemmed=True)
        alone = asyncio.Event()
        async with slow(one, lambda c: accept(c, first, words, ErasedIds(b"")), alone) as slowly:
            await other.ledger.accept(said("elsewhere", person="ben", conversation="another"))
            assert not slowly.done()
            alone.set()
            await other.ledger.accept(said("second"))
            claims = [await claimed(other) for _ in range(2)]
        assert {claim.incoming.text for claim in claims} == {"first", "elsewhere"}


async def test_what_another_replica_is_just_claiming_is_passed_by_with_all_that_follows_it(
    postgres: PostgresServer,
) -> None:
    async with replicas(await postgres.empty()) as (one, other):
        for text_, conversation in (("first", "a"), ("second", "a"), ("elsewhere", "b")):
            await one.ledger.accept(said(text_, conversation=conversation))
        alone = asyncio.Event()
        async with slow(one, lambda c: claim_next(c, Claiming("one", START, LEASE)), alone) as slowly:
            assert (await claimed(other)).incoming.text == "elsewhere"
            assert await other.ledger.claim(Claiming("other", START, LEASE)) is None
            assert not slowly.done()
            alone.set()


async def test_replicas_that_start_together_make_one_database(postgres: PostgresServer) -> None:
    async with postgres.database() as url:
        opened = await asyncio.gather(*(open_store(url) for _ in range(4)))
        for number, store in enumerate(opened):
            assert not (await store.ledger.accept(said(f"hello {number}"))).duplicate
        assert len(await opened[0].conversations.questions("ann", limit=9)) == 4
        for store in opened:
            await store.close()


async def test_two_replicas_cannot_pass_a_rate_together(postgres: PostgresServer) -> None:
    rates = (Rate(Whose.PERSON, 3, timedelta(minutes=1)), Rate(Whose.CHANNEL, 9, timedelta(minutes=1)))
    async with replicas(await postgres.empty()) as stores:
        taking = [stores[n % 2].ledger.accept(said("?", conversation=f"{n}"), Terms(START, rates)) for n in range(12)]
        ended = await asyncio.gather(*taking, return_exceptions=True)
    assert sum(isinstance(end, TermsNotMet) for end in ended) == 9
    assert sum(isinstance(end, Accepted) for end in ended) == 3


async def test_the_most_of_one_person_and_the_most_that_wait_count_in_all_replicas(postgres: PostgresServer) -> None:
    async with replicas(await postgres.empty()) as (one, other):
        for number in range(3):
            await one.ledger.accept(said("?", conversation=f"{number}"))
        claims = [
            await store.ledger.claim(Claiming("worker", START, LEASE, per_person=2))
            for store in (one, other, one, other)
        ]
        assert [claim is not None for claim in claims] == [True, True, False, False]
        with pytest.raises(TermsNotMet):
            await other.ledger.accept(said("?", person="ben", conversation="bens"), Terms(START, backlog=1))


@pytest.mark.parametrize("meanwhile", ["removed", "closed", "gone"])
async def test_what_is_removed_closed_or_gone_while_its_new_version_is_being_kept_takes_that_along(
    postgres: PostgresServer, meanwhile: str
) -> None:
    team = frozenset({"team:team"})
    page = LinkedPage("https://a.example/", START)
    new = NewDocument("boats", "team:team", "test", "channel", "ann", START, [Passage("walnut")], "", web=page)
    async with replicas(await postgres.empty()) as (one, other):
        await one.documents.keep(new)
        (known,) = await one.documents.listed(team)
        async with slow(one, partial(keep, new=new, rows=rows_of(new), renews=known.id)):
            match meanwhile:
                case "removed":
                    await other.documents.remove(known.id)
                case "closed":
                    await other.ledger.restrict_place("test", "channel", replace(CLUB, whole_channel=True), START)
                case _:
                    await other.forgetting.retire(Gone(channels=frozenset({"channel"})), START, 200)
        while (job := await one.jobs.claim(frozenset({INDEXING}), "worker", START, LEASE)) is not None:
            while await one.memories.index_more(job):
                pass
            await one.jobs.finish(job)
        assert await one.documents.listed(team) == []
        assert len(await one.documents.listed(frozenset({"group:club"}))) == (meanwhile == "closed")
