"""Matching of messages by their words and by their embeddings, on either engine.

Rules
  An embedding is deleted with its message (by the database), and with any change of its text (`store.search.index`).
  Messages are embedded in the order of their ids; the last ids are checked again, because transactions may commit in
  another order than they began.
"""

import heapq
import json
import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile
from operator import mul
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    ARRAY,
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    TextClause,
    bindparam,
    column,
    delete,
    exists,
    func,
    insert,
    literal,
    select,
    text,
)
from sqlalchemy import table as table_named

from agent.memory.audience import NOWHERE
from agent.records import Author, Meaning, Unembedded
from store.databases.database import BitString, SqlStore, StorableText, is_postgresql, reads, writes
from store.message_tables import embedding, message, participant, person
from store.rows import ids_in_parameter
from store.search.index import MESSAGES, Fts5Words, MessageWords
from store.search.text import OF_SHARED, PARAMETERS, SHARED, Range, SearchQuery, index_words, wanted_terms

# The newest matches of one keyword that are read. More common words say little; all matches of rarer words count.
MATCH_LIMIT: Final = 500
# A message with a keyword: its id, whether a person wrote it, its length. A plain tuple: a search has thousands.
Match: TypeAlias = tuple[int, bool, int]

_VISIBLE: Final = f"""
    message.audience IN :audiences AND (message.conversation != :exclude OR message.id < :visible)
    AND (message.drawn_from IN :drawn OR message.conversation = :exclude AND message.drawn_from != '{NOWHERE}')
    AND message.time >= :since AND message.time < :until
    AND (:any_author OR message.author = :author) AND (:anybody OR message.person IN :people)
"""
_ERASED: Final = """
    message.id IS NULL
    OR message.person = :person AND message.conversation = coalesce(:conversation, message.conversation)
"""
_OF_PERSON: Final = (bindparam("person", type_=StorableText), bindparam("conversation", type_=StorableText))

_SHIFT, _ID_BITS = Fts5Words.SHIFT, Fts5Words.ID_BITS
_ENTRIES: Final = table_named(MESSAGES, column("reader", Integer), column("message", Integer))


def _both(sql: str, *parameters: BindParameter[Any]) -> tuple[TextClause, TextClause]:
    """A statement for messages in the reader's own threads, and the same for messages shared with them."""
    shared = sql.replace(_VISIBLE, f"{_VISIBLE} AND {SHARED}")
    return text(sql).bindparams(*PARAMETERS, *parameters), text(shared).bindparams(*PARAMETERS, *OF_SHARED, *parameters)


class Fts5(Fts5Words):
    """On SQLite: one statement finds the entries of all keywords and checks which of them the search may see."""

    READER: Final[Sequence[ColumnElement[Any]]] = (literal(0),)
    """In place of the newest entry's id, which is not needed here: entries are found in order."""
    # One JSON array of matches for each keyword, in order: thousands of rows would cost more than the search.
    MATCHES: Final = _both(
        f"""
        SELECT
          (SELECT json_group_array(json_array(id, author = 'person', length)) FROM
            (SELECT message.id, message.author, message.length
             FROM message_index CROSS JOIN message ON message.id = message_index.rowid & {_ID_BITS}
             WHERE message_index MATCH word.value AND message_index.rowid BETWEEN :first AND :last AND {_VISIBLE}
             ORDER BY message_index.rowid DESC LIMIT :most)) AS found
        FROM json_each(:words) AS word
        ORDER BY word.key
        """  # noqa: S608 -- of constants, as those below
    )
    HOLDING: Final = text(
        f"""
        SELECT count(DISTINCT message_index.rowid)
        FROM json_each(:readers) AS reader
        CROSS JOIN json_each(:queries) AS wanted
        CROSS JOIN message_index ON message_index MATCH wanted.value
          AND message_index.rowid BETWEEN reader.value << {_SHIFT} AND reader.value << {_SHIFT} | {_ID_BITS}
        LEFT JOIN message ON message.id = message_index.rowid & {_ID_BITS}
        WHERE {_ERASED}
        """  # noqa: S608 -- of constants
    ).bindparams(*_OF_PERSON)

    def __init__(self) -> None:
        super().__init__(MESSAGES)

    def matches(self, connection: Connection, sought: SearchQuery, _among: Range) -> list[list[Match]]:
        words = json.dumps([self.query(words, " OR ") for words in sought.words])
        parameters = {**sought.bound, **self.entries_of(sought.number), "words": words, "most": MATCH_LIMIT}
        rows = connection.execute(self.MATCHES[sought.place is not None], parameters)
        return [json.loads(found) for (found,) in rows]

    def holding(
        self, connection: Connection, texts: list[list[str]], numbers: list[int], person: str, conversation: str | None
    ) -> int:
        queries, readers = json.dumps([self.query(words, " ") for words in texts]), json.dumps(numbers)
        parameters = {"queries": queries, "readers": readers, "person": person, "conversation": conversation}
        return connection.execute(self.HOLDING, parameters).scalar_one()


