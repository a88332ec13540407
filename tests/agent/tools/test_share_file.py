"""The tool that hands a file over with the answer."""

from datetime import UTC, datetime

import pytest

from agent.errors import ToolError
from agent.memory.audience import PersonAudience, Place
from agent.messages import ResultStatus, ToolCall, ToolResult
from agent.ports import ToolContext
from agent.records import Person
from agent.state import ActionRecord
from agent.tools.registry import Registry
from agent.tools.share_file import DONE, ShareFileTool, shared_files

NOW = datetime(2026, 1, 5, tzinfo=UTC)
CONTEXT = ToolContext(Person("ann", "Ann"), Place(PersonAudience("ann")), "thread", 1, NOW)


def record(*calls: tuple[str, dict[str, str], ResultStatus]) -> ActionRecord:
    return ActionRecord(
        1,
        NOW,
        "",
        tuple(ToolCall(name, {**args}) for name, args, _ in calls),
        tuple(ToolResult(name, status, "") for name, _, status in calls),
    )


async def test_a_call_says_that_the_file_will_come_and_changes_nothing() -> None:
    assert await ShareFileTool().run({"name": "a.csv", "content": "1,2"}, CONTEXT) == DONE
    assert ShareFileTool().read_only


async def test_an_empty_file_is_refused() -> None:
    with pytest.raises(ToolError):
        await ShareFileTool().run({"name": "a.csv", "content": " \n"}, CONTEXT)


def test_a_call_needs_a_name_and_a_content() -> None:
    registry = Registry([ShareFileTool()])
    assert registry.check(ToolCall("share_file", {"name": "a.csv", "content": "1,2"})) is None
    assert registry.check(ToolCall("share_file", {"content": "1,2"})) is not None


def test_what_was_handed_over_is_read_off_the_calls_and_the_last_of_a_name_counts() -> None:
    ok, failed = ResultStatus.SUCCESS, ResultStatus.FAILURE
    first = record(("share_file", {"name": "a.csv", "content": "1"}, ok), ("recall", {"query": "boat"}, ok))
    second = record(
        ("share_file", {"name": "a.csv", "content": "2"}, ok), ("share_file", {"name": "b.csv", "content": "3"}, failed)
    )
    assert shared_files([first, second]) == (("a.csv", "2"),)
