"""Time, as a port."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Time, and waiting."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, never going back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for `seconds`; do not wait for 0 or less."""
        ...
