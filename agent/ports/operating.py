"""The ports of operation: the audit of tools, the operators' sessions, and what processes share: connections, rates and
calls.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from agent.admission_terms import Rate, RateReached
from agent.records import Claim


class CallEnd(StrEnum):
    """The outcomes of a call in the audit that are no `ResultStatus`."""

    BEGUN = "begun"
    """It runs, or its end is unknown because its process died."""
    STOPPED = "stopped"
    """The asker stopped it."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """A row of the audit: a tool call, or a change of the policy (`tool` is "", `arguments` is the change).

    `decision`: whether it ran without consent, was allowed or refused; `decided_by`: its effect, a row of the policy,
    or its asker. `ms` and `size` (in bytes): None until it ended. A forgotten row keeps neither its turn nor any text.
    """

    time: datetime
    person: str
    channel: str
    audience: str
    tool: str
    arguments: str
    effect: str
    decision: str
    decided_by: str
    outcome: str = CallEnd.BEGUN
    ms: int | None = None
    size: int | None = None
    call: str = ""
    turn: int | None = None
    id: int = 0


class ToolAudit(Protocol):
    """The audit of tool calls: what was called, for whom, and who decided it. Every method raises StoreError."""

    async def add(self, call: AuditedCall, claim: Claim | None = None) -> int:
        """Store a row, for the turn of `claim` if given; return its id. After LeaseLost the call must not run."""
        ...

    async def keep_change(self, change: AuditedCall, owner: str, name: str, before: str | None, after: str) -> bool:
        """Change a preference as `Preferences.swap` does, and store the row of the change: both, or neither."""
        ...

    async def end(self, id_: int, ms: int, size: int, outcome: str) -> None:
        """Store how the call of this row ended."""
        ...

    async def newest(self, limit: int, before: int | None = None) -> list[AuditedCall]:
        """Return the last rows, the newest first; with `before`, only rows with a lower id."""
        ...

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the known names of the people with these ids."""
        ...

    async def page(self, since: datetime, *, after: int, limit: int) -> list[AuditedCall]:
        """Return the rows since that time with an id above `after`, the oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """An operator's session on the operators' page. `seen`: its last use; `expires`: its end, even if it is used."""

    opened: datetime
    seen: datetime
    expires: datetime


class OperatorSessions(Protocol):
    """Login links to the operators' page and the sessions that they opened, by hashes of secrets. Every method raises
    StoreError.

    A session is valid until it expires, and only if it was seen after `idle_since`.
    """

    async def offer(self, link: str, now: datetime, expires: datetime) -> None:
        """Store a link that works once, until it expires."""
        ...

    async def is_offered(self, link: str, now: datetime) -> bool:
        """Return whether the link works."""
        ...

    async def open(self, link: str, session: str, now: datetime, expires: datetime) -> bool:
        """Exchange the link for a session. False if the link no longer works."""
        ...

    async def find(self, session: str, now: datetime, idle_since: datetime) -> OperatorSession | None:
        """Return the session if it is valid."""
        ...

    async def mark_used(self, session: str, now: datetime) -> None:
        """Record that the session is used now."""
        ...

    async def end(self, session: str) -> None:
        """End the session."""
        ...

    async def end_all(self) -> int:
        """End every session and link. Returns how many sessions there were."""
        ...

    async def listed(self, now: datetime, idle_since: datetime) -> list[OperatorSession]:
        """Return the valid sessions, the newest first."""
        ...


@dataclass(frozen=True, slots=True)
class Installation:
    """An app that was installed in a workspace by its install page; `source` is that of its messages ("slack:T0123").

    `sealed`: its tokens, encrypted; `expires`: when they expire, None for never. `organization`: the id of the
    organization that the workspace belongs to, "" for none. `removed`: since when it is no longer installed.
    """

    source: str
    app: str
    organization: str
    bot: str
    scopes: str
    installer: str
    installed: datetime
    expires: datetime | None
    sealed: bytes = field(repr=False)
    removed: datetime | None = None


class Installations(Protocol):
    """The installed apps and their tokens. Every method raises StoreError.

    A refresh token works once, so one process renews at a time; its writes carry the epoch of its claim.
    """

    async def put(self, one: Installation) -> None:
        """Store an installation, in place of an earlier one, whose claim ends."""
        ...

    async def listed(self) -> list[Installation]:
        """Return all, by source; removed ones until the messages of their source are forgotten."""
        ...

    async def claim(self, source: str, sealed: bytes, now: datetime, lease: timedelta) -> int | None:
        """Claim the renewal of these tokens. Returns the epoch; None if another process renews them or has done so."""
        ...

    async def renewed(self, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> bool:
        """Store the renewed tokens. False if the claim has ended."""
        ...

    async def remove(self, source: str, installed: datetime, now: datetime) -> bool:
        """Mark it as removed and drop its tokens. False if it was installed again since, or there is none."""
        ...


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

    async def listed(self, now: datetime) -> list[ListedShard]:
        """Return all shards, by number."""
        ...


@dataclass(frozen=True, slots=True)
class CallRate:
    """Up to `calls` calls in any period of `within`."""

    calls: int
    within: timedelta


@dataclass(frozen=True, slots=True)
class CallsAsked:
    """A process's request for up to `calls` calls. `asking`: how many of its tasks want some; `made`: recent calls that
    it made without a request.
    """

    owner: str
    calls: int = 1
    asking: int = 1
    made: int = 0


@dataclass(frozen=True, slots=True)
class CallsTaken:
    """The number of granted calls. `wait_s`: if none, when to ask again; `made`: how many calls count now; `asking`:
    how many tasks of other processes want some.
    """

    calls: int
    wait_s: float
    made: int
    asking: int


class SharedRates(Protocol):
    """Rates that processes share. Names of people and places are not stored in the clear. Every method raises
    StoreError."""

    async def count(
        self, what: str, rates: Sequence[Rate], person: str, channel: str, now: datetime
    ) -> RateReached | None:
        """Count one more action of a person if it is within all of these rates. Returns the reached rate, or None."""
        ...

    async def take(self, name: str, rate: CallRate, asks: CallsAsked, now: datetime) -> CallsTaken:
        """Take calls of this name; they count from now on, even if they are not made."""
        ...

    async def book(self, name: str, gap: timedelta, now: datetime) -> timedelta:
        """Book the next place in a queue that serves one caller in each `gap`. Returns the time until then."""
        ...

    async def hold(self, name: str, until: datetime) -> None:
        """Grant no calls of this name before this time: the platform refuses them until then."""
        ...

    async def others(self, owner: str, now: datetime, lease: timedelta) -> int:
        """Register this process until `lease` is over. Returns how many other processes are registered."""
        ...
