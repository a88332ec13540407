"""Who wants to know whether events come in, and what brings them.

Above: `run`. Below: nothing. `sockets` and `http` are the ways to bring events; `missed` looks for those that did not
come.
"""

import asyncio
from datetime import datetime
from typing import Protocol


class Line(Protocol):
    """Wants to know whether events come in."""

    def connected(self) -> None:
        """They can."""
        ...

    def lost(self, why: str) -> None:
        """From now on they cannot; `why` is a sentence for operators."""
        ...

    def gap(self, since: datetime) -> None:
        """They can, but between that time and now some did not."""
        ...


class Delivery(Protocol):
    """Brings events. `failed` raises when none can come any more."""

    failed: asyncio.Future[None]

    async def open(self) -> None:
        """Begin. Raises SlackError, or SettingsError."""
        ...

    async def close(self) -> None: ...
