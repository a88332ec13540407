"""The store on a database in memory that is made in a millisecond, for tests that may also inspect its rows.

Rules
  It is the product's store. Each call runs at once, in the caller's task: no thread, so no other task runs meanwhile,
  and a clock that jumps when all tasks wait stays exact.
  Tests make it fail through the ledger: `fail_next_save`, `fail_next_claim`, or their own class.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection, NullPool, and_, create_engine, func, select, update
from sqlalchemy.exc import DBAPIError

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.incoming import Incoming
from agent.jobs import Job
from agent.memory.audience import Place
from agent.memory.facts import Fact
from agent.messages import ModelCall
from agent.schedules.definitions import Schedule
from agent.shown_replies import ReplyVerdict
from agent.state import SituationSummary
from agent.stored_messages import Author, StoredMessage
from agent.turn_records import Accepted, Claim, Claiming, Closing
from store import conversations, row_mapping
from store.conversations import SqlConversations
from store.databases.database import CommitListeners, Database, DatabaseFiles, OutageLog, announced
from store.databases.sqlite import store_error
from store.engine import Prepared, Store, prepare, store_on
from store.erased_ids import ErasedIds
from store.job_queue import job
from store.json_columns import read_pages
from store.memory import fact_store
from store.memory_tables import fact
from store.message_tables import conversation, message, person
from store.migrations import HEAD, MIGRATIONS
from store.model_calls import model_call
from store.preferences import preference
from store.replies import verdict
from store.schedule_store import listed
from store.turn_tables import DONE, turn
from store.turns.ledger import SqlLedger

P = ParamSpec("P")
T = TypeVar("T")

KEY: Final = b"the key of the ids in this memory"
_PRAGMAS: Final = "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;"


def _empty() -> sqlite3.Connection:
    driver = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    driver.execute("PRAGMA page_size = 1024")
    return driver


@cache
def migrated() -> bytes:
    """Return a database without rows. Its pages are small: most tables of a test hold little."""
    engine = create_engine("sqlite://", creator=_empty, poolclass=NullPool)
    with engine.begin() as connection:
        prepare(connection, "nowhere", lambda: KEY, MIGRATIONS)
        return _bytes_of(connection)


def _bytes_of(connection: Connection) -> bytes:
    return _driver(connection).serialize()


def _driver(connection: Connection) -> sqlite3.Connection:
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    return driver


def _copied() -> sqlite3.Connection:
    driver = _empty()
    driver.deserialize(migrated())
    driver.executescript(_PRAGMAS)
    return driver


# One for all: it caches compiled statements.
_engine: Final = create_engine("sqlite://", creator=_copied, poolclass=NullPool, hide_parameters=True)


@dataclass(frozen=True)
class BytesInMemory:
    """Implements the port DatabaseFiles."""

    connection: Connection

    async def checkpoint(self) -> bool:
        return True

    async def find(self, pieces: frozenset[bytes]) -> frozenset[bytes]:
        held = _bytes_of(self.connection)
        return frozenset(piece for piece in pieces if piece in held)


class DatabaseInMemory:
    """Implements the port Database: each call is a transaction that ends before another task runs."""

    where = "nowhere; it ends with this process"
    is_shared = False

    def __init__(self) -> None:
        self.outages = OutageLog()
        self.commits = CommitListeners()
        self._connection = _engine.connect()
        self.files: DatabaseFiles | None = BytesInMemory(self._connection)
        self._driver = _driver(self._connection)
        self._looked: dict[Callable[[Connection], Any], tuple[int, Any]] = {}

    def now(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        try:
            with self._connection.begin():
                self._driver.execute("BEGIN")  # as on a file: `store.databases.sqlite`
                result = work(self._connection, *args, **options)
        except (DBAPIError, sqlite3.Error) as error:
            raise store_error(error, None) from error
        self.commits.tell(announced(self._connection))
        return result

    def look(self, work: Callable[[Connection], T]) -> T:
        """Return the last result, unless a row was written since: waiting tests look after each event."""
        changes = self._driver.total_changes
        if work not in self._looked or self._looked[work][0] != changes:
            self._looked[work] = changes, self.now(work)
        return self._looked[work][1]

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def read_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def read_few(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def read_long(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def write_one(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def write_in_order(
        self,
        names: Sequence[str],  # noqa: ARG002 -- there is one writer
        work: Callable[Concatenate[Connection, P], T],
        *args: P.args,
        **options: P.kwargs,
    ) -> T:
        return self.now(work, *args, **options)

    async def write_alone(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.now(work, *args, **options)

    async def change_tables(
        self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs
    ) -> T:
        return self.now(work, *args, **options)

    async def close(self) -> None:
        self._connection.close()


class WatchedLedger(SqlLedger):
    """Fails if a test asks for it, reports claims, and records the turns' questions and ends.

    The next messages are stored once `may_store` is set. Each of the `failures` fails a message, a deletion or a stop.
    `taken` and `overheard` hold each stored message once, in order, as it was first stored; `again` those that were
    stored before. `arrived` is set by everything that a platform has stored.
    """

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database, erased_ids)
        self.taken: list[Incoming] = []
        self.overheard: list[Incoming] = []
        self.again: list[Incoming] = []
        self.arrived = asyncio.Event()
        self.may_store = asyncio.Event()
        self.may_store.set()
        self.failures: list[Exception] = []
        self.fail_next_save: Exception | None = None
        self.fail_next_claim: Exception | None = None
        self.on_claim: Callable[[int], object] = lambda _: None
        self.asked: dict[int, Incoming] = {}
        self.closings: dict[int, Closing] = {}

    async def accept(
        self,
        incoming: Incoming,
        terms: Terms | None = None,
        claiming: Claiming | None = None,
        *,
        state: str = "waiting",
    ) -> Accepted:
        await self.may_store.wait()
        self._fail_if_asked()
        accepted = await super().accept(incoming, terms, claiming, state=state)
        self._keep(incoming, accepted, self.overheard if state == DONE else self.taken)
        if accepted.claim is not None:
            self.on_claim(accepted.claim.turn)
        return accepted

    async def stop(self, conversation: str, *, alone: bool = False) -> list[int]:
        self._fail_if_asked()
        return await super().stop(conversation, alone=alone)

    async def restrict_place(self, source: str, channel: str, place: Place, now: datetime) -> int:
        moved = await super().restrict_place(source, channel, place, now)
        self.arrived.set()
        return moved

    async def amend(self, source: str, channel: str, message_id: str, text: str, job: Job | None = None) -> bool:
        is_open = await super().amend(source, channel, message_id, text, job)
        self.arrived.set()
        return is_open

    async def withdraw(self, source: str, channel: str, message_id: str, now: datetime) -> bool:
        self._fail_if_asked()
        was_open = await super().withdraw(source, channel, message_id, now)
        self.arrived.set()
        return was_open

    def _fail_if_asked(self) -> None:
        if self.failures:
            raise self.failures.pop(0)

    def _keep(self, incoming: Incoming, accepted: Accepted, target: list[Incoming]) -> None:
        (self.again if accepted.duplicate else target).append(incoming)
        self.arrived.set()

    async def claim(self, claiming: Claiming) -> Claim | None:
        if self.fail_next_claim is not None:
            failure, self.fail_next_claim = self.fail_next_claim, None
            raise failure
        claimed = await super().claim(claiming)
        if claimed is not None:
            self.on_claim(claimed.turn)
        return claimed

    async def save(
        self,
        claim: Claim,
        *,
        progress: str | None = None,
        reply_ref: str | None = None,
        calls: Sequence[ModelCall] = (),
    ) -> None:
        if self.fail_next_save is not None:
            failure, self.fail_next_save = self.fail_next_save, None
            raise failure
        await super().save(claim, progress=progress, reply_ref=reply_ref, calls=calls)

    async def finish(self, claim: Claim, closing: Closing, now: datetime) -> bool:
        others_wait = await super().finish(claim, closing, now)
        self.asked[claim.turn], self.closings[claim.turn] = claim.incoming, closing
        return others_wait


class WatchedConversations(SqlConversations):
    """Each change of a watermark after the first sets `noted`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.noted = asyncio.Event()

    async def set_watermark(self, source: str, time: datetime) -> None:
        if await self.watermark(source) is not None:
            self.noted.set()
        await SqlConversations.set_watermark(self, source, time)


