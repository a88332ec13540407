"""What those who operate the bot need of the world: the audit of tools, who of them is signed in, and what processes
share: connections, rates and calls.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from agent.admission_terms import Rate, RateReached
from agent.records import Claim


class CallEnd(StrEnum):
    """What the audit says of a call besides how its result ended (`ResultStatus`)."""

    BEGUN = "begun"
    """It runs; or nobody knows how it ended, because its process died."""
    STOPPED = "stopped"
    """Its person stopped it."""
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class AuditedCall:
    """A row of the audit: a tool's call, or a change of the policy (`tool` is "", `arguments` what was changed).

    `decision`: whether it ran unasked, was allowed or not; `decided_by`: its effect, a row of the policy, or its asker.
    `ms` and `size` (in bytes): None until it ended. What is forgotten keeps neither turn nor words.
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
    """What was called, for whom, and who decided it. Every method raises StoreError."""

    async def keep(self, call: AuditedCall, claim: Claim | None = None) -> int:
        """Store a row, of this turn if one is given; its id. Raises LeaseLost: then the call must not run."""
        ...

    async def keep_change(self, change: AuditedCall, owner: str, name: str, before: str | None, after: str) -> bool:
        """Change a preference as `Preferences.swap` does, and store the row that says so: both, or neither."""
        ...

    async def end(self, id_: int, ms: int, size: int, outcome: str) -> None:
        """How the call of this row ended."""
        ...

    async def newest(self, limit: int, before: int | None = None) -> list[AuditedCall]:
        """The last rows, the newest first; `before`: those whose id is lower."""
        ...

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """What the people with these ids are called, as far as it is known."""
        ...

    async def page(self, since: datetime, *, after: int, limit: int) -> list[AuditedCall]:
        """The rows from that time on whose id is above `after`, the oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class OperatorSession:
    """Somebody is signed in on the operators' page. `seen`: when they last looked; `expires`: whatever they do."""

    opened: datetime
    seen: datetime
    expires: datetime


class OperatorSessions(Protocol):
    """Links to the operators' page, and who came by them, all by hashes of secrets. Every method raises StoreError.

    A session counts until it expires, and only if it was seen after `idle_since`.
    """

    async def offer(self, link: str, now: datetime, expires: datetime) -> None:
        """Let whoever has this link in, once, until it expires."""
        ...

    async def is_offered(self, link: str, now: datetime) -> bool:
        """Whether it would let somebody in."""
        ...

    async def open(self, link: str, session: str, now: datetime, expires: datetime) -> bool:
        """Use the link up for a session. False if there is no such link any more."""
        ...

    async def find(self, session: str, now: datetime, idle_since: datetime) -> OperatorSession | None:
        """The session, if it counts."""
        ...

    async def see(self, session: str, now: datetime) -> None:
        """It is used now."""
        ...

    async def end(self, session: str) -> None:
        """It counts no more."""
        ...

    async def end_all(self) -> int:
        """Every session and link; how many sessions there were."""
        ...

    async def listed(self, now: datetime, idle_since: datetime) -> list[OperatorSession]:
        """Those that count, the newest first."""
        ...


