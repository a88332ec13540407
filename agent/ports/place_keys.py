"""The API keys that the managers of channels have given them for services of models, as a port of the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent.memory.audience import Audience


@dataclass(frozen=True, slots=True)
class StoredPlaceKey:
    """A channel's key for a service; `sealed` can be read only with the operator's key.

    `source` and `channel`: as in an Incoming. `audience`: of the channel when the key was set. `vendor`: the service,
    such as "openai". `ending`: the end of the key that people may read, "…wxyz". `mark`: a digest of the place and the
    key, in hexadecimal, which is unique. `refused`: since when the service refuses the key; None while it does not.
    """

    source: str
    channel: str
    audience: Audience
    vendor: str
    sealed: bytes
    ending: str
    mark: str
    added: datetime
    refused: datetime | None = None


class PlaceKeys(Protocol):
    """The keys of channels. It sees no key: the caller seals them. Every method raises StoreError."""

    async def of(self, source: str, channel: str) -> Sequence[StoredPlaceKey]:
        """Return the channel's keys, in the order of the services."""
        ...

    async def all(self, limit: int) -> Sequence[StoredPlaceKey]:
        """Return the keys of all channels, in their order."""
        ...

    async def marked(self, mark: str) -> StoredPlaceKey | None:
        """Return the key with this mark; None if it was replaced or removed."""
        ...

    async def put(self, key: StoredPlaceKey) -> None:
        """Store a key in place of the channel's earlier one for the service."""
        ...

    async def drop(self, source: str, channel: str, vendor: str) -> bool:
        """Delete a key; return whether there was one."""
        ...

    async def refuse(self, mark: str, now: datetime) -> bool:
        """Note that the service refuses this key; return whether that is new."""
        ...

    async def accept(self, mark: str) -> None:
        """Note that the service accepts this key."""
        ...
