"""The scanner finds the end of a JSON value, and the first wrong character, exactly where Python's reader does."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.protocol.json_scanner import JsonScanner, Status
from tests.examples import examples

NUMBERS = st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
CONTAINERS = st.lists(JSON, max_size=4) | st.dictionaries(st.text(max_size=4), JSON, max_size=4)


def scan(*pieces: str, several: bool = False) -> tuple[Status, int]:
    """The status, and how many characters were used."""
    scanner = JsonScanner(max_depth=20, max_number=40, several=several)
    used = 0
    for piece in pieces:
        end = scanner.feed(piece)
        used += end
        if end < len(piece):
            break
    return scanner.status, used


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(CONTAINERS, st.text(max_size=5), st.booleans(), st.sampled_from([None, 1]))
def test_a_value_ends_where_it_ends(value: object, rest: str, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert scan(text + rest) == (Status.DONE, len(text))
    assert scan(*text, *rest) == (Status.DONE, len(text))
    assert scan(text[:-1])[0] is Status.MORE


@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None)
@given(CONTAINERS, st.data())
def test_damaged_json_fails_where_python_fails_or_does_not_end(value: object, data: st.DataObject) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(1, len(text)))
    damaged = text[:at] + data.draw(st.sampled_from(list('"{}[],:-x0\\\n '))) + text[at:]
    try:
        _, end = json.JSONDecoder().raw_decode(damaged)
    except json.JSONDecodeError:
        assert scan(damaged)[0] in (Status.FAILED, Status.MORE)
        assert scan(*damaged) == scan(damaged) or scan(damaged)[0] is Status.FAILED
    else:
        assert scan(damaged) == scan(*damaged) == (Status.DONE, end)


@pytest.mark.parametrize(
    ("wrong", "at"),
    [
        ("[1 2]", 3),
        ('{"a" 1}', 5),
        ("{1: 2}", 1),
        ('["a\nb"]', 3),
        ("['a']", 1),
        ("[1,]", 3),
        ('{"a": 1,}', 8),
        ("[}", 1),
    ],
)
def test_it_fails_at_the_first_wrong_character(wrong: str, at: int) -> None:
    assert scan(wrong) == scan(*wrong) == (Status.FAILED, at)


@pytest.mark.parametrize(
    "wrong", ["[nul]", "[01]", "[1.]", "[NaN]", "[-]", '["\\x"]', '["\\u12g4"]', "[" * 21, f"[{'1' * 41}]", "[é]"]
)
def test_what_is_no_json_fails(wrong: str) -> None:
    assert scan(wrong)[0] is scan(*wrong)[0] is Status.FAILED


def test_objects_in_a_row_are_one_text_if_several_are_allowed() -> None:
    text = '{"a": 1}\n{"b": 2}, {}'
    assert scan(f"{text} <", several=True) == scan(*text, " <", several=True) == (Status.DONE, len(text) + 1)
    assert scan(text) == (Status.DONE, 8)


def test_a_text_that_may_end_here_is_complete() -> None:
    scanner = JsonScanner(max_depth=9, max_number=9, several=True)
    completes: list[bool] = []
    for character in '{"a": 1} {':
        scanner.feed(character)
        completes.append(scanner.complete)
    assert completes == [False] * 7 + [True, True, False]
