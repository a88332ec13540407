"""Data derived from rows (the words by which messages and facts are found), rebuilt when a new version of the program
derives it differently. This happens before any turn is answered, because a half-built index finds half.

Rules
  With a million messages it takes minutes, so progress is logged. Memory and transactions stay small.
  `meta` holds the progress, written in the transaction of each step: a start after a kill continues there. A process of
  an earlier version sees that the derived data is not its own, and rebuilds all of it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, insert, select, update

from agent.memory.statements import READER
from store.databases.database import Database
from store.memory import fact_index
from store.schema import meta
from store.search import index

log = logging.getLogger(__name__)

PROGRESS_LOG_S: Final = 10.0  # Between two lines in the log


@dataclass(frozen=True, slots=True)
class Derived:
    """`name`: the key of its version in `meta`. `what` it is, and `of` what, in words for operators."""

    name: str
    what: str
    of: str
    version: int
    renew: Callable[[Connection, int], list[int]]
    """Derive again from the next rows after an id; returns the ids of these rows."""
    left: Callable[[Connection, int], int]
    """Count the rows after an id."""


DERIVED: Final = (
    Derived("reader", "the index of facts", "facts", READER, fact_index.renew, fact_index.count_remaining),
    Derived("index_terms", "the search index", "messages", index.TERMS, index.renew, index.count_remaining),
)


@dataclass(frozen=True, slots=True)
class Renewal:
    """Derived data to be rebuilt. `left`: how many rows are still to be read."""

    derived: Derived
    left: int


def outdated(connection: Connection) -> tuple[Renewal, ...]:
    """Return what is to be rebuilt. Reads only."""
    reached = [(derived, reached_by(connection, derived)) for derived in DERIVED]
    return tuple(Renewal(derived, derived.left(connection, after)) for derived, after in reached if after is not None)


def renew_some(connection: Connection, derived: Derived) -> list[int]:
    """Rebuild it for the next rows; returns their ids, none when all is done."""
    after = reached_by(connection, derived)
    if after is None:
        return []
    ids = derived.renew(connection, after)
    value = (f"{derived.version}:{ids[-1]}" if ids else f"{derived.version}").encode()
    updated = update(meta).where(meta.c.name == derived.name).values(value=value)
    if not connection.execute(updated).rowcount:
        connection.execute(insert(meta).values(name=derived.name, value=value))
    return ids


def reached_by(connection: Connection, derived: Derived) -> int | None:
    """The id up to which this version has derived it; None if it is complete."""
    stored = connection.execute(select(meta.c.value).where(meta.c.name == derived.name)).scalar_one_or_none()
    version_, _, reached = (stored or b"").decode().partition(":")
    if version_ != str(derived.version):
        return 0
    return int(reached) if reached else None


async def renew(database: Database, renewal: Renewal, monotonic: Callable[[], float]) -> None:
    derived, done, began = renewal.derived, 0, monotonic()
    last_logged = began
    if renewal.left:
        log.info("rebuilding %s (%s: %d); answering starts after that", derived.what, derived.of, renewal.left)
    while ids := await database.write_alone(renew_some, derived):
        done += len(ids)
        if monotonic() - last_logged >= PROGRESS_LOG_S:
            last_logged = monotonic()
            log.info("rebuilding %s (%s: %d of %d)", derived.what, derived.of, done, renewal.left)
    if renewal.left:
        log.info("rebuilt %s (%s: %d) in %.1f s", derived.what, derived.of, done, monotonic() - began)