class Tsvector(MessageWords):
    """On PostgreSQL.

    GIN returns matches in no order: of a person with 100,000 messages it returns 80,000 with a common word, and each
    would be fetched to keep the newest 500. So each entry also holds the block of ids that its message is in
    ("42#00000001201"), and a common word is searched in the newest blocks only, as far back as needed: GIN skips
    entries of other blocks.
    """

    BLOCKS: Final = 8
    """A stretch is named by at most one block more: each name is compared with each message there."""
    STRETCH: Final = 2 * MATCH_LIMIT
    """Messages in the shortest stretch; each next one has twice as many."""
    SURELY: Final = MATCH_LIMIT + MATCH_LIMIT // 2
    """Matches to be expected in a longer stretch before it is read: a sample errs, and a stretch read in vain costs."""
    READER: Final[Sequence[ColumnElement[Any]]] = (
        select(func.coalesce(func.max(_ENTRIES.c.message), 0))
        .where(_ENTRIES.c.reader == select(person.c.number).where(person.c.id == bindparam("person")).scalar_subquery())
        .scalar_subquery(),
        func.set_config("plan_cache_mode", "force_generic_plan", literal(value=True)),
    )
    """The newest entry's id; and a setting that plans this search's statements once, whatever the values."""
    # The shortest stretch is a sample of how common a word is; longer stretches that would have too few matches are
    # skipped. Any stretch with enough visible matches holds the newest ones, as does the whole: which stretch answers
    # affects only the time. Words and stretch are two conditions, because GIN skips entries that lack one of them; with
    # both in one tsquery it checks each entry, which takes three times as long. The arrays between the steps and OFFSET
    # keep the planner to this order.
    MATCHES: Final = _both(
        f"""
        SELECT best.ids, best.by_person, best.lengths
        FROM unnest(:words) WITH ORDINALITY AS word (query, place)
        CROSS JOIN LATERAL
          (SELECT coalesce(array_agg(message), '{{}}') AS messages FROM message_index
           WHERE cardinality(:stretches) > 1
             AND words @@ word.query::tsquery AND words @@ (:stretches)[1]::tsquery) AS sample
        CROSS JOIN LATERAL
          (SELECT newest.*
           FROM unnest(:stretches, :sizes) AS stretch (part, size)
           CROSS JOIN LATERAL
             (SELECT CASE
                WHEN stretch.size = 1 THEN sample.messages
                WHEN stretch.part = '' THEN
                  (SELECT coalesce(array_agg(message), '{{}}') FROM message_index WHERE words @@ word.query::tsquery)
                ELSE
                  (SELECT coalesce(array_agg(message), '{{}}') FROM message_index
                   WHERE words @@ word.query::tsquery AND words @@ stretch.part::tsquery)
              END AS messages OFFSET 0) AS entries
           CROSS JOIN LATERAL
             (SELECT coalesce(array_agg(id), '{{}}') AS ids, array_agg(author = 'person') AS by_person,
                     array_agg(length) AS lengths
              FROM (SELECT id, author, length
                    FROM (SELECT * FROM message WHERE id = ANY (entries.messages) ORDER BY id DESC OFFSET 0) AS message
                    WHERE {_VISIBLE} ORDER BY id DESC LIMIT :most) AS found) AS newest
           WHERE (stretch.part = '' OR stretch.size = 1 OR cardinality(sample.messages) * stretch.size > {SURELY})
             AND (stretch.part = '' OR cardinality(entries.messages) >= :most)
             AND (stretch.part = '' OR cardinality(newest.ids) >= :most)
           LIMIT 1) AS best
        ORDER BY word.place
        """,  # noqa: S608 -- of constants
        *(bindparam(name, type_=ARRAY(Text)) for name in ("words", "stretches")),
        *(bindparam("sizes", type_=ARRAY(Integer)), bindparam("most", type_=Integer)),
    )
    HOLDING: Final = text(
        f"""
        SELECT count(DISTINCT (entry.reader, entry.message))
        FROM unnest(:queries) AS wanted (query)
        JOIN message_index AS entry ON entry.words @@ wanted.query::tsquery
        LEFT JOIN message ON message.id = entry.message
        WHERE {_ERASED}
        """  # noqa: S608 -- of constants
    ).bindparams(bindparam("queries", type_=ARRAY(Text)), *_OF_PERSON)

    def stretches(self, number: int, among: Range) -> dict[str, int]:
        """Stretches of the person's newest messages of growing length, as tsqueries, with their lengths, the shortest
        being 1; the last is "" for all messages.
        """
        step = max(among.last - among.first, 1) / max(among.total, 1)
        sizes = takewhile(lambda size: 2 * size * self.STRETCH <= among.total, (2**n for n in count()))
        spans = {size: int(size * self.STRETCH * step) for size in sizes}
        within = {self._within(number, max(among.newest - span, 0), among.newest): n for n, span in spans.items()}
        return within | {"": 0}

    def _within(self, number: int, first: int, last: int) -> str:
        """A tsquery for messages with ids from `first` to `last`, and some before them."""
        digits, bits = self.BLOCK_DIGITS, self.BLOCK_BITS
        while (last >> bits) - (first >> bits) >= self.BLOCKS:
            digits, bits = digits - 1, bits + 2
        blocks = range((first >> bits) << bits, last + 1, 1 << bits)
        return " | ".join(f"'{self.block(number, block, digits)}':*" for block in blocks)

    def matches(self, connection: Connection, sought: SearchQuery, among: Range) -> list[list[Match]]:
        queries = [self.query(words, sought.number, " | ") for words in sought.words]
        stretches = self.stretches(sought.number, among)
        stretch_arrays = {"stretches": list(stretches), "sizes": list(stretches.values())}
        matches = self.MATCHES[sought.place is not None]
        found = connection.execute(matches, {**sought.bound, **stretch_arrays, "words": queries, "most": MATCH_LIMIT})
        return [list(zip(ids, *more, strict=True)) if ids else [] for ids, *more in found]

    def holding(
        self, connection: Connection, texts: list[list[str]], numbers: list[int], person: str, conversation: str | None
    ) -> int:
        queries = [self.query(words, number, " & ") for words in texts for number in numbers]
        parameters = {"queries": queries, "person": person, "conversation": conversation}
        return connection.execute(self.HOLDING, parameters).scalar_one()


