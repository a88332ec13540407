"""Who has the model of this machine: answers go first, and whoever works in the background gives way at once.

Above: `bot.turns.thinking` answers, `bot.memory.learning` gives way. Below: asyncio.

It knows of this process only: processes that share a machine share its model without knowing of each other.
"""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Floor:
    """Free at first."""

    def __init__(self) -> None:
        self._answering = 0
        self._taken = asyncio.Event()

    @contextmanager
    def answering(self) -> Generator[None]:
        """Somebody is being answered until the block ends."""
        self._answering += 1
        self._taken.set()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._taken.clear()

    async def while_free(self, work: Coroutine[Any, Any, T]) -> T | None:
        """The outcome of `work`; None if somebody had to be answered before its end, and it was cancelled."""
        if self._taken.is_set():
            work.close()
            return None
        working = asyncio.create_task(work)
        taken = asyncio.create_task(self._taken.wait())
        try:
            await asyncio.wait({working, taken}, return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None
        finally:
            for task in (working, taken):
                task.cancel()
            await asyncio.gather(working, taken, return_exceptions=True)
