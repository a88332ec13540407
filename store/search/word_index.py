"""A full-text index on either engine: entries of ready words, each in the own range of whoever may find it.

Rules
  An entry belongs to a reader, who is a number: a person, or a place. A search reads one reader's entries and nobody
  else's.
  The index keeps the words that it was given, so a removal is exact even after Python's Unicode tables have changed.
  Words arrive ready (see `store.search.text`); the engines only cut English endings, both in the same way. The parts
  of words, by which other forms are found, are added here: nobody else sees them, and on SQLite they are not kept, but
  made again of the words that are.
"""

from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    TextualSelect,
    bindparam,
    column,
    delete,
    select,
    text,
    tuple_,
)
from sqlalchemy import table as table_named

from store.databases.database import StorableText
from store.search.text import IndexedText, entry_terms, stem

MESSAGES: Final = "message_index"
PASSAGES: Final = "passage_index"
INDEXES: Final = (MESSAGES, PASSAGES)
"""The names of the indexes, with which those of their tables begin."""
REMOVED_AT_ONCE: Final = 500
"""Entries whose words stand in memory while they are removed."""


class Fts5Words:
    """On SQLite: the row id of an entry is the reader's number and the id of what it is of, so a reader's entries are
    one range. FTS5 only splits at blanks and cuts English endings (Porter).

    It keeps no text itself: what it kept was four fifths of the index, and a third of that were parts of words. So it
    has to be told what an entry held in order to remove it; its words stand in a table of their own.
    """

    SHIFT: Final = 32
    ID_BITS: Final = (1 << SHIFT) - 1

    def __init__(self, name: str) -> None:
        """`name`: of the index. Its table of words has "_kept" behind it."""
        self.name: Final = name
        self.kept: Final = table_named(f"{name}_kept", column("entry", Integer), column("words", StorableText))
        self._keep: Final = text(f"INSERT INTO {name}_kept (entry, words) VALUES (:entry, :words)")  # noqa: S608 -- our own names, as those below
        self._add: Final = text(f"INSERT INTO {name} (rowid, body) VALUES (:entry, :body)")  # noqa: S608
        self._forget: Final = text(f"INSERT INTO {name} ({name}, rowid, body) VALUES ('delete', :entry, :body)")  # noqa: S608
        self._having: Final = text(
            f"SELECT rowid & {self.ID_BITS} AS id FROM {name}"  # noqa: S608
            f" WHERE {name} MATCH :query AND rowid BETWEEN :first AND :last"
        )

    def entries_of(self, number: int) -> dict[str, int]:
        """The first and the last row id that a reader's entries may have."""
        return {"first": number << self.SHIFT, "last": number << self.SHIFT | self.ID_BITS}

    def query(self, words: Iterable[str], joint: str) -> str:
        """For entries with these words, which are plain text; `joint`: " " for all of them, " OR " for any."""
        return joint.join('"' + word.replace('"', '""') + '"' for word in words)

    def add(self, connection: Connection, id_: int, said: IndexedText, numbers: list[int]) -> None:
        entries = [number << self.SHIFT | id_ for number in numbers]
        kept, body = " ".join(said.words), " ".join(said.terms)
        connection.execute(self._keep, [{"entry": entry, "words": kept} for entry in entries])
        connection.execute(self._add, [{"entry": entry, "body": body} for entry in entries])

    def remove(self, connection: Connection, pairs: Select[Any, Any]) -> None:
        """Of these pairs of a reader's number and the id of what the entry is of."""
        number, id_ = pairs.subquery().c
        entry = number.bitwise_lshift(self.SHIFT).bitwise_or(id_)
        self._remove(connection, self.kept.c.entry.in_(select(entry)))

    def remove_all(self, connection: Connection, number: int) -> None:
        self._remove(connection, self._of_reader(number))

    def clear(self, connection: Connection) -> None:
        connection.execute(text(f"INSERT INTO {self.name} ({self.name}) VALUES ('delete-all')"))  # noqa: S608
        connection.execute(delete(self.kept))

    def _remove(self, connection: Connection, where: ColumnElement[bool]) -> None:
        """FTS5 takes the terms of a removed entry out of its lists by what it is told that they were."""
        theirs, last = select(self.kept).where(where).order_by(self.kept.c.entry).limit(REMOVED_AT_ONCE), None
        while some := connection.execute(theirs if last is None else theirs.where(self.kept.c.entry > last)).all():
            last = some[-1].entry
            bodies = [{"entry": row.entry, "body": " ".join(entry_terms(row.words.split(" ")))} for row in some]
            connection.execute(self._forget, bodies)
            connection.execute(delete(self.kept).where(self.kept.c.entry.in_([row.entry for row in some])))

    def has_entries(self, connection: Connection, number: int) -> bool:
        return connection.execute(select(select(self.kept).where(self._of_reader(number)).exists())).scalar_one()

    def _of_reader(self, number: int) -> ColumnElement[bool]:
        first, last = self.entries_of(number).values()
        return self.kept.c.entry.between(first, last)

    def having(self, words: list[str], number: int) -> TextualSelect:
        """The ids of what the reader may find by all of these words."""
        bound = {"query": self.query(words, " "), **self.entries_of(number)}
        return self._having.bindparams(**bound).columns(Column("id", Integer))

    def optimize(self, connection: Connection) -> None:
        connection.execute(text(f"INSERT INTO {self.name} ({self.name}) VALUES ('optimize')"))  # noqa: S608


