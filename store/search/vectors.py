"""Vectors of messages: which are missing, and how they are kept.

Rules
  A vector falls with its message (the database sees to it), and with any change of its words (`store.search.index`).
  Messages get theirs in the order of their ids; the last ones are looked at again, because transactions may end in
  another order than they began.
"""

import heapq
import math
from array import array
from collections.abc import Iterable, Sequence
from operator import mul
from typing import Final

from sqlalchemy import Connection, Select, delete, exists, func, insert, select

from agent.records import Author, Meaning, Unembedded
from store.databases.database import SqlStore, reads, writes
from store.rows import ids_in_parameter
from store.search.text import SearchQuery, index_words
from store.tables import embedding, message, participant, person

# Vectors: how they are kept, and which are near one another. Pure.
#
# Theory of operation. The direction of a vector is its meaning. Its signs alone, one bit for each number, tell
# directions apart well enough to find the few dozen nearest among thousands (the fewer bits differ, the nearer); what
# is found so is then compared exactly. So a search reads one thirty-second of the bytes, and compares two vectors in
# one operation.


def pack_vector(vector: Sequence[float]) -> bytes:
    """The numbers, four bytes each, at length 1."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [number / length for number in vector]).tobytes()


def sign_bits(vector: Sequence[float]) -> bytes:
    """One bit for each number: is it positive?"""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return int(bits or "0", 2).to_bytes((len(vector) + 7) // 8, "big")


def closest_by_signs(wanted: bytes, kept: Iterable[tuple[int, bytes]], count: int) -> list[int]:
    """The ids of the `count` whose signs differ least from `wanted`; those of another length are another model's."""
    bits = int.from_bytes(wanted, "big")
    same = ((id_, held) for id_, held in kept if len(held) == len(wanted))
    distances = (((bits ^ int.from_bytes(held, "big")).bit_count(), -id_) for id_, held in same)
    return [-minus for _, minus in heapq.nsmallest(count, distances)]


def cosine(wanted: bytes, held: bytes) -> float:
    """The cosine of two packed vectors of one length: 1 for the same direction, -1 for the opposite."""
    one, other = array("f", wanted), array("f", held)
    return sum(map(mul, one, other))


LOOK_BACK: Final = 1_000
"""Ids before the last vector: more than are given away while the slowest transaction runs."""


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
        {"message": one.id, "model": model, "signs": sign_bits(vector), "vector": pack_vector(vector)}
        for one, vector in zip(messages, vectors, strict=True)
        if (one.id, one.text) in stands
    ]
    if rows:
        connection.execute(delete(embedding).where(embedding.c.message.in_([row["message"] for row in rows])))
        connection.execute(insert(embedding), rows)


class SqlEmbeddings(SqlStore):
    missing = reads(missing)
    keep = writes(keep)

    async def without_names(self, person: str, text: str) -> str:
        return await self.database.read(without_names, person, text)


def without_names(connection: Connection, person_id: str, text: str) -> str:
    mine, theirs = participant.alias(), participant.alias()
    wrote = mine.join(theirs, theirs.c.conversation == mine.c.conversation).join(person, person.c.id == theirs.c.person)
    met = select(person.c.name).distinct().select_from(wrote).where(mine.c.person == person_id)
    names = {word for name in connection.execute(met).scalars() for word in index_words(name)}
    kept = [word for word in text.split() if not names.intersection(index_words(word))]
    return " ".join(kept) or text


# The messages whose meaning is nearest to a question's, among those that the search may see.

COMPARED: Final = 20_000
"""The newest messages whose signs are compared: ten years of one person, in some hundredths of a second."""
NEAREST: Final = 32
"""Of them are compared exactly, besides what the keywords found."""

_VECTORS: Final = select(embedding.c.message, embedding.c.vector).where(
    embedding.c.message.in_(ids_in_parameter("wanted"))
)


def nearness_of(
    connection: Connection, wanted: Meaning, person: str, sought: SearchQuery, found: Iterable[int]
) -> dict[int, float]:
    """How near the meaning of messages is to `wanted`: of the nearest ones, and of those `found` otherwise."""
    signs = connection.execute(_visible(person, wanted.model, sought)).all()
    nearest = closest_by_signs(sign_bits(wanted.vector), ((id_, held) for id_, held in signs), NEAREST)
    known = {id_ for id_, _ in signs}
    asked = [*{*nearest, *(id_ for id_ in found if id_ in known)}]
    packed = pack_vector(wanted.vector)
    vectors = connection.execute(_VECTORS, {"wanted": asked}).all()
    return {id_: cosine(packed, held) for id_, held in vectors if len(held) == len(packed)}


def _visible(person: str, model: str, sought: SearchQuery) -> Select[int, bytes]:
    visible = (
        select(embedding.c.message, embedding.c.signs)
        .join_from(participant, message, message.c.conversation == participant.c.conversation)
        .join(embedding, embedding.c.message == message.c.id)
        .where(participant.c.person == person, sought.is_elsewhere)
        .where(message.c.audience.in_(sought.audiences), embedding.c.model == model)
        .where(message.c.time >= sought.since, message.c.time < sought.until)
    )
    if sought.author:
        visible = visible.where(message.c.author == Author(sought.author))
    if sought.people is not None:
        visible = visible.where(message.c.person.in_(sought.people))
    return visible.order_by(embedding.c.message.desc()).limit(COMPARED)
