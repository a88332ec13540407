"""Irregular English: one form finds the others."""

import pytest

from store.search.forms import forms


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("buy", ("buy", "bought")),
        ("bought", ("buy", "bought")),
        ("buying", ("buy", "bought")),
        ("children", ("child", "children")),
        ("boat", ("boat",)),
        ("買", ("買",)),
    ],
)
def test_a_word_is_looked_for_in_all_its_forms(word: str, expected: tuple[str, ...]) -> None:
    assert forms(word) == expected


def test_no_word_belongs_to_two_groups() -> None:
    for word in ("find", "lie", "lay", "see", "saw", "leave", "left", "lead", "wake", "wear"):
        for form in forms(word):
            assert forms(form) == forms(word)
