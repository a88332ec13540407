"""Reads the words of a pptx file's slides: of shapes, groups, tables, diagrams, notes and comments.

It is used where markitdown cannot read a file, for example because one run has no text; and for what that leaves out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bot.chat.attachments.drawings import ChartText, TextBoxes
from bot.chat.attachments.office_package import OfficePackage, PartReader, left_out

MAX_SLIDES: Final = 20_000


class _Order(PartReader):
    def __init__(self) -> None:
        self.ids = list[str]()

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sldId" and len(self.ids) < MAX_SLIDES:
            self.ids.append(attributes.get("id", ""))


class _Rows(TextBoxes):
    """As text boxes, with the cells of a table's row in one line."""

    def __init__(self) -> None:
        super().__init__()
        self._row: list[str] | None = None
        self._row_start = 0
        self._field = False  # In a field that shows the number of the slide, or the date

    def characters(self, text: str) -> None:
        if not self._field:
            super().characters(text)

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        super().begin(tag, attributes)
        if tag == "fld" and attributes.get("type", "").startswith(("slidenum", "datetime")):
            self._field = True
        elif tag == "tr":
            self._row, self._row_start = [], len(self.paragraphs)
        elif tag == "tc" and self._row is not None:
            self._row_start = len(self.paragraphs)

    def end(self, tag: str) -> None:
        super().end(tag)
        if tag == "fld":
            self._field = False
        elif tag == "tc" and self._row is not None:
            self._row.append(" ".join(self.paragraphs[self._row_start :]))
            del self.paragraphs[self._row_start :]
        elif tag == "tr" and self._row is not None:
            if any(self._row):
                self.paragraphs.append(" | ".join(self._row))
            self._row = None


class _Comments(PartReader):
    def __init__(self) -> None:
        self.found = list[str]()
        self._depth = 0
        self._pieces = list[str]()

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 -- they say nothing
        self._depth += tag in {"text", "t"}

    def end(self, tag: str) -> None:
        self._depth -= tag in {"text", "t"}
        if tag in {"cm", "reply"} and (text := " ".join("".join(self._pieces).split())):
            self.found.append(text)
            self._pieces = []

    def characters(self, text: str) -> None:
        if self._depth:
            self._pieces.append(text)


@dataclass(slots=True)
class SlideText:
    """`charts`: what markitdown shows in its own way."""

    shapes: list[str] = field(default_factory=list[str])
    charts: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    comments: list[str] = field(default_factory=list[str])
    links: list[str] = field(default_factory=list[str])

    def lines(self) -> Iterator[str]:
        yield from self.shapes
        yield from self.charts
        if self.notes:
            yield "### Notes:"
            yield from self.notes
        yield from self._beside("\n".join((*self.shapes, *self.notes)))

    def left_out(self, shown: str) -> Iterator[str]:
        """Yield the lines with a word that `shown` does not have."""
        yield from left_out((*self.shapes, *self.notes), shown)
        yield from left_out(self.charts, shown, in_order=False)  # a table of all series, or nothing
        yield from self._beside(shown)

    def _beside(self, shown: str) -> Iterator[str]:
        yield from (f"[comment] {comment}" for comment in self.comments)
        yield from (f"[link] {link}" for link in self.links if link.removeprefix("mailto:") not in shown)


def slide_parts(package: OfficePackage, main: str) -> list[str]:
    """Return the part of each slide, in the order in which they are shown."""
    order = _Order()
    package.read_if_sound(main, order)
    relations = {one.id: one.target for one in package.relations(main) if one.kind == "slide"}
    parts = [relations[id_] for id_ in order.ids if id_ in relations and package.has(relations[id_])]
    return parts or [*package.parts("ppt/slides/slide")]


def read_slide(package: OfficePackage, part: str) -> SlideText:
    """Return the words of a slide; of a damaged one as far as it can be read."""
    links = dict.fromkeys(" ".join(address.split()) for address in package.links(part).values())
    slide = SlideText(_lines(package, part), links=[*links])
    for relation in package.relations(part):
        if not package.has(relation.target):
            continue
        if relation.kind == "notesSlide":
            slide.notes += [line for line in _lines(package, relation.target) if not line.isdecimal()]
        elif relation.kind == "diagramData":
            slide.shapes += _lines(package, relation.target)
        elif relation.kind == "chart":
            chart = ChartText()
            package.read_if_sound(relation.target, chart)
            slide.charts += chart.paragraphs
        elif relation.kind == "comments":
            reader = _Comments()
            package.read_if_sound(relation.target, reader)
            slide.comments += reader.found
    return slide


def _lines(package: OfficePackage, part: str) -> list[str]:
    reader = _Rows()
    package.read_if_sound(part, reader)
    return reader.paragraphs
