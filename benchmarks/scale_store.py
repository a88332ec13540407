"""Ten million messages in one PostgreSQL for `benchmarks.scale`, written in minutes, and one person's searches in them.

The tables are those of the store's own migrations. Rows are written by SQL, past the ledger: the words of each message
come from a pool of generated texts (`benchmarks.search_scale`), for which the store's own functions made the entries of
the index. One in a fixed number of threads is the first person's, evenly over time; the others write by a power law.
Indexes and foreign keys are dropped before and created again after, from the server's own definitions.
"""

# ruff: noqa: S608 -- every statement here is of constants

import asyncio
import random
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from typing import Any, Final, TypeAlias

import asyncpg  # pyright: ignore[reportMissingTypeStubs]  # it has none
from sqlalchemy import Table

from agent.recall_query import RecallQuery
from agent.tools.recall import MAX_HITS
from benchmarks.search_scale import BUSIEST, PLACE, START, THREAD, Vocabulary, like, questions_of
from store.engine import open_store
from store.message_tables import message
from store.search.index import MESSAGES, MessageWords
from store.search.text import indexed_text
from store.turn_tables import turn

Connection: TypeAlias = Any  # A connection of asyncpg, which has no types

POOL: Final = 100_000  # Different texts; the first person, with this many messages, writes none of them twice
STEP: Final = 200_000  # Messages of one statement
WRITERS: Final = 2  # Connections that write at the same time
# The tables whose indexes and foreign keys are created after all rows.
LARGE: Final = ("turn", "message", MESSAGES)
WORDINGS: Final = 3  # Besides the question; the tool requests this many from a model


@dataclass(frozen=True, slots=True)
class Size:
    """`one_person`: messages of the first person, among all."""

    messages: int
    people: int
    one_person: int
    searches: int

    @property
    def threads(self) -> int:
        return self.messages // THREAD

    @property
    def every(self) -> int:
        """One in this many threads is the first person's."""
        return self.messages // self.one_person


WHOLE: Final = Size(10_000_000, 2_000, 100_000, 200)
QUICK: Final = Size(100_000, 50, 10_000, 40)


async def grow(url: str, size: Size, dice: random.Random, vocabulary: Vocabulary) -> None:
    """Fill the empty database at `url`."""
    await (await open_store(url)).close()
    async with _raw(url) as connection:
        later = [statement for table in LARGE for statement in await _bare(connection, table)]
        await _fill_pool(connection, size, dice, vocabulary)
        await _fill_people(connection, size, dice)
    steps = [(first, min(first + STEP, size.messages + 1)) for first in range(1, size.messages + 1, STEP)]
    await asyncio.gather(*(_write(url, steps[one::WRITERS], size) for one in range(WRITERS)))
    async with _raw(url) as connection:
        await connection.execute("SET maintenance_work_mem = '1GB'")
        await connection.execute("SET max_parallel_maintenance_workers = 2")
        for statement in later:
            await connection.execute(statement)
        await connection.execute("DROP TABLE pool, thread_of")
        await connection.execute("VACUUM ANALYZE")


async def sizes(url: str) -> tuple[int, int]:
    """Return the bytes of the whole database, and of the index of words."""
    async with _raw(url) as connection:
        whole = await connection.fetchval("SELECT pg_database_size(current_database())")
        return whole, await connection.fetchval(f"SELECT pg_total_relation_size('{MESSAGES}')")


@asynccontextmanager
async def _raw(url: str) -> AsyncGenerator[Connection]:
    """A connection without the product's time limits."""
    untyped: Any = asyncpg
    connection = await untyped.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def _bare(connection: Connection, table: str) -> list[str]:
    """Drop a table's indexes and foreign keys, and return the statements that create them again, keys first. Those to
    which other tables refer stay.
    """
    constraints = await connection.fetch(
        "SELECT conname, contype, pg_get_constraintdef(oid) AS is FROM pg_constraint"
        " WHERE conrelid = $1::regclass AND contype IN ('p', 'u', 'f') ORDER BY contype = 'f'",
        table,
    )
    owned = {row["conname"] for row in constraints}
    constraints = [row for row in constraints if row["contype"] != b"p" or table == MESSAGES]
    indexes = await connection.fetch("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1", table)
    plain = [row for row in indexes if row["indexname"] not in owned]
    for row in plain:
        await connection.execute(f"DROP INDEX {row['indexname']}")
    for row in constraints:
        await connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {row['conname']}")
    again = [f"ALTER TABLE {table} ADD CONSTRAINT {row['conname']} {row['is']}" for row in constraints]
    return [*again, *(row["indexdef"] for row in plain)]


async def _fill_pool(connection: Connection, size: Size, dice: random.Random, vocabulary: Vocabulary) -> None:
    """Texts with an even number are people's, odd ones the bot's, which are longer."""
    await connection.execute("CREATE UNLOGGED TABLE pool (n int PRIMARY KEY, said text, length int, terms text[])")
    texts = min(POOL, size.one_person)
    for first in range(0, texts, 5_000):
        rows: list[tuple[int, str, int, list[str]]] = []
        for n in range(first, min(first + 5_000, texts)):
            words = dice.randint(20, 60) if n % 2 else dice.randint(5, 40)
            said = indexed_text(vocabulary.say(words, dice), stemmed=True)
            rows.append((n, said.text, said.length, list(said.terms)))
        await connection.copy_records_to_table("pool", records=rows)


