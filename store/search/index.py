"""The full-text index: one entry for each message and each person who may find it, on either engine.

Rules
  Who may find a message: everybody who wrote in its conversation. A search reads the person's own entries and nobody
  else's.
  The index keeps the words that it was given, so a removal is exact even after Python's Unicode tables have changed.
  Words arrive ready (see `store.search.text`); the engines only cut English endings, both in the same way. The parts
  of words, by which other forms are found, are added here: nobody else sees them, and on SQLite they are not kept, but
  made again of the words that are.
  Nobody's write waits for many entries. Whose a message is finds it at once, so that they can have it forgotten. What a
  long thread has for somebody who joins it, and a message for the last of many readers, a job makes in steps, each
  with what stands then and for who is there then.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, count, groupby, takewhile
from typing import Any, Final, TypeAlias

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
    func,
    literal,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy import table as table_named

from agent.memory.audience import NOWHERE
from agent.records import INDEXING, Job
from store import job_queue
from store.databases.database import Database, StorableText, aside, in_order, is_postgresql
from store.search.text import PARAMETERS, IndexedText, Range, SearchQuery, entry_terms, indexed_text, stem, wanted_terms
from store.tables import embedding, message, participant, person

NAME: Final = "message_index"
TERMS: Final = 3
"""Which terms of a word an entry has. Counted up when others are made, or kept elsewhere: the next start makes all
entries anew."""
_BATCH: Final = 500
"""Messages of which entries are made anew in one transaction: tenths of a second, and little memory."""
AT_ONCE: Final = 50
"""Entries made in one transaction while others wait to write: a few milliseconds. A job makes the rest of them."""
AT_ONCE_WORDS: Final = 10_000
"""Words in these entries together, for those of long messages take as many times longer."""
READ_ASIDE: Final = 20_000
"""Characters of which the words take more than some milliseconds."""
NEWEST: Final = (1 << 31) - 1
"""No message and no person has a higher number."""
MOST: Final = 500
"""Matches of one keyword that are looked at, the newest. A word that common says little; all the rarer words count."""

_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When a job may run that waits for nothing; the order of such jobs is that in which they came."""
_WRITTEN: Final = message.join(participant, participant.c.conversation == message.c.conversation).join(
    person, person.c.id == participant.c.person
)
"""Each message with each person who may find it."""

Match: TypeAlias = tuple[int, bool, int]
"""A message that holds a keyword: its id, whether a person wrote it, its length. There are thousands in a search."""

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


