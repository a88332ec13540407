"""By which words a fact is found, and how its value was read: made once, when it is written.

Theory of operation. A question draws on the facts that its words lead to, on the limits that bind and on the newest;
a write is compared with the facts that share a word or a key with it. Both are chosen by the database, from one row
for each word of a fact (`fact_term`), so that neither takes longer because somebody has many facts. A word leads to
its newest facts only; one that leads to fewer counts for more, because it tells more.

What a value says (`agent.memory.statements.read`) is kept beside it, with the version of the reader. After that has
changed, all of them are read anew at the next start.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from agent.memory.facts import plain_key
from agent.memory.statements import READER, WORD, Statement, is_function_word, read_statement, stem
from store.rows import json_rows
from store.tables import fact, fact_term

MAX_TERMS: Final = 64  # Words of one fact that lead to it: a longer text is found by its beginning
MAX_ASKED: Final = 16  # Words of a question or a new fact that are looked up, the longest, which tell the most
ASKED_CHARS: Final = 4_000  # Of a question, for that: a page. What follows is mostly pasted.
PER_TERM: Final = 100  # The newest facts that one word leads to
KEY: Final = "key:"  # Begins the term of a fact's key as a whole; no word holds a colon
# Begins the term of statements that contradict each other without a common word: where somebody lives.
CLASS: Final = "class:"
WHOLE: Final = "is:"  # Begins the term of a value without words, such as an emoji
_BATCH: Final = 500


class Lookup:
    """The newest facts of the person `whose` to which each of some terms leads, if they are as `where` says: one
    statement for all terms, because running one costs more than what it finds.
    """

    def __init__(self, *where: sa.ColumnElement[bool]) -> None:
        self._where = where
        # By the number of terms: making a statement takes longer than running it.
        self._made: dict[int, sa.CompoundSelect[str]] = {}

    def of(self, many: int) -> sa.CompoundSelect[str]:
        if many not in self._made:
            self._made[many] = sa.union_all(*map(self._one, range(many)))
        return self._made[many]

    def _one(self, number: int) -> sa.Select[str]:
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


def terms(key: str, value: str, said: Statement) -> list[str]:
    """What leads to a fact; `said`: what its value says."""
    found = list(dict.fromkeys([*_compared(said), *_stems(f"{key}\n{value}")]))[:MAX_TERMS]
    return [*key_terms([key]), *(found or [f"{WHOLE}{value.strip()[:100]}"])]


def asked_terms(text: str) -> list[str]:
    asked = text[:ASKED_CHARS]
    return sorted(
        {*_compared(read_statement(asked)), *_stems(asked)}, key=lambda word: (len(word), word), reverse=True
    )[:MAX_ASKED]


def written_terms(key: str, value: str, said: Statement) -> list[str]:
    """The words of a new fact to look up: first those by which two statements are compared."""
    return [*key_terms([key]), *dict.fromkeys([*_compared(said), *terms("", value, said)])][: 2 * MAX_ASKED]


def key_terms(keys: Iterable[str]) -> list[str]:
    """The terms of whole keys, as `agent.memory.facts.same_key` compares them."""
    return [f"{KEY}{plain}" for key in keys if (plain := plain_key(key))]


def reading(said: Statement) -> dict[str, Any]:
    return {"reading": _encoded(said), "reader": READER}


class KeptReading:
    """What a value says as it was kept. Taken apart when it is needed, because most of it seldom is."""

    __slots__ = ("_kept", "_statement", "_value")

    def __init__(self, value: str, kept: str) -> None:
        self._value = value
        self._kept = kept
        self._statement: Statement | None = None

    @property
    def content(self) -> frozenset[str]:
        return _set(self._kept.split("\n", _CONTENT + 1)[_CONTENT])

    @property
    def statement(self) -> Statement:
        if self._statement is None:
            self._statement = _decoded(self._value, self._kept)
        return self._statement


def kept_reading(value: str, kept: str, reader: int) -> KeptReading | None:
    """None if another version of the reader read the value."""
    return KeptReading(value, kept) if reader == READER else None


def add(connection: sa.Connection, id_: int, person: str, words: Iterable[str]) -> None:
    rows = [{"person": person, "term": term, "fact": id_} for term in dict.fromkeys(words)]
    connection.execute(sa.insert(fact_term), rows)


def remove(connection: sa.Connection, ids: Collection[int]) -> None:
    connection.execute(sa.delete(fact_term).where(fact_term.c.fact.in_(ids)))


def leading_to(
    connection: sa.Connection, looked_up: Lookup, wanted: Sequence[str], values: Mapping[str, object]
) -> list[int]:
    """The ids of the facts that these terms lead to, the most telling first, of equals the newest. `values`: of the
    parameters of what is looked up.
    """
    if not wanted:
        return []
    asked = {f"term{number}": term for number, term in enumerate(wanted)}
    weight = dict[int, float]()
    for found in connection.execute(looked_up.of(len(wanted)), {**values, **asked}).scalars():
        ids = list(chain.from_iterable(json.loads(found)))
        for id_ in ids:
            weight[id_] = weight.get(id_, 0.0) + 1 / len(ids)
    return [id_ for _, id_ in sorted(((of_it, id_) for id_, of_it in weight.items()), reverse=True)]


def renew(connection: sa.Connection, after: int) -> list[int]:
    """Read the next facts behind this id anew that another version of the reader has read; their ids."""
    columns = sa.select(fact.c.id, fact.c.person, fact.c.key, fact.c.value).where(_read_by_another(after))
    some = connection.execute(columns.order_by(fact.c.id).limit(_BATCH)).all()
    ids = [row.id for row in some]
    remove(connection, ids)
    for row in some:
        said = read_statement(row.value, about=row.key)
        add(connection, row.id, row.person, terms(row.key, row.value, said))
        connection.execute(sa.update(fact).where(fact.c.id == row.id).values(reading(said)))
    return ids


def left(connection: sa.Connection, after: int) -> int:
    """How many facts `renew` has still to come to."""
    return connection.execute(sa.select(sa.func.count()).select_from(fact).where(_read_by_another(after))).scalar_one()


def _read_by_another(after: int) -> sa.ColumnElement[bool]:
    return sa.and_(fact.c.id > after, fact.c.reader != READER)


def _stems(text: str) -> list[str]:
    words = (word for word in WORD.findall(text) if not is_function_word(word) and (len(word) > 1 or word.isdigit()))
    return list(dict.fromkeys(map(stem, words)))


def _compared(one: Statement) -> list[str]:
    """Every word by which two statements can be about the same, and the classes of those that are so without one."""
    words = one.content | one.subject | one.identifiers | frozenset[str]().union(*one.displaced)
    return [*sorted(words), *([f"{CLASS}home"] if one.resides or one.settles else [])]


_SETS: Final = ("subject", "content", "names", "said", "identifiers")
_CONTENT: Final = _SETS.index("content")
_TEXTS: Final = ("about", "verb")
_FLAGS: Final = tuple(field.name for field in fields(Statement) if field.type is bool)


def _encoded(one: Statement) -> str:
    """Its parts on lines of their own, with tabs between words: words hold neither, and JSON takes twice as long."""
    sets = ("\t".join(sorted(getattr(one, name))) for name in _SETS)
    values = "\t".join(f"{kind}={value}" for kind, value in sorted(one.values))
    displaced = "\v".join("\t".join(sorted(words)) for words in one.displaced)
    flags = "".join("01"[getattr(one, name)] for name in _FLAGS)
    return "\n".join([*sets, *(getattr(one, name) for name in _TEXTS), values, displaced, flags])


def _decoded(value: str, kept: str) -> Statement:
    subject, content, names, said, identifiers, about, verb, values, displaced, flags = kept.split("\n")
    pairs = (one.partition("=") for one in values.split("\t")) if values else ()
    return Statement(
        text=value,
        subject=_set(subject),
        content=_set(content),
        values=frozenset((kind, each) for kind, _, each in pairs),
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
    """Most facts have one of a few."""
    return dict(zip(_FLAGS, (flag == "1" for flag in flags), strict=True))


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split("\t")) if words else frozenset()