class TsvectorWords:
    """On PostgreSQL: a table of stored tsvectors under one GIN index.

    Each word carries the number of the reader who may find it ("42:boat"), so that the index itself holds a list of
    what each reader may find for each word. That needs no extension (btree_gin is not everywhere), and is less to read
    than everybody's entries with a common word. The tsvectors are built of ready words: PostgreSQL's own parsers and
    dictionaries differ by locale and version, drop stop words, and cannot split CJK. What does not fit is left out: a
    tsvector has less than 1 MiB, a word of it less than 2 KiB.

    Rows are read by the hundred, so they are kept short: the tsvectors stand apart (see revision r0006).
    """

    WORD_CHARS: Final = 255
    """At most four bytes each, so a word with its number stays below 2 KiB."""
    ENTRY_BYTES: Final = 900_000

    def __init__(self, name: str, of: str) -> None:
        """`name`: of the table; `of`: the column with the ids of what its entries are of."""
        self.name: Final = name
        self.table: Final = table_named(name, column("reader", Integer), column(of, Integer), column("words"))
        self._of: Final = self.table.c[of]
        self._add: Final = text(
            f"INSERT INTO {name} (reader, {of}, words) VALUES (:reader, :id, array_to_tsvector(:words))"  # noqa: S608
        ).bindparams(
            bindparam("reader", type_=Integer), bindparam("id", type_=Integer), bindparam("words", type_=ARRAY(Text))
        )
        self._having: Final = text(
            f"SELECT entry.{of} AS id FROM {name} AS entry WHERE entry.words @@ (:query)::tsquery"  # noqa: S608
        ).bindparams(bindparam("query", type_=Text))

    def query(self, words: Iterable[str], number: int, joint: str) -> str:
        """A tsquery for the reader's entries with these words, which are plain text; `joint`: " & " or " | "."""
        escaped = (
            lexeme.replace("\\", "\\\\").replace("'", "''") for lexeme in self._lexemes(map(stem, words), number)
        )
        return joint.join(f"'{lexeme}'" for lexeme in escaped)

    def lexemes(self, stems: Iterable[str], number: int) -> list[str]:
        """What a tsvector holds for the reader: each once, as many as fit."""
        fitting: list[str] = []
        room = self.ENTRY_BYTES
        for lexeme in dict.fromkeys(self._lexemes(stems, number)):
            room -= len(lexeme.encode())
            if room < 0:
                break
            fitting.append(lexeme)
        return fitting

    def _lexemes(self, stems: Iterable[str], number: int) -> Iterable[str]:
        return (f"{number}:{one[: self.WORD_CHARS]}" for one in stems)

    def beside(self, id_: int, number: int) -> list[str]:  # noqa: ARG002 -- for whoever needs more
        """What an entry holds besides its words."""
        return []

    def add(self, connection: Connection, id_: int, said: IndexedText, numbers: list[int]) -> None:
        entries = [
            {"reader": number, "id": id_, "words": [*self.beside(id_, number), *self.lexemes(said.terms, number)]}
            for number in numbers
        ]
        connection.execute(self._add, entries)

    def remove(self, connection: Connection, pairs: Select[Any, Any]) -> None:
        """Of these pairs of a reader's number and the id of what the entry is of."""
        connection.execute(delete(self.table).where(tuple_(self.table.c.reader, self._of).in_(pairs)))

    def remove_all(self, connection: Connection, number: int) -> None:
        connection.execute(delete(self.table).where(self.table.c.reader == number))

    def clear(self, connection: Connection) -> None:
        connection.execute(delete(self.table))

    def has_entries(self, connection: Connection, number: int) -> bool:
        return connection.execute(select(select(self.table).where(self.table.c.reader == number).exists())).scalar_one()

    def having(self, words: list[str], number: int) -> TextualSelect:
        """The ids of what the reader may find by all of these words."""
        return self._having.bindparams(query=self.query(words, number, " & ")).columns(Column("id", Integer))

    def optimize(self, connection: Connection) -> None:
        """The server does it by itself (autovacuum)."""
