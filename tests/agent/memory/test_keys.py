"""Which keys tell two things apart: nothing that stands under them replaces the other."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agent.memory.judging import Verdict, judge
from agent.memory.keys import KEY_CHARS, name_one_thing, tell_apart
from agent.memory.told import Told

# No light word ("my", "new") can be made of these letters
KEYS = st.text("bhnrstäñжд ", min_size=1, max_size=24).filter(str.strip)
WORDS = st.text("bcghjkqwxyz0123456789ßøщю", min_size=1, max_size=12)
STATED = [
    ("The limit is 20.", "The limit is 30 now.", "20", "30 now"),
    ("Ann leads it.", "Ann has left, Ben leads it now.", "Ann", "Ben leads it now"),
    ("It is in room 4.", "No longer in room 4, it moved to room 9.", "room 4", "moved to room 9"),
]


def verdicts(key: str, other: str) -> list[Verdict]:
    """Return what becomes of the statements on each road: as sentences and as bare values, named and not."""
    return [
        judge(Told(key, old, older), Told(other, new, newer), named=named)
        for older, newer, bare_older, bare_newer in STATED
        for old, new in ((older, newer), (bare_older, bare_newer))
        for named in (False, True)
    ]


@given(KEYS, WORDS, WORDS)
@example("Kubernetes version", "prod-eu", "prod-us")
@example("version", "1", "2")
@example("flight Oslo", "to", "from")
@example("server", "a1", "a2")
@example("rent of the", "shop", "studio")
@example("预算", "市场部", "研发部")
@example("責任者 の", "Aライン", "Bライン")
@settings(max_examples=60, deadline=None)
def test_two_different_words_behind_any_key_tell_two_things_apart(key: str, word: str, other: str) -> None:
    assume(word != other)
    keys = f"{key} {word}", f"{key} {other}"
    assert Verdict.REPLACES not in verdicts(*keys)


@given(KEYS, WORDS)
@example("budget", "travel")
@example("flight to Oslo", "return")
@settings(max_examples=60, deadline=None)
def test_a_word_that_only_one_key_has_tells_two_things_apart(key: str, word: str) -> None:
    assume(word not in key.split())
    assert Verdict.REPLACES not in [*verdicts(key, f"{key} {word}"), *verdicts(f"{word} {key}", key)]


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("flight to Oslo", "flight from Oslo"),
        ("Flug nach Oslo", "Flug von Oslo"),
        ("vol de Paris", "vol vers Paris"),
        ("flight Oslo Rome", "flight Rome Oslo"),
        ("invoice of Ann of Ben", "invoice of Ben of Ann"),
        ("launch date", "launch place"),
        ("prod-eu", "prod-us"),
        ("1001", "1002"),
        ("Budget Küche", "Budget Bad"),
        ("presupuesto de ventas", "presupuesto de compras"),
        ("大儿子", "小儿子"),
        ("大阪支社の場所", "京都支社の場所"),
        ("a b" * KEY_CHARS, "a c" * KEY_CHARS),
    ],
)
def test_what_one_key_names_and_the_other_does_not_is_another_thing(key: str, other: str) -> None:
    assert tell_apart(key, other)
    assert tell_apart(other, key)


@pytest.mark.parametrize(
    ("key", "other"),
    [
        ("phone", "my current phone number"),
        ("phone of Ann", "Ann's phone number"),
        ("launch", "launch_date"),
        ("date of launch", "launch date"),
        ("on-call rotation", "on call rotation"),
        ("meine Chefin", "mein Chef"),
        ("mi jefa", "mi jefe"),
        ("Marketingbudget", "Budget Marketing"),
        ("abonnement", "prix de l'abonnement"),
        ("insegnante corso di inglese", "insegnante del corso di inglese"),
        ("房租", "我们的房租"),
        ("定例会議", "定例会議の曜日"),
        ("boss", "manager"),
        ("", "rent"),
    ],
)
def test_light_words_the_kind_of_a_value_the_order_and_the_form_of_a_role_tell_nothing_apart(
    key: str, other: str
) -> None:
    assert not tell_apart(key, other)
    assert not tell_apart(other, key)


def test_what_has_one_key_but_for_light_words_is_marked_at_least() -> None:
    older, newer = "The ball is in the old mill.", "We had to think again, Ute offers her barn in May."
    for key, other in (("our ball", "ball date"), ("phone of Ann", "Ann's new phone")):
        assert name_one_thing(key, other)
        assert judge(Told(key, older, older), Told(other, newer, newer)) is Verdict.MAY_OUTDATE
    for key, other in (("boss", "manager"), ("", ""), ("launch date", "launch place")):
        assert not name_one_thing(key, other)
