"""The outbox: events that wait until their receivers have them.

Events are stored in the transaction of what happened, so neither is stored without the other. Every call may raise
StoreError.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from agent.outgoing import Delivery, FailedDelivery, Subscription, TurnWords


class Outbox(Protocol):
    """The rows that subscribe to events, and the deliveries that wait for each. An id is that of a delivery."""

    async def subscribe(self, rows: Sequence[Subscription], now: datetime) -> Collection[str]:
        """Replace all subscriptions, and schedule a job for each key with waiting deliveries. What waits for other rows
        is deleted. Returns the names of rows that their receivers have disabled.
        """
        ...

    async def next(self, row: str, key: str) -> Delivery | None:
        """Return the oldest waiting delivery of the key; None if there is none, or the row is disabled."""
        ...

    async def delivered(self, id_: int) -> None:
        """Delete a delivery that its receiver has."""
        ...

    async def attempted(self, id_: int, reason: str) -> None:
        """Count a failed attempt."""
        ...

    async def give_up(self, id_: int, reason: str, now: datetime) -> None:
        """Count a failed attempt, and move the delivery to the list of failed ones."""
        ...

    async def disable(self, row: str, reason: str, now: datetime) -> None:
        """Store no more events for the row, and move its waiting deliveries to the list of failed ones."""
        ...

    async def failed(self, limit: int) -> list[FailedDelivery]:
        """Return the newest failed deliveries, the newest first."""
        ...

    async def disabled(self) -> dict[str, datetime]:
        """Return the disabled rows, and since when they are."""
        ...

    async def retry(self, row: str, id_: int | None, now: datetime) -> int:
        """Let the row's failed deliveries wait again, or one of them, and enable the row. Returns their number."""
        ...

    async def delete_old(self, now: datetime) -> None:
        """Delete failed deliveries that were listed long enough, and schedule the next time."""
        ...

    async def words(self, turn: int, /) -> TurnWords | None:
        """Return the words of a turn, as they are stored now; None unless all readers of its public channel may read
        all that they were drawn from.
        """
        ...
