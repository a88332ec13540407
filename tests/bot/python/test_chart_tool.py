"""The tool `chart`: what it draws is data, and what it returns is a picture with its words."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from agent.errors import ToolError
from agent.incoming import Person
from agent.memory.audience import GroupAudience, Place
from agent.messages import Provenance, SharedFile
from agent.ports.tools import ToolContext
from bot.python import texts
from bot.python.chart_tool import DRAW, ChartTool
from bot.python.engine import NO_FUNCTIONS, EngineUnavailable, Functions, Limit, RunEnded, RunFile
from tests.bot.python.test_chart_data import SALES, changed
from tests.bot.python.test_result_files import png

CONTEXT = ToolContext(
    Person("slack:T1:U1", "Ann"), Place(GroupAudience("here")), "thread", 7, datetime(2026, 1, 5, tzinfo=UTC)
)
DRAWN = RunEnded(files=(RunFile("chart.png", png(80, 48)),))


@dataclass
class Drawing:
    """An engine that draws the same picture for everything. `given`: the files of each run."""

    ended: RunEnded | EngineUnavailable = DRAWN
    given: list[RunFile] = field(default_factory=list[RunFile])

    async def run(
        self,
        code: str,
        files: Sequence[RunFile],
        person: str,
        begun: Callable[[], None] = lambda: None,
        functions: Functions = NO_FUNCTIONS,
        earlier: Sequence[RunFile] = (),
    ) -> RunEnded:
        assert (code, functions, earlier) == (DRAW, NO_FUNCTIONS, ())
        assert person
        begun()
        self.given += files
        if isinstance(self.ended, EngineUnavailable):
            raise self.ended
        return self.ended


async def test_a_chart_is_a_picture_with_words_for_the_readers_of_the_place() -> None:
    drawing = Drawing()
    output = await ChartTool(drawing).run(SALES, CONTEXT)
    (picture,) = output.parts
    assert isinstance(picture, SharedFile)
    assert (picture.name, picture.media_type, picture.data) == ("Sales.png", "image/png", png(80, 48))
    assert picture.alt.startswith("Bar chart: Sales. North: July: 3")
    assert (output.audience, output.words, output.read) == (GroupAudience("here"), Provenance.OWN, ())
    (given,) = drawing.given
    assert json.loads(given.data)["series"][1] == ["South", [1_000_000, None]]


async def test_wrong_numbers_are_refused_before_anything_runs() -> None:
    drawing = Drawing()
    with pytest.raises(ToolError, match="series 'North' has 1 values"):
        await ChartTool(drawing).run(changed(series={"North": [1]}), CONTEXT)
    assert drawing.given == []


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (RunEnded(failed=True, limit=Limit.CRASH), texts.CHART_FAILED),
        (RunEnded(), texts.CHART_FAILED),
        (RunEnded(files=(RunFile("chart.png", b"none"),)), texts.CHART_FAILED),
        (EngineUnavailable(texts.WARMING_UP), texts.WARMING_UP),
    ],
)
async def test_a_chart_that_cannot_be_drawn_is_told(ended: RunEnded | EngineUnavailable, why: str) -> None:
    with pytest.raises(ToolError) as raised:
        await ChartTool(Drawing(ended)).run(SALES, CONTEXT)
    assert str(raised.value) == why
