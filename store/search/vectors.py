"""Matching of messages by their embeddings, on either engine.

Rules
  An embedding is deleted with its message (by the database), and with any change of its text (`store.search.index`).
  Messages are embedded in the order of their ids; the last ids are checked again, because transactions may commit in
  another order than they began.

Theory of operation. The direction of a vector is its meaning. Its signs alone, one bit for each number, separate
directions well enough to find the few hundred nearest among all (the fewer bits differ, the nearer); those are then
compared exactly. So a search reads one thirty-second of the bytes, and compares two vectors in one operation. Of the
ten nearest, 97 % and more are among the best by signs, with ten thousand messages as with a million, because the
number compared exactly grows with the total (`benchmarks.search_scale` measures it).
PostgreSQL counts the bits itself. SQLite cannot: it returns the signs of a thread as one text, because each row costs
as much as its comparison, and the GIL is released at each row.
"""

import heapq
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import Final

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    TextClause,
    bindparam,
    delete,
    exists,
    func,
    insert,
    select,
)

from agent.embeddings import Meaning, Unembedded
from agent.stored_messages import Author
from store.databases.database import BitString, SqlStore, is_postgresql, reads, writes
from store.json_lists import ids_in_parameter
from store.message_tables import embedding, message, participant, person
from store.search.query import SearchQuery
from store.search.text import index_words


def pack_vector(vector: Sequence[float]) -> bytes:
    """The vector scaled to length 1, as four-byte floats."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [number / length for number in vector]).tobytes()


def sign_bits(vector: Sequence[float]) -> bytes:
    """One bit for each number, 1 if it is positive, padded to whole bytes."""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return int(bits or "0", 2).to_bytes((len(vector) + 7) // 8, "big")


ID_BYTES: Final = 8  # Of a message's id before its signs, in the text that SQLite returns


def differences(signs: bytes, texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the number of signs that differ from `signs`, and the id. `texts`: ids and signs alternating, in hex."""
    bits, size = 8 * len(signs), ID_BYTES + len(signs)
    sought, mask = int.from_bytes(signs, "big"), (1 << bits) - 1
    for digits in texts:
        packed = bytes.fromhex(digits)
        for at in range(0, len(packed), size):
            number = int.from_bytes(packed[at : at + size], "big")
            yield ((number ^ sought) & mask).bit_count(), number >> bits


def closest(found: Iterable[tuple[int, int]], count: int) -> list[int]:
    """The ids of the `count` with the fewest differences; among equals the newest."""
    return [-minus for _, minus in heapq.nsmallest(count, ((bits, -id_) for bits, id_ in found))]


def cosine(packed: bytes, other_packed: bytes) -> float:
    """The cosine of two packed vectors of one length: 1 for the same direction, -1 for the opposite."""
    one, other = array("f", packed), array("f", other_packed)
    return sum(map(mul, one, other))


LOOK_BACK: Final = 1_000  # Ids before the last vector: more than are assigned while the slowest transaction runs


def missing(connection: Connection, model: str, limit: int) -> list[Unembedded]:
    last = select(func.max(embedding.c.message)).where(embedding.c.model == model)
    since = (connection.execute(last).scalar_one() or 0) - LOOK_BACK
    has_one = exists().where(embedding.c.message == message.c.id, embedding.c.model == model)
    messages = select(message.c.id, message.c.person, message.c.text)
    oldest = messages.where(message.c.id > since, message.c.length > 0, ~has_one).order_by(message.c.id).limit(limit)
    return [Unembedded(*row) for row in connection.execute(oldest).all()]


def keep(
    connection: Connection, model: str, messages: Sequence[Unembedded], vectors: Sequence[Sequence[float]]
) -> None:
    query = select(message.c.id, message.c.text).where(message.c.id.in_([item.id for item in messages]))
    current = {(id_, text) for id_, text in connection.execute(query.with_for_update())}
    rows = [
        {"message": item.id, "model": model, "signs": sign_bits(vector), "vector": pack_vector(vector)}
        for item, vector in zip(messages, vectors, strict=True)
        if (item.id, item.text) in current
    ]
    if rows:
        connection.execute(delete(embedding).where(embedding.c.message.in_([row["message"] for row in rows])))
        connection.execute(insert(embedding), rows)


class SqlEmbeddings(SqlStore):
    missing = reads(missing)
    keep = writes(keep)

    async def make_index(self, model: str) -> bool:
        if not self.database.is_shared:
            return False
        from store.search import hnsw  # noqa: PLC0415 -- as in `_by_index`

        return await hnsw.make_index(self.database, model)

    async def without_names(self, person: str, text: str) -> str:
        return await self.database.read(without_names, person, text)


def without_names(connection: Connection, person_id: str, text: str) -> str:
    own, others = participant.alias(), participant.alias()
    wrote = own.join(others, others.c.conversation == own.c.conversation).join(person, person.c.id == others.c.person)
    met = select(person.c.name).distinct().select_from(wrote).where(own.c.person == person_id)
    names = {word for name in connection.execute(met).scalars() for word in index_words(name)}
    words = [word for word in text.split() if not names.intersection(index_words(word))]
    return " ".join(words) or text


# The messages nearest in meaning to a question, among those that the search may see.