@dataclass(frozen=True)
class StoredTurn:
    """A turn in the ledger. `message`: its question; `outcome`: once it is done."""

    id: int
    incoming: Incoming
    message: int
    state: str
    epoch: int
    attempts: int
    progress: str
    reply_ref: str
    stopping: bool
    pages: tuple[str, ...]
    outcome: Outcome | None


@dataclass(frozen=True)
class StoreInMemory(Store):
    """The store, and its content."""

    ledger: WatchedLedger
    conversations: WatchedConversations
    database: DatabaseInMemory

    @property
    def turns(self) -> list[StoredTurn]:
        """Return the turns in the order in which they run."""
        return [*self.database.look(_turns)]

    @property
    def messages(self) -> list[tuple[int, StoredMessage]]:
        """Return the messages with their turns, in order."""
        return [*self.database.look(_messages)]

    @property
    def verdicts(self) -> dict[tuple[int, str], ReplyVerdict]:
        """Return the verdicts by turn and person."""
        found = self.database.now(lambda connection: connection.execute(select(verdict)).all())
        return {(row.turn, row.person): ReplyVerdict(row.verdict) for row in found}

    @property
    def chosen(self) -> dict[str, dict[str, str]]:
        """Return all preferences, by owner and name."""
        found = dict[str, dict[str, str]]()
        for row in self.database.now(lambda connection: connection.execute(select(preference)).all()):
            found.setdefault(row.owner, {})[row.name] = row.value
        return found

    @property
    def waiting_jobs(self) -> dict[tuple[str, str], Job]:
        """Return the waiting jobs by kind and key."""
        found = self.database.now(
            lambda connection: connection.execute(select(job).where(job.c.state == "waiting")).all()
        )
        names = ("id", "epoch", "owner", "kind", "key", "payload", "run_at", "attempts", "person", "conversation")
        return {(row.kind, row.key): Job(**{name: getattr(row, name) for name in names}) for row in found}

    @property
    def to_learn(self) -> list[str]:
        """Return the texts of the messages that learning may still read."""
        found = select(message.c.text).where(message.c.to_learn).order_by(message.c.id)
        return [*self.database.now(lambda connection: connection.execute(found).scalars().all())]

    @property
    def passed_over(self) -> set[int]:
        """Return the messages that learning may no longer read."""
        found = select(message.c.id).where(message.c.passed_over)
        return {*self.database.now(lambda connection: connection.execute(found).scalars().all())}

    @property
    def kinds_of_calls(self) -> set[str]:
        """Return the purposes of the model calls."""
        return {*self.database.now(lambda connection: connection.execute(select(model_call.c.kind)).scalars().all())}

    @property
    def summaries_kept(self) -> dict[str, SituationSummary]:
        """Return the summaries by conversation."""
        found = self.database.now(lambda connection: connection.execute(select(conversation)).all())
        return {row.id: row_mapping.summary(row.summary)[0] for row in found}

    @property
    def facts_kept(self) -> list[Fact]:
        """Return the facts of all people, superseded ones included."""
        return self.database.now(_facts)

    @property
    def schedules_kept(self) -> list[Schedule]:
        """Return the schedules of all people."""
        return self.database.now(_schedules)

    def lose_pages(self) -> None:
        """Simulate a process that died before it stored the pages that it had just posted."""
        self.database.now(lambda connection: connection.execute(update(turn).values(reply_ref="")))

    async def hear(self, said: Incoming) -> int:
        """Store a message that needs no answer; return its id."""
        turn_id = (await self.ledger.record_context_message(said)).turn
        return next(message.id for number, message in self.messages if number == turn_id)


