"""English endings: the stems are those of SQLite's full-text index, so that both engines find the same words."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.search.text import stem, word_parts
from tests.examples import examples

ENDINGS = (
    "ational", "tional", "enci", "anci", "izer", "logi", "bli", "alli", "entli", "eli", "ousli", "ization", "ation",
    "ator", "alism", "iveness", "fulness", "ousness", "aliti", "iviti", "biliti", "icate", "ative", "alize", "iciti",
    "ical", "ful", "ness", "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize", "s", "es", "ies", "sses", "ss", "eed", "ed", "ing", "y", "ll", "e", "at",
    "bl", "iz",
)  # fmt: skip


def with_endings(beginning: str, endings: list[str]) -> str:
    return beginning + "".join(endings)


beginnings = st.text(alphabet="abcdefghijklmnopqrstuvwxyz0", max_size=6)
words = st.builds(with_endings, beginnings, st.lists(st.sampled_from(ENDINGS), max_size=2)).filter(bool)


def stems_of_sqlite(some: list[str]) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE VIRTUAL TABLE texts USING fts5(body, tokenize = 'porter ascii')")
        connection.execute("CREATE VIRTUAL TABLE terms USING fts5vocab(texts, instance)")
        connection.executemany("INSERT INTO texts (rowid, body) VALUES (?, ?)", enumerate(some))
        return [term for (term,) in connection.execute("SELECT term FROM terms ORDER BY doc")]


@pytest.mark.slow
@given(st.lists(words, min_size=20, max_size=400))
@settings(max_examples=examples(60))
def test_a_stem_is_that_of_sqlite(some: list[str]) -> None:
    assert [stem(word) for word in some] == stems_of_sqlite(some)


@given(st.lists(words, min_size=20, max_size=200))
@settings(max_examples=examples(30))
def test_the_parts_of_words_have_no_endings_for_sqlite_either(some: list[str]) -> None:
    parts = [part for word in some for part in word_parts(word)]
    assert stems_of_sqlite(parts) == parts


def test_known_words_have_their_stems() -> None:
    known = {
        "caresses": "caress", "ponies": "poni", "agreed": "agre", "plastered": "plaster", "hopping": "hop",
        "filing": "file", "happy": "happi", "relational": "relat", "vietnamization": "vietnam", "probate": "probat",
        "controlling": "control", "sky": "sky", "by": "by", "biyyed": "bii", "analogy": "analog",
        "x" * 65 + "ing": "x" * 65 + "ing",
    }  # fmt: skip
    assert {word: stem(word) for word in known} == known


def test_words_of_other_scripts_are_their_own_stems() -> None:
    for word in ("東京", "καφές", "лодками", "straßing"):
        assert stem(word) == word
