"""Work outside of turns (learning, reminders, clean-up at vendors): rows with a time, a lease and an epoch, like turns.

Rules
  For each kind and key at most one job waits and at most one runs; while one runs, the next may wait.
  The job with the earliest time goes first. A job whose worker's lease ran out is taken over.
  A finished job is deleted: its payload may hold people's words.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from dataclasses import replace as replace_fields
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias

from sqlalchemy import (
    ColumnElement,
    Connection,
    Index,
    Insert,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlmodel import Field

from agent.errors import LeaseLost
from agent.jobs import Job
from store.databases.database import SqlStore, StorableText, UtcDateTime, reads, writes
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index
from store.turn_tables import RUNNING, WAITING


class JobRow(TableRow, table=True):
    """Work outside of turns. It is forgotten with `person` and `conversation`; the person may have no row."""

    __table_args__: ClassVar[Any] = (
        partial_index("ix_job_one_waiting", "kind", "key", where="state = 'waiting'", unique=True),
        partial_index("ix_job_one_running", "kind", "key", where="state = 'running'", unique=True),
        Index("ix_job_run_at", "kind", "run_at"),
        Index("ix_job_person", "person", "conversation"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    kind: str = Field(sa_type=StorableText)
    key: str = Field(sa_type=StorableText)
    state: str = Field(sa_type=StorableText, default=WAITING)
    payload: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    conversation: str = Field(sa_type=StorableText)
    run_at: datetime = Field(sa_type=UtcDateTime)
    owner: str | None = Field(sa_type=StorableText, default=None)
    lease_until: datetime | None = Field(sa_type=UtcDateTime, default=None)
    epoch: int = 0
    attempts: int = 0


job: Final = metadata.tables["job"]


# Statements are built once: building one takes longer than running it. Values are passed at execution.
_IS_WAITING: Final = and_(
    job.c.kind == bindparam("its_kind"), job.c.key == bindparam("its_key"), job.c.state == WAITING
)
_IS_HELD: Final = and_(job.c.id == bindparam("held"), job.c.epoch == bindparam("held_epoch"), job.c.state == RUNNING)
_NEW: Final = insert(job)
_OF_WAITING: Final = update(job).where(_IS_WAITING)
Scheduling: TypeAlias = tuple[Update, Insert]
_SOONER: Final = _OF_WAITING.where(job.c.run_at > bindparam("before", type_=UtcDateTime))
_CANCEL: Final = delete(job).where(_IS_WAITING)
_OF_HELD: Final = update(job).where(_IS_HELD)
_TAKE: Final = update(job).where(job.c.id == bindparam("chosen"))
_FINISH: Final = delete(job).where(_IS_HELD)
_PAYLOAD: Final = select(job.c.payload).where(_IS_HELD).with_for_update()
_WAITS: Final = select(job.c.id).where(_IS_WAITING)


def _next() -> Select[*tuple[Any, ...]]:
    other, now = job.alias("other"), bindparam("now", type_=UtcDateTime)
    same = exists().where(other.c.kind == job.c.kind, other.c.key == job.c.key, other.c.state == RUNNING)
    free = or_(
        and_(job.c.state == WAITING, job.c.run_at <= now, ~same), and_(job.c.state == RUNNING, job.c.lease_until <= now)
    )
    first = (
        select(*(job.c[field.name] for field in fields(Job)))
        .where(job.c.kind.in_(bindparam("kinds", expanding=True)), free)
        .order_by(job.c.run_at, job.c.id)
        .limit(1)
    )
    # Workers skip rows that another one is just claiming. (SQLite has one writer and no such clause.)
    return first.with_for_update(skip_locked=True)


_NEXT: Final = _next()


def scheduling_at(run_at: ColumnElement[datetime]) -> Scheduling:
    """Return the statements for `schedule` with a time that the database works out."""
    return _OF_WAITING.values(run_at=run_at), _NEW.values(run_at=run_at)


def schedule(
    connection: Connection,
    kind: str,
    key: str,
    values: Mapping[str, Any],
    statements: Scheduling = (_OF_WAITING, _NEW),
) -> None:
    """Update the waiting job with these values, or insert a new one."""
    change, add = statements
    if connection.execute(change, {"its_kind": kind, "its_key": key, **values}).rowcount == 0:
        connection.execute(add, {"kind": kind, "key": key, **values})


def replace(connection: Connection, kind: str, key: str, *, payload: str, person: str) -> bool:
    """Update the waiting job with these values, without its time; False if there is none."""
    values = {"its_kind": kind, "its_key": key, "payload": payload, "person": person}
    return connection.execute(_OF_WAITING, values).rowcount > 0


def cancel(connection: Connection, kind: str, key: str) -> bool:
    return connection.execute(_CANCEL, {"its_kind": kind, "its_key": key}).rowcount > 0


def claim(connection: Connection, kinds: frozenset[str], owner: str, now: datetime, lease: timedelta) -> Job | None:
    row = connection.execute(_NEXT, {"kinds": sorted(kinds), "now": now}).mappings().one_or_none()
    if row is None:
        return None
    claimed = replace_fields(Job(**row), epoch=row["epoch"] + 1, attempts=row["attempts"] + 1, owner=owner)
    columns = {"owner": owner, "lease_until": now + lease, "epoch": claimed.epoch, "attempts": claimed.attempts}
    connection.execute(_TAKE, {"chosen": claimed.id, "state": RUNNING, **columns})
    return claimed


def late(connection: Connection, now: datetime) -> dict[str, timedelta]:
    due = select(job.c.kind, func.min(job.c.run_at)).where(job.c.state == WAITING, job.c.run_at <= now)
    return {kind: now - first for kind, first in connection.execute(due.group_by(job.c.kind))}


def due_topic(kind: str) -> str:
    """The topic of `after_commit` for jobs of this kind that someone waits for."""
    return f"job {kind}"


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

    def on_due(self, kind: str, listener: Callable[[], None]) -> Callable[[], None]:
        topic, commits = due_topic(kind), self.database.commits
        commits.listen(topic, listener)
        return lambda: commits.ignore(topic, listener)

    async def renew(self, job: Job, now: datetime, lease: timedelta) -> None:
        await self.database.write(renew, job, now + lease)

    async def finish(self, job: Job) -> None:
        await self.database.write(finish, job)

    async def postpone(self, job: Job, run_at: datetime) -> None:
        await self.database.write(postpone, job, run_at)

    async def again(self, job: Job, run_at: datetime) -> None:
        await self.database.write(again, job, run_at)


def renew(connection: Connection, held: Job, lease_until: datetime) -> None:
    _write(connection, held, {"lease_until": lease_until})


def payload_of(connection: Connection, held: Job) -> str | None:
    """The job's current payload, locked until the transaction ends; None if the job is no longer held."""
    return connection.execute(_PAYLOAD, _which(held)).scalar_one_or_none()


