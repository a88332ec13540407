"""How many examples a property is tried with."""

from typing import Final

from hypothesis import settings

DEV: Final = "dev"  # The profile of `make check`: whoever writes code runs it again and again
SOAK: Final = "soak"  # The profile of `make soak`, which has hours: as many examples as hypothesis tries by itself
# In `make test`, for properties that name no number. Those of audience, own words and forgetting name one.
USUAL: Final = 50
_SHARE: Final = 10


def examples(count: int) -> int:
    """So many, and in that profile a tenth of them."""
    return max(count // _SHARE, 1) if settings.get_current_profile_name() == DEV else count
