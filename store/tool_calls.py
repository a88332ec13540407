"""The audit: one row for each tool call, each change of the tool policy, and each action of an operator about a person.

Rules
  A tool with effects has its row before it runs; a row without an end belongs to a call whose end is unknown. A worker
  that has lost the turn gets no row, and does not run the tool.
  A row with words belongs to a turn or to a change of the policy. When its turn is forgotten it loses turn, person,
  place and arguments; tool, effect, decision, times, size and outcome stay. If the turn stays but one of its sources is
  forgotten, the arguments are cleared. Rows older than `KEPT` are deleted when the next one is stored.
  An operator's action holds the person's id as a JSON string in its arguments; forgetting replaces it with a keyed
  hash.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy import BigInteger
from sqlmodel import Field

from agent.errors import LeaseLost
from agent.messages import Json
from agent.outgoing import OutgoingEvent
from agent.ports.tool_audit import AuditedCall, CallEnd
from agent.tool_policy import DecidedBy
from agent.turn_records import Claim
from store import outbox, preferences
from store.databases.database import SqlStore, StorableText, UtcDateTime, reads, row_id, writes
from store.message_tables import person
from store.schema import NEVER_REUSED, TableRow, metadata, partial_index
from store.turn_tables import turn


class ToolCallRow(TableRow, table=True):
    """A tool call, or a change of the tool policy (`tool` is ""). It remains after its turn, then without people's
    words.

    The person is no foreign key: an operator may never have written. `ms` and `size`: None until the call has ended.
    """

    __table_args__: ClassVar[Any] = (partial_index("ix_tool_call_policy", "id", where="tool = ''"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    turn: int | None = Field(default=None, foreign_key="turn.id", index=True)
    time: datetime = Field(sa_type=UtcDateTime, index=True)
    call: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText, index=True)
    channel: str = Field(sa_type=StorableText)
    audience: str = Field(sa_type=StorableText)
    tool: str = Field(sa_type=StorableText)
    arguments: str = Field(sa_type=StorableText)
    effect: str = Field(sa_type=StorableText)
    decision: str = Field(sa_type=StorableText)
    decided_by: str = Field(sa_type=StorableText)
    account: str = Field(sa_type=StorableText, default="", sa_column_kwargs={"server_default": ""})
    outcome: str = Field(sa_type=StorableText)
    ms: int | None = Field(sa_type=BigInteger, default=None)
    size: int | None = Field(sa_type=BigInteger, default=None)


tool_call: Final = metadata.tables["tool_call"]


# A year, and a month to review it: audits ask for no more, and the table does not grow without bound.
KEPT: Final = timedelta(days=400)
NAMELESS: Final = {"turn": None, "person": "", "channel": "", "audience": "", "arguments": ""}


def audit(connection: sa.Connection, call: AuditedCall, claim: Claim | None = None) -> int:
    """Store a row, of this claimed turn; returns its id. A call that was not allowed has one row, however often it
    comes.

    Raises LeaseLost if another worker has the turn now, or if it was forgotten.
    """
    values = asdict(call) | {"turn": None}
    del values["id"]
    if claim is not None:
        held = sa.select(turn.c.progress).where(turn.c.id == claim.turn, turn.c.epoch == claim.epoch)
        found = connection.execute(held.with_for_update()).one_or_none()
        if found is None:
            raise LeaseLost(f"turn {claim.turn} is run by somebody else, or forgotten")
        values["turn"] = claim.turn
        if not found.progress:  # a source of the call may just have been forgotten
            values["arguments"] = ""
        if call.outcome == CallEnd.NOT_RUN and (known := _same(connection, values)) is not None:
            return known
    connection.execute(sa.delete(tool_call).where(tool_call.c.time < call.time - KEPT))
    id_ = row_id(connection.execute(sa.insert(tool_call).values(**values)))
    if call.outcome == CallEnd.NOT_RUN:
        _send(connection, id_)
    return id_


def _send(connection: sa.Connection, id_: int) -> None:
    """Store the event of a call that has ended. Changes of the policy and actions of operators have no turn."""
    if not outbox.is_wanted(connection, OutgoingEvent.TOOL_CALLED):
        return
    row = connection.execute(_ROWS.where(tool_call.c.id == id_)).mappings().one_or_none()
    if row is not None:
        outbox.tool_called(connection, row, row["time"] + timedelta(milliseconds=row["ms"] or 0))


def _same(connection: sa.Connection, values: Mapping[str, object]) -> int | None:
    """The row of the same call. After a restart of the turn earlier calls have lost their arguments, so they differ."""
    names = ("turn", "call", "decision", "tool", "arguments")
    same = sa.and_(*(tool_call.c[name] == values[name] for name in names))
    return connection.execute(sa.select(tool_call.c.id).where(same)).scalar()


def audit_change(
    connection: sa.Connection, change: AuditedCall, owner: str, name: str, before: str | None, after: str
) -> bool:
    """Change a preference if it still has the value `before`, and only then store the row."""
    swapped = preferences.swap(connection, owner, name, before, after)
    if swapped:
        audit(connection, change)
    return swapped


def end_call(connection: sa.Connection, id_: int, ms: int, size: int, outcome: str) -> None:
    """Store how the call of this row ended; `outcome` holds no words."""
    ended = sa.update(tool_call).where(tool_call.c.id == id_).values(ms=ms, size=size, outcome=outcome)
    if connection.execute(ended.returning(outbox.HAS_ROWS)).scalar():
        _send(connection, id_)


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
_OF_POLICY: Final = sa.text("tool = ''")  # A literal: a partial index is used only with its own condition
_BY_OPERATOR: Final = tool_call.c.decided_by == DecidedBy.OPERATOR
OF_OPERATORS: Final = sa.and_(_OF_POLICY, _BY_OPERATOR)


def _call(row: sa.RowMapping) -> AuditedCall:
    return AuditedCall(**{str(name): value for name, value in row.items()})


def detach(connection: sa.Connection, turns: sa.SelectBase) -> None:
    """Remove from the calls of these turns (a selection of ids) all that names a person or holds words, before the
    turns are erased.
    """
    connection.execute(sa.update(tool_call).where(tool_call.c.turn.in_(turns)).values(**NAMELESS))


def drop_arguments(connection: sa.Connection, where: sa.ColumnElement[bool]) -> None:
    """Clear the arguments of these rows."""
    connection.execute(sa.update(tool_call).where(where, tool_call.c.arguments != "").values(arguments=""))


def drop_person(connection: sa.Connection, who: str, known_as: str) -> None:
    """Remove a person's id from the audit: their changes of the policy, and rows that name them, stay without it.
    Actions of operators about them stay, with `known_as` in place of the id.
    """
    plain, hashed = quoted(who), quoted(known_as)
    about = sa.and_(_OF_POLICY, _BY_OPERATOR, tool_call.c.arguments.contains(plain, autoescape=True))
    renamed = sa.func.replace(tool_call.c.arguments, plain, hashed)
    connection.execute(sa.update(tool_call).where(about).values(arguments=renamed))
    connection.execute(sa.update(tool_call).where(tool_call.c.person == who).values(**NAMELESS))
    named = (" " + tool_call.c.arguments + " ").contains(f" {who} ", autoescape=True)
    connection.execute(sa.update(tool_call).where(_OF_POLICY, ~_BY_OPERATOR, named).values(arguments=""))
    approved = (tool_call.c.decided_by + " ").contains(f" {who} ", autoescape=True)
    connection.execute(sa.update(tool_call).where(approved).values(decided_by=DecidedBy.APPROVER))


class SqlToolAudit(SqlStore):
    add = writes(audit)
    keep_change = writes(audit_change)
    end = writes(end_call)
    newest = reads(newest)
    names_of = reads(names_of)
    page = reads(page)


# Actions of operators about people and places.


def quoted(id_: str) -> str:
    """The id in the form that the arguments of a row hold."""
    return json.dumps(id_, ensure_ascii=False)


def act(connection: sa.Connection, id_: int) -> AuditedCall | None:
    """The row of an operator's action."""
    row = connection.execute(_ROWS.where(tool_call.c.id == id_, _BY_OPERATOR)).mappings().one_or_none()
    return None if row is None else _call(row)


