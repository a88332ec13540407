"""Words of texts and questions: case, accents, scripts written without blanks, and characters that mean nothing."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.databases.database import storable
from store.search.text import MAX_KEYWORDS, index_words, keywords, normalised

anything = st.text(alphabet=st.characters(exclude_categories=()), max_size=60)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Café", "cafe"),
        ("Cafe\u0301", "CAFÉ"),
        ("Straße", "STRASSE"),
        ("Ångström", "angstrom"),
        ("ΑΘΉΝΑ", "αθηνα"),
        ("ΟΔΟΣ", "οδος"),
        ("Ёлка", "елка"),
        ("İstanbul", "istanbul"),
        ("Łódź", "lodz"),
        ("ﬁnally", "FINALLY"),
        ("Ｂ２Ｂ", "b2b"),
        ("ﾗｰﾒﾝ", "ラーメン"),
        ("か\u3099", "が"),
    ],
)
def test_spellings_of_one_word_are_the_same(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(("one", "other"), [("が", "か"), ("ぱ", "は"), ("ズ", "ス"), ("하", "가"), ("कि", "क")])
def test_marks_that_make_another_letter_stay(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_a_run_without_blanks_gives_its_characters_and_its_pairs() -> None:
    assert index_words("東京都") == ["東", "京", "都", "東京", "京都"]
    assert index_words("LINEで連絡") == ["line", "で", "連", "絡", "で連", "連絡"]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("京", ["京"]),
        ("東京都", ["東京", "京都"]),
        ("서울에서", ["서울", "울에", "에서"]),
        ("What did I say about my boat?", ["boat"]),
        ("the who", ["the", "who"]),
        ("boat, boat; BOAT!", ["boat"]),
        ("Anna's", ["anna"]),
        ('100% AND_NOT "boat"* -sail:^x NEAR(', ["100", "boat", "sail", "x", "near"]),
        ("NUL \0 here", ["nul"]),
        ("?!%_\"'*", []),
        ("", []),
    ],
)
def test_keywords_of_a_question(question: str, expected: list[str]) -> None:
    assert keywords(question) == expected


def test_a_long_question_is_cut_to_its_first_keywords() -> None:
    assert keywords(" ".join(f"w{n}" for n in range(1000))) == [f"w{n}" for n in range(MAX_KEYWORDS)]


@given(anything)
def test_any_text_gives_words_of_letters_digits_and_marks(text: str) -> None:
    for word in {*index_words(text), *keywords(text)}:
        assert word
        assert all(unicodedata.category(char)[0] in "LNM" for char in word)


@given(anything)
def test_what_is_asked_in_the_very_words_of_a_text_is_among_its_words(text: str) -> None:
    assert set(keywords(text)) <= set(index_words(text))


@given(anything)
def test_any_text_becomes_storable_and_good_text_stays(text: str) -> None:
    kept = storable(text)
    assert "\0" not in kept
    assert kept.encode() is not None
    assert storable(kept) == kept
    if "\0" not in text and not any(unicodedata.category(char) == "Cs" for char in text):
        assert kept == text
