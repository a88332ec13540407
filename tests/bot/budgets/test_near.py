"""Most of a day's budget being spent is told once a day for each budget, also if it was raised."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Whose
from agent.errors import StoreUnavailable
from agent.messages import ModelCall, Usage
from agent.outgoing import NearBudget
from agent.spending import NANO, Money, Spent
from bot.budgets.budgets import NEAR, TOKENS, UNLIMITED, Budget, BudgetAllowances, Budgets, share
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

LIMIT = 1_000


def allowances(store: StoreInMemory, clock: FakeClock, told: list[NearBudget], *, fails: int = 0) -> BudgetAllowances:
    left = [fails]

    async def hear(near: NearBudget, _: datetime) -> None:
        if left[0]:
            left[0] -= 1
            raise StoreUnavailable("The disk is full.")
        told.append(near)

    usual = Budgets(person=Budget(tokens=LIMIT), everyone=Budget(money=Money(NANO)))
    return BudgetAllowances(usual, store.spending, store.preferences, clock, on_near=hear)


async def spend(store: StoreInMemory, clock: FakeClock, tokens: int) -> None:
    await store.spending.charge("ann", "turn", [ModelCall("m", Usage(output=tokens))], clock.now())


async def test_it_is_told_once_a_day_when_four_fifths_are_spent() -> None:
    store, clock, told = store_in_memory(), FakeClock(auto=False), list[NearBudget]()
    budgets = allowances(store, clock, told)
    await spend(store, clock, 799)
    assert await budgets.budget_left(said("one")) is None
    assert told == []
    await spend(store, clock, 51)
    for _ in range(3):
        assert await budgets.budget_left(said("two")) is None
    (near,) = told
    assert (near.whose, near.id, near.owner, near.percent) == (Whose.PERSON, "ann", "ann", 85)
    assert (near.tokens, near.token_limit, near.dollar_limit) == (850, LIMIT, None)
    assert near.resets - clock.now() < timedelta(days=1)
    await clock.advance(timedelta(days=1).total_seconds())
    assert await budgets.budget_left(said("three")) is None
    await spend(store, clock, LIMIT)
    assert await budgets.budget_left(said("four")) is not None
    assert [each.percent for each in told] == [85, 100]


async def test_calls_of_a_running_turn_count_and_a_raised_budget_is_the_measure() -> None:
    store, clock, told = store_in_memory(), FakeClock(auto=False), list[NearBudget]()
    budgets = allowances(store, clock, told)
    await store.preferences.set("ann", TOKENS, "10000")
    await spend(store, clock, 900)
    await budgets.budget_left(said("one"), [ModelCall("m", Usage(output=7_000))])
    assert told == []
    await budgets.budget_left(said("two"), [ModelCall("m", Usage(output=7_100))])
    assert [(each.percent, each.token_limit) for each in told] == [(80, 10_000)]


async def test_a_store_that_cannot_be_written_stops_no_question_and_the_next_one_tells() -> None:
    store, clock, told = store_in_memory(), FakeClock(auto=False), list[NearBudget]()
    budgets = allowances(store, clock, told, fails=1)
    await spend(store, clock, 850)
    for _ in range(2):
        assert await budgets.budget_left(said("one")) is None
    assert len(told) == 1


@given(st.integers(0, 10**9), st.integers(0, 10**12), st.integers(0, 10**9), st.integers(0, 10**12))
def test_a_share_is_that_of_the_limit_which_is_reached_first(
    tokens: int, cost: int, token_limit: int, cost_limit: int
) -> None:
    spent = Spent(1, Usage(output=tokens), Money(cost))
    both = share(spent, Budget(token_limit, Money(cost_limit)))
    assert both == max(share(spent, Budget(token_limit)), share(spent, Budget(None, Money(cost_limit))))
    assert share(spent, UNLIMITED) == 0.0
    if tokens >= token_limit:
        assert both >= 1.0 > NEAR


def test_a_budget_of_nothing_is_spent() -> None:
    assert share(Spent(), Budget(tokens=0)) == pytest.approx(1.0)
