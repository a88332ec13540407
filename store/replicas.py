"""What processes on one database share: Discord's shards, rates of people and channels, and platforms' call budgets."""

import hmac
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import accumulate
from math import gcd
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, false
from sqlmodel import Field

from agent.admission_terms import Rate, RateReached, Whose
from agent.ports.shard_leases import HeldShard, ListedShard, ShardSession, ShardShare
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken
from store.databases.database import Database, SqlStore, StorableText, UtcDateTime, in_order, reads, writes
from store.schema import TableRow, metadata


class ShardLeaseRow(TableRow, table=True):
    """A connection to Discord's gateway: its owner and `since` when, the session with which another process can resume,
    and until when all events were `heard`; `behind`: messages from before the session are still to be caught up on.
    """

    number: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    shards: int
    owner: str | None = Field(sa_type=StorableText, default=None)
    epoch: int = Field(sa_type=BigInteger)
    lease_until: datetime | None = Field(sa_type=UtcDateTime, default=None)
    session: str = Field(sa_type=StorableText, default="")
    resume_url: str = Field(sa_type=StorableText, default="")
    sequence: int = Field(sa_type=BigInteger, default=0)
    heard: datetime | None = Field(sa_type=UtcDateTime, default=None)
    since: datetime | None = Field(sa_type=UtcDateTime, default=None)
    behind: bool = Field(default=False, sa_column_kwargs={"server_default": false()})


shard_lease: Final = metadata.tables["shard_lease"]


class ShardProcessRow(TableRow, table=True):
    """A process that takes part until `lease_until`, and the number of shards that it wants there to be."""

    owner: str = Field(sa_type=StorableText, primary_key=True)
    lease_until: datetime = Field(sa_type=UtcDateTime)
    wanted: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


shard_process: Final = metadata.tables["shard_process"]


class ShardIdentifyRow(TableRow, table=True):
    """When a session of a bucket was last begun."""

    bucket: int = Field(primary_key=True, sa_column_kwargs={"autoincrement": False})
    at: datetime = Field(sa_type=UtcDateTime)


shard_identify: Final = metadata.tables["shard_identify"]


class SharedRateRow(TableRow, table=True):
    """How often something was done recently by all processes. `name` is a hash under the database's own key; `made`
    counts by moment, and lists who wants to do more; `next`, in microseconds: when the next call is free.
    """

    name: str = Field(sa_type=StorableText, primary_key=True)
    made: str = Field(sa_type=StorableText, default="")
    next: int = Field(sa_type=BigInteger, default=0)
    until: int = Field(sa_type=BigInteger, index=True)


shared_rate: Final = metadata.tables["shared_rate"]


# The owners of connections to Discord's gateway: leased rows, like those of turns.
#
# Rules
#   All processes use one count of shards, and a shard has one owner. Each write names owner and epoch.
#   To change the count, all shards are released before the first shard of the new count is claimed: no event is
#   received twice, and messages sent meanwhile are read from history.
#   One lock serialises all of this, so that no process counts rows that another is changing: a few rows, every other
#   second. Each process gets its part: those that hold the most keep the most, so that few shards move.
#   A session is handed over with its sequence number, which is never ahead of the events that were stored.
#   There is a gap between two identifies of one bucket, in whichever process.

_LOCK = "shards of the gateway"
_ROW = shard_lease.c


def share(
    connection: sa.Connection,
    owner: str,
    now: datetime,
    lease: timedelta,
    sessions: Mapping[HeldShard, ShardSession],
    *,
    count: int,
    heard: datetime | None = None,
) -> ShardShare:
    in_order(connection, _LOCK)
    for shard, session in sessions.items():
        connection.execute(_mine(owner, shard).values(lease_until=now + lease, **_session_columns(session)))
    # Other shards of this owner were assigned in an answer that never arrived.
    lost = sa.update(shard_lease).where(_ROW.owner == owner, _ROW.number.not_in([shard.number for shard in sessions]))
    connection.execute(lost.values(owner=None, lease_until=None))
    processes = _present(connection, owner, now, now + lease, count)
    count = max(processes.values())
    rows = connection.execute(sa.select(shard_lease).order_by(_ROW.number)).all()
    own = [HeldShard(row.number, row.shards, row.epoch) for row in rows if row.owner == owner]
    held = Counter(row.owner for row in rows if row.owner is not None and row.lease_until > now)
    if not rows or rows[0].shards != count:
        if held:
            return ShardShare(count, frozenset(), frozenset(own), {})
        rows = _divide(connection, rows, count, heard)
    free = [row for row in rows if row.owner is None or row.lease_until <= now]
    part = _part(owner, [*processes], held, count)
    claimed = {
        HeldShard(row.number, count, row.epoch + 1): ShardSession(
            row.heard, row.session, row.resume_url, row.sequence, behind=row.behind, orphaned=row.owner is not None
        )
        for row in free[: max(0, part - len(own))]
    }
    for shard in claimed:
        claim = {"owner": owner, "epoch": shard.epoch, "lease_until": now + lease, "since": now}
        connection.execute(sa.update(shard_lease).where(_ROW.number == shard.number).values(**claim))
    return ShardShare(count, frozenset(own[:part]), frozenset(own[part:]), claimed)


