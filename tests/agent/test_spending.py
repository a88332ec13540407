"""Spending: sums that add up, periods with both ends, an account of today and this month."""

from datetime import UTC, date, datetime

from hypothesis import given
from hypothesis import strategies as st

from agent.messages import ModelCall, Usage
from agent.spending import NOTHING, SpendingAccount, SpendingPeriod, Spent, Total, account, cost

NOW = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
LUNA = ModelCall("openai:gpt-6-luna", Usage(input_uncached=1_000, output=100, reasoning=10, bytes_up=4_000))
LOCAL = ModelCall("ollama:llama3.2", Usage(input_uncached=7, output=2, estimated=True))
CALLS = st.lists(st.sampled_from([LUNA, LOCAL]), max_size=9)


def test_a_call_without_a_price_is_counted_and_adds_no_money() -> None:
    spent = Spent.on([LUNA, LOCAL, LUNA])
    assert (spent.calls, spent.unpriced, spent.cost) == (3, 1, 2 * (cost(LUNA) or NOTHING))
    assert spent.usage == LUNA.usage + LOCAL.usage + LUNA.usage


@given(CALLS, CALLS)
def test_the_sum_of_two_sums_is_the_sum_of_all(some: list[ModelCall], others: list[ModelCall]) -> None:
    assert Spent.on(some) + Spent.on(others) == Spent.on(some + others)


def test_a_month_begins_with_its_first_and_ends_today() -> None:
    assert SpendingPeriod.month_of(NOW) == SpendingPeriod(date(2026, 11, 1), date(2026, 11, 21))


def test_days_count_back_from_today_which_is_one_of_them() -> None:
    assert SpendingPeriod.days_until(NOW, 1) == SpendingPeriod(NOW.date(), NOW.date())
    assert SpendingPeriod.days_until(NOW, 30) == SpendingPeriod(date(2026, 10, 23), NOW.date())


def test_an_account_tells_today_from_the_month_that_holds_it() -> None:
    earlier, today = Spent.on([LOCAL]), Spent.on([LUNA])
    assert account([Total("2026-11-02", earlier), Total("2026-11-21", today)], NOW) == SpendingAccount(
        today, earlier + today
    )
    assert account([Total("2026-11-02", earlier)], NOW) == SpendingAccount(Spent(), earlier)
    assert account([], NOW) == SpendingAccount(Spent(), Spent())
