"""Amounts: significant digits only, and never zero for a positive amount."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.spending import NANO, Money
from bot.chat.texts.formatting import counted, money


@pytest.mark.parametrize(
    ("nano", "shown"),
    [
        (0, "$0"),
        (1, "under $0.0001"),
        (99_999, "under $0.0001"),
        (100_000, "$0.0001"),
        (12_345_678, "$0.0123"),
        (999_000_000, "$0.9990"),
        (NANO, "$1.00"),
        (1_234_567 * NANO, "$1,234,567.00"),
    ],
)
def test_money_has_significant_digits_only(nano: int, shown: str) -> None:
    assert money(Money(nano)) == shown


@given(st.integers(1, 10**18))
def test_a_positive_amount_is_never_shown_as_zero(nano: int) -> None:
    assert money(Money(nano)).strip("$0.") != ""


def test_one_is_singular_and_thousands_are_separated() -> None:
    assert [counted(count, "token", "tokens") for count in (0, 1, 1_200)] == ["0 tokens", "1 token", "1,200 tokens"]
