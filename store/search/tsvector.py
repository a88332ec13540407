"""The full-text index on PostgreSQL: a table of stored tsvectors under one GIN index.

Rules
  Each word carries the number of the person who may find it ("42:boat"), so that the index itself holds a list of the
  messages of each person for each word, and a search reads nobody else's. That needs no extension (btree_gin is not
  everywhere), and is less to read than everybody's messages with a common word.
  The tsvectors are built of ready words: PostgreSQL's own parsers and dictionaries differ by locale and version, drop
  stop words, and cannot split CJK.
  What does not fit is left out: a tsvector has less than 1 MiB, a word of it less than 2 KiB.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ARRAY, Connection, Integer, Select, Text, bindparam, column, delete, table, text, tuple_

from store.search.ranking import MOST, Match
from store.search.text import PARAMETERS, SearchQuery, stem
from store.tables import StorableText

WORD_CHARS: Final = 255
"""At most four bytes each, so a word with its number stays below 2 KiB."""
ENTRY_BYTES: Final = 900_000

_entries: Final = table("message_index", column("reader", Integer), column("message", Integer), column("words"))
_ADD: Final = text(
    "INSERT INTO message_index (reader, message, words) VALUES (:reader, :message, array_to_tsvector(:words))"
).bindparams(
    bindparam("reader", type_=Integer), bindparam("message", type_=Integer), bindparam("words", type_=ARRAY(Text))
)
_HAS_ANY: Final = text("SELECT EXISTS (SELECT 1 FROM message_index WHERE reader = :reader)").bindparams(
    bindparam("reader", type_=Integer)
)

# One JSON array of matches for each keyword, in their order: thousands of rows would cost more than the search.
MATCHES: Final = text(
    """
    SELECT
      (SELECT coalesce(json_agg(json_build_array(id, author = 'person', length)), '[]')::text FROM
        (SELECT message.id, message.author, message.length
         FROM message_index AS entry JOIN message ON message.id = entry.message
         WHERE entry.words @@ word.query::tsquery
           AND message.audience IN :audiences AND (message.conversation != :exclude OR message.id < :visible)
           AND message.time >= :since AND message.time < :until
           AND (:any_author OR message.author = :author) AND (:anybody OR message.person IN :people)
         ORDER BY message.id DESC LIMIT :most) AS newest) AS found
    FROM unnest(:words) WITH ORDINALITY AS word (query, place)
    ORDER BY word.place
    """
).bindparams(bindparam("words", type_=ARRAY(Text)), bindparam("most", type_=Integer), *PARAMETERS)

_HAVING: Final = text("SELECT message FROM message_index AS entry WHERE entry.words @@ (:query)::tsquery").bindparams(
    bindparam("query", type_=Text)
)
_HOLDING: Final = text(
    """
    SELECT count(DISTINCT (entry.reader, entry.message))
    FROM unnest(:queries) AS wanted (query)
    JOIN message_index AS entry ON entry.words @@ wanted.query::tsquery
    LEFT JOIN message ON message.id = entry.message
    WHERE message.id IS NULL
       OR message.person = :person AND message.conversation = coalesce(:conversation, message.conversation)
    """
).bindparams(
    bindparam("queries", type_=ARRAY(Text)),
    bindparam("person", type_=StorableText),
    bindparam("conversation", type_=StorableText),
)


def matching(words: Iterable[str], number: int) -> str:
    """A tsquery for the person's entries with all `words`, which are plain text."""
    return " & ".join(_quoted(word, number) for word in words)


def any_of(words: Iterable[str], number: int) -> str:
    """A tsquery for the person's entries with at least one of `words`."""
    return " | ".join(_quoted(word, number) for word in words)


def lexemes(words: Iterable[str], number: int) -> list[str]:
    """What a tsvector holds for the person: each word once, as many as fit."""
    fitting: list[str] = []
    room = ENTRY_BYTES
    for lexeme in dict.fromkeys(_lexeme(word, number) for word in words):
        room -= len(lexeme.encode())
        if room < 0:
            break
        fitting.append(lexeme)
    return fitting


def add(connection: Connection, message_id: int, words: list[str], numbers: list[int]) -> None:
    entries = [{"reader": number, "message": message_id, "words": lexemes(words, number)} for number in numbers]
    connection.execute(_ADD, entries)


def remove(connection: Connection, pairs: Select[Any, Any]) -> None:
    entry = tuple_(_entries.c.reader, _entries.c.message)
    connection.execute(delete(_entries).where(entry.in_(pairs)))


def remove_all(connection: Connection, number: int) -> None:
    connection.execute(delete(_entries).where(_entries.c.reader == number))


def has_entries(connection: Connection, number: int) -> bool:
    return connection.execute(_HAS_ANY, {"reader": number}).scalar_one()


def matches(connection: Connection, sought: SearchQuery) -> list[list[Match]]:
    queries = [any_of(words, sought.number) for words in sought.words]
    found = connection.execute(MATCHES, {**sought.bound, "words": queries, "most": MOST}).all()
    return [json.loads(some) for (some,) in found]


def having(connection: Connection, words: list[str], number: int) -> list[int]:
    return list(connection.execute(_HAVING, {"query": matching(words, number)}).scalars())


def holding(
    connection: Connection, texts: list[list[str]], numbers: list[int], *, person: str, conversation: str | None
) -> int:
    queries = [matching(words, number) for words in texts for number in numbers]
    bound = {"queries": queries, "person": person, "conversation": conversation}
    return connection.execute(_HOLDING, bound).scalar_one()


def optimize(connection: Connection) -> None:
    """The server does it by itself (autovacuum)."""
    del connection


def _lexeme(word: str, number: int) -> str:
    return f"{number}:{stem(word)[:WORD_CHARS]}"


def _quoted(word: str, number: int) -> str:
    escaped = _lexeme(word, number).replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
