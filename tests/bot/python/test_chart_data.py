"""Charts as models describe them: what is drawn, what is refused, and how people read them who cannot see them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.messages import Json, JsonObject, ToolCall
from agent.toolbox.registry import Registry
from bot.python.chart_data import MAX_ALT, ChartError, alt_text, as_json, chart_of, file_name, markdown_table
from bot.python.chart_tool import ChartTool
from tests.fakes.cpython_engine import CPythonEngine

SALES: JsonObject = {
    "kind": "bars",
    "title": "Sales",
    "labels": ["July", "August | Sept."],
    "series": {"North": [3, 4.5], "South": [1_000_000, None]},
    "x_title": "Month",
}


NINE: dict[str, Json] = {f"S{at}": [at, 2] for at in range(9)}


def changed(**args: Json) -> JsonObject:
    return {**SALES, **args}


def test_a_chart_has_a_table_of_its_numbers() -> None:
    assert markdown_table(chart_of(SALES)) == (
        "| Month | North | South |\n| --- | ---: | ---: |\n| July | 3 | 1000000 |\n| August \\| Sept. | 4.5 |  |"
    )


def test_a_chart_is_described_by_its_kind_title_and_numbers() -> None:
    assert alt_text(chart_of(SALES)) == (
        "Bar chart: Sales. North: July: 3; August | Sept.: 4.5. South: July: 1000000; August | Sept.: none."
    )
    long = chart_of(changed(kind="lines", labels=[*range(100)], series={"North": [*range(100)]}))
    assert alt_text(long) == "Line chart: Sales. North: 100 values from 0 to 99."


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (changed(series={"North": [1]}), "series 'North' has 1 values for 2 labels"),
        (changed(series={"North": [None, None]}), "has no values"),
        (changed(series={"North": [1, float("nan")]}), "must be a number"),
        (changed(series={"North": [1, 10**400]}), "must be a number"),
        (changed(series={"North": [1, True]}), "must be a number"),
        (changed(series=NINE), "1 to 8 series"),
        (changed(series={"a": [1, 2], " a": [1, 2]}), "two series have one name"),
        (changed(labels=[*range(70)], series={"North": [*range(70)]}), "at most 60 bars"),
        (changed(kind="points"), "must be numbers"),
        (changed(kind="pie"), "one series"),
        (changed(kind="pie", series={"North": [1, -1]}), "above 0"),
        (changed(kind="pie", series={"North": [0, 0]}), "above 0"),
        (changed(kind="cake"), "needs kind"),
        (changed(labels="July"), "needs kind"),
    ],
)
def test_what_nobody_could_read_is_refused_with_the_reason(args: JsonObject, problem: str) -> None:
    with pytest.raises(ChartError, match=problem):
        chart_of(args)


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["kind", "title", "labels", "series"]), json_values))
def test_any_arguments_make_a_chart_or_a_reason(args: JsonObject) -> None:
    for kind in ("bars", "lines", "points", "pie"):
        try:
            chart = chart_of({**args, "kind": kind})
        except ChartError:
            continue
        assert len(alt_text(chart)) <= MAX_ALT
        assert markdown_table(chart).count("\n") == len(chart.labels) + 1
        assert as_json(chart)["kind"] == kind


def test_the_schema_takes_what_the_chart_takes() -> None:
    tools = Registry([ChartTool(CPythonEngine())])
    assert tools.check(ToolCall("chart", SALES)) is None
    assert tools.check(ToolCall("chart", changed(labels=[1, 2.5]))) is None
    assert "wrong arguments" in (tools.check(ToolCall("chart", changed(series=[[1, 2]]))) or "")


@pytest.mark.parametrize(
    ("title", "name"),
    [("Sales: 2026/July", "Sales-2026-July.png"), ("../..", "chart.png"), ("x" * 300, f"{'x' * 60}.png")],
)
def test_a_picture_is_named_after_its_title(title: str, name: str) -> None:
    assert file_name(title) == name
