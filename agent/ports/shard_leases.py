"""The shards of Discord's gateway, which processes divide among them by leases, as a port of the store."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Protocol

SHARD_LEASE: Final = timedelta(seconds=9)  # A process loses its shards if it does not renew them for this long


@dataclass(frozen=True, slots=True, order=True)
class HeldShard:
    """One of `count` connections to a gateway, held by one process. `epoch` fences off earlier holders: a shard begins
    with 1, and each holder adds one.
    """

    number: int
    count: int
    epoch: int

    @property
    def had_another(self) -> bool:
        """Return whether another process may have held it before this one."""
        return self.epoch > 2


@dataclass(frozen=True, slots=True)
class ShardSession:
    """The state from which another process continues a shard. `heard`: the time up to which all events were processed,
    None if unknown; `session`: "" if it cannot be resumed; `behind`: earlier messages are not caught up on yet;
    `orphaned`: the lease of its owner expired.
    """

    heard: datetime | None = None
    session: str = field(default="", repr=False)
    resume_url: str = ""
    sequence: int = 0
    behind: bool = False
    orphaned: bool = False


@dataclass(frozen=True, slots=True)
class ShardShare:
    """A process's share: the shards that it keeps, must give back and has received now. `count`: how many shards there
    are, or will be as soon as all shards of another count are given back.
    """

    count: int
    kept: frozenset[HeldShard]
    excess: frozenset[HeldShard]
    taken: Mapping[HeldShard, ShardSession]


@dataclass(frozen=True, slots=True)
class ListedShard:
    """A shard as operators see it. `owner`: "" if it is free; `since`: when its owner took it; `until`: its lease."""

    number: int
    count: int
    owner: str
    heard: datetime | None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def last_renewed(self) -> datetime | None:
        """When its owner last renewed the lease."""
        return None if self.until is None else self.until - SHARD_LEASE


class ShardLeases(Protocol):
    """The leases by which processes hold shards. `owner` names a process. Every method raises StoreError."""

    async def share(
        self,
        owner: str,
        now: datetime,
        lease: timedelta,
        sessions: Mapping[HeldShard, ShardSession],
        *,
        count: int,
        heard: datetime | None = None,
    ) -> ShardShare:
        """Renew the shards that the process holds (`sessions`: all of them, with their state), and take its share of
        the free ones.

        The number of shards is the highest `count` that a process asks for. When it changes, shards of the new number
        are taken only after all shards of the old number were given back. `heard`: the time up to which all events were
        processed before there were shards.
        """
        ...

    async def give_back(self, owner: str, sessions: Mapping[HeldShard, ShardSession]) -> None:
        """Release these shards to other processes; the process has closed their connections."""
        ...

    async def leave(self, owner: str) -> None:
        """Release all shards of the process and its share."""
        ...

    async def identify(self, bucket: int, now: datetime, gap: timedelta) -> float:
        """Return 0.0 if a session of this bucket may begin now, else the seconds to wait before the next call."""
        ...

    async def identified(self, bucket: int, now: datetime) -> None:
        """Count the gap of this bucket from now, as a session has begun: later than `identify` allowed it."""
        ...

    async def listed(self, now: datetime) -> list[ListedShard]:
        """Return all shards, by number."""
        ...
