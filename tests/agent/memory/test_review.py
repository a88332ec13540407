"""Which entries are offered for review: what nobody used for half a year, and what a newer policy overrules."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Authority
from agent.memory.facts import Fact
from agent.memory.layers import Remembered
from agent.memory.profile import ProfileEntry, ProfileField
from agent.memory.review import MARKED_EVERY, MAX_OFFERED, UNUSED, Review, due_reviews, last_used, to_mark, written
from tests.fakes.clock import NOON
from tests.fakes.facts import fact

HALF_A_YEAR = timedelta(days=183)
DAY = timedelta(days=1)
TEAM, CLUB, DM = "team:T", "group:club", "person:ann"


def entry(id_: int, time: datetime, *, used: datetime | None = None, kept: datetime | None = None) -> ProfileEntry:
    return ProfileEntry(id_, ProfileField.GOALS, f"goal {id_}", DM, (id_,), time, used=used, kept=kept)


def policy(text: str, time: datetime, authority: Authority = Authority.MANAGER, audience: str = TEAM) -> Fact:
    return replace(fact("90", "", text, audience, time), authority=authority, is_constraint=True)


def reasons(items: Sequence[Remembered], *policies: Fact, now: datetime = NOON) -> list[tuple[int | str, bool]]:
    return [(review.item.id, review.by is not None) for review in due_reviews(items, policies, now)]


def test_what_was_not_used_for_half_a_year_is_offered_and_that_used_again_is_not() -> None:
    old = NOON - UNUSED
    assert reasons([entry(1, old), entry(2, old + DAY)]) == [(1, False)]
    assert reasons([entry(1, old - 9 * DAY, used=old), entry(2, old, used=NOON - DAY)]) == [(1, False)]
    assert reasons([replace(fact("3", "ann", "tea", DM, old), used=old + DAY)]) == []


def test_what_was_said_again_since_counts_as_used() -> None:
    assert last_used(entry(1, NOON, used=NOON - UNUSED)) == NOON
    assert reasons([entry(1, NOON - DAY, used=NOON - UNUSED)]) == []


def test_an_entry_that_was_kept_is_not_offered_for_half_a_year_whatever_the_reason() -> None:
    budget = fact("1", "ann", "the budget of Apollo is 9,000 EUR", TEAM, NOON - 2 * UNUSED)
    at_most = policy("the budget of Apollo is at most 5,000 EUR", NOON - DAY)
    assert reasons([budget], at_most) == [("1", True)]
    for asked in (budget, entry(2, NOON - 3 * UNUSED)):
        kept = replace(asked, kept=NOON - UNUSED + DAY)
        assert reasons([kept], at_most) == []
        assert len(due_reviews([kept], [at_most], NOON + DAY)) == 1


def test_a_newer_policy_that_sets_another_limit_overrules_a_fact() -> None:
    budget = fact("1", "ann", "the budget of Apollo is 9,000 EUR", TEAM, NOON - DAY)
    at_most = policy("the budget of Apollo is at most 5,000 EUR", NOON)
    assert due_reviews([budget], [at_most], NOON) == [Review(budget, NOON, at_most)]
    assert reasons([replace(budget, value="the budget of Apollo is 4,000 EUR")], at_most) == []
    assert reasons([replace(budget, value="the budget of Juno is 9,000 EUR")], at_most) == []
    assert reasons([replace(budget, timestamp=NOON + DAY)], at_most) == [], "it was said since"


@pytest.mark.parametrize(
    ("author", "setter", "overruled"),
    [
        (Authority.EMPLOYEE, Authority.MANAGER, True),
        (Authority.MANAGER, Authority.MANAGER, True),
        (Authority.ADMIN, Authority.MANAGER, False),
        (Authority.ADMIN, Authority.ADMIN, True),
    ],
)
def test_a_policy_overrules_what_people_of_no_higher_role_said(
    author: Authority, setter: Authority, *, overruled: bool
) -> None:
    budget = replace(fact("1", "ann", "the budget of Apollo is 9,000 EUR", TEAM, NOON - DAY), authority=author)
    at_most = policy("the budget of Apollo is at most 5,000 EUR", NOON, setter)
    assert bool(reasons([budget], at_most)) == overruled


def test_a_policy_overrules_nothing_of_a_place_where_it_does_not_apply_and_nothing_about_a_person() -> None:
    text = "the budget of Apollo is 9,000 EUR"
    at_most = policy("the budget of Apollo is at most 5,000 EUR", NOON, audience=CLUB)
    in_club, elsewhere = fact("1", "ann", text, CLUB, NOON - DAY), fact("2", "ann", text, "group:board", NOON - DAY)
    in_dm = fact("3", "ann", text, DM, NOON - DAY)
    assert reasons([in_club, elsewhere, in_dm], at_most) == [("1", True), ("3", True)]
    limit = replace(entry(4, NOON - DAY), field=ProfileField.CONSTRAINTS, text=text)
    assert reasons([limit], at_most) == []


def test_an_entry_that_waits_for_another_decision_is_not_offered() -> None:
    old, new = fact("1", "ann", "tea", DM, NOON - 2 * UNUSED), fact("2", "ann", "coffee", DM, NOON)
    assert reasons([replace(old, doubted_by="2"), new]) == []
    assert reasons([replace(old, doubted_by="9"), new]) == [("1", False)], "the newer one is gone"


def test_overruled_entries_come_first_then_those_that_were_unused_for_longest_and_three_at_most() -> None:
    items: list[Remembered] = [entry(number, NOON - UNUSED - number * DAY) for number in range(1, 9)]
    items.append(fact("1", "ann", "the budget of Apollo is 9,000 EUR", TEAM, NOON - DAY))
    at_most = policy("the budget of Apollo is at most 5,000 EUR", NOON)
    assert reasons(items, at_most) == [("1", True), (8, False), (7, False)]


def test_the_use_of_an_entry_is_stored_once_a_day() -> None:
    never, today, yesterday = entry(1, NOON), entry(2, NOON, used=NOON), entry(3, NOON, used=NOON - MARKED_EVERY)
    assert to_mark([never, today, yesterday], NOON + timedelta(hours=1)) == (1, 3)
    assert to_mark([today], NOON + MARKED_EVERY) == (2,)


DAYS = st.integers(0, 900)
MOMENTS = DAYS.map(lambda days: NOON - timedelta(days=days))
ENTRIES = st.builds(entry, st.integers(1, 999), MOMENTS, used=st.none() | MOMENTS, kept=st.none() | MOMENTS)


@given(st.lists(ENTRIES, max_size=12, unique_by=lambda one: one.id))
def test_whatever_is_offered_was_unused_for_half_a_year_and_not_kept_since(items: list[ProfileEntry]) -> None:
    reviews = due_reviews(items, [], NOON)
    assert len(reviews) <= MAX_OFFERED
    for review in reviews:
        moments = [written(review.item), review.item.used, review.item.kept]
        # What is stored of a use may be a day old.
        assert all(NOON - moment >= HALF_A_YEAR for moment in moments if moment is not None)
    offered = {review.item.id for review in reviews}
    longest = max((last_used(item) for item in items if item.id in offered), default=NOON)
    left = [item for item in due_reviews(items, [], NOON, limit=len(items)) if item.item.id not in offered]
    assert all(last_used(review.item) >= longest for review in left), "those that were unused for longest come first"


@given(st.lists(MOMENTS, min_size=1, max_size=40))
def test_an_entry_in_use_is_never_offered_whenever_its_use_is_stored(turns: list[datetime]) -> None:
    item = entry(1, NOON - timedelta(days=900))
    for moment in sorted(turns):
        if to_mark([item], moment):
            item = replace(item, used=moment)
        after = moment + HALF_A_YEAR
        assert due_reviews([item], [], after) == []
        assert due_reviews([item], [], moment + UNUSED) != []