@dataclass(frozen=True, slots=True)
class Installation:
    """An app that a workspace was given by its install page, by the source of its messages ("slack:T0123").

    `sealed`: its tokens, which only who has the key can read; `expires`: when they end, None for never. `organization`:
    the id of the one that the workspace belongs to, "" for none. `removed`: since when it is no longer installed.
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
    """Every method raises StoreError.

    A refresh token counts once, so one process renews at a time: the epoch of its claim is named by what it writes.
    """

    async def put(self, one: Installation) -> None:
        """It is installed from now on, also if it was before; a claim on what stood there counts no more."""
        ...

    async def listed(self) -> list[Installation]:
        """All, by their sources; those that were removed until what was said there is forgotten."""
        ...

    async def claim(self, source: str, sealed: bytes, now: datetime, lease: timedelta) -> int | None:
        """The epoch with which these tokens may be renewed within the lease; None if somebody else does, or did."""
        ...

    async def renewed(self, source: str, epoch: int, sealed: bytes, expires: datetime | None) -> bool:
        """Keep what they were renewed to. False if the claim counts no more."""
        ...

    async def remove(self, source: str, installed: datetime, now: datetime) -> bool:
        """It is not installed any more, and its tokens are gone. False if it was installed anew since, or is none."""
        ...


SHARD_LEASE: Final = timedelta(seconds=9)  # Without a sign of life for so long a process has lost its shards


@dataclass(frozen=True, slots=True, order=True)
class HeldShard:
    """One of `count` connections to a gateway, as one process holds it. `epoch` fences off who held it before: a shard
    begins with 1, and each holder adds one.
    """

    number: int
    count: int
    epoch: int

    @property
    def had_another(self) -> bool:
        """Whether some process may have held it before this one."""
        return self.epoch > 2


@dataclass(frozen=True, slots=True)
class ShardSession:
    """With what another process goes on where this one was. `heard`: up to when all was taken in, None if nothing is
    known of that; `session`: "" for one that cannot be resumed; `behind`: what was said before it is not caught up on;
    `orphaned`: its owner gave no sign of life any more.
    """

    heard: datetime | None = None
    session: str = field(default="", repr=False)
    resume_url: str = ""
    sequence: int = 0
    behind: bool = False
    orphaned: bool = False


@dataclass(frozen=True, slots=True)
class ShardShare:
    """A process's part: what it keeps, what it is to give back, and what it has been given now. `count`: how many there
    are, or will be as soon as nobody listens any more by another number.
    """

    count: int
    kept: frozenset[HeldShard]
    excess: frozenset[HeldShard]
    taken: Mapping[HeldShard, ShardSession]


@dataclass(frozen=True, slots=True)
class ListedShard:
    """A shard as operators see it. `owner`: "" while nobody holds it; `since`: when it took it; `until`: its lease."""

    number: int
    count: int
    owner: str
    heard: datetime | None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def seen(self) -> datetime | None:
        """When whoever holds it gave its last sign of life."""
        return None if self.until is None else self.until - SHARD_LEASE


class ShardLeases(Protocol):
    """Which process holds which shard. `owner` names a process. Every method raises StoreError."""

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
        """Renew what it holds (`sessions`: all of that, and where it is), and take its part of what is free.

        There are as many shards as the process that wants the most of them wants (`count`). Of another number none is
        taken before all of the number before are given back. `heard`: up to when all was, before there were any.
        """
        ...

    async def give_back(self, owner: str, sessions: Mapping[HeldShard, ShardSession]) -> None:
        """Leave these to others; it does not listen there any more."""
        ...

    async def leave(self, owner: str) -> None:
        """It holds nothing any more, and has no part."""
        ...

    async def identify(self, bucket: int, now: datetime, gap: timedelta) -> float:
        """0.0: begin a session of this bucket now. Else ask again after so many seconds."""
        ...

    async def listed(self, now: datetime) -> list[ListedShard]:
        """All of them, by their numbers."""
        ...


@dataclass(frozen=True, slots=True)
class CallRate:
    """At most so many calls in any `within`."""

    calls: int
    within: timedelta


@dataclass(frozen=True, slots=True)
class CallsAsked:
    """What a process wants: up to so many calls. `asking`: how many in it want some; `made`: those of late that it did
    not ask for.
    """

    owner: str
    calls: int = 1
    asking: int = 1
    made: int = 0


@dataclass(frozen=True, slots=True)
class CallsTaken:
    """How many were taken. `wait_s`: of none, when to ask again; `made`: how many count now; `asking`: how many in
    other processes want some.
    """

    calls: int
    wait_s: float
    made: int
    asking: int


class SharedRates(Protocol):
    """What processes count together. No name of a person or a place is kept as such. Every method raises StoreError."""

    async def count(
        self, what: str, rates: Sequence[Rate], person: str, channel: str, now: datetime
    ) -> RateReached | None:
        """Count one more of what somebody does, if it is within all of these rates."""
        ...

    async def take(self, name: str, rate: CallRate, asks: CallsAsked, now: datetime) -> CallsTaken:
        """Some of the calls of that name; they count from now on, whether they are made or not."""
        ...

    async def book(self, name: str, gap: timedelta, now: datetime) -> timedelta:
        """The next place in a queue that serves one in each `gap`: how long until then."""
        ...

    async def hold(self, name: str, until: datetime) -> None:
        """Nothing of that name before this time: it was refused until then."""
        ...

    async def others(self, owner: str, now: datetime, lease: timedelta) -> int:
        """This process is there until `lease` is over; how many others are."""
        ...
