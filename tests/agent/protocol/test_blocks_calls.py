"""Calls are read as their model meant them, or refused with a reason that helps it."""

import pytest

from agent.events import CallsArrived, CallsRejected, Violation, ViolationFound
from agent.messages import ToolCall
from agent.protocol.blocks import IN_BLOCKS, read_calls
from agent.protocol.grammar import ParserLimits


def read(body: str, *, whole: bool = True) -> CallsArrived | CallsRejected | ViolationFound:
    return read_calls(body, ParserLimits(), whole=whole)


def test_the_order_of_the_calls_is_kept() -> None:
    assert read('[{"name": "b", "args": {"n": 1}}, {"name": "a"}]') == CallsArrived(
        (ToolCall("b", {"n": 1}), ToolCall("a", {}))
    )


def test_a_blank_around_the_name_is_no_part_of_it() -> None:
    assert read('[{"name": " a "}]') == CallsArrived((ToolCall("a", {}),))


@pytest.mark.parametrize("args", ["null", '""', "[]", "{}", '"{}"'])
def test_empty_arguments_are_no_arguments(args: str) -> None:
    assert read(f'[{{"name": "a", "args": {args}}}]') == CallsArrived((ToolCall("a", {}),))


def test_other_keys_beside_args_are_ignored() -> None:
    assert read('[{"name": "a", "args": {"n": 1}, "why": "because"}]') == CallsArrived((ToolCall("a", {"n": 1}),))


@pytest.mark.parametrize(
    "body",
    [
        '[{"name": "a", "args": {}, "arguments": {}}]',
        '[{"name": "a", "tool": "b"}]',
        '[{"name": 3}]',
        '[{"name": "  "}]',
        f'[{{"name": "{"a" * 200}"}}]',
        '[{"function": {"name": "a"}, "name": "b"}]',
        '[{"name": "a", "args": "1 2"}]',
        '[{"name": "a", "args": 3}]',
        '[[{"name": "a"}]]',
        "[null]",
        '{"a": {"query": "x"}}',
    ],
)
def test_what_is_unclear_is_refused_with_the_form(body: str) -> None:
    rejected = read(body)
    assert isinstance(rejected, CallsRejected)
    assert rejected.reason.endswith(IN_BLOCKS.form)


def test_a_reason_quotes_the_place_of_the_error() -> None:
    rejected = read('[{"name": "recall" "args": {}}]')
    assert isinstance(rejected, CallsRejected)
    assert "near" in rejected.reason
    assert '"recall" "args"' in rejected.reason


def test_too_many_calls_are_refused() -> None:
    rejected = read("[" + ", ".join(['{"name": "a"}'] * 33) + "]")
    assert isinstance(rejected, CallsRejected)
    assert "at most 32" in rejected.reason


def test_keys_that_only_differ_in_what_is_removed_are_the_same_key_twice() -> None:
    rejected = read('[{"name": "a", "args": {"n": 1, "n\\u0000": 2}}]')
    assert isinstance(rejected, CallsRejected)
    assert "stands twice" in rejected.reason


def test_an_empty_list_is_no_call_and_no_mistake_to_correct() -> None:
    assert read("[]") == read("[ ]") == ViolationFound(Violation.CALLS_UNREAD, "empty")


@pytest.mark.parametrize(
    "body",
    [
        '{{"name": "a", "args": {"q": "x"}}',
        '{{"name": "a", "args": {"q": "x"}}}',
        '[{{"name": "a", "args": {{"q": "x"}}}}]',
        '[ // first\n {"name": "a", "args": {"q": "x"}} /* and last */ ]',
    ],
)
def test_doubled_braces_and_comments_are_only_spellings(body: str) -> None:
    assert read(body) == CallsArrived((ToolCall("a", {"q": "x"}),))
