"""Channels as one workspace knows them.

Several workspaces may share a channel, and neither its id nor that of a message there says which of them stored a row.
So whatever is read, changed or erased by these ids names the workspace as well.
"""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Table, and_, exists, or_, true

from store.message_tables import message
from store.schedule_table import schedule
from store.turn_tables import turn


def in_channel(
    table: Table, source: str | ColumnElement[str], channel: str | ColumnElement[str]
) -> ColumnElement[bool]:
    """Return the condition for a table's rows of a channel that were stored for this source. `table` has a column
    `channel`, and `source` or `turn`.
    """
    return and_(table.c.channel == channel, _of_source(table, source))


def in_channels(table: Table, source: str, channels: Collection[str]) -> ColumnElement[bool]:
    """Return the same condition for several channels; `source` "" means all sources, as in old jobs."""
    return and_(table.c.channel.in_(sorted(channels)), _of_source(table, source) if source else true())


def _of_source(table: Table, source: str | ColumnElement[str]) -> ColumnElement[bool]:
    if "source" in table.c:
        return table.c.source == source
    own = turn.alias()  # a query around this one may read turns as well
    return exists().where(own.c.id == table.c.turn, own.c.source == source)


def asked_for_schedule(table: Table) -> ColumnElement[bool]:
    """Return the condition for a row of `turn` or `message` that is the question in which a schedule was asked for."""
    own = turn.alias()
    # The source of a terminal's schedule is its person (`agent.schedules.ids.lasting_source`).
    same_source = or_(own.c.source == schedule.c.source, own.c.person == schedule.c.source)
    same_turn = own.c.id == (table.c.id if table is turn else table.c.turn)
    same_message = and_(table.c.channel == schedule.c.channel, table.c.message_id == schedule.c.message)
    return and_(same_message, exists().where(same_turn, same_source))


def question_of_turn() -> ColumnElement[bool]:
    """Return the condition for a row of `message` that is the question which a row of `turn` began with, whichever turn
    the message has joined since.
    """
    return and_(in_channel(message, turn.c.source, turn.c.channel), message.c.message_id == turn.c.message_id)
