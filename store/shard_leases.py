"""Which process holds which connection to Discord's gateway: leased rows, as those of turns are.

Rules
  One count of shards holds for all processes, and a shard has one owner. Whoever changes a row names owner and epoch.
  All of it is done one after another, so that nobody counts what another is just changing: a few rows, every other
  second. Each process is given its part: those that hold the most keep the most, so that as little as possible moves.
  A session is handed over with its sequence, which never says more than what was taken in.
  Between two identifies of one bucket, in whichever process, there is a gap.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from agent.ports import HeldShard, ListedShard, ShardSession, ShardShare
from store.databases.database import SqlStore, in_order, reads, writes
from store.knowledge_tables import shard_identify, shard_lease, shard_process

_LOCK = "shards of the gateway"
_ROW = shard_lease.c


def agree(connection: sa.Connection, count: int, now: datetime, *, exactly: bool) -> int:
    in_order(connection, _LOCK)
    rows = connection.execute(sa.select(_ROW.shards, _ROW.epoch, _ROW.heard)).all()
    if rows:
        agreed = rows[0].shards
        works = sa.select(shard_process.c.owner).where(shard_process.c.lease_until > now).limit(1)
        at_work = connection.execute(works).one_or_none() is not None
        if agreed == count or (at_work and not exactly and agreed > count):
            return agreed
    epoch = max((row.epoch for row in rows), default=0) + 1
    heard = None if any(row.heard is None for row in rows) else min((row.heard for row in rows), default=None)
    connection.execute(sa.delete(shard_lease))
    new = [{"number": number, "shards": count, "epoch": epoch, "heard": heard} for number in range(count)]
    connection.execute(sa.insert(shard_lease), new)
    return count


def share(
    connection: sa.Connection, owner: str, now: datetime, lease: timedelta, sessions: Mapping[HeldShard, ShardSession]
) -> ShardShare:
    in_order(connection, _LOCK)
    for shard, session in sessions.items():
        connection.execute(_mine(owner, shard).values(lease_until=now + lease, **_kept(session)))
    # What is not among them was given to it in an answer that never arrived.
    lost = sa.update(shard_lease).where(_ROW.owner == owner, _ROW.number.not_in([shard.number for shard in sessions]))
    connection.execute(lost.values(owner=None, lease_until=None))
    _be_present(connection, owner, now, now + lease)
    processes = [*connection.execute(sa.select(shard_process.c.owner)).scalars()]
    rows = connection.execute(sa.select(shard_lease).order_by(_ROW.number)).all()
    mine = [HeldShard(row.number, row.shards, row.epoch) for row in rows if row.owner == owner]
    free = [row for row in rows if row.owner is None or row.lease_until <= now]
    held = Counter(row.owner for row in rows if row not in free)
    part = _part(owner, processes, held, len(rows))
    taken = {
        HeldShard(row.number, row.shards, row.epoch + 1): ShardSession(
            row.heard, row.session, row.resume_url, row.sequence, orphaned=row.owner is not None
        )
        for row in free[: max(0, part - len(mine))]
    }
    for shard in taken:
        claim = {"owner": owner, "epoch": shard.epoch, "lease_until": now + lease}
        connection.execute(sa.update(shard_lease).where(_ROW.number == shard.number).values(**claim))
    return ShardShare(rows[0].shards if rows else 0, frozenset(mine[:part]), frozenset(mine[part:]), taken)


def _part(owner: str, processes: Sequence[str], held: Mapping[str, int], shards: int) -> int:
    """How many shards a process is to hold."""
    each, more = divmod(shards, len(processes))
    rank = sorted(processes, key=lambda process: (-held.get(process, 0), process)).index(owner)
    return each + (rank < more)


def _be_present(connection: sa.Connection, owner: str, now: datetime, until: datetime) -> None:
    connection.execute(sa.delete(shard_process).where(shard_process.c.lease_until <= now))
    seen = sa.update(shard_process).where(shard_process.c.owner == owner).values(lease_until=until)
    if connection.execute(seen).rowcount == 0:
        connection.execute(sa.insert(shard_process).values(owner=owner, lease_until=until))


def give_back(connection: sa.Connection, owner: str, sessions: Mapping[HeldShard, ShardSession]) -> None:
    in_order(connection, _LOCK)
    for shard, session in sessions.items():
        connection.execute(_mine(owner, shard).values(owner=None, lease_until=None, **_kept(session)))


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
        ListedShard(row.number, row.shards, row.owner if row.owner and row.lease_until > now else "", row.heard)
        for row in rows
    ]


def _mine(owner: str, shard: HeldShard) -> sa.Update:
    """Fenced: changes nothing of a shard that another has claimed since."""
    here = (_ROW.number == shard.number, _ROW.shards == shard.count, _ROW.owner == owner, _ROW.epoch == shard.epoch)
    return sa.update(shard_lease).where(*here)


def _kept(session: ShardSession) -> Mapping[str, Any]:
    """What is kept; until when everything was heard stays as it was where nothing is said of it."""
    kept = {"session": session.session, "resume_url": session.resume_url, "sequence": session.sequence}
    return kept if session.heard is None else {**kept, "heard": session.heard}


class SqlShardLeases(SqlStore):
    agree = writes(agree)
    share = writes(share)
    give_back = writes(give_back)
    leave = writes(leave)
    identify = writes(identify)
    listed = reads(listed)
