"""What answers were drawn from, as a port of the store."""

from typing import Protocol

from agent.explanations import Grounds
from agent.shown_replies import Answered


class Explanations(Protocol):
    """Every method raises StoreError."""

    async def grounds(self, turn: int) -> Grounds | None:
        """Return what the answer of a finished turn was drawn from; None if the turn was forgotten or still runs.

        Nothing is left out for its readers: the caller shows only what the viewer may read.
        """
        ...

    async def reply(self, turn: int) -> Answered | None:
        """Return the finished reply of a turn; None if none is shown (any more)."""
        ...

    async def newest(self, person: str, channel: str) -> Answered | None:
        """Return the newest finished reply to this person in this channel ("": in any)."""
        ...
