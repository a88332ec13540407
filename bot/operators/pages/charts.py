"""Charts as SVG: no script, and colours by the classes of the stylesheet. Pure.

Rules
  A chart has a name, a description, and two forms, for wide and narrow screens, so that its text is never too small to
  read. The page also shows its values in a table.
  A series is recognisable by its pattern and its position in each bar as well as by its colour.
  Labels are untrusted text: they are escaped and shortened. The number of bars is bounded: neighbours are summed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, isfinite, log10
from typing import Final

from markupsafe import Markup, escape

from bot.chat.texts.formatting import shortened
from bot.operators.pages.frame import visible

MAX_COLUMNS: Final = 100
MAX_SERIES: Final = 5  # More are hard to distinguish; the last one may be the sum of all others
MAX_LABEL: Final = 60
HATCHED: Final = {2: "M-1 1 l2 -2 M0 6 l6 -6 M5 7 l2 -2", 3: "M0 3 h6"}  # The hatched series, with the path of each
NUMBERS_GAP: Final = 8  # Between the numbers and the bars
DIGIT_WIDTH: Final = 7.2  # The most that a digit takes at the size of the stylesheet, in the fonts of browsers
TICKS: Final = 4  # The limit of grid lines
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ChartForm:
    """The dimensions of a chart. `left`: where the bars start, right of the numbers; `labels`: how many fit below."""

    name: str
    width: int
    height: int
    left: int
    labels: int
    top: int = 10
    below: int = 26

    @property
    def floor(self) -> int:
        return self.height - self.below


FORMS: Final = (ChartForm("wide", 720, 240, 76, 6), ChartForm("narrow", 300, 200, 62, 2))


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A vertical bar: its label, and the value of each series, none below 0."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChartRange:
    """A bar between two values, such as the median and the 95th percentile; None where nothing was measured."""

    label: str
    values: tuple[float, float] | None


def stacked(
    name: str,
    says: str,
    columns: Sequence[ChartColumn],
    series: Sequence[str],
    number: Callable[[float], str],
    id_: str,
) -> Markup:
    """Return a chart of stacked bars. `id_`: the chart's id in its page; `number`: formats a value."""
    bars_shown = _merge(columns, len(series))
    highest = max((sum(column.values) for column in bars_shown), default=0.0)
    titles = [
        f"{label}: {number(value)}" for column in bars_shown for label, value in zip(series, column.values, strict=True)
    ]

    def bars(form: ChartForm, scale: float) -> Iterator[Markup]:
        texts = iter(titles)
        for column, (x, width) in zip(bars_shown, _places(form, len(bars_shown)), strict=True):
            below = 0.0
            for index, value in enumerate(column.values):
                top, bottom = form.floor - (below + value) * scale, form.floor - below * scale
                below += value
                text = next(texts)
                if value > 0:
                    yield _bar(x, top, width, bottom - top, index, f"{id_}-{form.name}", f"{column.label}, {text}")

    return _chart(name, says, [column.label for column in bars_shown], highest, number, id_, bars)


def ranges(name: str, says: str, items: Sequence[ChartRange], number: Callable[[float], str], id_: str) -> Markup:
    """Return a chart of bars between two values, with a mark at the lower one."""
    bars_shown = items[-MAX_COLUMNS:]
    highest = max((range_.values[1] for range_ in bars_shown if range_.values is not None), default=0.0)

    def bars(form: ChartForm, scale: float) -> Iterator[Markup]:
        for range_, (x, width) in zip(bars_shown, _places(form, len(bars_shown)), strict=True):
            if range_.values is None:
                continue
            low, high = (form.floor - value * scale for value in range_.values)
            text = f"{range_.label}: {number(range_.values[0])} to {number(range_.values[1])}"
            yield _bar(x, high, width, low - high, 0, "", text, "range")
            mark = Markup('<rect class="mark" x="{}" y="{}" width="{}" height="{}"></rect>')
            yield mark.format(_number(x), _number(max(form.top, min(low, form.floor - 3))), _number(width), 3)

    return _chart(name, says, [range_.label for range_ in bars_shown], highest, number, id_, bars)


def part(before: float, value: float, whole: float, series: int = 0) -> Markup:
    """Return a horizontal bar for a table's row: `value` of `whole`, starting at `before`."""
    return parts([(series, value)], whole, before)


def parts(values: Sequence[tuple[int, float]], whole: float, before: float = 0.0) -> Markup:
    """Return a horizontal bar of several parts, each with the number of its series."""
    rects, x = list[Markup](), min(1.0, max(0.0, before / whole)) if whole > 0 else 0.0
    for series, value in values[:MAX_COLUMNS]:
        width = min(1.0 - x, max(0.0, value / whole)) if whole > 0 else 0.0
        if width > 0:
            rect = Markup('<rect class="s{}" x="{}" y="0" width="{}" height="10"></rect>')
            rects.append(rect.format(series + 1, _number(200 * x), _number(max(200 * width, min(1.0, 200 * (1 - x))))))
        x += width
    inner = Markup().join(rects)
    svg = Markup('<svg class="part" viewBox="0 0 200 10" preserveAspectRatio="none" aria-hidden="true">{}</svg>')
    return svg.format(inner)


def key(series: int, *, hatched: bool = False) -> Markup:
    """Return the symbol of a series for a legend; `hatched`: as in vertical bars."""
    id_ = f"key-{series}" if hatched else ""
    svg = Markup('<svg class="key" viewBox="0 0 12 12" aria-hidden="true">{}{}</svg>')
    return svg.format(_patterns(id_, series), _bar(0, 0, 12, 12, series, id_, ""))


