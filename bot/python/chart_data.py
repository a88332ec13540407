"""A chart as a model describes it: what it may hold, its table, its words for people who cannot see it. Pure.

Rules
  Each series has as many values as there are labels. A pie has one series, without negative values.
  A chart holds what a person can tell apart: eight series, as there are eight colors that color-blind people can tell
  apart, and twelve slices.
  What models write for it is read as it is meant: a value alone as a list of it, series as other charts have them
  (with their names inside, or without any), and numbers in quotes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from agent.charts import Chart, ChartKind, number_text
from agent.errors import ToolError
from agent.messages import Json, JsonObject
from agent.protocol.render import one_line
from bot.chat.texts.formatting import literal
from bot.python import texts

NAME: Final = "chart"
MAX_LABELS: Final = 500  # Points of a series: more need code, and a table of them is read by nobody
MAX_BARS: Final = 60
MAX_SLICES: Final = 12
MAX_SERIES: Final = 8
MAX_TEXT: Final = 120  # Characters of a title, a label, a name
MAX_ALT: Final = 900  # Discord takes 1,024 characters, Slack 1,000
_ALT_VALUES: Final = 12  # Of a series that are read out


class ChartError(ToolError):
    """The sentence says to the model what is wrong with its chart."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, ours=True)


# The words of models for each kind, beside "chart", "plot" and "graph".
_KINDS: Final[Mapping[str, ChartKind]] = {
    **{kind.value: kind for kind in ChartKind},
    **dict.fromkeys(("bar", "column", "columns", "histogram"), ChartKind.BARS),
    **dict.fromkeys(("line", "area", "time series"), ChartKind.LINES),
    **dict.fromkeys(("point", "scatter", "dots"), ChartKind.POINTS),
    **dict.fromkeys(("pies", "donut", "doughnut"), ChartKind.PIE),
}
_NAMES: Final = ("name", "label", "title")
_VALUES: Final = ("values", "data", "y")

_TEXT: Final[JsonObject] = {"type": "string", "maxLength": 1_000}
_PROPERTIES: Final[JsonObject] = {
    "kind": {"type": "string", "description": " or ".join(ChartKind)},
    "title": {**_TEXT},
    "labels": {
        "type": "array",
        "items": {"type": ["string", "number"]},
        "description": "of the first axis; for points, numbers",
    },
    "series": {"type": ["object", "array"], "description": 'values by name, as {"Sales": [3, 4]}'},
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
    """Parse arguments as a model writes them. Raises ChartError."""
    kind, labels = _kind(args.get("kind")), args.get("labels")
    labels = labels if isinstance(labels, list) else [labels]
    if kind is None or "series" not in args or not labels or not all(isinstance(label, _LABEL) for label in labels):
        raise ChartError(f"a chart needs kind ({', '.join(ChartKind)}), title, labels and series")
    series = [*_named_series(args["series"], MAX_SERIES + 1)]
    shown = [_label(label, kind) for label in labels]
    chart = Chart(
        kind,
        _text(args.get("title")) or texts.CHART,
        tuple(shown),
        {
            _text(name) or texts.SERIES.format(number=at): _values(values, shown)
            for at, (name, values) in enumerate(series, 1)
        },
        _text(args.get("x_title")),
        _text(args.get("y_title")),
    )
    _check(chart, len(series))
    return chart


_LABEL: Final = (str, int, float)


def _kind(value: Json) -> ChartKind | None:
    words = value.casefold().replace("_", " ").split() if isinstance(value, str) else []
    return _KINDS.get(" ".join(word for word in words if word not in {"chart", "plot", "graph"}))


def _named_series(series: Json, limit: int) -> Iterator[tuple[str, Json]]:
    """Yield the names and values of at most `limit` series, however a model wrote them; "" for one without a name."""
    match series:
        case {**fields} if (values := _first(fields, _VALUES)) is not None and isinstance(_first(fields, _NAMES), str):
            yield str(_first(fields, _NAMES)), values
        case {**named}:
            yield from islice(named.items(), limit)
        case [dict() | list(), *_]:
            for each in series[:limit]:
                values = _first(each, _VALUES) if isinstance(each, dict) else each
                # Without values of its own it is read as a series by name.
                yield from ([(_name_of(each), values)] if values is not None else _named_series(each, 1))
        case _:
            yield "", series


def _name_of(series: Json) -> str:
    return str(_first(series, _NAMES) or "") if isinstance(series, dict) else ""


def _first(fields: Mapping[str, Json], names: Sequence[str]) -> Json:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


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


def _label(value: Json, kind: ChartKind) -> str | float:
    """Read a label: a number if it is one, or stands for the place of a point."""
    if not isinstance(value, str):
        return _number(value)
    number = _read_number(value) if kind is ChartKind.POINTS else None
    return _text(value) if number is None else number


def _values(values: Json, labels: Sequence[str | float]) -> tuple[float | None, ...]:
    """Return the values of a series: in order, or by label."""
    if isinstance(values, dict):
        by_label = {_text(name): value for name, value in values.items()}
        if not by_label.keys() <= {number_text(label) for label in labels}:
            raise ChartError("the values of a series are a list of numbers, one for each label")
        values = [by_label.get(number_text(label)) for label in labels]
    given = values if isinstance(values, list) else [values]
    return tuple(None if value is None else _number(value) for value in given)


def _number(value: Json) -> float:
    if (number := _read_number(value)) is None:
        raise ChartError("each value must be a number, or null for a gap")
    return number


def _read_number(value: Json) -> float | None:
    """Read a number, also in quotes. "1,200" is none: it is 1200 for some and 1.2 for others."""
    if not isinstance(value, _LABEL) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None


def markdown_table(chart: Chart) -> str:
    """Return the numbers as a table in Markdown, which shows the texts as they are."""
    head = [chart.x_title or " ", *chart.series]
    rows = zip(chart.labels, *chart.series.values(), strict=True)
    cells = [map(_cell, head), ["---"] + ["---:"] * len(chart.series), *(map(_cell, row) for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _cell(value: float | str | None) -> str:
    return literal(value) if isinstance(value, str) else number_text(value)


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
