"""Vectors on PostgreSQL with pgvector: an HNSW index, for people whose history is too long to compare all of it.

Rules
  The extension is optional: without it, or before the index is made, all vectors are compared.
  The rows of the index's table follow those of `embedding` in the database itself, whichever version of the program
  writes: a trigger adds a row, and a foreign key deletes it.
  The audience is a condition of the query that scans the index, which continues until it has enough rows (iterative
  scan). A scan that ends before that, as for a narrow audience, gives no result.
"""

# Theory of operation. Comparing all messages that a person may find is exact, and its time grows with their number. The
# index yields the nearest of all people's vectors one by one, and each is checked for whether the asker may see it: the
# smaller the asker's share of all messages, the more checks fail. The faster of the two is used.

import logging
import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import sha256
from typing import Final

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    TextClause,
    bindparam,
    column,
    exists,
    func,
    literal,
    select,
    text,
)
from sqlalchemy import table as table_named
from sqlalchemy.dialects import postgresql

from agent import texts
from agent.embeddings import Meaning
from agent.errors import StoreError
from store.databases.database import Database, in_order
from store.databases.postgresql import PostgresDatabase
from store.message_tables import embedding, message, participant

log = logging.getLogger(__name__)

TABLE: Final = "embedding_hnsw"
OLDEST_PGVECTOR: Final = (0, 8)  # The first with iterative scans
MOST_NUMBERS: Final = 4_000  # The most dimensions of a half-precision vector in an index
# The least number of vectors for an index: with fewer, comparing all is faster.
LEAST_ROWS: Final = 20_000
# The time for each message compared without the index, and for each that the index yields (measured).
COMPARED_US: Final = 2.5
LED_TO_US: Final = 15.0
AT_ONCE: Final = 500  # Vectors written to the table in one transaction: a quarter of a second
_HAS_TABLE: Final = text("SELECT to_regclass(:table) IS NOT NULL")
BUILD_S: Final = 24 * 3600.0
# The server's memory for building an index: at least, and at most unless the server's own setting is higher.
BUILD_MB: Final = (64, 1_024)
# The memory of a vector there besides its numbers (measured: 278,000 vectors of 256 numbers filled 912 MB).
BYTES_BESIDE: Final = 3_000
# The candidate list of an index scan (ef_search), at least and at most: an iterative scan proceeds in steps of that
# size.
SEARCHED: Final = (100, 1_000)


# How many times the expected number of rows is scanned before the scan gives up: an audience may be narrow.
PATIENCE: Final = 3


class VectorSupport(Enum):
    """The server's support for an index of vectors."""

    READY = "ready"
    """The extension is installed, or this role may create it."""
    FORBIDDEN = "forbidden"
    """A role with more rights could create it."""
    OLD = "old"
    MISSING = "missing"