def _divide(
    connection: sa.Connection, rows: Sequence[sa.Row[Any]], count: int, heard: datetime | None
) -> Sequence[sa.Row[Any]]:
    """Replace the shards by `count` new ones without sessions. A new shard's `heard` is the earliest of the old shards
    from which it takes over servers.
    """
    epoch = max((row.epoch for row in rows), default=0) + 1
    connection.execute(sa.delete(shard_lease))
    for number in range(count):
        times = [row.heard or heard for row in rows if (row.number - number) % gcd(count, row.shards) == 0] or [heard]
        known = [time for time in times if time is not None]
        since = min(known) if len(known) == len(times) else None
        connection.execute(sa.insert(shard_lease).values(number=number, shards=count, epoch=epoch, heard=since))
    return connection.execute(sa.select(shard_lease).order_by(_ROW.number)).all()


def _part(owner: str, processes: Sequence[str], held: Mapping[str, int], shards: int) -> int:
    """How many shards a process should hold."""
    each, more = divmod(shards, len(processes))
    rank = sorted(processes, key=lambda process: (-held.get(process, 0), process)).index(owner)
    return each + (rank < more)


def _present(connection: sa.Connection, owner: str, now: datetime, until: datetime, wanted: int) -> Mapping[str, int]:
    """Record this process, and return for each live process the number of shards that it wants."""
    connection.execute(sa.delete(shard_process).where(shard_process.c.lease_until <= now))
    values = {"lease_until": until, "wanted": wanted}
    updated = sa.update(shard_process).where(shard_process.c.owner == owner).values(**values)
    if connection.execute(updated).rowcount == 0:
        connection.execute(sa.insert(shard_process).values(owner=owner, **values))
    found = connection.execute(sa.select(shard_process.c.owner, shard_process.c.wanted))
    return {row.owner: row.wanted for row in found}


def give_back(connection: sa.Connection, owner: str, sessions: Mapping[HeldShard, ShardSession]) -> None:
    in_order(connection, _LOCK)
    for shard, session in sessions.items():
        connection.execute(_mine(owner, shard).values(owner=None, lease_until=None, **_session_columns(session)))


def leave(connection: sa.Connection, owner: str) -> None:
    in_order(connection, _LOCK)
    connection.execute(sa.delete(shard_process).where(shard_process.c.owner == owner))
    connection.execute(sa.update(shard_lease).where(_ROW.owner == owner).values(owner=None, lease_until=None))


def identify(connection: sa.Connection, bucket: int, now: datetime, gap: timedelta) -> float:
    in_order(connection, _LOCK)
    row = shard_identify.c
    last = connection.execute(sa.select(row.at).where(row.bucket == bucket)).scalar_one_or_none()
    if last is None:
        connection.execute(sa.insert(shard_identify).values(bucket=bucket, at=now))
    elif now < last + gap:
        return min(last + gap - now, gap).total_seconds()
    else:
        connection.execute(sa.update(shard_identify).where(row.bucket == bucket).values(at=now))
    return 0.0


def listed(connection: sa.Connection, now: datetime) -> list[ListedShard]:
    rows = connection.execute(sa.select(shard_lease).order_by(_ROW.number))
    return [
        ListedShard(row.number, row.shards, row.owner, row.heard, row.since, row.lease_until)
        if row.owner and row.lease_until > now
        else ListedShard(row.number, row.shards, "", row.heard)
        for row in rows
    ]


def _mine(owner: str, shard: HeldShard) -> sa.Update:
    """An update of this owner's shard, fenced: it changes nothing after another process has claimed the shard."""
    held = (_ROW.number == shard.number, _ROW.shards == shard.count, _ROW.owner == owner, _ROW.epoch == shard.epoch)
    return sa.update(shard_lease).where(*held)


