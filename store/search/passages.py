"""Documents of places: stored as passages, and indexed in steps. `store.search.passage_search` searches them.

Rules
  A document belongs to an audience. It is listed and found when all of it is indexed; then it replaces the one of its
  name, which is removed. Both are done by a job in steps, so that no write waits for many entries, and a kill in
  between loses nothing.
  Documents that are forgotten with a place or a person are erased in the transaction that forgets those.

States of a document: `NEW` while it is indexed, `KNOWN`, and `GONE` while it is removed.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain
from typing import Any, ClassVar, Final

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Index,
    Integer,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    literal_column,
    or_,
    select,
    text,
    update,
)
from sqlmodel import Field

from agent.jobs import INDEXING
from agent.memory.documents import FETCH_AGAIN, Document, DocumentRefused, LinkedPage, NewDocument, Passage
from store import job_queue
from store.databases.database import StorableText, UtcDateTime, is_postgresql, row_id
from store.file_tables import saved_file
from store.json_columns import read_ids
from store.message_tables import person, place
from store.row_mapping import document_of, page_columns
from store.schema import NEVER_REUSED, TableRow, metadata
from store.search.index import PASSAGES, Fts5Words, TsvectorWords
from store.search.text import index_words, indexed_words
from store.turn_tables import action_record, turn


class DocumentRow(TableRow, table=True):
    """A document of a place. `audience` is the label of those who may find it; `person` added it, or is "" after they
    were forgotten, or if an operator did. `state`: see `store.search.passages`. From `address` on: columns of a web
    page (see `agent.memory.documents.LinkedPage`), which is fetched again at `due`; without an address `digest` is that
    of the file that an operator added.
    """

    __table_args__: ClassVar[Any] = (
        Index("ix_document_audience", "audience", "name"),
        Index("ix_document_channel", "channel"),
        Index("ix_document_person", "person"),
        NEVER_REUSED,
    )

    id: int | None = Field(default=None, primary_key=True)
    audience: str = Field(sa_type=StorableText)
    source: str = Field(sa_type=StorableText)
    channel: str = Field(sa_type=StorableText)
    person: str = Field(sa_type=StorableText)
    name: str = Field(sa_type=StorableText)
    link: str = Field(sa_type=StorableText, default="")
    time: datetime = Field(sa_type=UtcDateTime)
    pages: int = 0
    passages: int
    state: str = Field(sa_type=StorableText)
    address: str = Field(sa_type=StorableText, default="")
    etag: str = Field(sa_type=StorableText, default="")
    modified: str = Field(sa_type=StorableText, default="")
    digest: str = Field(sa_type=StorableText, default="")
    seen: datetime | None = Field(sa_type=UtcDateTime, default=None)
    since: datetime | None = Field(sa_type=UtcDateTime, default=None)
    fault: str = Field(sa_type=StorableText, default="")
    is_own: bool = False
    due: datetime | None = Field(sa_type=UtcDateTime, default=None, index=True)


document: Final = metadata.tables["document"]


class PassageRow(TableRow, table=True):
    """A passage of a document. `number`: its position, from 1. `words`: the `length` index words of its text, then
    those of the document's name and the headings above it. `place`: in whose range of the index it is, if it is
    indexed.
    """

    __table_args__: ClassVar[Any] = (Index("ix_passage_document", "document", "number"), NEVER_REUSED)

    id: int | None = Field(default=None, primary_key=True)
    document: int = Field(foreign_key="document.id")
    number: int
    page: int | None = None
    heading: str = Field(sa_type=StorableText, default="")
    text: str = Field(sa_type=StorableText)
    words: str = Field(sa_type=StorableText)
    length: int
    place: int | None = None


passage: Final = metadata.tables["passage"]


NEW, KNOWN, GONE = "new", "known", "gone"
DOCUMENTS_MOST: Final = 1_000  # Of one audience: a list that a person can still read
# Of one audience: as many as are searched in some hundredths of a second (`benchmarks.knowledge`).
PASSAGES_MOST: Final = 100_000
STEP: Final = 50  # Entries made in one transaction, as for messages
DROPPED: Final = 200  # Passages removed in one transaction
DOCUMENT_JOB: Final = "document "  # The prefix of the keys of jobs whose payload is a document's id
_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)


# Adding and removing documents.


def rows_of(new: NewDocument) -> list[dict[str, Any]]:
    """The rows of a document's passages, without the document's id."""
    title, rows = index_words(title_of(new.name)), list[dict[str, Any]]()
    for number, part in enumerate(new.passages, 1):
        text_words = index_words(part.text)
        words = " ".join([*text_words, *title, *index_words(part.heading)])
        rows.append({"number": number, **asdict(part), "length": len(text_words), "words": words})
    return rows


def keep(
    connection: Connection, new: NewDocument, rows: Sequence[Mapping[str, Any]], renews: int | None = None
) -> int | DocumentRefused:
    """Store a document to be indexed; returns its id, or why not: the place is full, or what it `renews` is gone."""
    values = {name: getattr(new, name) for name in ("audience", "source", "channel", "person", "name", "link", "time")}
    values |= page_columns(new.web, first=True) if new.web else {"address": "", "digest": new.file_digest}
    if renews is not None:
        owner = select(document.c.audience, document.c.source, document.c.channel, document.c.person)
        owner = owner.where(document.c.id == renews, document.c.state == KNOWN)  # as they are at this moment
        found = connection.execute(owner.with_for_update()).mappings().first()
        if found is None:
            return DocumentRefused.GONE
        values |= found
    in_audience = document.c.audience == values["audience"]
    same = and_(in_audience, *(document.c[name] == values[name] for name in ("channel", "address")))
    same = same if values["address"] else and_(same, document.c.name == new.name)
    others = and_(in_audience, document.c.state != GONE, ~same)
    counted = select(func.count(), func.coalesce(func.sum(document.c.passages), 0)).where(others)
    documents, passages = connection.execute(counted).one()
    if documents >= DOCUMENTS_MOST:
        return DocumentRefused.MANY
    if passages + len(new.passages) > PASSAGES_MOST:
        return DocumentRefused.LARGE
    inserting = insert(document).values(**values, pages=new.pages, passages=len(new.passages), state=NEW)
    id_ = row_id(connection.execute(inserting))
    if rows:
        connection.execute(insert(passage), [{"document": id_, **row} for row in rows])
    _schedule_job(connection, id_)
    return id_


def work_on(connection: Connection, id_: int, dropped: Callable[[Connection], object]) -> bool:
    """Do the next step of a new, moved or removed document; False if none is left. `dropped`: called on deletion."""
    found = connection.execute(select(document).where(document.c.id == id_).with_for_update()).mappings().first()
    if found is None:
        return False
    if found["state"] == GONE:
        dropped(connection)
        return _drop_some(connection, id_)
    if _index_some(connection, id_, place_number(connection, found["audience"])):
        return True
    if found["state"] == NEW:
        connection.execute(update(document).where(document.c.id == id_).values(state=KNOWN))
        mark_gone(connection, older(connection, id_))
    return False


def _versions(connection: Connection, id_: int) -> list[int]:
    """The ids of this document and of the others with its name in its channel, or with its web address."""
    document_ = document.alias("this")
    same = and_(*(document.c[name] == document_.c[name] for name in ("audience", "channel", "address")))
    same = and_(same, or_(document.c.address != "", document.c.name == document_.c.name))
    return list(connection.execute(select(document.c.id).join(document_, same).where(document_.c.id == id_)).scalars())


def older(connection: Connection, id_: int) -> list[int]:
    """The ids of the earlier versions of a document that still exist."""
    return [version for version in _versions(connection, id_) if version < id_]


def remove(connection: Connection, id_: int) -> list[int]:
    """Mark a document, and newer versions of it that are still to be indexed, as gone; returns their ids."""
    _lock(connection, document.c.id == id_)
    ids = [version for version in _versions(connection, id_) if version >= id_]
    mark_gone(connection, ids)
    return ids


def _lock(connection: Connection, where: ColumnElement[bool]) -> None:
    """Lock these documents; this waits for new versions that are being stored, so that the next query sees them."""
    connection.execute(select(document.c.id).where(where).order_by(document.c.id).with_for_update()).all()


def next_look(connection: Connection, now: datetime) -> Document | None:
    due = _SHOWN.where(document.c.due <= now, document.c.state == KNOWN).order_by(document.c.due, document.c.id)
    row = connection.execute(due.limit(1).with_for_update(of=document, skip_locked=True)).mappings().first()
    if row is None:
        return None
    connection.execute(update(document).where(document.c.id == row["id"]).values(due=now + FETCH_AGAIN))
    return document_of(row)


def looked(connection: Connection, id_: int, page: LinkedPage) -> None:
    connection.execute(update(document).where(document.c.id == id_).values(page_columns(page)))


def mark_gone(connection: Connection, ids: Collection[int]) -> None:
    """Mark these documents as gone: they are no longer found or listed, and a job deletes their rows in steps."""
    connection.execute(update(document).where(document.c.id.in_(ids)).values(state=GONE))
    for id_ in ids:
        _drop_files(connection, id_)
        _schedule_job(connection, id_)


def erase(connection: Connection, where: ColumnElement[bool], limit: int | None = None) -> int:
    """Erase the documents that meet the condition, at most `limit` passages of them at once (the rest is marked as
    gone); returns the number of documents.
    """
    ids = list(connection.execute(select(document.c.id).where(where).order_by(document.c.id)).scalars())
    budget = math.inf if limit is None else limit
    for id_ in ids:
        has_more = True
        while has_more and budget > 0:
            has_more = _drop_some(connection, id_)
            budget -= DROPPED
        if not has_more:
            job_queue.cancel(connection, INDEXING, f"{DOCUMENT_JOB}{id_}")
    if budget <= 0:
        rest = update(document).where(document.c.id.in_(ids))
        connection.execute(rest.values(state=GONE))
    return len(ids)


def count(connection: Connection, where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(document).where(where)).scalar_one()


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, which FTS5 keeps until then."""
    engine_of(connection).optimize(connection)


