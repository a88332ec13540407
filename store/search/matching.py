"""Which messages match: by the words that they hold, and by their vectors, which say what they mean; on either engine.

Rules
  A vector falls with its message (the database sees to it), and with any change of its words (`store.search.index`).
  Messages get theirs in the order of their ids; the last ones are looked at again, because transactions may end in
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
from store.rows import ids_in_parameter
from store.search.index import MESSAGES, Fts5Words, MessageWords
from store.search.text import OF_SHARED, PARAMETERS, SHARED, Range, SearchQuery, index_words, wanted_terms
from store.tables import embedding, message, participant, person

# Matches of one keyword that are looked at, the newest. A word that common says little; all the rarer words count.
MOST: Final = 500
# A message that holds a keyword: its id, whether a person wrote it, its length. There are thousands in a search.
Match: TypeAlias = tuple[int, bool, int]

_VISIBLE: Final = f"""
    message.audience IN :audiences AND (message.conversation != :exclude OR message.id < :visible)
    AND (message.drawn_from IN :drawn OR message.conversation = :exclude AND message.drawn_from != '{NOWHERE}')
    AND message.time >= :since AND message.time < :until
    AND (:any_author OR message.author = :author) AND (:anybody OR message.person IN :people)
"""
_FALLEN: Final = """
    message.id IS NULL
    OR message.person = :person AND message.conversation = coalesce(:conversation, message.conversation)
"""
_OF_PERSON: Final = (bindparam("person", type_=StorableText), bindparam("conversation", type_=StorableText))

_SHIFT, _ID_BITS = Fts5Words.SHIFT, Fts5Words.ID_BITS
_ENTRIES: Final = table_named(MESSAGES, column("reader", Integer), column("message", Integer))


def _both(sql: str, *parameters: BindParameter[Any]) -> tuple[TextClause, TextClause]:
    """A statement for what stands in the reader's own threads, and the same for what is shared with them."""
    shared = sql.replace(_VISIBLE, f"{_VISIBLE} AND {SHARED}")
    return text(sql).bindparams(*PARAMETERS, *parameters), text(shared).bindparams(*PARAMETERS, *OF_SHARED, *parameters)


class Fts5(Fts5Words):
    """On SQLite. What a message's entry is found by, and for whom, is asked in one statement."""

    READER: Final[Sequence[ColumnElement[Any]]] = (literal(0),)
    """What a search asks first besides: the newest entry, which nothing needs, as they are found in their order."""
    # One JSON array of matches for each keyword, in their order: thousands of rows would cost more than the search.
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
        WHERE {_FALLEN}
        """  # noqa: S608 -- of constants
    ).bindparams(*_OF_PERSON)

    def __init__(self) -> None:
        super().__init__(MESSAGES)

    def matches(self, connection: Connection, sought: SearchQuery, _among: Range) -> list[list[Match]]:
        words = json.dumps([self.query(words, " OR ") for words in sought.words])
        bound = {**sought.bound, **self.entries_of(sought.number), "words": words, "most": MOST}
        return [json.loads(some) for (some,) in connection.execute(self.MATCHES[sought.place is not None], bound)]

    def holding(
        self, connection: Connection, texts: list[list[str]], numbers: list[int], person: str, conversation: str | None
    ) -> int:
        queries, readers_ = json.dumps([self.query(words, " ") for words in texts]), json.dumps(numbers)
        bound = {"queries": queries, "readers": readers_, "person": person, "conversation": conversation}
        return connection.execute(self.HOLDING, bound).scalar_one()


class Tsvector(MessageWords):
    """On PostgreSQL.

    GIN finds in no order: of somebody who wrote 100,000 messages it gives 80,000 with a common word, and each would be
    fetched to keep the newest 500. So each entry also holds the block of ids that its message is in ("42#00000001201"),
    and a common word is looked for in the newest blocks alone, as far back as it takes: GIN skips what is in none.
    """

    BLOCKS: Final = 8
    """At most one more name a stretch: each is compared with each message there."""
    STRETCH: Final = 2 * MOST
    """Messages in the shortest stretch; each next one has twice as many."""
    SURELY: Final = MOST + MOST // 2
    """So many have to be expected in a longer one: a sample errs, and what is read there in vain is read once more."""
    READER: Final[Sequence[ColumnElement[Any]]] = (
        select(func.coalesce(func.max(_ENTRIES.c.message), 0))
        .where(_ENTRIES.c.reader == select(person.c.number).where(person.c.id == bindparam("person")).scalar_subquery())
        .scalar_subquery(),
        func.set_config("plan_cache_mode", "force_generic_plan", literal(value=True)),
    )
    """The newest entry; and that this search's statements are planned once, whatever the values: it takes as long."""
    # How common a word is, the shortest stretch tells; longer ones with too few by that are passed over. Any stretch
    # with enough that may be seen has the newest, and so has all of it: which one answers is only a matter of time.
    # Words and stretch are two conditions: GIN passes over what one of them lacks. Of one query with both it weighs
    # each entry, which takes three times as long. Arrays between the steps and OFFSET keep the planner to them.
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
        WHERE {_FALLEN}
        """  # noqa: S608 -- of constants
    ).bindparams(bindparam("queries", type_=ARRAY(Text)), *_OF_PERSON)

    def stretches(self, number: int, among: Range) -> dict[str, int]:
        """Ever longer stretches of the person's newest messages, as tsqueries, and how long they are, the shortest
        being 1; the last is all ("").
        """
        step = max(among.last - among.first, 1) / max(among.total, 1)
        sizes = takewhile(lambda size: 2 * size * self.STRETCH <= among.total, (2**n for n in count()))
        spans = {size: int(size * self.STRETCH * step) for size in sizes}
        within = {self._within(number, max(among.newest - span, 0), among.newest): n for n, span in spans.items()}
        return within | {"": 0}

    def _within(self, number: int, first: int, last: int) -> str:
        """A tsquery for messages with these ids, and some before them."""
        digits, bits = self.BLOCK_DIGITS, self.BLOCK_BITS
        while (last >> bits) - (first >> bits) >= self.BLOCKS:
            digits, bits = digits - 1, bits + 2
        blocks = range((first >> bits) << bits, last + 1, 1 << bits)
        return " | ".join(f"'{self.block(number, block, digits)}':*" for block in blocks)

    def matches(self, connection: Connection, sought: SearchQuery, among: Range) -> list[list[Match]]:
        queries = [self.query(words, sought.number, " | ") for words in sought.words]
        stretches = self.stretches(sought.number, among)
        ends = {"stretches": list(stretches), "sizes": list(stretches.values())}
        matches = self.MATCHES[sought.place is not None]
        found = connection.execute(matches, {**sought.bound, **ends, "words": queries, "most": MOST})
        return [list(zip(ids, *more, strict=True)) if ids else [] for ids, *more in found]

    def holding(
        self, connection: Connection, texts: list[list[str]], numbers: list[int], person: str, conversation: str | None
    ) -> int:
        queries = [self.query(words, number, " & ") for words in texts for number in numbers]
        bound = {"queries": queries, "person": person, "conversation": conversation}
        return connection.execute(self.HOLDING, bound).scalar_one()


ENGINES: Final[Mapping[bool, Fts5 | Tsvector]] = {False: Fts5(), True: Tsvector()}  # By whether it is PostgreSQL


def matches(connection: Connection, sought: SearchQuery, among: Range) -> list[list[Match]]:
    """For each keyword the person's messages with it that the query may see; of a common one the newest."""
    wanted = replace(sought, words=tuple(map(wanted_terms, sought.words)))
    return ENGINES[is_postgresql(connection)].matches(connection, wanted, among)


