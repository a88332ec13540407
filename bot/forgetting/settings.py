"""The settings for how long messages are stored."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from agent.memory.audience import AudienceKind
from bot.settings import parsers
from bot.settings.declaration import Section, setting

_DAYS: Final = re.compile(r"[1-9]\d{0,4}", re.ASCII)


def parse_retention(value: str) -> Mapping[AudienceKind, int]:
    """Parse days by kind of place: "dm=365, private=90, public=30"."""
    kinds = {"dm": AudienceKind.PERSON, "private": AudienceKind.GROUP, "public": AudienceKind.TEAM}
    days: dict[AudienceKind, int] = {}
    for part in value.split(","):
        name, _, number = (piece.strip().lower() for piece in part.partition("="))
        if name not in kinds or kinds[name] in days or not _DAYS.fullmatch(number):
            raise ValueError(
                "must be a comma-separated list of days for dm, private, or public, as in dm=365,private=90,public=30"
            )
        days[kinds[name]] = int(number)
    return days


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgettingSettings:
    """How long messages are stored."""

    retention: Mapping[AudienceKind, int] = setting(
        "COGENCY_RETENTION",
        parse_retention,
        {},
        section=Section.BOUNDS,
        description=(
            "How many days the bot stores messages from direct messages (dm), private places (private), and public "
            "places (public). After that, the bot erases the messages and everything derived from them. Default: "
            "forever."
        ),
        example="dm=365,private=90,public=30",
    )
    removal_grace_days: int = setting(
        "COGENCY_REMOVAL_GRACE_DAYS",
        parsers.whole(0, 3650),
        30,
        section=Section.BOUNDS,
        description=(
            "How many days the bot waits before it erases the data of a server or workspace that removed it. To "
            "keep the data, invite the bot back before then."
        ),
    )
