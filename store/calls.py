"""The calls that turns make: what those of models took, and the audit of those of tools; a row a call.

Rules
  A model's call is priced when it is stored, by the table of that day; its row is written with the end of its turn,
  however it ends, or after it. The row holds no words. When its turn is forgotten it loses it and its time of day at
  once, and its channel once its day is over, with the next call that is stored; the person stays. So forgetting gives
  nobody a new budget, and no channel either.
  A tool that acts has its row before it runs; a row without an end is of a call of which nobody knows how it ended.
  Whoever has lost the turn gets no row, and runs nothing.
  A row with words has its turn, or is of the policy. When its turn is forgotten it loses turn, person, place and
  arguments; tool, effect, decision, times, size and outcome stay. Where the turn stays, and something falls of which
  it was made, the arguments go. These rows are kept for `KEPT`, and go with the next one that is stored.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

from agent.errors import LeaseLost
from agent.messages import Json, ModelCall, Usage
from agent.ports import AuditedCall, CallEnd
from agent.records import Claim
from agent.spending import APP, WORKSPACE, By, Money, SpendingPeriod, Spent, Total, cost
from agent.tool_policy import DecidedBy
from store import rows
from store.databases.database import SqlStore, reads, row_id, writes
from store.memory import people
from store.tables import TOKENS, model_call, person, preference, tool_call, turn

TURN: Final = "turn"  # The kind of a call that answers somebody


def workspaces(person: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """As `agent.spending.workspace_of`, in the SQL of both databases: all before the last colon."""
    return sa.func.rtrim(sa.func.rtrim(person, sa.func.replace(person, ":", "")), ":")


_KEYS: Final[Mapping[By, sa.ColumnElement[Any]]] = {
    By.PERSON: model_call.c.person,
    By.CHANNEL: model_call.c.channel,
    By.WORKSPACE: workspaces(model_call.c.person),
    By.DAY: model_call.c.day,
    By.MODEL: model_call.c.model,
}
_COUNTS: Final = (*TOKENS, "bytes_up")


# Made once: making a statement takes longer than running it.
_NEW_CALLS: Final = sa.insert(model_call)
_FORGET_CHANNELS: Final = (
    sa.update(model_call)
    .where(model_call.c.turn.is_(None), model_call.c.channel != "", model_call.c.day < sa.bindparam("today"))
    .values(channel="")
)


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
        {**shared, "number": number, "model": call.model, "cost": cost(call), **asdict(call.usage), **_timing(call)}
        for number, call in enumerate(calls, 1)
    ]
    if values:
        connection.execute(_NEW_CALLS, values)
        _forget_channels(connection, now)


def _timing(call: ModelCall) -> dict[str, object]:
    timed = call.timing
    return {"began": None, "ms": None, "first_ms": None} if timed is None else asdict(timed)


def charge(
    connection: sa.Connection, person: str, kind: str, calls: Sequence[ModelCall], now: datetime, where: str = ""
) -> None:
    record(connection, calls, turn=None, person=person, channel=where, now=now, kind=kind)


def settle_claim(connection: sa.Connection, claim: Claim, calls: tuple[ModelCall, ...], now: datetime) -> None:
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
    """Before these turns (a selection of ids) are erased: keep the counts of their calls, and no more."""
    connection.execute(sa.update(model_call).where(model_call.c.turn.in_(turns)).values(turn=None, began=None))
    _forget_channels(connection, now)
    connection.execute(sa.update(tool_call).where(tool_call.c.turn.in_(turns)).values(**NAMELESS))


def _forget_channels(connection: sa.Connection, now: datetime) -> None:
    """Where the calls of forgotten turns were made counts for the budgets of its day, and no longer."""
    connection.execute(_FORGET_CHANNELS, {"today": now.date()})


def totals(connection: sa.Connection, period: SpendingPeriod, by: By, person: str | None = None) -> list[Total]:
    within = model_call.c.day.between(period.first, period.last)
    theirs = sa.true() if person is None else model_call.c.person == person
    found = connection.execute(_sums(by, sa.and_(within, theirs))).mappings()
    return sorted((_total(row) for row in found), key=lambda total: total.key)


class SqlSpending(SqlStore):
    totals = reads(totals)
    charge = writes(charge)


def _sums(by: By, where: sa.ColumnElement[bool]) -> sa.Select[*tuple[Any, ...]]:
    key = _KEYS[by]
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
    if by is By.PERSON:
        named, name = sums.outerjoin(person, person.c.id == sums.c.key), person.c.name
    elif by is By.WORKSPACE:
        named, name = sums.outerjoin(preference, _app_of(sums.c.key)), preference.c.value
    else:
        return sa.select(sums, sa.literal("").label("name"))
    return sa.select(sums, sa.func.coalesce(name, "").label("name")).select_from(named)


def _app_of(workspace: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    return sa.and_(preference.c.owner == sa.literal(WORKSPACE) + workspace, preference.c.name == APP)


def _total(row: Mapping[Any, Any]) -> Total:
    """PostgreSQL sums whole numbers to decimals, so each is made whole again."""
    usage = Usage(*(int(row[name]) for name in _COUNTS), estimated=bool(row["estimated"]))
    spent = Spent(row["calls"], usage, Money(int(row["cost"])), row["unpriced"])
    return Total(str(row["key"]), spent, row["name"])


# The audit: a row a call of a tool, a row a change of their policy, and a row what an operator does about somebody. The
# last names whom as a JSON string in its arguments; when they are forgotten, a keyed hash takes the place of their id.

# A year, and a month in which to look back at it: no audit asks for more, and the table does not grow for ever.
KEPT: Final = timedelta(days=400)
NAMELESS: Final = {"turn": None, "person": "", "channel": "", "audience": "", "arguments": ""}


def audit(connection: sa.Connection, call: AuditedCall, claim: Claim | None = None) -> int:
    """Store a row, of this claimed turn; its id. A call that was not allowed has one row, however often it is met.

    Raises LeaseLost if the turn is somebody else's now, or forgotten.
    """
    values = asdict(call) | {"turn": None}
    del values["id"]
    if claim is not None:
        held = sa.select(turn.c.progress).where(turn.c.id == claim.turn, turn.c.epoch == claim.epoch)
        found = connection.execute(held.with_for_update()).one_or_none()
        if found is None:
            raise LeaseLost(f"turn {claim.turn} is run by somebody else, or forgotten")
        values["turn"] = claim.turn
        if not found.progress:  # something was forgotten a moment ago of which the call may be made
            values["arguments"] = ""
        if call.outcome == CallEnd.NOT_RUN and (known := _same(connection, values)) is not None:
            return known
    connection.execute(sa.delete(tool_call).where(tool_call.c.time < call.time - KEPT))
    return row_id(connection.execute(sa.insert(tool_call).values(**values)))


def _same(connection: sa.Connection, values: Mapping[str, object]) -> int | None:
    """Of a turn that began anew the earlier calls have lost their words: a call of the same place is another one."""
    told = ("turn", "call", "decision", "tool", "arguments")
    this = sa.and_(*(tool_call.c[name] == values[name] for name in told))
    return connection.execute(sa.select(tool_call.c.id).where(this)).scalar()


def audit_change(
    connection: sa.Connection, change: AuditedCall, owner: str, name: str, before: str | None, after: str
) -> bool:
    """Change a preference if it is still as it was, and only then store the row."""
    swapped = people.swap(connection, owner, name, before, after)
    if swapped:
        audit(connection, change)
    return swapped


def end_call(connection: sa.Connection, id_: int, ms: int, size: int, outcome: str) -> None:
    """How the call of this row ended; it holds no words."""
    connection.execute(sa.update(tool_call).where(tool_call.c.id == id_).values(ms=ms, size=size, outcome=outcome))


def newest(connection: sa.Connection, limit: int, before: int | None = None) -> list[AuditedCall]:
    rows_ = _ROWS if before is None else _ROWS.where(tool_call.c.id < before)
    return [_call(row) for row in connection.execute(rows_.order_by(tool_call.c.id.desc()).limit(limit)).mappings()]


def names_of(connection: sa.Connection, ids: Collection[str]) -> dict[str, str]:
    known = sa.select(person.c.id, person.c.name).where(person.c.id.in_(sorted(ids)))
    return {row.id: row.name for row in connection.execute(known)} if ids else {}


def page(connection: sa.Connection, since: datetime, *, after: int, limit: int) -> list[AuditedCall]:
    within = _ROWS.where(tool_call.c.time >= since, tool_call.c.id > after)
    return [_call(row) for row in connection.execute(within.order_by(tool_call.c.id).limit(limit)).mappings()]


_ROWS: Final = sa.select(tool_call)
_OF_POLICY: Final = sa.text("tool = ''")  # Written out: an index of few rows is used only for what it was made with
_BY_OPERATOR: Final = tool_call.c.decided_by == DecidedBy.OPERATOR
OF_OPERATORS: Final = sa.and_(_OF_POLICY, _BY_OPERATOR)


def _call(row: sa.RowMapping) -> AuditedCall:
    return AuditedCall(**{str(name): value for name, value in row.items()})


def drop_arguments(connection: sa.Connection, where: sa.ColumnElement[bool]) -> None:
    """Take the arguments out of these rows."""
    connection.execute(sa.update(tool_call).where(where, tool_call.c.arguments != "").values(arguments=""))


def drop_person(connection: sa.Connection, who: str, known_as: str) -> None:
    """Take somebody out: what they changed in the policy stays without their name, and so do rows that name them. What
    operators did about them stays, about `known_as`.
    """
    plain, hashed = quoted(who), quoted(known_as)
    about = sa.and_(_OF_POLICY, _BY_OPERATOR, tool_call.c.arguments.contains(plain, autoescape=True))
    renamed = sa.func.replace(tool_call.c.arguments, plain, hashed)
    connection.execute(sa.update(tool_call).where(about).values(arguments=renamed))
    connection.execute(sa.update(tool_call).where(tool_call.c.person == who).values(**NAMELESS))
    named = (" " + tool_call.c.arguments + " ").contains(f" {who} ", autoescape=True)
    connection.execute(sa.update(tool_call).where(_OF_POLICY, ~_BY_OPERATOR, named).values(arguments=""))


class SqlToolAudit(SqlStore):
    keep = writes(audit)
    keep_change = writes(audit_change)
    end = writes(end_call)
    newest = reads(newest)
    names_of = reads(names_of)
    page = reads(page)


# What operators do about people and places.


def quoted(id_: str) -> str:
    """As it stands in the arguments of a row."""
    return json.dumps(id_, ensure_ascii=False)


def act(connection: sa.Connection, id_: int) -> AuditedCall | None:
    """The row of something that an operator does."""
    row = connection.execute(_ROWS.where(tool_call.c.id == id_, _BY_OPERATOR)).mappings().one_or_none()
    return None if row is None else _call(row)


def acts_about(connection: sa.Connection, whom: str, after: int, limit: int) -> list[AuditedCall]:
    """What operators did about a person or a place, the oldest first."""
    named = tool_call.c.arguments.contains(quoted(whom), autoescape=True)
    about = _ROWS.where(_OF_POLICY, _BY_OPERATOR, named, tool_call.c.id > after)
    return [_call(row) for row in connection.execute(about.order_by(tool_call.c.id).limit(limit)).mappings()]


def take(connection: sa.Connection, id_: int, before: str, after: str) -> bool:
    """Give a row another outcome, if it is still as it was, whoever else tries at the same moment."""
    this = sa.and_(tool_call.c.id == id_, _BY_OPERATOR, tool_call.c.outcome == before)
    return connection.execute(sa.update(tool_call).where(this).values(outcome=after)).rowcount > 0


def close(
    connection: sa.Connection, id_: int, more: Mapping[str, Json], outcome: str, ms: int, size: int | None = None
) -> None:
    """How what an operator did has ended, said in the arguments of its row as they stand by now."""
    row = act(connection, id_)
    if row is not None:
        words = json.dumps({**json.loads(row.arguments), **more}, ensure_ascii=False)
        ended = {"arguments": words, "outcome": outcome, "ms": ms, "size": size}
        connection.execute(sa.update(tool_call).where(tool_call.c.id == id_).values(**ended))
