"""Tasks that run beside what a platform is doing, until they end or the platform is closed."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class BackgroundTasks:
    """Tasks that no caller waits for. `patience_s`: how long `close` waits before it cancels them."""

    patience_s: float = 0.0
    name: str = "beside"
    _tasks: "set[asyncio.Task[Any]]" = field(default_factory=set["asyncio.Task[Any]"])

    def start(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=self.name)
        self.add(task)
        return task

    def add(self, task: "asyncio.Task[Any]") -> None:
        """Add a task that runs already: `close` ends it, too."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait up to `patience_s`, then cancel what still runs. No task is left afterwards."""
        if self._tasks and self.patience_s:
            await asyncio.wait(self._tasks, timeout=self.patience_s)
        remaining = [*self._tasks]
        for task in remaining:
            task.cancel()
        if remaining:
            await asyncio.wait(remaining)
