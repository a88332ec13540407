"""HTML's references to characters are read as `html.unescape` reads them, and of any length."""

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.addresses import hosts_in
from agent.messages import read_references

DIGITS = "9" * 5_000
LONG = [f"&#{DIGITS};", f"&#{DIGITS}", f"&#x{DIGITS};", f"&#{'0' * 5_000}65;", f"&#X{'0' * 5_000}41", f"&#x{'0' * 9};"]


@given(st.text("&#xX019aAfF;; amp", max_size=12).map("&#".__add__))
def test_references_are_read_as_html_says(text: str) -> None:
    assert read_references(text) == html.unescape(text)  # noqa: TID251 -- it is the oracle


@pytest.mark.parametrize(("reference", "char"), [*zip(LONG, "\ufffd\ufffd\ufffdAA\ufffd", strict=True)])
def test_a_number_of_any_length_is_a_character_or_none(reference: str, char: str) -> None:
    assert read_references(f"a{reference} b") == f"a{char} b"


@pytest.mark.parametrize("reference", LONG)
def test_addresses_are_looked_for_in_a_text_with_such_a_number(reference: str) -> None:
    assert hosts_in(f"see evil.example/{reference} there") == [f"evil.example/{reference}".rstrip(";")]
