"""Searches on a streaming replica of PostgreSQL while it is level with the primary.

A replica lags, but erased, restricted and new messages must take effect at once. So each search first reads the
primary's log position, and runs on the replica once that has replayed the log up to there: on the same connection, in a
transaction that begins after the check. Otherwise the primary does the search. Each check also compares the system
identifier, the database name and the timeline, because a replica left from before a failover has a log of its own.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, text

from agent import texts
from agent.errors import StoreError
from store.databases.postgresql import PostgresDatabase

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)

CHECKS: Final = 4
CHECK_S: Final = 0.01  # Between two checks: a replica nearby is some milliseconds behind
BEHIND_S: Final = 1.0  # A replica that was behind is not checked again for this time
AWAY_S: Final = 30.0  # A replica that was away is not checked again for this time
SEARCH_S: Final = 3.0  # Time limit of a search on the replica; after that the primary does it
# A position in the log alone says nothing: after a failover it may be one of another line, and a replica may be of
# another database.
_WRITTEN: Final = text(
    "SELECT pg_current_wal_insert_lsn()::text AS upto, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS line,"
    " system_identifier AS system, current_database() AS name FROM pg_control_system()"
)
# The same system, database and line first; only then the two positions can be compared.
_DONE: Final = text(
    "SELECT pg_is_in_recovery() AND s.system_identifier = :system AND current_database() = :name"
    " AND lpad(upper(to_hex(c.timeline_id)), 8, '0') = :line AS same,"
    " pg_last_wal_replay_lsn() >= CAST(CAST(:upto AS text) AS pg_lsn) AS done"
    " FROM pg_control_system() AS s, pg_control_checkpoint() AS c"
)


class RecallReplica:
    """Reads from the replica while it is level with the primary, else from the primary. Logs each change."""

    def __init__(self, primary: PostgresDatabase, replica: PostgresDatabase) -> None:
        self._primary, self._replica = primary, replica
        self._why: str | None = ""  # "": nothing was logged yet; None: level
        self._not_before = 0.0
        self.searches = 0  # On the replica, so far

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        def search(connection: Connection) -> tuple[T]:
            return (work(connection, *args, **options),)

        clock = asyncio.get_running_loop().time
        if clock() >= self._not_before:
            written = await self._primary.read(_written)
            searching = asyncio.create_task(self._search(written, search))
            searching.add_done_callback(_retrieve_exception)
            await asyncio.wait({searching}, timeout=SEARCH_S)
            why, found = searching.result() if searching.done() else (texts.REPLICA_AWAY, None)
            self._log_state(why)
            if found is not None:
                self.searches += 1
                return found[0]
            self._not_before = clock() + (BEHIND_S if why == texts.REPLICA_BEHIND else AWAY_S)
        return await self._primary.read(work, *args, **options)

    def look_again(self) -> None:
        """Check the replica at the next search, even if it was away or behind a moment ago."""
        self._not_before = 0.0

    async def remark(self) -> str:
        """The state of the replica, as a sentence."""
        await self.read(lambda _: None)
        return (self._why or texts.REPLICA_LEVEL).format(where=self._replica.where)

    async def _search(
        self, written: Mapping[str, object], search: Callable[[Connection], T]
    ) -> tuple[str | None, T | None]:
        def check(connection: Connection) -> str | None:
            state = connection.execute(_DONE, written).one()
            if self._replica.is_pooled or not state.same:
                return texts.REPLICA_OTHER
            return None if state.done else texts.REPLICA_BEHIND

        try:
            for _ in range(CHECKS):
                why, found = await self._replica.read_if(check, search)
                if why != texts.REPLICA_BEHIND:
                    return None if why is None else str(why), found
                await asyncio.sleep(CHECK_S)
        except StoreError:
            return texts.REPLICA_AWAY, None
        return texts.REPLICA_BEHIND, None

    def _log_state(self, why: str | None) -> None:
        if why != self._why:
            self._why = why
            log.log(
                logging.INFO if why is None else logging.WARNING,
                "%s",
                (why or texts.REPLICA_LEVEL).format(where=self._replica.where),
            )


def _written(connection: Connection) -> dict[str, object]:
    return dict(connection.execute(_WRITTEN).mappings().one())


def _retrieve_exception(task: "asyncio.Task[object]") -> None:
    if not task.cancelled():
        task.exception()
