"""A check of a call's arguments takes little time and opens no address, whatever a server's schema says."""

import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise, product
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from agent.messages import Json, ToolCall
from agent.toolbox.arguments import (
    MAX_PLAIN_DEPTH,
    MAX_REFERENCES,
    UncheckableSchema,
    is_plain_schema,
    schema_errors,
    validator_of,
)
from agent.toolbox.registry import Registry
from tests.injection.world import Tooled

BACKTRACKS: Final = "^(a+)+$"
LONG: Final = "a" * 60 + "!"
UNCALLABLE: Final = "the tool 'a.tool' cannot be called: the schema of its arguments is none"


def field(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}}


def problems(schema: Any, args: Any) -> list[str]:
    return [error.message for error in schema_errors(validator_of(json.dumps(schema)), ToolCall("a.tool", args))]


def doubled(levels: int) -> dict[str, Any]:
    """A schema that names the next one twice at each level."""
    names = [f"d{level}" for level in range(levels + 1)]
    twice = {name: {"allOf": [{"$ref": f"#/$defs/{following}"}] * 2} for name, following in pairwise(names)}
    return {"$ref": "#/$defs/d0", "$defs": {**twice, names[-1]: {}}}


# Each would take minutes or more with jsonschema's own keywords.
SLOW: Final[Mapping[str, tuple[Any, Any]]] = {
    "a text": (field({"type": "string", "pattern": BACKTRACKS}), {"x": LONG}),
    "an item": (field({"type": "array", "contains": {"pattern": BACKTRACKS}}), {"x": [LONG] * 3}),
    "a name": ({"type": "object", "propertyNames": {"pattern": BACKTRACKS}}, {LONG: 1}),
    "a name's pattern": ({"type": "object", "patternProperties": {BACKTRACKS: {}}}, {LONG: 1}),
    "no other names": (
        {"type": "object", "patternProperties": {BACKTRACKS: {}}, "additionalProperties": False},
        {LONG: 1},
    ),
    "names left over": (
        {"type": "object", "patternProperties": {BACKTRACKS: {}}, "unevaluatedProperties": False},
        {LONG: 1},
    ),
    "objects that differ": (field({"uniqueItems": True}), {"x": [{"a": number} for number in range(50_000)]}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "args"), SLOW.values(), ids=SLOW)
@pytest.mark.timeout(30)
def test_what_a_schema_could_take_long_for_is_left_to_the_server(schema: Any, args: Any) -> None:
    assert problems(schema, args) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        field({"$ref": "#/properties/x"}),
        doubled(40),
        field({"$ref": "#/$defs/missing"}),
        field({"$ref": "file:///etc/hostname"}),
        {"$id": "http://127.0.0.1:9/a", **field({"$ref": "b"})},
    ],
    ids=["itself", "its own field", "twice at each level", "missing", "a file", "beside its id"],
)
@pytest.mark.timeout(30)
def test_a_reference_that_leads_nowhere_or_on_without_an_end_is_not_followed(schema: Any) -> None:
    with pytest.raises(UncheckableSchema):
        problems(schema, {"x": "1"})
    registry = Registry([], rest=[Tooled("a.tool", schema=schema)])
    assert registry.check(ToolCall("a.tool", {"x": "1"})) == UNCALLABLE


def test_no_schema_has_an_address_opened() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(0.5)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        for schema in (field({"$ref": address}), {"$id": address, **field({"$ref": "other.json"})}):
            with pytest.raises(UncheckableSchema):
                problems(schema, {"x": "1"})
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("depth", [100, 250, 600])
def test_a_schema_that_is_nested_deeply_raises_nothing(depth: int) -> None:
    schema: Any = {"type": "string"}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    tools = Registry([], rest=[Tooled("a.tool", schema=schema)])
    assert tools.check(ToolCall("a.tool", {"a": {}})) in (None, UNCALLABLE)


def test_what_follows_references_and_rules_that_are_quick_is_checked() -> None:
    tree = {"type": "object", "properties": {"name": {"type": "string"}, "of": {"$ref": "#/$defs/t"}}}
    schema = {"$defs": {"t": tree}, **field({"type": "array", "items": {"$ref": "#/$defs/t"}})}
    assert problems(schema, {"x": [{"name": "a", "of": {"name": "b"}}] * (MAX_REFERENCES // 4)}) == []
    assert problems(schema, {"x": [{"name": "a", "of": {"name": 1}}]}) == ["1 is not of type 'string'"]
    assert problems(field({"uniqueItems": True}), {"x": [{"a": 1}, {"a": 1}]}) == ["the list has equal items"]
    assert problems(field({"uniqueItems": False}), {"x": [1, 1]}) == []
    closed = {**field({}), "additionalProperties": False}
    assert problems(closed, {"y": 1}) == ["Additional properties are not allowed ('y' was unexpected)"]


VALUES: Final[Sequence[Json]] = (
    *(None, True, -1, 0, 2, 0.5, "", "string", "object", "text"),
    *([], ["a"], ["a", "a"], ["a", 1], [["a"]], {}, {"a": 1}, {"a": {"type": "text"}}, {"a": {"type": "null"}}),
)
KEYWORDS: Final = (
    *("type", "description", "title", "items", "additionalProperties", "properties", "required", "enum"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default", "pattern", "$ref"),
)


def test_a_schema_that_counts_as_plain_is_valid() -> None:
    """Each keyword with each kind of value, also within others."""
    alone: list[dict[str, Json]] = [{keyword: value} for keyword, value in product(KEYWORDS, VALUES)]
    within: list[dict[str, Json]] = [{"properties": {"a": {"items": schema}}} for schema in alone]
    plain = [schema for schema in (*alone, *within) if is_plain_schema(schema)]
    assert len(plain) > 100
    for schema in plain:
        Draft202012Validator.check_schema(schema)


def test_the_schema_of_a_usual_tool_counts_as_plain_and_one_that_is_nested_without_end_does_not() -> None:
    text: Json = {"type": "string", "description": "what", "enum": ["a", "b"], "default": "a", "maxLength": 5}
    properties: Json = {"x": text, "n": {"type": "integer", "minimum": 1}, "all": {"type": "array", "items": text}}
    usual: Json = {"type": "object", "properties": properties, "required": ["x"], "additionalProperties": False}
    assert is_plain_schema(usual)
    nested: Json = {}
    for _ in range(MAX_PLAIN_DEPTH + 1):
        nested = {"items": nested}
    assert not is_plain_schema(nested)
