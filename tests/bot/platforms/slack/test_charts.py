"""Charts as Slack draws them: within its documented limits, or not at all."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.charts import Chart, ChartKind
from agent.messages import Json
from bot.platforms.slack.charts import MAX_LABELS, MAX_SERIES, chart_block
from tests.fakes.slack_blocks import message_problems

BARS = Chart(ChartKind.BARS, "Sales", ("July", "August"), {"North": (3, 4.5), "South": (-1, 1e6)}, "Month")


def test_bars_and_lines_have_their_series_by_label() -> None:
    series: Json = [
        {"name": "North", "data": [{"label": "July", "value": 3}, {"label": "August", "value": 4.5}]},
        {"name": "South", "data": [{"label": "July", "value": -1}, {"label": "August", "value": 1_000_000}]},
    ]
    axes: Json = {"categories": ["July", "August"], "x_label": "Month"}
    chart = {"type": "bar", "series": series, "axis_config": axes}
    assert chart_block(BARS) == {"type": "data_visualization", "title": "Sales", "chart": chart}
    lines = chart_block(replace(BARS, kind=ChartKind.LINES, labels=(1.0, 2.5)))
    assert lines is not None
    assert isinstance(lines["chart"], dict)
    assert (lines["chart"]["type"], lines["chart"]["axis_config"]) == ("line", {**axes, "categories": ["1", "2.5"]})


def test_a_pie_has_segments() -> None:
    pie = Chart(ChartKind.PIE, "Share", ("Ann", "Ben"), {"Boats": (3, 1.5)})
    segments: Json = [{"label": "Ann", "value": 3}, {"label": "Ben", "value": 1.5}]
    assert chart_block(pie) == {
        "type": "data_visualization",
        "title": "Share",
        "chart": {"type": "pie", "segments": segments},
    }


@pytest.mark.parametrize(
    "chart",
    [
        replace(BARS, kind=ChartKind.POINTS, labels=(1.0, 2.0)),
        replace(BARS, title="x" * 51),
        replace(BARS, x_title="x" * 51),
        replace(BARS, labels=("July", "x" * 21)),
        replace(BARS, labels=("July", "July")),
        replace(BARS, labels=("July", "")),
        replace(BARS, series={"x" * 21: (1, 2)}),
        replace(BARS, series={"North": (1, None)}),
        replace(BARS, labels=tuple(range(MAX_LABELS + 1)), series={"North": (1,) * (MAX_LABELS + 1)}),
        replace(BARS, series={str(number): (1, 2) for number in range(MAX_SERIES + 1)}),
        Chart(ChartKind.PIE, "Share", tuple("abcdefg"), {"Boats": (1,) * 7}),
        Chart(ChartKind.PIE, "Share", ("Ann", "Ben"), {"Boats": (3, 0)}),
    ],
)
def test_what_slack_would_not_show_as_it_is_has_no_block(chart: Chart) -> None:
    assert chart_block(chart) is None


texts = st.text(max_size=24)


@pytest.mark.slow
@given(st.data(), st.sampled_from(ChartKind), st.lists(texts | st.floats(-1e6, 1e6), min_size=1, max_size=22))
def test_every_block_keeps_to_slacks_limits(data: st.DataObject, kind: ChartKind, labels: list[str | float]) -> None:
    numbers = st.lists(st.none() | st.floats(0, 1e9), min_size=len(labels), max_size=len(labels)).map(tuple)
    series = data.draw(st.dictionaries(texts, numbers, min_size=1, max_size=1 if kind is ChartKind.PIE else 8))
    chart = Chart(kind, data.draw(st.text(max_size=55)), tuple(labels), series, data.draw(texts), data.draw(texts))
    block = chart_block(chart)
    assert block is None or message_problems([block]) == []
