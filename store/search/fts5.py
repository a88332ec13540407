"""The full-text index on SQLite: a table of FTS5.

Rules
  The row id of an entry is the person's number and the message's id, so a person's entries are one range and a
  search reads nobody else's.
  FTS5 only splits at blanks and cuts English endings (Porter).
"""

import json
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, column, delete, select, table, text

from store.search.ranking import MOST, Match
from store.search.text import PARAMETERS, SearchQuery
from store.tables import StorableText

SHIFT: Final = 32
MESSAGE_BITS: Final = (1 << SHIFT) - 1

_entries: Final = table("message_index", column("rowid"), column("body"))
_ADD: Final = text("INSERT INTO message_index (rowid, body) VALUES (:entry, :body)")
_OPTIMIZE: Final = text("INSERT INTO message_index (message_index) VALUES ('optimize')")
_HAS_ANY: Final = text("SELECT EXISTS (SELECT 1 FROM message_index WHERE rowid BETWEEN :first AND :last)")

# One JSON array of matches for each keyword, in their order: thousands of rows would cost more than the search.
MATCHES: Final = text(
    """
    SELECT
      (SELECT json_group_array(json_array(id, author = 'person', length)) FROM
        (SELECT message.id, message.author, message.length
         FROM message_index CROSS JOIN message ON message.id = message_index.rowid & :message_bits
         WHERE message_index MATCH word.value AND message_index.rowid BETWEEN :first AND :last
           AND message.audience IN :audiences AND (message.conversation != :exclude OR message.id < :visible)
           AND message.time >= :since AND message.time < :until
           AND (:any_author OR message.author = :author) AND (:anybody OR message.person IN :people)
         ORDER BY message_index.rowid DESC LIMIT :most)) AS found
    FROM json_each(:words) AS word
    ORDER BY word.key
    """
).bindparams(*PARAMETERS)

_HAVING: Final = text(
    "SELECT rowid & :message_bits FROM message_index"
    " WHERE message_index MATCH :query AND rowid BETWEEN :first AND :last"
)
_HOLDING: Final = text(
    """
    SELECT count(DISTINCT message_index.rowid)
    FROM json_each(:readers) AS reader
    CROSS JOIN json_each(:queries) AS wanted
    CROSS JOIN message_index ON message_index MATCH wanted.value
      AND message_index.rowid BETWEEN reader.value << 32 AND reader.value << 32 | :message_bits
    LEFT JOIN message ON message.id = message_index.rowid & :message_bits
    WHERE message.id IS NULL
       OR message.person = :person AND message.conversation = coalesce(:conversation, message.conversation)
    """
).bindparams(bindparam("person", type_=StorableText), bindparam("conversation", type_=StorableText))


def entries_of(number: int) -> tuple[int, int]:
    """The first and the last row id that a person's entries may have."""
    return number << SHIFT, number << SHIFT | MESSAGE_BITS


def matching(words: Iterable[str]) -> str:
    """A query of FTS5 for entries with all `words`, which are plain text."""
    return " ".join(map(_quoted, words))


def any_of(words: Iterable[str]) -> str:
    """A query of FTS5 for entries with at least one of `words`."""
    return " OR ".join(map(_quoted, words))


def add(connection: Connection, message_id: int, words: list[str], numbers: list[int]) -> None:
    body = " ".join(words)
    connection.execute(_ADD, [{"entry": number << SHIFT | message_id, "body": body} for number in numbers])


def remove(connection: Connection, pairs: Select[Any, Any]) -> None:
    number, message_id = pairs.subquery().c
    entry = number.bitwise_lshift(SHIFT).bitwise_or(message_id)
    connection.execute(delete(_entries).where(_entries.c.rowid.in_(select(entry))))


def remove_all(connection: Connection, number: int) -> None:
    connection.execute(delete(_entries).where(_entries.c.rowid.between(*entries_of(number))))


def has_entries(connection: Connection, number: int) -> bool:
    first, last = entries_of(number)
    return bool(connection.execute(_HAS_ANY, {"first": first, "last": last}).scalar_one())


def matches(connection: Connection, sought: SearchQuery) -> list[list[Match]]:
    first, last = entries_of(sought.number)
    bound = {
        **sought.bound,
        "words": json.dumps([any_of(words) for words in sought.words]),
        "first": first,
        "last": last,
        "message_bits": MESSAGE_BITS,
        "most": MOST,
    }
    found = connection.execute(MATCHES, bound).all()
    return [json.loads(some) for (some,) in found]


def having(connection: Connection, words: list[str], number: int) -> list[int]:
    first, last = entries_of(number)
    bound = {"query": matching(words), "first": first, "last": last, "message_bits": MESSAGE_BITS}
    return list(connection.execute(_HAVING, bound).scalars())


def holding(
    connection: Connection, texts: list[list[str]], numbers: list[int], *, person: str, conversation: str | None
) -> int:
    bound = {
        "queries": json.dumps([matching(words) for words in texts]),
        "readers": json.dumps(numbers),
        "message_bits": MESSAGE_BITS,
        "person": person,
        "conversation": conversation,
    }
    return connection.execute(_HOLDING, bound).scalar_one()


def optimize(connection: Connection) -> None:
    connection.execute(_OPTIMIZE)


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
