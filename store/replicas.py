"""What processes on one database share: Discord's connections, how often people do what, and calls to platforms."""

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

from agent.admission_terms import Rate, RateReached, Whose
from agent.ports import CallRate, CallsAsked, CallsTaken, HeldShard, ListedShard, ShardSession, ShardShare
from store.databases.database import Database, SqlStore, in_order, reads, writes
from store.knowledge_tables import shard_identify, shard_lease, shard_process, shared_rate

# Which process holds which connection to Discord's gateway: leased rows, as those of turns are.
#
# Rules
#   One count of shards holds for all processes, and a shard has one owner. Whoever changes a row names owner and epoch.
#   Where another count is wanted, all shards are given back before the first of the new count is taken: nothing is
#   heard twice, and what is said meanwhile is read from history.
#   All of it is done one after another, so that nobody counts what another is just changing: a few rows, every other
#   second. Each process is given its part: those that hold the most keep the most, so that as little as possible moves.
#   A session is handed over with its sequence, which never says more than what was taken in.
#   Between two identifies of one bucket, in whichever process, there is a gap.

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
        connection.execute(_mine(owner, shard).values(lease_until=now + lease, **_kept(session)))
    # What is not among them was given to it in an answer that never arrived.
    lost = sa.update(shard_lease).where(_ROW.owner == owner, _ROW.number.not_in([shard.number for shard in sessions]))
    connection.execute(lost.values(owner=None, lease_until=None))
    processes = _present(connection, owner, now, now + lease, count)
    count = max(processes.values())
    rows = connection.execute(sa.select(shard_lease).order_by(_ROW.number)).all()
    mine = [HeldShard(row.number, row.shards, row.epoch) for row in rows if row.owner == owner]
    held = Counter(row.owner for row in rows if row.owner is not None and row.lease_until > now)
    if not rows or rows[0].shards != count:
        if held:
            return ShardShare(count, frozenset(), frozenset(mine), {})
        rows = _divide(connection, rows, count, heard)
    free = [row for row in rows if row.owner is None or row.lease_until <= now]
    part = _part(owner, [*processes], held, count)
    taken = {
        HeldShard(row.number, count, row.epoch + 1): ShardSession(
            row.heard, row.session, row.resume_url, row.sequence, behind=row.behind, orphaned=row.owner is not None
        )
        for row in free[: max(0, part - len(mine))]
    }
    for shard in taken:
        claim = {"owner": owner, "epoch": shard.epoch, "lease_until": now + lease, "since": now}
        connection.execute(sa.update(shard_lease).where(_ROW.number == shard.number).values(**claim))
    return ShardShare(count, frozenset(mine[:part]), frozenset(mine[part:]), taken)


def _divide(
    connection: sa.Connection, rows: Sequence[sa.Row[Any]], count: int, heard: datetime | None
) -> Sequence[sa.Row[Any]]:
    """Another number of shards, of which none has a session. Each was heard as far as all those were from which it has
    servers.
    """
    epoch = max((row.epoch for row in rows), default=0) + 1
    connection.execute(sa.delete(shard_lease))
    for number in range(count):
        of = [row.heard or heard for row in rows if (row.number - number) % gcd(count, row.shards) == 0] or [heard]
        known = [time for time in of if time is not None]
        since = min(known) if len(known) == len(of) else None
        connection.execute(sa.insert(shard_lease).values(number=number, shards=count, epoch=epoch, heard=since))
    return connection.execute(sa.select(shard_lease).order_by(_ROW.number)).all()


def _part(owner: str, processes: Sequence[str], held: Mapping[str, int], shards: int) -> int:
    """How many shards a process is to hold."""
    each, more = divmod(shards, len(processes))
    rank = sorted(processes, key=lambda process: (-held.get(process, 0), process)).index(owner)
    return each + (rank < more)


def _present(connection: sa.Connection, owner: str, now: datetime, until: datetime, wanted: int) -> Mapping[str, int]:
    """How many shards each process wants that is there, as this one is."""
    connection.execute(sa.delete(shard_process).where(shard_process.c.lease_until <= now))
    here = {"lease_until": until, "wanted": wanted}
    seen = sa.update(shard_process).where(shard_process.c.owner == owner).values(**here)
    if connection.execute(seen).rowcount == 0:
        connection.execute(sa.insert(shard_process).values(owner=owner, **here))
    told = connection.execute(sa.select(shard_process.c.owner, shard_process.c.wanted))
    return {row.owner: row.wanted for row in told}


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
        ListedShard(row.number, row.shards, row.owner, row.heard, row.since, row.lease_until)
        if row.owner and row.lease_until > now
        else ListedShard(row.number, row.shards, "", row.heard)
        for row in rows
    ]


def _mine(owner: str, shard: HeldShard) -> sa.Update:
    """Fenced: changes nothing of a shard that another has claimed since."""
    here = (_ROW.number == shard.number, _ROW.shards == shard.count, _ROW.owner == owner, _ROW.epoch == shard.epoch)
    return sa.update(shard_lease).where(*here)


def _kept(session: ShardSession) -> Mapping[str, Any]:
    """What is kept; until when everything was heard stays as it was where nothing is said of it."""
    where = {"session": session.session, "resume_url": session.resume_url, "sequence": session.sequence}
    kept = {**where, "behind": session.behind}
    return kept if session.heard is None else {**kept, "heard": session.heard}


class SqlShardLeases(SqlStore):
    share = writes(share)
    give_back = writes(give_back)
    leave = writes(leave)
    identify = writes(identify)
    listed = reads(listed)


