"""Time and chance as the machine has them: what the rest of the agent takes as arguments."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final
from uuid import uuid4


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 -- the one place where the time of day comes in

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 -- the one place where elapsed time comes in

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


CLOCK: Final = SystemClock()


def new_id() -> str:
    return uuid4().hex


def fresh_word() -> str:
    """Marks what the system says in one turn: nobody who writes can guess it."""
    return uuid4().hex[:6]
