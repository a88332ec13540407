"""JSON is read strictly, or mended where only one meaning is possible; nothing insane comes out."""

import gc
import json
import tracemalloc
from ast import literal_eval

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.messages import Json, is_too_deep
from agent.protocol.grammar import ParserLimits
from agent.protocol.json_text import JsonReader, SaneStream, Unreadable, sane_text
from tests.examples import examples

READER = JsonReader(ParserLimits())
PLAIN_TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | PLAIN_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN_TEXT, inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(VALUES)
def test_what_json_wrote_is_read_and_mending_changes_nothing(value: Json) -> None:
    text = json.dumps(value)
    assert READER.read(text) == [value]
    assert READER.read_mended(text, whole=True) == [value]


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(VALUES)
def test_mended_python_is_what_python_reads_or_refused(value: Json) -> None:
    text = repr(value)
    try:
        (mended,) = READER.read_mended(text, whole=True)
    except Unreadable:
        assert "\\" in text, "only an escape that JSON does not know is refused"
    else:
        assert mended == literal_eval(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['it\\'s']", ["it's"]),
        ("""['say "hi"']""", ['say "hi"']),
        ("[“a”, 'b',]", ["a", "b"]),
        ("{a: True, 'b': None}", {"a": True, "b": None}),
        ('["a\nb"]', ["a\nb"]),
        ("[1", [1]),
        ("\ufeff[1]", [1]),
    ],
)
def test_a_spelling_is_mended(text: str, value: Json) -> None:
    assert READER.read_mended(text, whole=True) == [value]


@pytest.mark.parametrize(
    "text",
    [
        "['it's']",
        '["a" "b"]',
        "[a]",
        "{'a': 1",
        "[1]]",
        "[}",
        "[1,,2]",
        "f(x)",
        "",
        "[0x1f]",
        "['a\\x41']",
        '{"a": 1, "a": 2}',
    ],
)
def test_what_could_be_meant_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        READER.read_mended(text, whole=True)


def test_a_missing_bracket_is_not_added_to_a_text_that_was_cut_off() -> None:
    with pytest.raises(Unreadable):
        READER.read_mended("[1", whole=False)


@pytest.mark.parametrize(
    "text", ["NaN", "-Infinity", "1e999", "9" * 5000, f"1.{'1' * 500}", "[" * 70 + "]" * 70, "[" * 99_999]
)
def test_what_python_or_a_database_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        READER.read(text)
    with pytest.raises(Unreadable):
        READER.read_mended(text, whole=True)


def test_texts_come_out_sane_also_from_escapes_and_in_keys() -> None:
    assert READER.read('{"a\\u0000": ["\\ud83d\\ude00", "\\ud83d", "\\ude00x"]}') == [
        {"a": ["\U0001f600", "\ufffd", "\ufffdx"]}
    ]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "é", "\0", "\ud83d", "\ude00", "\U0001f600", ""]), max_size=12))
def test_a_text_in_pieces_becomes_as_sane_as_the_whole(pieces: list[str]) -> None:
    stream = SaneStream()
    read = "".join([*(stream.feed(piece) for piece in pieces), stream.flush()])
    assert read == sane_text("".join(pieces))
    assert "\0" not in read
    read.encode()


@pytest.mark.parametrize("text", ["[" * 5_000, "[" * 900 + "]" * 900, '{"a":' * 700, "[{}," * 300, '"[[" ' + "[" * 65])
def test_what_python_cleans_up_while_deep_json_is_read_has_room(text: str) -> None:
    class Ring:
        """Garbage in a circle, which is cleaned up in the middle of whatever comes next."""

        def __init__(self) -> None:
            self.ring = self

        def __del__(self) -> None:
            json.dumps(["some", {"room": "is needed"}], indent=1)

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(300):
            Ring()
        with pytest.raises(Unreadable, match="nested more than 64 levels deep"):
            READER.read(text)
    finally:
        gc.set_threshold(*before)


def test_brackets_in_strings_and_side_by_side_are_not_deep() -> None:
    objects: list[Json] = [[{}] for _ in range(300)]
    many: list[Json] = ["[" * 300, [], *objects, '\\"[' * 300]
    assert READER.read(json.dumps(many)) == [many]
    assert not is_too_deep(json.dumps(many), 3)
    assert is_too_deep(json.dumps([[[[]]]]), 3)


@pytest.mark.parametrize("char", ["[", "\\n", '\\"'])
def test_the_depth_of_a_long_string_is_found_in_little_memory(char: str) -> None:
    text = "[" + '"' + char * 1_000_000 + '"' + ',""' * 300
    tracemalloc.start()
    try:
        assert not is_too_deep("[]" * 10 + text, 2)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
