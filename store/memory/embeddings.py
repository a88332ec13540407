"""Vectors of messages: which are missing, and how they are kept.

Above: `store.engine` bundles it. Below: `store.databases.database`, search (meaning, text), tables.

Rules
  A vector falls with its message (the database sees to it), and with any change of its words (`store.search.index`).
  Messages get theirs in the order of their ids; the last ones are looked at again, because transactions may end in
  another order than they began.
"""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, delete, exists, func, insert, select

from agent.records import Unembedded
from store.databases.database import Database
from store.search import meaning
from store.search.text import index_words
from store.tables import embedding, message, participant, person

LOOK_BACK: Final = 1_000
"""Ids before the last vector: more than are given away while the slowest transaction runs."""


class SqlEmbeddings:
    """The port Embeddings on a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def missing(self, model: str, limit: int) -> list[Unembedded]:
        return await self._database.read(missing, model, limit)

    async def keep(self, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]) -> None:
        await self._database.write(keep, model, messages, vectors)

    async def nameless(self, person: str, text: str) -> str:
        return await self._database.read(nameless, person, text)


def missing(connection: Connection, model: str, limit: int) -> list[Unembedded]:
    last = select(func.max(embedding.c.message)).where(embedding.c.model == model)
    since = (connection.execute(last).scalar_one() or 0) - LOOK_BACK
    has_one = exists().where(embedding.c.message == message.c.id, embedding.c.model == model)
    said = select(message.c.id, message.c.person, message.c.text)
    oldest = said.where(message.c.id > since, message.c.length > 0, ~has_one).order_by(message.c.id).limit(limit)
    return [Unembedded(*row) for row in connection.execute(oldest).all()]


def keep(
    connection: Connection, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]
) -> None:
    asked = select(message.c.id, message.c.text).where(message.c.id.in_([one.id for one in messages]))
    stands = {(id_, text) for id_, text in connection.execute(asked.with_for_update())}
    rows = [
        {"message": one.id, "model": model, "signs": meaning.signs(vector), "vector": meaning.packed(vector)}
        for one, vector in zip(messages, vectors, strict=True)
        if (one.id, one.text) in stands
    ]
    if rows:
        connection.execute(delete(embedding).where(embedding.c.message.in_([row["message"] for row in rows])))
        connection.execute(insert(embedding), rows)


def nameless(connection: Connection, person_id: str, text: str) -> str:
    mine, theirs = participant.alias(), participant.alias()
    wrote = mine.join(theirs, theirs.c.conversation == mine.c.conversation).join(person, person.c.id == theirs.c.person)
    met = select(person.c.name).distinct().select_from(wrote).where(mine.c.person == person_id)
    names = {word for name in connection.execute(met).scalars() for word in index_words(name)}
    kept = [word for word in text.split() if not names.intersection(index_words(word))]
    return " ".join(kept) or text