# The nearest by their signs, which are compared exactly: a hundredth of a second. With a million messages this number
# alone would miss one of the nearest ten.
RESCORED: Final = 512
# One in this many messages is compared exactly, if that is more: a small part of the time for comparing all signs.
RESCORED_SHARE: Final = 256
NEAREST: Final = 64  # The number of them that are ranked, besides the messages found by keywords
INDEX_FROM: Final = 5_000  # Up to this many messages, comparing all is as fast as an index
TINY: Final = 1e-9  # So that a single message, or the farthest, is found as well
_VECTORS: Final = select(embedding.c.message, embedding.c.vector).where(
    embedding.c.message.in_(ids_in_parameter("wanted")), embedding.c.model == bindparam("model")
)


def nearness_of(
    connection: Connection, meaning: Meaning, sought: SearchQuery, found: Iterable[int], total: int
) -> dict[int, float]:
    """The score of messages by meaning, from nearly 0 for the farthest to `meaning.weight` for the nearest: of the
    nearest ones, and of those `found` by words. `total`: about how many messages there are.

    All messages that the search may see are compared: two microseconds each, with the memory of one thread at a time.
    """
    signs, packed = sign_bits(meaning.vector), pack_vector(meaning.vector)
    rescored = max(RESCORED, total // RESCORED_SHARE)
    if is_postgresql(connection):
        near = _by_index(connection, meaning, sought, total)
        if near is None:
            nearest_by_signs = _nearest_on_server(meaning.model, signs, sought, rescored)
            near = list(connection.execute(nearest_by_signs).scalars())
    else:
        signs_by_thread = connection.execute(_signs_by_thread(meaning.model, signs, sought)).scalars()
        near = closest(differences(signs, (digits for digits in signs_by_thread if digits)), rescored)
    by_words = set(found)
    vectors = connection.execute(_VECTORS, {"wanted": [*by_words.union(near)], "model": meaning.model}).all()
    exact = {id_: cosine(packed, vector) for id_, vector in vectors if len(vector) == len(packed)}
    nearest = heapq.nlargest(NEAREST, near, key=lambda id_: (exact.get(id_, -1.0), id_))
    compared = {id_: exact[id_] for id_ in by_words.union(nearest) if id_ in exact}
    lowest, highest = min(compared.values(), default=0.0), max(compared.values(), default=0.0)
    scale = meaning.weight / max(highest - lowest, TINY)
    return {id_: scale * max(cosine - lowest, TINY) for id_, cosine in compared.items()}


def _by_index(connection: Connection, meaning: Meaning, sought: SearchQuery, total: int) -> list[int] | None:
    if total < INDEX_FROM:
        return None
    from store.search import hnsw  # noqa: PLC0415 -- only a server with many messages needs it

    owner = sought.person if sought.place is None else None
    return hnsw.nearest(connection, owner, meaning, visible_to(sought), total, NEAREST)


def _nearest_on_server(model: str, signs: bytes, sought: SearchQuery, limit: int) -> Select[int]:
    differing = func.bit_count(embedding.c.signs.op("#")(bindparam("signs", signs, type_=BitString())))
    messages = select(embedding.c.message).join_from(message, embedding, embedding.c.message == message.c.id)
    if sought.place is None:
        own_thread = participant.c.conversation == message.c.conversation
        messages = messages.join(participant, own_thread).where(participant.c.person == sought.person)
    return (
        messages.where(embedding.c.model == model, *visible_to(sought))
        .where(func.length(embedding.c.signs) == 8 * len(signs))
        .order_by(differing, embedding.c.message.desc())
        .limit(limit)
    )


def _signs_by_thread(model: str, signs: bytes, sought: SearchQuery) -> Select[str | None]:
    """Nested subqueries: so SQLite goes from a thread to its messages to their vectors, and never scans all vectors."""
    # Written as a range, so that SQLite reads the signs from the index, and not from the table with the long vectors.
    of_message = embedding.c.message.between(message.c.id, message.c.id)
    comparable = (of_message, embedding.c.model == model, func.length(embedding.c.signs) == len(signs))
    digits = select(func.hex(embedding.c.signs)).where(*comparable).correlate(message).scalar_subquery()
    numbered = func.printf(f"%0{2 * ID_BYTES}x", message.c.id).concat(digits)
    if sought.place is not None:
        return select(func.group_concat(numbered, "")).where(*visible_to(sought)).group_by(message.c.conversation)
    in_thread = message.c.conversation == participant.c.conversation
    signs_ = select(func.group_concat(numbered, "")).where(in_thread, *visible_to(sought)).correlate(participant)
    return select(signs_.scalar_subquery()).where(participant.c.person == sought.person)


def visible_to(sought: SearchQuery) -> list[ColumnElement[bool] | TextClause]:
    """Conditions on a message: the search may see it."""
    conditions: list[ColumnElement[bool] | TextClause] = [
        sought.is_elsewhere,
        sought.is_usable,
        message.c.time >= sought.since,
        message.c.time < sought.until,
    ]
    if sought.author:
        conditions.append(message.c.author == Author(sought.author))
    if sought.people is not None:
        conditions.append(message.c.person.in_(sought.people))
    if sought.place is not None:
        conditions.append(sought.is_shared)
    return conditions
