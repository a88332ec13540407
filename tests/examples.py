"""How many examples a property is tried with, and which tests run in full."""

from collections.abc import Collection
from itertools import product
from typing import Final

import pytest
from hypothesis import settings

DEV: Final = "dev"  # The profile of `make check`: run after each change
THOROUGH: Final = "thorough"  # The profile of `make test-thorough` and `make soak`: as many as hypothesis tries
USUAL: Final = 15  # In `make test`, for properties that name no number
_SHARES: Final = {DEV: 20, THOROUGH: 1}
_USUAL_SHARE: Final = 8
_ALWAYS_SHARE: Final = 4

# Cases of a kind of which `make test` runs others. It skips these: each is a repetition of seconds.
thorough: Final = pytest.mark.thorough


def examples(count: int, *, always: bool = False) -> int:
    """Return the number of examples: `count` in `make test-thorough`, an eighth of it in `make test`, a twentieth in
    `make check`.

    `always`: a quarter of them in `make test`; for the properties of audience, own words, forgetting and the parser.
    """
    share = _SHARES.get(settings.get_current_profile_name(), _ALWAYS_SHARE if always else _USUAL_SHARE)
    return max(count // share, 1)


def is_thorough() -> bool:
    """Return whether this is `make test-thorough` or `make soak`, which run the cases that `make test` leaves out."""
    return settings.get_current_profile_name() == THOROUGH


def one_in(share: int, *axes: Collection[object]) -> list[object]:
    """Return all combinations of these values as parameters. `make test` tries one in `share` of them, and each value:
    those combinations whose places add up to a multiple of `share`. At least two axes have that many values.
    """
    assert sorted(map(len, axes))[-2] >= share
    return [
        pytest.param(*(value for _, value in chosen), marks=thorough if sum(at for at, _ in chosen) % share else [])
        for chosen in product(*map(enumerate, axes))
    ]
