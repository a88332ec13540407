"""The words by which a fact is found, and the statement parsed from its value: both made once, when it is written.

Theory of operation. A question uses the facts that its words lead to, the binding ones and the newest; a write is
compared with the facts that share a word or a key with it. The database selects both from one row for each word of a
fact (`fact_term`), so that neither takes longer for a person with many facts. A word leads to its newest facts only;
one that leads to fewer facts counts for more.

The statement of a value (`agent.memory.statements.read_statement`) is stored beside it, with the version of the reader.
When that changes, the next start parses all values again.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa
from sqlmodel import Field

from agent.memory.facts import plain_key
from agent.memory.statements import READER, WORD, Statement, is_function_word, read_statement, stem
from store.databases.database import StorableText
from store.json_lists import json_rows
from store.memory_tables import fact
from store.schema import TableRow, metadata


class FactTermRow(TableRow, table=True):
    """A word by which a fact is found; deleted with the fact."""

    person: str = Field(sa_type=StorableText, primary_key=True)
    term: str = Field(sa_type=StorableText, primary_key=True)
    fact: int = Field(primary_key=True, foreign_key="fact.id", index=True)


fact_term: Final = metadata.tables["fact_term"]


MAX_TERMS: Final = 64  # Of one fact: a longer text is found by its beginning
MAX_ASKED: Final = 16  # Words of a question or a new fact that are looked up: the longest, which are the most specific
ASKED_CHARS: Final = 4_000  # Of a question, for that: a page. The rest is mostly pasted.
PER_TERM: Final = 100  # The newest facts that one word leads to
KEY: Final = "key:"  # The prefix of the term of a fact's whole key; no word contains a colon
# The prefix of the term of statements that contradict each other without a common word: where a person lives.
CLASS: Final = "class:"
WHOLE: Final = "is:"  # The prefix of the term of a value without words, such as an emoji
_BATCH: Final = 500


class Lookup:
    """A query for the newest facts of the person `whose` to which each of some terms leads and that meet the conditions
    `where`: one statement for all terms, because a statement costs more than the rows that it finds.
    """

    def __init__(self, *where: sa.ColumnElement[bool]) -> None:
        self._where = where
        # By the number of terms: building a statement takes longer than running it.
        self._statements: dict[int, sa.CompoundSelect[str]] = {}

    def statement(self, terms: int) -> sa.CompoundSelect[str]:
        """The statement for a number of terms."""
        if terms not in self._statements:
            self._statements[terms] = sa.union_all(*map(self._of_term, range(terms)))
        return self._statements[terms]

    def _of_term(self, number: int) -> sa.Select[str]:
        newest = (
            sa.select(fact_term.c.fact)
            .join(fact, fact.c.id == fact_term.c.fact)
            .where(fact_term.c.person == sa.bindparam("whose"), fact_term.c.term == sa.bindparam(f"term{number}"))
            .where(*self._where)
            .order_by(fact_term.c.fact.desc())
            .limit(PER_TERM)
            .subquery(f"of_term_{number}")
        )
        return sa.select(json_rows(newest.c.fact))


def terms(key: str, value: str, statement: Statement) -> list[str]:
    """The terms that lead to a fact; `statement`: that of its value."""
    found = list(dict.fromkeys([*_compared(statement), *_stems(f"{key}\n{value}")]))[:MAX_TERMS]
    return [*key_terms([key]), *(found or [f"{WHOLE}{value.strip()[:100]}"])]


def asked_terms(text: str) -> list[str]:
    beginning = text[:ASKED_CHARS]
    return sorted(
        {*_compared(read_statement(beginning)), *_stems(beginning)}, key=lambda word: (len(word), word), reverse=True
    )[:MAX_ASKED]


def written_terms(key: str, value: str, statement: Statement) -> list[str]:
    """The terms of a new fact to look up: first those by which two statements are compared."""
    return [*key_terms([key]), *dict.fromkeys([*_compared(statement), *terms("", value, statement)])][: 2 * MAX_ASKED]


def key_terms(keys: Iterable[str]) -> list[str]:
    """The terms of whole keys, as `agent.memory.facts.same_key` compares them."""
    return [f"{KEY}{plain}" for key in keys if (plain := plain_key(key))]


def reading(statement: Statement) -> dict[str, Any]:
    return {"reading": _encoded(statement), "reader": READER}


class KeptReading:
    """The stored statement of a value, decoded only when it is needed, which is seldom."""

    __slots__ = ("_kept", "_statement", "_value")

    def __init__(self, value: str, encoded: str) -> None:
        self._value = value
        self._kept = encoded
        self._statement: Statement | None = None

    @property
    def content(self) -> frozenset[str]:
        return _set(self._kept.split("\n", _CONTENT + 1)[_CONTENT])

    @property
    def statement(self) -> Statement:
        if self._statement is None:
            self._statement = _decoded(self._value, self._kept)
        return self._statement


def kept_reading(value: str, encoded: str, reader: int) -> KeptReading | None:
    """The stored statement of a value; None if another version of the reader made it."""
    return KeptReading(value, encoded) if reader == READER else None


def add(connection: sa.Connection, id_: int, person: str, words: Iterable[str]) -> None:
    rows = [{"person": person, "term": term, "fact": id_} for term in dict.fromkeys(words)]
    connection.execute(sa.insert(fact_term), rows)


def remove(connection: sa.Connection, ids: Collection[int]) -> None:
    connection.execute(sa.delete(fact_term).where(fact_term.c.fact.in_(ids)))


def leading_to(
    connection: sa.Connection, lookup: Lookup, terms: Sequence[str], values: Mapping[str, object]
) -> list[int]:
    """The ids of facts that these terms lead to, rarest words first, then the newest. `values`: of the lookup."""
    if not terms:
        return []
    parameters = {f"term{number}": term for number, term in enumerate(terms)}
    weight = dict[int, float]()
    for found in connection.execute(lookup.statement(len(terms)), {**values, **parameters}).scalars():
        ids = list(chain.from_iterable(json.loads(found)))
        for id_ in ids:
            weight[id_] = weight.get(id_, 0.0) + 1 / len(ids)
    return [id_ for _, id_ in sorted(((its_weight, id_) for id_, its_weight in weight.items()), reverse=True)]


def renew(connection: sa.Connection, after: int) -> list[int]:
    """Parse the next facts after this id again that another version of the reader has parsed; returns their ids."""
    columns = sa.select(fact.c.id, fact.c.person, fact.c.key, fact.c.value).where(_read_by_another(after))
    batch = connection.execute(columns.order_by(fact.c.id).limit(_BATCH)).all()
    ids = [row.id for row in batch]
    remove(connection, ids)
    for row in batch:
        statement = read_statement(row.value, about=row.key)
        add(connection, row.id, row.person, terms(row.key, row.value, statement))
        connection.execute(sa.update(fact).where(fact.c.id == row.id).values(reading(statement)))
    return ids


def count_remaining(connection: sa.Connection, after: int) -> int:
    """The number of facts that `renew` has not reached yet."""
    return connection.execute(sa.select(sa.func.count()).select_from(fact).where(_read_by_another(after))).scalar_one()


def _read_by_another(after: int) -> sa.ColumnElement[bool]:
    return sa.and_(fact.c.id > after, fact.c.reader != READER)


def _stems(text: str) -> list[str]:
    words = (word for word in WORD.findall(text) if not is_function_word(word) and (len(word) > 1 or word.isdigit()))
    return list(dict.fromkeys(map(stem, words)))


def _compared(statement: Statement) -> list[str]:
    """The words by which two statements can be compared, and the classes of those that need no common word."""
    words = statement.content | statement.subject | statement.identifiers | frozenset[str]().union(*statement.displaced)
    return [*sorted(words), *([f"{CLASS}home"] if statement.resides or statement.settles else [])]


_SETS: Final = ("subject", "content", "names", "said", "identifiers")
_CONTENT: Final = _SETS.index("content")
_TEXTS: Final = ("about", "verb")
_FLAGS: Final = tuple(field.name for field in fields(Statement) if field.type is bool)


def _encoded(statement: Statement) -> str:
    """One line for each part, with tabs between words: words contain neither, and JSON takes twice as long."""
    sets = ("\t".join(sorted(getattr(statement, name))) for name in _SETS)
    values = "\t".join(f"{kind}={value}" for kind, value in sorted(statement.values))
    displaced = "\v".join("\t".join(sorted(words)) for words in statement.displaced)
    flags = "".join("01"[getattr(statement, name)] for name in _FLAGS)
    return "\n".join([*sets, *(getattr(statement, name) for name in _TEXTS), values, displaced, flags])


def _decoded(value: str, encoded: str) -> Statement:
    subject, content, names, said, identifiers, about, verb, values, displaced, flags = encoded.split("\n")
    pairs = (pair.partition("=") for pair in values.split("\t")) if values else ()
    return Statement(
        text=value,
        subject=_set(subject),
        content=_set(content),
        values=frozenset((kind, value_) for kind, _, value_ in pairs),
        names=_set(names),
        said=_set(said),
        identifiers=_set(identifiers),
        about=about,
        verb=verb,
        displaced=tuple(map(_set, displaced.split("\v"))) if displaced else (),
        **_flags_of(flags),
    )


@lru_cache(256)
def _flags_of(flags: str) -> Mapping[str, bool]:
    """Cached, because most facts have one of a few combinations."""
    return dict(zip(_FLAGS, (flag == "1" for flag in flags), strict=True))


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split("\t")) if words else frozenset()