def texts_of(connection: Connection, where: ColumnElement[bool]) -> list[str]:
    """The text of the documents that meet the condition, their names, and the columns of their web pages."""
    columns = (document.c[name] for name in ("name", "address", "etag", "digest", "fault"))
    named = connection.execute(select(*columns).where(where))
    passage_texts = select(passage.c.text).join(document, document.c.id == passage.c.document).where(where)
    return [*filter(None, chain(*named)), *connection.execute(passage_texts).scalars()]


def narrow(connection: Connection, where: ColumnElement[bool], own: str) -> int:
    """Move the documents that meet the condition to the audience `own`; returns their number."""
    _lock(connection, where)
    ids = list(connection.execute(select(document.c.id).where(where)).scalars())
    connection.execute(update(document).where(document.c.id.in_(ids)).values(audience=own))
    for id_ in ids:
        _drop_files(connection, id_)
        _schedule_job(connection, id_)
    return len(ids)


def place_number(connection: Connection, audience: str) -> int:
    known = select(place.c.number).where(place.c.audience == audience)
    number = connection.execute(known).scalar_one_or_none()
    if number is None:
        absent = ~select(place).where(place.c.audience == audience).exists()
        connection.execute(insert(place).from_select(["audience"], select(literal(audience)).where(absent)))
        number = connection.execute(known).scalar_one()
    return number


