"""The sign of a model that does not know: read in each form that models write, and never shown."""

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.events import CallsArrived, ProtocolEvent, ReplyEnded, TextArrived, UnknownSaid
from agent.messages import ToolCall
from agent.protocol.parser import Parser
from agent.protocol.unknown_sign import SIGN, UnknownSign

NAME = "i_do_not_know"


def filtered(pieces: Sequence[str]) -> tuple[str, bool]:
    """The text that is shown of these pieces, and whether the sign was read."""
    sign = UnknownSign()
    events = [*sign.filter([TextArrived(piece) for piece in pieces if piece]), *sign.close()]
    said = [event for event in events if isinstance(event, UnknownSaid)]
    assert len(said) <= 1
    return "".join(event.text for event in events if isinstance(event, TextArrived)), bool(said)


def cut(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


SIGNED = {
    f"I do not know.\n{SIGN}": "I do not know.",
    f"I do not know.\n\n{SIGN}\n": "I do not know.",
    f"I do not know. {SIGN}": "I do not know.",
    f"{SIGN}\n\nI do not know.": "I do not know.",
    f"I do not know.\n{SIGN}\nAsk Ann.": "I do not know.\nAsk Ann.",
    f"I do not know.\n\n{SIGN}\n\n- Ask Ann.": "I do not know.\n\n- Ask Ann.",
    f"Sorry {SIGN} ask Ann": "Sorry ask Ann",
    f"no{SIGN}idea": "no idea",
    f"{SIGN}": "",
    f"A\n`{SIGN}`": "A",
    f"A\n**{NAME}**": "A",
    f"A\n```\n{SIGN}\n```": "A\n```\n```",
    "A\n<I_DO_NOT_KNOW>": "A",
    "A\n</i_do_not_know>": "A",
    "A\n<i_do_not_know></i_do_not_know>": "A",
    "A\n<i_do_not_know>B</i_do_not_know>": "A\nB",
    'A\n<i_do_not_know reason="it is not written down" />': "A",
    "A\n<i do not know/>": "A",
    "A\n<i-dont-know />": "A",
    "A\n<I don't know>": "A",
    "A\n<<i_do_not_know/>>": "A",
    "A\n<do_not_know/>": "A",  # So Qwen2.5-Coder-1.5B wrote it
    "A\n<dont_know>": "A",
    "A\n<i_do_not_know_the_answer/>": "A",
    "A\n<do_not_k": "A",
    "A\n[i_do_not_know]": "A",
    "A\n&lt;i_do_not_know/&gt;": "A",
    "A\n<i_do_not_know": "A",
    "A\n<i_do_not_know/": "A",
    "A\n<i_do_": "A",
    "A\n<i_": "A",
}

PLAIN = [
    "I do not know.",
    "I",
    "<i>I</i> do not know",
    "a [I don't know] b",
    "Answer (i do not know why) here",
    "<I don't know the name>",
    "<do_not_track/> <div>do</div> <not>",
    "<donut/>",
    "see docs/i_do_not_know.md",
    "my_i_do_not_know",
    "if a <i and i> b:",
    "a < i_do",
    "```\nfor i in range(9):\n    i_ = i\n```\n",
    "A\n\n\n\n\n\nB  \n  C\n",
    "<",
    "`",
]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 99])
@pytest.mark.parametrize(("written", "shown"), SIGNED.items())
def test_the_sign_is_read_and_not_shown_however_it_is_written_and_cut(written: str, shown: str, size: int) -> None:
    text, said = filtered(cut(written, size))
    assert (text.rstrip(), said) == (shown, True)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 99])
@pytest.mark.parametrize("text", PLAIN)
def test_other_text_is_the_models_character_for_character(text: str, size: int) -> None:
    assert filtered(cut(text, size)) == (text, False)


# What signs are made of, in any order, and what stands around them.
PARTS = st.sampled_from(
    [*"<>/i_ \n`*[]-=a{\\", "do", "not", "know", "i_do_not", NAME, SIGN, "&lt;", "&gt;", "don't", "I do not know. "]
)
TEXTS = st.lists(PARTS, max_size=14).map("".join)


@given(TEXTS, st.lists(st.integers(0, 60), max_size=8))
@example("<i_do_<i_do_not_know/>not_know/>", [])
def test_what_is_read_and_shown_does_not_depend_on_the_cuts(text: str, cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(text)]
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert filtered(pieces) == filtered([text]) == filtered(list(text))


@given(TEXTS)
def test_the_sign_is_never_shown(text: str) -> None:
    shown, _ = filtered(list(text))
    assert SIGN not in shown
    assert not re.search(rf"<{NAME}(?!\w)", shown)


@given(st.text(st.sampled_from("<>/_`*[]&;= \n\tiIdonktw.'-")), st.integers(1, 9))
def test_a_text_without_the_sign_passes_unchanged(text: str, size: int) -> None:
    shown, said = filtered(cut(text, size))
    assert said or shown == text


@given(st.text(max_size=60), st.sampled_from(["\n", " ", "\n\n"]), st.integers(1, 9))
def test_a_sign_behind_any_answer_is_taken_off_it(answer: str, between: str, size: int) -> None:
    text = answer.rstrip(" \t\n`*~<([{‹«【/\\").rstrip()
    shown, said = filtered(cut(f"{text}{between}{SIGN}", size))
    assert (shown.rstrip(), said) == (text, True)


def test_little_is_held_back_while_a_text_grows() -> None:
    sign, shown = UnknownSign(), ""
    for written in ("I do not know", " who owns it, ", "or why.", "\n", "\n", "Ask Ann"):
        shown += "".join(event.text for event in sign.filter([TextArrived(written)]) if isinstance(event, TextArrived))
    assert shown == "I do not know who owns it, or why.\n\nAsk Ann"


def test_what_was_held_back_comes_before_the_calls_and_the_end_of_the_answer() -> None:
    calls = CallsArrived((ToolCall("recall", {}),))
    for ends in (calls, ReplyEnded()):
        sign = UnknownSign()
        assert sign.filter([TextArrived("A <"), ends]) == [TextArrived("A "), TextArrived("<"), ends]
        assert sign.close() == []


@pytest.mark.parametrize("size", [1, 2, 5, 99])
@pytest.mark.parametrize("written", [one for one in SIGNED if one.startswith(("A\n", "I do"))])
def test_the_parser_leaves_the_sign_to_its_reader(written: str, size: int) -> None:
    parser, sign = Parser(tool_names=frozenset({"recall"})), UnknownSign()
    events = list[ProtocolEvent]()
    for piece in cut(written, size):
        events += sign.filter(parser.feed(piece))
    events += [*sign.filter(parser.close()), *sign.close()]
    assert "".join(event.text for event in events if isinstance(event, TextArrived)).rstrip() == SIGNED[written]
    assert UnknownSaid() in events


@pytest.mark.parametrize("part", ["<i_do_not ", "<i_do_not_know a=b c=d", "`*~", "<", " ", "i_", "[ / i_do_not_kno"])
def test_of_a_long_text_little_is_held_back(part: str) -> None:
    sign, text = UnknownSign(), part * 5_000
    shown = sum(len(event.text) for event in sign.filter([TextArrived(text)]) if isinstance(event, TextArrived))
    rest = sum(len(event.text) for event in sign.close() if isinstance(event, TextArrived))
    assert rest < 200
    assert shown + rest >= len(text) - 20 or "know" in part
