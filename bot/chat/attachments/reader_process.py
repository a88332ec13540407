"""The subprocess that turns one file into text: bytes in, lines of JSON out.

Documents are untrusted input: they may nest without end, unpack to gigabytes, or refer to other files and hosts. So
each is read in a sandboxed process: no secret in its environment, bounded memory and time, no network, no subprocess,
and no file but those of Python and its libraries.

Rules.
- A file's type follows from its content. Of an archive only the parts with text are unpacked, up to a limit; pictures,
  macros and embedded files stay packed. Only web pages may declare a document type, so no file can define entities.
- A library is imported when a file needs it; if it is missing, the fault says so.

Input: a line of JSON, ["kind of reading", first page, address], then the bytes. Output: lines of pairs, ["of", pages],
["title", …], ["part", its name], ["text", a piece of that part], ["fault", why], and ["end", ""] after a complete text.
"""

import io
import json
import mimetypes
import os
import re
import signal
import sys
import zipfile
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.parsers import expat

from bot.chat.attachments.document_output import (
    BROKEN,
    LOCKED,
    MAX_COLUMNS,
    MAX_ENTRIES,
    MAX_NAME_CHARS,
    MAX_REPEATED,
    MAX_UNPACKED,
    MISSING,
    NO_TEXT,
    OLD,
    UNKNOWN,
    DocumentOutput,
    Full,
    NoText,
    row_text,
)
from bot.chat.attachments.html_tables import with_all_cells
from bot.chat.attachments.office_package import OfficePackage, PartReader, named_unread, refuse_doctype
from bot.chat.attachments.pdf_forms import PdfForms
from bot.chat.attachments.slides_text import SlideText, read_slide, slide_parts
from bot.chat.attachments.spreadsheet import read_spreadsheet
from bot.chat.attachments.word_text import WordDocument


def limit(memory_bytes: int, cpu_s: int, niceness: int) -> None:
    """Limit the resources of this process, where the system supports it."""
    with suppress(AttributeError, OSError):
        os.nice(niceness)
    try:
        import resource  # noqa: PLC0415 -- not on Windows
    except ImportError:
        return
    bounds = ((resource.RLIMIT_AS, memory_bytes), (resource.RLIMIT_CPU, cpu_s), (resource.RLIMIT_FSIZE, 0))
    for resource_limit, bound in bounds:
        with suppress(OSError, ValueError):  # the system's limit is lower already
            resource.setrlimit(resource_limit, (bound, bound))


CONVERTED_SHARE = 2 / 3  # Of the process's time, for a converter; in the rest its text is read without one


