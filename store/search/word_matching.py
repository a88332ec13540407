"""Matching of messages by their words, on either engine."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, takewhile
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    ARRAY,
    BindParameter,
    ColumnElement,
    Connection,
    Integer,
    Text,
    TextClause,
    bindparam,
    column,
    func,
    literal,
    select,
    text,
)
from sqlalchemy import table as table_named

from agent.memory.audience import NOWHERE
from store.databases.database import StorableText, is_postgresql
from store.message_tables import person
from store.search.index import MESSAGES, Fts5Words, MessageWords
from store.search.query import OF_SHARED, PARAMETERS, SHARED, Range, SearchQuery
from store.search.text import wanted_terms

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
