"""Reads what is beside the text of a docx file: tracked changes, comments, headers, footers, notes, diagrams, charts.

The text itself is read by markitdown, which makes Markdown of it but knows nothing of these. What it leaves out, or
cannot read at all, is taken from here: every paragraph of the document is compared by its words.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from bot.chat.attachments.document_output import DocumentOutput
from bot.chat.attachments.drawings import ChartText, TextBoxes
from bot.chat.attachments.office_package import OfficePackage, PartReader, left_out

_DELETED: Final = frozenset({"del", "moveFrom"})
_INSERTED: Final = frozenset({"ins", "moveTo"})
_SPACES: Final = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_REPEATED: Final = frozenset({"Fallback", "rt"})  # What older programs show instead, and how a word is read
NOBODY: Final = "somebody"
MAX_PARAGRAPHS: Final = 100_000
MAX_ENTRIES: Final = 100  # Of a list in a form: Word allows 25
MAX_COMMENT_CHARS: Final = 200  # Of the words that a comment is about
MAX_RANGES: Final = 50  # Comments that are about the same words: each word is noted for each

# What is read beside the text, in this order.
LEFT_OUT, CHANGES, COMMENTS = "left out above", "tracked changes", "comments"
FORM, FOOTNOTES, ENDNOTES, HEADERS, FOOTERS = "form fields", "footnotes", "endnotes", "headers", "footers"
DIAGRAMS, CHARTS = "diagrams", "charts"
BESIDE: Final = (LEFT_OUT, DIAGRAMS, CHARTS, FORM, CHANGES, COMMENTS, FOOTNOTES, ENDNOTES, HEADERS, FOOTERS)
BELOW: Final = "(below the text: {what})"


@dataclass(slots=True)
class Paragraph:
    """`text`: as if all changes were accepted; `marked`: with its changes, if it has any, else ""."""

    text: str
    marked: str = ""
    has_field: bool = False
    """Whether a field of a form is in it."""


@dataclass(slots=True)
class _Open:
    """A paragraph that is being read."""

    text: list[str] = field(default_factory=list[str])
    marked: list[str] = field(default_factory=list[str])
    is_changed: bool = False
    has_field: bool = False


@dataclass(slots=True)
class _FormField:
    """A field of a form from before content controls: its choice or its tick is no text of the document."""

    entries: list[str] = field(default_factory=list[str])
    chosen: str = "0"
    tick: str | None = None
    is_box: bool = False

    def begin(self, tag: str, value: str | None) -> None:
        match tag:
            case "listEntry" if len(self.entries) < MAX_ENTRIES:
                self.entries.append(value or "")
            case "result":
                self.chosen = value or "0"
            case "checkBox":
                self.is_box = True
            case "checked":
                self.tick = value or "1"
            case "default" if self.is_box:
                self.tick = self.tick or value
            case _:
                pass

    def value(self) -> str:
        if self.is_box:
            return "☒" if self.tick in {"1", "true", "on"} else "☐"
        return dict(zip(map(str, range(MAX_ENTRIES)), self.entries, strict=False)).get(self.chosen, "")


class WordReader(PartReader):
    """The paragraphs of a document, a header or notes, in order; the cells of a table's row are one paragraph."""

    def __init__(self) -> None:
        self.paragraphs = list[Paragraph]()
        self.by_comment = dict[str, list[str]]()  # By a comment's id, the words that it is about
        self.comments = list[tuple[str, str, list[Paragraph]]]()  # Id, author and text of each
        self._open = list[_Open]()
        self._changes = list[tuple[str, str]]()  # Open changes: the tag, and who made it
        self._in_text = False
        self._hidden = 0  # Depth in what repeats other content
        self._ranges = set[str]()
        self._row: list[Paragraph] | None = None
        self._row_depth = 0
        self._form = _FormField()

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        is_separator = attributes.get("type") in {"separator", "continuationSeparator"}
        if self._hidden or tag in _REPEATED or is_separator:
            self._hidden += 1
            return
        match tag:
            case "p":
                self._open.append(_Open())
            case "t" | "delText":
                self._in_text = True
            case "del" | "ins" | "moveFrom" | "moveTo":
                self._changes.append((tag, attributes.get("author", "")))
            case "commentRangeStart" if len(self.by_comment) < MAX_PARAGRAPHS and len(self._ranges) < MAX_RANGES:
                self._ranges.add(attributes.get("id", ""))
                self.by_comment.setdefault(attributes.get("id", ""), [])
            case "commentRangeEnd":
                self._ranges.discard(attributes.get("id", ""))
            case "comment":
                self.comments.append((attributes.get("id", ""), attributes.get("author", ""), []))
            case "tr":
                self._row_depth += 1
                self._row = [] if self._row_depth == 1 else self._row
            case _ if tag in _SPACES and self._open:
                self._add(_SPACES[tag])
            case "textpath" if self._open:  # words drawn as a shape
                self._add(attributes.get("string", ""))
            case _:
                self._form.begin(tag, attributes.get("val"))

    def end(self, tag: str) -> None:
        if self._hidden:
            self._hidden -= 1
            return
        match tag:
            case "p" if self._open:
                self._close(self._open.pop())
            case "t" | "delText":
                self._in_text = False
            case "ffData" if self._open:
                self._add(self._form.value())
                self._open[-1].has_field = True
                self._form = _FormField()
            case "del" | "ins" | "moveFrom" | "moveTo" if self._changes:
                self._changes.pop()
            case "tr":
                self._row_depth -= 1
                # Only the outermost row is a line: a table within a cell has become the cell's text.
                if self._row_depth == 0 and self._row:
                    row, self._row = self._row, None
                    marked = " | ".join(cell.marked or cell.text for cell in row) if any(c.marked for c in row) else ""
                    has_field = any(cell.has_field for cell in row)
                    self._keep(Paragraph(" | ".join(cell.text for cell in row), marked, has_field))
            case _:
                pass

    def characters(self, text: str) -> None:
        if self._in_text and self._open and not self._hidden:
            self._add(text)

    def _add(self, text: str) -> None:
        paragraph = self._open[-1]
        deleted = next((who for tag, who in self._changes if tag in _DELETED), None)
        inserted = next((who for tag, who in self._changes if tag in _INSERTED), None)
        for range_ in [*self._ranges]:
            self.by_comment[range_].append(text)
            if sum(map(len, self.by_comment[range_])) >= MAX_COMMENT_CHARS:
                self._ranges.discard(range_)
        if deleted is None:
            paragraph.text.append(text)
        if deleted is None and inserted is None:
            paragraph.marked.append(text)
        elif text.strip():
            done = "inserted" if deleted is None else "deleted"
            who = inserted if deleted is None else deleted
            paragraph.is_changed = True
            paragraph.marked.append(f"[{done}{f' by {who}' if who else ''}: {text}]")

    def _close(self, paragraph: _Open) -> None:
        text = "".join(paragraph.text).strip()
        marked = "".join(paragraph.marked).strip() if paragraph.is_changed else ""
        if text or marked:
            self._keep(Paragraph(text, marked, paragraph.has_field))

    def _keep(self, paragraph: Paragraph) -> None:
        if self._row is not None:
            self._row.append(paragraph)
        elif self.comments:
            self.comments[-1][2].append(paragraph)
        elif len(self.paragraphs) < MAX_PARAGRAPHS:
            self.paragraphs.append(paragraph)