# The frame of a chart: its name, grid lines, and labels.


def _chart(
    name: str,
    says: str,
    labels: Sequence[str],
    highest: float,
    number: Callable[[float], str],
    id_: str,
    bars: Callable[[ChartForm, float], Iterator[Markup]],
) -> Markup:
    step, ticks = _scale(highest)
    forms = list[Markup]()
    numbers = [_text(number(step * index)) for index in range(ticks + 1)]
    for form in (_with_room(form, numbers) for form in FORMS):
        scale = (form.floor - form.top) / (step * ticks)
        inside = Markup().join([*_lines(form, numbers), *bars(form, scale), *_below(form, labels)])
        form_id = f"{id_}-{form.name}"
        svg = Markup(
            '<svg class="chart {form}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-n {id}-s">'
            '<title id="{id}-n">{name}</title><desc id="{id}-s">{says}</desc>{patterns}{inside}</svg>'
        )
        forms.append(
            svg.format(
                form=form.name,
                width=form.width,
                height=form.height,
                id=form_id,
                name=_text(name),
                says=_text(says, 500),
                patterns=Markup().join(_patterns(form_id, series) for series in HATCHED),
                inside=inside,
            )
        )
    return Markup('<div class="charted">{}</div>').format(Markup().join(forms))


def _with_room(form: ChartForm, numbers: Sequence[str]) -> ChartForm:
    """Return the form with its bars further right where the numbers beside them would be cut off."""
    room = NUMBERS_GAP + ceil(DIGIT_WIDTH * max(map(len, numbers)))
    return replace(form, left=min(max(form.left, room), form.width // 2))


def _lines(form: ChartForm, numbers: Sequence[Markup]) -> Iterator[Markup]:
    for index, number in enumerate(numbers):
        y = form.floor - (form.floor - form.top) * index / (len(numbers) - 1)
        line = Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"></line>')
        yield line.format("rule" if index else "floor", form.left, _number(y), form.width, _number(y))
        text = Markup('<text x="{}" y="{}" text-anchor="end">{}</text>')
        yield text.format(form.left - NUMBERS_GAP, _number(y + 4.5), number)


def _below(form: ChartForm, labels: Sequence[str]) -> Iterator[Markup]:
    """Yield evenly spaced labels: the first, the last, and as many between them as fit."""
    places = list(_places(form, len(labels)))
    count = min(form.labels, len(labels))
    chosen = sorted({round(index * (len(labels) - 1) / max(1, count - 1)) for index in range(count)})
    for index in chosen:
        x, width = places[index]
        is_last = index == len(labels) - 1 and index > 0
        anchor, where = ("end", x + width) if is_last else ("start", x) if index == 0 else ("middle", x + width / 2)
        text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
        yield text.format(_number(where), form.height - 7, anchor, _text(labels[index], 16))


def _places(form: ChartForm, count: int) -> Iterator[tuple[float, float]]:
    """Yield the position and width of each of `count` bars; the width is limited where there are few."""
    if not count:
        return
    step = (form.width - form.left) / count
    width = min(step * 0.82, 44.0)
    for index in range(count):
        yield form.left + step * index + (step - width) / 2, width


def _bar(
    x: float, y: float, width: float, height: float, series: int, id_: str, text: str, shape: str = "piece"
) -> Markup:
    is_hatched = series in HATCHED and bool(id_)
    fill = Markup(' fill="url(#{}-{})"').format(id_, series) if is_hatched else Markup()
    names = f"{shape} {'h' if is_hatched else 's'}{series + 1}"
    title = Markup("<title>{}</title>").format(_text(text, 3 * MAX_LABEL)) if text else Markup()
    rect = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"{}>{}</rect>')
    return rect.format(names, _number(x), _number(y), _number(width), _number(height), fill, title)


def _patterns(id_: str, series: int) -> Markup:
    if series not in HATCHED or not id_:
        return Markup()
    pattern = Markup(
        '<defs><pattern id="{id}-{at}" width="6" height="6" patternUnits="userSpaceOnUse">'
        '<path class="hatch h{series}" d="{lines}"></path></pattern></defs>'
    )
    return pattern.format(id=id_, at=series, series=series + 1, lines=HATCHED[series])


def _merge(columns: Sequence[ChartColumn], series: int) -> Sequence[ChartColumn]:
    """Return up to MAX_COLUMNS columns: neighbours are summed, under the label of the first."""
    size = -(-len(columns) // MAX_COLUMNS) or 1
    if size == 1:
        return columns
    groups = [columns[index : index + size] for index in range(0, len(columns), size)]
    return [
        ChartColumn(group[0].label, tuple(sum(column.values[index] for column in group) for index in range(series)))
        for group in groups
    ]


def _scale(highest: float) -> tuple[float, int]:
    """Return the distance of the grid lines, 1, 2 or 5 times a power of ten, and how many reach the highest value."""
    if not isfinite(highest) or highest < 1e-6:
        return 1.0, 1
    power = 10.0 ** floor(log10(highest / TICKS))
    step = next((factor * power for factor in (1, 2, 5) if TICKS * factor * power >= highest), 10 * power)
    return step, max(1, ceil(highest / step - 1e-9))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str, limit: int = MAX_LABEL) -> Markup:
    return escape(visible(_NO_XML.sub("\ufffd", shortened(text, limit))))
