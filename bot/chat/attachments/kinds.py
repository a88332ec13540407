"""The kinds of files: by name and announced type before a file is fetched, by its first bytes after. Pure."""

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Final

from agent.incoming import ATTACHED, Attachment, Incoming
from agent.memory.attribution import FILES_NOTE
from agent.messages import estimate_tokens


class FileKind(StrEnum):
    TEXT = "text"
    PICTURE = "picture"
    PDF = "PDF"
    SOUND = "sound"
    OFFICE = "office"
    """Documents, tables, slides and books: zip archives of XML, or older forms."""
    HTML = "HTML"
    OTHER = "other"


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The picture types that every vendor's models accept.
PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

SOUNDS: Final = frozenset({"aac", "aif", "aiff", "flac", "m4a", "mp3", "mpga", "oga", "ogg", "opus", "wav", "weba"})

# Extensions of code, data and markup. Some of them, such as ts, are announced as another type.
TEXTS: Final = _set_of(
    """
    adoc asc asm astro awk bash bat bib c cc cfg clj cls cmake cmd cnf conf config cpp cs csproj css csv cts cu cue cxx
    d dart diff dockerfile dot edn el elm env erb erl ex exs f f90 fish fs fsx gd gitignore glsl go gql gradle graphql
    groovy h hbs hcl hh hpp hrl hs  hxx ics inc ini ino ipynb java jl js json json5 jsonc jsonl jsx kt kts less
    lisp log lua m make makefile markdown mat md mdx mjs mk ml mli mm mts nasm ndjson nim nix org pas patch php pl plist
    pm po pot prisma properties proto ps1 psm1 pug py pyi pyx qml r rb reg rkt robot rs rst s sass sbt scala scm scss sh
    sln sol sql srt sv svelte svg swift tcl tex text tf tfvars thrift toml ts tsv tsx txt v vb vbs vcf vhd vhdl vim vtt
    vue wat xml xsd xsl xslt yaml yml zig zsh
    """
)

_TEXT_TYPES: Final = _set_of(
    """
    csv ecmascript graphql javascript json jsonl ld+json sql toml typescript x-csh x-httpd-php x-javascript x-json
    x-latex x-ndjson x-perl x-php x-python x-ruby x-sh x-shellscript x-sql x-subrip x-tcl x-tex x-toml x-yaml xml yaml
    """
)
HTML: Final = frozenset({"htm", "html", "xhtml"})
OFFICES: Final = _set_of(
    """
    doc docm docx dot dotm dotx epub key numbers odp ods odt otp ots ott pages pot potm potx pps ppsm ppsx ppt pptm pptx
    rtf xls xlsb xlsm xlsx xlt xltm xltx
    """
)
OTHERS: Final = _set_of(
    """
    7z apk avi bin bmp br bz2 class db deb dll dmg dylib ear eot exe gz heic heif ico img iso jar mkv mov mp4 mpeg mpg
    msi o otf parquet pkl psd pyc rar rpm so sqlite sqlite3 tar tgz tif tiff ttf wasm war webm woff woff2 xz zip zst
    """
)
TELLS_NOTHING: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-unknown"})

_MAGIC: Final = (
    (b"%PDF-", FileKind.PDF),
    (b"OggS", FileKind.SOUND),
    (b"ID3", FileKind.SOUND),
    (b"fLaC", FileKind.SOUND),
    (b"\xff\xfb", FileKind.SOUND),
    (b"\xff\xf3", FileKind.SOUND),
    (b"\xff\xf1", FileKind.SOUND),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileKind.OFFICE),
    (b"{\\rtf", FileKind.OFFICE),
    (b"PK\x03\x04", FileKind.OTHER),  # unless its first entry is one of _OFFICE_FIRST
    (b"PK\x05\x06", FileKind.OTHER),
    (b"\x1f\x8b", FileKind.OTHER),
    (b"\x7fELF", FileKind.OTHER),
    (b"SQLite format 3\0", FileKind.OTHER),
)
# The first entry of office files, as common programs write them. Its name follows a zip header of 30 bytes.
_OFFICE_FIRST: Final = (b"[Content_Types].xml", b"_rels/.rels", b"mimetype", b"docProps/", b"word/", b"xl/", b"ppt/")
# The PDF marker may follow within these bytes; only files announced as PDF are searched for it.
_PDF_WITHIN: Final = 1_024


