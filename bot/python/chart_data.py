"""A chart as a model describes it: what it may hold, its table, its words for people who cannot see it. Pure.

Rules
  Each series has as many values as there are labels. A pie has one series, without negative values.
  A chart holds what a person can tell apart: eight series, as there are eight colors that color-blind people can tell
  apart, and twelve slices.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from agent.errors import ToolError
from agent.messages import Json, JsonObject
from agent.protocol.render import one_line
from bot.python import texts

NAME: Final = "chart"
MAX_LABELS: Final = 500  # Points of a series: more need code, and a table of them is read by nobody
MAX_BARS: Final = 60
MAX_SLICES: Final = 12
MAX_SERIES: Final = 8
MAX_TEXT: Final = 120  # Characters of a title, a label, a name
MAX_ALT: Final = 900  # Discord takes 1,024 characters, Slack 1,000
_ALT_VALUES: Final = 12  # Of a series that are read out


class ChartKind(StrEnum):
    BARS = "bars"
    LINES = "lines"
    POINTS = "points"
    PIE = "pie"


class ChartError(ToolError):
    """The sentence says to the model what is wrong with its chart."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ours=True)


@dataclass(frozen=True, slots=True)
class Chart:
    """`labels`: what stands on the first axis: names, or a number for each point. `series`: values by name; None is a
    gap.
    """

    kind: ChartKind
    title: str
    labels: tuple[str | float, ...]
    series: Mapping[str, tuple[float | None, ...]]
    x_title: str = ""
    y_title: str = ""


_TEXT: Final[JsonObject] = {"type": "string", "maxLength": 1_000}
_NUMBERS: Final[JsonObject] = {"type": "array", "items": {"type": ["number", "null"]}, "maxItems": MAX_LABELS}
_PROPERTIES: Final[JsonObject] = {
    "kind": {"enum": [kind.value for kind in ChartKind]},
    "title": {**_TEXT},
    "labels": {
        "type": "array",
        "items": {"type": ["string", "number"]},
        "minItems": 1,
        "maxItems": MAX_LABELS,
        "description": "of the first axis; for points, numbers",
    },
    "series": {
        "type": "object",
        "additionalProperties": {**_NUMBERS},
        "minProperties": 1,
        "maxProperties": MAX_SERIES,
        "description": 'values by name, as {"Sales": [3, 4]}',
    },
    "x_title": {**_TEXT},
    "y_title": {**_TEXT},
}
SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {**_PROPERTIES},
    "required": ["kind", "title", "labels", "series"],
    "additionalProperties": False,
}


def chart_of(args: JsonObject) -> Chart:
    """Parse arguments that match the schema. Raises ChartError, also for any other arguments."""
    labels, series = args.get("labels"), args.get("series")
    if args.get("kind") not in {*ChartKind} or not isinstance(labels, list) or not isinstance(series, dict):
        raise ChartError("a chart needs kind, title, labels and series")
    chart = Chart(
        ChartKind(str(args["kind"])),
        _text(args.get("title")) or texts.CHART,
        tuple(map(_label, labels)),
        {
            _text(name) or texts.SERIES.format(number=at): _values(values)
            for at, (name, values) in enumerate(series.items(), 1)
        },
        _text(args.get("x_title")),
        _text(args.get("y_title")),
    )
    _check(chart, len(series))
    return chart


def _check(chart: Chart, series: int) -> None:
    count = len(chart.labels)
    if len(chart.series) != series:
        raise ChartError("two series have one name")
    if not 0 < count <= MAX_LABELS or not 0 < series <= MAX_SERIES:
        raise ChartError(f"a chart has 1 to {MAX_LABELS} labels and 1 to {MAX_SERIES} series")
    for name, values in chart.series.items():
        if len(values) != count:
            raise ChartError(f"series {name!r} has {len(values)} values for {count} labels")
        if not any(value is not None for value in values):
            raise ChartError(f"series {name!r} has no values")
    match chart.kind:
        case ChartKind.BARS if count > MAX_BARS:
            raise ChartError(f"at most {MAX_BARS} bars can be told apart; use lines, or sum them up")
        case ChartKind.POINTS if not all(isinstance(label, float) for label in chart.labels):
            raise ChartError("the labels of points must be numbers")
        case ChartKind.PIE:
            (values, *others) = chart.series.values()
            if others or count > MAX_SLICES:
                raise ChartError(f"a pie has one series and at most {MAX_SLICES} slices; use bars")
            if any(value is None or value < 0 for value in values) or not sum(filter(None, values)):
                raise ChartError("a pie needs values above 0; use bars")
        case _:
            pass


def _text(value: Json) -> str:
    text = one_line(str(value)).strip() if isinstance(value, str) else ""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _label(value: Json) -> str | float:
    return _number(value) if isinstance(value, int | float) and not isinstance(value, bool) else _text(value)


def _values(values: Json) -> tuple[float | None, ...]:
    if not isinstance(values, list):
        raise ChartError("the values of a series are a list of numbers")
    return tuple(None if value is None else _number(value) for value in values)


def _number(value: Json) -> float:
    try:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        raise ChartError("each value must be a number, or null for a gap")
    return number


def number_text(value: float | str | None) -> str:
    """Write a number as people do: 3, 3.5, 1234567; "" for a gap."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.6g}"


def markdown_table(chart: Chart) -> str:
    """Return the numbers as a table in Markdown."""
    head = [chart.x_title or " ", *chart.series]
    rows = zip(chart.labels, *chart.series.values(), strict=True)
    cells = [head, ["---"] + ["---:"] * len(chart.series), *(map(number_text, row) for row in rows)]
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in cells)


def _cell(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|")


def alt_text(chart: Chart) -> str:
    """Return the chart in words, for people who cannot see it: what it is, and its numbers as far as they fit."""
    parts = [texts.ALT_OF_CHART.format(kind=texts.CHART_KINDS[chart.kind], title=chart.title)]
    for name, values in chart.series.items():
        known = [value for value in values if value is not None]
        pairs = zip(map(number_text, chart.labels), map(number_text, values), strict=True)
        shown = [f"{label}: {value or texts.NO_VALUE}" for label, value in pairs]
        if len(values) > _ALT_VALUES:
            least, most = number_text(min(known)), number_text(max(known))
            shown = [texts.ALT_OF_MANY.format(count=len(values), least=least, most=most)]
        parts.append(texts.ALT_OF_SERIES.format(name=name, values="; ".join(shown)))
    text = " ".join(parts)
    return text if len(text) <= MAX_ALT else f"{text[: MAX_ALT - 1]}…"


def as_json(chart: Chart) -> JsonObject:
    """Return the chart for the program that draws it."""
    series: list[Json] = [[name, [*values]] for name, values in chart.series.items()]
    return {
        "kind": chart.kind.value,
        "title": chart.title,
        "labels": [*chart.labels],
        "series": series,
        "x_title": chart.x_title,
        "y_title": chart.y_title,
    }


def file_name(title: str) -> str:
    """Return the name of the picture of a chart with this title."""
    words = "".join(char if char.isalnum() else " " for char in title).split()
    return f"{'-'.join(words)[:60] or 'chart'}.png"
