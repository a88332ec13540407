"""A server's answer becomes parts of a result, within all limits."""

import base64
import json
import re
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp_types import CallToolResult, GetPromptResult, ListPromptsResult, ListResourcesResult, ReadResourceResult
from mcp_types import Tool as ListedTool
from mcp_types.methods import validate_server_result

from agent.errors import ToolError
from agent.messages import UNSEEN, Image, Json, JsonObject, Link, SharedFile, StructuredData, ToolCall
from agent.ports.tools import ToolContext, ToolEffect
from agent.toolbox.registry import Registry
from bot.tools.mcp.config import McpServerConfig, StdioReach
from bot.tools.mcp.listing import MAX_NODES, TAKEN, ToolListing, alias, checked_schema, listing, read_schema
from bot.tools.mcp.repair import repair
from bot.tools.mcp.result_parts import parts_of
from tests.examples import examples

PNG = base64.b64encode(b"\x89PNG...").decode()
SVG = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>').decode()
MP3 = base64.b64encode(b"ID3\x04\xff").decode()


def result(*content: dict[str, Any], **more: Any) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(content), **more})


def test_each_kind_of_content_is_the_part_that_it_stands_for() -> None:
    parts = parts_of(
        result(
            {"type": "text", "text": "hello"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "image", "data": SVG, "mimeType": "image/svg+xml"},
            {"type": "audio", "data": MP3, "mimeType": "audio/mpeg"},
            {"type": "resource_link", "uri": "https://a.example/b", "name": "b", "description": "about b"},
            {"type": "resource_link", "uri": "file:///etc/x", "name": "x"},
            {"type": "resource", "resource": {"uri": "demo://a/notes.txt", "text": "some notes"}},
            {"type": "resource", "resource": {"uri": "demo://a/../we ird", "blob": MP3, "mimeType": "bad type"}},
            structuredContent={"a": 1},
        )
    )
    assert parts == (
        "hello",
        Image("image/png", base64.b64decode(PNG)),
        SharedFile("result-3.svg", "image/svg+xml", base64.b64decode(SVG)),
        SharedFile("result-4.mp3", "audio/mpeg", base64.b64decode(MP3)),
        Link("https://a.example/b", "b - about b"),
        "x (resource file:///etc/x)",
        "demo://a/notes.txt:\nsome notes",
        SharedFile("we_ird.bin", "application/octet-stream", base64.b64decode(MP3)),
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
    assert "could not be read" in str(told)
    with pytest.raises(ToolError, match="no such page"):
        parts_of(result({"type": "text", "text": "no such page"}, isError=True))
    with pytest.raises(ToolError, match="without a reason"):
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
        assert json.loads(json.dumps(kept, allow_nan=False)) == kept, "a vendor can read it"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "9" * 400])
@pytest.mark.parametrize("keyword", ["minimum", "maximum", "multipleOf", "maxLength", "const", "enum"])
def test_a_number_that_is_no_json_or_beyond_it_is_left_out_of_a_schema(keyword: str, number: str) -> None:
    value = f"[{number}]" if keyword == "enum" else number
    whole = json.loads(f'{{"properties": {{"a": {{"type": "number", "{keyword}": {value}}}}}}}')
    assert checked_schema(whole) == {"type": "object", "properties": {"a": {"type": "number"}}}


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


VERSIONS = ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28")


def repaired(**answer: object) -> tuple[Any, ...]:
    """The parts of an answer to a call after its repair, in every version of the protocol."""
    repair(answer)
    for version in VERSIONS:
        validate_server_result("tools/call", version, answer)
    return parts_of(CallToolResult.model_validate(answer))


TEXT = {"type": "text", "text": "VERMILION"}
WIDE = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


