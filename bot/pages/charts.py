"""Charts as SVG, made of values: no script, and colours by the classes of the stylesheet. Pure.

Rules
  A chart has a name, a sentence that says what it shows, and two forms, for a wide and for a narrow place, so that its
  text is never too small to read. What it shows stands in a table beside it, too.
  A series is told by its pattern and its place in each bar as well as by its colour.
  Labels are foreign text: they are escaped, and cut. Points are bounded: what is more is summed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Final

from markupsafe import Markup, escape

from bot.pages.frame import visible
from bot.texts.formatting import shortened

MAX_COLUMNS: Final = 100
MAX_SERIES: Final = 5  # More cannot be told apart; the last one may be all others
MAX_LABEL: Final = 60
HATCHED: Final = {2: "M-1 1 l2 -2 M0 6 l6 -6 M5 7 l2 -2", 3: "M0 3 h6"}  # The series that are drawn by lines, and how
TICKS: Final = 4  # Lines to compare with, at most
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class ChartForm:
    """A place for a chart. `left`: where the bars begin, right of the numbers."""

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
    """A bar that stands: its label, and the value of each series, none below 0."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChartRange:
    """What is between two values, as half and nearly all of what was measured; None of where nothing was."""

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
    """Bars, one for each column, of parts on one another. `id_`: of the chart in its page; `number`: of a value."""
    some = _joined(columns, len(series))
    highest = max((sum(column.values) for column in some), default=0.0)
    told = [f"{one}: {number(value)}" for column in some for one, value in zip(series, column.values, strict=True)]

    def bars(form: ChartForm, scale: float) -> Iterator[Markup]:
        texts = iter(told)
        for column, (x, width) in zip(some, _places(form, len(some)), strict=True):
            before = 0.0
            for at, value in enumerate(column.values):
                top, bottom = form.floor - (before + value) * scale, form.floor - before * scale
                before += value
                text = next(texts)
                if value > 0:
                    yield _bar(x, top, width, bottom - top, at, f"{id_}-{form.name}", f"{column.label}, {text}")

    return _chart(name, says, [column.label for column in some], highest, number, id_, bars)


def ranges(name: str, says: str, some: Sequence[ChartRange], number: Callable[[float], str], id_: str) -> Markup:
    """Bars that hang between two values, with a mark at the lower one."""
    shown = some[-MAX_COLUMNS:]
    highest = max((one.values[1] for one in shown if one.values is not None), default=0.0)

    def bars(form: ChartForm, scale: float) -> Iterator[Markup]:
        for one, (x, width) in zip(shown, _places(form, len(shown)), strict=True):
            if one.values is None:
                continue
            low, high = (form.floor - value * scale for value in one.values)
            text = f"{one.label}: {number(one.values[0])} to {number(one.values[1])}"
            yield _bar(x, high, width, low - high, 0, "", text, "range")
            mark = Markup('<rect class="mark" x="{}" y="{}" width="{}" height="{}"></rect>')
            yield mark.format(_at(x), _at(max(form.top, min(low, form.floor - 3))), _at(width), 3)

    return _chart(name, says, [one.label for one in shown], highest, number, id_, bars)


def part(before: float, value: float, whole: float, series: int = 0) -> Markup:
    """A bar that lies, in the row of a table that says what it is: `value` of `whole`, after `before` of it."""
    return parts([(series, value)], whole, before)


def parts(values: Sequence[tuple[int, float]], whole: float, before: float = 0.0) -> Markup:
    """The same of several parts, each with the number of its series."""
    drawn, x = list[Markup](), min(1.0, max(0.0, before / whole)) if whole > 0 else 0.0
    for series, value in values[:MAX_COLUMNS]:
        width = min(1.0 - x, max(0.0, value / whole)) if whole > 0 else 0.0
        if width > 0:
            one = Markup('<rect class="s{}" x="{}" y="0" width="{}" height="10"></rect>')
            drawn.append(one.format(series + 1, _at(200 * x), _at(max(200 * width, min(1.0, 200 * (1 - x))))))
        x += width
    inner = Markup().join(drawn)
    svg = Markup('<svg class="part" viewBox="0 0 200 10" preserveAspectRatio="none" aria-hidden="true">{}</svg>')
    return svg.format(inner)


def key(series: int, *, hatched: bool = False) -> Markup:
    """How a series looks, for a list of them; `hatched`: in bars that stand."""
    id_ = f"key-{series}" if hatched else ""
    svg = Markup('<svg class="key" viewBox="0 0 12 12" aria-hidden="true">{}{}</svg>')
    return svg.format(_patterns(id_, series), _bar(0, 0, 12, 12, series, id_, ""))


