"""What a day and a month will have cost at this pace; nothing is made up where there is too little to say."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.messages import ModelCall, Usage
from agent.spending import Forecast, SpendingAccount, Spent, Total, account, forecast
from bot.budgets import texts as budgets_texts
from bot.budgets.report import account_text

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
PRICED = ModelCall("openai:gpt-6.1-terra", Usage(output=20_000))
LOCAL = ModelCall("ollama:llama3.2", Usage(output=100))


def on(day: int, calls: int, call: ModelCall = PRICED) -> Total:
    return Total(f"2026-11-{day:02}", Spent.on([call] * calls))


def test_a_day_at_noon_will_have_cost_twice_as_much_and_a_month_counts_from_its_first_day_with_calls() -> None:
    ahead = forecast([on(12, 5), on(21, 5)], NOON)
    assert ahead == Forecast(day=2.0, month=19 / 9.5)


def test_too_early_or_too_little_is_no_forecast() -> None:
    assert forecast([], NOON) == Forecast()
    assert forecast([on(1, 3), on(21, 1)], NOON) == Forecast(), "four calls are no habit"
    assert forecast([on(19, 9), on(21, 9)], NOON - timedelta(hours=9)) == Forecast(), "it has hardly begun"
    assert forecast([on(1, 9), on(21, 4)], NOON).day is None
    assert forecast([on(20, 9), on(21, 9)], NOON).month is None


def words(days: list[Total], now: datetime = NOON) -> str:
    return account_text(account(days, now), ahead=forecast(days, now))


def test_the_forecast_is_in_money_or_else_in_tokens_and_says_what_it_does_not_know() -> None:
    assert "At this pace, today will cost about $1.00, and this month about $2.00." in words([on(12, 5), on(21, 5)])
    assert "today will cost at least $1.00, and" in words([on(12, 5), on(21, 5), on(21, 5, LOCAL)])
    assert "today will cost about 1,000 tokens, and" in words([on(12, 5, LOCAL), on(21, 5, LOCAL)])
    assert budgets_texts.FORECAST_DAY.format(day="about $1.00") in words([on(21, 5)])
    assert "It is too early to estimate today." in words([on(12, 5), on(21, 1)])
    assert budgets_texts.NO_FORECAST in words([on(21, 1)])
    assert account_text(SpendingAccount(Spent(), Spent())) == budgets_texts.NOTHING_SPENT


@given(
    st.lists(st.tuples(st.integers(1, 28), st.integers(0, 40)), max_size=28),
    st.integers(1, 28),
    st.timedeltas(timedelta(0), timedelta(days=1) - timedelta(microseconds=1)),
)
def test_a_forecast_is_never_less_than_what_was_spent(spent: list[tuple[int, int]], day: int, since: timedelta) -> None:
    now = datetime(2026, 11, day, tzinfo=UTC) + since
    ahead = forecast([on(each, calls) for each, calls in spent if each <= day], now)
    assert all(factor is None or factor > 1.0 for factor in (ahead.day, ahead.month))
