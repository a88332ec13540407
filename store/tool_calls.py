"""The audit of tool calls: a row a call, and a row a change of their policy.

Rules
  What acts has its row before it runs; a row without an end is of a call of which nobody knows how it ended. Whoever
  has lost the turn gets no row, and runs nothing.
  A row with words has its turn, or is of the policy. When its turn is forgotten it loses turn, person, place and
  arguments; tool, effect, decision, times, size and outcome stay. Where the turn stays, and something falls of which
  it was made, the arguments go.
  Rows are kept for `KEPT`, and go with the next one that is stored.
"""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa

from agent.errors import LeaseLost
from agent.ports import AuditedCall, CallEnd
from agent.records import Claim
from store.databases.database import SqlStore, reads, row_id, writes
from store.memory import people
from store.tables import tool_call, turn

KEPT: Final = timedelta(days=400)
"""A year, and a month in which to look back at it: no audit asks for more, and the table does not grow for ever."""
NAMELESS: Final = {"turn": None, "person": "", "channel": "", "audience": "", "arguments": ""}


def keep(connection: sa.Connection, call: AuditedCall, claim: Claim | None = None) -> int:
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


def keep_change(
    connection: sa.Connection, change: AuditedCall, owner: str, name: str, before: str | None, after: str
) -> bool:
    """Change a preference if it is still as it was, and only then store the row."""
    swapped = people.swap(connection, owner, name, before, after)
    if swapped:
        keep(connection, change)
    return swapped


def end(connection: sa.Connection, id_: int, ms: int, size: int, outcome: str) -> None:
    """How the call of this row ended; it holds no words."""
    connection.execute(sa.update(tool_call).where(tool_call.c.id == id_).values(ms=ms, size=size, outcome=outcome))


def newest(connection: sa.Connection, limit: int) -> list[AuditedCall]:
    return [_call(row) for row in connection.execute(_ROWS.order_by(tool_call.c.id.desc()).limit(limit)).mappings()]


def page(connection: sa.Connection, since: datetime, *, after: int, limit: int) -> list[AuditedCall]:
    within = _ROWS.where(tool_call.c.time >= since, tool_call.c.id > after)
    return [_call(row) for row in connection.execute(within.order_by(tool_call.c.id).limit(limit)).mappings()]


_ROWS: Final = sa.select(tool_call)
_OF_POLICY: Final = sa.text("tool = ''")
"""Written out: an index of few rows is used only for what it was made with."""


def _call(row: sa.RowMapping) -> AuditedCall:
    return AuditedCall(**{str(name): value for name, value in row.items()})


def detach(connection: sa.Connection, turns: sa.SelectBase) -> None:
    """Before these turns (a selection of ids) are erased: keep the counts of their calls, and no more."""
    connection.execute(sa.update(tool_call).where(tool_call.c.turn.in_(turns)).values(**NAMELESS))


def drop_words(connection: sa.Connection, where: sa.ColumnElement[bool]) -> None:
    """Take the arguments out of these rows."""
    connection.execute(sa.update(tool_call).where(where, tool_call.c.arguments != "").values(arguments=""))


def drop_person(connection: sa.Connection, who: str) -> None:
    """Take somebody out: what they changed in the policy stays without their name, and so do rows that name them."""
    connection.execute(sa.update(tool_call).where(tool_call.c.person == who).values(**NAMELESS))
    named = sa.and_(_OF_POLICY, (" " + tool_call.c.arguments + " ").contains(f" {who} ", autoescape=True))
    connection.execute(sa.update(tool_call).where(named).values(arguments=""))


class SqlToolAudit(SqlStore):
    keep = writes(keep)
    keep_change = writes(keep_change)
    end = writes(end)
    newest = reads(newest)
    page = reads(page)