def _session_columns(session: ShardSession) -> Mapping[str, Any]:
    """The columns of a session; `heard` stays as it is if the session has none."""
    columns: dict[str, Any] = {name: getattr(session, name) for name in ("session", "resume_url", "sequence", "behind")}
    return columns if session.heard is None else columns | {"heard": session.heard}


class SqlShardLeases(SqlStore):
    share = writes(share)
    give_back = writes(give_back)
    leave = writes(leave)
    identify = writes(identify)
    listed = reads(listed)


# How often something was done recently, counted across all processes.
#
# Theory of operation. A row stands for a person, a channel, or a method of a platform. Actions are counted by slots, of
# which SLOTS make up the period of a rate, and count until their slot surely lies outside the period: so a rate is
# never exceeded, and a place becomes free up to one slot late. The statement that inserts or finds the row locks it, so
# other processes wait until it is written: two statements for each row, and one for a place in a queue. A process that
# dies leaves nothing to release, because only finished actions are counted. Inserting a row also deletes expired rows.

SLOTS: Final = 60
ASKING: Final = timedelta(seconds=30)  # A process without a call for that long no longer shares the calls
BOOKED: Final = timedelta(hours=1)  # How long a queue is kept after its last place: no place lies further ahead
SWEPT: Final = 20
_MICRO: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
# The update changes nothing: it locks the row and returns it, whether it was there or not, in one statement.
_FOUND: Final = sa.text(
    "INSERT INTO shared_rate (name, made, next, until) VALUES (:name, '', 0, :until) "
    "ON CONFLICT (name) DO UPDATE SET next = shared_rate.next RETURNING made, next"
)
# Reading and booking have to be one statement: two processes would otherwise take the same moment.
_BOOKED: Final = sa.text(
    "INSERT INTO shared_rate (name, made, next, until) VALUES (:name, '', :first, :until) "
    "ON CONFLICT (name) DO UPDATE SET until = excluded.until, "
    "next = CASE WHEN shared_rate.next > :now THEN shared_rate.next + :gap ELSE :first END RETURNING next"
)
# The later of two pauses holds, whichever process writes last.
_HELD: Final = sa.text(
    "INSERT INTO shared_rate (name, made, next, until) VALUES (:name, '', :next, :until) ON CONFLICT (name) DO UPDATE "
    "SET until = excluded.until, next = CASE WHEN shared_rate.next > :next THEN shared_rate.next ELSE :next END"
)


@dataclass(slots=True)
class _Window:
    """The counts of one row within a rate's period at `now`. Pure."""

    within: timedelta
    now: datetime
    made: dict[int, int]

    @classmethod
    def read(cls, within: timedelta, now: datetime, counts: Mapping[str, int]) -> "_Window":
        window = cls(within, now, {})
        slot = window.slot
        # Slots ahead of this process's clock, counted by another clock, count as well.
        window.made = {at: calls for key, calls in counts.items() if abs(slot - (at := int(key))) <= SLOTS}
        return window

    @property
    def slot(self) -> int:
        return (self.now - _EPOCH) // (self.within / SLOTS)

    def free_at(self, limit: int) -> datetime | None:
        """When one more is within the limit; None for now."""
        excess = self.total - limit + 1
        if excess <= 0:
            return None
        freed = accumulate(self.made[slot] for slot in sorted(self.made))
        slot = next(slot for slot, free in zip(sorted(self.made), freed, strict=True) if free >= excess)
        return _EPOCH + (slot + SLOTS + 1) * (self.within / SLOTS)

    @property
    def total(self) -> int:
        return sum(self.made.values())

    def add(self, calls: int = 1) -> None:
        self.made[self.slot] = self.made.get(self.slot, 0) + calls


def count(
    connection: sa.Connection, key: bytes, what: str, rates: Sequence[Rate], person: str, channel: str, now: datetime
) -> RateReached | None:
    ids, counted = {Whose.PERSON: person, Whose.CHANNEL: channel}, list[dict[str, Any]]()
    for whose in Whose:  # always in this order: no deadlock
        if not (applicable := [rate for rate in rates if rate.whose is whose]):
            continue
        until = max(2 * rate.within for rate in applicable) + now
        name = _name(key, what, whose, ids.get(whose, ""))
        made, _ = _found(connection, name, now, until)
        windows = dict[str, dict[int, int]]()
        for rate in applicable:
            label = f"{rate.within // _MICRO}"
            window = _Window.read(rate.within, now, made.get(label, {}))
            if (free_at := window.free_at(rate.limit)) is not None:
                return RateReached(rate, free_at)
            window.add()
            windows[label] = window.made
        counted.append({"found": name, "made": json.dumps(windows), "until": _seconds(until)})
    if counted:
        connection.execute(_COUNTED, counted)
    return None


