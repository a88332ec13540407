"""Presentations: reading a call, and the same in Markdown."""

import json
from typing import Any

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from agent import texts
from agent.errors import ToolError
from agent.messages import JsonObject, ResultStatus, ToolCall, ToolResult
from agent.presentations import (
    Presentation,
    PresentedField,
    PresentedPicture,
    PresentedSection,
    PresentedTable,
    escaped,
    follow_up_id,
    presentation_markdown,
    presentation_of,
    turn_followed_up,
)
from agent.progress import InnerCall, Progress, RoundStep, decode, encode
from agent.toolbox.registry import Registry
from agent.tools.present import PresentTool, presented
from tests.agent.tools.test_share_file import CONTEXT
from tests.fakes.presentations import plain_lines, presentations

CALL: JsonObject = {
    "title": "Boats",
    "sections": [
        {"heading": "Blue", "text": "**Fast** ones.", "fields": [{"name": "Speed", "value": "9 kn"}]},
        {"table": {"columns": ["Boat", "Price"], "rows": [["Ann|e", "9"], ["Bo"]]}},
        {"pictures": [{"address": "https://pics.example/boat.png", "alt": "A boat"}]},
    ],
    "questions": ["Which is cheapest?", "Which is cheapest?"],
}


def test_a_call_is_read_and_written_in_markdown() -> None:
    read = presentation_of(CALL)
    assert read == Presentation(
        "Boats",
        (
            PresentedSection("Blue", "**Fast** ones.", (PresentedField("Speed", "9 kn"),)),
            PresentedSection(table=PresentedTable(("Boat", "Price"), (("Ann|e", "9"), ("Bo", "")))),
            PresentedSection(pictures=(PresentedPicture("https://pics.example/boat.png", "A boat"),)),
        ),
        ("Which is cheapest?",),
    )
    assert presentation_markdown(read) == (
        "**Boats**\n\n**Blue**\n\n**Fast** ones.\n\n- **Speed**: 9 kn\n\n"
        "| Boat | Price |\n| --- | --- |\n| Ann\\|e | 9 |\n| Bo |  |\n\n"
        "- [A boat](https://pics.example/boat.png)\n\nYou can ask next:\n- Which is cheapest?"
    )


_LONG_TEXT = texts.PRESENT_TOO_LONG.format(what="the text of a section", most=2_000)
_MANY = texts.PRESENT_TOO_MANY.format(what="sections", most=8)
REFUSED: list[tuple[Any, str]] = [
    ({"sections": []}, texts.PRESENT_EMPTY),
    ({"sections": [{}]}, texts.PRESENT_EMPTY),
    ({"sections": [{"pictures": [{"address": "http://a.example/b.png", "alt": "b"}]}]}, texts.PRESENT_ADDRESS),
    ({"sections": [{"pictures": [{"address": "https://a.example/)", "alt": "b"}]}]}, texts.PRESENT_ADDRESS),
    ({"sections": [{"text": "a" * 2_001}]}, _LONG_TEXT),
    ({"sections": [{"text": "a"}] * 9}, _MANY),
    ({"sections": [{"table": {"columns": ["a"], "rows": [["b", "c"]]}}]}, texts.PRESENT_LONG_ROW),
]


@pytest.mark.parametrize(("args", "why"), REFUSED)
async def test_what_cannot_be_shown_is_refused_with_a_reason(args: JsonObject, why: str) -> None:
    with pytest.raises(ToolError, match=r".") as refused:
        await PresentTool().run(args, CONTEXT)
    assert str(refused.value) == why


@pytest.mark.slow
@given(line=plain_lines)
def test_a_plain_line_is_shown_as_it_is_by_a_reader_of_markdown(line: str) -> None:
    shown = "".join(
        "\n" if token.type == "softbreak" else token.content
        for token in MarkdownIt("commonmark", {"html": False}).parseInline(escaped(line))[0].children or ()
    )
    assert shown == line


def test_an_address_in_a_plain_line_leads_where_it_says() -> None:
    address = "https://docs.example/a_b/c?from=1&to=2#part_3"
    assert escaped(f"See {address}, _now_ &amp; #then") == f"See {address}, \\_now\\_ \\&amp; \\#then"


@pytest.mark.slow
@given(shown=presentations)
def test_the_markdown_says_each_word_of_the_presentation(shown: Presentation) -> None:
    words = presentation_markdown(shown)
    for section in shown.sections:
        assert section.text in words
        assert all(escaped(field.value) in words for field in section.fields)
        assert all(picture.address in words for picture in section.pictures)
    assert all(escaped(question) in words for question in shown.questions)


def test_the_last_valid_call_of_a_turn_counts_also_after_it_was_stored() -> None:
    def step(args: JsonObject, status: ResultStatus) -> RoundStep:
        return RoundStep(calls=(ToolCall("present", args),), results=(ToolResult("present", status, "done"),))

    first, second, bad = (
        step(CALL, ResultStatus.SUCCESS),
        step({"sections": [{"text": "b"}]}, ResultStatus.SUCCESS),
        step({"sections": []}, ResultStatus.FAILURE),
    )
    progress = Progress(steps=(first, second, bad))
    assert presented(decode(encode(progress))) == Presentation(sections=(PresentedSection(text="b"),))
    assert presented(Progress(steps=(bad,))) is None


def test_a_call_that_code_makes_counts_as_the_models_own() -> None:
    ended = ToolResult("present", ResultStatus.SUCCESS, "")
    inner = InnerCall("1.1.1", ToolCall("present", {"sections": [{"text": "b"}]}), ended)
    code = RoundStep(
        calls=(ToolCall("python", {"code": "…"}),),
        results=(ToolResult("python", ResultStatus.SUCCESS, ""),),
        inner=(inner,),
    )
    assert presented(Progress(steps=(code,))) == Presentation(sections=(PresentedSection(text="b"),))


def test_the_schema_takes_what_is_shown_and_nothing_else() -> None:
    registry = Registry([PresentTool()])
    assert registry.check(ToolCall("present", CALL)) is None
    assert registry.check(ToolCall("present", {**CALL, "script": "x"})) is not None
    long = {**CALL, "questions": ["a" * 76]}
    assert registry.check(ToolCall("present", json.loads(json.dumps(long)))) is not None


def test_the_id_of_a_pressed_question_names_the_turn_of_its_answer() -> None:
    assert turn_followed_up(follow_up_id(7, 4, "U0ANN")) == 7
    for other in ("present:7", "present:x:1:ann", "again:post:1", f"present:{'9' * 19}:0:ann"):
        assert turn_followed_up(other) is None
