"""A day's budget in tokens and money: reached at the limit, and explained in a sentence in the person's time zone."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Whose
from agent.messages import Usage
from agent.spending import NANO, Money, Spent
from bot.budgets.budgets import (
    EXEMPT,
    MONEY,
    TOKENS,
    UNLIMITED,
    Budget,
    Budgets,
    exceeded,
    midnight,
    over_budget,
    raised_budget,
    tokens_spent,
)

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 -- naive bounds are what it takes
AMOUNTS = st.integers(0, 10**13)


def spent(count: int = 0, dollars: float = 0.0) -> Spent:
    return Spent(calls=1, usage=Usage(output=count), cost=Money(round(dollars * NANO)))


def test_every_kind_of_token_counts() -> None:
    assert tokens_spent(Spent(1, Usage(1, 10, 100, 1_000, 10_000, bytes_up=7))) == 11_111


def test_a_budget_is_spent_once_it_is_reached() -> None:
    budget = Budget(tokens=1_000, money=Money(5 * NANO))
    assert over_budget(spent(999, 4.99), budget, Whose.PERSON, NOON) is None
    assert over_budget(spent(1_000), budget, Whose.PERSON, NOON, "Europe/Madrid") == (
        "You have used up today's budget of 1,000 tokens. It resets at 01:00 (Europe/Madrid)."
    )
    assert over_budget(spent(dollars=5.0), budget, Whose.CHANNEL, NOON, "America/New_York") == (
        "This channel has used up today's budget of $5.00. It resets at 19:00 (America/New_York)."
    )
    assert over_budget(spent(1_000), budget, Whose.EVERYONE, NOON, "no/where") == (
        "Everyone together has used up today's budget of 1,000 tokens. It resets at 00:00 (UTC)."
    )


@pytest.mark.parametrize("zone", ["", "/etc/passwd", "../x", "Nowhere", "\0"])
def test_an_invalid_time_zone_is_read_as_utc(zone: str) -> None:
    assert "00:00 (UTC)" in str(over_budget(spent(1), Budget(tokens=1), Whose.PERSON, NOON, zone))


@given(AMOUNTS, AMOUNTS)
def test_without_a_limit_a_budget_is_never_spent(count: int, cost: int) -> None:
    assert exceeded(Spent(1, Usage(output=count), Money(cost)), UNLIMITED) is None


@given(AMOUNTS, AMOUNTS, st.integers(1, 10**13), st.integers(1, 10**13))
def test_a_spent_budget_stays_spent_after_spending_more(count: int, more: int, limit: int, raised: int) -> None:
    budget = Budget(tokens=limit)
    if exceeded(spent(count), budget):
        assert exceeded(spent(count) + spent(more), budget)
    lower, higher = sorted([limit, raised])
    if exceeded(spent(count), Budget(tokens=higher)):
        assert exceeded(spent(count), Budget(tokens=lower))


@given(MOMENTS)
def test_the_next_day_begins_within_a_day(now: datetime) -> None:
    assert now < midnight(now) <= now + timedelta(days=1)
    assert midnight(now).timetz() == datetime.min.replace(tzinfo=UTC).timetz()


def test_a_budget_can_be_raised_and_lifted_and_never_lowered() -> None:
    usual = Budget(tokens=1_000)
    assert raised_budget(usual, {}) == usual
    assert raised_budget(usual, {TOKENS: "5000", MONEY: "7"}) == Budget(tokens=5_000)
    assert raised_budget(usual, {TOKENS: "10"}) == usual
    assert raised_budget(usual, {TOKENS: "many"}) == usual
    assert raised_budget(Budget(money=Money(5)), {MONEY: "7"}) == Budget(money=Money(7))
    assert raised_budget(usual, {EXEMPT: "yes"}) == UNLIMITED


@given(st.integers(1, 10**13), st.text(max_size=20))
def test_whatever_is_stored_a_budget_is_never_less_than_the_default(usual: int, kept: str) -> None:
    left = raised_budget(Budget(tokens=usual), {TOKENS: kept})
    assert left.tokens is not None
    assert left.tokens >= usual


def test_each_budget_has_an_owner() -> None:
    budgets = Budgets(Budget(1), Budget(2), Budget(3), Budget(4))
    each = (Whose.PERSON, Whose.CHANNEL, Whose.EVERYONE, Whose.WORKSPACE)
    assert [budgets.of(whose).tokens for whose in each] == [1, 2, 3, 4]
    assert Budgets().person == UNLIMITED
