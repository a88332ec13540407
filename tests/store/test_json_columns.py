"""Columns that hold JSON."""

from hypothesis import given
from hypothesis import strategies as st

from store.json_columns import json_text, read_ids, strings_in, write_ids


@given(st.frozensets(st.integers(1, 10**12)))
def test_ids_read_back(some: frozenset[int]) -> None:
    assert read_ids(write_ids(some)) == some


def test_json_keeps_letters_as_they_are_so_that_a_search_of_the_bytes_finds_them() -> None:
    assert json_text({"a": "東京 é"}) == '{"a":"東京 é"}'


def test_every_text_in_a_value_is_found_and_no_name_of_a_field() -> None:
    assert list(strings_in('{"name": ["a", {"b": "c"}, 1, null]}')) == ["a", "c"]


def test_what_is_no_json_is_one_text() -> None:
    assert list(strings_in("{half")) == ["{half"]
