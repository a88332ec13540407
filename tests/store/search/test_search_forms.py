"""Irregular English: one form finds the others."""

import pytest

from store.search.search import word_forms


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
    assert word_forms(word) == expected


def test_no_word_belongs_to_two_groups() -> None:
    for word in ("find", "lie", "lay", "see", "saw", "leave", "left", "lead", "wake", "wear"):
        for form in word_forms(word):
            assert word_forms(form) == word_forms(word)