def holding(
    connection: Connection, texts: list[list[str]], numbers: list[int], *, person: str, conversation: str | None
) -> int:
    """How many entries of these people hold all the words of one of `texts`, though their message is gone or is what
    the person said, or was answered, in the conversation (None: anywhere).
    """
    engine = ENGINES[is_postgresql(connection)]
    asked = [number for number in numbers if engine.has_entries(connection, number)]
    wanted = [words for words in texts if words]
    return engine.holding(connection, wanted, asked, person, conversation) if asked and wanted else 0


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


ID_BYTES: Final = 8  # Of a message's id before its signs, where SQLite hands them over


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


LOOK_BACK: Final = 1_000  # Ids before the last vector: more than are given away while the slowest transaction runs


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

    async def make_index(self, model: str) -> bool:
        if not self.database.is_shared:
            return False
        from store.search import hnsw  # noqa: PLC0415 -- as in `_by_index`

        return await hnsw.make_index(self.database, model)

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

# The nearest by their signs, which are compared exactly: a hundredth of a second. Of a million messages so many would
# leave out a tenth of the nearest ten.
RESCORED: Final = 512
# One in so many messages, where that is more: a small part of what it takes to compare the signs of all.
RESCORED_SHARE: Final = 256
NEAREST: Final = 64  # Of them are ranked, besides what the keywords found
INDEX_FROM: Final = 5_000  # Messages that are compared as fast as an index leads to the nearest
TINY: Final = 1e-9  # So that what is alone, or the farthest, is found all the same

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
        near = _by_index(connection, wanted, person, sought, total)
        if near is None:
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


def _by_index(
    connection: Connection, wanted: Meaning, person: str, sought: SearchQuery, total: int
) -> list[int] | None:
    if total < INDEX_FROM:
        return None
    from store.search import hnsw  # noqa: PLC0415 -- only a server with very much to compare needs it

    asked = person if sought.place is None else None
    return hnsw.nearest(connection, asked, wanted, visible_to(sought), total, NEAREST)


def _nearest_on_server(person: str, model: str, signs: bytes, sought: SearchQuery, limit: int) -> Select[int]:
    differing = func.bit_count(embedding.c.signs.op("#")(bindparam("signs", signs, type_=BitString())))
    said = select(embedding.c.message).join_from(message, embedding, embedding.c.message == message.c.id)
    if sought.place is None:
        theirs = participant.c.conversation == message.c.conversation
        said = said.join(participant, theirs).where(participant.c.person == person)
    return (
        said.where(embedding.c.model == model, *visible_to(sought))
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
        return select(func.group_concat(numbered, "")).where(*visible_to(sought)).group_by(message.c.conversation)
    here = message.c.conversation == participant.c.conversation
    held = select(func.group_concat(numbered, "")).where(here, *visible_to(sought)).correlate(participant)
    return select(held.scalar_subquery()).where(participant.c.person == person)


def visible_to(sought: SearchQuery) -> list[ColumnElement[bool] | TextClause]:
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
