"""Which files that were made in a turn go to people: those of code, of the model and of tool servers. Pure.

Rules
  A file goes to people if it is a text, a picture, a PDF or an office document without macros, by its first bytes. What
  programs run or unpack when they open it stays: pickles, archives, programs and shortcuts.
  A picture or a document that unpacks to far more than its bytes stays, too; so does what would contact a URL or run
  something when it is opened (`bot.chat.attachments.outside_references`).
  A text whose ending is not known gets the ending of a text, so that no program takes it for something else.
  In a table as CSV, a cell that a spreadsheet would run as a formula is marked as text.
"""

import csv
import io
import re
import struct
import zipfile
from dataclasses import replace
from typing import Final

from agent.messages import SharedFile
from bot.chat.attachments.kinds import is_pdf, picture_type
from bot.chat.attachments.outside_references import (
    in_markdown,
    in_office,
    in_page,
    in_pdf,
    in_picture,
    in_xml,
    with_policy,
)
from bot.chat.attachments.picture_headers import picture_size, picture_title
from bot.chat.reply.attached_files import mark_formula, mark_symbolic_link, plain_name
from bot.chat.reply.surface import OutFile

MAX_PIXELS: Final = 40_000_000  # Of a picture for people: more takes hundreds of megabytes to show
MAX_UNPACKED: Final = 100_000_000  # Of an office document
MAX_DIRECTORY: Final = 1_000_000  # Bytes of an office document's list of parts
MAX_BYTES: Final = 8_000_000  # Of a file, and of all: as much as a reply's files may have (`agent.toolbox.results`)

_DOCUMENTS: Final = {
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
}
_TEXT_TYPES: Final = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "md": "text/markdown",
    "svg": "image/svg+xml",
    "tsv": "text/tab-separated-values",
}
# Further endings that programs show as text, or read as data.
_PLAIN: Final = """
txt log jsonl ndjson geojson gpx markdown rst yaml yml toml ini cfg conf xml htm sql py r jl c h cpp java go rs ts css
tex bib
"""
_PLAIN_ENDINGS: Final = frozenset(_PLAIN.split())
# Endings of texts that some program runs, or unpacks into objects, when a person opens them.
_PROGRAMS: Final = """
appref-ms bat chm cmd com desktop dill hta iqy jar jnlp joblib js jse lnk msc pickle pif pkl ps1 psc1 reg scf scr sct
slk url vb vbe vbs webloc ws wsc wsf wsh xll
"""
_RUN_WHEN_OPENED: Final = frozenset(_PROGRAMS.split())
# Of these, languages in which people ask for code. What else is there is a document, a shortcut or an archive.
_ASKED_FOR: Final = frozenset({"bat", "cmd", "js", "ps1", "reg", "vb", "vbs"})
_TABLES: Final = frozenset({"csv", "tsv"})

# What programs show with its pictures, or run.
_MARKUP: Final = frozenset(["html", "htm", "xhtml", "svg", "xml", "gpx", "md", "markdown"])
# Kinds that a tool server may return beside those of code, by their first bytes: programs play or list them.
_RECORDINGS: Final = re.compile(
    rb"ID3|\xff[\xfb\xf3\xf2]|fLaC|OggS|RIFF....(?:WAVE|WEBP|AVI )|....ftyp|\x1a\x45\xdf\xa3", re.DOTALL
)
_ARCHIVES: Final = re.compile(rb"PK\x03\x04|PK\x05\x06|\x1f\x8b|7z\xbc\xaf|BZh|\xfd7zXZ")
_RECORDING_ENDINGS: Final = frozenset(
    ["mp3", "wav", "ogg", "oga", "opus", "flac", "m4a", "mp4", "mov", "avi", "webm", "webp", "mkv"]
)
_ARCHIVE_ENDINGS: Final = frozenset(["zip", "gz", "tgz", "7z", "bz2", "xz"])
_NOT_TEXT: Final = re.compile(r"[\x00-\x08\x0b\x0e-\x1f]")  # Control characters that no text has
BYTE_ORDER_MARK: Final = "\ufeff"
SEEN_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif"})

EMPTY: Final = "it is empty"
TOO_LARGE: Final = f"it is larger than {MAX_BYTES // 1_000_000} MB"
OUTSIDE: Final = "it would contact a URL or run something when it is opened; save it again without {what}"
RUNS: Final = "files of this kind are not delivered, because they run or unpack when they are opened"
UNKNOWN_KIND: Final = "only text, pictures (PNG, JPEG, GIF), PDF and office documents (xlsx, docx, pptx) are delivered"
TOO_MANY_PIXELS: Final = f"the picture has more than {MAX_PIXELS // 1_000_000} million pixels"
BROKEN: Final = "it is damaged, or its contents do not match its extension"
BOMB: Final = f"it unpacks to more than {MAX_UNPACKED // 1_000_000} MB"
MACROS: Final = "it holds macros"


def text_of_model(name: str, data: bytes) -> SharedFile | str:
    """Return what a model wrote as a file for people, under the name that it has there; or why it stays."""
    return checked_file(plain_name(name), data)


