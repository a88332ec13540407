"""A limit for each of many waits, one after the other, at the price of one timer for all of them.

Above: `agent.providers.replay`. Below: asyncio.

Why not `asyncio.timeout`: it makes and cancels a timer for each wait, and a stream waits once for each token. That is a
tenth of what a token takes, and more with every stream that is open (`benchmarks.stream`). Here a wait only moves the
deadline; the timer looks at it when it rings, and is set again if it was early.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


class Watch:
    """For one task's waits, which never overlap. `close` it at the end."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._waiting: asyncio.Task[object] | None = None
        self._rang = False

    async def wait(self, awaitable: Awaitable[Result], limit_s: float) -> Result:
        """Its result. Raises TimeoutError, after cancelling it, if that takes longer than `limit_s`."""
        self._deadline = self._loop.time() + limit_s
        if self._timer is None or self._timer.when() > self._deadline:
            self._set_timer()
        task = self._waiting = asyncio.current_task()
        cancelling = task.cancelling() if task else 0
        try:
            return await awaitable
        except asyncio.CancelledError:
            if task and self._rang and task.uncancel() <= cancelling:
                raise TimeoutError from None
            raise  # somebody else wants the task to end, too
        finally:
            self._waiting, self._rang = None, False

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()

    def _set_timer(self) -> None:
        self.close()
        self._timer = self._loop.call_at(self._deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._waiting is None:
            return
        if self._loop.time() < self._deadline:
            self._set_timer()
        else:
            self._rang = True
            self._waiting.cancel()
