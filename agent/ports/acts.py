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


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll that the bot counts. `counts`: the votes for each of the `options`; () before anyone could vote."""

    question: str
    options: tuple[str, ...]
    counts: tuple[int, ...] = ()
    closed: bool = False


class Polls(Protocol):
    """The polls that the bot counts itself, each found by its message: by the source, the channel and the page."""

    async def poll(self, source: str, channel: str, page_id: str) -> Poll | None:
        """Return the poll with its votes; None if there is none (any more)."""
        ...

    async def vote(self, source: str, channel: str, page_id: str, person: str, choice: int) -> Poll | None:
        """Count a person's vote in place of their earlier one, unless the poll is closed or has no such option. Return
        the poll; None if there is none (any more).
        """
        ...

    async def close_poll(self, source: str, channel: str, page_id: str) -> Poll | None:
        """Close the poll and return it; None if there is none (any more)."""
        ...


class Acts(Polls, Protocol):
    """The posts that the bot made for people by tools, and the counts of acts."""

    async def charge(self, person: str, place: str, limits: ActLimits, now: datetime) -> ActLimit | None:
        """Count one act of this person in this place ("slack:T0123:C0123"); if a limit is reached, count nothing and
        return which.
        """
        ...

    async def sources(self, turn: int, text: str, given: Sequence[int]) -> Collection[str]:
        """Return what a text written in this turn may have been drawn from (`agent.memory.audience`), beside the
        results of tools: the restricted replies that its question quotes or its tools brought (`given`, their ids), and
        of those to its person in this channel, and in its conversation, each with which the text shares a telling word.
        """
        ...

    async def record(
        self, posted: Incoming, text: str, pages: Sequence[str], now: datetime, poll: Poll | None = None
    ) -> None:
        """Store a post of the bot, as the reply to `posted`, with the messages that show it; once for each event id.
        `poll`: the one that it shows, if the bot counts its votes.

        What was forgotten under this id is not stored again.
        """
        ...
