"""Charts show all values within their view boxes, whatever the labels."""

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.operators.pages import charts
from bot.operators.pages.charts import FORMS, HATCHED, MAX_COLUMNS, MAX_SERIES, ChartColumn, ChartRange
from tests.examples import examples

labels = st.text(max_size=80) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "\u202eevil",
        "\x00\x1b[2J",
        "]]>&#0;",
        "\ud800",
        "\ufffe",
        "田中",
        "a" * 500,
        "{0.__class__}",
    ]
)
values = st.floats(0, 1e15, allow_nan=False)


@st.composite
def stacks(draw: st.DrawFn) -> tuple[list[str], list[ChartColumn]]:
    count = draw(st.integers(1, MAX_SERIES))
    series = draw(st.lists(labels, min_size=count, max_size=count))
    rows = draw(st.lists(st.tuples(labels, st.lists(values, min_size=count, max_size=count)), max_size=12))
    return series, [ChartColumn(label, tuple(row)) for label, row in rows] * draw(st.sampled_from([1, 1, 30]))


def drawings(markup: str) -> list[ET.Element]:
    """Parse the forms of a chart as XML."""
    root = ET.fromstring(markup)  # noqa: S314 -- our own
    assert [one.get("class") for one in root] == [f"chart {form.name}" for form in FORMS]
    return list(root)


def boxes(drawing: ET.Element, shape: str) -> list[Mapping[str, float]]:
    rects = [one for one in drawing.iter("rect") if shape in (one.get("class") or "").split()]
    return [{name: float(one.get(name, "nan")) for name in ("x", "y", "width", "height")} for one in rects]


def are_inside(drawing: ET.Element, some: Sequence[Mapping[str, float]]) -> bool:
    form = next(form for form in FORMS if form.name in str(drawing.get("class")))
    return all(
        form.left - 0.02 <= one["x"]
        and one["x"] + one["width"] <= form.width + 0.02
        and form.top - 0.02 <= one["y"]
        and one["y"] + one["height"] <= form.floor + 0.02
        for one in some
    )


@pytest.mark.slow
@given(labels, labels, stacks())
@settings(max_examples=examples(60), deadline=None)
def test_parts_of_bars_are_inside_and_as_high_together_as_what_they_show(
    name: str, says: str, stack: tuple[list[str], list[ChartColumn]]
) -> None:
    series, columns = stack
    drawn = charts.stacked(name, says, columns, series, "{:.3g}".format, "a")
    for drawing in drawings(drawn):
        found = boxes(drawing, "piece")
        assert are_inside(drawing, found)
        assert len({one["x"] for one in found}) <= MAX_COLUMNS
        assert sum(one["height"] for one in found) <= MAX_COLUMNS * drawing_height(drawing) + 1
        assert drawing.get("role") == "img"
        assert [one.tag for one in drawing][:2] == ["title", "desc"]
        ids = {one.get("id") for one in drawing}
        assert set(str(drawing.get("aria-labelledby")).split()) <= ids
    assert "<script" not in drawn
    assert "\u202e" not in drawn
    drawn.encode()


def drawing_height(drawing: ET.Element) -> float:
    form = next(form for form in FORMS if form.name in str(drawing.get("class")))
    return form.floor - form.top


@given(st.lists(st.lists(st.integers(0, 1000), min_size=3, max_size=3), min_size=1, max_size=MAX_COLUMNS))
@settings(max_examples=examples(40), deadline=None)
def test_heights_are_as_the_sums_of_the_columns(rows: list[list[int]]) -> None:
    columns = [ChartColumn(f"{at}", tuple(map(float, row))) for at, row in enumerate(rows)]
    highest = max(map(sum, rows))
    for drawing in drawings(charts.stacked("n", "s", columns, ["a", "b", "c"], str, "a")):
        tall = dict[float, float]()
        for one in boxes(drawing, "piece"):
            tall[one["x"]] = tall.get(one["x"], 0) + one["height"]
        sums = [sum(row) for row in rows if sum(row)]
        assert len(tall) == len(sums)
        for height, whole in zip((tall[x] for x in sorted(tall)), sums, strict=True):
            assert abs(height / max(tall.values()) - whole / highest) < 0.02


@given(st.lists(st.tuples(labels, st.none() | st.tuples(values, values)), max_size=200))
@settings(max_examples=examples(40), deadline=None)
def test_ranges_are_inside_and_those_without_values_are_left_out(
    some: list[tuple[str, tuple[float, float] | None]],
) -> None:
    shown = [ChartRange(label, None if two is None else (min(two), max(two))) for label, two in some]
    known = [one for one in shown[-MAX_COLUMNS:] if one.values is not None]
    for drawing in drawings(charts.ranges("n", "s", shown, "{:.3g}".format, "a")):
        for shape in ("range", "mark"):
            found = boxes(drawing, shape)
            assert len(found) == len(known)
            assert are_inside(drawing, found)


@given(st.lists(st.tuples(st.integers(0, MAX_SERIES - 1), values), max_size=8), values, values)
@settings(max_examples=examples(60), deadline=None)
def test_lying_bars_never_leave_their_row(some: list[tuple[int, float]], whole: float, before: float) -> None:
    root = ET.fromstring(charts.parts(some, whole, before))  # noqa: S314 -- our own
    ends = [float(one.get("x", "nan")) + float(one.get("width", "nan")) for one in root]
    assert all(0 <= end <= 200.02 for end in ends)


def test_a_series_is_told_by_its_pattern_too_and_its_key_shows_it() -> None:
    columns = [ChartColumn("Monday", (1.0,) * MAX_SERIES)]
    drawn = charts.stacked("n", "s", columns, [*"abcde"], str, "a")
    for series in HATCHED:
        assert drawn.count(f"url(#a-wide-{series})") == drawn.count(f'id="a-wide-{series}"') == 1
        assert f"url(#key-{series}-{series})" in charts.key(series, hatched=True)
        assert "url(" not in charts.key(series)


def test_lines_to_compare_with_are_few_and_round() -> None:
    for highest, expected in (
        (1.65, ["0", "0.5", "1", "1.5", "2"]),
        (0.0, ["0", "1"]),
        (40.0, ["0", "10", "20", "30", "40"]),
    ):
        drawn = charts.stacked("n", "s", [ChartColumn("x", (highest,))], ["a"], "{:g}".format, "a")
        assert re.findall(r'text-anchor="end">([^<]*)</text>', drawn)[: len(expected)] == expected


@pytest.mark.parametrize("number", ["under $0.0001", "$1,000,000", "1,000,000 s", "5"])
def test_the_numbers_beside_the_bars_are_not_cut_off(number: str) -> None:
    columns = [ChartColumn("1 Nov", (3.0,)), ChartColumn("2 Nov", (5.0,))]
    for drawing in drawings(charts.stacked("n", "s", columns, ["a"], lambda _: number, "a")):
        beside = [float(one.get("x", "nan")) for one in drawing.iter("text") if one.text == number]
        assert len(beside) > 1
        assert min(beside) >= len(number) * charts.DIGIT_WIDTH
        pieces, width = boxes(drawing, "piece"), float(drawing.get("viewBox", "").split()[2])
        assert all(max(beside) < one["x"] and one["x"] + one["width"] <= width for one in pieces)
