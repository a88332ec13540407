"""What this process has stored lately, kept in memory, and whether the database still has it.

Rules
  Only ids are kept, no words, and only of a database that several processes share: a file has no failover.
  A failover loses the end of what was stored. So a look asks for what is new since the last look and for the turns of
  what was there then that were begun last; only if one of these is gone, it asks for everything. What was noted last is
  not enough: it may be the answer to a message that was stored long before.
  A message counts as there if it has a turn or was erased. A forgetting leaves a row of its own among the erased ids.
  A forgetting is repeated by its plan, if its ids are those of people and platforms: the database may give the numbers
  that it has lost to other rows. For turns that ends with the repair, because replies are named by their turns.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from heapq import nlargest
from typing import Final

import sqlalchemy as sa

from agent.incoming import Incoming
from agent.memory.forgetting_plans import ForgettingPlan, OneReply
from agent.ports.forgetting import Forgetting
from agent.ports.recent_writes import LostWrites
from store.databases.database import Database, SqlStore, is_postgresql
from store.erased_ids import MARK, ErasedIds, erased
from store.json_lists import texts_in
from store.turn_tables import turn

MESSAGES: Final = 2_000  # More than a process takes in or answers while replication lags
FORGETTINGS: Final = 100
NEWEST: Final = 20  # More than are stored at the same moment, so that all may be numbered before the one that stays
# More turns than are begun while replication lags.
_SKIP_NUMBERS: Final = sa.text(
    "SELECT setval(sequence, nextval(sequence) + 100000) FROM (SELECT pg_get_serial_sequence('turn', 'id')::regclass) "
    "AS numbers(sequence)"
)


@dataclass(frozen=True, slots=True)
class StoredMessage:
    turn: int
    source: str
    event_id: str
    channel: str
    message_id: str
    time: datetime
    answered: bool


@dataclass(frozen=True, slots=True)
class StoredForgetting:
    mark: str
    plan: ForgettingPlan
    time: datetime
    replies: bool
    related: bool


@dataclass(slots=True)
class WriteMemory:
    """The newest writes of this process. `process`: a name that no other process has."""

    process: str
    messages: deque[StoredMessage] = field(default_factory=lambda: deque[StoredMessage](maxlen=MESSAGES))
    forgettings: deque[StoredForgetting] = field(default_factory=lambda: deque[StoredForgetting](maxlen=FORGETTINGS))
    _unseen: int = 0
    """How many of the newest messages no look has found yet."""
    _marks: int = 0

    def new_mark(self) -> str:
        self._marks += 1
        return f"{MARK}{self.process}:{self._marks}"

    def note_message(self, turn: int, incoming: Incoming, *, answered: bool) -> None:
        posted = incoming.channel, incoming.message_id, incoming.time
        self.messages.append(StoredMessage(turn, incoming.source, incoming.event_id, *posted, answered))
        self._unseen = min(self._unseen + 1, MESSAGES)

    def has_answered(self, incoming: Incoming) -> bool:
        posted = incoming.source, incoming.channel, incoming.message_id
        return any(each.answered and (each.source, each.channel, each.message_id) == posted for each in self.messages)

    def note_forgetting(self, done: StoredForgetting) -> None:
        if not isinstance(done.plan, OneReply):
            self.forgettings.append(done)

    def to_look_for(self) -> list[StoredMessage]:
        """Return the NEWEST turns of the messages that were found, then the messages that no look has found yet."""
        noted = [*self.messages]
        seen = len(noted) - self._unseen
        newest = nlargest(NEWEST, noted[:seen], key=lambda message: message.turn)
        return [*newest, *noted[seen:]]

    def found(self, messages: Sequence[StoredMessage]) -> None:
        """All of these, which `to_look_for` returned, are there."""
        later = [*self.messages]
        if messages and messages[-1] in later:
            later = later[later.index(messages[-1]) + 1 :]
        self._unseen = min(self._unseen, len(later))

    def drop(self, messages: Collection[StoredMessage], forgettings: Collection[StoredForgetting]) -> None:
        for message in messages:
            if message in self.messages:
                self.messages.remove(message)
        for forgetting in forgettings:
            if forgetting in self.forgettings:
                self.forgettings.remove(forgetting)
        self._unseen = min(self._unseen, len(self.messages))


def gone_messages(
    connection: sa.Connection, messages: Iterable[StoredMessage], erased_ids: ErasedIds
) -> list[StoredMessage]:
    """Return those that have no turn and were not erased."""
    by_source = dict[str, set[str]]()
    listed = [*messages]
    for message in listed:
        by_source.setdefault(message.source, set()).add(message.event_id)
    there = {
        (source, event_id)
        for source, event_ids in by_source.items()
        for event_id in connection.execute(
            sa.select(turn.c.event_id).where(turn.c.source == source, turn.c.event_id.in_(texts_in([*event_ids])))
        ).scalars()
    }
    missing = [message for message in listed if (message.source, message.event_id) not in there]
    known = _known(connection, {hash_ for message in missing for hash_ in _hashes(message, erased_ids)})
    return [message for message in missing if known.isdisjoint(_hashes(message, erased_ids))]


def _hashes(message: StoredMessage, erased_ids: ErasedIds) -> tuple[str, str]:
    event = erased_ids.of_event(message.source, message.event_id)
    return event, erased_ids.of_post(message.source, message.channel, message.message_id)


def _known(connection: sa.Connection, hashes: Collection[str]) -> set[str]:
    if not hashes:
        return set()
    found = connection.execute(sa.select(erased.c.hash).where(erased.c.hash.in_(texts_in([*hashes]))))
    return {*found.scalars()}


def _gone(
    connection: sa.Connection,
    messages: Sequence[StoredMessage],
    forgettings: Sequence[StoredForgetting],
    erased_ids: ErasedIds,
) -> tuple[list[StoredMessage], list[StoredForgetting]]:
    marks = _known(connection, {forgetting.mark for forgetting in forgettings})
    return (
        gone_messages(connection, messages, erased_ids),
        [forgetting for forgetting in forgettings if forgetting.mark not in marks],
    )


def refuse_answered(
    connection: sa.Connection, messages: Sequence[StoredMessage], erased_ids: ErasedIds, now: datetime
) -> None:
    """Store the hashes by which these messages are recognized, as if they had been forgotten, unless they are there."""
    hashes = {
        hash_ for message in gone_messages(connection, messages, erased_ids) for hash_ in _hashes(message, erased_ids)
    }
    if hashes:
        connection.execute(sa.insert(erased), [{"hash": hash_, "time": now} for hash_ in sorted(hashes)])


def _repair(connection: sa.Connection, answered: Sequence[StoredMessage], erased_ids: ErasedIds, now: datetime) -> None:
    refuse_answered(connection, answered, erased_ids, now)
    if is_postgresql(connection):
        connection.execute(_SKIP_NUMBERS)


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
        self._lost_messages = list[StoredMessage]()
        self._lost_forgettings = list[StoredForgetting]()

    async def lost(self) -> LostWrites | None:
        if (memory := self.memory) is None:
            return None
        messages, forgettings = memory.to_look_for(), [*memory.forgettings]
        if not (messages or forgettings):
            return None
        gone = await self.database.read(_gone, messages, forgettings, self._erased_ids)
        if not any(gone):
            memory.found(messages)
            return None
        everything = [*memory.messages], [*memory.forgettings]
        gone = await self.database.read(_gone, *everything, self._erased_ids)
        self._lost_messages, self._lost_forgettings = gone
        if not any(gone):
            return None
        return LostWrites(
            min(write.time for write in (*self._lost_messages, *self._lost_forgettings)),
            len({(message.source, message.event_id) for message in self._lost_messages}),
            len(self._lost_forgettings),
        )

    async def repair(self, now: datetime) -> None:
        messages, forgettings = self._lost_messages, self._lost_forgettings
        answered = [message for message in messages if message.answered]
        await self.database.write(_repair, answered, self._erased_ids, now)
        if self._forget_logged is not None:
            await self._forget_logged(now)
        for done in forgettings:
            await self._forgetting.forget(done.plan, now, replies=done.replies, related=done.related)
        if self.memory is not None:
            self.memory.drop(messages, forgettings)
