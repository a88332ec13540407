"""Stores events that arrive at the same time together: a flood costs few transactions, and delays no other write.

While one batch is stored, what arrives meanwhile is collected for the next one. Each caller learns what became of its
own event; if a batch cannot be stored, all of its callers get the error.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final

from agent.ports.webhooks import ArrivedEvent, EventAdded, WebhookEvents

BATCH: Final = 50  # Events in one transaction: it holds the only writer of SQLite for some 20 ms


@dataclass(slots=True, eq=False)
class EventBatches:
    """`limit`: see `WebhookEvents.add`."""

    events: WebhookEvents
    limit: int
    _waiting: list[tuple[ArrivedEvent, "asyncio.Future[EventAdded]"]] = field(
        default_factory=list[tuple[ArrivedEvent, "asyncio.Future[EventAdded]"]]
    )
    _storing: "asyncio.Task[None] | None" = None

    async def add(self, arrived: ArrivedEvent) -> EventAdded:
        """Store an event. Raises StoreError. A caller that is cancelled leaves it open whether the event is stored."""
        result = asyncio.get_running_loop().create_future()
        self._waiting.append((arrived, result))
        if self._storing is None:
            self._storing = asyncio.create_task(self._store_all(), name="storing events of webhooks")
        return await result

    async def _store_all(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                await self._store(batch)
        finally:
            self._storing = None

    async def _store(self, batch: "list[tuple[ArrivedEvent, asyncio.Future[EventAdded]]]") -> None:
        try:
            added = await self.events.add([arrived for arrived, _ in batch], self.limit)
        except Exception as error:  # noqa: BLE001 -- each caller raises it
            for _, result in batch:
                if not result.done():
                    result.set_exception(error)
        else:
            for (_, result), each in zip(batch, added, strict=True):
                if not result.done():  # its sender has left
                    result.set_result(each)
