"""Output to a terminal or a pipe: it contains no control characters, and JSON still parses to the same value."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import UNSEEN
from bot.chat.output import printable_json, printable_line, write_out
from bot.setup.arguments import parser

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FROM_OTHERS = st.text(
    st.sampled_from("aé漢👍\u200d \t\n\r\x1b\x9b\x85\x7f\x00\u2028\u202e\u2066\u200e\u200f\u061c\ufeff\U000e0041")
)


@given(FROM_OTHERS)
def test_output_contains_no_control_characters(text: str) -> None:
    stream = io.StringIO()
    write_out(stream, text)
    assert not STEERING.search(stream.getvalue())
    if not STEERING.search(text):
        assert stream.getvalue() == text
    assert printable_line(text).isprintable() or not text


@given(FROM_OTHERS)
def test_json_parses_to_the_same_value_and_contains_no_control_and_no_invisible_characters(text: str) -> None:
    for indent in (None, 2):
        shown = printable_json({"name": text}, indent)
        assert json.loads(shown) == {"name": text}
        assert not STEERING.search(shown)
        assert not UNSEEN.search(shown)


@pytest.mark.parametrize(("words", "meant"), [("chta", "chat"), ("docter", "doctor"), ("slack manifset", "manifest")])
def test_a_mistyped_command_gets_a_suggestion(words: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words.split())
    assert ended.value.code == 2
    output = capsys.readouterr().err
    assert output.endswith(f"; did you mean {meant}?\n")
    assert "choose from" in output


def test_an_unknown_command_like_no_other_gets_only_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["xyzzy"])
    output = capsys.readouterr().err
    assert "choose from" in output
    assert "did you mean" not in output
