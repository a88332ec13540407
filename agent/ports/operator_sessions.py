"""The sessions of the operators' page, as a port of the store."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """An operator's session on the operators' page. `seen`: its last use; `expires`: its end, even if it is used."""

    opened: datetime
    seen: datetime
    expires: datetime


class OperatorSessions(Protocol):
    """Login links to the operators' page and the sessions that they opened, by hashes of secrets. Every method raises
    StoreError.

    A session is valid until it expires, and only if it was seen after `idle_since`.
    """

    async def offer(self, link: str, now: datetime, expires: datetime) -> None:
        """Store a link that works once, until it expires."""
        ...

    async def is_offered(self, link: str, now: datetime) -> bool:
        """Return whether the link works."""
        ...

    async def open(self, link: str, session: str, now: datetime, expires: datetime) -> bool:
        """Exchange the link for a session. False if the link no longer works."""
        ...

    async def find(self, session: str, now: datetime, idle_since: datetime) -> OperatorSession | None:
        """Return the session if it is valid."""
        ...

    async def mark_used(self, session: str, now: datetime) -> None:
        """Record that the session is used now."""
        ...

    async def end(self, session: str) -> None:
        """End the session."""
        ...

    async def end_all(self) -> int:
        """End every session and link. Returns how many sessions there were."""
        ...

    async def listed(self, now: datetime, idle_since: datetime) -> list[OperatorSession]:
        """Return the valid sessions, the newest first."""
        ...
