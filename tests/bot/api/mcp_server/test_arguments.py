"""The arguments of the server's tools are read within limits, and a wrong one is a sentence."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agent.errors import ToolError
from agent.messages import ToolCall
from agent.toolbox.arguments import schema_errors, validator_of
from bot.api.mcp_server.arguments import ARGUMENTS, ToolName, read_arguments, schema_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=10) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


WRONG: Sequence[tuple[ToolName, dict[str, object], str]] = [
    (ToolName.RECALL, {}, "The argument 'query' is missing."),
    (ToolName.RECALL, {"query": ""}, "The argument 'query' is missing."),
    (ToolName.RECALL, {"query": "  "}, "The argument 'query' must be a non-empty string."),
    (ToolName.RECALL, {"query": 3}, "The argument 'query' must be a non-empty string."),
    (ToolName.RECALL, {"query": "x" * 2_001}, "The argument 'query' has more than 2,000 characters. Shorten it."),
    (
        ToolName.RECALL,
        {"query": "x", "wordings": "y"},
        "The argument 'wordings' must be a list of at most 8 strings.",
    ),
    (
        ToolName.RECALL,
        {"query": "x", "wordings": ["y"] * 9},
        "The argument 'wordings' must be a list of at most 8 strings.",
    ),
    (
        ToolName.RECALL,
        {"query": "x", "wordings": [{}]},
        "The argument 'wordings' must be a non-empty string.",
    ),
    (ToolName.FORGET, {"include_related": "yes"}, "The argument 'include_related' must be true or false."),
    (ToolName.ASK, {"questoin": "x"}, "The argument 'questoin' is unknown. Known arguments: question, thread."),
]


@pytest.mark.parametrize(("tool", "given", "sentence"), WRONG)
def test_a_wrong_argument_is_a_sentence(tool: ToolName, given: dict[str, object], sentence: str) -> None:
    with pytest.raises(ToolError) as raised:
        read_arguments(tool, given)
    assert str(raised.value) == sentence


def test_empty_optional_arguments_are_as_if_they_were_not_given() -> None:
    assert read_arguments(ToolName.ASK, {"question": "x", "thread": ""}) == {"question": "x"}
    assert read_arguments(ToolName.RECALL, {"query": "x", "wordings": None}) == {"query": "x"}


@given(st.sampled_from(ToolName), st.dictionaries(st.sampled_from(["query", "text", "what", "x", "wordings"]), JSON))
def test_whatever_is_read_matches_the_declared_schema(tool: ToolName, given: dict[str, object]) -> None:
    try:
        read = read_arguments(tool, given)
    except ToolError:
        return
    assert schema_errors(validator_of(json.dumps(schema_of(tool))), ToolCall(tool, read)) == []


def test_each_tool_has_a_schema_that_is_one() -> None:
    for tool in ToolName:
        Draft202012Validator.check_schema(dict(schema_of(tool)))
        assert set(ARGUMENTS[tool]) == set(json.loads(json.dumps(schema_of(tool)))["properties"])
