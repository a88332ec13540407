"""What a person deleted waits as rows of a job: it comes back as it was, with its ground only, or leaves no byte."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from agent.events import Outcome
from agent.memory.facts import Fact
from agent.memory.forgetting_plans import ERASE_ENTRIES, AboutTopic, Deleted, EntriesPlan
from agent.memory.profile import Insight, Partition, ProfileField, learned
from agent.memory.writing import NewFact, Written
from agent.state import SituationSummary
from agent.turn_records import Closing
from store.engine import Store, open_store
from store.memory import fact_store
from store.memory.fact_index import fact_term
from store.message_tables import conversation
from tests.contracts.steps import answered, claimed, proved, summary_of
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.new_database import new_database

DM = Partition("ann", "person:ann")
OWN = frozenset({DM.audience})
SECRET = "collects vermilion harmoniums in Antananarivo"
ASKED = said("What do I collect?")
MINUTE = START + timedelta(minutes=1)


@asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Store]:
    store = await open_store(await new_database(folder / "bot.db"))
    try:
        yield store
    finally:
        await store.close()


def held(folder: Path) -> bytes:
    """Every byte that is on the disk."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def known(store: Store) -> EntriesPlan:
    """Something is known of Ann, as a fact, in her profile and in a summary; a plan for all of it."""
    await store.ledger.accept(ASKED)
    claim = await claimed(store)
    insight = Insight(ProfileField.INTERESTS, SECRET, (claim.message,), START)
    assert await store.profiles.save(DM, learned(await store.profiles.get(DM), DM.audience, [insight], 1, START))
    fact = await remember(store.facts, "ann", f"Ann {SECRET}.", DM.audience, START, claim.message)
    summary = SituationSummary(goal=f"Help someone who {SECRET}")
    await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "Things.", summary=summary), START)
    (entry,) = (await store.profiles.get(DM)).entries
    return EntriesPlan("ann", frozenset({entry.id}), frozenset({fact.id}))


async def everything(store: Store) -> list[object]:
    return [
        await store.database.read(lambda connection: sorted(map(tuple, connection.execute(select(fact_term))))),
        await store.facts.readable("ann", OWN),
        await store.profiles.all_entries("ann", OWN),
        await summary_of(store, "thread"),
    ]


async def test_what_was_deleted_is_used_nowhere_and_comes_back_as_it_was_with_its_summary(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        plan = await known(store)
        before = await everything(store)
        await store.forgetting.delete_entries(plan, "f:1", MINUTE)
        assert await everything(store) == [[], [], [], SituationSummary()]
    async with opened(tmp_path) as store:  # another process goes on
        assert await store.forgetting.undo("ann") == "f:1"
        assert await everything(store) == before


async def test_no_byte_of_it_stays_after_its_minute(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.forgetting.delete_entries(await known(store), "f:1", MINUTE)
        assert b"harmoniums" in held(tmp_path)
        kinds = frozenset({ERASE_ENTRIES})
        assert await store.jobs.claim(kinds, "me", START, timedelta(minutes=2)) is None
        job = await store.jobs.claim(kinds, "me", MINUTE, timedelta(minutes=2))
        assert job is not None
        assert await store.forgetting.undo("ann") is None, "whoever wipes it has it"
        assert await store.forgetting.wipe(job.key)
        await store.jobs.finish(job)
        assert b"harmoniums" not in held(tmp_path)


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_what_lost_its_ground_meanwhile_does_not_come_back(tmp_path: Path, how: str) -> None:
    async with opened(tmp_path) as store:
        plan = await known(store)
        tea = await remember(store.facts, "ann", "likes tea", DM.audience, START)
        both = EntriesPlan("ann", plan.entries, plan.facts | {tea.id})
        await store.forgetting.delete_entries(both, "f:1", MINUTE)
        if how == "deleted":
            await store.forgetting.forget(Deleted(ASKED.source, ASKED.channel, frozenset({ASKED.message_id})), START)
        else:
            assert await store.forgetting.update_text(
                ASKED.source, ASKED.channel, ASKED.message_id, "What do I eat?", START
            )
        await store.forgetting.undo("ann")
        assert [one.value for one in await store.facts.readable("ann", OWN)] == ["likes tea"]
        assert await store.profiles.all_entries("ann", OWN) == []


async def test_forgetting_what_was_just_deleted_leaves_no_byte_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.forgetting.delete_entries(await known(store), "f:1", MINUTE)
        await store.forgetting.forget(AboutTopic("ann", "collect"), START)
        assert b"harmoniums" not in held(tmp_path)
        assert await store.forgetting.undo("ann") is None


async def test_forgetting_in_a_thread_that_stays_what_was_just_deleted_there_is_proved(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await answered(store, said("Hello."), "Hello.")
        await store.forgetting.delete_entries(await known(store), "f:1", MINUTE)
        assert proved(await store.forgetting.forget(AboutTopic("ann", "collect"), START))


async def test_a_history_and_what_was_derived_come_back_linked_as_they_were(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        old = await written(store, "budget", "100 EUR")
        new = await written(store, "budget", "200 EUR")
        plan = await written(store, "plan", "a small boat", depends_on=(new.id,))
        before = await store.facts.readable("ann", OWN)
        assert [one.is_valid for one in before] == [False, True, True]
        await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({new.id})), "f:2", MINUTE)
        (left,) = await store.facts.readable("ann", OWN)
        assert (left.id, left.is_valid) == (old.id, True), "it holds again, as if the other had never been written"
        assert await store.forgetting.undo("ann", "f:2") == "f:2"
        assert await store.facts.readable("ann", OWN) == before
        await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({new.id})), "f:2", MINUTE)
        newest = await written(store, "budget", "300 EUR")
        assert await store.forgetting.undo("ann", "f:2") == "f:2"
        after = {one.id: one for one in await store.facts.readable("ann", OWN)}
        assert after.keys() == {old.id, new.id, plan.id, newest.id}, "nothing that was written meanwhile is lost"
        assert after[newest.id].is_valid


