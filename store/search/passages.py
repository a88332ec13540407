"""What places know: documents, kept as passages, indexed in steps, and searched for a reply in one place.

Rules
  A document belongs to an audience. The audience labels of a search are conditions of the query itself, as in recall:
  first the index is asked for what stands in the ranges of those audiences, then the rows are, by the audience that
  the document has at that moment. So what was narrowed is found no more at once, whatever the index still says.
  A document is shown when all of it is indexed; then it takes the place of the one of its name, which goes. Both are
  done by a job in steps, so that no write waits for many entries, and a kill in between loses nothing.
  What falls with a place or a person falls in the transaction that forgets those.

States of a document: `NEW` while it is indexed, `KNOWN`, and `GONE` while it is removed.
"""

import heapq
import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, combinations
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    Integer,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    text,
    update,
)

from agent.memory.documents import (
    LOOK_AGAIN,
    Document,
    DocumentQuery,
    DocumentRefused,
    FoundPassage,
    LinkedPage,
    NewDocument,
    Passage,
)
from agent.records import INDEXING
from store import job_queue
from store.databases.database import is_postgresql, row_id
from store.knowledge_tables import document, passage, place
from store.rows import OF_DOCUMENT, document_of, ids_in_parameter, page_columns
from store.search.index import PASSAGES, Fts5Words, TsvectorWords
from store.search.search import Forms, fused, word_forms
from store.search.text import COMPOUND, CONTAINS, index_words, indexed_words, keywords, stem, wanted_terms, word_parts
from store.tables import person

NEW, KNOWN, GONE = "new", "known", "gone"
DOCUMENTS_MOST: Final = 1_000  # Of one audience: a list that a person can still go through
# Of one audience: as many as are searched in some hundredths of a second (`benchmarks.knowledge`).
PASSAGES_MOST: Final = 100_000
STEP: Final = 50  # Entries made in one transaction, as for messages
DROPPED: Final = 200  # Passages removed in one transaction
DOCUMENT_JOB: Final = "document "  # The keys of jobs begin with it whose payload is a document's id
_DUE: Final = datetime(1970, 1, 1, tzinfo=UTC)


# Keeping and removing.


def rows_of(new: NewDocument) -> list[dict[str, Any]]:
    """Of its passages, but for the document's id."""
    title, rows = index_words(title_of(new.name)), list[dict[str, Any]]()
    for number, one in enumerate(new.passages, 1):
        said = index_words(one.text)
        words = " ".join([*said, *title, *index_words(one.heading)])
        rows.append({"number": number, **asdict(one), "length": len(said), "words": words})
    return rows


def keep(
    connection: Connection, new: NewDocument, rows: Sequence[Mapping[str, Any]], renews: int | None = None
) -> int | DocumentRefused:
    """Store a document to be indexed, with these rows; its id. Why it is not kept, where the place is full, or does not
    know any more what it `renews`.
    """
    values = {name: getattr(new, name) for name in ("audience", "source", "channel", "person", "name", "link", "time")}
    values |= page_columns(new.web, first=True)
    if renews is not None:
        of = select(document.c.audience, document.c.source, document.c.channel, document.c.person)
        of = of.where(document.c.id == renews, document.c.state == KNOWN)  # whose it is, and of whom, at this moment
        found = connection.execute(of.with_for_update()).mappings().first()
        if found is None:
            return DocumentRefused.GONE
        values |= found
    here = document.c.audience == values["audience"]
    same = and_(here, *(document.c[name] == values[name] for name in ("channel", "address")))
    same = same if values["address"] else and_(same, document.c.name == new.name)
    others = and_(here, document.c.state != GONE, ~same)
    counted = select(func.count(), func.coalesce(func.sum(document.c.passages), 0)).where(others)
    documents, passages = connection.execute(counted).one()
    if documents >= DOCUMENTS_MOST:
        return DocumentRefused.MANY
    if passages + len(new.passages) > PASSAGES_MOST:
        return DocumentRefused.LARGE
    made = connection.execute(insert(document).values(**values, pages=new.pages, passages=len(new.passages), state=NEW))
    id_ = row_id(made)
    if rows:
        connection.execute(insert(passage), [{"document": id_, **row} for row in rows])
    _later(connection, id_)
    return id_