async def _fill_people(connection: Connection, size: Size, dice: random.Random) -> None:
    """Write all people, and the owner of each thread."""
    await connection.copy_records_to_table(
        "person",
        records=[(n + 1, f"p{n}", f"Person{n}", "UTC") for n in range(size.people)],
        columns=["number", "id", "name", "time_zone"],
    )
    await connection.execute("CREATE UNLOGGED TABLE thread_of (thread int PRIMARY KEY, person int)")
    busy = list(accumulate(1 / (rank + BUSIEST) for rank in range(1, size.people)))
    others = iter(dice.choices(range(1, size.people), cum_weights=busy, k=size.threads))
    whose = [(thread, next(others) if thread % size.every else 0) for thread in range(size.threads)]
    await connection.copy_records_to_table("thread_of", records=whose)
    await connection.execute(
        f"INSERT INTO conversation (id, audience, summary) SELECT 't' || thread, '{PLACE}', '{{}}' FROM thread_of"
    )
    await connection.execute(
        "INSERT INTO participant (conversation, person) SELECT 't' || thread, 'p' || person FROM thread_of"
    )


_TURN: Final = {
    "id": "(m.id + 1) / 2",
    "state": "'done'",
    "source": "'scale'",
    "event_id": "'e' || m.id",
    "channel": "'t' || m.thread",
    "message_id": "'m' || m.id",
    "conversation": "'t' || m.thread",
    "person": "'p' || m.person",
    "taken": "m.at",
    "began": "m.at",
    "ended": "m.at + interval '20 seconds'",
    "outcome": "'completed'",
}
_MESSAGE: Final = {
    "id": "m.id",
    "conversation": "'t' || m.thread",
    "turn": "(m.id + 1) / 2",
    "author": "CASE WHEN m.id % 2 = 1 THEN 'person' ELSE 'bot' END",
    "person": "'p' || m.person",
    "text": "pool.said",
    "length": "pool.length",
    "time": "m.at",
    "audience": f"'{PLACE}'",
    "channel": "'t' || m.thread",
    "message_id": "'m' || m.id",
}


async def _write(url: str, steps: Sequence[tuple[int, int]], size: Size) -> None:
    """Write the messages of these ranges, their turns and their entries."""
    texts = min(POOL, size.one_person)
    year = timedelta(days=365).total_seconds()
    at = f"'{START.isoformat()}'::timestamptz + interval '1 second' * (m * {year} / {size.messages})"
    # The first person's messages go through the pool in order; the others' are picked by a hash that keeps the parity
    # of their number, and with it whether they are the bot's.
    own = f"(m - 1) / {THREAD * size.every} * {THREAD} + (m - 1) % {THREAD}"
    others = f"(((m::bigint * 7919) % {texts // 2}) * 2 + (m - 1) % 2)::int"
    chosen = (
        f"SELECT m AS id, (m - 1) / {THREAD} AS thread, whose.person, {at} AS at,"
        f" CASE WHEN whose.person = 0 THEN {own} ELSE {others} END AS n"
        f" FROM generate_series($1::int, $2::int - 1) AS m"
        f" JOIN thread_of AS whose ON whose.thread = (m - 1) / {THREAD}"
    )
    block = " || ".join(f"((m.id >> {MessageWords.BLOCK_BITS + 2 * place}) & 3)" for place in _PLACES)
    reader = "(m.person + 1)"
    words = (
        f"array_to_tsvector(array_append(ARRAY(SELECT {reader} || ':' || term FROM unnest(pool.terms) AS term),"
        f" {reader} || '#' || {block}))"
    )
    entries = f"FROM ({chosen}) AS m JOIN pool ON pool.n = m.n ORDER BY m.id"
    statements = (
        _insert(turn, _TURN, f"({chosen}) AS m WHERE m.id % 2 = 1"),
        _insert(message, _MESSAGE, f"({chosen}) AS m JOIN pool ON pool.n = m.n"),
        f"INSERT INTO {MESSAGES} (reader, message, words) SELECT {reader}, m.id, {words} {entries}",
    )
    async with _raw(url) as connection:
        for first, behind in steps:
            for statement in statements:
                await connection.execute(statement, first, behind)


_PLACES: Final = range(MessageWords.BLOCK_DIGITS - 1, -1, -1)


def _insert(table: Table, given: dict[str, str], source: str) -> str:
    """Fill missing columns with the store's defaults."""
    columns: list[Any] = [column for column in table.columns if column.name not in given and column.default is not None]
    rest = {column.name: _literal(column.default.arg) for column in columns}
    values = {**given, **rest}
    return f"INSERT INTO {table.name} ({', '.join(values)}) SELECT {', '.join(values.values())} FROM {source}"


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()


async def time_searches(url: str, size: Size, vocabulary: Vocabulary) -> tuple[list[float], list[float], list[float]]:
    """Return the milliseconds of the first person's searches, as the recall tool makes them: with the question alone,
    and with more wordings; and of LIKE. A first round warms up.
    """
    store = await open_store(url)
    try:
        dice = random.Random(3)
        asked = await store.database.read(questions_of, 0, size.searches, vocabulary.common, dice)
        wordings = [tuple(" ".join(dice.sample(one.split(), 2)) for one in dice.sample(asked, WORDINGS)) for _ in asked]
        found: list[list[float]] = []
        for more in ([()] * len(asked), wordings):
            times: list[float] = []
            for round_ in range(2):
                for question, others in zip(asked, more, strict=True):
                    query = RecallQuery("p0", question, frozenset({PLACE}), "", MAX_HITS, wordings=others)
                    begun = time.perf_counter()
                    hits = await store.memories.search(query)
                    if round_:
                        times.append(1000 * (time.perf_counter() - begun))
                    if not hits:
                        raise RuntimeError(f"nothing was found of {question}")
            found.append(times)
        likes: list[float] = []
        for question in asked[: size.searches // 10]:
            begun = time.perf_counter()
            await store.database.read(like, 0, question)
            likes.append(1000 * (time.perf_counter() - begun))
        return found[0], found[1], likes
    finally:
        await store.close()
