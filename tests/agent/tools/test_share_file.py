"""The tool that sends a file with the answer."""

from datetime import UTC, datetime

import pytest

from agent.errors import ToolError
from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import ResultStatus, SharedFile, ToolCall, ToolResult
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.progress import Progress, RoundStep
from agent.toolbox.registry import Registry
from agent.tools.share_file import DONE, ShareFileTool, shared_files

NOW = datetime(2026, 1, 5, tzinfo=UTC)
CONTEXT = ToolContext(Person("ann", "Ann"), Place(PersonAudience("ann")), "thread", 1, NOW)


def step(*calls: tuple[str, dict[str, str], ToolResult]) -> RoundStep:
    return RoundStep(
        NOW,
        calls=tuple(ToolCall(name, {**args}) for name, args, _ in calls),
        results=tuple(result for _, _, result in calls),
    )


async def test_a_call_says_that_the_file_will_come_and_changes_nothing() -> None:
    output = await ShareFileTool().run({"name": "a.csv", "content": "1,2"}, CONTEXT)
    assert output == ToolOutput(DONE, audience=CONTEXT.place.audience, read=())
    assert ShareFileTool().effect is ToolEffect.READS


async def test_an_empty_file_is_refused() -> None:
    with pytest.raises(ToolError):
        await ShareFileTool().run({"name": "a.csv", "content": " \n"}, CONTEXT)


def test_a_call_needs_a_name_and_a_content() -> None:
    registry = Registry([ShareFileTool()])
    assert registry.check(ToolCall("share_file", {"name": "a.csv", "content": "1,2"})) is None
    assert registry.check(ToolCall("share_file", {"content": "1,2"})) is not None


def test_what_was_handed_over_is_read_off_the_calls_and_the_last_of_a_name_counts() -> None:
    done = ToolResult("share_file", ResultStatus.SUCCESS, DONE)
    failed = ToolResult("share_file", ResultStatus.FAILURE, "no")
    found = ToolResult("recall", ResultStatus.SUCCESS, "")
    first = step(("share_file", {"name": "a.csv", "content": "1"}, done), ("recall", {"query": "boat"}, found))
    second = step(
        ("share_file", {"name": "a.csv", "content": "2 \ud800"}, done),
        ("share_file", {"name": "b.csv", "content": "3"}, failed),
    )
    assert shared_files(Progress((first, second))) == (SharedFile("a.csv", "text/plain", b"2 ?"),)


def test_what_a_tool_brought_as_a_file_is_handed_over_too() -> None:
    plot = SharedFile("plot.png", "image/png", b"png")
    brought = ToolResult("plot", ResultStatus.SUCCESS, "", files=(plot,))
    assert shared_files(Progress((step(("plot", {}, brought)),))) == (plot,)
