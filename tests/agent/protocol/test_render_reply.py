"""The one rule by which the parts of a reply become its text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.protocol.grammar import unclosed_fence
from agent.protocol.render import ReplyText, is_blank, joined
from tests.examples import examples

PARTS = st.lists(st.text(alphabet=" \n\t\rab`|", max_size=12), max_size=5)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], ""),
        (["I look.", "It is blue."], "I look.\n\nIt is blue."),
        (["I look.\n", "It is blue."], "I look.\n\nIt is blue."),
        (["I look.\n\n\n", "\n \n\nIt is blue.\n"], "I look.\n\nIt is blue.\n"),
        (["I look.", "", " \n", "It is blue."], "I look.\n\nIt is blue."),
        (["\n", "It is blue."], "It is blue."),
        (["I look.", "\n\n    indented"], "I look.\n\n    indented"),
        ([" \n "], ""),
        (["```py\nboat = 1\n", "*Stopped.*"], "```py\nboat = 1\n```\n\n*Stopped.*"),
        (["- ~~~~\n  boat", "*Stopped.*"], "- ~~~~\n  boat\n~~~~\n\n*Stopped.*"),
        (["```\nboat\n```\n", "*Stopped.*"], "```\nboat\n```\n\n*Stopped.*"),
        (["```\nboat"], "```\nboat"),
    ],
)
def test_between_two_parts_stands_exactly_one_blank_line(parts: list[str], text: str) -> None:
    assert joined(parts) == text


@given(st.text().filter(lambda text: bool(text.strip())))
@settings(max_examples=examples(100))
def test_a_reply_in_one_part_is_that_part_byte_for_byte(text: str) -> None:
    assert joined([text]) == text


@given(PARTS, PARTS)
@settings(max_examples=examples(100))
def test_joining_may_be_done_in_steps(before: list[str], after: list[str]) -> None:
    assert joined([joined(before), *after]) == joined([*before, *after])


@given(PARTS)
@settings(max_examples=examples(100))
def test_no_visible_character_is_lost(parts: list[str]) -> None:
    remaining = iter("".join(joined(parts).split()))
    assert all(character in remaining for character in "".join("".join(parts).split()))


@given(PARTS, st.sampled_from(["*Stopped.*", "The answer was cut off here."]))
@settings(max_examples=examples(100))
def test_a_notice_is_never_read_as_code(parts: list[str], notice: str) -> None:
    assert unclosed_fence(joined([*parts, notice])) is None


@given(PARTS)
@settings(max_examples=examples(100))
def test_fed_piece_by_piece_it_is_the_same_and_the_settled_text_only_grows(parts: list[str]) -> None:
    reply, before = ReplyText(), ""
    for part in parts:
        reply.begin_part()
        for piece in part:
            reply.add(piece)
            assert reply.settled.startswith(before)
            before = reply.settled
    assert reply.text == joined(parts)


@pytest.mark.parametrize(
    ("text", "blank"), [("", True), (" \n", True), ("\u200b\ufeff", True), ("\u200ba", False), ("0", False)]
)
def test_zero_width_characters_alone_are_nothing_to_see(text: str, blank: bool) -> None:
    assert is_blank(text) is blank