class Fts5:
    """On SQLite: the row id of an entry is the person's number and the message's id, so a person's entries are one
    range. FTS5 only splits at blanks and cuts English endings (Porter).

    It keeps no text itself: what it kept was four fifths of the index, and a third of that were parts of words. So it
    has to be told what an entry held in order to remove it; its words stand in a table of their own.
    """

    SHIFT: Final = 32
    MESSAGE_BITS: Final = (1 << SHIFT) - 1
    ENTRIES: Final = table_named(NAME, column("rowid"), column("body"))
    KEPT: Final = table_named(f"{NAME}_kept", column("entry", Integer), column("words", StorableText))
    KEEP: Final = text("INSERT INTO message_index_kept (entry, words) VALUES (:entry, :words)")
    ADD: Final = text("INSERT INTO message_index (rowid, body) VALUES (:entry, :body)")
    REMOVE: Final = text("INSERT INTO message_index (message_index, rowid, body) VALUES ('delete', :entry, :body)")
    READER: Final[Sequence[ColumnElement[Any]]] = (literal(0),)
    """What a search asks first besides: the newest entry, which nothing needs, as they are found in their order."""
    # One JSON array of matches for each keyword, in their order: thousands of rows would cost more than the search.
    MATCHES: Final = text(
        f"""
        SELECT
          (SELECT json_group_array(json_array(id, author = 'person', length)) FROM
            (SELECT message.id, message.author, message.length
             FROM message_index CROSS JOIN message ON message.id = message_index.rowid & {MESSAGE_BITS}
             WHERE message_index MATCH word.value AND message_index.rowid BETWEEN :first AND :last AND {_VISIBLE}
             ORDER BY message_index.rowid DESC LIMIT :most)) AS found
        FROM json_each(:words) AS word
        ORDER BY word.key
        """  # noqa: S608 -- of constants, as those below
    ).bindparams(*PARAMETERS)
    HAVING: Final = text(
        f"SELECT rowid & {MESSAGE_BITS} AS message FROM message_index"  # noqa: S608 -- of constants
        " WHERE message_index MATCH :query AND rowid BETWEEN :first AND :last"
    )
    HOLDING: Final = text(
        f"""
        SELECT count(DISTINCT message_index.rowid)
        FROM json_each(:readers) AS reader
        CROSS JOIN json_each(:queries) AS wanted
        CROSS JOIN message_index ON message_index MATCH wanted.value
          AND message_index.rowid BETWEEN reader.value << {SHIFT} AND reader.value << {SHIFT} | {MESSAGE_BITS}
        LEFT JOIN message ON message.id = message_index.rowid & {MESSAGE_BITS}
        WHERE {_FALLEN}
        """  # noqa: S608 -- of constants
    ).bindparams(*_OF_PERSON)

    def entries_of(self, number: int) -> dict[str, int]:
        """The first and the last row id that a person's entries may have."""
        return {"first": number << self.SHIFT, "last": number << self.SHIFT | self.MESSAGE_BITS}

    def query(self, words: Iterable[str], joint: str) -> str:
        """For entries with these words, which are plain text; `joint`: " " for all of them, " OR " for any."""
        return joint.join('"' + word.replace('"', '""') + '"' for word in words)

    def add(self, connection: Connection, message_id: int, said: IndexedText, numbers: list[int]) -> None:
        entries = [number << self.SHIFT | message_id for number in numbers]
        kept, body = " ".join(said.words), " ".join(said.terms)
        connection.execute(self.KEEP, [{"entry": entry, "words": kept} for entry in entries])
        connection.execute(self.ADD, [{"entry": entry, "body": body} for entry in entries])

    def remove(self, connection: Connection, pairs: Select[Any, Any]) -> None:
        number, message_id = pairs.subquery().c
        entry = number.bitwise_lshift(self.SHIFT).bitwise_or(message_id)
        self._remove(connection, self.KEPT.c.entry.in_(select(entry)))

    def remove_all(self, connection: Connection, number: int) -> None:
        self._remove(connection, self._of_person(number))

    def clear(self, connection: Connection) -> None:
        connection.execute(text("INSERT INTO message_index (message_index) VALUES ('delete-all')"))
        connection.execute(delete(self.KEPT))

    def _remove(self, connection: Connection, where: ColumnElement[bool]) -> None:
        """FTS5 takes the terms of a removed entry out of its lists by what it is told that they were."""
        theirs, last = select(self.KEPT).where(where).order_by(self.KEPT.c.entry).limit(_BATCH), -1
        while some := connection.execute(theirs.where(self.KEPT.c.entry > last)).all():
            last = some[-1].entry
            bodies = [{"entry": row.entry, "body": " ".join(entry_terms(row.words.split(" ")))} for row in some]
            connection.execute(self.REMOVE, bodies)
            connection.execute(delete(self.KEPT).where(self.KEPT.c.entry.in_([row.entry for row in some])))

    def has_entries(self, connection: Connection, number: int) -> bool:
        return connection.execute(select(select(self.KEPT).where(self._of_person(number)).exists())).scalar_one()

    def _of_person(self, number: int) -> ColumnElement[bool]:
        first, last = self.entries_of(number).values()
        return self.KEPT.c.entry.between(first, last)

    def matches(self, connection: Connection, sought: SearchQuery, _among: Range) -> list[list[Match]]:
        words = json.dumps([self.query(words, " OR ") for words in sought.words])
        bound = {**sought.bound, **self.entries_of(sought.number), "words": words, "most": MOST}
        return [json.loads(some) for (some,) in connection.execute(self.MATCHES, bound)]

    def having(self, words: list[str], number: int) -> TextualSelect:
        bound = {"query": self.query(words, " "), **self.entries_of(number)}
        return self.HAVING.bindparams(**bound).columns(Column("message", Integer))

    def holding(
        self, connection: Connection, texts: list[list[str]], numbers: list[int], person: str, conversation: str | None
    ) -> int:
        queries, readers_ = json.dumps([self.query(words, " ") for words in texts]), json.dumps(numbers)
        bound = {"queries": queries, "readers": readers_, "person": person, "conversation": conversation}
        return connection.execute(self.HOLDING, bound).scalar_one()

    def optimize(self, connection: Connection) -> None:
        connection.execute(text("INSERT INTO message_index (message_index) VALUES ('optimize')"))