ENGINES: Final[Mapping[bool, Fts5 | Tsvector]] = {False: Fts5(), True: Tsvector()}  # By whether it is PostgreSQL


def matches(connection: Connection, sought: SearchQuery, among: Range) -> list[list[Match]]:
    """For each keyword the reader's messages with it that the query may see; for a common one the newest."""
    expanded = replace(sought, words=tuple(map(wanted_terms, sought.words)))
    return ENGINES[is_postgresql(connection)].matches(connection, expanded, among)


def holding(
    connection: Connection, texts: list[list[str]], numbers: list[int], *, person: str, conversation: str | None
) -> int:
    """How many entries of these readers hold all the words of one of `texts`, though their message is deleted or
    belongs to the person, as its writer or asker, in the conversation (None: in all).
    """
    engine = ENGINES[is_postgresql(connection)]
    readers = [number for number in numbers if engine.has_entries(connection, number)]
    word_lists = [words for words in texts if words]
    return engine.holding(connection, word_lists, readers, person, conversation) if readers and word_lists else 0


# Vectors: how they are stored and compared. Pure.
#
# Theory of operation. The direction of a vector is its meaning. Its signs alone, one bit for each number, separate
# directions well enough to find the few hundred nearest among all (the fewer bits differ, the nearer); those are then
# compared exactly. So a search reads one thirty-second of the bytes, and compares two vectors in one operation. Of the
# ten nearest, 97 % and more are among the best by signs, with ten thousand messages as with a million, because the
# number compared exactly grows with the total (`benchmarks.search_scale` measures it).
# PostgreSQL counts the bits itself. SQLite cannot: it returns the signs of a thread as one text, because each row costs
# as much as its comparison, and the GIL is released at each row.


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
    connection: Connection, meaning: Meaning, person: str, sought: SearchQuery, found: Iterable[int], total: int
) -> dict[int, float]:
    """The score of messages by meaning, from nearly 0 for the farthest to `meaning.weight` for the nearest: of the
    nearest ones, and of those `found` by words. `total`: about how many messages there are.

    All messages that the search may see are compared: two microseconds each, with the memory of one thread at a time.
    """
    signs, packed = sign_bits(meaning.vector), pack_vector(meaning.vector)
    rescored = max(RESCORED, total // RESCORED_SHARE)
    if is_postgresql(connection):
        near = _by_index(connection, meaning, person, sought, total)
        if near is None:
            nearest_by_signs = _nearest_on_server(person, meaning.model, signs, sought, rescored)
            near = list(connection.execute(nearest_by_signs).scalars())
    else:
        signs_by_thread = connection.execute(_signs_by_thread(person, meaning.model, signs, sought)).scalars()
        near = closest(differences(signs, (digits for digits in signs_by_thread if digits)), rescored)
    by_words = set(found)
    vectors = connection.execute(_VECTORS, {"wanted": [*by_words.union(near)], "model": meaning.model}).all()
    exact = {id_: cosine(packed, vector) for id_, vector in vectors if len(vector) == len(packed)}
    nearest = heapq.nlargest(NEAREST, near, key=lambda id_: (exact.get(id_, -1.0), id_))
    compared = {id_: exact[id_] for id_ in by_words.union(nearest) if id_ in exact}
    lowest, highest = min(compared.values(), default=0.0), max(compared.values(), default=0.0)
    scale = meaning.weight / max(highest - lowest, TINY)
    return {id_: scale * max(cosine - lowest, TINY) for id_, cosine in compared.items()}


def _by_index(
    connection: Connection, meaning: Meaning, person: str, sought: SearchQuery, total: int
) -> list[int] | None:
    if total < INDEX_FROM:
        return None
    from store.search import hnsw  # noqa: PLC0415 -- only a server with many messages needs it

    owner = person if sought.place is None else None
    return hnsw.nearest(connection, owner, meaning, visible_to(sought), total, NEAREST)


def _nearest_on_server(person: str, model: str, signs: bytes, sought: SearchQuery, limit: int) -> Select[int]:
    differing = func.bit_count(embedding.c.signs.op("#")(bindparam("signs", signs, type_=BitString())))
    messages = select(embedding.c.message).join_from(message, embedding, embedding.c.message == message.c.id)
    if sought.place is None:
        own_thread = participant.c.conversation == message.c.conversation
        messages = messages.join(participant, own_thread).where(participant.c.person == person)
    return (
        messages.where(embedding.c.model == model, *visible_to(sought))
        .where(func.length(embedding.c.signs) == 8 * len(signs))
        .order_by(differing, embedding.c.message.desc())
        .limit(limit)
    )


def _signs_by_thread(person: str, model: str, signs: bytes, sought: SearchQuery) -> Select[str | None]:
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
    return select(signs_.scalar_subquery()).where(participant.c.person == person)


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