def work_on(connection: Connection, id_: int, dropped: Callable[[Connection], object]) -> bool:
    """Do the next step of a document that is new, was narrowed or goes; False when there is none. `dropped`: is told
    when words were deleted.
    """
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
    """This document, and the others of its name in its channel, or of its page of the web."""
    this = document.alias("this")
    same = and_(*(document.c[name] == this.c[name] for name in ("audience", "channel", "address")))
    same = and_(same, or_(document.c.address != "", document.c.name == this.c.name))
    return list(connection.execute(select(document.c.id).join(this, same).where(this.c.id == id_)).scalars())


def older(connection: Connection, id_: int) -> list[int]:
    """The versions of a document before this one that are still there."""
    return [one for one in _versions(connection, id_) if one < id_]


def remove(connection: Connection, id_: int) -> list[int]:
    """Nobody finds a document any more, nor a newer version of it that is still to be indexed: all of these."""
    _settle(connection, document.c.id == id_)
    ids = [one for one in _versions(connection, id_) if one >= id_]
    mark_gone(connection, ids)
    return ids


def _settle(connection: Connection, where: ColumnElement[bool]) -> None:
    """Wait for new versions of these that are just being kept: what follows then sees them."""
    connection.execute(select(document.c.id).where(where).order_by(document.c.id).with_for_update()).all()


def next_look(connection: Connection, now: datetime) -> Document | None:
    due = _SHOWN.where(document.c.due <= now, document.c.state == KNOWN).order_by(document.c.due, document.c.id)
    row = connection.execute(due.limit(1).with_for_update(of=document, skip_locked=True)).mappings().first()
    if row is None:
        return None
    connection.execute(update(document).where(document.c.id == row["id"]).values(due=now + LOOK_AGAIN))
    return document_of(row)


def looked(connection: Connection, id_: int, page: LinkedPage) -> None:
    connection.execute(update(document).where(document.c.id == id_).values(page_columns(page)))


def mark_gone(connection: Connection, ids: Collection[int]) -> None:
    """Nobody finds or sees these any more; their rows go in steps."""
    connection.execute(update(document).where(document.c.id.in_(ids)).values(state=GONE))
    for id_ in ids:
        _later(connection, id_)


def erase(connection: Connection, where: ColumnElement[bool], limit: int | None = None) -> int:
    """Erase the documents of which this is true, or of them `limit` passages; how many there were."""
    ids = list(connection.execute(select(document.c.id).where(where).order_by(document.c.id)).scalars())
    left = math.inf if limit is None else limit
    for id_ in ids:
        going = True
        while going and left > 0:
            going = _drop_some(connection, id_)
            left -= DROPPED
        if not going:
            job_queue.cancel(connection, INDEXING, f"{DOCUMENT_JOB}{id_}")
    if left <= 0:
        mark = update(document).where(document.c.id.in_(ids))
        connection.execute(mark.values(state=GONE))
    return len(ids)


def count(connection: Connection, where: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(document).where(where)).scalar_one()


def optimize(connection: Connection) -> None:
    """Rewrite the index without the words of removed entries, where it keeps them for a while."""
    _engine(connection).optimize(connection)


def texts_of(connection: Connection, where: ColumnElement[bool]) -> list[str]:
    """What the documents say of which this is true, their names, and where they were on the web."""
    columns = (document.c[one] for one in ("name", "address", "etag", "digest", "fault"))
    named = connection.execute(select(*columns).where(where))
    said = select(passage.c.text).join(document, document.c.id == passage.c.document).where(where)
    return [*filter(None, chain(*named)), *connection.execute(said).scalars()]


def narrow(connection: Connection, channel: str, wide: Iterable[str], own: str) -> int:
    """Let what was handed in in this channel for one of these audiences belong to `own`; how many documents."""
    there = and_(document.c.channel == channel, document.c.audience.in_(list(wide)))
    _settle(connection, there)
    ids = list(connection.execute(select(document.c.id).where(there)).scalars())
    connection.execute(update(document).where(document.c.id.in_(ids)).values(audience=own))
    for id_ in ids:
        _later(connection, id_)
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
    """Let everything be indexed by the jobs: nothing of it stands in the index."""
    connection.execute(update(passage).values(place=None))
    for id_ in connection.execute(select(document.c.id)).scalars().all():
        _later(connection, id_)


def _later(connection: Connection, id_: int) -> None:
    values = {"payload": str(id_), "run_at": _DUE, "person": "", "conversation": ""}
    job_queue.schedule(connection, INDEXING, f"{DOCUMENT_JOB}{id_}", values)


