"""What the registry says of calls, and what it lets through."""

import json
from dataclasses import dataclass, field

import pytest

from agent.messages import Json, JsonObject, ResultStatus, ToolCall, ToolResult, estimate_tokens
from agent.ports import ToolContext
from agent.tools.recall import RecallTool
from agent.tools.registry import Registry, ToolLimits
from agent.tools.remember import RememberTool
from tests.fakes.store import store_in_memory

QUERY: JsonObject = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1}, "limit": {"type": "integer"}},
    "required": ["query"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Search:
    name: str = "search"
    description: str = "Search."
    schema: JsonObject = field(default_factory=lambda: QUERY)
    read_only: bool = True
    timeout_s: float = 1.0

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        return f"{args} for {context.person.name}"


registry = Registry([Search(), Search(name="fetch", read_only=False)])


def test_a_call_that_matches_the_schema_is_fine() -> None:
    assert registry.check(ToolCall("search", {"query": "boat"})) is None


@pytest.mark.parametrize(
    ("args", "names"),
    [
        ({}, "'query' is a required property"),
        ({"query": 3}, "query: 3 is not of type 'string'"),
        ({"query": ""}, "query:"),
        ({"query": "x", "user_id": "U1"}, "user_id"),
        ({"query": "x", "limit": "many"}, "limit:"),
    ],
)
def test_wrong_arguments_are_named_together_with_the_schema(args: JsonObject, names: str) -> None:
    problem = registry.check(ToolCall("search", args))
    assert problem is not None
    assert names in problem
    assert problem.endswith("It is search(query, limit?: integer): Search.")


def test_a_value_alone_stands_for_a_list_of_it_and_texts_for_lines_of_one() -> None:
    words: JsonObject = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Json] = {"query": {"type": "string"}, "words": dict(words), "limit": {"type": "integer"}}
    some = Registry([Search(schema={**QUERY, "properties": properties})])
    call = ToolCall("search", {"query": ["boat", "ship"], "words": "yacht", "limit": 3})
    assert some.check(call) is None
    assert dict(some.as_meant(call).args) == {"query": "boat\nship", "words": ["yacht"], "limit": 3}
    wrong: list[JsonObject] = [
        {"query": ["a", 3]},
        {"query": []},
        {"query": "x", "words": 3},
        {"query": "x", "limit": [3]},
    ]
    for args in wrong:
        assert some.check(ToolCall("search", args)) is not None


def test_an_unknown_tool_gets_the_nearest_name() -> None:
    assert registry.check(ToolCall("serach", {})) == "unknown tool 'serach'; did you mean 'search'?"


def test_a_far_off_name_gets_the_list() -> None:
    assert registry.check(ToolCall("zzz", {})) == "unknown tool 'zzz'; there are: fetch, search"


def test_a_huge_argument_is_not_repeated_whole_in_the_reason() -> None:
    problem = registry.check(ToolCall("search", {"query": "x", "limit": "9" * 100_000}))
    assert problem is not None
    assert len(problem) < 1_000


def test_a_long_result_is_cut_and_says_how_much_is_missing() -> None:
    small = Registry([Search()], ToolLimits(max_result_chars=10))
    cut = small.bounded(ToolResult("search", ResultStatus.SUCCESS, "x" * 25))
    assert cut.content == "x" * 10 + "\n[cut: 15 more characters]"


def test_a_short_result_stays_as_it_is() -> None:
    result = ToolResult("search", ResultStatus.SUCCESS, "short")
    assert registry.bounded(result) == result


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools have one name"):
        Registry([Search(), Search()])


def test_only_a_known_tool_can_be_read_only() -> None:
    assert registry.read_only("search")
    assert not registry.read_only("fetch")
    assert not registry.read_only("nothing")


def test_no_schema_lets_the_model_say_who_it_acts_for() -> None:
    assert "user_id" not in registry.schemas


BOOKING: JsonObject = {
    "type": "object",
    "properties": {
        "boat": {"type": "string", "description": "its name", "maxLength": 80},
        "days": {"type": "array", "items": {"type": "integer"}},
        "for": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "age": {"type": "number"}},
            "required": ["name"],
        },
        "kind": {"enum": ["sail", "motor", 3, None], "description": "which"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "more": True,
    },
    "required": ["boat", "for"],
}


def test_a_tool_is_described_as_a_signature_with_a_line_for_what_has_to_be_said() -> None:
    assert Registry([Search("book", "Book it.", BOOKING)]).schemas == (
        "book(boat, days?: [integer], for: {name, age?: number}, kind?: sail | motor | 3 | null, "
        'note?: {"anyOf": [{"type": "string"}, {"type": "null"}]}, more?: {}): Book it.\n'
        "  boat: its name\n"
        "  kind: which"
    )


def test_the_terse_form_costs_less_than_half_of_the_schemas() -> None:
    store = store_in_memory()
    known = Registry([RecallTool(store.memories), RememberTool(store.facts)])
    whole = "\n".join(json.dumps([spec.name, spec.description, spec.schema]) for spec in known.specs)
    assert estimate_tokens(known.schemas) <= 150
    assert 2 * estimate_tokens(known.schemas) < estimate_tokens(whole)