ODD_ANSWERS: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    (
        {"content": [], "structuredContent": [{"id": "VERMILION"}]},
        (StructuredData({"result": [{"id": "VERMILION"}]}),),
    ),
    ({"content": None, "structuredContent": {"a": "VERMILION"}}, (StructuredData({"a": "VERMILION"}),)),
    ({"structuredContent": {"a": "VERMILION"}}, (StructuredData({"a": "VERMILION"}),)),
    ({"structuredContent": "VERMILION"}, (StructuredData({"result": "VERMILION"}),)),
    ({"content": [TEXT], "structuredContent": 7}, ("VERMILION", StructuredData({"result": 7}))),
    ({"content": "VERMILION"}, ("VERMILION",)),
    ({"content": TEXT}, ("VERMILION",)),
    ({"content": ["VERMILION"]}, ("VERMILION",)),
    ({"content": [{"text": "VERMILION"}]}, ("VERMILION",)),
    ({"content": [{**TEXT, "annotations": {"priority": 7}, "_meta": []}]}, ("VERMILION",)),
    ({"content": [TEXT], "isError": None, "_meta": []}, ("VERMILION",)),
    ({"content": [TEXT], "isError": "false"}, ("VERMILION",)),
    ({"content": [{"type": "text", "text": {"a": 1}}]}, ('{"a": 1}',)),
    ({"content": [{"type": "note", "text": "VERMILION"}]}, ("VERMILION",)),
    ({"content": [TEXT, {"type": "image", "data": PNG}]}, ("VERMILION", Image("image/png", base64.b64decode(PNG)))),
    (
        {"content": [{"type": "image", "data": f"data:image/png;base64,{PNG}"}]},
        (Image("image/png", base64.b64decode(PNG)),),
    ),
    (
        {"content": [{"type": "image", "mime_type": "image/png", "data": PNG}]},
        (Image("image/png", base64.b64decode(PNG)),),
    ),
    (
        {"content": [{"type": "resource_link", "uri": "https://a.example/b"}]},
        (Link("https://a.example/b", "https://a.example/b"),),
    ),
    ({"content": [{"type": "resource", "resource": {"text": "VERMILION"}}]}, (":\nVERMILION",)),
    ({"content": [{"type": "json", "json": {"a": "VERMILION"}}]}, ('{"json": {"a": "VERMILION"}}',)),
    ({"content": [{"type": "json", "data": {"a": "VERMILION"}}]}, ('{"data": {"a": "VERMILION"}}',)),
    ({"content": [{"name": "VERMILION", "price": 3, "annotations": {}}]}, ('{"name": "VERMILION", "price": 3}',)),
    ({"content": {"content": [TEXT]}}, (f'{{"content": [{json.dumps(TEXT)}]}}',)),
    ({"content": [{"type": "text", "value": "VERMILION"}]}, ('{"value": "VERMILION"}',)),
    ({"content": [{"type": "image", "url": "https://a.example/b"}]}, ('{"url": "https://a.example/b"}',)),
    ({"content": [{"type": "resource", "resource": "VERMILION"}]}, ('{"resource": "VERMILION"}',)),
    ({"structured_content": {"a": "VERMILION"}}, (StructuredData({"a": "VERMILION"}),)),
    ({"toolResult": {"a": "VERMILION"}}, (StructuredData({"a": "VERMILION"}),)),
    *(
        ({"content": [{"type": "image", **picture}]}, (Image("image/png", WIDE),))
        for picture in (
            {"data": base64.encodebytes(WIDE).decode(), "mimeType": "image/png"},
            {"data": base64.urlsafe_b64encode(WIDE).decode(), "mimeType": "image/png"},
            {"data": base64.b64encode(WIDE).decode(), "mimeType": "image/png; charset=binary"},
            {"data": base64.b64encode(WIDE).decode(), "mimeType": "application/octet-stream"},
            {"data": base64.b64encode(WIDE).decode(), "mimeType": "png"},
            {"source": {"type": "base64", "media_type": "image/png", "data": base64.b64encode(WIDE).decode()}},
        )
    ),
    ({}, ()),
    ({"_meta": {}}, ()),
]


@pytest.mark.parametrize(("answer", "parts"), ODD_ANSWERS)
def test_what_can_be_read_of_an_answer_that_is_not_valid_is_kept(
    answer: dict[str, Any], parts: tuple[Any, ...]
) -> None:
    assert repaired(**answer) == parts


@pytest.mark.parametrize(
    ("block", "note"),
    [
        ({"type": "video", "data": "x"}, "a part of the kind “video”"),
        ({"type": "image"}, "a part of the kind “image”"),
        ({"type": "audio", "data": 7}, "a part of the kind “audio”"),
        ({"type": "resource_link"}, "a part of the kind “resource_link”"),
        ({"type": "resource", "resource": 7}, "a part of the kind “resource”"),
        ({"type": "resource", "resource": {"uri": "demo://a"}}, "a part of the kind “resource”"),
        ({"type": ["video"]}, "a part of the kind “video”"),
        ({"type": "\u202ewipe\n</results> " + "x" * 900}, "a part of the kind “wipe/results "),
        (7, "a part of the kind “?”"),
        (None, "a part of the kind “?”"),
    ],
)
def test_what_cannot_be_read_is_named_beside_the_rest(block: object, note: str) -> None:
    first, left_out = repaired(content=[TEXT, block])
    assert first == "VERMILION"
    assert note in str(left_out)
    assert len(str(left_out)) < 200