# The frame of a chart: its name, lines to compare with, and what stands below.


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
    for form in FORMS:
        scale = (form.floor - form.top) / (step * ticks)
        inside = Markup().join([*_lines(form, step, ticks, number), *bars(form, scale), *_below(form, labels)])
        this = f"{id_}-{form.name}"
        svg = Markup(
            '<svg class="chart {form}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{id}-n {id}-s">'
            '<title id="{id}-n">{name}</title><desc id="{id}-s">{says}</desc>{patterns}{inside}</svg>'
        )
        forms.append(
            svg.format(
                form=form.name,
                width=form.width,
                height=form.height,
                id=this,
                name=_text(name),
                says=_text(says, 500),
                patterns=Markup().join(_patterns(this, series) for series in HATCHED),
                inside=inside,
            )
        )
    return Markup('<div class="charted">{}</div>').format(Markup().join(forms))


def _lines(form: ChartForm, step: float, ticks: int, number: Callable[[float], str]) -> Iterator[Markup]:
    for at in range(ticks + 1):
        y = form.floor - (form.floor - form.top) * at / ticks
        line = Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"></line>')
        yield line.format("rule" if at else "floor", form.left, _at(y), form.width, _at(y))
        text = Markup('<text x="{}" y="{}" text-anchor="end">{}</text>')
        yield text.format(form.left - 8, _at(y + 4.5), _text(number(step * at)))


def _below(form: ChartForm, labels: Sequence[str]) -> Iterator[Markup]:
    """Some of the labels, evenly: the first and the last, and what there is room for between them."""
    places = list(_places(form, len(labels)))
    count = min(form.labels, len(labels))
    chosen = sorted({round(at * (len(labels) - 1) / max(1, count - 1)) for at in range(count)})
    for at in chosen:
        x, width = places[at]
        ends = at == len(labels) - 1 and at > 0
        anchor, where = ("end", x + width) if ends else ("start", x) if at == 0 else ("middle", x + width / 2)
        text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
        yield text.format(_at(where), form.height - 7, anchor, _text(labels[at], 16))


def _places(form: ChartForm, count: int) -> Iterator[tuple[float, float]]:
    """Where each of so many bars begins, and how wide it is: a few are no wider than a thumb."""
    if not count:
        return
    step = (form.width - form.left) / count
    width = min(step * 0.82, 44.0)
    for at in range(count):
        yield form.left + step * at + (step - width) / 2, width


def _bar(
    x: float, y: float, width: float, height: float, series: int, id_: str, text: str, shape: str = "piece"
) -> Markup:
    drawn = series in HATCHED and bool(id_)
    fill = Markup(' fill="url(#{}-{})"').format(id_, series) if drawn else Markup()
    names = f"{shape} {'h' if drawn else 's'}{series + 1}"
    told = Markup("<title>{}</title>").format(_text(text, 3 * MAX_LABEL)) if text else Markup()
    rect = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"{}>{}</rect>')
    return rect.format(names, _at(x), _at(y), _at(width), _at(height), fill, told)


def _patterns(id_: str, series: int) -> Markup:
    if series not in HATCHED or not id_:
        return Markup()
    made = Markup(
        '<defs><pattern id="{id}-{at}" width="6" height="6" patternUnits="userSpaceOnUse">'
        '<path class="hatch h{series}" d="{lines}"></path></pattern></defs>'
    )
    return made.format(id=id_, at=series, series=series + 1, lines=HATCHED[series])


def _joined(columns: Sequence[ChartColumn], series: int) -> Sequence[ChartColumn]:
    """Not more than there is room for: neighbours are summed, under the first one's label."""
    each = -(-len(columns) // MAX_COLUMNS) or 1
    if each == 1:
        return columns
    groups = [columns[at : at + each] for at in range(0, len(columns), each)]
    return [
        ChartColumn(group[0].label, tuple(sum(one.values[at] for one in group) for at in range(series)))
        for group in groups
    ]


def _scale(highest: float) -> tuple[float, int]:
    """How far apart the lines to compare with are, and how many: 1, 2 or 5 times a power of ten, to above the value."""
    if not isfinite(highest) or highest < 1e-6:
        return 1.0, 1
    power = 10.0 ** floor(log10(highest / TICKS))
    step = next((each * power for each in (1, 2, 5) if TICKS * each * power >= highest), 10 * power)
    return step, max(1, ceil(highest / step - 1e-9))


def _at(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str, limit: int = MAX_LABEL) -> Markup:
    return escape(visible(_NO_XML.sub("\ufffd", shortened(text, limit))))
