"""Which calls the registry accepts, and what it says about others."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place, TeamAudience
from agent.messages import (
    Image,
    Json,
    JsonObject,
    Keep,
    Link,
    SharedFile,
    StructuredData,
    ToolCall,
    estimate_tokens,
)
from agent.ports.tools import Asker, Tool, ToolContext, ToolEffect, ToolOutput
from agent.toolbox.registry import Registry, Toolbox
from agent.toolbox.results import FILE, LEFT_OUT, PICTURE, ToolLimits
from agent.tools.recall import RecallTool
from agent.tools.remember import RememberTool
from tests.fakes.fixed_config import FakeServers
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
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 1.0

    async def run(self, args: JsonObject, context: ToolContext) -> str:
        return f"{args} for {context.person.name}"


ANN = Person("ann", "Ann")
registry = Registry([Search(), Search(name="fetch", effect=ToolEffect.ACTS_OUTWARD)])


def test_a_call_that_matches_the_schema_is_fine() -> None:
    assert registry.check(ToolCall("search", {"query": "boat"})) is None


def test_a_tool_of_a_server_that_is_away_is_no_unknown_one_and_the_model_is_told_for_how_long() -> None:
    away = {"wiki": "not reachable for 3 minutes."}
    asker = Asker(ANN, Place(PersonAudience("ann")))
    tools = Toolbox([Search()], servers=FakeServers(away)).registry(asker)
    problem = tools.check(ToolCall("wiki.search", {"query": "boat"})) or ""
    assert "not reachable for 3 minutes." in problem
    assert "unknown" not in problem
    assert tools.check(ToolCall("wikis.search", {})) == "unknown tool 'wikis.search'; did you mean 'search'?"
    away.clear()
    assert "unknown tool 'wiki.search'" in (tools.check(ToolCall("wiki.search", {})) or "")


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


@pytest.mark.parametrize("number", [10**350, -(10**350), 1e308, float("inf"), float("nan")])
def test_a_number_that_no_float_holds_is_told_of_and_ends_no_turn(number: float) -> None:
    prices: JsonObject = {"type": "object", "properties": {"price": {"type": "number", "multipleOf": 0.01}}}
    said = Registry([Search(schema=prices)]).check(ToolCall("search", {"price": number}))
    assert (said or "").startswith("wrong arguments: ")


def test_a_value_alone_stands_for_a_list_of_it_and_texts_for_lines_of_one() -> None:
    words: JsonObject = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, Json] = {"query": {"type": "string"}, "words": dict(words), "limit": {"type": "integer"}}
    some = Registry([Search(schema={**QUERY, "properties": properties})])
    call = ToolCall("search", {"query": ["boat", "ship"], "words": "yacht", "limit": 3})
    assert some.check(call) is None
    assert dict(some.adapt_arguments(call).args) == {"query": "boat\nship", "words": ["yacht"], "limit": 3}
    wrong: list[JsonObject] = [
        {"query": ["a", 3]},
        {"query": []},
        {"query": "x", "words": 3},
        {"query": "x", "limit": [3]},
    ]
    for args in wrong:
        assert some.check(ToolCall("search", args)) is not None


NUMBERS: JsonObject = {"type": "array", "items": {"type": ["number", "null"]}}
NESTED: JsonObject = {
    "type": "object",
    "properties": {
        "series": {"type": "object", "additionalProperties": {**NUMBERS}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"cells": {**NUMBERS}}}},
        "words": {"type": "array", "items": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"series": {"Sales": 5, "Cost": [1, None]}}, {"series": {"Sales": [5], "Cost": [1, None]}}),
        ({"rows": {"cells": 3}}, {"rows": [{"cells": [3]}]}),
        ({"series": '{"Sales": [1, 2]}'}, {"series": {"Sales": [1, 2]}}),
        ({"rows": '[{"cells": "[4, 5]"}]'}, {"rows": [{"cells": [4, 5]}]}),
        ({"words": '["boat", "ship"]'}, {"words": ["boat", "ship"]}),
        ({"words": "[1] see below"}, {"words": ["[1] see below"]}),
        ({"words": "[1]"}, {"words": ["[1]"]}),
    ],
)
def test_a_value_alone_or_spelled_as_json_is_read_as_meant_at_any_depth(given: JsonObject, read: JsonObject) -> None:
    some = Registry([Search(schema=NESTED)])
    call = ToolCall("search", given)
    assert dict(some.adapt_arguments(call).args) == read
    assert some.check(call) is None


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("[" * 3_000),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["cells", "a"]), inner, max_size=3),
    max_leaves=6,
)


@for_all(st.dictionaries(st.sampled_from(["series", "rows", "words"]), json_values))
def test_adapting_again_changes_nothing_more(args: JsonObject) -> None:
    some = Registry([Search(schema=NESTED)])
    adapted = some.adapt_arguments(ToolCall("search", args))
    assert some.adapt_arguments(adapted) == adapted


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
    cut = small.result("search", ToolOutput("x" * 25), ANN)
    assert cut.content == "x" * 10 + "\n[cut: 15 more characters]"
    assert small.failure("search", "y" * 11).content == "y" * 10 + "\n[cut: 1 more characters]"


def test_what_a_tool_brings_is_for_the_asker_alone_unless_it_says_otherwise() -> None:
    assert registry.result("search", ToolOutput("short"), ANN).audience == "person:ann"
    team = ToolOutput("short", audience=TeamAudience("slack:T1"))
    assert registry.result("search", team, ANN).audience == "team:slack:T1"
    assert registry.failure("search", "its own words", ANN).audience == "person:ann"
    assert registry.failure("search", "no result after 10 s").audience == ""


def test_the_model_reads_the_parts_of_a_result_in_their_order() -> None:
    picture, plot = Image("image/png", b"png"), SharedFile("plot.svg", "image/svg+xml", b"<svg/>")
    parts = ("Found:", Link("https://a.example/1", "One"), picture, StructuredData({"n": 1}), plot)
    result = registry.result("search", ToolOutput("Hello.", (3,), parts, keep=Keep.TURN), ANN)
    assert result.content.split("\n\n") == [
        "Hello.",
        "Found:",
        "One: https://a.example/1",
        PICTURE.format(about="a picture (image/png)"),
        '{"n": 1}',
        FILE.format(about="plot.svg (image/svg+xml, 6 bytes)"),
    ]
    assert (result.images, result.files, result.sources, result.keep) == ((picture,), (plot,), (3,), Keep.TURN)


def test_more_than_a_result_holds_is_left_out_and_named() -> None:
    small = Registry([Search()], ToolLimits(max_images=1, max_files=1, max_bytes=5))
    picture, note = Image("image/png", b"png"), SharedFile("a.txt", "text/plain", b"1")
    large = SharedFile("b.bin", "application/octet-stream", b"1234567")
    result = small.result("search", ToolOutput(parts=(large, picture, picture, note, note)), ANN)
    assert (result.images, result.files) == ((picture,), (note,))
    assert result.content.count("left out") == 3
    assert LEFT_OUT.format(about="b.bin (application/octet-stream, 7 bytes)") in result.content


@dataclass(slots=True, eq=False)
class Source:
    """Tools that only some may use."""

    found: Sequence[Tool]
    who: str = "ann"

    def tools(self, asker: Asker) -> Sequence[Tool]:
        return self.found if asker.person.id == self.who else ()


HERE = Place(PersonAudience("ann"))


def test_the_tools_of_everybody_stand_first_and_the_rest_by_name_behind_them() -> None:
    weather, atlas = Search(name="weather"), Search(name="atlas")
    box = Toolbox([Search(), Search(name="fetch")], [Source([weather, atlas])])
    hers, his = box.registry(Asker(ANN, HERE)), box.registry(Asker(Person("bob", "Bob"), HERE))
    assert [spec.name for spec in hers.specs] == ["search", "fetch", "atlas", "weather"]
    assert hers.schemas.startswith(his.schemas)
    assert box.registry(Asker(ANN, HERE)) is hers
    assert his.check(ToolCall("weather", {"query": "x"})) is not None


def test_a_tool_that_takes_anothers_name_is_left_out() -> None:
    box = Toolbox(
        [Search()],
        [
            Source([Search(name="search", effect=ToolEffect.IRREVERSIBLE)]),
            Source([Search(name="a")]),
            Source([Search(name="a", effect=ToolEffect.IRREVERSIBLE)]),
        ],
    )
    registry = box.registry(Asker(ANN, HERE))
    assert registry.names == {"search", "a"}
    assert all(registry.get(name).effect is ToolEffect.READS for name in registry.names)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tools have one name"):
        Registry([Search(), Search()])


def test_only_a_known_tool_that_reads_may_run_twice() -> None:
    assert registry.repeatable("search")
    assert not registry.repeatable("fetch")
    assert not registry.repeatable("nothing")


class OnPlatform(Search):
    on_platform: bool = True


def test_a_word_may_be_asked_for_where_calls_leave_the_bot_and_not_for_what_keeps_the_askers_own_words() -> None:
    store = store_in_memory()
    assert not Registry([RememberTool(store.facts)], rest=[OnPlatform()]).asks
    assert Registry([RememberTool(store.facts)], rest=[Search()]).asks, "an operator's own tool may send what it gets"
    assert Registry([RememberTool(store.facts)], rest=[Search(name="wiki.search")]).asks
    assert Registry([RememberTool(store.facts)], rest=[Search(effect=ToolEffect.WRITES_HERE)]).asks


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
        "note?: string | null, more?: {}): Book it.\n"
        "  boat: its name\n"
        "  kind: which"
    )


def test_the_terse_form_costs_less_than_half_of_the_schemas() -> None:
    store = store_in_memory()
    known = Registry([RecallTool(store.memories), RememberTool(store.facts)])
    whole = "\n".join(json.dumps([spec.name, spec.description, spec.schema]) for spec in known.specs)
    assert estimate_tokens(known.schemas) <= 150
    assert 2 * estimate_tokens(known.schemas) < estimate_tokens(whole)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"q": "boat"}, {"query": "boat"}),
        ({"search_query": "boat", "limit": 3}, {"query": "boat", "limit": 3}),
        ({"query_text": ["boat", "ship"]}, {"query": "boat\nship"}),
        ({"text": "boat"}, {"text": "boat"}),
        ({"q": "boat", "query": "ship"}, {"q": "boat", "query": "ship"}),
        ({"q": "boat", "qu": "ship"}, {"q": "boat", "qu": "ship"}),
        ({"": "boat"}, {"": "boat"}),
    ],
)
def test_a_name_near_the_missing_one_means_it_to_a_tool_that_reads(given: JsonObject, read: JsonObject) -> None:
    schema: JsonObject = {
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
        "additionalProperties": False,
    }
    reading = Registry([Search("look", schema=schema, effect=ToolEffect.READS)])
    acting = Registry([Search("look", schema=schema, effect=ToolEffect.ACTS_OUTWARD)])
    call = ToolCall("look", given)
    assert reading.adapt_arguments(call).args == read
    assert acting.check(call) is not None


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("private", "private channels"),
        ("Direct_Messages", "direct messages"),
        ("pri", "private channels"),
        ("direct mess", "direct messages"),
        ("channels", "channels"),
        ("p", "p"),
        ("d", "d"),
        ("", ""),
    ],
)
def test_a_word_or_the_beginning_of_one_choice_means_this_choice_to_a_tool_that_reads(given: str, read: str) -> None:
    schema: JsonObject = {"properties": {"where": {"enum": ["direct messages", "private channels", "public channels"]}}}
    reading = Registry([Search("look", schema=schema, effect=ToolEffect.READS)])
    acting = Registry([Search("look", schema=schema, effect=ToolEffect.ACTS_OUTWARD)])
    call = ToolCall("look", {"where": given})
    assert reading.adapt_arguments(call).args["where"] == read
    assert acting.adapt_arguments(call).args["where"] == given
