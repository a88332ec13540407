"""The rule of a scheduled question decides whether its answer is posted, with the last one at hand."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count

import pytest

from agent.errors import ProviderRefused
from agent.messages import JsonObject, Reference
from agent.ports.tools import ToolContext, ToolEffect, ToolOutput
from agent.schedules.definitions import ScheduleKind
from bot.chat.reply.surface import ReplyEnd
from bot.schedules.reports import LAST, ReportRule, rule_asked, rule_named
from tests.bot.schedules.test_scheduler import HOUR, World
from tests.fakes.long_work import call

DAY = 24 * HOUR
LONGER = ReportRule(
    name="longer",
    words="if longer",
    summary="a longer answer",
    instruction="(Say more.)",
    reads_last=True,
    posts=lambda answer, last: len(answer) > len(last),
)


async def days(world: World, count: int, report: str) -> list[str]:
    """Ask a question on so many days; return what was posted."""
    asked = await world.keep("What is new?", ScheduleKind.QUESTION, report=report)
    async with world.serving() as scheduler:
        for pause in [HOUR, *[DAY] * (count - 1)]:
            await world.pass_(scheduler, pause)
    return world.shown(asked)


@pytest.mark.slow
async def test_an_answer_is_posted_if_its_rule_says_so_of_it_and_the_last_that_was() -> None:
    world = World(["Two.", "One", "Three.", "Three."], rules=[LONGER])
    assert await days(world, 4, "longer") == ["Two.", "Three."]
    (surface,) = world.surfaces.values()
    assert surface.endings == [ReplyEnd.DONE, ReplyEnd.SILENT, ReplyEnd.DONE, ReplyEnd.SILENT]
    assert {frame.final for frame in surface.frames} == {True}, "nothing is shown before it is decided"
    asked = [" ".join(message.text for message in request) for request in world.model.requests]
    assert [LAST in one for one in asked] == [False, True, True, True]
    assert "Three." in asked[3].partition(LAST)[2]
    assert all("(Say more.)" in one for one in asked)


@dataclass(frozen=True, slots=True)
class PageTool:
    """Reads a page, whose title is another one each day."""

    days: Iterator[int] = field(default_factory=count)
    name: str = "page"
    description: str = "Read the page."
    effect: ToolEffect = ToolEffect.READS
    timeout_s: float = 5.0
    schema: JsonObject = field(default_factory=lambda: {"type": "object", "properties": {}})

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:  # noqa: ARG002 -- it has no arguments
        number = context.numbers.number("http://a.example")
        assert number is not None
        return ToolOutput("It is up.", references=(Reference(number, "http://a.example", f"Day {next(self.days)}"),))


@pytest.mark.parametrize("head", ["**Sources**", "**Read for this answer**"])
async def test_a_rule_compares_what_was_written_without_the_sources_below(head: str) -> None:
    compared = set[tuple[str, str]]()

    def posts(answer: str, last: str) -> bool:
        compared.add((answer, last))
        return True

    answer = "It is up [1]." if head == "**Sources**" else "It is up."
    world = World([call("page"), answer] * 2, rules=[replace(LONGER, posts=posts)], tools=[PageTool()])
    first, second = await days(world, 2, "longer")
    assert f"{head}\n- [1] [Day 0]" in first
    assert f"{head}\n- [1] [Day 1]" in second
    assert compared == {(answer, ""), (answer, answer)}


async def test_a_failure_is_posted_whatever_the_rule_says_and_is_no_last_answer() -> None:
    world = World([[ProviderRefused("It refused.", person="Please tell.")], "Hi."], rules=[LONGER])
    failed, answered = await days(world, 2, "longer")
    assert "Please tell." in failed
    assert answered == "Hi."
    assert LAST not in " ".join(message.text for message in world.model.requests[-1])


async def test_a_rule_of_another_release_is_taken_for_the_usual_one() -> None:
    world = World(["Two.", "One", "NOTHING_TO_REPORT"])
    assert await days(world, 3, "longer") == ["Two.", "One"]
    assert rule_named("longer").name == ""


def test_words_that_name_no_rule_belong_to_the_question() -> None:
    rule, rest = rule_asked("every day at 9:00 | sum up")
    assert (rule.name, rest) == ("", "every day at 9:00 | sum up")


@pytest.mark.slow
async def test_what_has_not_changed_is_not_posted_again() -> None:
    world = World(["It is up.", "it is  up!", "NOTHING_TO_REPORT", "It is down.", "It is up."])
    assert await days(world, 5, "changed") == ["It is up.", "It is down.", "It is up."]
