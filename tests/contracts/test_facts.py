"""The contract of the port Facts: written by the rules of seed 003, read by those who may, erased without a trace."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.errors import StoreError
from agent.events import Outcome
from agent.memory.facts import ConstraintType, Fact, Scope, chain, current
from agent.memory.forgetting_plans import Everything
from agent.memory.writing import NewFact, Refusal, WriteRefused, Written
from agent.turn_records import Closing
from store.engine import Store
from tests.contracts.steps import answered, claimed, in_memory_too, proved, same_on_postgresql
from tests.fakes.facts import remember
from tests.fakes.incoming import START, said
from tests.fakes.plans import one_thread

DM = "person:ann"
TEAM = "team:T1"


def new(key: str, value: str, *, minutes: int = 0, **rest: Any) -> NewFact:
    fields: dict[str, Any] = {"source": "user", "audience": DM, "person": "ann", **rest}
    return NewFact(id="", key=key, value=value, timestamp=START + timedelta(minutes=minutes), **fields)


async def written(store: Store, one: NewFact) -> Fact:
    outcome = await store.facts.write(one)
    assert isinstance(outcome, Written), outcome
    return outcome.fact


async def known(store: Store, person: str = "ann", *audiences: str) -> list[Fact]:
    return await store.facts.readable(person, frozenset(audiences or (DM,)))


async def valid(store: Store) -> list[str]:
    return [fact.value for fact in await known(store) if fact.is_valid]


async def test_what_is_said_again_is_kept_once_for_each_audience(store: Store) -> None:
    first = await remember(store.facts, "ann", "likes tea", DM, START)
    again = await remember(store.facts, "ann", "likes tea", DM, START + timedelta(days=1))
    other = await remember(store.facts, "ann", "likes tea", "group:club", START)
    assert again == first
    assert other.id != first.id
    assert await known(store) == [first]


async def test_readable_are_the_persons_own_facts_and_nobodys_for_these_audiences_oldest_first(store: Store) -> None:
    first = await remember(store.facts, "ann", "one", DM, START)
    await remember(store.facts, "ben", "two", "person:ben", START)
    third = await remember(store.facts, "ann", "three", "group:club", START + timedelta(minutes=1))
    policy = new("budget", "5,000 EUR", minutes=2, person="", audience=TEAM, source="policy", is_constraint=True)
    fourth = await written(store, replace(policy, authority=Authority.MANAGER, constraint_type=ConstraintType.BUDGET))
    assert await known(store, "ann", DM, "group:club", TEAM) == [first, third, fourth]
    assert await known(store, "ann", "group:club") == [third]
    assert await known(store, "ben", TEAM) == [fourth]
    assert await store.facts.readable("ann", frozenset()) == []


@same_on_postgresql
async def test_a_fact_shows_the_message_it_came_from(store: Store) -> None:
    message = said("remember that I like tea")
    claim = await answered(store, message, "noted")
    fact = await remember(store.facts, "ann", "likes tea", DM, START, claim.message)
    assert (fact.source_message, fact.permalink, fact.timestamp) == (claim.message, message.permalink, START)
    assert await known(store) == [fact]


async def test_all_fields_come_back_as_they_were_written(store: Store) -> None:
    ground = await written(store, new("budget", "100 EUR"))
    draft = new("trip", "two days", minutes=1, scope=Scope.DRAFT, scope_id="thread", depends_on=("budget",))
    fact = await written(store, draft)
    assert (fact.scope, fact.scope_id, fact.depends_on) == (Scope.DRAFT, "thread", (ground.id,))
    assert await known(store) == [replace(ground, derived_facts=(fact.id,)), fact]


@same_on_postgresql
async def test_a_key_supersedes_what_stood_under_it_and_the_chain_can_be_followed(store: Store) -> None:
    values = ("Friday", "Monday", "Tuesday")
    facts = [await written(store, new("deadline", value, minutes=n)) for n, value in enumerate(values)]
    stored = await known(store)
    assert [fact.value for fact in chain(stored, facts[1].id)] == list(values)
    now = current(stored, "Deadline")
    assert now is not None
    assert now.value == "Tuesday"
    outcome = await store.facts.write(new("deadline", "Sunday", minutes=9))
    assert isinstance(outcome, Written)
    assert [fact.value for fact in outcome.superseded] == ["Tuesday"]


@same_on_postgresql
async def test_without_a_key_only_what_contradicts_supersedes(store: Store) -> None:
    for minutes, text in enumerate(("My boat is blue.", "The meeting is on Tuesday.", "The meeting is on Thursday.")):
        await written(store, new("", text, minutes=minutes))
    assert await valid(store) == ["My boat is blue.", "The meeting is on Thursday."]


@same_on_postgresql
async def test_a_refused_write_changes_nothing(store: Store) -> None:
    set_by_manager = new("discount", "max 15%", person="", audience=TEAM, authority=Authority.MANAGER, source="policy")
    await written(store, set_by_manager)
    wish = replace(set_by_manager, value="25%", authority=Authority.EMPLOYEE)
    before = await known(store, "ann", TEAM)
    assert await store.facts.write(wish) == WriteRefused(Refusal.NOT_A_MANAGER)
    assert await store.facts.write(replace(wish, source="user")) == WriteRefused(
        Refusal.GREATER_AUTHORITY, before[0].id
    )
    assert await known(store, "ann", TEAM) == before


async def test_what_rests_on_a_superseded_fact_needs_review(store: Store) -> None:
    await written(store, new("budget", "100 EUR"))
    await written(store, new("trip", "two days", minutes=1, depends_on=("budget",)))
    await written(store, new("hotel", "the Harbour", minutes=2, depends_on=("trip",)))
    await written(store, new("budget", "50 EUR", minutes=3))
    assert [fact.key for fact in await known(store) if fact.needs_review] == ["trip", "hotel"]


async def test_saying_it_again_settles_a_review(store: Store) -> None:
    await written(store, new("budget", "100 EUR"))
    trip = await written(store, new("trip", "two days", minutes=1, depends_on=("budget",)))
    now = await written(store, new("budget", "50 EUR", minutes=2))
    assert (await written(store, new("trip", "two days", minutes=3))).id == trip.id
    (again,) = [fact for fact in await known(store) if fact.key == "trip"]
    assert (again.needs_review, again.depends_on) == (False, (now.id,))


@in_memory_too
async def test_writers_of_one_audience_follow_one_another(store: Store) -> None:
    outcomes = await asyncio.gather(*(store.facts.write(new("deadline", f"day {n}", minutes=n)) for n in range(12)))
    assert all(isinstance(outcome, Written) for outcome in outcomes)
    assert await valid(store) == ["day 11"]


async def test_with_a_message_falls_what_was_derived_from_its_fact_and_what_it_superseded_holds_again(
    store: Store,
) -> None:
    await written(store, new("deadline", "Friday"))
    moved = await answered(store, said("it moved to Monday", conversation="a"), "noted")
    kept = await answered(store, said("so we meet on Sunday", conversation="b"), "noted")
    await written(store, new("deadline", "Monday", minutes=1, source_message=moved.message))
    derived = new("meeting", "Sunday", minutes=2, source_message=kept.message, depends_on=("deadline",))
    await written(store, derived)
    receipt = await store.forgetting.forget(one_thread("ann", "a"), START)
    assert receipt.erased["facts"] == 2
    assert proved(receipt)
    assert [(fact.value, fact.is_valid, fact.superseded_by) for fact in await known(store)] == [("Friday", True, None)]


async def test_nobodys_facts_outlive_the_person_who_wrote_them_unless_they_came_from_a_message(store: Store) -> None:
    claim = await answered(store, said("the limit is 3"), "noted")
    binding = new("", "", person="", audience=TEAM, source="policy", authority=Authority.ADMIN)
    await written(store, replace(binding, key="limit", value="3", source_message=claim.message))
    await written(store, replace(binding, key="budget", value="9 EUR"))
    await written(store, new("", "has a boat"))
    receipt = await store.forgetting.forget(Everything("ann"), START)
    assert receipt.erased["facts"] == 2
    assert [fact.key for fact in await known(store, "ann", DM, TEAM)] == ["budget"]


async def test_a_fact_from_a_message_that_was_forgotten_meanwhile_is_not_kept(store: Store) -> None:
    claim = await answered(store, said("tea"), "noted")
    await store.forgetting.forget(Everything("ann"), START)
    with pytest.raises(StoreError, match="was forgotten"):
        await store.facts.write(new("", "tea", source_message=claim.message))
    assert await known(store) == []


async def test_a_fact_is_taken_back_with_nothing_in_its_place_by_whom_it_binds_not(store: Store) -> None:
    policy = new("limit", "3", person="", audience=TEAM, source="policy", authority=Authority.MANAGER)
    fact = await written(store, replace(policy, is_constraint=True))
    end = replace(policy, key="", value="", timestamp=START + timedelta(days=1))
    refused = await store.facts.retract(fact.id, replace(end, authority=Authority.EMPLOYEE))
    assert refused == WriteRefused(Refusal.NOT_A_MANAGER)
    outcome = await store.facts.retract(fact.id, end)
    assert isinstance(outcome, Written)
    assert not outcome.fact.is_valid
    stored = await known(store, "ann", TEAM)
    assert [(one.value, one.is_valid) for one in chain(stored, fact.id)] == [("3", False), ("", False)]
    assert current(stored, "limit") is None
    assert await store.facts.retract(fact.id, end) is None
    assert await store.facts.retract("4711", end) is None


async def test_a_person_who_wrote_elsewhere_has_a_latest_other_thread(store: Store) -> None:
    await answered(store, said("one", conversation="a"), "1")
    assert await store.conversations.latest_elsewhere("ann", "a") is None
    await answered(store, said("two", conversation="b"), "2")
    await answered(store, said("three", conversation="a"), "3")
    assert await store.conversations.latest_elsewhere("ann", "c") == "a"
    assert await store.conversations.latest_elsewhere("ann", "a") == "b"
    assert await store.conversations.latest_elsewhere("ben", "a") is None


async def test_a_valid_fact_is_kept_by_its_person_and_a_policy_by_nobody_else(store: Store) -> None:
    tea = await remember(store.facts, "ann", "likes tea", DM, START)
    policy = new("budget", "5,000 EUR", person="", audience=TEAM, source="policy", is_constraint=True)
    policy = await written(store, replace(policy, authority=Authority.MANAGER))
    assert not await store.facts.keep("ben", tea.id, START)
    assert not await store.facts.keep("ann", policy.id, START)
    assert [one.kept for one in await known(store, "ann", DM, TEAM)] == [None, None]
    assert await store.facts.keep("ann", tea.id, START)
    assert await store.facts.keep("", policy.id, START + timedelta(minutes=1))
    assert [one.kept for one in await known(store, "ann", DM, TEAM)] == [START, START + timedelta(minutes=1)]
    await store.ledger.accept(said("hello"))
    closing = Closing(Outcome.ANSWERED, "ok", context_facts=(tea.id,))
    await store.ledger.finish(await claimed(store), closing, START + timedelta(minutes=2))
    assert [one.used for one in await known(store)] == [START + timedelta(minutes=2)]
