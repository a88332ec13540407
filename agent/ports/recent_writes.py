"""What this process has stored lately, to find out whether the database still has it.

A database that replicates asynchronously may lose its last transactions in a failover. Every call may raise StoreError.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class LostWrites:
    """What this process has stored and the database no longer has. `since`: when the first message of them was written,
    or the first forgetting happened. `messages`, `forgettings`: how many.
    """

    since: datetime
    messages: int
    forgettings: int


class RecentWrites(Protocol):
    """The newest writes of this process, of which it keeps ids only."""

    async def lost(self) -> LostWrites | None:
        """Look for what this process has stored lately; None if all of it is there, or was erased."""
        ...

    async def repair(self, now: datetime) -> None:
        """Forget again what `lost` found to be back, and never accept again those of its messages that this process has
        answered. From then on `lost` does not return them.
        """
        ...
