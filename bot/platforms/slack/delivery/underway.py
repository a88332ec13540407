"""What was begun and nobody waits for, until it ends by itself or the adapter does."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Final

ASKED: Final = "slack: asked"
"""The name of the tasks that do what somebody asked or what Slack told, as asyncio's tools list them."""


@dataclass(slots=True)
class Underway:
    """`patience_s`: how long `close` lets it come to its end; `name`: its tasks'."""

    patience_s: float = 0.0
    name: str = "slack: beside"
    _tasks: "set[asyncio.Task[None]]" = field(default_factory=set["asyncio.Task[None]"])

    def begin(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=self.name)
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
