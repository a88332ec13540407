"""Reads the sheets of an xlsx file as a stream, row by row: one may have a million rows, or a cell in its last corner.

Only what the cells hold is read, and from the styles only the formats of numbers: so a fill, a font or an extension
that is odd refuses nothing. (python-calamine reads such files, too, but fills its memory with the empty cells between
two far corners, and knows no formulas; openpyxl refuses most of them.)
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain
from typing import Final

from bot.chat.attachments.document_output import (
    BROKEN,
    MAX_COLUMNS,
    MAX_ROWS,
    MAX_UNPACKED,
    DocumentOutput,
    NoText,
    row_text,
)
from bot.chat.attachments.drawings import TextBoxes
from bot.chat.attachments.number_format import BUILT_IN, general_number, shown_number
from bot.chat.attachments.office_package import DAMAGED, OfficePackage, PartReader, Stop

_COLUMN: Final = re.compile(r"[A-Za-z]{1,3}")
_DATE_FORMATS: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_NO_DATE: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\[\]]*\]', re.IGNORECASE)
_DATE: Final = re.compile(r"[dmyhs]", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DURATION: Final = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_SECOND_PARTS: Final = re.compile(r"s\.(0{1,3})", re.IGNORECASE)
_THREAD: Final = "[Threaded comment]"  # The older form of a comment, of which the newer one is read
# The kinds of what a workbook names as its sheets.
_SHEETS: Final = frozenset({"worksheet", "dialogsheet", "xlMacrosheet", "xlIntlMacrosheet", "chartsheet"})
_MARGINS: Final = frozenset(f"{which}{what}" for which in ("odd", "even", "first") for what in ("Header", "Footer"))
_MARGIN_CODE: Final = re.compile(r'&(?:"[^"]*"|K(?:[0-9A-F]{6}|\d\d[+-]\d{3})|\d{1,3}|.)', re.IGNORECASE | re.DOTALL)
# What the codes of a header show; all others only say how.
_MARGIN_WORDS: Final = {
    "&&": "&",
    "&P": "[page]",
    "&N": "[pages]",
    "&D": "[date]",
    "&T": "[time]",
    "&F": "[file name]",
    **dict.fromkeys(("&L", "&C", "&R"), "\n"),
}
_CHANGING: Final = re.compile(r"\[(?:page|pages|date|time|file name)\]")
_LINK: Final = re.compile(r'=HYPERLINK\(\s*"([^"\n]{1,2000})"', re.IGNORECASE)
_SHOWN_LINK: Final = re.compile(r"https?://|www\.", re.IGNORECASE)
MAX_COMMENTS: Final = 2_000
MAX_LINKS: Final = 1_000  # Of a sheet

NO_RESULT: Final = "(formulas without a stored result: {count:,}; their cells show the formula)\n"
MORE_COLUMNS: Final = "(the sheet has more columns: its first {columns} were read)\n"
CHART_SHEET: Final = "(this sheet is a chart)\n"
DAMAGED_SHEET: Final = "(the rest of this sheet is damaged and was not read)\n"


class _Workbook(PartReader):
    def __init__(self) -> None:
        self.sheets = list[tuple[str, str]]()  # Each one's name and the id of its relation
        self.epoch = datetime(1899, 12, 30)  # noqa: DTZ001 -- sheets know no time zones
        self.recalculates = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "sheet":
            self.sheets.append((attributes.get("name", ""), attributes.get("id", "")))
        elif tag == "workbookPr" and attributes.get("date1904") in {"1", "true", "on"}:
            self.epoch = datetime(1904, 1, 1)  # noqa: DTZ001 -- sheets know no time zones
        elif tag == "calcPr":
            self.recalculates = attributes.get("fullCalcOnLoad") in {"1", "true", "on"}


@dataclass(frozen=True, slots=True)
class _Format:
    """How a style shows numbers. `is_date`: False for a duration, None for any other number; `decimals`: of seconds."""

    code: str = ""
    is_date: bool | None = None
    decimals: int = 0


_GENERAL: Final = _Format()


class _Styles(PartReader):
    """The formats of the styles, by the number of the style."""

    def __init__(self) -> None:
        self.formats = dict[int, _Format]()
        self._codes = dict[str, str]()
        self._in_cells = False
        self._number = 0

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "numFmt":
            self._codes[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif tag == "cellXfs":
            self._in_cells = True
        elif tag == "xf" and self._in_cells:
            number = attributes.get("numFmtId", "")
            code = self._codes.get(number, "")
            custom = bool(code) and _DATE.search(_NO_DATE.sub("", code)) is not None
            built_in = not code and number.isdecimal() and int(number[:9]) in _DATE_FORMATS
            if custom or built_in:
                parts = _SECOND_PARTS.search(code or ("mm:ss.0" if number == "47" else ""))
                is_date = _DURATION.search(code) is None and number != "46"
                self.formats[self._number] = _Format(code, is_date, len(parts[1]) if parts else 0)
            elif code or number in BUILT_IN:
                self.formats[self._number] = _Format(code or BUILT_IN[number])
            self._number += 1

    def end(self, tag: str) -> None:
        if tag == "cellXfs":
            raise Stop


class _Strings(PartReader):
    """The strings that cells share; without readings (phonetic runs), which repeat a text."""

    def __init__(self) -> None:
        self.strings = list[str]()
        self._pieces = list[str]()
        self._in_text = self._in_reading = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 -- they say nothing
        if tag == "si":
            self._pieces = []
        elif tag == "rPh":
            self._in_reading = True
        self._in_text = tag == "t" and not self._in_reading

    def end(self, tag: str) -> None:
        if tag == "si":
            self.strings.append("".join(self._pieces))
        elif tag == "rPh":
            self._in_reading = False
        self._in_text = False

    def characters(self, text: str) -> None:
        if self._in_text:
            self._pieces.append(text)


@dataclass(slots=True)
class _Book:
    strings: list[str]
    formats: Mapping[int, _Format]
    epoch: datetime
    recalculates: bool
    """Whether Excel calculates all formulas when it opens the file: a stored zero is a program's placeholder then."""
    formulas: int = 0
    """How many have no stored result."""