def index_anew(connection: Connection) -> None:
    """Schedule all documents to be indexed again, for an index without entries."""
    connection.execute(update(passage).values(place=None))
    for id_ in connection.execute(select(document.c.id)).scalars().all():
        _schedule_job(connection, id_)


def _schedule_job(connection: Connection, id_: int) -> None:
    values = {"payload": str(id_), "run_at": _DUE, "person": "", "conversation": ""}
    job_queue.schedule(connection, INDEXING, f"{DOCUMENT_JOB}{id_}", values)


def _index_some(connection: Connection, id_: int, number: int) -> bool:
    elsewhere = or_(passage.c.place.is_(None), passage.c.place != number)
    unindexed = select(passage.c.id, passage.c.words, passage.c.place).where(passage.c.document == id_, elsewhere)
    batch = connection.execute(unindexed.order_by(passage.c.number).limit(STEP)).all()
    if not batch:
        return False
    _unindex(connection, [row.id for row in batch if row.place is not None])
    for row in batch:
        ready = indexed_words("", row.words.split(" "), stemmed=is_postgresql(connection))
        engine_of(connection).add(connection, row.id, ready, [number])
    connection.execute(update(passage).where(passage.c.id.in_([row.id for row in batch])).values(place=number))
    return True


def title_of(name: str) -> str:
    """A file's name without its extension."""
    stem_, dot, ending = name.rpartition(".")
    return stem_ if dot and stem_ and len(ending) <= 5 else name


def _drop_some(connection: Connection, id_: int) -> bool:
    batch = list(connection.execute(select(passage.c.id).where(passage.c.document == id_).limit(DROPPED)).scalars())
    _unindex(connection, batch)
    connection.execute(delete(passage).where(passage.c.id.in_(batch)))
    if len(batch) == DROPPED:
        return True
    _drop_records(connection, id_)
    _drop_files(connection, id_)
    connection.execute(delete(document).where(document.c.id == id_))
    return False


def _drop_records(connection: Connection, id_: int) -> None:
    """Delete the action records of the turns whose tools quoted this document."""
    quoting = select(turn.c.id, turn.c.given_documents).where(turn.c.given_documents != literal_column("'[]'"))
    named = connection.execute(quoting.where(turn.c.given_documents.contains(str(id_))))  # and longer numbers with it
    turns = [{"quoting": row.id} for row in named if id_ in read_ids(row.given_documents)]
    if turns:
        connection.execute(delete(action_record).where(action_record.c.turn == bindparam("quoting")), turns)


def _drop_files(connection: Connection, id_: int) -> None:
    """Delete the files that code made from this document."""
    quoting = select(saved_file.c.id, saved_file.c.documents).where(saved_file.c.documents != literal_column("'[]'"))
    named = connection.execute(quoting.where(saved_file.c.documents.contains(str(id_))))  # and longer numbers with it
    files = [{"quoting": row.id} for row in named if id_ in read_ids(row.documents)]
    if files:
        connection.execute(delete(saved_file).where(saved_file.c.id == bindparam("quoting")), files)


