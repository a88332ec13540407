"""Words of texts and questions: case, accents, scripts written without blanks, and characters that mean nothing."""

import unicodedata
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.databases.database import storable
from store.search.text import (
    MAX_KEYWORDS,
    MOST_PARTS,
    WORD_COST,
    entry_terms,
    index_words,
    keywords,
    normalised,
    stem,
    wanted_terms,
)
from tests.patience import cpu_s

MARKS = ("\u0300", "\u0316", "\u302a", "\uff9e")  # each of another class, which normalising brings into one order
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
        ("مُدَرِّسَة", "مدرسه"),
        ("أحمـــد", "احمد"),
        ("علی", "على"),
        ("שָׁלוֹם", "שלום"),
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
        ("東京都", ["東京", "京都", "東", "京"]),
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


def test_of_a_text_that_asks_nothing_the_end_is_looked_for() -> None:
    most = MAX_KEYWORDS // WORD_COST
    assert keywords(" ".join(f"w{n}" for n in range(1000))) == [f"w{n}" for n in range(1000 - most, 1000)]
    signs = "".join(map(chr, range(0x4E00, 0x5200)))
    assert keywords(signs) == [signs[at : at + 2] for at in range(len(signs) - 1)][-MAX_KEYWORDS:]


PAGE = ". ".join(f"page{n} of line{n}" for n in range(50)) + ". "


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (f"{PAGE}And when does Ann's boat leave the harbour? Thanks!", ["ann", "boat", "leave", "harbour"]),
        (f"When does Ann's boat leave the harbour? {PAGE}", ["ann", "boat", "leave", "harbour"]),
        (f"Is it v2.5, Ben? {PAGE}Or was it v2.6? Who knows?", ["v2", "5", "ben", "6", "knows"]),
        (
            f"{PAGE}\n去北京的火车几点出发？",
            [*["去北", "北京", "京的", "的火", "火车", "车几", "几点", "点出", "出发"], *"去北京火车点出发"],
        ),
        (f"{PAGE} متى يسافر القارب؟", ["متى", "يسافر", "القارب"]),
    ],
)
def test_of_a_long_text_the_first_and_the_last_questions_are_looked_for(question: str, expected: list[str]) -> None:
    assert keywords(question) == [normalised(word) for word in expected]


def test_a_long_text_whose_questions_say_nothing_is_looked_for_by_its_end() -> None:
    assert keywords(f"{PAGE}What is it?")[-1] == "line49"


@given(st.text(alphabet="ab1 .?!？。\n京都", max_size=600))
def test_a_question_of_any_length_has_a_bounded_number_of_keywords_and_all_are_its_own(text: str) -> None:
    found = keywords(text)
    assert bool(found) == bool(index_words(text))
    assert len(found) <= MAX_KEYWORDS
    assert len(set(found)) == len(found)
    assert set(found) <= set(index_words(text))


def kin(one: str, other: str) -> bool:
    """Is a message with the one word found by the other?"""
    return not set(entry_terms(index_words(one))).isdisjoint(wanted_terms(index_words(other)))


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("Wohnung", "Wohnungen"),
        ("Bootsmotor", "Motoren"),
        ("Bootsmotor", "Boot"),
        ("Hotel", "Hotelzimmer"),
        ("лодками", "лодкой"),
        ("рыба", "рыбами"),
        ("дом", "домов"),
        ("вулиця", "вулицею"),
        ("Häuser", "Haus"),
        ("Hunden", "Hund"),
        ("велосипед", "велосипеды"),
        ("sokaktaki", "sokaklar"),
        ("kitaplarımızdan", "kitaplar"),
        ("järjestelmässämme", "järjestelmä"),
        ("θάλασσας", "θάλασσα"),
        ("किताबों", "किताबें"),
        ("الشوارع", "شارع"),
        ("بالمدرسة", "ومدارسها"),
        ("فاتورة", "الفواتير"),
    ],
)
def test_a_word_is_found_by_another_form_of_it(message: str, question: str) -> None:
    assert kin(message, question)


@pytest.mark.parametrize(
    ("message", "question"),
    [
        ("station", "stay"),
        ("contract", "convent"),
        ("20261122", "20261123"),
        ("rot13abc", "rot13xyz"),
        ("about", "above"),
    ],
)
def test_words_that_only_look_alike_are_strangers(message: str, question: str) -> None:
    assert not kin(message, question)


@given(anything)
def test_every_word_is_found_by_itself_and_its_parts_are_nobodys_words(text: str) -> None:
    words = index_words(text)
    terms = entry_terms(words)
    assert terms[: len(set(words))] == list(dict.fromkeys(words))
    assert all(word in wanted_terms([word]) for word in words)
    for part in terms[len(set(words)) :]:
        assert index_words(part) != [part]
        assert stem(part) == part


def test_a_long_text_has_a_bounded_number_of_parts() -> None:
    words = [
        f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676 % 26)}" + "abcdefghij" * 2 for n in range(9999)
    ]
    assert len(entry_terms(words)) <= 9999 + MOST_PARTS
    assert len(entry_terms(["x" * 40_000])) == 2


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


@pytest.mark.parametrize("text", ["".join(mark * 10_000 for mark in MARKS), "".join(MARKS) * 10_000])
def test_a_letter_under_a_thousand_marks_costs_no_more_than_a_thousand_letters(text: str) -> None:
    begun = process_time()
    index_words(f"a{text}")
    keywords(f"a{text}?")
    assert process_time() - begun < cpu_s(0.3)


def test_as_many_marks_as_any_language_writes_stay() -> None:
    thai = "\u0e17\u0e35\u0e48"
    assert normalised(thai) == thai
    assert normalised("\u5dc9" + "\u3099" * 30) == "\u5dc9" + "\u3099" * 30