@contextmanager
def time_for_converter() -> Generator[None]:
    """Raise TimeoutError while enough time is left for a reader that takes less."""
    try:
        import resource  # noqa: PLC0415 -- not on Windows
    except ImportError:
        yield
        return

    def end(*_: object) -> None:
        raise TimeoutError

    seconds, _ = resource.getrlimit(resource.RLIMIT_CPU)
    signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, max(0, seconds) * CONVERTED_SHARE)  # unlimited: -1
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def shut_in() -> None:
    """Allow this process no access but to the files of Python and its libraries. It cannot be undone."""
    mimetypes.init([])  # else the first use reads the system's files
    roots = tuple(str(Path(root).resolve()) + os.sep for root in (sys.prefix, sys.base_prefix))
    denied = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system", "os.startfile")

    def watch(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith(denied):
            raise PermissionError(event)
        opens_path = event == "open" and isinstance(args[0], str | bytes)
        if opens_path and not os.path.realpath(os.fsdecode(args[0])).startswith(roots):
            raise PermissionError(event)

    sys.addaudithook(watch)


def leave_out_selectors() -> None:
    """Keep `bs4` from importing the library of CSS selectors: no reader uses them, and its expressions are compiled
    anew for each file, which takes a seventh of the time of a small one.
    """
    modules: dict[str, Any] = sys.modules
    modules["soupsieve"] = None


def library(name: str) -> ModuleType:
    """Import a library. Raises NoText if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise NoText(MISSING) from None


# PDF


def read_pdf(data: bytes, output: DocumentOutput, first: int, max_pages: int) -> None:
    """Read up to `max_pages` pages from the page `first`, counted from 1."""
    pypdf, errors = library("pypdf"), library("pypdf.errors")
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise NoText(LOCKED)
        pages = len(reader.pages)
    except errors.DependencyError:  # an encryption that needs another library
        raise NoText(LOCKED) from None
    output.line("of", pages)
    forms = PdfForms()
    for number in range(first - 1, min(pages, first - 1 + max_pages)):
        output.part(f"page {number + 1}")
        text = ""
        with suppress(Exception):  # whatever a library raises for a hostile page, the others are read
            text = reader.pages[number].extract_text()
        beside = list[str]()
        with suppress(Exception):  # a damaged form does not take the page's text away
            beside += forms.lines(reader.pages[number])
        output.text("\n".join(filter(None, (text.rstrip(), *beside))))
    not_read = ""
    with suppress(Exception):  # nor does a form that cannot be listed
        not_read = forms.not_read(reader)
    output.text(not_read)


# Archives

_OPEN_DOCUMENT = b"application/vnd.oasis.opendocument."
_CONTENT_TYPES = "[Content_Types].xml"
# A slideshow is a presentation by another type, which the reading library refuses to open.
_SHOWS = re.compile(
    rb"openxmlformats-officedocument\.presentationml\.(?:slideshow|template)\.main|"
    rb"ms-powerpoint\.(?:slideshow|template)\.macroEnabled\.main"
)
_PRESENTATION = b"openxmlformats-officedocument.presentationml.presentation.main"


def read_archive(data: bytes, output: DocumentOutput) -> None:
    # Office encrypts into the container of its old formats, so that an encrypted .docx looks like a .doc.
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise NoText(LOCKED if "EncryptedPackage".encode("utf-16-le") in data else OLD)
    archive = zipfile.ZipFile(io.BytesIO(data))
    entries = {entry.filename: entry for entry in archive.infolist()}
    # Before anything is unpacked: a hostile archive is refused by its list of entries alone.
    if len(entries) > MAX_ENTRIES or any(_is_packed_oddly(entry) for entry in entries.values()):
        raise NoText(BROKEN)
    if any(entry.flag_bits & 1 for entry in entries.values()):
        raise NoText(LOCKED)
    # OpenDocument and EPUB name their type in an entry of its own; Office files are known only by their parts.
    mimetype = _start(archive, "mimetype", 200) if "mimetype" in entries else b""
    if mimetype.startswith(_OPEN_DOCUMENT):
        OpenDocument(output).read(_unpack(archive, ["content.xml", "styles.xml", "META-INF/manifest.xml"]))
    elif mimetype.startswith(b"application/epub+zip") or "META-INF/container.xml" in entries:
        _read_epub(archive, output)
    else:
        _read_office(archive, OfficePackage(archive), output)


def _is_packed_oddly(entry: zipfile.ZipInfo) -> bool:
    """Whether a text is packed in a way that takes more memory than office files may; others stay packed."""
    return entry.compress_type not in {0, 8} and entry.filename.lower().endswith((".xml", ".rels", "mimetype"))


def _start(archive: zipfile.ZipFile, name: str, size: int) -> bytes:
    with archive.open(name) as part:
        return part.read(size)


def _unpack(archive: zipfile.ZipFile, names: Iterable[str]) -> dict[str, bytes]:
    """Return those of these parts that exist. Raises NoText if they are too large; no more bytes of an entry are read
    than the size that it declares.
    """
    entries = [archive.getinfo(name) for name in names if name in archive.NameToInfo]
    if sum(entry.file_size for entry in entries) > MAX_UNPACKED:
        raise NoText(BROKEN)
    return {entry.filename: archive.read(entry) for entry in entries}


def _repack(parts: Mapping[str, bytes]) -> io.BytesIO:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    packed.seek(0)
    return packed


MAX_CONVERTED = 8_000_000  # Bytes of a document for a converter: it takes sixty times as much memory

# The library of each kind of file. markitdown imports all of them, for the converters of all kinds.
_OF_ONE_KIND = {"docx": "mammoth", "pptx": "pptx"}


def _convert(converter: str, data: io.BytesIO, ending: str, charset: str | None = None) -> str:
    """Convert to Markdown with this converter of markitdown; its own detection of file types needs a further model."""
    _replace_unused(ending)
    markitdown = library("markitdown")
    instance = getattr(library("markitdown.converters"), converter)()
    try:
        return str(instance.convert(data, markitdown.StreamInfo(extension=f".{ending}", charset=charset)).markdown)
    except markitdown.MissingDependencyException:
        raise NoText(MISSING) from None


def _replace_unused(ending: str) -> None:
    """Keep markitdown from importing what this file does not need: it would take longer than everything else."""
    magika, requests = ModuleType("magika"), ModuleType("requests")  # a model that detects types, with numpy; a client
    vars(requests)["Response"] = object  # an annotation names it
    for unused in (magika, requests):
        sys.modules.setdefault(unused.__name__, unused)
    modules: dict[str, ModuleType | None] = sys.modules  # pyright: ignore[reportAssignmentType] -- None: its import fails
    for kind, name in _OF_ONE_KIND.items():
        if kind != ending:
            modules.setdefault(name, None)  # as if it were not installed, which the converters allow for


_PICTURE = re.compile(r"!\[([^\]\n]{0,500})\]\([^)\s]{0,2000}\)")
_SLIDE = re.compile(r"<!-- Slide number: (\d{1,6}) -->")


def _without_pictures(text: str) -> str:
    return _PICTURE.sub(lambda match_: f"[picture: {match_[1]}]" if match_[1].strip() else "", text)


def _holds_words(text: str) -> bool:
    return any(sign.isalnum() for sign in _SLIDE.sub("", _PICTURE.sub("", text)))


def _read_office(archive: zipfile.ZipFile, package: OfficePackage, output: DocumentOutput) -> None:
    main = package.main()
    if not main.endswith(".xml"):
        raise NoText(UNKNOWN)
    match package.root(main):
        case "workbook":
            read_spreadsheet(package, main, output)
            return
        case "document":
            read, converter, ending = _read_word, "DocxConverter", "docx"
        case "presentation":
            read, converter, ending = _read_slides, "PptxConverter", "pptx"
        case _:
            raise NoText(BROKEN)
    if package.read_if_sound(main, PartReader()):
        read(package, main, _converted(archive, package, main, converter, ending), output)
        return
    with suppress(NoText):
        read(package, main, "", output)
    raise NoText(BROKEN)  # after what could be read


def _converted(archive: zipfile.ZipFile, package: OfficePackage, main: str, converter: str, ending: str) -> str:
    """Return the file as Markdown; "" if the converter refuses it. Raises NoText if it is too large."""
    names = archive.namelist()
    texts = [name for name in names if name.endswith((".xml", ".rels"))]
    if sum(archive.getinfo(name).file_size for name in texts) > MAX_UNPACKED:
        raise NoText(BROKEN)
    if package.size(main) > MAX_CONVERTED:
        return ""
    sound = [name for name in texts if package.is_same(name, main) or package.read_if_sound(name, PartReader())]
    parts = dict.fromkeys(set(names).difference(texts), b"") | _unpack(archive, sound)
    if _CONTENT_TYPES in parts:  # shows and templates have the same parts
        parts[_CONTENT_TYPES] = _SHOWS.sub(_PRESENTATION, parts[_CONTENT_TYPES])
    if ending == "docx":
        _prepare_word(parts)
    try:
        with time_for_converter():
            text = _convert(converter, _repack(parts), ending)
    except NoText:
        raise
    except Exception:  # noqa: BLE001 -- whatever a library raises for an odd part, the words are read without it
        return ""
    return _without_pictures(text) if _holds_words(text) else ""


# What mammoth drops with all that is in it: fields with a result, directions of text, moved text, readings.
_WRAPPERS = re.compile(
    rb"</?w:(?:fldSimple|dir|bdo|customXml|moveTo|ruby|rubyBase)(?=[\s/>])(?:[^>\"']|\"[^\"]*\"|'[^']*')*>"
)
# A cell that goes on below is a cell of its own in Markdown, in which a row without it would move to the left.
_MERGED = re.compile(rb"<w:vMerge(?=[\s/>])[^>]*/>|<w:vMerge(?=[\s/>])[^>]*></w:vMerge>")
# So would one in a row that begins further right.
_ROW = re.compile(rb"<w:trPr>.*?</w:trPr>", re.DOTALL)
_BEFORE = re.compile(rb"<w:gridBefore w:val=[\"'](\d{1,2})[\"']")
_EMPTY_CELL = b"<w:tc><w:p/></w:tc>"
_BREAKS = {b"<w:cr/>": b"<w:br/>", b"<w:ptab": b"<w:tab"}  # Blanks that it does not know


def _prepare_word(parts: dict[str, bytes]) -> None:
    """Let mammoth read what stands in elements that it does not know, and skip a slow step for formulas if there are
    none.
    """
    names = [name for name in parts if name.lower().endswith(".xml") and b"<w:" in parts[name]]
    for name in names:
        parts[name] = _ROW.sub(_with_empty_cells, _MERGED.sub(b"", _WRAPPERS.sub(b"", parts[name])))
        for unknown, known in _BREAKS.items():
            parts[name] = parts[name].replace(unknown, known)
    if not any(b":oMath" in parts[name] for name in names):
        _replace_unused("docx")
        vars(library("markitdown.converter_utils.docx.pre_process"))["_pre_process_math"] = _unchanged


def _unchanged(part: bytes) -> bytes:
    return part


def _with_empty_cells(row: re.Match[bytes]) -> bytes:
    before = _BEFORE.search(row[0])
    return row[0] + _EMPTY_CELL * int(before[1]) if before else row[0]


def _read_word(package: OfficePackage, main: str, text: str, output: DocumentOutput) -> None:
    document = WordDocument(package, main)
    text = text or document.text
    beside = document.beside(text)
    is_elsewhere = package.related(main, "aFChunk")  # some programs write the whole text as an embedded document
    if not (text or beside.sections or is_elsewhere):  # what it only shows is no text
        raise NoText(NO_TEXT)
    output.text("\n\n".join(filter(None, (beside.summary, text))))
    beside.write(output)
    output.text(f"\n\n{package.not_read([main], read='chart')}")


def _read_slides(package: OfficePackage, main: str, text: str, output: DocumentOutput) -> None:
    before, *converted = _SLIDE.split(text)
    shown = dict(zip(map(int, converted[::2]), converted[1::2], strict=True))
    parts = slide_parts(package, main)
    slides = [read_slide(package, part) for part in parts]
    if not text and not any(any(slide.lines()) for slide in slides):
        raise NoText(NO_TEXT)
    output.text(before)
    for number in range(1, max(len(slides), *shown, 0) + 1):
        output.part(f"slide {number}")
        slide = slides[number - 1] if number <= len(slides) else SlideText()
        lines = slide.left_out(shown[number]) if number in shown else slide.lines()
        output.text("\n".join(filter(None, (shown.get(number, "").strip(), *lines))))
    output.text(f"\n{package.not_read(parts, read='chart')}")


def _read_epub(archive: zipfile.ZipFile, output: DocumentOutput) -> None:
    names = archive.namelist()
    lock = "META-INF/encryption.xml"
    if lock in names and b"xmlenc#" in _start(archive, lock, MAX_UNPACKED):  # other entries concern only fonts
        raise NoText(LOCKED)
    texts = [name for name in names if name.lower().endswith((".xml", ".opf", ".html", ".htm", ".xhtml"))]
    text = _convert("EpubConverter", _repack(_unpack(archive, texts)), "epub")
    output.text(_without_pictures(text))


# OpenDocument: text, sheets, slides


class OpenDocument:
    """Reads content.xml as a stream: memory does not grow with its depth, and declared repetitions are limited."""

    def __init__(self, output: DocumentOutput) -> None:
        self._output = output
        self._line = list[str]()
        self._row = list[str]()
        self._repeated = {"row": 1, "cell": 1}
        self._in_sheets = False
        self._blank = self._hidden = self._pages = self._paragraphs = self._tables = 0
        self._beside: _BesideText | None = None  # The comment or deletion that is being read
        self._deletions = list[str]()
        self._unread = dict.fromkeys(_UNREAD.values(), 0)
        self._value = ""  # Of the cell, for one without a text that shows it
        self._links = list[tuple[int, str]]()  # Open ones: where their words begin in the line, and their addresses

    def read(self, parts: Mapping[str, bytes]) -> None:
        if b"encryption-data" in parts.get("META-INF/manifest.xml", b""):
            raise NoText(LOCKED)
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler, parser.EndElementHandler = self._begin, self._end
        parser.CharacterDataHandler = self._characters
        parser.Parse(parts["content.xml"], True)  # noqa: FBT003 -- expat takes no names
        self._section("tracked changes", self._deletions)
        margins = _Margins()
        with suppress(expat.ExpatError, NoText):  # styles are not needed otherwise
            margins.read(parts.get("styles.xml", b""))
        self._section("headers and footers", margins.lines)
        self._output.flush()
        if not self._output.is_empty:
            self._output.text(f"\n{named_unread(self._unread)}")

    def _section(self, name: str, lines: Iterable[str]) -> None:
        if found := [*dict.fromkeys(lines)]:
            self._output.part(name)
            self._output.text("".join(f"{line}\n" for line in found))

    def _begin(self, name: str, attributes: Mapping[str, str]) -> None:
        values = {_short_name(key): value for key, value in attributes.items()}
        tag = _short_name(name)
        if self._beside is not None:
            self._beside.begin(tag)
            return
        if tag in _BESIDE:
            self._beside = _BesideText(tag)
            return
        # Counted rather than switched, because hidden elements hold others of the same name.
        if self._hidden or tag in _HIDDEN:
            self._hidden += 1
            return
        match tag:
            case "office:spreadsheet":
                self._in_sheets = True
            case "drawing:page":
                self._pages += 1
                self._output.part(f"slide {self._pages}")
            case "table:table":
                self._tables += 1
                # Tables can stand in cells: only the outermost is a sheet, and only its rows and cells become lines.
                if self._in_sheets and self._tables == 1:
                    self._output.part(f"sheet {values.get('table:name', '')}")
            case "table:table-row" if self._tables == 1:
                self._row, self._blank = [], 0
                # Equal rows and cells are stored once with a count, which can be a million at the end of a sheet.
                self._repeated["row"] = _number(values.get("table:number-rows-repeated"))
            case "table:table-cell" | "table:covered-table-cell" if self._tables == 1:
                self._line, self._value = [], _cell_value(values)
                self._repeated["cell"] = _number(values.get("table:number-columns-repeated"))
            case "text:p" | "text:h":
                self._paragraphs += 1
                if tag == "text:h":
                    self._line.append("#" * min(6, _number(values.get("text:outline-level"))) + " ")
            case "text:list-item":
                self._line.append("- ")
            case _ if tag in _UNREAD:
                self._unread[_UNREAD[tag]] += 1
            case _:
                self._begin_in_line(tag, values)

    def _begin_in_line(self, tag: str, values: Mapping[str, str]) -> None:
        match tag:
            case "text:s":
                # A file can claim any number of blanks.
                self._line.append(" " * min(_number(values.get("text:c")), MAX_REPEATED))
            case "text:tab" | "text:line-break":
                self._line.append("\t" if tag == "text:tab" else "\n")
            case "text:a":
                self._links.append((len(self._line), " ".join(values.get("xlink:href", "").split())))
            case _:
                pass

    def _end_link(self) -> None:
        """Add the address of a link that its words do not show."""
        begin, address = self._links.pop()
        if address.startswith(_OUTSIDE) and address not in "".join(self._line[begin:]):
            self._line.append(f" ({address})")

    def _end(self, name: str) -> None:
        if self._beside is not None:
            self._end_beside(self._beside, _short_name(name))
            return
        if self._hidden:
            self._hidden -= 1
            return
        match _short_name(name):
            case "text:p" | "text:h":
                self._paragraphs -= 1
                self._line.append("\n")
                if not self._tables:
                    self._output.text("".join(self._line))
                    self._line = []
            case "table:table-cell" | "table:covered-table-cell" if self._tables == 1:
                self._cell("".join(self._line).strip() or self._value)
                self._line = []
            case "table:table-row" if self._tables == 1:
                text, more = row_text(self._row), self._repeated["row"] - 1
                self._output.text(text + (f"(and {more:,} more rows like it)\n" if text and more else ""))
            case "table:table":
                self._tables -= 1
            case "text:a" if self._links:
                self._end_link()
            case _:
                pass

    def _cell(self, text: str) -> None:
        times = self._repeated["cell"]
        if not text:
            self._blank += times
            return
        self._row += [""] * min(self._blank, MAX_COLUMNS - len(self._row))
        self._row += [text] * min(times, MAX_REPEATED, MAX_COLUMNS - len(self._row))
        self._blank = 0

    def _end_beside(self, beside: "_BesideText", tag: str) -> None:
        if tag != beside.tag:
            beside.end(tag)
            return
        self._beside = None
        if (note := beside.note(_BESIDE[tag])) and tag == "text:deletion":
            self._deletions.append(note)
        elif note:
            self._line.append(f" {note}")

    def _characters(self, text: str) -> None:
        if self._beside is not None:
            self._beside.characters(text)
        elif self._paragraphs and not self._hidden:
            self._line.append(text)


# Elements without text of the document.
_HIDDEN = frozenset({"text:tracked-changes", "office:scripts", "office:automatic-styles", "text:ruby-text"})
_UNREAD = {
    "drawing:image": "picture",
    "drawing:object": "embedded object",
    "drawing:object-ole": "embedded object",
}
# What is beside the text, with what it is called.
_BESIDE = {"office:annotation": "comment", "text:deletion": "deleted", "text:note": "note"}


class _BesideText:
    """A comment or a deletion, with who made it."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._creator = list[str]()
        self._words = list[str]()
        self._into: list[str] | None = None

    def begin(self, tag: str) -> None:
        if tag.endswith(":creator"):
            self._into = self._creator
        elif tag in {"text:p", "text:h"}:
            self._into = self._words
            self._words.append(" ")

    def end(self, tag: str) -> None:
        if tag in {"text:p", "text:h"} or tag.endswith(":creator"):
            self._into = None

    def characters(self, text: str) -> None:
        if self._into is not None:
            self._into.append(text)

    def note(self, what: str) -> str:
        words, creator = (" ".join("".join(pieces).split()) for pieces in (self._words, self._creator))
        return f"[{what}{f' by {creator}' if creator else ''}: {words}]" if words else ""


_OUTSIDE = ("https://", "http://", "mailto:")
_MARGINS = frozenset(f"{what}{which}" for what in ("header", "footer") for which in ("", "-left", "-first"))


class _Margins:
    """The headers and footers in the styles of a text."""

    def __init__(self) -> None:
        self.lines = list[str]()
        self._depth = 0
        self._words = list[str]()

    def read(self, styles: bytes) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = refuse_doctype
        parser.StartElementHandler, parser.EndElementHandler = self._begin, self._end
        parser.CharacterDataHandler = self._characters
        parser.Parse(styles, True)  # noqa: FBT003 -- expat takes no names

    def _begin(self, name: str, _: object) -> None:
        self._depth += _local_name(name) in _MARGINS

    def _end(self, name: str) -> None:
        self._depth -= _local_name(name) in _MARGINS
        if _local_name(name) == "p" and (words := " ".join("".join(self._words).split())):
            self.lines.append(words)
            self._words = []

    def _characters(self, text: str) -> None:
        if self._depth:
            self._words.append(text)


def _cell_value(attributes: Mapping[str, str]) -> str:
    """Return the value of a cell, which some programs write without the text that shows it."""
    value = next((attributes[name] for name in _VALUES if name in attributes), "")
    if attributes.get("office:value-type") == "percentage":
        with suppress(ValueError):
            return f"{float(value) * 100:.15g}%"
    return value


_VALUES = ("office:string-value", "office:date-value", "office:time-value", "office:boolean-value", "office:value")


def _local_name(name: str) -> str:
    return name.rpartition(" ")[2]


def _short_name(name: str) -> str:
    """Shorten a name with its namespace: "text:p" for "urn:oasis:names:tc:opendocument:xmlns:text:1.0 p"."""
    space, _, local = name.rpartition(" ")
    if space == "http://www.w3.org/1999/xlink":
        return f"xlink:{local}"
    return f"{space.rpartition(':')[0].rpartition(':')[2]}:{local}"


def _number(text: str | None) -> int:
    return max(1, int(text)) if text and text.isdecimal() and len(text) < 10 else 1


# Web pages


def read_html(data: bytes, output: DocumentOutput) -> None:
    """Read all text of an HTML file. `data` is UTF-8."""
    if b"rowspan" in data.lower():
        data = with_all_cells(data, library("bs4"))
    output.text(_without_pictures(_convert("HtmlConverter", io.BytesIO(data), "html", "utf-8")))


def read_page(data: bytes, output: DocumentOutput, address: str) -> None:
    """Read the main text of a web page, without navigation and other surroundings."""
    trafilatura = library("trafilatura")
    metadata = trafilatura.extract_metadata(data)
    if metadata is not None and metadata.title:
        output.line("title", str(metadata.title)[:MAX_NAME_CHARS])
    options = {"output_format": "markdown", "include_links": True, "include_comments": False}
    text = trafilatura.extract(data, url=address or None, **options) or trafilatura.html2txt(data)
    if not text or not text.strip():
        raise NoText(NO_TEXT)
    output.text(text)


def main(memory_bytes: int, cpu_s: int, max_pages: int, max_chars: int, niceness: int) -> None:
    kind, first, address = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read()
    limit(memory_bytes, cpu_s, niceness)
    shut_in()
    leave_out_selectors()
    output = DocumentOutput(max_chars)
    try:
        match kind:
            case "pdf":
                read_pdf(data, output, first, max_pages)
            case "office":
                read_archive(data, output)
            case "html":
                read_html(data, output)
            case _:
                read_page(data, output, address)
        output.flush()
        output.line(*(("fault", NO_TEXT) if output.is_empty and kind != "pdf" else ("end", "")))
    except Full:
        pass
    except NoText as fault:
        output.flush()
        output.line("fault", fault.args[0])
    except Exception:  # noqa: BLE001 -- whatever a library raises for a damaged or hostile file
        output.flush()
        output.line("fault", BROKEN)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
