"""Charts in Slack's own form, the block `data_visualization`. Pure.

Slack draws it for light and dark themes, and reads it to people who cannot see it. A chart that does not fit its limits
as it is, or is of a kind that Slack does not draw, has none: its picture is shown instead.
https://docs.slack.dev/reference/block-kit/blocks/data-visualization-block
"""

from collections.abc import Sequence
from typing import Final

from agent.charts import Chart, ChartKind, number_text
from agent.messages import Json

MAX_TITLE_CHARS: Final = 50  # Also of an axis
MAX_LABEL_CHARS: Final = 20
MAX_LABELS: Final = 20
MAX_SERIES: Final = 6  # Or segments of a pie. Slack allows 12 by now, of which as many colors are hard to tell apart
MAX_CHARTS: Final = 2  # In one message
_KINDS: Final = {ChartKind.BARS: "bar", ChartKind.LINES: "line"}


def chart_block(chart: Chart) -> dict[str, Json] | None:
    """Return the chart as a block of a message; None if Slack would not show it as it is."""
    labels = [number_text(label) for label in chart.labels]
    names, axes = [*chart.series], {"x_label": chart.x_title, "y_label": chart.y_title}
    are_named = bool(names and chart.title and all(labels)) and len({*labels}) == len(labels) <= MAX_LABELS
    are_labels_short = all(len(label) <= MAX_LABEL_CHARS for label in (*labels, *names))
    are_titles_short = all(len(title) <= MAX_TITLE_CHARS for title in (chart.title, *axes.values()))
    has_gaps = any(None in series for series in chart.series.values())
    if not are_named or not are_labels_short or not are_titles_short or has_gaps:
        return None
    points = {name: _points(labels, series) for name, series in chart.series.items()}
    first, *others = points.values()
    body: dict[str, Json]
    if chart.kind is ChartKind.PIE and not others and len(labels) <= MAX_SERIES and 0 not in chart.series[names[0]]:
        body = {"type": "pie", "segments": first}
    elif chart.kind in _KINDS and len(names) <= MAX_SERIES:
        series: list[Json] = [{"name": name, "data": data} for name, data in points.items()]
        shown_axes = {name: title for name, title in axes.items() if title}
        body = {"type": _KINDS[chart.kind], "series": series, "axis_config": {"categories": [*labels], **shown_axes}}
    else:
        return None
    return {"type": "data_visualization", "title": chart.title, "chart": body}


def _points(labels: Sequence[str], values: Sequence[float | None]) -> list[Json]:
    """Return the values with their labels, whole ones without a fraction."""
    whole = [int(value) if value is not None and float(value).is_integer() else value for value in values]
    return [{"label": label, "value": value} for label, value in zip(labels, whole, strict=True)]
