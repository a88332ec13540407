"""Which messages are orders to learn, and the pages that they name."""

import time

import pytest

from bot.knowledge.commands import is_order, links_in
from tests.patience import cpu_s

A, B = "https://a.example/x", "http://b.example/y_(z)?q=1&r=2"


@pytest.mark.parametrize(
    ("words", "links"),
    [
        (A, [A]),
        (f"this {A}", [A]),
        (f"this: {A}.", [A]),
        (f"this page please {A}", [A]),
        (f"these links: {A}, {B} and {A}", [A, B]),
        (f"this <{A}|a.example/x> <{B}>", [A, B]),
        (f"[the handbook]({A}) and [b]({B})", [A, B]),
        (f"({A})", None),
        ("this", []),
        (f"from {A} how to sail", None),
        (f"what {A} says", None),
        ("ftp://a.example/x", None),
        ("https://", None),
    ],
)
def test_an_order_to_learn_is_links_and_words_that_point_at_them(words: str, links: list[str] | None) -> None:
    assert is_order(words) is (links is not None)
    assert links is None or links_in(words) == links


@pytest.mark.parametrize("piece", ["[", "<https://a|", "https://a/(", "https://a/)", "[a](https://b", ")."])
def test_links_are_found_in_linear_time(piece: str) -> None:
    words = f"https://a.example/{piece * (40_000 // len(piece))}"
    began = time.process_time()
    links_in(words)
    assert time.process_time() - began < cpu_s(2.0)
