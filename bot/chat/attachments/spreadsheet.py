"""Reads the sheets of an xlsx file as a stream, row by row: one may have a million rows, or a cell in its last corner.

Only what the cells hold is read, and from the styles only which of them are dates: so a fill, a font or an extension
that is odd refuses nothing. (python-calamine reads such files, too, but fills its memory with the empty cells between
two far corners, and knows no formulas; openpyxl refuses most of them.)
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
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
from bot.chat.attachments.office_package import DAMAGED, OfficePackage, PartReader, Stop

_COLUMN: Final = re.compile(r"[A-Za-z]{1,3}")
_DATE_FORMATS: Final = frozenset({*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)})
_NO_DATE: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\[\]]*\]', re.IGNORECASE)
_DATE: Final = re.compile(r"[dmyhs]", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DURATION: Final = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_THREAD: Final = "[Threaded comment]"  # The older form of a comment, of which the newer one is read
MAX_COMMENTS: Final = 2_000

NO_RESULT: Final = "(formulas without a stored result: {count:,}; their cells show the formula)\n"
MORE_COLUMNS: Final = "(the sheet has more columns: its first {columns} were read)\n"
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


class _Styles(PartReader):
    """Which styles show dates (True) or durations (False), by the number of the style."""

    def __init__(self) -> None:
        self.dates = dict[int, bool]()
        self._formats = dict[str, str]()
        self._in_cells = False
        self._number = 0

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag == "numFmt":
            self._formats[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif tag == "cellXfs":
            self._in_cells = True
        elif tag == "xf" and self._in_cells:
            number = attributes.get("numFmtId", "")
            code = self._formats.get(number, "")
            custom = bool(code) and _DATE.search(_NO_DATE.sub("", code)) is not None
            built_in = not code and number.isdecimal() and int(number[:9]) in _DATE_FORMATS
            if custom or built_in:
                self.dates[self._number] = _DURATION.search(code) is None and number != "46"
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
    dates: Mapping[int, bool]
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
        self._in_reading = False
        self._in_data = False
        self.has_more_columns = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        match tag:
            case "sheetData":
                self._in_data = True
            case "row" if self._in_data:
                self._row, self._column = {}, 0
            case "c" if self._in_data:
                named = _COLUMN.match(attributes.get("r", ""))
                self._column = _number_of(named[0]) if named else self._column + 1
                self._cell = _Cell(self._column, attributes.get("t", "n"), attributes.get("s", "0"))
            case "rPh":
                self._in_reading = True
            case "v" | "f" | "t" if self._cell is not None and not self._in_reading:
                self._into = self._cell.pieces[tag]
                if tag == "f":
                    self._into.append("=")
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
                raise Stop
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
        else:
            self._row[cell.column] = text

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
        return _number_text(value.strip(), self._book.dates.get(style), self._book.epoch)


def _number_of(column: str) -> int:
    """Return the number of a column of one to three letters: "A" is 1, "AA" is 27."""
    number = 0
    for letter in column[:3].upper():
        number = number * 26 + ord(letter) - 64
    return number


def _number_text(value: str, is_date: bool | None, epoch: datetime) -> str:  # noqa: FBT001 -- of a table
    """`is_date`: False for a duration, None for any other number."""
    try:
        number = float(value)
        if is_date is None:
            return repr(number).removesuffix(".0") if "." in value or "e" in value.lower() else value
        seconds = round(number * 86_400)
        if not is_date:
            return f"{seconds // 3_600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        moment = epoch + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return value
    if 0 <= number < 1:
        return f"{moment:%H:%M:%S}"
    if number < 60 and epoch.year == 1899:
        moment += timedelta(days=1)  # the calendar of 1900 counts a 29 February that was none
    return f"{moment:%Y-%m-%d}" if seconds % 86_400 == 0 else f"{moment:%Y-%m-%d %H:%M:%S}"


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


class TextBoxes(PartReader):
    """The paragraphs of drawings: text boxes, and the words of diagrams."""

    def __init__(self) -> None:
        self.paragraphs = list[str]()
        self._pieces = list[str]()
        self._in_text = False

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002 -- they say nothing
        self._in_text = tag == "t"
        if tag in {"br", "tab"}:
            self._pieces.append(" ")

    def end(self, tag: str) -> None:
        self._in_text = False
        if tag == "p" and (text := " ".join("".join(self._pieces).split())):
            self.paragraphs.append(text)
        if tag == "p":
            self._pieces = []

    def characters(self, text: str) -> None:
        if self._in_text:
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
    book = _Book(strings.strings, styles.dates, workbook.epoch, workbook.recalculates)
    damaged = 0
    sheets = [*_sheets(package, main, workbook)]
    for name, part in sheets:
        output.part(f"sheet {name}")
        sheet = _Sheet(book, output)
        try:
            package.read(part, sheet)
        except DAMAGED:
            damaged += 1
            output.flush()
            if not output.is_empty:
                output.text(DAMAGED_SHEET)
        if sheet.has_more_columns:
            output.text(MORE_COLUMNS.format(columns=MAX_COLUMNS))
        for line in _beside(package, part):
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
    """Yield the name and the part of each sheet with cells."""
    relations = {one.id: one for one in package.relations(main)}
    found = set[str]()  # Each part is one sheet, however many names lead to it
    for name, id_ in workbook.sheets:
        relation = relations.get(id_)
        is_sheet = relation is not None and relation.kind == "worksheet" and package.has(relation.target)
        if relation is not None and is_sheet and relation.target not in found:
            found.add(relation.target)
            yield name, relation.target
    if not found:
        yield from ((str(number), part) for number, part in enumerate(package.parts("xl/worksheets/"), start=1))


def _beside(package: OfficePackage, sheet: str) -> Iterator[str]:
    """Yield the comments and the text boxes of a sheet."""
    for kind in ("comments", "threadedComment"):
        for part in package.related(sheet, kind):
            comments = _Comments()
            package.read_if_sound(part, comments)
            for cell, text in comments.found:
                if text and not text.startswith(_THREAD):
                    yield f"[comment on {cell}] {text}\n"
    for part in package.related(sheet, "drawing"):
        boxes = TextBoxes()
        package.read_if_sound(part, boxes)
        yield from (f"[text box] {paragraph}\n" for paragraph in boxes.paragraphs)
