"""The tools that a model meant by an unknown name. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from heapq import nlargest
from typing import Final

from agent.toolbox.signatures import MAX_NAME_CHARS

MAX_FOUND: Final = 5


def closest_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the tools with the most similar names; those that end with the name, if there are any."""
    name, known = name[:MAX_NAME_CHARS], list(names)
    if same_ending := names_ending_with(name, known)[:MAX_FOUND]:
        return same_ending
    if len(known) > MAX_COMPARED:
        pairs = _pairs(name)
        known = nlargest(MAX_COMPARED, known, key=lambda candidate: len(pairs & _pairs(candidate)))
    return get_close_matches(name, known, n=3)


# Compared letter by letter with an unknown name, at a thousandth of a second for ten names. Without a limit a malicious
# server could make a model block the event loop with unknown names.
MAX_COMPARED: Final = 100


@lru_cache(16_384)
def _pairs(name: str) -> frozenset[str]:
    """Return the pairs of adjacent letters."""
    return frozenset(map(str.__add__, name, name[1:]))


def names_ending_with(name: str, names: Iterable[str]) -> list[str]:
    return [candidate for candidate in names if candidate.endswith(f".{name}")]
