"""How many examples a property is tried with, and which tests run in full."""

from typing import Final

from hypothesis import settings

DEV: Final = "dev"  # The profile of `make check`: run after each change
SOAK: Final = "soak"  # The profile of `make soak`, which has hours: as many examples as hypothesis tries by itself
USUAL: Final = 40  # In `make test`, for properties that name no number
_SHARES: Final = {DEV: 20, SOAK: 1}
_USUAL_SHARE: Final = 3


def examples(count: int, *, always: bool = False) -> int:
    """Return the number of examples: `count` in `make soak`, a third of it in `make test`, a twentieth in `make check`.

    `always`: all of them in `make test`, too; for the properties of audience, own words, forgetting and the parser.
    """
    share = _SHARES.get(settings.get_current_profile_name(), 1 if always else _USUAL_SHARE)
    return max(count // share, 1)


def is_thorough() -> bool:
    """Return whether this is `make soak`, which has time for the cases that `make test` leaves out."""
    return settings.get_current_profile_name() == SOAK