@dataclass(slots=True)
class _Cell:
    column: int
    kind: str
    style: str
    name: str
    pieces: dict[str, list[str]] = field(default_factory=lambda: {"v": [], "f": [], "t": []})


class _Sheet(PartReader):
    def __init__(self, book: _Book, output: DocumentOutput) -> None:
        self._book = book
        self._output = output
        self._row = dict[int, str]()
        self._rows = 0
        self._column = 0
        self._cell: _Cell | None = None
        self._into: list[str] | None = None
        self._margin = list[str]()
        self._in_reading = False
        self._in_data = False
        self.has_more_columns = False
        self.margins = dict[str, str]()  # Each header and footer, by its words
        self.is_complete = False
        self.links = list[tuple[str, str]]()  # Cells and addresses
        self.link_ids = list[tuple[str, str]]()  # Cells and the ids of relations
        self._shown = set[str]()  # Cells that show an address

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        match tag:
            case "sheetData":
                self._in_data = True
            case "row" if self._in_data:
                self._row, self._column = {}, 0
            case "c" if self._in_data:
                named = _COLUMN.match(attributes.get("r", ""))
                self._column = _number_of(named[0]) if named else self._column + 1
                kind, style = attributes.get("t", "n"), attributes.get("s", "0")
                self._cell = _Cell(self._column, kind, style, attributes.get("r", ""))
            case "rPh":
                self._in_reading = True
            case "v" | "f" | "t" if self._cell is not None and not self._in_reading:
                self._into = self._cell.pieces[tag]
                if tag == "f":
                    self._into.append("=")
            case "hyperlink" if len(self.link_ids) < MAX_LINKS and "id" in attributes:
                self.link_ids.append((attributes.get("ref", ""), attributes["id"]))
            case _ if tag in _MARGINS:
                self._into = self._margin = []
            case _:
                pass

    def end(self, tag: str) -> None:
        match tag:
            case "v" | "f" | "t":
                self._into = None
            case "rPh":
                self._in_reading = False
            case "c" if self._cell is not None:
                self._take(self._cell)
                self._cell = None
            case "row" if self._row:
                self._rows += 1
                if self._rows > MAX_ROWS:
                    self._output.text(f"(the sheet goes on: these are its first {MAX_ROWS:,} rows)\n")
                    raise Stop
                self._output.text(row_text(self._row.get(column, "") for column in range(1, max(self._row) + 1)))
            case "sheetData":
                self._in_data, self.is_complete = False, True
            case _ if tag in _MARGINS:
                self._into = None
                if words := _margin_words("".join(self._margin)):
                    self.margins.setdefault(words, tag[-6:].lower())
            case _:
                pass

    def characters(self, text: str) -> None:
        if self._into is not None:
            self._into.append(text)

    def _take(self, cell: _Cell) -> None:
        text = self._text(cell)
        if not text.strip():
            return
        if cell.column > MAX_COLUMNS:
            self.has_more_columns = True
            return
        self._row[cell.column] = text
        if _SHOWN_LINK.match(text) or "@" in text:
            self._shown.add(text.strip())
        if (link := _LINK.match("".join(cell.pieces["f"]))) and len(self.links) < MAX_LINKS:
            self.links.append((cell.name, link[1]))

    def hidden_links(self, addresses: Mapping[str, str]) -> Iterator[str]:
        """Yield a line for each link whose address its cell does not show. `addresses`: by the ids of relations."""
        found = [*self.links, *((cell, addresses.get(id_, "")) for cell, id_ in self.link_ids)]
        for cell, address in found:
            if address and address.removeprefix("mailto:") not in self._shown and address not in self._shown:
                yield f"[link in {cell}] {' '.join(address.split())}\n"

    def _text(self, cell: _Cell) -> str:
        value, formula = "".join(cell.pieces["v"]), "".join(cell.pieces["f"])
        # Programs that write formulas without computing them put 0 there, and ask the office program to recalculate:
        # that 0 is no result.
        if formula and self._book.recalculates and value.strip() == "0":
            value = ""
        match cell.kind:
            # The index comes from the file: it is checked before it is used, and never read as a number without a
            # bound.
            case "s":
                shared = value.strip()
                known = shared.isdecimal() and len(shared) < 10 and int(shared) < len(self._book.strings)
                return _unescaped(self._book.strings[int(shared)]) if known else ""
            case "inlineStr":
                return _unescaped("".join(cell.pieces["t"]))
            case "b" if value:
                return "FALSE" if value.strip() in {"0", "false"} else "TRUE"
            case "str" | "e" if value:
                return _unescaped(value)
            case "d" if value:
                return value.replace("T", " ").removesuffix(" 00:00:00")
            case _:
                pass
        if not value.strip():
            self._book.formulas += bool(formula)
            return "(formula)" if formula == "=" else formula
        style = int(cell.style) if cell.style.isdecimal() and len(cell.style) < 10 else -1
        return _number_text(value.strip(), self._book.formats.get(style, _GENERAL), self._book.epoch)


