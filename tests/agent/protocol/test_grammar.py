"""What a model is taught is short, and is itself the protocol."""

import re

from agent.events import CallsArrived, WorkspaceArrived
from agent.messages import ToolCall, estimate_tokens
from agent.protocol.grammar import SUMMARY_FIELDS, SUMMARY_LESSON, WORKSPACE_FIELDS, teach, teach_native
from agent.protocol.parser import Parser


def test_the_teaching_text_is_short() -> None:
    assert estimate_tokens(teach("")) < 330


def test_the_example_reads_as_a_workspace_and_calls_of_two_tools() -> None:
    example = teach("").partition('about the picnic?":\n\n')[2]
    workspace, calls = Parser(tool_names=frozenset({"recall", "remember"})).feed(example)
    assert isinstance(workspace, WorkspaceArrived)
    assert calls == CallsArrived(
        (
            ToolCall("remember", {"text": "I live in Lyon."}),
            ToolCall("recall", {"query": "picnic", "wordings": ["lunch outside", "barbecue"]}),
        )
    )


def test_a_model_that_reasons_by_itself_is_not_told_to_think_aloud() -> None:
    assert "<think>" in teach("")
    assert "<think>" not in teach("", reasons=True)
    assert estimate_tokens(teach("", reasons=True)) < estimate_tokens(teach(""))


def test_no_certificate_of_its_own_is_asked_of_the_model() -> None:
    assert "secure" not in teach("")


def test_every_field_is_taught() -> None:
    text = teach("") + SUMMARY_LESSON
    for name in (*WORKSPACE_FIELDS, *SUMMARY_FIELDS):
        assert f'"{name}"' in text


def test_results_are_taught_without_their_tag() -> None:
    """Small models that read it wrote results themselves."""
    assert "<results>" not in teach("")


def test_functions_are_taught_no_block() -> None:
    """With a summary or thoughts in the lesson, small models wrote these in place of a call."""
    assert not re.search(r"<\w+>", teach_native())


def test_the_tools_stand_at_the_end_and_no_tools_are_said_to_be_none() -> None:
    assert teach("- recall: …").endswith("# Your tools\n\n- recall: …")
    assert re.search(r"no tools", teach(""))
