"""The full-text index on either engine: one entry for each message and each person who may find it.

Rules
  An entry belongs to a reader, who is a number: a person's, or a place's. It stands in the reader's own range.
  The index keeps the words that it was given, so a removal is exact even after Python's Unicode tables have changed.
  Words arrive ready (see `store.search.text`); the engines only cut English endings, both in the same way. The parts
  of words, by which other forms are found, are added here: nobody else sees them, and on SQLite they are not kept, but
  made again of the words that are.
  Who may find a message: everybody who wrote in its conversation. A search reads the person's own entries, and those
  of places with what their team shares: of messages whose rows name the place (`message.place`).
  Nobody's write waits for many entries. Whose a message is finds it at once, so that they can have it forgotten. What a
  long thread has for somebody who joins it, and a message for the last of many readers, a job makes in steps, each
  with what stands then and for who is there then.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, groupby
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    CompoundSelect,
    Connection,
    Integer,
    Select,
    Text,
    TextualSelect,
    bindparam,
    column,
    delete,
    func,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy import table as table_named

from agent.records import INDEXING, Job
from store import job_queue
from store.databases.database import Database, StorableText, aside, in_order, is_postgresql
from store.search.text import IndexedText, entry_terms, indexed_text, stem
from store.tables import embedding, message, participant, person

MESSAGES: Final = "message_index"
PASSAGES: Final = "passage_index"
INDEXES: Final = (MESSAGES, PASSAGES)  # The names of the indexes, with which those of their tables begin
REMOVED_AT_ONCE: Final = 500  # Entries whose words stand in memory while they are removed
# Which terms of a word an entry has. Counted up when others are made, or kept elsewhere: the next start makes all
# entries anew.
TERMS: Final = 3
_BATCH: Final = 500  # Messages of which entries are made anew in one transaction: tenths of a second, and little memory
# Entries made in one transaction while others wait to write: a few milliseconds. A job makes the rest of them.
AT_ONCE: Final = 50
AT_ONCE_WORDS: Final = 10_000  # Words in these entries together, for those of long messages take as many times longer
READ_ASIDE: Final = 20_000  # Characters of which the words take more than some milliseconds
NEWEST: Final = (1 << 31) - 1  # No message and no reader has a higher number
PLACES: Final = 1 << 30  # Places are readers of messages behind all people: under their number and this

# When a job may run that waits for nothing; the order of such jobs is that in which they came.
_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Each message with each person who may find it.
_WRITTEN: Final = message.join(participant, participant.c.conversation == message.c.conversation).join(
    person, person.c.id == participant.c.person
)


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
        self._keep: Final = text(f"INSERT INTO {name}_kept (entry, words) VALUES (:entry, :words)")  # noqa: S608 -- our own names
        self._add: Final = text(f"INSERT INTO {name} (rowid, body) VALUES (:entry, :body)")  # noqa: S608 -- our own names
        self._forget: Final = text(f"INSERT INTO {name} ({name}, rowid, body) VALUES ('delete', :entry, :body)")  # noqa: S608 -- our own names
        self._having: Final = text(
            f"SELECT rowid & {self.ID_BITS} AS id FROM {name}"  # noqa: S608 -- our own names
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

    def remove(self, connection: Connection, pairs: Select[Any, Any] | CompoundSelect[Any, Any]) -> None:
        """Of these pairs of a reader's number and the id of what the entry is of."""
        number, id_ = pairs.subquery().c
        entry = number.bitwise_lshift(self.SHIFT).bitwise_or(id_)
        self._remove(connection, self.kept.c.entry.in_(select(entry)))

    def remove_all(self, connection: Connection, number: int) -> None:
        self._remove(connection, self._of_reader(number))

    def clear(self, connection: Connection) -> None:
        connection.execute(text(f"INSERT INTO {self.name} ({self.name}) VALUES ('delete-all')"))  # noqa: S608 -- our own names
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
        connection.execute(text(f"INSERT INTO {self.name} ({self.name}) VALUES ('optimize')"))  # noqa: S608 -- our own names


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
            f"INSERT INTO {name} (reader, {of}, words) VALUES (:reader, :id, array_to_tsvector(:words))"  # noqa: S608 -- our own names
        ).bindparams(
            bindparam("reader", type_=Integer), bindparam("id", type_=Integer), bindparam("words", type_=ARRAY(Text))
        )
        self._having: Final = text(
            f"SELECT entry.{of} AS id FROM {name} AS entry WHERE entry.words @@ (:query)::tsquery"  # noqa: S608 -- our own names
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

    def remove(self, connection: Connection, pairs: Select[Any, Any] | CompoundSelect[Any, Any]) -> None:
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


class MessageWords(TsvectorWords):
    """Of messages: each entry also holds the block of ids that its message is in ("42#00000001201"), so that a search
    can look for the newest alone (`store.search.matching`).
    """

    BLOCK_BITS: Final = 10
    """1,024 ids share a block."""
    BLOCK_DIGITS: Final = 11
    """To the base of 4, of ids of 32 bits. The first of them name larger blocks, each of four."""

    def __init__(self) -> None:
        super().__init__(MESSAGES, "message")

    def block(self, number: int, message_id: int, digits: int = BLOCK_DIGITS) -> str:
        """The name of the person's block with this message, or with fewer `digits` of a larger one."""
        places = range(self.BLOCK_DIGITS - 1, self.BLOCK_DIGITS - 1 - digits, -1)
        return f"{number}#" + "".join(str(message_id >> self.BLOCK_BITS + 2 * place & 3) for place in places)

    def beside(self, id_: int, number: int) -> list[str]:
        return [self.block(number, id_)]


# By whether it is PostgreSQL.
_ENGINES: Final[Mapping[bool, Fts5Words | MessageWords]] = {False: Fts5Words(MESSAGES), True: MessageWords()}


@dataclass(frozen=True, slots=True)
class Missing:
    """Entries of a conversation that are still to be made: of the messages with these ids, for the people with these
    numbers. It is one message or one person.
    """

    oldest: int
    newest: int
    first: int
    last: int

    def behind(self, message_id: int, number: int) -> "Missing":
        """Those that come after this one: the newest messages come first, and the lowest numbers."""
        if self.first == self.last:
            return replace(self, newest=message_id - 1)
        return replace(self, first=number + 1)


async def indexed(database: Database, said: str) -> IndexedText:
    """What `said` is found by, ready for a transaction; a long text is read beside the event loop."""
    if len(said) > READ_ASIDE:
        return await aside(indexed_text, said, stemmed=database.is_shared)
    return indexed_text(said, stemmed=database.is_shared)


def add(
    connection: Connection,
    message_id: int,
    conversation: str,
    said: IndexedText,
    numbers: Sequence[int],
    place: int | None = None,
) -> None:
    """Let the people with these numbers find a message: the first of them, whose it is, at once, as some more.

    `place`: the one with whose team it is shared, if it is.
    """
    if not said.words or not numbers:
        return
    own, others = numbers[0], sorted(numbers[1:])
    at_once = max(min(AT_ONCE, AT_ONCE_WORDS // said.length) - 1, 0)
    _engine(connection).add(connection, message_id, said, [own, *others[:at_once], *_place_readers(place)])
    if len(others) > at_once:
        rest = Missing(message_id, message_id, others[at_once], NEWEST)
        _make_later(connection, f"{message_id}", rest, conversation)


def add_thread(connection: Connection, conversation: str, who: str, number: int) -> None:
    """Let a person who has just joined a conversation find what stands there already, the newest of it at once."""
    missing = Missing(0, NEWEST, number, number)
    rest = _make_some(connection, conversation, missing)
    if rest is not None:
        later = missing if isinstance(rest, str) else rest
        _make_later(connection, f"{number} {conversation}", later, conversation, who)


async def make_more(database: Database, job: Job) -> bool:
    """Make the next entries of a job, and keep with them how far it is; False when all are, or it is not held."""
    made = await database.write(_make_more, job)
    while isinstance(made, str):
        made = await database.write(_make_more, job, await indexed(database, made))
    return made


def _make_more(connection: Connection, job: Job, ready: IndexedText | None = None) -> bool | str:
    in_order(connection, job.conversation)
    payload = job_queue.payload_of(connection, job)
    if payload is None:
        return False
    rest = _make_some(connection, job.conversation, Missing(**json.loads(payload)), ready)
    if isinstance(rest, str):
        return rest
    if rest is not None:
        job_queue.keep_payload(connection, job, json.dumps(asdict(rest)))
    return rest is not None


def _make_later(connection: Connection, key: str, rest: Missing, conversation: str, who: str = "") -> None:
    """`who`: with whom it is forgotten. It holds nobody's words, and what is gone when it runs gets no entry."""
    values = {"payload": json.dumps(asdict(rest)), "run_at": _DUE, "person": who, "conversation": conversation}
    job_queue.schedule(connection, INDEXING, key, values)


def _make_some(
    connection: Connection, conversation: str, missing: Missing, ready: IndexedText | None = None
) -> Missing | str | None:
    """Make the next of these entries, for those who are part of the conversation now; what is still missing then, or
    a long text that has to be `ready` first.
    """
    found = connection.execute(
        select(message.c.id, message.c.text, message.c.length, person.c.number)
        .select_from(_WRITTEN)
        .where(message.c.conversation == conversation, message.c.id.between(missing.oldest, missing.newest))
        .where(person.c.number.between(missing.first, missing.last), message.c.length > 0)
        .order_by(message.c.id.desc(), person.c.number)
        .limit(AT_ONCE)
        .with_for_update(of=message)  # an edit meanwhile comes before, or finds these
    ).all()
    if not found:
        return None
    words = list(accumulate(row.length for row in found))
    some = [row for row, so_far in zip(found, words, strict=True) if so_far <= AT_ONCE_WORDS] or found[:1]
    if some[0].length > AT_ONCE_WORDS and (ready is None or ready.text != some[0].text):
        return str(some[0].text)
    ids, numbers = {row.id for row in some}, {row.number for row in some}
    _remove(connection, message.c.id.in_(ids), person.c.number.in_(numbers))  # an edit may have made it already
    for (id_, said), rows in groupby(some, key=lambda row: (row.id, row.text)):
        known = ready if ready is not None and ready.text == said else _read(connection, said)
        if known.words:
            _engine(connection).add(connection, id_, known, [row.number for row in rows])
    if len(some) == len(found) < AT_ONCE:
        return None
    return missing.behind(some[-1].id, some[-1].number)


def renew(connection: Connection, after: int) -> list[int]:
    """Make the entries of the next messages behind this id anew; the ids of those messages. Where an entry can only be
    removed by what it holds, which an older version made, all go before the first.
    """
    if after == 0 and not is_postgresql(connection):
        clear(connection)
    columns = select(*(message.c[name] for name in ("id", "conversation", "text", "length", "place")))
    some = connection.execute(columns.where(message.c.id > after).order_by(message.c.id).limit(_BATCH)).all()
    ids = [row.id for row in some]
    _remove_of(connection, ids)
    theirs = {name: readers(connection, name) for name in {row.conversation for row in some}}
    for row in some:
        numbers = [*theirs[row.conversation], *_place_readers(row.place)]
        if row.length and (said := _read(connection, row.text)).words and numbers:
            _engine(connection).add(connection, row.id, said, numbers)
    return ids


def left(connection: Connection, after: int) -> int:
    """How many messages `renew` has still to come to."""
    return connection.execute(select(func.count()).select_from(message).where(message.c.id > after)).scalar_one()


def clear(connection: Connection) -> None:
    """Leave no entry."""
    _engine(connection).clear(connection)


def readers(connection: Connection, *conversations: str) -> list[int]:
    """The numbers of everybody who wrote in one of these conversations."""
    joined = participant.join(person, person.c.id == participant.c.person)
    numbers = select(person.c.number).distinct().select_from(joined)
    return list(connection.execute(numbers.where(participant.c.conversation.in_(conversations))).scalars())


def places_of(connection: Connection, *conversations: str) -> list[int]:
    """The numbers, as readers, of the places with which something of these conversations is shared."""
    shared = select(message.c.place).distinct().where(message.c.place.is_not(None))
    found = connection.execute(shared.where(message.c.conversation.in_(conversations))).scalars()
    return [number for place in found for number in _place_readers(place)]


def _place_readers(place: int | None) -> list[int]:
    return [] if place is None else [PLACES + place]


def readers_of(connection: Connection, message_id: int) -> list[int]:
    """The numbers of everybody who may find a message; the first is that of the person whose it is."""
    numbers = select(person.c.number).select_from(_WRITTEN).where(message.c.id == message_id)
    return list(connection.execute(numbers.order_by(person.c.id != message.c.person, person.c.number)).scalars())


def remove(connection: Connection, messages: Iterable[int]) -> None:
    """Let nobody find these messages, by their words or by their meaning."""
    ids = list(messages)
    _remove_of(connection, ids)
    connection.execute(delete(embedding).where(embedding.c.message.in_(ids)))


def change_text(
    connection: Connection, message_id: int, conversation: str, said: IndexedText, **values: object
) -> None:
    """Put other words in place of a message's, to be found by them from now on; and these values of its row."""
    changed = update(message).where(message.c.id == message_id)
    connection.execute(changed.values(text=said.text, length=said.length, **values))  # first: it is held from here on
    remove(connection, [message_id])
    place = connection.execute(select(message.c.place).where(message.c.id == message_id)).scalar_one_or_none()
    add(connection, message_id, conversation, said, readers_of(connection, message_id), place)


def remove_thread(connection: Connection, conversation: str, number: int) -> None:
    _remove(connection, message.c.conversation == conversation, person.c.number == number)


def remove_all(connection: Connection, number: int) -> None:
    _engine(connection).remove_all(connection, number)


def having(connection: Connection, words: list[str], number: int) -> list[int]:
    """The ids of all messages that the person with this number may find by all of these words."""
    return list(connection.execute(ids_having(connection, words, number)).scalars()) if words else []


def ids_having(connection: Connection, words: list[str], number: int) -> TextualSelect:
    """The same to be selected from, of one word or more."""
    return _engine(connection).having(words, number)


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, where it keeps them for a while."""
    _engine(connection).optimize(connection)


def _remove_of(connection: Connection, ids: Collection[int]) -> None:
    """All entries of these messages."""
    theirs = select(person.c.number, message.c.id).select_from(_WRITTEN).where(message.c.id.in_(ids))
    shared = select(message.c.place + PLACES, message.c.id).where(message.c.id.in_(ids), message.c.place.is_not(None))
    _engine(connection).remove(connection, theirs.union_all(shared))


def _remove(connection: Connection, *where: ColumnElement[bool]) -> None:
    _engine(connection).remove(connection, select(person.c.number, message.c.id).select_from(_WRITTEN).where(*where))


def _read(connection: Connection, said: str) -> IndexedText:
    return indexed_text(said, stemmed=is_postgresql(connection))


def _engine(connection: Connection) -> Fts5Words | MessageWords:
    return _ENGINES[is_postgresql(connection)]
