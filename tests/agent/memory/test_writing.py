"""Seed 003: facts are created, superseded and marked for review, never edited."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent.admission_terms import Authority
from agent.memory.facts import Fact, MemoryType, Scope, chain, current
from agent.memory.writing import (
    FactAdded,
    FactSuperseded,
    NewFact,
    Refusal,
    ReviewNeeded,
    ReviewSettled,
    WriteRefused,
    Written,
    outcome,
    write,
)

MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HERE = "team:T1"


def new(id_: str, key: str, value: str, *, minutes: int = 0, **rest: Any) -> NewFact:
    fields: dict[str, Any] = {"source": "user", "audience": HERE, "person": "ann", **rest}
    return NewFact(id=id_, key=key, value=value, timestamp=MONDAY + timedelta(minutes=minutes), **fields)


def written(*writes: NewFact) -> tuple[Fact, ...]:
    facts: tuple[Fact, ...] = ()
    for one in writes:
        facts, _ = write(facts, one)
    return facts


def valid(facts: tuple[Fact, ...]) -> list[str]:
    return [fact.value for fact in facts if fact.is_valid]


def test_seed_003_vector_1_the_superseded_status_is_no_longer_valid() -> None:
    facts = written(
        new("1", "status_v1", "approved"),
        new("2", "status_v2", "cancelled", minutes=1, supersedes=("status_v1",)),
    )
    assert valid(facts) == ["cancelled"]
    assert (facts[0].superseded_by, facts[1].supersedes) == ("2", "1")


def test_seed_003_vector_2_saying_it_three_times_does_not_outweigh_a_supersession() -> None:
    said_often = [new(str(n), "order_v1", "approved", minutes=n) for n in range(3)]
    facts = written(*said_often, new("9", "order_v2", "cancelled", minutes=9, supersedes=("order_v1",)))
    assert valid(facts) == ["cancelled"]


def test_seed_003_vector_3_an_interns_wish_does_not_supersede_a_policy() -> None:
    policy = new("1", "policy", "max 15%", source="policy", authority=Authority.ADMIN, is_constraint=True, person="")
    facts = written(policy)
    for wish in (
        new("2", "policy", "25%", minutes=1, person="", authority=Authority.GUEST),
        new("3", "wish", "offer 25%", minutes=1, person="", authority=Authority.GUEST, supersedes=("policy",)),
    ):
        after, changes = write(facts, wish)
        assert after == facts
        assert changes == (WriteRefused(Refusal.GREATER_AUTHORITY, "1"),)


def test_seed_003_what_binds_others_is_written_by_managers_and_above() -> None:
    ways: list[dict[str, Any]] = [{"source": "policy"}, {"is_constraint": True}]
    for fields in ways:
        limit = new("1", "limit", "max 15%", authority=Authority.EMPLOYEE, **fields)
        assert write((), limit) == ((), (WriteRefused(Refusal.NOT_A_MANAGER),))
        allowed = new("1", "limit", "max 15%", authority=Authority.MANAGER, **fields)
        assert write((), allowed)[1] == (FactAdded("1"),)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("policy", MemoryType.ORGANIZATIONAL),
        ("hr_system", MemoryType.ORGANIZATIONAL),
        ("heuristic", MemoryType.CAPABILITY),
        ("observation", MemoryType.CAPABILITY),
        ("decision", MemoryType.USER),
        ("anything else", MemoryType.USER),
    ],
)
def test_seed_003_the_source_says_whose_knowledge_a_fact_is(source: str, expected: MemoryType) -> None:
    (fact,) = written(new("1", "k", "v", source=source, authority=Authority.ADMIN))
    assert fact.memory_type is expected


def test_seed_003_rule_2_a_contradiction_supersedes_without_a_reference() -> None:
    facts = written(
        new("1", "meeting", "Meeting is Tuesday at 2pm"),
        new("2", "plan", "Let's do the meeting Thursday at 3pm", minutes=1),
    )
    assert valid(facts) == ["Let's do the meeting Thursday at 3pm"]


def test_seed_003_rule_4_a_late_arrival_joins_the_chain_as_history() -> None:
    facts = written(
        new("2", "stock_price", "$95", minutes=20),
        new("1", "stock_price", "$100", minutes=1),
    )
    assert valid(facts) == ["$95"]
    assert [fact.value for fact in chain(facts, "1")] == ["$100", "$95"]


def test_two_facts_about_two_customers_stand_side_by_side() -> None:
    facts = written(
        new("1", "sla_a", "Acme has a response SLA of 4 hours"),
        new("2", "sla_b", "Beta has a response SLA of 8 hours", minutes=1),
    )
    assert len(valid(facts)) == 2


def test_seed_003_the_chain_of_supersessions_can_be_traced() -> None:
    facts = written(
        new("1", "address", "123 Main St"),
        new("2", "address", "456 Oak Ave", minutes=1),
        new("3", "address_v3", "7 Elm Road", minutes=2, supersedes=("address",)),
    )
    assert [fact.id for fact in chain(facts, "2")] == ["1", "2", "3"]
    now = current(facts, "address")
    assert now is not None
    assert now.value == "7 Elm Road"


def test_seed_003_what_rests_on_a_superseded_fact_needs_review_however_far_away() -> None:
    facts = written(
        new("1", "budget", "$200"),
        new("2", "purchase", "two chairs", depends_on=("budget",)),
        new("3", "seating", "everybody sits", depends_on=("purchase",)),
        new("4", "unrelated", "blue walls"),
    )
    facts, changes = write(facts, new("5", "budget", "$120", minutes=1))
    assert changes == (FactAdded("5"), FactSuperseded("1", "5"), ReviewNeeded("2", "1"), ReviewNeeded("3", "1"))
    assert [fact.id for fact in facts if fact.needs_review] == ["2", "3"]


def test_what_is_said_again_after_a_review_was_asked_for_is_settled_and_rests_on_what_holds_now() -> None:
    trip = new("2", "trip", "two days", minutes=1, depends_on=("budget",))
    facts = written(new("1", "budget", "100 EUR"), trip, new("3", "budget", "50 EUR", minutes=2))
    again = new("4", "trip", "two days", minutes=3)
    facts, changes = write(facts, again)
    assert changes == (ReviewSettled("2"),)
    assert outcome(facts, changes, again) == Written(facts[1])
    assert (facts[1].needs_review, facts[1].depends_on) == (False, ("3",))
    assert [fact.derived_facts for fact in facts] == [(), (), ("2",)]
    assert write(facts, new("5", "trip", "two days", minutes=4)) == (facts, ())
    facts, _ = write(facts, new("6", "budget", "10 EUR", minutes=5))
    assert [fact.id for fact in facts if fact.needs_review] == ["2"]


def test_whoever_has_less_authority_settles_nothing_by_saying_it_again() -> None:
    trip = new("2", "trip", "two days", minutes=1, depends_on=("budget",), authority=Authority.MANAGER)
    facts = written(new("1", "budget", "100 EUR"), trip, new("3", "budget", "50 EUR", minutes=2))
    after, changes = write(facts, new("4", "trip", "two days", minutes=3, authority=Authority.GUEST))
    assert (after, changes) == (facts, ())


def test_a_fact_that_rests_on_a_superseded_one_from_the_start_needs_review() -> None:
    facts = written(
        new("1", "budget", "$200"),
        new("2", "budget", "$120", minutes=1),
        new("3", "purchase", "two chairs", minutes=2, depends_on=("1",)),
    )
    assert [fact.id for fact in facts if fact.needs_review] == ["3"]


@pytest.mark.parametrize("scope", [Scope.HYPOTHETICAL, Scope.DRAFT, Scope.TASK, Scope.SESSION])
def test_seed_003_what_is_assumed_in_a_scope_touches_nothing_that_holds_everywhere(scope: Scope) -> None:
    facts = written(
        new("1", "price", "$50 per unit"),
        new("2", "price", "$40 per unit", minutes=1, scope=scope, scope_id="s"),
        new("3", "idea", "$30 per unit", minutes=2, scope=scope, scope_id="s", supersedes=("1",)),
    )
    assert [fact.id for fact in facts if fact.is_valid and fact.scope is Scope.GLOBAL] == ["1"]


def test_a_global_decision_settles_the_draft_that_it_names() -> None:
    facts = written(
        new("1", "price_draft", "$40", scope=Scope.DRAFT, scope_id="d"),
        new("2", "price", "$45", minutes=1, supersedes=("price_draft",)),
    )
    assert valid(facts) == ["$45"]


@pytest.mark.parametrize("other", [{"audience": "person:ann"}, {"person": "bob"}])
def test_facts_of_another_audience_or_person_are_never_marked(other: dict[str, Any]) -> None:
    facts = written(new("1", "city", "Rome", **other), new("2", "city", "Oslo", minutes=1, supersedes=("1",)))
    assert valid(facts) == ["Rome", "Oslo"]
    assert facts[1].supersedes is None


@pytest.mark.parametrize(
    "again",
    ["Launch date", "the launch date", "date of launch", "Date of the launch", "launch_date", "our launch date"],
)
def test_a_key_that_is_said_in_another_way_is_the_same_key(again: str) -> None:
    facts = written(new("1", "launch date", "in spring, we hope"), new("2", again, "after the fair", minutes=1))
    assert valid(facts) == ["after the fair"]


@pytest.mark.parametrize("other", ["launch", "date", "launch date of Zeus", "end date", "date of the launch of Zeus"])
def test_a_key_with_other_words_is_another_key(other: str) -> None:
    facts = written(new("1", "launch date", "in spring, we hope"), new("2", other, "after the fair", minutes=1))
    assert len(valid(facts)) == 2


@pytest.mark.slow
def test_of_many_facts_those_with_most_words_in_common_are_judged() -> None:
    others = [new(str(number), "", f"Invoice {number} of the harbour is paid.", minutes=number) for number in range(60)]
    facts = written(new("boat", "", "The boat of the harbour costs 900 euros."), *others)
    facts, _ = write(facts, new("now", "", "The boat of the harbour now costs 950 euros.", minutes=99))
    assert [fact.id for fact in facts if not fact.is_valid] == ["boat"]


def test_a_value_in_that_of_something_else_is_not_replaced_though_a_model_names_it() -> None:
    deck = new("1", "deck fee", "free", said="The upper deck is free.", source_message=1)
    cabin = new("2", "cabin fee", "no longer free", said="The cabin is no longer free.", source_message=2, minutes=9)
    assert valid(written(deck, replace(cabin, supersedes=("1",)))) == ["free", "no longer free"]


def test_a_quoted_value_is_replaced_by_number_unless_the_keys_name_two_things() -> None:
    older, newer = "The server is in York.", "Not any more: The server is in York."
    for key, other, is_replaced in (("server a1", "server a1", True), ("server a1", "server a2", False)):
        facts = written(new("1", key, older), new("2", other, newer, minutes=1, supersedes=("1",)))
        assert facts[0].is_valid is not is_replaced
        assert facts[0].doubted_by == (None if is_replaced else "2")