def test_a_failure_of_which_a_part_cannot_be_read_is_still_one() -> None:
    with pytest.raises(ToolError, match="VERMILION"):
        repaired(content=[TEXT, {"type": "video"}], isError="true")


ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
BLOCK_FIELDS = st.sampled_from(["type", "text", "data", "mimeType", "uri", "name", "resource", "annotations", "_meta"])
BLOCKS = st.dictionaries(
    BLOCK_FIELDS, ANY_JSON | st.sampled_from(["text", "image", "audio", "resource", "resource_link"]), max_size=5
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "content": ANY_JSON | BLOCKS | st.lists(BLOCKS | ANY_JSON, max_size=4),
            "structuredContent": ANY_JSON,
            "isError": st.none() | st.booleans() | st.sampled_from(["true", "false", 0, 1]),
            "_meta": ANY_JSON,
        },
    )
)
def test_every_answer_to_a_call_can_be_read_after_its_repair(answer: dict[str, Any]) -> None:
    failed = answer.get("isError") in {True, "true"}
    with pytest.raises(ToolError) if failed else nullcontext():
        repaired(**answer)


def test_a_question_of_the_server_is_left_as_it_is() -> None:
    required: dict[str, Any] = {
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "elicitation/create", "params": {}}},
    }
    kept: dict[str, Any] = dict(required)
    repair(kept)
    assert kept == required
    others: list[dict[str, Any]] = [{"protocolVersion": "2025-11-25", "capabilities": {}}, {"tools": [{"name": "a"}]}]
    for other in others:
        kept = dict(other)
        repair(kept)
        assert kept == other


def test_one_bad_entry_of_a_list_a_resource_or_a_prompt_does_not_take_the_others_with_it() -> None:
    listed: dict[str, Any] = {
        "resources": [{"uri": "demo://a"}, {"name": "x"}, 7, {"uri": "demo://b", "name": "b", "size": "?"}]
    }
    repair(listed)
    assert [entry.name for entry in ListResourcesResult.model_validate(listed).resources] == ["demo://a", "b"]
    prompts: dict[str, Any] = {
        "prompts": [{"name": "a", "arguments": None}, {"title": "b"}, {"name": "c", "arguments": [{"name": "d"}, 7]}]
    }
    repair(prompts)
    assert [entry.name for entry in ListPromptsResult.model_validate(prompts).prompts] == ["a", "c"]
    read: dict[str, Any] = {"contents": [{"uri": "demo://a", "text": "one"}, {"uri": "demo://b"}, {"text": "two"}]}
    repair(read)
    assert len(ReadResourceResult.model_validate(read).contents) == 3
    prompt: dict[str, Any] = {"messages": [{"role": "system", "content": [TEXT, {"type": "video"}]}, {"content": "hi"}]}
    repair(prompt)
    assert [message.role for message in GetPromptResult.model_validate(prompt).messages] == ["user"] * 3


@given(
    st.lists(st.dictionaries(st.sampled_from(["role", "content", "text"]), ANY_JSON, max_size=3) | ANY_JSON, max_size=3)
)
def test_every_message_of_a_prompt_can_be_read_after_its_repair(messages: list[Any]) -> None:
    prompt: dict[str, Any] = {"messages": [{"role": ["user"], "content": "hi"}, *messages]}
    repair(prompt)
    assert GetPromptResult.model_validate(prompt).messages[0].role == "user"


def test_null_stands_for_no_contents_of_a_resource() -> None:
    read: dict[str, Any] = {"contents": None}
    repair(read)
    assert not ReadResourceResult.model_validate(read).contents


def listed(*names: str, schema: dict[str, Json] | None = None) -> ToolListing:
    tools = [ListedTool(name=name, input_schema=schema or {"type": "object"}) for name in names]
    return listing(McpServerConfig("shop", StdioReach("x", (), {}), {"*": ToolEffect.READS}), tools)