def _margin_words(code: str) -> str:
    """Return the words of a header or footer, its parts in one line; "" if it shows only what changes, as its page."""
    text = _MARGIN_CODE.sub(lambda found: _MARGIN_WORDS.get(found[0].upper(), ""), " ".join(code.split()))
    shown = " | ".join(filter(None, (" ".join(part.split()) for part in text.split("\n"))))
    return shown if any(map(str.isalnum, _CHANGING.sub("", shown))) else ""


def _number_of(column: str) -> int:
    """Return the number of a column of one to three letters: "A" is 1, "AA" is 27."""
    number = 0
    for letter in column[:3].upper():
        number = number * 26 + ord(letter) - 64
    return number


def _number_text(value: str, shown_as: _Format, epoch: datetime) -> str:
    try:
        number = float(value)
        if shown_as.is_date is None:
            general = general_number(value)
            return (shown_number(Decimal(general), shown_as.code) if shown_as.code else "") or general
        seconds = round(number * 86_400, shown_as.decimals)
        if not shown_as.is_date:
            return f"{'-' if seconds < 0 else ''}{_duration(abs(seconds), shown_as.decimals)}"
        moment = epoch + timedelta(seconds=seconds)
    except (ValueError, OverflowError, ArithmeticError):
        return value
    time = f"{moment:%H:%M:%S.%f}"[: len("00:00:00.") + shown_as.decimals].rstrip(".")
    if 0 <= number < 1:
        return time
    if number < 60 and epoch.year == 1899:
        moment += timedelta(days=1)  # the calendar of 1900 counts a 29 February that was none
    return f"{moment:%Y-%m-%d}" if seconds % 86_400 == 0 else f"{moment:%Y-%m-%d} {time}"