def plain_type(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def announced(name: str, media_type: str) -> FileKind | None:
    """Return a file's kind by its name and media type; None if these are unknown."""
    kind, ending = plain_type(media_type), name.lower().rpartition(".")[2]
    # The ending first: browsers and Slack name source code and logs as all kinds of things ("video/mp2t" for
    # TypeScript).
    if ending in TEXTS:
        return FileKind.TEXT
    family, _, subtype = kind.partition("/")
    if kind in PICTURES:
        return FileKind.PICTURE
    if kind in {"application/pdf", "application/x-pdf"}:
        return FileKind.PDF
    # Voice messages arrive as application/ogg, too.
    if family == "audio" or subtype == "ogg":
        return FileKind.SOUND
    if ending in HTML or subtype in {"html", "xhtml+xml"}:
        return FileKind.HTML
    if ending in OFFICES or is_office(kind) or subtype.startswith("ms"):
        return FileKind.OFFICE
    if family == "text" or subtype in _TEXT_TYPES or subtype.endswith(("+json", "+xml")):
        return FileKind.TEXT
    # A type that says something, and nothing that is read here, is believed; else the ending decides.
    if kind not in TELLS_NOTHING:
        return FileKind.OTHER
    return _by_ending(ending)


def is_office(plain: str) -> bool:
    """Return whether a media type belongs to office files that can be read."""
    return plain == "application/epub+zip" or "officedocument" in plain or "opendocument" in plain


def found(start: bytes) -> FileKind | None:
    """Return a file's kind by its first bytes; None if they are not decisive, as with text."""
    if picture_type(start) is not None:
        return FileKind.PICTURE
    if start[:4] == b"RIFF":
        return FileKind.SOUND if start[8:12] == b"WAVE" else FileKind.OTHER
    if start[4:8] == b"ftyp":
        return FileKind.SOUND if start[8:11] in {b"M4A", b"M4B"} else None
    if start.startswith(b"PK\x03\x04") and start[30:].startswith(_OFFICE_FIRST):
        return FileKind.OFFICE
    return next((kind for magic, kind in _MAGIC if start.startswith(magic)), None)


def is_pdf(start: bytes) -> bool:
    """Return whether a file that is announced as a PDF may be one."""
    return b"%PDF-" in start[:_PDF_WITHIN]


def picture_type(start: bytes) -> str | None:
    """Return the type in PICTURES that these bytes start; None for any other."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else None


def _by_ending(ending: str) -> FileKind | None:
    pictures = {media_type.partition("/")[2] for media_type in PICTURES} | {"jpg"}
    kinds = ((SOUNDS, FileKind.SOUND), (OTHERS, FileKind.OTHER), (pictures, FileKind.PICTURE), ({"pdf"}, FileKind.PDF))
    return next((kind for endings, kind in kinds if ending in endings), None)


# Sharing the budget of tokens among the texts of a message. Pure.

# For all texts of a message together: some forty pages, a third of the context of a 32k model.
TEXT_TOKENS: Final = 12_000


def token_shares(costs: Sequence[int], budget: int) -> list[int]:
    """Divide a budget, in the order of `costs`: small texts get all they need, the others equal shares of the rest."""
    shares = [0] * len(costs)
    left = budget
    smallest_first = sorted(range(len(costs)), key=lambda index: costs[index])
    for done, index in enumerate(smallest_first):
        shares[index] = min(costs[index], left // (len(costs) - done))
        left -= shares[index]
    return shares


def cut_text(text: str, tokens: int) -> str:
    """Return the beginning of a text, up to about `tokens` tokens, with a note if it was cut."""
    start = text
    while (cost := estimate_tokens(start)) > tokens:
        start = start[: min(len(start) - 1, len(start) * tokens // cost)]
    if start == text:
        return text
    return f"{start}\n(cut here: these are the first {len(start):,} of {len(text):,} characters)"


# The notes that replace unread files, and the names of files as the model reads them. Pure.

MAX_NAMES: Final = 5  # Names stored in the text of a message, for as long as the message is kept
MAX_NAME_CHARS: Final = 80  # Of a file's name, which is untrusted text: enough to tell it from others
_END_CHARS: Final = 12  # Kept of a long name's end: the extension, and a number before it

NO_DOCUMENT: Final = "only documents can be learned: text files, PDFs and office files"
TOO_MANY: Final = "only the first files of a message are read"
MORE_FILES: Final = "further attached files"
AND_MORE: Final = "(not read: {more} more files; only the first files of a message are listed)"
UNREACHABLE: Final = "it could not be fetched"
LATE: Final = "it could not be read in time"
WRONG_KIND: Final = "files of this kind cannot be read here"
OFFICE: Final = "office files in this format cannot be read here; save the file as docx, xlsx, pptx or PDF"
OLD_OFFICE: Final = "older office formats cannot be read; save the file as docx, xlsx or pptx"
NOT_INSTALLED: Final = (
    "files of this kind cannot be read here because a library is not installed: the operator can install it (`cogency "
    "doctor` shows how), or you can export the file as PDF or text"
)
NO_TEXT: Final = "it claims to be text, but it is not"
NOT_A_PICTURE: Final = "it is not the kind of picture that it claims to be"
NOT_A_PDF: Final = "it claims to be a PDF, but it is not"
LOCKED: Final = "it is locked with a password"
SCANNED: Final = "its pages contain no text, because the PDF is a scan or contains only pictures"
ONLY_PICTURES: Final = "it contains no text: it is empty or contains only pictures, such as a scan"
BROKEN: Final = "it could not be read: it is damaged, too large when unpacked, or too complex"
GOES_ON: Final = "(the file continues, but only this part could be read)"
UNHEARD: Final = "audio cannot be transcribed here"
NOT_UNDERSTOOD: Final = "it could not be transcribed right now"
SILENT: Final = "it contains no audible speech"


def too_large(what: str, limit: int) -> str:
    """Return the reason for a file that exceeds `limit`, in bytes."""
    return f"it is too large: the limit for {what} is {limit // 1_000_000} MB"


def not_read(media_type: str, size: int, reason: str) -> str:
    """Return the note in place of a file's content; `size` in bytes, 0 if unknown."""
    size_text = f"{size:,} bytes" if size > 0 else "size unknown"
    return f"(not read: {reason}; {shown_note(plain_type(media_type)) or 'unknown kind'}, {size_text})"


def plain_line(name: str) -> str:
    """Return a name as one line, without invisible characters and those that reverse the text's direction."""
    return " ".join("".join(char if char.isprintable() else " " for char in name).split())


def shown_note(name: str) -> str:
    """Return a name as one bounded line, as `plain_line`."""
    line = plain_line(name)
    if len(line) <= MAX_NAME_CHARS:
        return line
    return f"{line[: MAX_NAME_CHARS - _END_CHARS - 1]}…{line[-_END_CHARS:]}"


def with_names(question: Incoming) -> Incoming:
    """Return a message whose text names its own files, so that later messages can refer to them."""
    return replace(question, text=naming(question.text, question.files)) if question.files else question


def naming(text: str, files: Sequence[Attachment]) -> str:
    """Return a message's text with the names of its own files; unchanged if it has them, as a regenerated question."""
    names = [shown_note(file.name) for file in files if file.source == ATTACHED and not file.spoken]
    if not names:
        return text
    omitted = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    note = f"{FILES_NOTE}{', '.join(names[:MAX_NAMES])}{omitted})"
    return text if text.endswith(note) else f"{text}{note}"