def acts_about(connection: sa.Connection, whom: str, after: int, limit: int) -> list[AuditedCall]:
    """Actions of operators about a person or a place, the oldest first."""
    named = tool_call.c.arguments.contains(quoted(whom), autoescape=True)
    about = _ROWS.where(_OF_POLICY, _BY_OPERATOR, named, tool_call.c.id > after)
    return [_call(row) for row in connection.execute(about.order_by(tool_call.c.id).limit(limit)).mappings()]


def change_outcome(connection: sa.Connection, id_: int, before: str, after: str) -> bool:
    """Change a row's outcome from `before` to `after`; False if another process has changed it first."""
    unchanged = sa.and_(tool_call.c.id == id_, _BY_OPERATOR, tool_call.c.outcome == before)
    return connection.execute(sa.update(tool_call).where(unchanged).values(outcome=after)).rowcount > 0


def close(
    connection: sa.Connection, id_: int, more: Mapping[str, Json], outcome: str, ms: int, size: int | None = None
) -> None:
    """Store how an operator's action ended, and add `more` to the arguments of its row."""
    row = act(connection, id_)
    if row is not None:
        arguments = json.dumps({**json.loads(row.arguments), **more}, ensure_ascii=False)
        values = {"arguments": arguments, "outcome": outcome, "ms": ms, "size": size}
        connection.execute(sa.update(tool_call).where(tool_call.c.id == id_).values(**values))
