"""The full-text index on either engine: one entry for each message and each person who may find it.

Rules
  An entry belongs to a reader, identified by a number: a person's or a place's. It is in the reader's own range.
  The index stores the words that it was given, so a removal is exact even after Python's Unicode tables have changed.
  Words are prepared by the caller (see `store.search.text`); the engines only stem English endings, both in the same
  way. The parts of words by which other forms are found are added here. On SQLite they are not stored, but derived
  again from the stored words.
  Everyone who wrote in a conversation may find its messages. A search reads the person's own entries, and those of
  places with shared messages: messages whose rows name the place (`message.place`).
  No write waits for many entries. The message's own person can find it at once, so that they can have it forgotten. The
  entries of a long thread for a person who joins it, and those of a message for the last of many readers, are made by a
  job in steps; each step reads the messages and participants that exist then.
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

from agent.jobs import INDEXING, Job
from store import job_queue
from store.databases.database import Database, StorableText, in_order, is_postgresql, run_in_thread
from store.message_tables import embedding, message, participant, person
from store.search.text import IndexedText, entry_terms, indexed_text, stem

MESSAGES: Final = "message_index"
PASSAGES: Final = "passage_index"
INDEXES: Final = (MESSAGES, PASSAGES)  # The names of the indexes, with which those of their tables begin
REMOVED_AT_ONCE: Final = 500  # Entries whose words are in memory while they are removed
# The version of the terms that entries hold. It is raised when they change, or are stored elsewhere: the next start
# then rebuilds all entries.
TERMS: Final = 3
_BATCH: Final = 500  # Messages rebuilt in one transaction: tenths of a second, and little memory
# Entries made in one transaction while others wait to write: a few milliseconds. A job makes the rest.
AT_ONCE: Final = 50
AT_ONCE_WORDS: Final = 10_000  # Words in these entries together, because the time grows with the words
READ_ASIDE: Final = 20_000  # Longer texts take more than some milliseconds, and are split into words on a thread
NEWEST: Final = (1 << 31) - 1  # No message and no reader has a higher number
PLACES: Final = 1 << 30  # The reader number of a place is its own number plus this, above all people's

# The time of a job that may run at once; such jobs run in the order of their ids.
_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Each message with each person who may find it.
_WRITTEN: Final = message.join(participant, participant.c.conversation == message.c.conversation).join(
    person, person.c.id == participant.c.person
)


class Fts5Words:
    """On SQLite: the row id of an entry is made of the reader's number and the message's (or passage's) id, so a
    reader's entries are one range. FTS5 only splits at blanks and stems English endings (Porter).

    It is contentless: stored text was four fifths of the index, and a third of that were parts of words. So a removal
    needs the words of the entry; they are stored in a table of their own.
    """

    SHIFT: Final = 32
    ID_BITS: Final = (1 << SHIFT) - 1

    def __init__(self, name: str) -> None:
        """`name`: of the index. The table of its words has the suffix "_kept"."""
        self.name: Final = name
        self.kept: Final = table_named(f"{name}_kept", column("entry", Integer), column("words", StorableText))
        self._keep: Final = text(f"INSERT INTO {name}_kept (entry, words) VALUES (:entry, :words)")  # noqa: S608 -- our own names
        self._add: Final = text(f"INSERT INTO {name} (rowid, body) VALUES (:entry, :body)")  # noqa: S608 -- our own names
        self._delete: Final = text(f"INSERT INTO {name} ({name}, rowid, body) VALUES ('delete', :entry, :body)")  # noqa: S608 -- our own names
        self._having: Final = text(
            f"SELECT rowid & {self.ID_BITS} AS id FROM {name}"  # noqa: S608 -- our own names
            f" WHERE {name} MATCH :query AND rowid BETWEEN :first AND :last"
        )

    def entries_of(self, number: int) -> dict[str, int]:
        """The first and the last possible row id of a reader's entries."""
        return {"first": number << self.SHIFT, "last": number << self.SHIFT | self.ID_BITS}

    def query(self, words: Iterable[str], joint: str) -> str:
        """An FTS5 query for entries with these plain words; `joint`: " " for all of them, " OR " for any."""
        return joint.join('"' + word.replace('"', '""') + '"' for word in words)

    def add(self, connection: Connection, id_: int, indexed: IndexedText, numbers: list[int]) -> None:
        entries = [number << self.SHIFT | id_ for number in numbers]
        words, body = " ".join(indexed.words), " ".join(indexed.terms)
        connection.execute(self._keep, [{"entry": entry, "words": words} for entry in entries])
        connection.execute(self._add, [{"entry": entry, "body": body} for entry in entries])

    def remove(self, connection: Connection, pairs: Select[Any, Any] | CompoundSelect[Any, Any]) -> None:
        """Remove the entries of these pairs of a reader's number and a message's (or passage's) id."""
        number, id_ = pairs.subquery().c
        entry = number.bitwise_lshift(self.SHIFT).bitwise_or(id_)
        self._remove(connection, self.kept.c.entry.in_(select(entry)))

    def remove_all(self, connection: Connection, number: int) -> None:
        self._remove(connection, self._of_reader(number))

    def clear(self, connection: Connection) -> None:
        connection.execute(text(f"INSERT INTO {self.name} ({self.name}) VALUES ('delete-all')"))  # noqa: S608 -- our own names
        connection.execute(delete(self.kept))

    def _remove(self, connection: Connection, where: ColumnElement[bool]) -> None:
        """FTS5 removes an entry by the terms that it is given, which must be those of the entry."""
        entries, last = select(self.kept).where(where).order_by(self.kept.c.entry).limit(REMOVED_AT_ONCE), None
        while batch := connection.execute(entries if last is None else entries.where(self.kept.c.entry > last)).all():
            last = batch[-1].entry
            bodies = [{"entry": row.entry, "body": " ".join(entry_terms(row.words.split(" ")))} for row in batch]
            connection.execute(self._delete, bodies)
            connection.execute(delete(self.kept).where(self.kept.c.entry.in_([row.entry for row in batch])))

    def has_entries(self, connection: Connection, number: int) -> bool:
        return connection.execute(select(select(self.kept).where(self._of_reader(number)).exists())).scalar_one()

    def _of_reader(self, number: int) -> ColumnElement[bool]:
        first, last = self.entries_of(number).values()
        return self.kept.c.entry.between(first, last)

    def having(self, groups: Sequence[Sequence[str]], number: int) -> TextualSelect:
        """The ids that the reader may find by one term of each group."""
        wanted = " AND ".join(f"({self.query(terms, ' OR ')})" for terms in groups)
        bound = {"query": wanted, **self.entries_of(number)}
        return self._having.bindparams(**bound).columns(Column("id", Integer))

    def optimize(self, connection: Connection) -> None:
        connection.execute(text(f"INSERT INTO {self.name} ({self.name}) VALUES ('optimize')"))  # noqa: S608 -- our own names


class TsvectorWords:
    """On PostgreSQL: a table of stored tsvectors under one GIN index.

    Each word has the reader's number as a prefix ("42:boat"), so that the index itself holds a list of each reader's
    entries for each word. That needs no extension (btree_gin is not available everywhere), and reads less than all
    people's entries with a common word. The tsvectors are built from prepared words: PostgreSQL's own parsers and
    dictionaries differ by locale and version, drop stop words, and cannot split CJK. Words that do not fit are left
    out: a tsvector has less than 1 MiB, each of its words less than 2 KiB.

    Rows of messages are read by the hundred, so they are kept short: the tsvectors are in a table of their own (see
    revision r0006).
    """

    WORD_CHARS: Final = 255
    """At most four bytes each, so a word with its number stays below 2 KiB."""
    ENTRY_BYTES: Final = 900_000

    def __init__(self, name: str, of: str) -> None:
        """`name`: of the table; `of`: the column with the ids of its messages or passages."""
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
        """A tsquery for the reader's entries with these plain words; `joint`: " & " for all of them, " | " for any."""
        escaped = (
            lexeme.replace("\\", "\\\\").replace("'", "''") for lexeme in self._lexemes(map(stem, words), number)
        )
        return joint.join(f"'{lexeme}'" for lexeme in escaped)

    def lexemes(self, stems: Iterable[str], number: int) -> list[str]:
        """The lexemes of a tsvector for the reader: each once, as many as fit."""
        fitting: list[str] = []
        room = self.ENTRY_BYTES
        for lexeme in dict.fromkeys(self._lexemes(stems, number)):
            room -= len(lexeme.encode())
            if room < 0:
                break
            fitting.append(lexeme)
        return fitting

    def _lexemes(self, stems: Iterable[str], number: int) -> Iterable[str]:
        return (f"{number}:{stem_[: self.WORD_CHARS]}" for stem_ in stems)

    def tags(self, id_: int, number: int) -> list[str]:  # noqa: ARG002 -- for subclasses
        """What an entry holds besides its words."""
        return []

    def add(self, connection: Connection, id_: int, indexed: IndexedText, numbers: list[int]) -> None:
        entries = [
            {"reader": number, "id": id_, "words": [*self.tags(id_, number), *self.lexemes(indexed.terms, number)]}
            for number in numbers
        ]
        connection.execute(self._add, entries)

    def remove(self, connection: Connection, pairs: Select[Any, Any] | CompoundSelect[Any, Any]) -> None:
        """Remove the entries of these pairs of a reader's number and a message's (or passage's) id."""
        connection.execute(delete(self.table).where(tuple_(self.table.c.reader, self._of).in_(pairs)))

    def remove_all(self, connection: Connection, number: int) -> None:
        connection.execute(delete(self.table).where(self.table.c.reader == number))

    def clear(self, connection: Connection) -> None:
        connection.execute(delete(self.table))

    def has_entries(self, connection: Connection, number: int) -> bool:
        return connection.execute(select(select(self.table).where(self.table.c.reader == number).exists())).scalar_one()

    def having(self, groups: Sequence[Sequence[str]], number: int) -> TextualSelect:
        """The ids that the reader may find by one term of each group."""
        wanted = " & ".join(f"({self.query(terms, number, ' | ')})" for terms in groups)
        return self._having.bindparams(query=wanted).columns(Column("id", Integer))

    def optimize(self, connection: Connection) -> None:
        """Does nothing: the server does it itself (autovacuum)."""


class MessageWords(TsvectorWords):
    """The index of messages: each entry also holds the block of ids that its message is in ("42#00000001201"), so that
    a search can be limited to the newest messages (`store.search.word_matching`).
    """

    BLOCK_BITS: Final = 10
    """1,024 ids share a block."""
    BLOCK_DIGITS: Final = 11
    """Digits to the base of 4, of ids of 32 bits. Fewer digits name larger blocks, each of four smaller ones."""

    def __init__(self) -> None:
        super().__init__(MESSAGES, "message")

    def block(self, number: int, message_id: int, digits: int = BLOCK_DIGITS) -> str:
        """The name of the reader's block with this message; with fewer `digits` that of a larger block."""
        places = range(self.BLOCK_DIGITS - 1, self.BLOCK_DIGITS - 1 - digits, -1)
        return f"{number}#" + "".join(str(message_id >> self.BLOCK_BITS + 2 * place & 3) for place in places)

    def tags(self, id_: int, number: int) -> list[str]:
        return [self.block(number, id_)]


# The key is whether the database is PostgreSQL.
_ENGINES: Final[Mapping[bool, Fts5Words | MessageWords]] = {False: Fts5Words(MESSAGES), True: MessageWords()}


@dataclass(frozen=True, slots=True)
class Missing:
    """Entries of a conversation that are still to be made: of the messages from id `oldest` to `newest`, for the people
    from number `first` to `last`. One of the two ranges is a single message or person. Stored as JSON in a job.
    """

    oldest: int
    newest: int
    first: int
    last: int

    def behind(self, message_id: int, number: int) -> "Missing":
        """The entries that are left after this one: the newest messages come first, and the lowest numbers."""
        if self.first == self.last:
            return replace(self, newest=message_id - 1)
        return replace(self, first=number + 1)


async def indexed(database: Database, text: str) -> IndexedText:
    """The text with its index terms, prepared before a transaction; a long text is split on a thread."""
    if len(text) > READ_ASIDE:
        return await run_in_thread(indexed_text, text, stemmed=database.is_shared)
    return indexed_text(text, stemmed=database.is_shared)


def add(
    connection: Connection,
    message_id: int,
    conversation: str,
    indexed: IndexedText,
    numbers: Sequence[int],
    place: int | None = None,
) -> None:
    """Make the entries of a message for the people with these numbers: for the first, whose message it is, and some
    more at once, for the others by a job.

    `place`: the number of the place with whose team it is shared; None if it is not.
    """
    if not indexed.words or not numbers:
        return
    own, others = numbers[0], sorted(numbers[1:])
    at_once = max(min(AT_ONCE, AT_ONCE_WORDS // indexed.length) - 1, 0)
    _engine(connection).add(connection, message_id, indexed, [own, *others[:at_once], *_place_readers(place)])
    if len(others) > at_once:
        rest = Missing(message_id, message_id, others[at_once], NEWEST)
        _make_later(connection, f"{message_id}", rest, conversation)


def add_thread(connection: Connection, conversation: str, who: str, number: int) -> None:
    """Make the entries of a conversation for a person who has just joined it, those of the newest messages at once."""
    missing = Missing(0, NEWEST, number, number)
    rest = _make_some(connection, conversation, missing)
    if rest is not None:
        later = missing if isinstance(rest, str) else rest
        _make_later(connection, f"{number} {conversation}", later, conversation, who)


async def make_more(database: Database, job: Job) -> bool:
    """Make the next entries of a job and store its progress; False when all are made, or the job is no longer held."""
    result = await database.write(_make_more, job)
    while isinstance(result, str):
        result = await database.write(_make_more, job, await indexed(database, result))
    return result


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
    """Schedule a job for these entries. `who`: the person with whom the job is forgotten. It holds no words, and
    messages that are deleted before it runs get no entry.
    """
    values = {"payload": json.dumps(asdict(rest)), "run_at": _DUE, "person": who, "conversation": conversation}
    job_queue.schedule(connection, INDEXING, key, values)


def _make_some(
    connection: Connection, conversation: str, missing: Missing, ready: IndexedText | None = None
) -> Missing | str | None:
    """Make the next of these entries, for the participants of the conversation at this moment. Returns the entries that
    are left (None: none), or a long text that has to be prepared first and passed as `ready`.
    """
    found = connection.execute(
        select(message.c.id, message.c.text, message.c.length, person.c.number)
        .select_from(_WRITTEN)
        .where(message.c.conversation == conversation, message.c.id.between(missing.oldest, missing.newest))
        .where(person.c.number.between(missing.first, missing.last), message.c.length > 0)
        .order_by(message.c.id.desc(), person.c.number)
        .limit(AT_ONCE)
        .with_for_update(of=message)  # an edit meanwhile commits before, or finds these entries
    ).all()
    if not found:
        return None
    words = list(accumulate(row.length for row in found))
    batch = [row for row, so_far in zip(found, words, strict=True) if so_far <= AT_ONCE_WORDS] or found[:1]
    if batch[0].length > AT_ONCE_WORDS and (ready is None or ready.text != batch[0].text):
        return str(batch[0].text)
    ids, numbers = {row.id for row in batch}, {row.number for row in batch}
    _remove(connection, message.c.id.in_(ids), person.c.number.in_(numbers))  # an edit may have made it already
    for (id_, content), rows in groupby(batch, key=lambda row: (row.id, row.text)):
        known = ready if ready is not None and ready.text == content else _prepare(connection, content)
        if known.words:
            _engine(connection).add(connection, id_, known, [row.number for row in rows])
    if len(batch) == len(found) < AT_ONCE:
        return None
    return missing.behind(batch[-1].id, batch[-1].number)


def renew(connection: Connection, after: int) -> list[int]:
    """Rebuild the entries of the next messages after this id; returns the ids of those messages. On SQLite, where an
    entry can only be removed by its terms, which an older version made, the whole index is cleared before the first.
    """
    if after == 0 and not is_postgresql(connection):
        clear(connection)
    columns = select(*(message.c[name] for name in ("id", "conversation", "text", "length", "place")))
    batch = connection.execute(columns.where(message.c.id > after).order_by(message.c.id).limit(_BATCH)).all()
    ids = [row.id for row in batch]
    _remove_of(connection, ids)
    readers_by_conversation = {name: readers(connection, name) for name in {row.conversation for row in batch}}
    for row in batch:
        numbers = [*readers_by_conversation[row.conversation], *_place_readers(row.place)]
        if row.length and (entry := _prepare(connection, row.text)).words and numbers:
            _engine(connection).add(connection, row.id, entry, numbers)
    return ids


def count_remaining(connection: Connection, after: int) -> int:
    """The number of messages that `renew` has not reached yet."""
    return connection.execute(select(func.count()).select_from(message).where(message.c.id > after)).scalar_one()


def clear(connection: Connection) -> None:
    """Remove all entries."""
    _engine(connection).clear(connection)


def readers(connection: Connection, *conversations: str) -> list[int]:
    """The numbers of all people who wrote in one of these conversations."""
    joined = participant.join(person, person.c.id == participant.c.person)
    numbers = select(person.c.number).distinct().select_from(joined)
    return list(connection.execute(numbers.where(participant.c.conversation.in_(conversations))).scalars())


def places_of(connection: Connection, *conversations: str) -> list[int]:
    """The reader numbers of the places with whose teams messages of these conversations are shared."""
    shared = select(message.c.place).distinct().where(message.c.place.is_not(None))
    found = connection.execute(shared.where(message.c.conversation.in_(conversations))).scalars()
    return [number for place in found for number in _place_readers(place)]


def _place_readers(place: int | None) -> list[int]:
    return [] if place is None else [PLACES + place]


_READERS: Final = (
    select(person.c.number)
    .select_from(_WRITTEN)
    .where(message.c.id == bindparam("found"))
    .order_by(person.c.id != message.c.person, person.c.number)
)


def readers_of(connection: Connection, message_id: int) -> list[int]:
    """The numbers of all people who may find a message; the first is that of the message's own person."""
    return list(connection.execute(_READERS, {"found": message_id}).scalars())


def remove(connection: Connection, messages: Iterable[int]) -> None:
    """Remove all entries and embeddings of these messages."""
    ids = list(messages)
    _remove_of(connection, ids)
    connection.execute(delete(embedding).where(embedding.c.message.in_(ids)))


def change_text(
    connection: Connection, message_id: int, conversation: str, indexed: IndexedText, **values: object
) -> None:
    """Replace a message's text, its entries, and the other given columns; delete its embedding."""
    changed = update(message).where(message.c.id == message_id)
    connection.execute(changed.values(text=indexed.text, length=indexed.length, **values))  # first: this locks the row
    remove(connection, [message_id])
    place = connection.execute(select(message.c.place).where(message.c.id == message_id)).scalar_one_or_none()
    add(connection, message_id, conversation, indexed, readers_of(connection, message_id), place)


def remove_thread(connection: Connection, conversation: str, number: int) -> None:
    _remove(connection, message.c.conversation == conversation, person.c.number == number)


def remove_all(connection: Connection, number: int) -> None:
    _engine(connection).remove_all(connection, number)


def having(connection: Connection, words: list[str], number: int) -> list[int]:
    """The ids of all messages that the person with this number may find by all of these words."""
    groups = [[word] for word in words]
    return list(connection.execute(ids_having(connection, groups, number)).scalars()) if words else []


def ids_having(connection: Connection, groups: Sequence[Sequence[str]], number: int) -> TextualSelect:
    """A query for the ids of messages with one term of each of these groups, of which there is at least one."""
    return _engine(connection).having(groups, number)


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, which FTS5 keeps until then."""
    _engine(connection).optimize(connection)


def _remove_of(connection: Connection, ids: Collection[int]) -> None:
    """Remove all entries of these messages."""
    own_entries = select(person.c.number, message.c.id).select_from(_WRITTEN).where(message.c.id.in_(ids))
    shared = select(message.c.place + PLACES, message.c.id).where(message.c.id.in_(ids), message.c.place.is_not(None))
    _engine(connection).remove(connection, own_entries.union_all(shared))


def _remove(connection: Connection, *where: ColumnElement[bool]) -> None:
    _engine(connection).remove(connection, select(person.c.number, message.c.id).select_from(_WRITTEN).where(*where))


def _prepare(connection: Connection, content: str) -> IndexedText:
    return indexed_text(content, stemmed=is_postgresql(connection))


def _engine(connection: Connection) -> Fts5Words | MessageWords:
    return _ENGINES[is_postgresql(connection)]