def file_of_server(name: str, data: bytes) -> SharedFile | str:
    """Return what a tool server returned as a file for people, or why it stays. Beside the kinds of files that code may
    make these are recordings and archives; whatever else is no text gets the ending of bytes that no program opens.
    """
    checked = checked_file(name, data)
    ending = name.lower().rpartition(".")[2]
    if checked != UNKNOWN_KIND:
        return checked
    for kind, endings in ((_RECORDINGS, _RECORDING_ENDINGS), (_ARCHIVES, _ARCHIVE_ENDINGS)):
        if kind.match(data) and ending in endings:
            return SharedFile(name, "application/octet-stream", data)
    return SharedFile(name if ending == "bin" else f"{name}.bin", "application/octet-stream", data)


def readable_code(file: OutFile) -> OutFile:
    """Return the file of a code block, or of a whole answer, as it was written. One that would contact a URL or run
    something when it is opened gets a text file extension, unless it is a program in a language that people ask for.
    """
    ending = file.name.lower().rpartition(".")[2]
    checked = checked_file(file.name, file.content) if ending in _MARKUP | _TABLES else None
    has_formulas = isinstance(checked, SharedFile) and ending in _TABLES and checked.data != file.content
    acts = isinstance(checked, str) or has_formulas or ending in _RUN_WHEN_OPENED - _ASKED_FOR
    return replace(file, name=f"{file.name}.txt") if acts else file


def checked_file(name: str, data: bytes) -> SharedFile | str:
    """Return the file for people, or why it stays."""
    ending = name.lower().rpartition(".")[2] if "." in name else ""
    if not data:
        return EMPTY
    if len(data) > MAX_BYTES:
        return TOO_LARGE
    if ending in _RUN_WHEN_OPENED:
        return RUNS
    if (media_type := picture_type(data)) is not None:
        return _picture(name, media_type, data)
    if is_pdf(data):
        if what := in_pdf(data):
            return OUTSIDE.format(what=what)
        return SharedFile(_named(name, ending, "pdf"), "application/pdf", data)
    if ending in _DOCUMENTS:
        problem = _document_problem(data)
        return SharedFile(name, _DOCUMENTS[ending], data) if problem is None else problem
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return UNKNOWN_KIND
    if _NOT_TEXT.search(text) is not None:
        return UNKNOWN_KIND
    return _text(name, ending, text)


def _text(name: str, ending: str, text: str) -> SharedFile | str:
    what = ""
    match ending:
        case "csv" | "tsv":
            text = without_formulas(text, "\t" if ending == "tsv" else ",")
        case "html" | "htm":
            what, text = in_page(text), with_policy(text)
        case "svg":
            what = in_picture(text)
        case "xml" | "gpx":
            what = in_xml(text)
        case "md" | "markdown":
            what = in_markdown(text)
        case _ if ending and ending not in _PLAIN_ENDINGS and ending not in _TEXT_TYPES:
            name = f"{name}.txt"
        case _:
            pass
    if what:
        return OUTSIDE.format(what=what)
    return SharedFile(name, _TEXT_TYPES.get(ending, "text/plain"), text.encode())


def _picture(name: str, media_type: str, data: bytes) -> SharedFile | str:
    if media_type not in SEEN_TYPES:
        return UNKNOWN_KIND
    size = picture_size(data)
    if size is None or 0 in size:
        return BROKEN
    if size[0] * size[1] > MAX_PIXELS:
        return TOO_MANY_PIXELS
    kind = media_type.partition("/")[2]
    ending = name.lower().rpartition(".")[2]
    return SharedFile(_named(name, "jpeg" if ending == "jpg" else ending, kind), media_type, data, picture_title(data))


def _named(name: str, ending: str, kind: str) -> str:
    """Return a name that ends as the kind of its content says."""
    return name if ending == kind else f"{name}.{kind}"


def _document_problem(data: bytes) -> str | None:
    """Return why an office document is not handed over. Parts are unpacked only if all together are small enough."""
    end = data.rfind(b"PK\x05\x06", max(0, len(data) - 65_557))
    if not data.startswith(b"PK\x03\x04") or end < 0 or len(data) < end + 22:
        return BROKEN
    if struct.unpack("<I", data[end + 12 : end + 16])[0] > MAX_DIRECTORY:
        return BOMB
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            parts = package.infolist()
            names = {part.filename.lower() for part in parts}
            if "[content_types].xml" not in names:
                return BROKEN
            if any(name.endswith(("vbaproject.bin", ".exe", ".dll")) for name in names):
                return MACROS
            if sum(part.file_size for part in parts) > MAX_UNPACKED:
                return BOMB
            what = in_office(package)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error):
        return BROKEN
    if what is None:
        return BROKEN
    return OUTSIDE.format(what=what) if what else None


def without_formulas(text: str, delimiter: str) -> str:
    """Return a table whose cells no spreadsheet runs as formulas; the same text if it holds none."""
    cells = text.lstrip(BYTE_ORDER_MARK)
    if cells != text:  # spreadsheets read the first cell behind the mark
        return text[: -len(cells) or None] + without_formulas(cells, delimiter)
    text = mark_symbolic_link(text)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:  # a cell longer than the parser takes: mark what begins a line
        return "\n".join(map(mark_formula, text.split("\n")))
    marked = [[mark_formula(cell) for cell in row] for row in rows]
    if marked == rows:
        return text
    output = io.StringIO()
    csv.writer(output, delimiter=delimiter, lineterminator="\n").writerows(marked)
    return output.getvalue()