def take(
    connection: sa.Connection, key: bytes, name: str, rate: CallRate, asks: CallsAsked, now: datetime
) -> CallsTaken:
    until = now + 2 * rate.within
    found = _name(key, name)
    stored, blocked = _found(connection, found, now, until)
    window = _Window.read(rate.within, now, stored.get("made", {}))
    others = {
        process: entry
        for process, entry in stored.get("asking", {}).items()
        if process != asks.owner and entry[1] > _seconds(now - ASKING)
    }
    free_at = max(window.free_at(rate.calls) or now, _EPOCH + blocked * _MICRO)
    taken = 0 if free_at > now else min(asks.calls, rate.calls - window.total)
    window.add(taken + asks.made)
    entry = {"made": window.made, "asking": {**others, asks.owner: [asks.asking, _seconds(now)]}}
    connection.execute(_COUNTED, {"found": found, "made": json.dumps(entry), "until": _seconds(until)})
    wait_s = 0.0 if taken else max(0.0, (free_at - now).total_seconds())
    return CallsTaken(taken, wait_s, window.total, sum(asking for asking, _ in others.values()))


def others(connection: sa.Connection, key: bytes, owner: str, now: datetime, lease: timedelta) -> int:
    until, found = _seconds(now + lease), _name(key, "processes")
    stored, _ = _found(connection, found, now, now + lease)
    alive = {process: ends for process, ends in stored.items() if process != owner and ends > _seconds(now)}
    entries = json.dumps({**alive, owner: until})
    connection.execute(_COUNTED, {"found": found, "made": entries, "until": max(until, *alive.values(), 0)})
    return len(alive)


def book(connection: sa.Connection, key: bytes, name: str, gap: timedelta, now: datetime) -> timedelta:
    at, step = (now - _EPOCH) // _MICRO, gap // _MICRO
    values = {"name": _name(key, name), "now": at, "gap": step, "first": at + step, "until": _seconds(now + BOOKED)}
    booked = connection.execute(_BOOKED, values).scalar_one()
    return (booked - step - at) * _MICRO


def hold(connection: sa.Connection, key: bytes, name: str, until: datetime) -> None:
    values = {"next": (until - _EPOCH) // _MICRO, "until": _seconds(until + BOOKED)}
    connection.execute(_HELD, {"name": _name(key, name), **values})


_COUNTED: Final = (
    sa.update(shared_rate)
    .where(shared_rate.c.name == sa.bindparam("found"))
    .values(made=sa.bindparam("made"), until=sa.bindparam("until"))
)


def _found(connection: sa.Connection, name: str, now: datetime, until: datetime) -> tuple[dict[str, Any], int]:
    """Insert or find a row and lock it; returns its counts and until when it is blocked."""
    made, blocked = connection.execute(_FOUND, {"name": name, "until": _seconds(until)}).one()
    if not made:
        old = sa.select(shared_rate.c.name).where(shared_rate.c.until < _seconds(now)).limit(SWEPT)
        connection.execute(sa.delete(shared_rate).where(shared_rate.c.name.in_(old.with_for_update(skip_locked=True))))
    return json.loads(made or "{}"), blocked


def _seconds(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(seconds=1)


def _name(key: bytes, *parts: str) -> str:
    return hmac.new(key, "\0".join(("rate", *parts)).encode("utf-8", "surrogatepass"), sha256).hexdigest()


@dataclass(frozen=True, slots=True)
class SqlSharedRates:
    """`key`: the database's own."""

    database: Database
    key: bytes = field(repr=False)

    async def count(
        self, what: str, rates: Sequence[Rate], person: str, channel: str, now: datetime
    ) -> RateReached | None:
        return await self.database.write(count, self.key, what, rates, person, channel, now)

    async def take(self, name: str, rate: CallRate, asks: CallsAsked, now: datetime) -> CallsTaken:
        return await self.database.write(take, self.key, name, rate, asks, now)

    async def book(self, name: str, gap: timedelta, now: datetime) -> timedelta:
        return await self.database.write(book, self.key, name, gap, now)

    async def hold(self, name: str, until: datetime) -> None:
        await self.database.write(hold, self.key, name, until)

    async def others(self, owner: str, now: datetime, lease: timedelta) -> int:
        return await self.database.write(others, self.key, owner, now, lease)
