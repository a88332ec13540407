"""Vectors, packed and compared."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.vectors import closest_by_signs, cosine, pack_vector, sign_bits

numbers = st.floats(-100, 100, allow_nan=False, width=32)
vectors = st.lists(numbers, min_size=1, max_size=40).filter(lambda vector: math.hypot(*vector) > 0.01)


@given(vectors)
def test_a_vector_is_nearest_to_itself_whatever_its_length(vector: list[float]) -> None:
    assert cosine(pack_vector(vector), pack_vector([3 * number for number in vector])) == pytest.approx(1, abs=1e-4)
    assert cosine(pack_vector(vector), pack_vector([-number for number in vector])) == pytest.approx(-1, abs=1e-4)


@given(vectors, st.lists(st.integers(1, 50), unique=True, max_size=9))
def test_equal_signs_are_the_closest_and_between_equals_the_newest(vector: list[float], ids: list[int]) -> None:
    kept = [(id_, sign_bits(vector)) for id_ in ids]
    opposite = (99, sign_bits([-number or 1.0 for number in vector]))
    assert closest_by_signs(sign_bits(vector), [opposite, *kept], len(ids)) == sorted(ids, reverse=True)


def test_what_has_another_length_is_not_compared() -> None:
    assert closest_by_signs(sign_bits([1.0] * 9), [(1, sign_bits([1.0]))], 5) == []


def test_a_vector_of_zeros_is_near_to_nothing() -> None:
    assert cosine(pack_vector([0.0, 0.0]), pack_vector([1.0, 0.0])) == 0