def _unindex(connection: Connection, ids: Collection[int]) -> None:
    if ids:
        indexed = select(passage.c.place, passage.c.id).where(passage.c.id.in_(ids), passage.c.place.is_not(None))
        engine_of(connection).remove(connection, indexed)


# Listing documents.

_SHOWN: Final = select(document, person.c.name.label("by")).outerjoin(person, person.c.id == document.c.person)


def listed(connection: Connection, audiences: frozenset[str]) -> list[Document]:
    """The documents of these audiences, the oldest first."""
    found = _SHOWN.where(document.c.audience.in_(audiences), document.c.state == KNOWN).order_by(document.c.id)
    return [document_of(row) for row in connection.execute(found).mappings()]


def opened(
    connection: Connection, id_: int, audiences: frozenset[str], limit: int
) -> tuple[Document, list[Passage]] | None:
    """One document of these audiences, with its first passages."""
    readable = document.c.id == id_, document.c.audience.in_(audiences), document.c.state == KNOWN
    row = connection.execute(_SHOWN.where(*readable)).mappings().first()
    if row is None:
        return None
    first = select(passage).where(passage.c.document == id_).order_by(passage.c.number).limit(limit)
    return document_of(row), [passage_of(passage_row) for passage_row in connection.execute(first).mappings()]


def passage_of(row: Mapping[Any, Any]) -> Passage:
    return Passage(row["text"], row["heading"], row["page"])


# The engines of the index.

# The passages with one keyword that are read. A more common word says little alone, and is searched together with
# others.
MATCH_LIMIT: Final = 500


_SHIFT: Final = Fts5Words.SHIFT


class PassageFts5(Fts5Words):
    FIND: Final = text(
        f"""
        SELECT word.key, place.value,
          (SELECT json_group_array(id) FROM
            (SELECT rowid & {Fts5Words.ID_BITS} AS id FROM {PASSAGES}
             WHERE {PASSAGES} MATCH word.value
               AND rowid BETWEEN place.value << {_SHIFT} AND place.value << {_SHIFT} | {Fts5Words.ID_BITS}
             ORDER BY rowid LIMIT :most)) AS found
        FROM json_each(:words) AS word CROSS JOIN json_each(:numbers) AS place
        """  # noqa: S608 -- of constants
    )

    def __init__(self) -> None:
        super().__init__(PASSAGES)

    def find(
        self, connection: Connection, sought: Sequence[Sequence[Sequence[str]]], numbers: Sequence[int]
    ) -> list[list[int]]:
        """For each item of `sought`, the passages with a word of each group: up to MATCH_LIMIT per place."""
        queries = [" AND ".join(f"({self.query(words, ' OR ')})" for words in groups) for groups in sought]
        parameters = {"words": json.dumps(queries), "numbers": json.dumps(list(numbers)), "most": MATCH_LIMIT}
        found: list[list[int]] = [[] for _ in sought]
        for at, _, ids in connection.execute(self.FIND, parameters):
            found[at] += json.loads(ids)
        return found


class PassageTsvector(TsvectorWords):
    FIND: Final = text(
        f"""
        SELECT word.place,
          (SELECT coalesce(array_agg(passage), '{{}}') FROM
            (SELECT passage FROM {PASSAGES} WHERE words @@ word.query::tsquery LIMIT :most) AS held)
        FROM unnest(:words) WITH ORDINALITY AS word (query, place)
        """  # noqa: S608 -- of constants
    ).bindparams(bindparam("words", type_=ARRAY(Text)), bindparam("most", type_=Integer))

    def __init__(self) -> None:
        super().__init__(PASSAGES, "passage")

    def find(
        self, connection: Connection, sought: Sequence[Sequence[Sequence[str]]], numbers: Sequence[int]
    ) -> list[list[int]]:
        queries = [
            " | ".join(
                "({})".format(" & ".join(f"({self.query(words, number, ' | ')})" for words in groups))
                for number in numbers
            )
            for groups in sought
        ]
        # Without statistics of a word the planner may prefer a sequential scan to the index.
        connection.execute(select(func.set_config("enable_seqscan", "off", literal(value=True))))
        parameters = {"words": queries, "most": MATCH_LIMIT * len(numbers)}
        found: list[list[int]] = [[] for _ in sought]
        for at, ids in connection.execute(self.FIND, parameters):
            found[at - 1] = list(ids)
        return found


ENGINES: Final[Mapping[bool, PassageFts5 | PassageTsvector]] = {False: PassageFts5(), True: PassageTsvector()}


def engine_of(connection: Connection) -> PassageFts5 | PassageTsvector:
    return ENGINES[is_postgresql(connection)]
