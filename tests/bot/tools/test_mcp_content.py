"""A server's answer becomes parts of a result, within all limits."""

import base64
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_types import CallToolResult

from agent.errors import ToolError
from agent.messages import Image, Json, JsonObject, Link, SharedFile, StructuredData, ToolCall
from agent.ports import ToolContext, ToolEffect
from agent.tools.registry import Registry
from bot.tools.mcp_calls import parts_of
from bot.tools.mcp_listing import MAX_NODES, checked_schema
from tests.examples import examples

PNG = base64.b64encode(b"\x89PNG...").decode()


def result(*content: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(content), **more})


def test_each_kind_of_content_is_the_part_that_it_stands_for() -> None:
    parts = parts_of(
        result(
            {"type": "text", "text": "hello"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "image", "data": PNG, "mimeType": "image/svg+xml"},
            {"type": "audio", "data": PNG, "mimeType": "audio/mpeg"},
            {"type": "resource_link", "uri": "https://a.example/b", "name": "b", "description": "about b"},
            {"type": "resource_link", "uri": "file:///etc/x", "name": "x"},
            {"type": "resource", "resource": {"uri": "demo://a/notes.txt", "text": "some notes"}},
            {"type": "resource", "resource": {"uri": "demo://a/../we ird", "blob": PNG, "mimeType": "bad type"}},
            structuredContent={"a": 1},
        )
    )
    data = base64.b64decode(PNG)
    assert parts == (
        "hello",
        Image("image/png", data),
        SharedFile("result-3.svg", "image/svg+xml", data),
        SharedFile("result-4.mp3", "audio/mpeg", data),
        Link("https://a.example/b", "b - about b"),
        "x (resource file:///etc/x)",
        "demo://a/notes.txt:\nsome notes",
        SharedFile("we_ird.bin", "application/octet-stream", data),
        StructuredData({"a": 1}),
    )


def test_a_value_that_a_text_says_already_is_not_said_again() -> None:
    assert parts_of(result({"type": "text", "text": '{"a": 1}'}, structuredContent={"a": 1})) == ('{"a": 1}',)
    for text, value in (("7 3 x", "7 3 x"), ("3", 3), ("true", True), ('{"a": 1}', {"a": 1}), ("[1, 2]", [1, 2])):
        assert parts_of(result({"type": "text", "text": text}, structuredContent={"result": value})) == (text,)
    other = parts_of(result({"type": "text", "text": "Found it."}, structuredContent={"result": "at the pier"}))
    assert other == ("Found it.", StructuredData({"result": "at the pier"}))


def test_what_is_not_what_it_says_is_left_out_and_an_error_is_an_error() -> None:
    (told,) = parts_of(result({"type": "image", "data": "no base64!", "mimeType": "image/png"}))
    assert "cannot be read" in str(told)
    with pytest.raises(ToolError, match="no such page"):
        parts_of(result({"type": "text", "text": "no such page"}, isError=True))
    with pytest.raises(ToolError, match="not why"):
        parts_of(result(isError=True))


@pytest.mark.slow
def test_of_thousands_of_parts_some_come_and_the_rest_are_counted() -> None:
    parts = parts_of(result(*[{"type": "text", "text": "x"}] * 10_000))
    assert len(parts) == 201
    assert parts[-1] == "[left out: 9800 more parts]"


KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "description",
        "anyOf",
        "oneOf",
        "additionalProperties",
        "minimum",
        "maxLength",
        "pattern",
        "$ref",
        "$defs",
        "multipleOf",
        "format",
        "default",
        "minItems",
        "uniqueItems",
    ]
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["object", "#", "#/$defs/a", "(a+)+$"]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(KEYWORDS | st.sampled_from(["a", "b"]), inner, max_size=5)
    ),
    max_leaves=30,
)


@dataclass
class Told:
    schema: JsonObject
    name: str = "told"
    description: str = ""
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 1.0

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        raise NotImplementedError


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(st.dictionaries(KEYWORDS, VALUES, max_size=6), st.dictionaries(st.sampled_from("ab"), VALUES, max_size=2))
def test_whatever_a_schema_is_it_can_be_checked_and_offered_or_is_refused(
    schema: dict[str, Json], args: dict[str, Json]
) -> None:
    kept = checked_schema(schema)
    if kept is not None:
        Registry([Told(kept)]).check(ToolCall("told", args))


X: JsonObject = {"type": "string", "pattern": "^x"}
Y: JsonObject = {"type": "string", "pattern": "^y"}


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        ({"properties": {"a": {"oneOf": [X, Y]}}}, {"a": "x"}),
        ({"properties": {"a": {"oneOf": [X, Y], "anyOf": [Y, X]}}}, {"a": "x"}),
        ({"properties": {"a": {"anyOf": [{"const": n} for n in range(150)]}}}, {"a": 149}),
        ({"properties": {}, "patternProperties": {"^x": {}}, "additionalProperties": False}, {"xy": 1}),
        ({"properties": {"a": {"prefixItems": [{"type": "integer"}], "items": X}}}, {"a": [1, "x"]}),
        ({"properties": {"a": {"enum": ["two  blanks", "a\nline"]}}}, {"a": "two  blanks"}),
        ({"properties": {"a": {"enum": ["x" * 300]}}}, {"a": "x" * 300}),
        ({"properties": {"a": {"const": "x" * 300}}}, {"a": "x" * 300}),
        (
            {
                "$ref": "#/$defs/x",
                "properties": {"b": {}},
                "$defs": {"x": {"properties": {"a": {}}, "additionalProperties": False}},
            },
            {"a": 1},
        ),
    ],
)
def test_what_is_kept_of_a_schema_refuses_nothing_that_the_whole_one_takes(
    schema: JsonObject, args: JsonObject
) -> None:
    Draft202012Validator({"type": "object", **schema}).validate(args)  # pyright: ignore[reportUnknownMemberType] -- a deprecated overload is untyped
    kept = checked_schema(schema)
    assert kept is not None
    assert Registry([Told(kept)]).check(ToolCall("told", args)) is None


def test_a_schema_of_thousands_of_names_or_of_long_values_is_not_shown_whole() -> None:
    names: dict[str, Json] = {f"n{number}": {} for number in range(5_000)}
    many: dict[str, Json] = {"properties": names, "required": [*names]}
    schemas: list[dict[str, Json]] = [
        many,
        {"properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": many}},
        {"properties": {"a": {"const": "x" * 100_000}}},
        {"properties": {"a": {}}, "required": ["a" for _ in range(5_000)]},
    ]
    for schema in schemas:
        assert len(str(checked_schema(schema))) < 1_000


def test_a_reference_in_a_circle_and_a_tree_that_doubles_end() -> None:
    defs: dict[str, Json] = {
        f"d{n}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "ab"}} for n in range(40)
    }
    kept = checked_schema({"type": "object", "properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": defs})
    assert kept is not None
    assert str(kept).count("properties") <= MAX_NODES
    assert checked_schema({"type": "object", "properties": {"me": {"$ref": "#"}}}) is not None
