"""The words of /budget: whose, then what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.admission_terms import Whose
from agent.spending import NANO, Money
from bot.budgets.service import BudgetRequest, Change, Exempt, Raise, Reset, read_budget_request


@pytest.mark.parametrize(
    ("words", "request_"),
    [
        ("", BudgetRequest(Whose.PERSON)),
        ("me", BudgetRequest(Whose.PERSON)),
        (" Channel ", BudgetRequest(Whose.CHANNEL)),
        ("everyone show", BudgetRequest(Whose.EVERYONE)),
        ("person:slack:T1:U7", BudgetRequest(Whose.PERSON, "slack:T1:U7")),
        ("workspace", BudgetRequest(Whose.WORKSPACE)),
        ("workspace:slack:T1 reset", BudgetRequest(Whose.WORKSPACE, "slack:T1", Reset())),
        ("channel:C1 exempt", BudgetRequest(Whose.CHANNEL, "C1", Exempt())),
        ("exempt", BudgetRequest(Whose.PERSON, change=Exempt())),
        ("everyone RESET", BudgetRequest(Whose.EVERYONE, change=Reset())),
        ("5,000,000 tokens", BudgetRequest(Whose.PERSON, change=Raise(tokens=5_000_000))),
        ("person:U7  1 token", BudgetRequest(Whose.PERSON, "U7", Raise(tokens=1))),
        ("channel $20", BudgetRequest(Whose.CHANNEL, change=Raise(money=Money(20 * NANO)))),
        ("$ 1,000.5", BudgetRequest(Whose.PERSON, change=Raise(money=Money(1_000 * NANO + NANO // 2)))),
    ],
)
def test_words_are_read_as_whose_and_what(words: str, request_: BudgetRequest) -> None:
    assert read_budget_request(words) == request_


@pytest.mark.parametrize(
    "words", ["everybody", "me me", "meexempt", "20", "$", "-$5", "tokens", "person: exempt", "exempt me", "$1.234"]
)
def test_other_words_are_no_request(words: str) -> None:
    assert read_budget_request(words) is None


@given(
    st.sampled_from([("", Whose.PERSON), ("channel", Whose.CHANNEL), ("everyone", Whose.EVERYONE)]),
    st.one_of(
        st.integers(0, 10**12).map(lambda n: (f"{n:,} tokens", Raise(tokens=n))),
        st.integers(0, 10**9).map(lambda n: (f"${n // 100:,}.{n % 100:02}", Raise(money=Money(n * (NANO // 100))))),
        st.sampled_from([("exempt", Exempt()), ("reset", Reset()), ("", None)]),
    ),
)
def test_words_in_order_are_read_as_meant(whose: tuple[str, Whose], what: tuple[str, Change | None]) -> None:
    assert read_budget_request(f"{whose[0]} {what[0]}") == BudgetRequest(whose[1], change=what[1])


@given(st.text())
def test_no_words_raise(words: str) -> None:
    assert read_budget_request(words) is None or isinstance(read_budget_request(words), BudgetRequest)
