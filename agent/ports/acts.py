"""What is stored about acting: the posts that tools made for people, and how many acts there were.

Ids have the forms of `agent.incoming`. Every call of the store may raise StoreError, and StoreUnavailable if the same
may work later.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent.incoming import Incoming


class ActLimit(StrEnum):
    """Whose acts of a day are used up."""

    PERSON = "person"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class ActLimits:
    """The acts on a day of UTC for one person, and in one channel."""

    person: int
    place: int


class Acts(Protocol):
    """The posts that the bot made for people by tools, and the counts of acts."""

    async def charge(self, person: str, place: str, limits: ActLimits, now: datetime) -> ActLimit | None:
        """Count one act of this person in this place ("slack:T0123:C0123"); if a limit is reached, count nothing and
        return which.
        """
        ...

    async def sources(self, conversation: str, text: str) -> Collection[str]:
        """Return what a text written in this conversation may have been drawn from (`agent.memory.audience`): of the
        restricted replies there, those with which it shares a telling word.
        """
        ...

    async def record(self, posted: Incoming, text: str, pages: Sequence[str], now: datetime) -> None:
        """Store a post of the bot, as the reply to `posted`, with the messages that show it; once for each event id.

        What was forgotten under this id is not stored again.
        """
        ...
