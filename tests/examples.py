"""How many examples a property is tried with."""

from typing import Final

from hypothesis import settings

DEV: Final = "dev"
"""The profile of `make check`: whoever writes code runs it again and again."""
_SHARE: Final = 10


def examples(count: int) -> int:
    """So many, and in that profile a tenth of them."""
    return max(count // _SHARE, 1) if settings.get_current_profile_name() == DEV else count
