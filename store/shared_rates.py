"""Rates that all processes on one database share: of people and channels, and of the calls of platforms.

Theory of operation
  A row stands for a person, a channel, or a method of a platform. Actions are counted by slots, of which SLOTS make up
  the period of a rate, and count until their slot surely lies outside the period: so a rate is never exceeded, and a
  place becomes free up to one slot late.
  The statement that inserts or finds the row locks it, so other processes wait until it is written: two statements for
  each row, and one for a place in a queue. A process that dies leaves nothing to release, because only finished actions
  are counted. Inserting a row also deletes expired rows.
"""

import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import accumulate
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger
from sqlmodel import Field

from agent.admission_terms import Rate, RateReached, Whose
from agent.ports.shared_rates import CallRate, CallsAsked, CallsTaken
from store.databases.database import Database, StorableText
from store.schema import TableRow, metadata


class SharedRateRow(TableRow, table=True):
    """How often something was done recently by all processes. `name` is a hash under the database's own key; `made`
    counts by moment, and lists who wants to do more; `next`, in microseconds: when the next call is free.
    """

    name: str = Field(sa_type=StorableText, primary_key=True)
    made: str = Field(sa_type=StorableText, default="")
    next: int = Field(sa_type=BigInteger, default=0)
    until: int = Field(sa_type=BigInteger, index=True)


shared_rate: Final = metadata.tables["shared_rate"]


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
