"""Vectors of messages: which are missing, and how they are kept.

Rules
  A vector falls with its message (the database sees to it), and with any change of its words (`store.search.index`).
  Messages get theirs in the order of their ids; the last ones are looked at again, because transactions may end in
  another order than they began.
"""

import heapq
import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from operator import mul
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, TextClause, bindparam, delete, exists, func, insert, select

from agent.records import Author, Meaning, Unembedded
from store.databases.database import BitString, SqlStore, is_postgresql, reads, writes
from store.rows import ids_in_parameter
from store.search.text import SearchQuery, index_words
from store.tables import embedding, message, participant, person

# Vectors: how they are kept, and which are near one another. Pure.
#
# Theory of operation. The direction of a vector is its meaning. Its signs alone, one bit for each number, tell
# directions apart well enough to find the few hundred nearest among all (the fewer bits differ, the nearer); those are
# then compared exactly. So a search reads one thirty-second of the bytes, and compares two vectors in one operation.
# Of the ten nearest 97 % and more are among the best by signs, of ten thousand messages as of a million, because more
# are then compared of more (`benchmarks.search_scale` measures it).
# PostgreSQL counts the bits by itself. SQLite cannot: it hands over the signs of a thread as one text, since each row
# costs as much as its comparison, and a thread that takes rows stops for others at each of them.


def pack_vector(vector: Sequence[float]) -> bytes:
    """The numbers, four bytes each, at length 1."""
    length = math.sqrt(sum(map(mul, vector, vector))) or 1.0
    return array("f", [number / length for number in vector]).tobytes()


def sign_bits(vector: Sequence[float]) -> bytes:
    """One bit for each number, to whole bytes: is it positive?"""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return int(bits or "0", 2).to_bytes((len(vector) + 7) // 8, "big")


ID_BYTES: Final = 8
"""Of a message's id before its signs, where SQLite hands them over."""


def differences(wanted: bytes, held: Iterable[str]) -> Iterator[tuple[int, int]]:
    """How many signs differ from `wanted`, and the id. `held`: ids and signs by turns, in hexadecimal digits."""
    bits, size = 8 * len(wanted), ID_BYTES + len(wanted)
    sought, mask = int.from_bytes(wanted, "big"), (1 << bits) - 1
    for digits in held:
        packed = bytes.fromhex(digits)
        for at in range(0, len(packed), size):
            number = int.from_bytes(packed[at : at + size], "big")
            yield ((number ^ sought) & mask).bit_count(), number >> bits


def closest(found: Iterable[tuple[int, int]], count: int) -> list[int]:
    """The ids of the `count` with the fewest differences; the newest of equals."""
    return [-minus for _, minus in heapq.nsmallest(count, ((bits, -id_) for bits, id_ in found))]


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

RESCORED: Final = 512
"""The nearest by their signs, which are compared exactly: a hundredth of a second. Of a million messages so many would
leave out a tenth of the nearest ten."""
RESCORED_SHARE: Final = 256
"""One in so many messages, where that is more: a small part of what it takes to compare the signs of all."""
NEAREST: Final = 64
"""Of them are ranked, besides what the keywords found."""
TINY: Final = 1e-9
"""So that what is alone, or the farthest, is found all the same."""

_VECTORS: Final = select(embedding.c.message, embedding.c.vector).where(
    embedding.c.message.in_(ids_in_parameter("wanted")), embedding.c.model == bindparam("model")
)


def nearness_of(
    connection: Connection, wanted: Meaning, person: str, sought: SearchQuery, found: Iterable[int], total: int
) -> dict[int, float]:
    """What the meaning of messages is worth, from nothing for the farthest to `wanted.weight` for the nearest: of the
    nearest ones, and of those `found` otherwise. `total`: about how many messages there are.

    All that the search may see is compared: two microseconds for each of their messages, and no memory but a thread's.
    """
    signs, packed = sign_bits(wanted.vector), pack_vector(wanted.vector)
    rescored = max(RESCORED, total // RESCORED_SHARE)
    if is_postgresql(connection):
        nearest_by_signs = _nearest_on_server(person, wanted.model, signs, sought, rescored)
        near = list(connection.execute(nearest_by_signs).scalars())
    else:
        held = connection.execute(_signs_by_thread(person, wanted.model, signs, sought)).scalars()
        near = closest(differences(signs, (digits for digits in held if digits)), rescored)
    kept = set(found)
    vectors = connection.execute(_VECTORS, {"wanted": [*kept.union(near)], "model": wanted.model}).all()
    exact = {id_: cosine(packed, held) for id_, held in vectors if len(held) == len(packed)}
    nearest = heapq.nlargest(NEAREST, near, key=lambda id_: (exact.get(id_, -1.0), id_))
    compared = {id_: exact[id_] for id_ in kept.union(nearest) if id_ in exact}
    least, most = min(compared.values(), default=0.0), max(compared.values(), default=0.0)
    worth = wanted.weight / max(most - least, TINY)
    return {id_: worth * max(cosine - least, TINY) for id_, cosine in compared.items()}


def _nearest_on_server(person: str, model: str, signs: bytes, sought: SearchQuery, limit: int) -> Select[int]:
    differing = func.bit_count(embedding.c.signs.op("#")(bindparam("signs", signs, type_=BitString())))
    said = select(embedding.c.message).join_from(message, embedding, embedding.c.message == message.c.id)
    if sought.place is None:
        theirs = participant.c.conversation == message.c.conversation
        said = said.join(participant, theirs).where(participant.c.person == person)
    return (
        said.where(embedding.c.model == model, *_visible(sought))
        .where(func.length(embedding.c.signs) == 8 * len(signs))
        .order_by(differing, embedding.c.message.desc())
        .limit(limit)
    )


def _signs_by_thread(person: str, model: str, signs: bytes, sought: SearchQuery) -> Select[str | None]:
    """A subquery within another one: so SQLite goes from a thread to its messages to their vectors, and never through
    the vectors of everybody.
    """
    # As a range SQLite looks it up in the index, where the signs stand, and not in the table beside the long vectors.
    its = embedding.c.message.between(message.c.id, message.c.id)
    same = (its, embedding.c.model == model, func.length(embedding.c.signs) == len(signs))
    digits = select(func.hex(embedding.c.signs)).where(*same).correlate(message).scalar_subquery()
    numbered = func.printf(f"%0{2 * ID_BYTES}x", message.c.id).concat(digits)
    if sought.place is not None:
        return select(func.group_concat(numbered, "")).where(*_visible(sought)).group_by(message.c.conversation)
    here = message.c.conversation == participant.c.conversation
    held = select(func.group_concat(numbered, "")).where(here, *_visible(sought)).correlate(participant)
    return select(held.scalar_subquery()).where(participant.c.person == person)


def _visible(sought: SearchQuery) -> list[ColumnElement[bool] | TextClause]:
    """Of a message: the search may see it."""
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
