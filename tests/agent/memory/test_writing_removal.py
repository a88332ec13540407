"""Seed 003, dependency tracking, and forgetting: what is removed with a fact, and how its chain is repaired."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.memory.facts import Fact, chain, with_superseded
from agent.memory.writing import fallen, removed, write
from tests.agent.memory.test_writing import new, written
from tests.examples import examples


def ids(facts: tuple[Fact, ...]) -> list[str]:
    return [fact.id for fact in facts]


def test_what_was_derived_falls_however_far_away() -> None:
    facts = written(
        new("1", "budget", "100"),
        new("2", "trip", "two days", minutes=1, depends_on=("budget",)),
        new("3", "hotel", "the Harbour", minutes=2, depends_on=("trip",)),
        new("4", "boat", "blue", minutes=3),
    )
    assert fallen(facts, ["1"]) == {"1", "2", "3"}
    assert ids(removed(facts, ["1"])) == ["4"]
    assert removed(facts, ["3"])[1].derived_facts == ()


def test_a_chain_closes_over_a_gap_and_the_last_that_stays_holds_again() -> None:
    facts = written(*(new(str(n), "deadline", f"day {n}", minutes=n) for n in range(4)))
    without_middle = removed(facts, ["1", "2"])
    assert ids(chain(without_middle, "0")) == ["0", "3"]
    assert [fact.is_valid for fact in without_middle] == [False, True]
    without_end = removed(facts, ["2", "3"])
    assert [(fact.is_valid, fact.superseded_by) for fact in without_end] == [(False, "1"), (True, None)]


def test_what_was_taken_back_without_a_successor_stays_taken_back() -> None:
    (fact,) = written(new("1", "limit", "3"))
    assert removed((replace(fact, is_valid=False),), ["other"])[0].is_valid is False


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 2), max_size=2)), max_size=10), st.data())
@settings(max_examples=examples(100, always=True))
def test_whatever_is_removed_no_link_leads_to_what_is_gone(
    writes: list[tuple[int, list[int]]], data: st.DataObject
) -> None:
    facts: tuple[Fact, ...] = ()
    for number, (key, grounds) in enumerate(writes):
        depends_on = tuple(f"key{ground}" for ground in grounds if ground != key)
        facts, _ = write(facts, new(str(number), f"key{key}", f"v{number}", minutes=number, depends_on=depends_on))
    gone = data.draw(st.sets(st.sampled_from(ids(facts)) if facts else st.nothing()))
    left = removed(facts, gone)
    known = set(ids(left))
    assert not known & gone
    for fact in left:
        links = {fact.superseded_by, fact.supersedes, *fact.depends_on, *fact.derived_facts} - {None}
        assert links <= known


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["is 3", "is 4", "is not 3"])), min_size=1, max_size=8))
@settings(max_examples=examples(100, always=True))
def test_without_a_fact_and_all_whose_place_it_took_nothing_holds_that_did_not_before(
    writes: list[tuple[int, str]],
) -> None:
    facts = written(*(new(str(n), f"key{key}", f"It {value}", minutes=n) for n, (key, value) in enumerate(writes)))
    for fact in (fact for fact in facts if fact.is_valid):
        left = removed(facts, with_superseded(facts, fact.id))
        assert {one.id for one in left if one.is_valid} == {one.id for one in facts if one.is_valid} - {fact.id}