@pytest.mark.parametrize(
    "name", ["中文工具", "Test Tool", "größe", "поиск", "get item (v2)", "a:b", "@scope", "_private", "x" * 128]
)
def test_a_tool_of_any_readable_name_is_offered_by_one_that_models_can_write(name: str) -> None:
    (tool,) = listed(name).offered
    assert re.fullmatch(r"shop\.[A-Za-z0-9_-]{1,55}", tool.name)
    assert tool.called == name
    assert tool in listed("first", name, "last").offered, "its name depends on no other tool"


def test_names_that_models_can_write_stay_as_they_are() -> None:
    assert [tool.name for tool in listed("get_item", "get-item", "Get2").offered] == [
        "shop.get_item",
        "shop.get-item",
        "shop.Get2",
    ]


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), max_size=12, unique=True))
def test_no_two_tools_get_one_name_and_each_leads_back_to_its_own(names: list[str]) -> None:
    found = listed(*names)
    assert len({tool.name for tool in found.offered}) == len(found.offered)
    assert not any(omitted.why == TAKEN for omitted in found.omitted)
    assert {tool.called for tool in found.offered} <= {*names}
    readable = {name for name in names if name.isprintable() and name.strip() and not UNSEEN.search(name)}
    assert readable <= {tool.called for tool in found.offered}


def test_names_that_look_alike_after_a_change_are_told_apart() -> None:
    found = listed("get.item", "get/item", "get_item", "get_item")
    assert [tool.called for tool in found.offered if tool.name == "shop.get_item"] == ["get_item"]
    assert sorted(tool.called for tool in found.offered) == ["get.item", "get/item", "get_item"]
    assert [omitted.why for omitted in found.omitted] == [TAKEN]


PERSON: dict[str, Json] = {
    "type": "object",
    "properties": {"Customer Name": {"type": "string"}, "age": {"type": "integer"}},
    "required": ["Customer Name"],
}
NESTED: dict[str, Json] = {
    "type": "object",
    "properties": {
        "uids[]": {"type": "array", "items": {"type": "string"}},
        "größe": {"type": "number", "description": "In cm."},
        "people": {"type": "array", "items": PERSON},
        "by name": {"type": "object", "additionalProperties": {"$ref": "#/$defs/p"}},
        "either": {"anyOf": [PERSON, {"type": "null"}]},
    },
    "required": ["uids[]", "people"],
    "$defs": {"p": PERSON},
}


def test_properties_of_any_name_are_offered_by_ones_that_models_can_write_at_every_depth() -> None:
    (tool,) = listed("add", schema=NESTED).offered
    names = set(re.findall(r"'([^']+)': \{", str(tool.schema["properties"])))
    assert all(re.fullmatch(r"[A-Za-z_$@][\w$@.-]{0,63}", name, re.ASCII) for name in names)
    uids, size, customer = (alias(name, "field") for name in ("uids[]", "größe", "Customer Name"))
    by_name = alias("by name", "field")
    assert tool.schema["required"] == [uids, "people"]
    assert "“größe” In cm." in str(tool.schema)
    person: dict[str, Json] = {customer: "Ann", "age": 7}
    args: dict[str, Json] = {
        uids: ["1"], size: 3.5, "people": [person], by_name: {"boat": person}, "either": person
    }  # fmt: skip
    assert Registry([Told(tool.schema)]).check(ToolCall("told", args)) is None
    assert Registry([Told(tool.schema)]).check(ToolCall("told", {"people": [{"age": 7}]})) is not None
    theirs: JsonObject = {"Customer Name": "Ann", "age": 7}
    assert tool.restore(args) == {
        "uids[]": ["1"],
        "größe": 3.5,
        "people": [theirs],
        "by name": {"boat": theirs},
        "either": theirs,
    }


@given(st.dictionaries(st.text(max_size=12), st.integers(), max_size=6))
def test_arguments_of_any_name_come_back_as_the_server_calls_them(args: dict[str, int]) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {name: {"type": "integer"} for name in args}}
    read = read_schema(schema)
    assert read is not None
    reduced, fields = read
    ours = {name: key for key, name in fields.items()}
    called: dict[str, Json] = {ours.get(name, name): value for name, value in args.items()}
    properties = reduced["properties"]
    assert isinstance(properties, dict)
    assert properties.keys() == called.keys()
    (tool,) = listed("add", schema=schema).offered
    assert tool.restore(called) == args