# Who may install the extension: a superuser, anyone where it is marked so, or who may create in this database where it
# is trusted.
_SUPPORT: Final = text("""
    SELECT coalesce(installed_version, default_version),
      installed_version IS NOT NULL OR bool_or(known.superuser IS FALSE OR role.rolsuper
        OR known.trusted AND has_database_privilege(current_database(), 'CREATE'))
    FROM pg_available_extensions AS here
    LEFT JOIN pg_available_extension_versions AS known
      ON known.name = here.name AND known.version = here.default_version
    CROSS JOIN (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS role
    WHERE here.name = 'vector'
    GROUP BY installed_version, default_version
""")
# Stored vectors are four-byte floats, little-endian. NaN and infinity become 0.
_SETUP: Final = (
    "CREATE EXTENSION IF NOT EXISTS vector",
    f"""
    CREATE TABLE {TABLE} (
      message integer PRIMARY KEY REFERENCES embedding (message) ON DELETE CASCADE,
      model text NOT NULL,
      meaning halfvec NOT NULL)
    """,
    """
    CREATE OR REPLACE FUNCTION cogency_numbers(packed bytea) RETURNS real[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
      SELECT array_agg(CASE
          WHEN exponent IN (0, 255) THEN 0
          ELSE sign * (8388608 + fraction) * 2::double precision ^ (exponent - 150)
        END::real ORDER BY at)
      FROM (SELECT at, CASE WHEN high > 127 THEN -1 ELSE 1 END AS sign,
              (high & 127) * 2 + (third >> 7) AS exponent, (third & 127) * 65536 + low AS fraction
            FROM (SELECT at, get_byte(packed, at + 3) AS high, get_byte(packed, at + 2) AS third,
                    get_byte(packed, at + 1) * 256 + get_byte(packed, at) AS low
                  FROM generate_series(0, length(packed) - 4, 4) AS at) AS bytes) AS parts
    $$
    """,
    # A vector that cannot be indexed is found without the index, so an error here does not prevent storing it.
    f"""
    CREATE OR REPLACE FUNCTION cogency_index_meaning() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO {TABLE} (message, model, meaning)
          VALUES (NEW.message, NEW.model, cogency_numbers(NEW.vector)::halfvec)
          ON CONFLICT (message) DO UPDATE SET model = excluded.model, meaning = excluded.meaning;
        RETURN NULL;
      EXCEPTION WHEN OTHERS THEN RETURN NULL;
      END $$
    """,  # noqa: S608 -- of constants
    f"""
    CREATE OR REPLACE TRIGGER {TABLE} AFTER INSERT OR UPDATE ON embedding
    FOR EACH ROW EXECUTE FUNCTION cogency_index_meaning()
    """,
)
_NUMBERS: Final = text("SELECT length(vector) / 4 FROM embedding WHERE model = :model ORDER BY message DESC LIMIT 1")
_COUNT: Final = text("SELECT count(*) FROM embedding WHERE model = :model")
# Vectors of another length, from before the model changed, are read too, as NULL: the position has to move past them.
_NEXT: Final = text("""
    SELECT message, CASE WHEN length(vector) = 4 * :numbers THEN vector END AS vector FROM embedding
    WHERE model = :model AND message > :after ORDER BY message LIMIT :at_once
""")
_FILL: Final = text(f"""
    INSERT INTO {TABLE} (message, model, meaning)
    SELECT message, :model, written::halfvec FROM unnest(:messages, :written) AS missing (message, written)
    WHERE EXISTS (SELECT 1 FROM embedding AS kept WHERE kept.message = missing.message FOR SHARE)
    ON CONFLICT (message) DO NOTHING
""").bindparams(  # noqa: S608 -- of constants
    bindparam("messages", type_=ARRAY(Integer)), bindparam("written", type_=ARRAY(Text))
)
# Also those that are not valid: a build that broke off leaves one behind, which has to be dropped.
_INDEXES: Final = text("""
    SELECT name.relname, made.indisvalid FROM pg_index AS made JOIN pg_class AS name ON name.oid = made.indexrelid
    WHERE made.indrelid = to_regclass(:table) AND NOT made.indisprimary
""")
# An estimate from the catalog, since counting the entries would read the whole index.
_INDEXED: Final = text("""
    SELECT name.reltuples FROM pg_index AS made JOIN pg_class AS name ON name.oid = made.indexrelid
    WHERE name.oid = to_regclass(:index) AND made.indisvalid
""")
_BY_INDEX: Final = {
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.scan_mem_multiplier": "8",
}
# Another process may be building it: two builds at once would wait for each other.
_UNDER_WAY: Final = text("""
    SELECT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE relid = to_regclass(:table))
""")
_MAINTENANCE_KB: Final = text("SELECT setting FROM pg_settings WHERE name = 'maintenance_work_mem'")
# Otherwise the planner might compare the vectors of all people.
_UNWANTED_PLANS: Final = ("enable_sort", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin")


def index_name(model: str, numbers: int) -> str:
    """The name of the index for a model and the length of its vectors."""
    return f"ix_{TABLE}_{sha256(f'{numbers}:{model}'.encode()).hexdigest()[:12]}"


def support(connection: Connection) -> VectorSupport:
    """The support of a PostgreSQL server. Reads only."""
    found = connection.execute(_SUPPORT).one_or_none()
    if found is None:
        return VectorSupport.MISSING
    version, usable = found
    if tuple(int(part) for part in version.split(".")[:2] if part.isdecimal()) < OLDEST_PGVECTOR:
        return VectorSupport.OLD
    return VectorSupport.READY if usable else VectorSupport.FORBIDDEN


def remark(connection: Connection) -> str | None:
    """Why the vectors in this database will get no index, as a sentence; None if they will. Reads only."""
    found = support(connection)
    if found is VectorSupport.READY or not connection.execute(select(exists().select_from(embedding))).scalar_one():
        return None
    return texts.NO_VECTOR_INDEX[found.value]


# Building the index, while other processes keep working.


async def make_index(database: Database, model: str, least: int = LEAST_ROWS) -> bool:
    """Make the index of the model's vectors, and drop those of other models; returns whether there is one. `least`: the
    number of vectors from which it pays.

    Raises StoreError. An interrupted build is restarted by the next call.
    """
    if not isinstance(database, PostgresDatabase) or sys.byteorder != "little":
        return False
    if database.is_pooled:
        return False  # settings of the connection would apply to other clients of the pooler
    count, numbers = await database.read(_size, model)
    if count < least or not 0 < numbers <= MOST_NUMBERS or await database.read(support) is not VectorSupport.READY:
        return False
    name = index_name(model, numbers)
    if not (await database.read(_indexes)).get(name):
        await database.write(_set_up)
        after: int | None = 0
        while after is not None:
            after = await database.write(_fill, model, numbers, after)
        if await database.read(_is_under_way):
            return False  # by another process
        await _build(database, model, count, numbers)
    indexes = await database.read(_indexes)
    if others := [f"DROP INDEX CONCURRENTLY IF EXISTS {other}" for other in indexes if other != name]:
        await database.run_alone(others, BUILD_S)
    return bool(indexes.get(name))


async def _build(database: PostgresDatabase, model: str, rows: int, numbers: int) -> None:
    name = index_name(model, numbers)
    log.info("building an index of the vectors of %s (messages: %d); until then, recall works without it", model, rows)
    least, most = BUILD_MB
    most = max(most, await database.read(_maintenance_mb))
    fitting = min(max(rows * (2 * numbers + BYTES_BESIDE) >> 20, least), most)
    quoted = str(literal(model, Text()).compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}))
    index = (
        f"CREATE INDEX CONCURRENTLY {name} ON {TABLE} USING hnsw ((meaning::halfvec({numbers})) halfvec_ip_ops)"
        f" WHERE model = {quoted} AND vector_dims(meaning) = {numbers}"
    )
    statements = [
        f"SET maintenance_work_mem = '{fitting}MB'",
        f"DROP INDEX CONCURRENTLY IF EXISTS {name}",  # a half-made index of a killed process is invalid
        index,
    ]
    try:
        await database.run_alone(statements, BUILD_S)
    except StoreError as error:
        # Parallel workers of the server share memory that is scarce in a container.
        log.info("building the index of the vectors of %s with one process of the server: %s", model, error)
        await database.run_alone(["SET max_parallel_maintenance_workers = 0", *statements], BUILD_S)
    log.info("built the index of the vectors of %s", model)