async def test_a_question_that_was_shown_the_older_fact_meanwhile_leaves_it_superseded(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        old = await written(store, "budget", "100 EUR")
        new = await written(store, "budget", "200 EUR")
        before = await store.facts.readable("ann", OWN)
        await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({new.id})), "f:2", MINUTE)
        await store.database.write(fact_store.mark_used, [old.id], START)
        assert await store.forgetting.undo("ann", "f:2") == "f:2"
        assert await store.facts.readable("ann", OWN) == before


@pytest.mark.parametrize("first", [0, 1])
async def test_two_that_were_deleted_come_back_in_any_order_as_they_were(tmp_path: Path, first: int) -> None:
    async with opened(tmp_path) as store:
        both = [await written(store, "budget", "100 EUR"), await written(store, "budget", "200 EUR")]
        before = await store.facts.readable("ann", OWN)
        for one in reversed(both):
            await store.forgetting.delete_entries(EntriesPlan("ann", facts=frozenset({one.id})), f"f:{one.id}", MINUTE)
        assert await store.facts.readable("ann", OWN) == []
        for one in (both[first], both[1 - first]):
            assert await store.forgetting.undo("ann", f"f:{one.id}") == f"f:{one.id}"
        assert await store.facts.readable("ann", OWN) == before


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_what_a_summary_said_of_a_message_that_is_gone_neither_waits_nor_comes_back(
    tmp_path: Path, how: str
) -> None:
    async with opened(tmp_path) as store:
        other = said("The boat is called Pelican.")
        await store.ledger.accept(other)
        await store.ledger.finish(await claimed(store), Closing(Outcome.ANSWERED, "A fine name."), START)
        plan = await known(store)
        summed_up = '{"goal": "Help Ann, who ' + SECRET + '; the vessel is named pelicanesque"}'
        await store.database.write(
            lambda connection: connection.execute(update(conversation).values(summary=summed_up))
        )
        await store.forgetting.delete_entries(plan, "f:1", MINUTE)
        if how == "deleted":
            await store.forgetting.forget(Deleted(other.source, other.channel, frozenset({other.message_id})), START)
        else:
            assert await store.forgetting.update_text(
                other.source, other.channel, other.message_id, "I have a boat.", START
            )
            assert await store.forgetting.sweep()
        assert b"pelicanesque" not in held(tmp_path)
        assert await store.forgetting.undo("ann") == "f:1"
        assert await summary_of(store, "thread") == SituationSummary()
        assert await store.facts.readable("ann", OWN), "what came of another message comes back"


async def test_no_byte_of_what_came_of_a_deleted_message_waits_for_undo(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.forgetting.delete_entries(await known(store), "f:1", MINUTE)
        await store.forgetting.forget(Deleted(ASKED.source, ASKED.channel, frozenset({ASKED.message_id})), START)
        assert b"harmoniums" not in held(tmp_path)


async def test_a_summary_does_not_come_back_before_more_readers(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.forgetting.delete_entries(await known(store), "f:1", MINUTE)
        wider = update(conversation).values(audience="team:T1")
        await store.database.write(lambda connection: connection.execute(wider))
        assert await store.forgetting.undo("ann") == "f:1"
        assert await summary_of(store, "thread") == SituationSummary()


async def written(store: Store, key: str, value: str, depends_on: tuple[str, ...] = ()) -> Fact:
    new = replace(
        NewFact(id="", key=key, value=value, source="user", timestamp=START, audience=DM.audience, person="ann"),
        depends_on=depends_on,
    )
    outcome = await store.facts.write(new)
    assert isinstance(outcome, Written)
    return outcome.fact