def _index_some(connection: Connection, id_: int, number: int) -> bool:
    elsewhere = or_(passage.c.place.is_(None), passage.c.place != number)
    wanted = select(passage.c.id, passage.c.words, passage.c.place).where(passage.c.document == id_, elsewhere)
    some = connection.execute(wanted.order_by(passage.c.number).limit(STEP)).all()
    if not some:
        return False
    _unindex(connection, [row.id for row in some if row.place is not None])
    for row in some:
        ready = indexed_words("", row.words.split(" "), stemmed=is_postgresql(connection))
        _engine(connection).add(connection, row.id, ready, [number])
    connection.execute(update(passage).where(passage.c.id.in_([row.id for row in some])).values(place=number))
    return True


def title_of(name: str) -> str:
    """A file's name without its ending."""
    stem_, dot, ending = name.rpartition(".")
    return stem_ if dot and stem_ and len(ending) <= 5 else name


def _drop_some(connection: Connection, id_: int) -> bool:
    some = list(connection.execute(select(passage.c.id).where(passage.c.document == id_).limit(DROPPED)).scalars())
    _unindex(connection, some)
    connection.execute(delete(passage).where(passage.c.id.in_(some)))
    if len(some) == DROPPED:
        return True
    connection.execute(delete(document).where(document.c.id == id_))
    return False


def _unindex(connection: Connection, ids: Collection[int]) -> None:
    if ids:
        standing = select(passage.c.place, passage.c.id).where(passage.c.id.in_(ids), passage.c.place.is_not(None))
        _engine(connection).remove(connection, standing)


# What is known, for those who look after it.

_SHOWN: Final = select(document, person.c.name.label("by")).outerjoin(person, person.c.id == document.c.person)


def listed(connection: Connection, audiences: frozenset[str]) -> list[Document]:
    """What is known for these audiences, the oldest first."""
    found = _SHOWN.where(document.c.audience.in_(audiences), document.c.state == KNOWN).order_by(document.c.id)
    return [document_of(row) for row in connection.execute(found).mappings()]


def opened(
    connection: Connection, id_: int, audiences: frozenset[str], limit: int
) -> tuple[Document, list[Passage]] | None:
    """One of them, with its first passages."""
    here = document.c.id == id_, document.c.audience.in_(audiences), document.c.state == KNOWN
    row = connection.execute(_SHOWN.where(*here)).mappings().first()
    if row is None:
        return None
    first = select(passage).where(passage.c.document == id_).order_by(passage.c.number).limit(limit)
    return document_of(row), [_passage(one) for one in connection.execute(first).mappings()]


def _passage(row: Mapping[Any, Any]) -> Passage:
    return Passage(row["text"], row["heading"], row["page"])


# Searching: what the engines find.

# Passages with one keyword that are looked at. Where there are more, the word says little alone, and is looked for
# together with others.
MOST: Final = 500
PAIRED: Final = 3  # So many of those common words, the most telling, are looked for together, and in pairs
CANDIDATES: Final = 96  # The best by which words stand in them, whose texts are read


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
        """For each of these the passages in which each of its groups has a word: MOST of each place at most."""
        queries = [" AND ".join(f"({self.query(words, ' OR ')})" for words in groups) for groups in sought]
        bound = {"words": json.dumps(queries), "numbers": json.dumps(list(numbers)), "most": MOST}
        found: list[list[int]] = [[] for _ in sought]
        for at, _, ids in connection.execute(self.FIND, bound):
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
        # A planner that knows nothing of a word may take all of the table to be less work than the index.
        connection.execute(select(func.set_config("enable_seqscan", "off", literal(value=True))))
        bound = {"words": queries, "most": MOST * len(numbers)}
        found: list[list[int]] = [[] for _ in sought]
        for at, ids in connection.execute(self.FIND, bound):
            found[at - 1] = list(ids)
        return found


ENGINES: Final[Mapping[bool, PassageFts5 | PassageTsvector]] = {False: PassageFts5(), True: PassageTsvector()}


def _engine(connection: Connection) -> PassageFts5 | PassageTsvector:
    return ENGINES[is_postgresql(connection)]


# Which found passages come first. Pure.
#
# Rules (measured: `benchmarks.knowledge`)
#   BM25 over the passages' texts, with rarity counted among what this search may see. A word counts as often as it
#   stands there, and less where only another form of it does (FORM). Words of the headings and of the document's name
#   count as if they stood in the text. What stands beside a passage lends it a part (NEAR) of what it lacks itself.
#   That a document has several good passages says nothing: it made long ones come first.