def _set_up(connection: Connection) -> None:
    in_order(connection, TABLE)
    if connection.execute(_HAS_TABLE, {"table": TABLE}).scalar_one():
        return
    for statement in _SETUP:
        connection.execute(text(statement))


def _size(connection: Connection, model: str) -> tuple[int, int]:
    """The number of vectors, and the length of the newest one."""
    parameters = {"model": model}
    return connection.execute(_COUNT, parameters).scalar_one(), connection.execute(
        _NUMBERS, parameters
    ).scalar_one_or_none() or 0


def _maintenance_mb(connection: Connection) -> int:
    return int(connection.execute(_MAINTENANCE_KB).scalar_one()) >> 10


def _fill(connection: Connection, model: str, numbers: int, after: int) -> int | None:
    """Add the vectors of the next messages after one; returns the id of the last, None if there are none."""
    parameters = {"model": model, "numbers": numbers, "after": after, "at_once": AT_ONCE}
    rows = connection.execute(_NEXT, parameters).all()
    written = {message: _vector_text(vector) for message, vector in rows if vector is not None}
    if written:
        vectors = {"model": model, "messages": list(written), "written": list(written.values())}
        connection.execute(_FILL, vectors)
    return rows[-1].message if rows else None


def _vector_text(packed: bytes) -> str:
    """A vector in the server's text form, with more digits than half precision has."""
    return f"[{','.join([f'{number:.5g}' if math.isfinite(number) else '0' for number in array('f', packed)])}]"


