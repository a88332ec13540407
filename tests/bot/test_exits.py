"""What is written to a terminal or a pipe: it steers nothing, and as JSON it still reads as itself."""

import io
import json
import re

from hypothesis import given
from hypothesis import strategies as st

from bot.exits import printable_json, printable_line, write_out

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
FROM_OTHERS = st.text(st.sampled_from("aé漢👍\u200d \t\n\r\x1b\x9b\x85\x7f\x00\u2028\u202e\u2066\U000e0041"))


@given(FROM_OTHERS)
def test_nothing_that_is_written_steers_the_terminal(text: str) -> None:
    stream = io.StringIO()
    write_out(stream, text)
    assert not STEERING.search(stream.getvalue())
    if not STEERING.search(text):
        assert stream.getvalue() == text
    assert printable_line(text).isprintable() or not text


@given(FROM_OTHERS)
def test_json_reads_as_itself_and_steers_nothing(text: str) -> None:
    for indent in (None, 2):
        shown = printable_json({"name": text}, indent)
        assert json.loads(shown) == {"name": text}
        assert not STEERING.search(shown)
