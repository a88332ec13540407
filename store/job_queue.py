"""Work outside of turns (learning, reminders, clean-up at vendors): rows with a time, a lease and an epoch, as turns.

Rules
  Of one kind and key at most one job waits and at most one runs; while it runs, the next one may wait.
  The one whose time came first goes first. A job whose worker's lease ran out is taken over.
  A finished job leaves nothing behind: its payload may hold words.
"""

from collections.abc import Mapping
from dataclasses import fields
from dataclasses import replace as replace_fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, func, insert, or_, select, update

from agent.errors import LeaseLost
from agent.records import Job
from store.databases.database import SqlStore, reads, writes
from store.tables import RUNNING, WAITING, job


def schedule(connection: Connection, kind: str, key: str, values: Mapping[str, Any]) -> None:
    """The waiting job takes these values; without one there is a new one."""
    if connection.execute(update(job).where(_waiting(kind, key)).values(values)).rowcount == 0:
        connection.execute(insert(job).values(kind=kind, key=key, **values))


def replace(connection: Connection, kind: str, key: str, *, payload: str, person: str) -> bool:
    """The waiting job takes these values and keeps its time; False if there is none."""
    changed = update(job).where(_waiting(kind, key)).values(payload=payload, person=person)
    return connection.execute(changed).rowcount > 0


def cancel(connection: Connection, kind: str, key: str) -> bool:
    return connection.execute(delete(job).where(_waiting(kind, key))).rowcount > 0


def claim(connection: Connection, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
    other = job.alias("other")
    same = exists().where(other.c.kind == job.c.kind, other.c.key == job.c.key, other.c.state == RUNNING)
    free = or_(
        and_(job.c.state == WAITING, job.c.run_at <= now, ~same), and_(job.c.state == RUNNING, job.c.lease_until <= now)
    )
    first = (
        select(*(job.c[one.name] for one in fields(Job)))
        .where(job.c.kind.in_(sorted(kinds)), free)
        .order_by(job.c.run_at, job.c.id)
        .limit(1)
    )
    # Workers pass by what another one is just claiming. (SQLite has one writer, and no such words.)
    row = connection.execute(first.with_for_update(skip_locked=True)).mappings().one_or_none()
    if row is None:
        return None
    claimed = replace_fields(Job(**row), epoch=row["epoch"] + 1, attempts=row["attempts"] + 1, owner=owner)
    taken = {"owner": owner, "lease_until": now + lease, "epoch": claimed.epoch, "attempts": claimed.attempts}
    connection.execute(update(job).where(job.c.id == claimed.id).values(state=RUNNING, **taken))
    return claimed


def late(connection: Connection, now: datetime) -> dict[str, timedelta]:
    due = select(job.c.kind, func.min(job.c.run_at)).where(job.c.state == WAITING, job.c.run_at <= now)
    return {kind: now - first for kind, first in connection.execute(due.group_by(job.c.kind))}


class SqlJobs(SqlStore):
    late = reads(late)
    cancel = writes(cancel)
    replace = writes(replace)
    claim = writes(claim)

    async def schedule(
        self, kind: str, key: str, payload: str, run_at: datetime, *, person: str = "", conversation: str = ""
    ) -> None:
        values = {"payload": payload, "run_at": run_at, "person": person, "conversation": conversation}
        await self.database.write(schedule, kind, key, values)

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None:
        await self.database.write(renew, job, now + lease)

    async def finish(self, job: Job) -> None:
        await self.database.write(finish, job)

    async def postpone(self, job: Job, run_at: datetime) -> None:
        await self.database.write(postpone, job, run_at)


def renew(connection: Connection, held: Job, lease_until: datetime) -> None:
    _expect_one(connection.execute(update(job).where(_held(held)).values(lease_until=lease_until)).rowcount, held)


def payload_of(connection: Connection, held: Job) -> str | None:
    """What the job has to do now, held until the transaction ends; None if it is no longer held."""
    return connection.execute(select(job.c.payload).where(_held(held)).with_for_update()).scalar_one_or_none()


def is_newest(connection: Connection, kind: str, key: str, held: Job | None) -> bool:
    """Whether this is the last that is to be done under the key: a job as long as it is held, and what comes by itself
    (None), which takes away those that wait and run.
    """
    if held is not None:
        return payload_of(connection, held) is not None
    connection.execute(delete(job).where(job.c.kind == kind, job.c.key == key))
    return True


def keep_payload(connection: Connection, held: Job, payload: str) -> None:
    """Let it go on from there, even after a kill."""
    _expect_one(connection.execute(update(job).where(_held(held)).values(payload=payload)).rowcount, held)


def finish(connection: Connection, held: Job) -> None:
    _expect_one(connection.execute(delete(job).where(_held(held))).rowcount, held)


def postpone(connection: Connection, held: Job, run_at: datetime) -> None:
    """Let it wait again; if a newer one waits already, that one stands for both."""
    newer = select(job.c.id).where(_waiting(held.kind, held.key))
    if connection.execute(newer).first() is not None:
        finish(connection, held)
        return
    again = {"state": WAITING, "owner": None, "lease_until": None, "run_at": run_at}
    _expect_one(connection.execute(update(job).where(_held(held)).values(**again)).rowcount, held)


def _waiting(kind: str, key: str) -> ColumnElement[bool]:
    return and_(job.c.kind == kind, job.c.key == key, job.c.state == WAITING)


def _held(held: Job) -> ColumnElement[bool]:
    return and_(job.c.id == held.id, job.c.epoch == held.epoch, job.c.state == RUNNING)


def _expect_one(changed: int, held: Job) -> None:
    if changed != 1:
        raise LeaseLost(f"Job {held.id} ({held.kind}) is no longer held by {held.owner}.")