@dataclass(slots=True)
class BesideText:
    """What a document holds beside its text, as lines by the name of what they are."""

    sections: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    @property
    def summary(self) -> str:
        """One line that names the sections; "" if there are none."""
        return BELOW.format(what=", ".join(self.sections)) if self.sections else ""

    def write(self, output: DocumentOutput) -> None:
        """Raises Full."""
        for name, lines in self.sections.items():
            output.part(name)
            for line in lines:
                output.text(f"{line}\n")


class WordDocument:
    """A document and what is beside its text. A damaged one reads as far as it can be read."""

    def __init__(self, package: OfficePackage, main: str) -> None:
        self._package = package
        self._main = main
        self._reader = WordReader()
        package.read_if_sound(main, self._reader)

    @property
    def text(self) -> str:
        return "\n\n".join(one.text for one in self._reader.paragraphs if one.text)

    def beside(self, shown: str) -> BesideText:
        """Return what `shown`, the document as Markdown, does not have."""
        found = {
            LEFT_OUT: left_out((one.text for one in self._reader.paragraphs if not one.has_field), shown),
            DIAGRAMS: self._drawn("diagramData", TextBoxes),
            CHARTS: self._drawn("chart", ChartText),
            FORM: (one.text for one in self._reader.paragraphs if one.has_field),
            CHANGES: (one.marked for one in self._reader.paragraphs if one.marked),
            COMMENTS: self._comments(),
            FOOTNOTES: left_out(self._beside("footnotes"), shown),
            ENDNOTES: left_out(self._beside("endnotes"), shown),
            HEADERS: self._beside("header"),
            FOOTERS: self._beside("footer"),
        }
        unique = {name: [*dict.fromkeys(filter(None, lines))] for name, lines in found.items()}
        return BesideText({name: unique[name] for name in BESIDE if unique[name]})

    def _beside(self, kind: str) -> Iterator[str]:
        for part in self._package.related(self._main, kind):
            reader = WordReader()
            self._package.read_if_sound(part, reader)
            yield from (one.marked or one.text for one in reader.paragraphs)

    def _drawn(self, kind: str, reader: Callable[[], TextBoxes]) -> Iterator[str]:
        for part in self._package.related(self._main, kind):
            words = reader()
            self._package.read_if_sound(part, words)
            yield from words.paragraphs

    def _comments(self) -> Iterator[str]:
        for part in self._package.related(self._main, "comments"):
            reader = WordReader()
            self._package.read_if_sound(part, reader)
            for id_, author, paragraphs in reader.comments:
                words = " ".join("".join(self._reader.by_comment.get(id_, [])).split())[:MAX_COMMENT_CHARS]
                about = f' on "{words}"' if words else ""
                text = " ".join(one.text for one in paragraphs)
                yield f"{author or NOBODY}{about}: {text}" if text.strip() else ""