# How often something was done of late, counted by all processes.
#
# Theory of operation. A row stands for a person, a channel, or a method of a platform. What is done is counted by
# moments, of which SLOTS make up the time of a rate, and counts until its moment surely lies behind that time: so
# nothing ever exceeds a rate, and what is free again is free a moment late. The statement that makes the row, or finds
# it, locks it, so the others wait until it is written: two statements for each row, and one for a place in a queue.
# A process that dies leaves nothing to give back, as what it did not do is not counted. Rows that count no longer are
# taken away by those who make new ones.

SLOTS: Final = 60
ASKING: Final = timedelta(seconds=30)  # A process that has not made a call for so long shares in none
BOOKED: Final = timedelta(hours=1)  # After its last place a queue is kept so long: no place lies further ahead
SWEPT: Final = 20
_MICRO: Final = timedelta(microseconds=1)
_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_FOUND: Final = sa.text(
    "INSERT INTO shared_rate (name, made, next, until) VALUES (:name, '', 0, :until) "
    "ON CONFLICT (name) DO UPDATE SET next = shared_rate.next RETURNING made, next"
)
_BOOKED: Final = sa.text(
    "INSERT INTO shared_rate (name, made, next, until) VALUES (:name, '', :first, :until) "
    "ON CONFLICT (name) DO UPDATE SET until = excluded.until, "
    "next = CASE WHEN shared_rate.next > :now THEN shared_rate.next + :gap ELSE :first END RETURNING next"
)
_HELD: Final = sa.text(
    "INSERT INTO shared_rate (name, made, next, until) VALUES (:name, '', :next, :until) ON CONFLICT (name) DO UPDATE "
    "SET until = excluded.until, next = CASE WHEN shared_rate.next > :next THEN shared_rate.next ELSE :next END"
)


@dataclass(slots=True)
class _Window:
    """What counts at `now`, of one row. Pure."""

    within: timedelta
    now: datetime
    made: dict[int, int]

    @classmethod
    def read(cls, within: timedelta, now: datetime, kept: Mapping[str, int]) -> "_Window":
        window = cls(within, now, {})
        slot = window.slot
        # What another clock saw ahead of this one counts, too.
        window.made = {at: many for one, many in kept.items() if abs(slot - (at := int(one))) <= SLOTS}
        return window

    @property
    def slot(self) -> int:
        return (self.now - _EPOCH) // (self.within / SLOTS)

    def free_at(self, limit: int) -> datetime | None:
        """When one more is within the limit; None: now."""
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
    whose, counted = {Whose.PERSON: person, Whose.CHANNEL: channel}, list[dict[str, Any]]()
    for one in Whose:  # always in this order: nobody waits for one who waits for them
        if not (its := [rate for rate in rates if rate.whose is one]):
            continue
        until = max(2 * rate.within for rate in its) + now
        name = _name(key, what, one, whose.get(one, ""))
        made, _ = _found(connection, name, now, until)
        windows = dict[str, dict[int, int]]()
        for rate in its:
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
    kept, blocked = _found(connection, found, now, until)
    window = _Window.read(rate.within, now, kept.get("made", {}))
    others = {
        process: told
        for process, told in kept.get("asking", {}).items()
        if process != asks.owner and told[1] > _seconds(now - ASKING)
    }
    free_at = max(window.free_at(rate.calls) or now, _EPOCH + blocked * _MICRO)
    taken = 0 if free_at > now else min(asks.calls, rate.calls - window.total)
    window.add(taken + asks.made)
    told = {"made": window.made, "asking": {**others, asks.owner: [asks.asking, _seconds(now)]}}
    connection.execute(_COUNTED, {"found": found, "made": json.dumps(told), "until": _seconds(until)})
    wait_s = 0.0 if taken else max(0.0, (free_at - now).total_seconds())
    return CallsTaken(taken, wait_s, window.total, sum(many for many, _ in others.values()))


def others(connection: sa.Connection, key: bytes, owner: str, now: datetime, lease: timedelta) -> int:
    until, found = _seconds(now + lease), _name(key, "processes")
    kept, _ = _found(connection, found, now, now + lease)
    alive = {process: ends for process, ends in kept.items() if process != owner and ends > _seconds(now)}
    here = json.dumps({**alive, owner: until})
    connection.execute(_COUNTED, {"found": found, "made": here, "until": max(until, *alive.values(), 0)})
    return len(alive)


def book(connection: sa.Connection, key: bytes, name: str, gap: timedelta, now: datetime) -> timedelta:
    at, step = (now - _EPOCH) // _MICRO, gap // _MICRO
    asked = {"name": _name(key, name), "now": at, "gap": step, "first": at + step, "until": _seconds(now + BOOKED)}
    booked = connection.execute(_BOOKED, asked).scalar_one()
    return (booked - step - at) * _MICRO


def hold(connection: sa.Connection, key: bytes, name: str, until: datetime) -> None:
    over = {"next": (until - _EPOCH) // _MICRO, "until": _seconds(until + BOOKED)}
    connection.execute(_HELD, {"name": _name(key, name), **over})


_COUNTED: Final = (
    sa.update(shared_rate)
    .where(shared_rate.c.name == sa.bindparam("found"))
    .values(made=sa.bindparam("made"), until=sa.bindparam("until"))
)


def _found(connection: sa.Connection, name: str, now: datetime, until: datetime) -> tuple[dict[str, Any], int]:
    """What stands in a row, which is made if there is none, and locked."""
    made, blocked = connection.execute(_FOUND, {"name": name, "until": _seconds(until)}).one()
    if not made:
        over = sa.select(shared_rate.c.name).where(shared_rate.c.until < _seconds(now)).limit(SWEPT)
        connection.execute(sa.delete(shared_rate).where(shared_rate.c.name.in_(over.with_for_update(skip_locked=True))))
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
