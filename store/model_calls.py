"""What model calls took: one row a call, written with the end of its turn, however it ends, or after it; sums of them.

Rules
  A call is priced when it is stored, by the table of that day.
  Rows hold no words. When their turn is forgotten they lose it at once, and their channel once their day is over, with
  the next call that is stored; the person stays. So forgetting gives nobody a new budget, and no channel either.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from agent.messages import ModelCall, Usage
from agent.records import Claim
from agent.spending import By, Money, SpendingPeriod, Spent, Total, cost
from store import rows
from store.databases.database import SqlStore, reads, writes
from store.tables import model_call, person, turn

TURN: Final = "turn"
"""The kind of a call that answers somebody."""
_KEYS: Final = {By.PERSON: "person", By.CHANNEL: "channel", By.DAY: "day", By.MODEL: "model"}
_COUNTS: Final = ("input_uncached", "input_cached", "input_written", "output", "reasoning", "bytes_up")


def record(
    connection: sa.Connection,
    calls: Iterable[ModelCall],
    *,
    turn: int | None,
    person: str,
    channel: str,
    now: datetime,
    kind: str = TURN,
) -> None:
    shared = {"turn": turn, "person": person, "channel": channel, "day": now.date(), "kind": kind}
    values = [
        {**shared, "number": number, "model": call.model, "cost": cost(call), **asdict(call.usage)}
        for number, call in enumerate(calls, 1)
    ]
    if values:
        connection.execute(sa.insert(model_call), values)
        _forget_channels(connection, now)


def charge(connection: sa.Connection, person: str, kind: str, calls: Sequence[ModelCall], now: datetime) -> None:
    record(connection, calls, turn=None, person=person, channel="", now=now, kind=kind)


def keep(connection: sa.Connection, claim: Claim, calls: tuple[ModelCall, ...], now: datetime) -> None:
    """Before the claimed turn loses its progress: store what its calls took, or if none are given, the saved ones."""
    asked = claim.incoming
    if calls:
        record(connection, calls, turn=claim.turn, person=asked.person.id, channel=asked.channel, now=now)
    else:
        settle(connection, turn.c.id == claim.turn, now)


def settle(connection: sa.Connection, lost: sa.ColumnElement[bool], now: datetime) -> None:
    """Before these turns lose their progress, and whoever runs them their claim: store what their calls took so far."""
    begun = sa.select(turn.c.id, turn.c.person, turn.c.channel, turn.c.progress).where(lost, turn.c.progress != "")
    for id_, who, channel, progress in connection.execute(begun).all():
        record(connection, rows.progress_calls(progress), turn=id_, person=who, channel=channel, now=now)


def detach(connection: sa.Connection, turns: sa.SelectBase, now: datetime) -> None:
    """Before these turns (a selection of ids) are erased: keep what their calls took, and no more."""
    connection.execute(sa.update(model_call).where(model_call.c.turn.in_(turns)).values(turn=None))
    _forget_channels(connection, now)


def _forget_channels(connection: sa.Connection, now: datetime) -> None:
    """Where the calls of forgotten turns were made counts for the budgets of its day, and no longer."""
    detached = sa.and_(model_call.c.turn.is_(None), model_call.c.channel != "")
    connection.execute(sa.update(model_call).where(detached, model_call.c.day < now.date()).values(channel=""))


def totals(connection: sa.Connection, period: SpendingPeriod, by: By, person: str | None = None) -> list[Total]:
    within = model_call.c.day.between(period.first, period.last)
    theirs = sa.true() if person is None else model_call.c.person == person
    found = connection.execute(_sums(by, sa.and_(within, theirs))).mappings()
    return sorted((_total(row) for row in found), key=lambda total: total.key)


class SqlSpending(SqlStore):
    totals = reads(totals)
    charge = writes(charge)


def _sums(by: By, where: sa.ColumnElement[bool]) -> sa.Select[*tuple[Any, ...]]:
    key = model_call.c[_KEYS[by]]
    sums = (
        sa.select(
            key.label("key"),
            sa.func.count().label("calls"),
            *(sa.func.sum(model_call.c[name]).label(name) for name in _COUNTS),
            sa.func.max(sa.case((model_call.c.estimated, 1), else_=0)).label("estimated"),
            sa.func.coalesce(sa.func.sum(model_call.c.cost), 0).label("cost"),
            (sa.func.count() - sa.func.count(model_call.c.cost)).label("unpriced"),
        )
        .where(where)
        .group_by(key)
        .subquery()
    )
    if by is not By.PERSON:
        return sa.select(sums, sa.literal("").label("name"))
    named = sums.outerjoin(person, person.c.id == sums.c.key)
    return sa.select(sums, sa.func.coalesce(person.c.name, "").label("name")).select_from(named)


def _total(row: Mapping[Any, Any]) -> Total:
    """PostgreSQL sums whole numbers to decimals, so each is made whole again."""
    usage = Usage(*(int(row[name]) for name in _COUNTS), estimated=bool(row["estimated"]))
    spent = Spent(row["calls"], usage, Money(int(row["cost"])), row["unpriced"])
    return Total(str(row["key"]), spent, row["name"])
