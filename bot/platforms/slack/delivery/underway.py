"""What was begun and nobody waits for, until it ends by itself or the adapter does.

Above: `run`, `listeners`, `home`, `prompts`, `sessions`, `sockets`. Below: asyncio.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field


@dataclass(slots=True)
class Underway:
    """`patience_s`: how long `close` lets it come to its end."""

    patience_s: float = 0.0
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set["asyncio.Task[None]"])

    def begin(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Nothing of it is left afterwards."""
        if self._tasks and self.patience_s:
            await asyncio.wait(self._tasks, timeout=self.patience_s)
        working = [*self._tasks]
        for task in working:
            task.cancel()
        if working:
            await asyncio.wait(working)
