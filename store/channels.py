"""Channels as one workspace knows them.

Several workspaces may share a channel, and its id says nothing about which of them stored a row. So whatever is read,
changed or erased by a channel's id names the workspace as well.
"""

from collections.abc import Collection

from sqlalchemy import ColumnElement, Table, and_, exists, true

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
    return exists().where(turn.c.id == table.c.turn, turn.c.source == source)
