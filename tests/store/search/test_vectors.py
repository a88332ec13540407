"""Vectors, packed and compared."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.search.vectors import ID_BYTES, closest, cosine, differences, pack_vector, sign_bits

numbers = st.floats(-100, 100, allow_nan=False, width=32)
vectors = st.lists(numbers, min_size=1, max_size=40).filter(lambda vector: math.hypot(*vector) > 0.01)


@given(vectors)
def test_a_vector_is_nearest_to_itself_whatever_its_length(vector: list[float]) -> None:
    assert cosine(pack_vector(vector), pack_vector([3 * number for number in vector])) == pytest.approx(1, abs=1e-4)
    assert cosine(pack_vector(vector), pack_vector([-number for number in vector])) == pytest.approx(-1, abs=1e-4)


def handed_over(kept: list[tuple[int, bytes]]) -> str:
    """As SQLite hands over the signs of a thread."""
    return "".join(f"{id_:0{2 * ID_BYTES}X}{signs.hex()}" for id_, signs in kept)


@given(vectors, st.lists(st.integers(1, 50), unique=True, max_size=9))
def test_equal_signs_are_the_closest_and_between_equals_the_newest(vector: list[float], ids: list[int]) -> None:
    kept = [(id_, sign_bits(vector)) for id_ in ids]
    opposite = (99, sign_bits([-number or 1.0 for number in vector]))
    found = differences(sign_bits(vector), [handed_over([opposite]), handed_over(kept)])
    assert closest(found, len(ids)) == sorted(ids, reverse=True)


@given(
    st.lists(st.tuples(st.integers(1, 2**62), st.binary(min_size=6, max_size=6)), max_size=9),
    st.binary(min_size=6, max_size=6),
)
def test_each_sign_that_differs_counts_once(kept: list[tuple[int, bytes]], wanted: bytes) -> None:
    counted = [(sum((a ^ b).bit_count() for a, b in zip(wanted, signs, strict=True)), id_) for id_, signs in kept]
    assert list(differences(wanted, [handed_over(kept)])) == counted


def test_a_vector_of_zeros_is_near_to_nothing() -> None:
    assert cosine(pack_vector([0.0, 0.0]), pack_vector([1.0, 0.0])) == 0
