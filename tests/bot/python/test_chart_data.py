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
        (changed(kind=3), "needs kind"),
        (changed(labels=[]), "needs kind"),
        (changed(labels=[None, "a"]), "needs kind"),
        (changed(labels="July"), "series 'North' has 2 values for 1 labels"),
        (changed(series={"North": ["1,200", 3]}), "must be a number"),
        (changed(series={"North": ["nan", 3]}), "must be a number"),
        (changed(series={"North": {"June": 3}}), "one for each label"),
        (changed(series=[]), "0 values for 2 labels"),
    ],
)
def test_what_nobody_could_read_is_refused_with_the_reason(args: JsonObject, problem: str) -> None:
    with pytest.raises(ChartError, match=problem):
        chart_of(args)


@pytest.mark.parametrize(
    ("series", "read"),
    [
        ({"North": ["3", " 4.5 "]}, {"North": (3, 4.5)}),
        ({"North": {"July": 3, "August | Sept.": 4}}, {"North": (3, 4)}),
        ({"North": {"July": 3}}, {"North": (3, None)}),
        ([3, 4], {"Series 1": (3, 4)}),
        ([[3, 4], [5, 6]], {"Series 1": (3, 4), "Series 2": (5, 6)}),
        ([{"name": "North", "values": [3, 4]}, {"label": "South", "data": [5, 6]}], {"North": (3, 4), "South": (5, 6)}),
        ([{"North": [3, 4]}, {"South": [5, 6]}], {"North": (3, 4), "South": (5, 6)}),
        ({"name": "North", "data": [3, 4]}, {"North": (3, 4)}),
        ({"data": [3, 4], "name": [5, 6]}, {"data": (3, 4), "name": (5, 6)}),
    ],
)
def test_series_are_read_in_the_forms_that_models_write(
    series: Json, read: dict[str, tuple[float | None, ...]]
) -> None:
    assert chart_of(changed(series=series)).series == read


def test_a_value_alone_is_a_chart_of_one() -> None:
    chart = chart_of(changed(labels="July", series={"North": 5}))
    assert (chart.labels, chart.series) == (("July",), {"North": (5,)})


def test_the_places_of_points_are_numbers_also_in_quotes() -> None:
    assert chart_of(changed(kind="points", labels=["1", "2.5"], series={"North": [3, 4]})).labels == (1, 2.5)


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("bar", "bars"),
        ("Bar chart", "bars"),
        ("line_chart", "lines"),
        ("scatter plot", "points"),
        ("donut", "pie"),
        ("pie", "pie"),
    ],
)
def test_a_kind_is_read_in_the_words_of_models(written: str, kind: str) -> None:
    assert chart_of(changed(kind=written, labels=[1, 2], series={"North": [3, 4]})).kind == kind


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
    assert tools.check(ToolCall("chart", changed(series=[[1, 2]], labels="July"))) is None
    assert "wrong arguments" in (tools.check(ToolCall("chart", changed(series=3))) or "")
    described = tools.schemas.partition("\n")[0]
    assert described.startswith("chart(kind, title, labels: [string | number], series: object | array, x_title?, ")


@pytest.mark.parametrize(
    ("title", "name"),
    [("Sales: 2026/July", "Sales-2026-July.png"), ("../..", "chart.png"), ("x" * 300, f"{'x' * 60}.png")],
)
def test_a_picture_is_named_after_its_title(title: str, name: str) -> None:
    assert file_name(title) == name
