"""Timelines of PostgreSQL: a failover begins a new one, which may lack the last transactions of the one before it.

Rules
  A timeline is settled once every process has repaired what it knows to be lost. `meta` names the settled one, so the
  state that a failover brings back names an earlier one, and every process finds that out by itself.
  While the current timeline is not settled, no turn is claimed (`store.turns.turn_queue`). The claim itself checks
  that, so there is no moment in which a process does not know it yet.
  A database that was moved or restored is another timeline, too.
"""

import json
from typing import Final

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from store.databases.database import in_order
from store.schema import meta

SETTLED: Final = "timeline"
REPAIRED: Final = "timeline_repaired"  # The current timeline, and the processes that have repaired
KEYS: Final = (SETTLED, REPAIRED)

_CURRENT: Final = (
    "(SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) || '/' || oid FROM pg_database "
    "WHERE datname = current_database())"
)
IS_SETTLED: Final = (
    f"NOT EXISTS (SELECT 1 FROM meta WHERE name = '{SETTLED}' AND value <> convert_to({_CURRENT}, 'UTF8'))"  # noqa: S608 -- of constants
)
_READ: Final = sa.text(f"SELECT {_CURRENT} AS now, (SELECT value FROM meta WHERE name = '{SETTLED}') AS settled")  # noqa: S608 -- of constants
# Insufficient privilege, undefined function, feature not supported.
_NOT_REPORTED: Final = frozenset({"42501", "42883", "0A000"})
_NOTED: Final = sa.select(meta.c.value).where(meta.c.name == REPAIRED)


class NoTimelines(Exception):
    """The server does not report its timeline, or not to this user."""


def current(connection: sa.Connection) -> tuple[str, bool | None]:
    """Return the current timeline and whether it is settled; None if no process has ever asked. Raises NoTimelines."""
    try:
        row = connection.execute(_READ).one()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) in _NOT_REPORTED:
            raise NoTimelines from None
        raise
    return row.now, None if row.settled is None else bytes(row.settled) == row.now.encode()


def settle(connection: sa.Connection, process: str, others: int | None, *, waits: bool) -> bool:
    """As `agent.ports.recent_writes.RecentWrites.settle`. A process that does not know the others is not counted: it
    may not be one of those that the others count.
    """
    in_order(connection, SETTLED)
    now: str = connection.execute(_READ).one().now
    noted: dict[str, list[str]] = json.loads(connection.execute(_NOTED).scalar_one_or_none() or "{}")
    repaired = {*noted.get(now, []), *([] if others is None else [process])}
    if waits and (others is None or len(repaired) <= others):
        _store(connection, REPAIRED, json.dumps({now: sorted(repaired)}))
        return False
    _store(connection, SETTLED, now)
    connection.execute(sa.delete(meta).where(meta.c.name == REPAIRED))
    return True


def _store(connection: sa.Connection, name: str, value: str) -> None:
    stored = sa.update(meta).where(meta.c.name == name).values(value=value.encode())
    if not connection.execute(stored).rowcount:
        connection.execute(sa.insert(meta).values(name=name, value=value.encode()))
