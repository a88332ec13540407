"""What this process has stored lately, to find out whether the database still has it.

A database that replicates asynchronously may lose its last transactions in a failover. Every call may raise StoreError.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol


@dataclass(frozen=True, slots=True)
class LostWrites:
    """What this process has stored and the database no longer has. `since`: when the first message of them was written,
    or the first forgetting happened. `messages`, `forgettings`: how many. `turns`: how many turns are there in an
    earlier state.
    """

    since: datetime
    messages: int
    forgettings: int
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Timeline:
    """The timeline on which the database is: its name, which a failover changes, and whether it is settled."""

    name: str
    is_settled: bool


NO_TIMELINE: Final = Timeline("", is_settled=True)
"""Of a database that does not report one."""


class RecentWrites(Protocol):
    """The newest writes of this process, of which it keeps ids only.

    A failover begins a new timeline of the database. Until all processes have repaired what they know to be lost, it is
    not settled, and no turn is claimed: another process may have answered it.
    """

    async def timeline(self) -> Timeline:
        """Return the current timeline. Once it is known, turns are claimed only while it is settled."""
        ...

    async def settle(self, others: int | None, *, waits: bool) -> bool:
        """Note that this process has repaired; return whether the timeline is settled now. It is once `others`
        processes have repaired as well, and in any case if `waits` is false. `others`: None if that is unknown.
        """
        ...

    async def lost(self, *, thorough: bool = False) -> LostWrites | None:
        """Look for what this process has stored lately; None if all of it is there, or was erased. Only a `thorough`
        look finds turns in an earlier state.
        """
        ...

    async def repair(self, now: datetime) -> None:
        """Forget again what `lost` found to be back, never accept again those of its messages that this process has
        answered, and end those of its turns. Turns that it has begun can be continued. From then on `lost` does not
        return any of them.
        """
        ...

    async def delete_unfinished(self, now: datetime) -> int:
        """Have pages deleted that this process has shown for turns that are lost, and that no one will finish. Returns
        how many.
        """
        ...
