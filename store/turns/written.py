"""Turns whose reply is written before they begin: no model is called, and a worker only shows the reply."""

import sqlalchemy as sa

from agent.admission_terms import Terms
from agent.events import Outcome
from agent.incoming import Incoming
from agent.progress import Progress, encode
from agent.turn_records import Accepted
from store.databases.database import Database, SqlStore
from store.erased_ids import ErasedIds
from store.search import index
from store.search.text import IndexedText
from store.turn_tables import turn
from store.turns import ledger


def accept_written(
    connection: sa.Connection,
    incoming: Incoming,
    reply: str | None,
    indexed: IndexedText,
    erased_ids: ErasedIds,
    terms: Terms | None = None,
) -> Accepted:
    """Accept a message with its reply, which counts as others' words; with None, a model will be asked."""
    narrowing = incoming.place.is_closed
    accepted = ledger.accept(connection, incoming, indexed, erased_ids, terms=terms, narrowing=narrowing)
    if reply is not None and not accepted.duplicate:
        progress = encode(Progress(reply=reply, outcome=Outcome.ANSWERED, own=False))
        connection.execute(sa.update(turn).where(turn.c.id == accepted.turn).values(progress=progress))
    return accepted


class SqlWrittenTurns(SqlStore):
    """The port WrittenTurns."""

    def __init__(self, database: Database, erased_ids: ErasedIds) -> None:
        super().__init__(database)
        self._erased_ids = erased_ids

    async def accept(self, incoming: Incoming, reply: str, terms: Terms) -> Accepted:
        indexed = await index.indexed(self.database, incoming.text)
        return await self.database.write(accept_written, incoming, reply, indexed, self._erased_ids, terms)
