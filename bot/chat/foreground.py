"""Answers before background work, where a model's server takes few requests at a time."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from bot.chat.caches import T

# Priority on the model of this machine: answers come first, and background work is interrupted at once.
#
# Only within this process: other processes on the machine use its model without coordination.


class ForegroundPriority:
    """No answer runs at first."""

    def __init__(self) -> None:
        self._answering = 0
        self._busy = asyncio.Event()

    @contextmanager
    def answering(self) -> Generator[None]:
        """A question is being answered until the block ends."""
        self._answering += 1
        self._busy.set()
        try:
            yield
        finally:
            self._answering -= 1
            if not self._answering:
                self._busy.clear()

    async def while_free(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return the result of `work`, or None if an answer started before its end and it was cancelled."""
        if self._busy.is_set():
            work.close()
            return None
        working = asyncio.create_task(work)
        interrupted = asyncio.create_task(self._busy.wait())
        try:
            await asyncio.wait({working, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            return await working if working.done() else None
        finally:
            for task in (working, interrupted):
                task.cancel()
            await asyncio.gather(working, interrupted, return_exceptions=True)
