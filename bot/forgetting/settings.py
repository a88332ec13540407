"""The settings for how long messages are stored."""

import re
from collections.abc import Mapping
from typing import Final

from agent.memory.audience import AudienceKind

_DAYS: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)


def retention(value: str) -> Mapping[AudienceKind, int]:
    """Parse days by kind of place: "dm=365, private=90, public=30"."""
    kinds = {"dm": AudienceKind.PERSON, "private": AudienceKind.GROUP, "public": AudienceKind.TEAM}
    days: dict[AudienceKind, int] = {}
    for part in value.split(","):
        name, _, number = (piece.strip().lower() for piece in part.partition("="))
        if name not in kinds or kinds[name] in days or not _DAYS.fullmatch(number):
            raise ValueError("must be days for dm, private or public places, as in dm=365, private=90, public=30")
        days[kinds[name]] = int(number)
    return days