K1: Final = 0.9
B: Final = 0.6
FORM: Final = 0.3
ABOVE: Final = 0.5
NEAR: Final = 0.25


class _Read(NamedTuple):
    """A candidate, and how often each group of words stands in it."""

    document: int
    number: int
    length: int
    counts: Mapping[int, float]


def ranked(read: Mapping[int, _Read], weights: Mapping[int, float]) -> list[tuple[int, float]]:
    """(id, score), best first. `weights`: what each group of words tells."""
    average = sum(one.length for one in read.values()) / max(len(read), 1)
    strengths = {id_: _strengths(one, weights, average) for id_, one in read.items()}
    places = {(one.document, one.number): id_ for id_, one in read.items()}
    alone = dict[int, float]()
    for id_, one in read.items():
        held = dict(strengths[id_])
        for beside in (-1, 1):
            near = places.get((one.document, one.number + beside))
            for word, strength in strengths[near].items() if near is not None else ():
                held[word] = max(held.get(word, 0.0), NEAR * strength)
        alone[id_] = sum(held.values())
    return sorted(alone.items(), key=lambda item: (-item[1], item[0]))


def _strengths(one: _Read, weights: Mapping[int, float], average: float) -> dict[int, float]:
    norm = K1 * (1 - B + B * one.length / max(average, 1))
    return {
        word: weights[word] * count * (K1 + 1) / (count + norm) for word, count in one.counts.items() if word in weights
    }


_stem = lru_cache(20_000)(stem)
_parts = lru_cache(20_000)(word_parts)
HEAD: Final = 3  # Letters that no ending changes: words that share none with what is sought are passed over at once
# Between these stand the scripts that have letters before a word's stem: Hebrew, Arabic and their kin.
_PREFIXING: Final = ("\u0590", "\u0900")


