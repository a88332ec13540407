"""The values that a sentence names, and that long lists of numbers are read in one pass."""

import time

import pytest

from agent.memory.statements import read_statement, sentences
from tests.patience import cpu_s


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("it is $5,000", "5000"),
        ("it is $5k", "5000"),
        ("it is $5.", "5"),
        ("it is € 1.2m now", "1.2m"),
        ("it is 1,234 dollars.", "1234dollars"),
        ("it is 5.5 usd", "5.5usd"),
    ],
)
def test_money_is_read_with_its_points_commas_and_units(text: str, value: str) -> None:
    assert ("money", value) in read_statement(text).values


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["1.", "1,", "1,,", "10.0.0.1\n", "12,345, ", "$1.", "1.1 ", "9", "$"])
def test_a_long_list_of_numbers_takes_as_long_as_it_is(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    started = time.process_time()
    for sentence in (text, *sentences(text)):
        read_statement(sentence)
    assert time.process_time() - started < cpu_s(2)  # quadratic, it took a minute
