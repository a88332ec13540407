"""The requests of the page."""

import contextlib
import json
from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import Refused
from bot.chat.reply.surface import ReplyAction
from bot.platforms.play.requests import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_TEXT_CHARS,
    AttachedFile,
    EditMessage,
    PressButton,
    PressOffer,
    SayMessage,
    number_of,
    read_request,
)
from tests.examples import examples

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = [
    "number",
    "type",
    "message",
    "key",
    "channel",
    "thread",
    "text",
    "button",
    "values",
    "ticked",
    "filled",
    "files",
    "offer",
]
ASKED = st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(["say", "edit", "press", "offer", 3]))


def asked(**what: Any) -> str:
    return json.dumps({"number": 1, **what})


def test_each_kind_of_request_is_read() -> None:
    said = asked(type="say", key="k", channel="general", thread="", text="hi")
    assert read_request(said) == (1, SayMessage("k", "general", "", "hi"))
    assert read_request(asked(type="edit", message="4", text="ho")) == (1, EditMessage("4", "ho"))
    assert read_request(asked(type="offer", message="4", offer="stop")) == (1, PressOffer("4", ReplyAction.STOP))
    pressed = asked(type="press", message="4", button=2, values=["a"], ticked=["b"], filled={"c": "d"})
    assert read_request(pressed) == (1, PressButton("4", 2, ("a",), frozenset({"b"}), {"c": "d"}))


@pytest.mark.parametrize(
    "written",
    [
        "",
        "[]",
        "{",
        "[" * 200_000,
        asked(type="drop"),
        asked(type="say", text=3),
        asked(type="say", text="x" * (MAX_TEXT_CHARS + 1)),
        asked(type="press", message="1", button=-1),
        asked(type="press", message="1", button=True),
        asked(type="press", message="1", button=1, values="abc"),
        asked(type="press", message="1", button=1, filled={str(number): "" for number in range(51)}),
        asked(type="offer", message="1", offer="explode"),
        asked(type="offer", message="1", offer=["stop"]),
        json.dumps({"number": "1", "type": "edit", "message": "1", "text": "x"}),
    ],
)
def test_whatever_else_a_page_sends_is_refused(written: str) -> None:
    with pytest.raises(Refused):
        read_request(written)


def test_a_message_brings_its_files() -> None:
    _, said = read_request(asked(type="say", channel="general", text="", files=[["a.csv", "YSxi"], ["empty", ""]]))
    assert said == SayMessage("", "general", "", "", (AttachedFile("a.csv", b"a,b"), AttachedFile("empty", b"")))


@pytest.mark.parametrize(
    "files",
    [
        "YQ==",
        [["a.csv"]],
        [["", "YQ=="]],
        [["x" * 256, "YQ=="]],
        [["a.csv", "not Base64!"]],
        [["a.csv", "YQ"]],
        [["a.csv", "ä"]],
        [["a.csv", None]],
        [["a.csv", "YQ==", "text/html"]],
        [["a.csv", "YQ=="]] * (MAX_FILES + 1),
        [["a.csv", b64encode(bytes(MAX_FILE_BYTES // 2 + 1)).decode()]] * 2,
    ],
)
def test_files_of_another_form_or_too_many_or_too_large_are_refused(files: object) -> None:
    with pytest.raises(Refused):
        read_request(asked(type="say", channel="general", text="look", files=files))


@pytest.mark.parametrize(("written", "read"), [("\ud83d", "\ufffd"), ("\ud83d\ude00", "\U0001f600"), ("a\0b", "ab")])
def test_what_is_no_text_in_a_request_reaches_nobody(written: str, read: str) -> None:
    _, edited = read_request(asked(type="edit", message="1", text=written))
    assert edited == EditMessage("1", read)
    _, pressed = read_request(asked(type="press", message="1", button=1, values=[written], filled={written: written}))
    assert pressed == PressButton("1", 1, (read,), frozenset(), {read: read})


@settings(max_examples=examples(60))
@given(ASKED)
def test_no_request_raises_anything_else(body: dict[str, Any]) -> None:
    written = json.dumps(body)
    number_of(written)
    with contextlib.suppress(Refused):
        read_request(written)


def test_the_number_of_a_request_that_cannot_be_read_is_found_for_its_answer() -> None:
    assert number_of('{"number":7,"type":"?') == 7
    assert number_of('{"number": 12,') == 12
    assert number_of('{"type":"say","number":7}') == 0
