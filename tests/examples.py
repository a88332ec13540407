"""How many examples a property is tried with, and how much of a long walk is gone."""

from typing import Final

from hypothesis import settings

DEV: Final = "dev"  # The profile of `make check`: whoever writes code runs it again and again
SOAK: Final = "soak"  # The profile of `make soak`, which has hours: as many examples as hypothesis tries by itself
USUAL: Final = 50  # In `make test`, for properties that name no number
_SHARES: Final = {DEV: 10, SOAK: 1}
_USUAL_SHARE: Final = 2


def examples(count: int, *, always: bool = False) -> int:
    """So many in `make soak`, half of them in `make test`, a tenth in `make check`. `always`: all of them in
    `make test`, too, as for audience, own words, forgetting and the parser.
    """
    share = _SHARES.get(settings.get_current_profile_name(), 1 if always else _USUAL_SHARE)
    return max(count // share, 1)


def is_thorough() -> bool:
    """Whether there is time for all of a walk of which `make test` goes a part."""
    return settings.get_current_profile_name() == SOAK
