"""Vectors: how they are kept, and which are near one another. Pure.

Above: `store.search.vectors`, `store.memory.embeddings`. Below: nothing.

Theory of operation. The direction of a vector is its meaning. Its signs alone, one bit for each number, tell directions
apart well enough to find the few dozen nearest among thousands (the fewer bits differ, the nearer); what is found so is
then compared exactly. So a search reads one thirty-second of the bytes, and compares two vectors in one operation.
"""

import heapq
import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul


def packed(vector: Sequence[float]) -> bytes:
    """The numbers, four bytes each, at length 1."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [number / length for number in vector]).tobytes()


def signs(vector: Sequence[float]) -> bytes:
    """One bit for each number: is it positive?"""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return int(bits or "0", 2).to_bytes((len(vector) + 7) // 8, "big")


def closest(wanted: bytes, kept: Iterable[tuple[int, bytes]], count: int) -> list[int]:
    """The ids of the `count` whose signs differ least from `wanted`; those of another length are another model's."""
    bits = int.from_bytes(wanted, "big")
    same = ((id_, held) for id_, held in kept if len(held) == len(wanted))
    distances = (((bits ^ int.from_bytes(held, "big")).bit_count(), -id_) for id_, held in same)
    return [-minus for _, minus in heapq.nsmallest(count, distances)]


def nearness(wanted: bytes, held: bytes) -> float:
    """The cosine of two packed vectors of one length: 1 for the same direction, -1 for the opposite."""
    one, other = array("f", wanted), array("f", held)
    return sum(map(mul, one, other))
