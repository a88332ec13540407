"""Most of a day's budget being spent is noticed once a day for each budget, also if it was raised."""

from dataclasses import replace
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Whose
from agent.budget_days import BUDGET, BudgetDay, NearSpent
from agent.messages import ModelCall, Usage
from agent.outgoing import NearBudget, OutgoingEvent, Subscription
from agent.spending import NANO, Money, Spent, SpentBy
from bot.budgets.budgets import DEFAULT_NEAR, TOKENS, UNLIMITED, Budget, BudgetAllowances, Budgets, drawn_on, share
from bot.budgets.gate import BudgetGate
from store.model_calls import SqlSpending
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said
from tests.fakes.store import StoreInMemory, store_in_memory

LIMIT = 1_000
QUESTION = said("one")


def opened(store: StoreInMemory, clock: FakeClock) -> BudgetGate:
    usual = Budgets(person=Budget(tokens=LIMIT), everyone=Budget(money=Money(NANO)))
    return BudgetGate(BudgetAllowances(usual, store.spending, store.preferences, clock, store.budget_days))


async def spend(store: StoreInMemory, clock: FakeClock, tokens: int) -> None:
    await store.spending.charge("ann", "turn", [ModelCall("m", Usage(output=tokens))], clock.now())


async def noticed(gate: BudgetGate) -> list[BudgetDay]:
    now = gate.allowances.clock.now()
    return [day for account in drawn_on(QUESTION) for day in await gate.allowances.days_of(account, now)]


async def test_it_is_noticed_once_a_day_when_four_fifths_are_spent_with_one_event_and_one_job() -> None:
    store, clock = store_in_memory(), FakeClock(auto=False)
    gates = [opened(store, clock) for _ in range(3)]  # each of a process of its own
    row = Subscription("crm", frozenset(OutgoingEvent), frozenset(), "address")
    await store.outbox.subscribe([row], clock.now())
    await spend(store, clock, 799)
    await gates[0].ended(QUESTION, 1, ())
    assert await noticed(gates[0]) == []
    await spend(store, clock, 51)
    for number, gate in enumerate(gates):
        await gate.ended(QUESTION, number, ())
        assert await gate.held(QUESTION, number, (), waits=True) is None
    (day,) = await noticed(gates[0])
    assert (day.budget.whose, day.budget.id, day.near) == (Whose.PERSON, "ann", NearSpent(850, 0, 85))
    assert (BUDGET, str(day.number)) in store.waiting_jobs
    event = await store.outbox.next("crm", "budget")
    assert event is not None
    assert (event.data["percent"], event.data["tokens"], event.data["token_limit"]) == (85, 850, LIMIT)
    await store.outbox.delivered(event.id)
    assert await store.outbox.next("crm", "budget") is None
    await clock.advance(timedelta(days=1).total_seconds())
    await spend(store, clock, LIMIT)
    await gates[0].ended(QUESTION, 4, ())
    assert [each.near and each.near.percent for each in await noticed(gates[0])] == [100]


async def test_a_raised_budget_is_the_measure() -> None:
    store, clock = store_in_memory(), FakeClock(auto=False)
    gate = opened(store, clock)
    await store.preferences.set("ann", TOKENS, "10000")
    await spend(store, clock, 7_900)
    await gate.ended(QUESTION, 1, ())
    assert await noticed(gate) == []
    await spend(store, clock, 100)
    await gate.ended(QUESTION, 1, ())
    assert [day.near for day in await noticed(gate)] == [NearSpent(8_000, 0, 80)]


async def test_a_raised_budget_has_no_second_warning() -> None:
    store, clock = store_in_memory(), FakeClock(auto=False)
    gate = opened(store, clock)
    await spend(store, clock, 850)
    await gate.ended(QUESTION, 1, ())
    await store.preferences.set("ann", TOKENS, "10000")
    await spend(store, clock, 8_000)
    await opened(store, clock).ended(QUESTION, 2, ())
    assert [day.near for day in await noticed(gate)] == [NearSpent(850, 0, 85)]


async def test_the_event_of_a_channel_is_for_each_workspace_that_uses_it() -> None:
    store, clock = store_in_memory(), FakeClock(auto=False)
    told = NearBudget(
        whose=Whose.CHANNEL,
        owner="channel:C1",
        id="C1",
        source="slack:T1",
        percent=80,
        tokens=8,
        token_limit=10,
        dollars=0.0,
        dollar_limit=None,
        resets=clock.now(),
    )
    gate = opened(store, clock)
    accounts = [drawn_on(said("one", person=f"slack:{team}:U1"))[1] for team in ("T1", "T1", "T2")]
    refs = [await gate.allowances.ref(account, clock.now()) for account in accounts]
    assert [await store.budget_days.near(ref, told, 1, clock.now()) for ref in refs] == [True, False, True]


@given(st.integers(0, 10**9), st.integers(0, 10**12), st.integers(0, 10**9), st.integers(0, 10**12))
def test_a_share_is_that_of_the_limit_which_is_reached_first(
    tokens: int, cost: int, token_limit: int, cost_limit: int
) -> None:
    spent = Spent(1, Usage(output=tokens), Money(cost))
    both = share(spent, Budget(token_limit, Money(cost_limit)))
    assert both == max(share(spent, Budget(token_limit)), share(spent, Budget(None, Money(cost_limit))))
    assert share(spent, UNLIMITED) == 0.0
    if tokens >= token_limit:
        assert both >= 1.0 > DEFAULT_NEAR / 100


def test_a_budget_of_nothing_is_spent() -> None:
    assert share(Spent(), Budget(tokens=0)) == pytest.approx(1.0)


class CountedSpending(SqlSpending):
    reads = 0

    async def spent_on(self, day: date, *whose: SpentBy) -> list[Spent]:
        self.reads += 1
        return await SqlSpending.spent_on(self, day, *whose)


async def test_the_end_of_a_turn_reads_nothing_unless_the_budget_may_be_near() -> None:
    store, clock = store_in_memory(), FakeClock(auto=False)
    spending = CountedSpending(store.database)
    gate = opened(replace(store, spending=spending), clock)
    assert await gate.held(QUESTION, 1, (), waits=True) is None
    few, many = (ModelCall("m", Usage(output=tokens)) for tokens in (799, 1))
    await spend(store, clock, 799)
    await gate.ended(QUESTION, 1, [few])
    assert spending.reads == 1
    await spend(store, clock, 1)
    await gate.ended(QUESTION, 1, [few, many])
    assert spending.reads == 2
    (day,) = await noticed(gate)
    assert day.near == NearSpent(800, 0, 80)
