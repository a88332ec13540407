"""Whether the database still has what this process has stored lately (`store.turns.write_memory`).

Rules
  A failover loses the end of what was stored. So a look asks for what is new since the last look and for the turns of
  what was there then that were begun last; only if one of these is gone, it asks for everything. What was noted last is
  not enough: it may be the answer to a message that was stored long before.
  A message counts as there if it has a turn or was erased. A forgetting leaves a row of its own among the erased ids.
  A turn that is there may be in an earlier state (`store.turns.lost_turns`). That is not looked for until something is
  known to be lost.
  A forgetting is repeated by its plan, if its ids are those of people and platforms: the database may give the numbers
  that it has lost to other rows. For turns that ends with the repair, because replies are named by their turns.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeVar

import sqlalchemy as sa

from agent.ports.forgetting import Forgetting
from agent.ports.recent_writes import NO_TIMELINE, LostWrites, Timeline
from store import timelines
from store.databases.database import Database, SqlStore, in_order, is_postgresql
from store.erased_ids import ErasedIds, erased
from store.json_lists import texts_in
from store.turns import lost_turns
from store.turns.write_memory import BegunTurn, MessageIds, RecentMessage, StoredForgetting, WriteMemory

# Beyond all lost numbers: more turns than are begun while replication lags. Once these are skipped, it changes nothing.
_SKIP_NUMBERS: Final = sa.text(
    "SELECT setval(sequence, greatest(nextval(sequence), :lost + 100000)) "
    "FROM (SELECT pg_get_serial_sequence('turn', 'id')::regclass) AS numbers(sequence)"
)


Written = TypeVar("Written", bound=MessageIds)


def gone(connection: sa.Connection, writes: Sequence[Written], erased_ids: ErasedIds) -> list[Written]:
    """Return those whose messages have no turn and were not erased."""
    there = lost_turns.rows_of(connection, writes)
    missing = [write for write in writes if write.event not in there]
    known = _known(connection, {hash_ for write in missing for hash_ in _hashes(write, erased_ids)})
    return [write for write in missing if known.isdisjoint(_hashes(write, erased_ids))]


def _hashes(write: MessageIds, erased_ids: ErasedIds) -> tuple[str, str]:
    return erased_ids.of_event(*write.event), erased_ids.of_post(*write.post)


def _known(connection: sa.Connection, hashes: Collection[str]) -> set[str]:
    if not hashes:
        return set()
    found = connection.execute(sa.select(erased.c.hash).where(erased.c.hash.in_(texts_in([*hashes]))))
    return {*found.scalars()}


@dataclass(frozen=True, slots=True)
class _Lost:
    messages: list[RecentMessage] = field(default_factory=list[RecentMessage])
    forgettings: list[StoredForgetting] = field(default_factory=list[StoredForgetting])
    turns: list[BegunTurn] = field(default_factory=list[BegunTurn])

    def summed_up(self) -> LostWrites | None:
        times = [write.time for write in (*self.messages, *self.forgettings, *self.turns)]
        if not times:
            return None
        messages = len({message.event for message in self.messages})
        return LostWrites(min(times), messages, len(self.forgettings), len(self.turns))


def _lost(
    connection: sa.Connection,
    messages: Sequence[RecentMessage],
    forgettings: Sequence[StoredForgetting],
    begun: Sequence[BegunTurn],
    erased_ids: ErasedIds,
) -> _Lost:
    marks = _known(connection, {forgetting.mark for forgetting in forgettings})
    return _Lost(
        gone(connection, messages, erased_ids),
        [forgetting for forgetting in forgettings if forgetting.mark not in marks],
        lost_turns.behind(lost_turns.rows_of(connection, begun), begun),
    )


def refuse(connection: sa.Connection, message: RecentMessage, erased_ids: ErasedIds, now: datetime) -> None:
    """Store the hashes by which this message is recognized, as if it had been forgotten, unless it is there."""
    in_order(connection, message.conversation)
    if gone(connection, [message], erased_ids):
        connection.execute(sa.insert(erased), [{"hash": hash_, "time": now} for hash_ in _hashes(message, erased_ids)])


def _skip_numbers(connection: sa.Connection, lost: int) -> None:
    if is_postgresql(connection):
        connection.execute(_SKIP_NUMBERS, {"lost": lost})


def _delete_unfinished(
    connection: sa.Connection,
    begun: Sequence[BegunTurn],
    abandoned: Sequence[BegunTurn],
    erased_ids: ErasedIds,
    now: datetime,
) -> list[BegunTurn]:
    lost = {one.event for one in gone(connection, [*begun, *abandoned], erased_ids)}
    unfinished = lost_turns.delete_pages(connection, begun, lost, now)
    return [*unfinished, *lost_turns.delete_pages(connection, abandoned, lost, now, abandoned=True)]


class SqlRecentWrites(SqlStore):
    """The port RecentWrites. `memory`: None if nothing is to be looked for. `forget_logged`: forgets again what the
    forgetting log lists, at a time; None if there is no log.
    """

    def __init__(
        self,
        database: Database,
        erased_ids: ErasedIds,
        memory: WriteMemory | None,
        forgetting: Forgetting,
        forget_logged: Callable[[datetime], Awaitable[object]] | None = None,
    ) -> None:
        super().__init__(database)
        self.memory = memory
        self._erased_ids = erased_ids
        self._forgetting = forgetting
        self._forget_logged = forget_logged
        self._has_timelines = memory is not None
        self._lost = _Lost()

    async def timeline(self) -> Timeline:
        if self.memory is None or not self._has_timelines:
            return NO_TIMELINE
        try:
            name, is_settled = await self.database.read(timelines.current)
        except timelines.NoTimelines:  # what is lost is found by its rows alone
            self.memory.asks_for_settled = self._has_timelines = False
            return NO_TIMELINE
        self.memory.asks_for_settled = True
        return Timeline(name, await self.settle(None, waits=False) if is_settled is None else is_settled)

    async def settle(self, others: int | None, *, waits: bool) -> bool:
        process = "" if self.memory is None else self.memory.process
        return await self.database.write(timelines.settle, process, others, waits=waits)

    async def lost(self, *, thorough: bool = False) -> LostWrites | None:
        if (memory := self.memory) is None:
            return None
        if not thorough:
            messages, forgettings = memory.to_look_for(), [*memory.forgettings]
            if not (messages or forgettings):
                return None
            lately = await self.database.read(_lost, messages, forgettings, (), self._erased_ids)
            if lately.summed_up() is None:
                memory.found(messages)
                return None
        everything = [*memory.messages], [*memory.forgettings], [*memory.begun.values()]
        self._lost = await self.database.read(_lost, *everything, self._erased_ids)
        return self._lost.summed_up()

    async def repair(self, now: datetime) -> None:
        lost, self._lost = self._lost, _Lost()
        for message in lost.messages:
            if message.answered:
                await self.database.write(refuse, message, self._erased_ids, now)
        for begun in lost.turns:
            await self.database.write(lost_turns.put_right, begun, now)
        if lost.messages:
            await self.database.write(_skip_numbers, max(message.turn for message in lost.messages))
        if self._forget_logged is not None:
            await self._forget_logged(now)
        for done in lost.forgettings:
            await self._forgetting.forget(done.plan, now, replies=done.replies, related=done.related)
        if self.memory is not None:
            self.memory.drop(lost.messages, lost.forgettings)

    async def delete_unfinished(self, now: datetime) -> int:
        if (memory := self.memory) is None:
            return 0
        begun, abandoned = [*memory.begun.values()], [*memory.abandoned]
        deleted = await self.database.write(_delete_unfinished, begun, abandoned, self._erased_ids, now)
        for one in abandoned:
            if one in memory.abandoned:
                memory.abandoned.remove(one)
        for one in deleted:
            if memory.begun.get(one.event) is one:
                del memory.begun[one.event]
        return sum(len(one.pages) for one in deleted)