def _duration(seconds: float, decimals: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{rest:0{3 + decimals if decimals else 2}.{decimals}f}"


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "_x" in text else text


def _character(escape: re.Match[str]) -> str:
    """Return what an escape stands for; a half of a pair and NUL, which no text may hold, become U+FFFD."""
    code = int(escape[1], 16)
    return "\ufffd" if code == 0 or 0xD800 <= code <= 0xDFFF else chr(code)


class _Comments(PartReader):
    """The notes (older) or comments (newer) of a sheet, by their cells."""

    def __init__(self) -> None:
        self.found = list[tuple[str, str]]()
        self._cell = ""
        self._pieces: list[str] | None = None

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in {"comment", "threadedComment"}:
            self._cell, self._pieces = attributes.get("ref", ""), []

    def end(self, tag: str) -> None:
        if tag in {"comment", "threadedComment"} and self._pieces is not None:
            self.found.append((self._cell, " ".join("".join(self._pieces).split())))
            self._pieces = None
            if len(self.found) >= MAX_COMMENTS:
                raise Stop

    def characters(self, text: str) -> None:
        if self._pieces is not None:
            self._pieces.append(text)


def read_spreadsheet(package: OfficePackage, main: str, output: DocumentOutput) -> None:
    """Read all sheets. Raises NoText if none can be read, or Full."""
    workbook, styles, strings = _Workbook(), _Styles(), _Strings()
    package.read_if_sound(main, workbook)
    for part in package.related(main, "styles"):
        package.read_if_sound(part, styles)
    for part in package.related(main, "sharedStrings") or [*package.parts("xl/sharedstrings")]:
        # Without its table of strings a workbook would show numbers in place of words: better nothing than that.
        if package.size(part) > MAX_UNPACKED:
            raise NoText(BROKEN)
        package.read_if_sound(part, strings)
    book = _Book(strings.strings, styles.formats, workbook.epoch, workbook.recalculates)
    damaged = 0
    sheets = [*_sheets(package, main, workbook)]
    for name, part in sheets:
        output.part(f"sheet {name}")
        if package.root(part) == "chartsheet":
            output.text(CHART_SHEET)
        sheet = _Sheet(book, output)
        try:
            package.read(part, sheet)
        except DAMAGED:
            if not sheet.is_complete:
                damaged += 1
                output.flush()
                if not output.is_empty:
                    output.text(DAMAGED_SHEET)
        if sheet.has_more_columns:
            output.text(MORE_COLUMNS.format(columns=MAX_COLUMNS))
        for words, what in sheet.margins.items():
            output.text(f"[{what}] {words}\n")
        for line in chain(sheet.hidden_links(package.links(part)), _beside(package, part)):
            output.text(line)
    output.flush()
    if output.is_empty and (damaged or not sheets):
        raise NoText(BROKEN)
    if book.formulas:
        output.text(NO_RESULT.format(count=book.formulas))
    drawings = [drawing for _, part in sheets for drawing in package.related(part, "drawing")]
    if not output.is_empty:
        output.text(f"\n{package.not_read([*drawings, *(part for _, part in sheets)])}")


def _sheets(package: OfficePackage, main: str, workbook: _Workbook) -> Iterator[tuple[str, str]]:
    """Yield the name and the part of each sheet; those that the workbook does not name have a number."""
    relations = {one.id: one for one in package.relations(main) if one.kind in _SHEETS and package.has(one.target)}
    found = set[str]()  # Each part is one sheet, however many names lead to it
    for name, id_ in workbook.sheets:
        relation = relations.get(id_)
        if relation is not None and relation.target not in found:
            found.add(relation.target)
            yield name, relation.target
    unnamed = [one.target for one in relations.values()] or [*package.parts("xl/worksheets/")]
    for part in unnamed:
        if part not in found:
            found.add(part)
            yield str(len(found)), part


def _beside(package: OfficePackage, sheet: str) -> Iterator[str]:
    """Yield the comments of a sheet, and the words of its text boxes, diagrams and charts."""
    for kind in ("comments", "threadedComment"):
        for part in package.related(sheet, kind):
            comments = _Comments()
            package.read_if_sound(part, comments)
            for cell, text in comments.found:
                if text and not text.startswith(_THREAD):
                    yield f"[comment on {cell}] {text}\n"
    for drawing in package.related(sheet, "drawing"):
        shown = {
            "text box": [drawing],
            "diagram": package.related(drawing, "diagramData"),
            "chart": package.related(drawing, "chart"),  # Its titles: the values are in the cells
        }
        for what, parts in shown.items():
            for part in parts:
                words = TextBoxes()
                package.read_if_sound(part, words)
                yield from (f"[{what}] {paragraph}\n" for paragraph in words.paragraphs)
