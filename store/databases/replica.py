"""Searches on a streaming replica of a PostgreSQL, where it is level with the primary.

A replica is behind, and what was erased, narrowed or said meanwhile holds at once. So each search asks the primary how
far its log goes, and is done on the replica once that has done all of it: on the same connection, in a transaction that
begins after that. Else the primary does it. That both are one database, and of one line (a replica left over from
before a failover has a log of its own), is asked each time, too.
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

LOOKS: Final = 4
LOOK_S: Final = 0.01  # A replica nearby is some milliseconds behind: so long it is waited for
BEHIND_S: Final = 1.0
AWAY_S: Final = 30.0  # For so long the primary is asked without a look at the replica
SEARCH_S: Final = 3.0  # For a search on the replica; after that the primary does it
_WRITTEN: Final = text(
    "SELECT pg_current_wal_insert_lsn()::text AS upto, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) AS line,"
    " system_identifier AS system, current_database() AS name FROM pg_control_system()"
)
_DONE: Final = text(
    "SELECT pg_is_in_recovery() AND s.system_identifier = :system AND current_database() = :name"
    " AND lpad(upper(to_hex(c.timeline_id)), 8, '0') = :line AS same,"
    " pg_last_wal_replay_lsn() >= CAST(CAST(:upto AS text) AS pg_lsn) AS done"
    " FROM pg_control_system() AS s, pg_control_checkpoint() AS c"
)


class RecallReplica:
    """Reads where the replica is level with the primary, else on the primary. Says once that it does not, and why."""

    def __init__(self, primary: PostgresDatabase, replica: PostgresDatabase) -> None:
        self._primary, self._replica = primary, replica
        self._why: str | None = ""  # nothing was said yet
        self._not_before = 0.0
        self.searches = 0  # On the replica, so far

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        def search(connection: Connection) -> tuple[T]:
            return (work(connection, *args, **options),)

        clock = asyncio.get_running_loop().time
        if clock() >= self._not_before:
            written = await self._primary.read(_written)
            searching = asyncio.create_task(self._search(written, search))
            searching.add_done_callback(_seen)
            await asyncio.wait({searching}, timeout=SEARCH_S)
            why, found = searching.result() if searching.done() else (texts.REPLICA_AWAY, None)
            self._say(why)
            if found is not None:
                self.searches += 1
                return found[0]
            self._not_before = clock() + (BEHIND_S if why == texts.REPLICA_BEHIND else AWAY_S)
        return await self._primary.read(work, *args, **options)

    def look_again(self) -> None:
        """With the next search, however shortly ago it was found away or behind."""
        self._not_before = 0.0

    async def remark(self) -> str:
        """How it is, as a sentence."""
        await self.read(lambda _: None)
        return (self._why or texts.REPLICA_LEVEL).format(where=self._replica.where)

    async def _search(
        self, written: Mapping[str, object], search: Callable[[Connection], T]
    ) -> tuple[str | None, T | None]:
        def check(connection: Connection) -> str | None:
            seen = connection.execute(_DONE, written).one()
            if self._replica.is_pooled or not seen.same:
                return texts.REPLICA_OTHER
            return None if seen.done else texts.REPLICA_BEHIND

        try:
            for _ in range(LOOKS):
                why, found = await self._replica.read_if(check, search)
                if why != texts.REPLICA_BEHIND:
                    return None if why is None else str(why), found
                await asyncio.sleep(LOOK_S)
        except StoreError:
            return texts.REPLICA_AWAY, None
        return texts.REPLICA_BEHIND, None

    def _say(self, why: str | None) -> None:
        if why != self._why:
            self._why = why
            log.log(
                logging.INFO if why is None else logging.WARNING,
                "%s",
                (why or texts.REPLICA_LEVEL).format(where=self._replica.where),
            )


def _written(connection: Connection) -> dict[str, object]:
    return dict(connection.execute(_WRITTEN).mappings().one())


def _seen(task: "asyncio.Task[object]") -> None:
    if not task.cancelled():
        task.exception()
