"""Checks before a scheduled question, with tools that read."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from agent.incoming import Incoming, Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import JsonObject
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.schedules.definitions import (
    CheckKind,
    FirstCheck,
)
from agent.tool_policy import PolicyAnswer, PolicyRow
from agent.toolbox.registry import Toolbox
from bot.schedules.checks import CheckFailed, CheckRunner
from tests.fakes.clock import FakeClock
from tests.fakes.incoming import said

NOW = datetime(2026, 11, 23, 9, 20, tzinfo=UTC)
ANN = Person("slack:T1:U1", "Ann", "Europe/Berlin")


@dataclass
class Page:
    """A tool that reads a changing page."""

    says: str = "not yet"
    name: str = "web_fetch"
    description: str = "Read a page."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0
    asked: list[tuple[JsonObject, ToolContext]] = field(default_factory=list[tuple[JsonObject, ToolContext]])
    schema: JsonObject = field(
        default_factory=lambda: {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
    )

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        self.asked.append((args, context))
        return ToolOutput(self.says)


async def test_a_check_has_the_same_digest_until_the_content_changes() -> None:
    page = Page()
    look = CheckRunner(Toolbox([page]), FakeClock(NOW))
    check, asked = FirstCheck(CheckKind.PAGE, "https://example.org/build"), replace(dm_of_ann(), text="is it done?")
    before = await look.digest(check, asked)
    assert await look.digest(check, asked) == before
    page.says = "done"
    assert await look.digest(check, asked) != before
    args, context = page.asked[0]
    assert args == {"url": "https://example.org/build"}
    assert (context.person, context.place, context.asker_texts) == (asked.person, asked.place, ())


async def test_a_check_uses_no_tool_that_acts_is_unknown_or_needs_approval() -> None:
    acts = Page(name="deploy", effect=ToolEffect.ACTS_OUTWARD)
    page, clock = Page(), FakeClock(NOW)
    refuses = (PolicyRow("web_fetch", "*", "*", PolicyAnswer.ASK),)
    for look, check in (
        (CheckRunner(Toolbox([page, acts]), clock), FirstCheck(CheckKind.TOOL, "deploy", {"url": "x"})),
        (CheckRunner(Toolbox([page]), clock), FirstCheck(CheckKind.TOOL, "unknown")),
        (CheckRunner(Toolbox([page]), clock), FirstCheck(CheckKind.TOOL, "web_fetch", {"link": 7})),
        (CheckRunner(Toolbox([page]), clock), FirstCheck(CheckKind.CHANNEL, "#general")),
        (CheckRunner(Toolbox([page]), clock, refuses), FirstCheck(CheckKind.PAGE, "https://example.org")),
    ):
        with pytest.raises(CheckFailed):
            await look.digest(check, dm_of_ann())
    assert page.asked == acts.asked == []


def dm_of_ann() -> Incoming:
    return replace(said("look", person=ANN.id), person=ANN, place=Place(PersonAudience(ANN.id)))
