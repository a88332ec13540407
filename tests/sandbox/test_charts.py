"""Charts that the sandbox draws."""

import asyncio
from ast import literal_eval
from datetime import UTC, datetime

import pytest

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import JsonObject, SharedFile
from agent.ports.tools import ToolContext
from bot.chat.attachments.picture_headers import picture_size
from bot.python.chart_data import MAX_LABELS, MAX_SERIES
from bot.python.chart_tool import ChartTool
from bot.python.engine import RunFile
from bot.python.sandbox import Sandbox

CONTEXT = ToolContext(
    Person("terminal:ann", "Ann"), Place(PersonAudience("terminal:ann")), "thread", 7, datetime(2026, 1, 5, tzinfo=UTC)
)
SIZE = (1200, 720)
DAYS: JsonObject = {
    "labels": [f"2026-{day:03}" for day in range(MAX_LABELS)],
    "series": {f"S{number}": [*range(MAX_LABELS)] for number in range(MAX_SERIES)},
}
STRANGE = ["$x^", "\\frac{", "\u200f\u05d0"]


@pytest.mark.parametrize(
    "chart",
    [
        {"kind": "bars", "labels": ["July", "August"], "series": {"North": [3, None], "South": [-2, 5]}},
        {"kind": "bars", "labels": [2024, 2025], "series": {"North": [1e300, -1e-300]}},
        {"kind": "lines", **DAYS},
        {"kind": "lines", "labels": [1, 2.5, 7], "series": {"North": [3, 4, 5]}},
        {"kind": "points", "labels": [1, 2.5], "series": {"North": [3, 4], "South": [2, None]}},
        {"kind": "pie", "labels": [f"Part {number}" for number in range(12)], "series": {"Share": [*range(1, 13)]}},
        {"kind": "bars", "labels": STRANGE, "series": {"_n": [1, 2, 3], "$": [1, 2, 3]}},
        {"kind": "lines", "labels": ["x" * 500] * 30, "series": {"y" * 500: [0] * 30}, "x_title": "z" * 500},
    ],
    ids=["bars", "huge", "many lines", "numbers", "points", "pie", "strange texts", "long texts"],
)
async def test_every_kind_is_drawn_whatever_its_texts_and_numbers(sandbox: Sandbox, chart: JsonObject) -> None:
    output = await ChartTool(sandbox).run({"title": "Sales of $boats, 100%", **chart}, CONTEXT)
    (picture,) = output.parts
    assert isinstance(picture, SharedFile)
    assert picture_size(picture.data) == SIZE
    assert len(picture.data) < 2_000_000


async def test_the_ground_is_white_and_colors_are_those_that_color_blind_people_can_tell_apart(
    sandbox: Sandbox,
) -> None:
    series: JsonObject = {"a": [5, 5], "b": [5, 5], "c": [5, 5]}
    chart: JsonObject = {"kind": "bars", "title": "x", "labels": ["a", "b"], "series": {**series}}
    (picture,) = (await ChartTool(sandbox).run(chart, CONTEXT)).parts
    assert isinstance(picture, SharedFile)
    code = """
import matplotlib.pyplot as plt
from collections import Counter
pixels = (plt.imread("/files/chart.png")[:, :, :3] * 255).round().astype(int).reshape(-1, 3)
[f"#{r:02X}{g:02X}{b:02X}" for (r, g, b), _ in Counter(map(tuple, pixels)).most_common(5)]
"""
    ended = await sandbox.run(code, [RunFile("chart.png", picture.data)], "ann")
    assert {"#FFFFFF", "#0072B2", "#E69F00", "#009E73"} <= {*literal_eval(ended.output)}


async def test_charts_of_one_person_wait_for_each_other(sandbox: Sandbox) -> None:
    chart: JsonObject = {"kind": "bars", "title": "x", "labels": ["a"], "series": {"n": [1]}}
    outputs = await asyncio.gather(*(ChartTool(sandbox).run(chart, CONTEXT) for _ in range(3)))
    assert all(output.parts for output in outputs)