def is_newest(connection: Connection, kind: str, key: str, held: Job | None) -> bool:
    """Whether this is the newest work under the key. With a job: whether it is still held. Without one (None) it is
    new, and the waiting and running jobs of the key are deleted.
    """
    if held is not None:
        return payload_of(connection, held) is not None
    connection.execute(delete(job).where(job.c.kind == kind, job.c.key == key))
    return True


def keep_payload(connection: Connection, held: Job, payload: str) -> None:
    """Store the progress of a job as its payload: the job resumes there, even after a kill."""
    _write(connection, held, {"payload": payload})


def finish(connection: Connection, held: Job) -> None:
    _expect_one(connection.execute(_FINISH, _which(held)).rowcount, held)


def postpone(connection: Connection, held: Job, run_at: datetime) -> None:
    """Let the job wait again; if a newer one waits already, finish this one."""
    if connection.execute(_WAITS, {"its_kind": held.kind, "its_key": held.key}).first() is not None:
        finish(connection, held)
        return
    _write(connection, held, {"state": WAITING, "owner": None, "lease_until": None, "run_at": run_at})


def again(connection: Connection, held: Job, run_at: datetime) -> None:
    """Keep what was scheduled meanwhile: a plain `schedule` would delay it."""
    if payload_of(connection, held) is None:
        raise _lost(held)
    its = {"its_kind": held.kind, "its_key": held.key}
    if connection.execute(_WAITS, its).first() is not None:
        connection.execute(_SOONER, {**its, "before": run_at, "run_at": run_at})
        return
    values = {"payload": held.payload, "person": held.person, "conversation": held.conversation}
    connection.execute(_NEW, {"kind": held.kind, "key": held.key, "run_at": run_at, **values})


def _which(held: Job) -> dict[str, Any]:
    return {"held": held.id, "held_epoch": held.epoch}


def _write(connection: Connection, held: Job, values: Mapping[str, Any]) -> None:
    """Raises LeaseLost."""
    _expect_one(connection.execute(_OF_HELD, {**_which(held), **values}).rowcount, held)


def _expect_one(changed: int, held: Job) -> None:
    if changed != 1:
        raise _lost(held)


def _lost(held: Job) -> LeaseLost:
    return LeaseLost(f"Job {held.id} ({held.kind}) is no longer held by {held.owner}.")