def _indexes(connection: Connection) -> dict[str, bool]:
    """The indexes of vectors, and whether each is valid."""
    return {row.relname: row.indisvalid for row in connection.execute(_INDEXES, {"table": TABLE})}


def _is_under_way(connection: Connection) -> bool:
    return connection.execute(_UNDER_WAY, {"table": TABLE}).scalar_one()


# Searching the index.


def nearest(
    connection: Connection,
    person: str | None,
    meaning: Meaning,
    visible: Sequence[ColumnElement[bool] | TextClause],
    total: int,
    count: int,
) -> list[int] | None:
    """The `count` nearest messages (approximately) of those that meet the conditions `visible`, which are about
    `total`. `person`: only messages of this person's threads; None: of all.

    Returns None if there is no index, if comparing all is faster, or if the index does not yield that many.
    """
    name = index_name(meaning.model, len(meaning.vector))
    indexed = connection.execute(_INDEXED, {"index": name}).scalar_one_or_none()
    if indexed is None or not pays(total, indexed, count):
        return None
    expected = int(count * indexed / max(total, 1))
    step, looked_up = min(max(expected, SEARCHED[0]), SEARCHED[1]), max(PATIENCE * expected, SEARCHED[1])
    bounds = {"hnsw.ef_search": str(step), "hnsw.max_scan_tuples": str(looked_up)}
    _set(connection, {**_BY_INDEX, **bounds, **dict.fromkeys(_UNWANTED_PLANS, "off")})
    found = list(connection.execute(_index_query(person, meaning, visible, count)).scalars())
    _set(connection, dict.fromkeys(_UNWANTED_PLANS, "on"))
    return found if len(found) == count else None


def pays(total: int, indexed: float, count: int) -> bool:
    """Whether finding `count` of a person's messages by the index is faster than comparing all `total`."""
    return LED_TO_US * count * max(indexed, 1.0) / max(total, 1) < COMPARED_US * total


def _index_query(
    person: str | None, meaning: Meaning, visible: Sequence[ColumnElement[bool] | TextClause], count: int
) -> Select[int]:
    length = math.hypot(*meaning.vector) or 1.0
    numbers, direction = len(meaning.vector), ",".join(f"{number / length:.6g}" for number in meaning.vector)
    near = table_named(TABLE, column("message", Integer), column("model", Text))
    # Written exactly as in the index, so that the planner uses it.
    model = bindparam("model", meaning.model, type_=Text(), literal_execute=True)
    size = text(f"vector_dims({TABLE}.meaning) = {numbers}")
    distance = text(f"{TABLE}.meaning::halfvec({numbers}) <#> CAST(CAST(:asked AS text) AS halfvec({numbers}))")
    query = select(near.c.message).join_from(near, message, message.c.id == near.c.message)
    if person is not None:
        in_thread = participant.c.conversation == message.c.conversation
        query = query.where(exists().where(in_thread, participant.c.person == person))
    query = query.where(near.c.model == model, size, *visible)
    return query.order_by(distance.bindparams(asked=f"[{direction}]")).limit(count)


def _set(connection: Connection, settings: Mapping[str, str]) -> None:
    """Change settings until the transaction ends."""
    values = [func.set_config(name, value, literal(value=True)) for name, value in settings.items()]
    connection.execute(select(*values))