_TURNS: Final = (
    select(
        turn,
        person.c.name,
        person.c.time_zone,
        message.c.id.label("question"),
        func.coalesce(message.c.text, "").label("text"),
        func.coalesce(message.c.audience, "person:" + turn.c.person).label("audience"),
        message.c.time,
        message.c.permalink,
    )
    .join(person, person.c.id == turn.c.person)
    .outerjoin(message, and_(message.c.turn == turn.c.id, message.c.author == Author.PERSON))
    .order_by(turn.c.id, message.c.id.desc())
)
_MESSAGES: Final = conversations.stored_messages().order_by(message.c.turn, message.c.id)


def _turns(connection: Connection) -> list[StoredTurn]:
    found = {row["id"]: row for row in connection.execute(_TURNS).mappings()}  # of joined questions, the first
    return [_turn(row) for row in found.values()]


def _turn(row: row_mapping.Row) -> StoredTurn:
    return StoredTurn(
        id=row["id"],
        incoming=row_mapping.incoming(row, json.loads(row["payload"])),
        message=row["question"] or 0,
        state=row["state"],
        epoch=row["epoch"],
        attempts=row["attempts"],
        progress=row["progress"],
        reply_ref=row["reply_ref"],
        stopping=row["stopping"],
        pages=tuple(read_pages(row["pages"])),
        outcome=None if row["outcome"] is None else Outcome(row["outcome"]),
    )


def _messages(connection: Connection) -> list[tuple[int, StoredMessage]]:
    return [(row["turn"], row_mapping.message(row)) for row in connection.execute(_MESSAGES).mappings()]


def _schedules(connection: Connection) -> list[Schedule]:
    return listed(connection, limit=1_000)


def _facts(connection: Connection) -> list[Fact]:
    people = connection.execute(select(fact.c.person).distinct()).scalars().all()
    return sorted(
        (one for each in people for one in fact_store.of_person(connection, each)), key=lambda one: int(one.id)
    )


def store_in_memory(ledger: type[WatchedLedger] = WatchedLedger) -> StoreInMemory:
    """Return a new one, without rows."""
    database = DatabaseInMemory()
    store = store_on(database, Prepared(KEY, None), HEAD)
    parts: dict[str, Any] = {each.name: getattr(store, each.name) for each in fields(store)}
    parts["ledger"] = ledger(database, ErasedIds(KEY))
    parts["conversations"] = WatchedConversations(database)
    return StoreInMemory(**parts)