class Tsvector:
    """On PostgreSQL: a table of stored tsvectors under one GIN index.

    Each word carries the number of the person who may find it ("42:boat"), so that the index itself holds a list of the
    messages of each person for each word. That needs no extension (btree_gin is not everywhere), and is less to read
    than everybody's messages with a common word. The tsvectors are built of ready words: PostgreSQL's own parsers and
    dictionaries differ by locale and version, drop stop words, and cannot split CJK. What does not fit is left out: a
    tsvector has less than 1 MiB, a word of it less than 2 KiB.

    GIN finds in no order: of somebody who wrote 100,000 messages it gives 80,000 with a common word, and each would be
    fetched to keep the newest 500. So each entry also holds the block of ids that its message is in ("42#00000001201"),
    and a common word is looked for in the newest blocks alone, as far back as it takes: GIN skips what is in none.
    Rows are read by the hundred, so they are kept short: the tsvectors stand apart (see revision r0006).
    """

    WORD_CHARS: Final = 255
    """At most four bytes each, so a word with its number stays below 2 KiB."""
    ENTRY_BYTES: Final = 900_000
    BLOCK_BITS: Final = 10
    """1,024 ids share a block."""
    BLOCK_DIGITS: Final = 11
    """To the base of 4, of ids of 32 bits. The first of them name larger blocks, each of four."""
    BLOCKS: Final = 8
    """At most one more name a stretch: each is compared with each message there."""
    STRETCH: Final = 2 * MOST
    """Messages in the shortest stretch; each next one has twice as many."""
    SURELY: Final = MOST + MOST // 2
    """So many have to be expected in a longer one: a sample errs, and what is read there in vain is read once more."""
    ENTRIES: Final = table_named(NAME, column("reader", Integer), column("message", Integer), column("words"))
    READER: Final[Sequence[ColumnElement[Any]]] = (
        select(func.coalesce(func.max(ENTRIES.c.message), 0))
        .where(ENTRIES.c.reader == select(person.c.number).where(person.c.id == bindparam("person")).scalar_subquery())
        .scalar_subquery(),
        func.set_config("plan_cache_mode", "force_generic_plan", literal(value=True)),
    )
    """The newest entry; and that this search's statements are planned once, whatever the values: it takes as long."""
    ADD: Final = text(
        "INSERT INTO message_index (reader, message, words) VALUES (:reader, :message, array_to_tsvector(:words))"
    ).bindparams(
        bindparam("reader", type_=Integer), bindparam("message", type_=Integer), bindparam("words", type_=ARRAY(Text))
    )
    # How common a word is, the shortest stretch tells; longer ones with too few by that are passed over. Any stretch
    # with enough that may be seen has the newest, and so has all of it: which one answers is only a matter of time.
    # Words and stretch are two conditions: GIN passes over what one of them lacks. Of one query with both it weighs
    # each entry, which takes three times as long. Arrays between the steps and OFFSET keep the planner to them.
    MATCHES: Final = text(
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
        """  # noqa: S608 -- of constants
    ).bindparams(
        *(bindparam(name, type_=ARRAY(Text)) for name in ("words", "stretches")),
        *(bindparam("sizes", type_=ARRAY(Integer)), bindparam("most", type_=Integer), *PARAMETERS),
    )
    HAVING: Final = text(
        "SELECT message FROM message_index AS entry WHERE entry.words @@ (:query)::tsquery"
    ).bindparams(bindparam("query", type_=Text))
    HOLDING: Final = text(
        f"""
        SELECT count(DISTINCT (entry.reader, entry.message))
        FROM unnest(:queries) AS wanted (query)
        JOIN message_index AS entry ON entry.words @@ wanted.query::tsquery
        LEFT JOIN message ON message.id = entry.message
        WHERE {_FALLEN}
        """  # noqa: S608 -- of constants
    ).bindparams(bindparam("queries", type_=ARRAY(Text)), *_OF_PERSON)

    def query(self, words: Iterable[str], number: int, joint: str) -> str:
        """A tsquery for the person's entries with these words, which are plain text; `joint`: " & " or " | "."""
        escaped = (
            lexeme.replace("\\", "\\\\").replace("'", "''") for lexeme in self._lexemes(map(stem, words), number)
        )
        return joint.join(f"'{lexeme}'" for lexeme in escaped)

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

    def block(self, number: int, message_id: int, digits: int = BLOCK_DIGITS) -> str:
        """The name of the person's block with this message, or with fewer `digits` of a larger one."""
        places = range(self.BLOCK_DIGITS - 1, self.BLOCK_DIGITS - 1 - digits, -1)
        return f"{number}#" + "".join(str(message_id >> self.BLOCK_BITS + 2 * place & 3) for place in places)

    def lexemes(self, stems: Iterable[str], number: int) -> list[str]:
        """What a tsvector holds for the person: each once, as many as fit."""
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

    def add(self, connection: Connection, message_id: int, said: IndexedText, numbers: list[int]) -> None:
        entries = [
            {
                "reader": number,
                "message": message_id,
                "words": [self.block(number, message_id), *self.lexemes(said.terms, number)],
            }
            for number in numbers
        ]
        connection.execute(self.ADD, entries)

    def remove(self, connection: Connection, pairs: Select[Any, Any]) -> None:
        entry = tuple_(self.ENTRIES.c.reader, self.ENTRIES.c.message)
        connection.execute(delete(self.ENTRIES).where(entry.in_(pairs)))

    def remove_all(self, connection: Connection, number: int) -> None:
        connection.execute(delete(self.ENTRIES).where(self.ENTRIES.c.reader == number))

    def clear(self, connection: Connection) -> None:
        connection.execute(delete(self.ENTRIES))

    def has_entries(self, connection: Connection, number: int) -> bool:
        return connection.execute(
            select(select(self.ENTRIES).where(self.ENTRIES.c.reader == number).exists())
        ).scalar_one()

    def matches(self, connection: Connection, sought: SearchQuery, among: Range) -> list[list[Match]]:
        queries = [self.query(words, sought.number, " | ") for words in sought.words]
        stretches = self.stretches(sought.number, among)
        ends = {"stretches": list(stretches), "sizes": list(stretches.values())}
        found = connection.execute(self.MATCHES, {**sought.bound, **ends, "words": queries, "most": MOST})
        return [list(zip(ids, *more, strict=True)) if ids else [] for ids, *more in found]

    def having(self, words: list[str], number: int) -> TextualSelect:
        return self.HAVING.bindparams(query=self.query(words, number, " & ")).columns(Column("message", Integer))

    def holding(
        self, connection: Connection, texts: list[list[str]], numbers: list[int], person: str, conversation: str | None
    ) -> int:
        queries = [self.query(words, number, " & ") for words in texts for number in numbers]
        bound = {"queries": queries, "person": person, "conversation": conversation}
        return connection.execute(self.HOLDING, bound).scalar_one()

    def optimize(self, connection: Connection) -> None:
        """The server does it by itself (autovacuum)."""


ENGINES: Final[Mapping[bool, Fts5 | Tsvector]] = {False: Fts5(), True: Tsvector()}
"""By whether it is PostgreSQL."""


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


def add(connection: Connection, message_id: int, conversation: str, said: IndexedText, numbers: Sequence[int]) -> None:
    """Let the people with these numbers find a message: the first of them, whose it is, at once, as some more."""
    if not said.words or not numbers:
        return
    own, others = numbers[0], sorted(numbers[1:])
    at_once = max(min(AT_ONCE, AT_ONCE_WORDS // said.length) - 1, 0)
    _engine(connection).add(connection, message_id, said, [own, *others[:at_once]])
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
    columns = select(message.c.id, message.c.conversation, message.c.text, message.c.length).order_by(message.c.id)
    some = connection.execute(columns.where(message.c.id > after).limit(_BATCH)).all()
    ids = [row.id for row in some]
    _remove(connection, message.c.id.in_(ids))
    theirs = {name: readers(connection, name) for name in {row.conversation for row in some}}
    for row in some:
        if row.length and (said := _read(connection, row.text)).words and theirs[row.conversation]:
            _engine(connection).add(connection, row.id, said, theirs[row.conversation])
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


def readers_of(connection: Connection, message_id: int) -> list[int]:
    """The numbers of everybody who may find a message; the first is that of the person whose it is."""
    numbers = select(person.c.number).select_from(_WRITTEN).where(message.c.id == message_id)
    return list(connection.execute(numbers.order_by(person.c.id != message.c.person, person.c.number)).scalars())


def remove(connection: Connection, messages: Iterable[int]) -> None:
    """Let nobody find these messages, by their words or by their meaning."""
    ids = list(messages)
    _remove(connection, message.c.id.in_(ids))
    connection.execute(delete(embedding).where(embedding.c.message.in_(ids)))


def change_text(
    connection: Connection, message_id: int, conversation: str, said: IndexedText, **values: object
) -> None:
    """Put other words in place of a message's, to be found by them from now on; and these values of its row."""
    changed = update(message).where(message.c.id == message_id)
    connection.execute(changed.values(text=said.text, length=said.length, **values))  # first: it is held from here on
    remove(connection, [message_id])
    add(connection, message_id, conversation, said, readers_of(connection, message_id))


def remove_thread(connection: Connection, conversation: str, number: int) -> None:
    _remove(connection, message.c.conversation == conversation, person.c.number == number)


def remove_all(connection: Connection, number: int) -> None:
    _engine(connection).remove_all(connection, number)


def matches(connection: Connection, sought: SearchQuery, among: Range) -> list[list[Match]]:
    """For each keyword the person's messages with it that the query may see; of a common one the newest."""
    wanted = replace(sought, words=tuple(map(wanted_terms, sought.words)))
    return _engine(connection).matches(connection, wanted, among)


def having(connection: Connection, words: list[str], number: int) -> list[int]:
    """The ids of all messages that the person with this number may find by all of these words."""
    return list(connection.execute(ids_having(connection, words, number)).scalars()) if words else []


def ids_having(connection: Connection, words: list[str], number: int) -> TextualSelect:
    """The same to be selected from, of one word or more."""
    return _engine(connection).having(words, number)


def holding(
    connection: Connection, texts: list[list[str]], numbers: list[int], *, person: str, conversation: str | None
) -> int:
    """How many entries of these people hold all the words of one of `texts`, though their message is gone or is what
    the person said, or was answered, in the conversation (None: anywhere).
    """
    engine = _engine(connection)
    asked = [number for number in numbers if engine.has_entries(connection, number)]
    wanted = [words for words in texts if words]
    return engine.holding(connection, wanted, asked, person, conversation) if asked and wanted else 0


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, where it keeps them for a while."""
    _engine(connection).optimize(connection)


def _remove(connection: Connection, *where: ColumnElement[bool]) -> None:
    _engine(connection).remove(connection, select(person.c.number, message.c.id).select_from(_WRITTEN).where(*where))


def _read(connection: Connection, said: str) -> IndexedText:
    return indexed_text(said, stemmed=is_postgresql(connection))


def _engine(connection: Connection) -> Fts5 | Tsvector:
    return ENGINES[is_postgresql(connection)]
