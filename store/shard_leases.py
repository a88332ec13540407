"""The owners of connections to Discord's gateway: leased rows, like those of turns.

Rules
  All processes use one count of shards, and a shard has one owner. Each write names owner and epoch.
  To change the count, all shards are released before the first shard of the new count is claimed: no event is received
  twice, and messages sent meanwhile are read from history.
  One lock serialises all of this, so that no process counts rows that another is changing: a few rows, every other
  second. Each process gets its part: those that hold the most keep the most, so that few shards move.
  A session is handed over with its sequence number, which is never ahead of the events that were stored.
  There is a gap between two identifies of one bucket, in whichever process.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from math import gcd
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger, false
from sqlmodel import Field

from agent.ports.shard_leases import HeldShard, ListedShard, ShardSession, ShardShare
from store.databases.database import SqlStore, StorableText, UtcDateTime, in_order, reads, writes
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


def identified(connection: sa.Connection, bucket: int, now: datetime) -> None:
    row = shard_identify.c
    connection.execute(sa.update(shard_identify).where(row.bucket == bucket, row.at < now).values(at=now))


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
    identified = writes(identified)
    listed = reads(listed)