class _Groups:
    """How often words of these groups, each the forms of a keyword, stand in texts."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        self._stems = defaultdict[str, set[int]](set)
        self._parts = defaultdict[str, set[int]](set)
        for at, forms in enumerate(groups):
            for form in forms:
                self._stems[_stem(form)].add(at)
            for term in set(wanted_terms(forms)).difference(forms):
                self._parts[term].add(at)
        self._heads = {begun[:HEAD] for begun in chain(self._stems, self._parts, *groups)}
        self._inside = sorted({term[:-1] for term in self._parts if term.endswith(CONTAINS)})
        self._known = dict[str, Mapping[int, float]]()

    def count(self, words: str, share: float, into: defaultdict[int, float]) -> None:
        """`words`: with a space between them."""
        heads, inside, each, (first, beyond) = self._heads, self._inside, words.split(" "), _PREFIXING
        near = [word for word in each if word[:HEAD] in heads or first <= word < beyond]
        if any(words.count(term) > " ".join(near).count(term) for term in inside):
            within = {word for word in each if len(word) >= COMPOUND and any(term in word for term in inside)}
            within.difference_update(near)
            near += [word for word in each if word in within]
        for word, count in Counter(near).items():
            for at, worth in self._of(word).items():
                into[at] += count * worth * share

    def _of(self, word: str) -> Mapping[int, float]:
        known = self._known.get(word)
        if known is None:
            whole = self._stems.get(_stem(word), ())
            parts = [part for part in _parts(word) if part in self._parts]
            forms = dict.fromkeys(chain.from_iterable(self._parts[part] for part in parts), FORM) if parts else {}
            known = self._known[word] = forms | dict.fromkeys(whole, 1.0) if whole else forms
        return known


def search(connection: Connection, query: DocumentQuery) -> list[FoundPassage]:
    """The best passages for all wordings, of what these audiences may find. Any text is a valid query."""
    asked = [keywords(one) for one in dict.fromkeys((query.text, *query.wordings))]
    every = list(dict.fromkeys(chain(*asked)))
    known = _known_places(connection, query.audiences)
    if not every or not known:
        return []
    forms: Forms = {word: word_forms(word) for word in every}
    groups = list(dict.fromkeys(forms[word] for word in every))
    numbers, total = [number for number, _ in known], sum(passages for _, passages in known)
    matches, weights = _matches(connection, groups, numbers, total)
    best = _candidates(matches, weights)
    audiences = sorted(query.audiences)
    read = _read(connection, best, audiences, _Groups(groups))
    wordings = [
        [groups.index(forms[word]) for word in words] for words in (asked if len(asked) == 1 else [*asked, every])
    ]
    rankings = [ranked(read, {at: weights[at] for at in some}) for some in wordings]
    fitting = [(id_, score) for id_, score in fused(rankings) if score > 0][: max(query.limit, 0)]
    bound = {"wanted": [id_ for id_, _ in fitting], "audiences": audiences}
    rows = {row["id"]: row for row in connection.execute(_BEST, bound).mappings()}
    return [_found(rows[id_], score) for id_, score in fitting if id_ in rows]


def _known_places(connection: Connection, audiences: frozenset[str]) -> list[tuple[int, int]]:
    """The places of these audiences that know something: their numbers, and how many passages each has."""
    counted = (
        select(place.c.number, func.sum(document.c.passages))
        .join(document, document.c.audience == place.c.audience)
        .where(place.c.audience.in_(audiences), document.c.state == KNOWN)
        .group_by(place.c.number)
        .order_by(place.c.number)
    )
    return [(number, int(passages)) for number, passages in connection.execute(counted)]


def _matches(
    connection: Connection, groups: Sequence[Sequence[str]], numbers: Sequence[int], total: int
) -> tuple[list[list[int]], dict[int, float]]:
    """The passages with each group of words, and what each tells: of common ones the passages with some together, and
    some others.
    """
    wanted = [wanted_terms(group) for group in groups]
    found = _engine(connection).find(connection, [[terms] for terms in wanted], numbers)
    cut = [at for at, ids in enumerate(found) if len(ids) >= MOST]
    weights = {at: _weight(ids, total, is_cut=at in cut) for at, ids in enumerate(found)}
    if len(cut) > 1:
        telling = sorted(cut, key=lambda at: -weights[at])[:PAIRED]
        together = [some for size in range(2, len(telling) + 1) for some in combinations(telling, size)]
        both = _engine(connection).find(connection, [[wanted[at] for at in some] for some in together], numbers)
        for some, ids in zip(together, both, strict=True):
            for at in some:
                found[at] += ids
    return [list(dict.fromkeys(ids)) for ids in found], weights


def _weight(ids: Sequence[int], total: int, *, is_cut: bool) -> float:
    n = float(len(ids))
    if is_cut:  # as many again in each stretch of that length
        first = ids[:MOST]
        n = min(total, max(n, MOST * total / max(max(first) - min(first), 1)))
    return math.log(1 + (max(total, n) - n + 0.5) / (n + 0.5))


def _candidates(matches: Sequence[Sequence[int]], weights: Mapping[int, float]) -> list[int]:
    sums = defaultdict[int, float](float)
    for at, ids in enumerate(matches):
        for id_ in ids:
            sums[id_] += weights[at]
    return heapq.nlargest(CANDIDATES, sums, key=lambda id_: (sums[id_], -id_))


# "+ 0": else SQLite goes through all passages of these documents for the few that are wanted.
_USABLE: Final = (
    passage.c.id.in_(ids_in_parameter("wanted")),
    (passage.c.document + 0).in_(
        select(document.c.id).where(
            document.c.state == KNOWN, document.c.audience.in_(bindparam("audiences", expanding=True))
        )
    ),
)
_OF_DOCUMENT: Final = passage.join(document, document.c.id == passage.c.document)
_CANDIDATES: Final = select(
    passage.c.id, passage.c.document, passage.c.number, passage.c.length, passage.c.words
).where(*_USABLE)
_BEST: Final = (
    select(passage, *(document.c[name] for name in OF_DOCUMENT))
    .add_columns(document.c.id.label("of"), person.c.name.label("by"))
    .select_from(_OF_DOCUMENT.outerjoin(person, person.c.id == document.c.person))
    .where(*_USABLE)
)


def _read(connection: Connection, ids: Collection[int], audiences: Sequence[str], groups: _Groups) -> dict[int, _Read]:
    read = dict[int, _Read]()
    for id_, of, number, length, held in connection.execute(_CANDIDATES, {"wanted": list(ids), "audiences": audiences}):
        counts = defaultdict[int, float](float)
        said, *above = held.rsplit(" ", max(held.count(" ") + 1 - length, 0))
        groups.count(said, 1.0, counts)
        groups.count(" ".join(above), ABOVE, counts)
        read[id_] = _Read(of, number, length, counts)
    return read


def _found(row: Mapping[Any, Any], score: float) -> FoundPassage:
    return FoundPassage(document_of({**row, "id": row["of"]}), _passage(row), row["number"], score)
