"""What kind of file this is: by its name and announced media type before it is fetched, by its first bytes after. Pure.

Above: `bot.attachments.reading`. Below: nothing.
"""

from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    TEXT = "text"
    PICTURE = "picture"
    PDF = "PDF"
    SOUND = "sound"
    OFFICE = "office"
    """Documents, tables and slides of an office suite: zip archives of XML, or older forms."""
    OTHER = "other"


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


PICTURES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every vendor's models can look at."""

SOUNDS: Final = frozenset({"aac", "aif", "aiff", "flac", "m4a", "mp3", "mpga", "oga", "ogg", "opus", "wav", "weba"})

TEXTS: Final = _set_of(
    """
    adoc asc asm astro awk bash bat bib c cc cfg clj cls cmake cmd cnf conf config cpp cs csproj css csv cts cu cue cxx
    d dart diff dockerfile dot edn el elm env erb erl ex exs f f90 fish fs fsx gd gitignore glsl go gql gradle graphql
    groovy h hbs hcl hh hpp hrl hs htm html hxx ics inc ini ino ipynb java jl js json json5 jsonc jsonl jsx kt kts less
    lisp log lua m make makefile markdown mat md mdx mjs mk ml mli mm mts nasm ndjson nim nix org pas patch php pl plist
    pm po pot prisma properties proto ps1 psm1 pug py pyi pyx qml r rb reg rkt robot rs rst s sass sbt scala scm scss sh
    sln sol sql srt sv svelte svg swift tcl tex text tf tfvars thrift toml ts tsv tsx txt v vb vbs vcf vhd vhdl vim vtt
    vue wat xhtml xml xsd xsl xslt yaml yml zig zsh
    """
)
"""Names of code, data and markup end so. Some of them (ts, for one) are announced as something else."""

_TEXT_TYPES: Final = _set_of(
    """
    csv ecmascript graphql javascript json jsonl ld+json sql toml typescript x-csh x-httpd-php x-javascript x-json
    x-latex x-ndjson x-perl x-php x-python x-ruby x-sh x-shellscript x-sql x-subrip x-tcl x-tex x-toml x-yaml xml yaml
    """
)
_OFFICE: Final = _set_of("doc docm docx key numbers odp ods odt pages pot ppt pptm pptx rtf xls xlsb xlsm xlsx")
_OTHER: Final = _set_of(
    """
    7z apk avi bin bmp br bz2 class db deb dll dmg dylib ear eot exe gz heic heif ico img iso jar mkv mov mp4 mpeg mpg
    msi o otf parquet pkl psd pyc rar rpm so sqlite sqlite3 tar tgz tif tiff ttf wasm war webm woff woff2 xz zip zst
    """
)
_TELLS_NOTHING: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/x-unknown"})

_MAGIC: Final = (
    (b"%PDF-", Kind.PDF),
    (b"OggS", Kind.SOUND),
    (b"ID3", Kind.SOUND),
    (b"fLaC", Kind.SOUND),
    (b"\xff\xfb", Kind.SOUND),
    (b"\xff\xf3", Kind.SOUND),
    (b"\xff\xf1", Kind.SOUND),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Kind.OFFICE),
    (b"{\\rtf", Kind.OFFICE),
    (b"PK\x03\x04", Kind.OTHER),
    (b"PK\x05\x06", Kind.OTHER),
    (b"\x1f\x8b", Kind.OTHER),
    (b"\x7fELF", Kind.OTHER),
    (b"SQLite format 3\0", Kind.OTHER),
)
_PDF_WITHIN: Final = 1_024
"""How far from its beginning a PDF may say that it is one; only who announces a PDF is searched for that long."""


def plain_type(media_type: str) -> str:
    """A media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def announced(name: str, media_type: str) -> Kind | None:
    """What a file says that it is; None if it says nothing that is known."""
    kind, ending = plain_type(media_type), name.lower().rpartition(".")[2]
    if ending in TEXTS:
        return Kind.TEXT
    family, _, what = kind.partition("/")
    if kind in PICTURES:
        return Kind.PICTURE
    if kind in {"application/pdf", "application/x-pdf"}:
        return Kind.PDF
    if family == "audio" or what == "ogg":
        return Kind.SOUND
    if ending in _OFFICE or "officedocument" in what or "opendocument" in what or what.startswith("ms"):
        return Kind.OFFICE
    if family == "text" or what in _TEXT_TYPES or what.endswith(("+json", "+xml")):
        return Kind.TEXT
    if kind not in _TELLS_NOTHING:
        return Kind.OTHER
    return _by_ending(ending)


def found(start: bytes) -> Kind | None:
    """What a file is by its first bytes, whatever it says; None if they do not tell, as with text."""
    if picture_type(start) is not None:
        return Kind.PICTURE
    if start[:4] == b"RIFF":
        return Kind.SOUND if start[8:12] == b"WAVE" else Kind.OTHER
    if start[4:8] == b"ftyp":
        return Kind.SOUND if start[8:11] in {b"M4A", b"M4B"} else None
    return next((kind for magic, kind in _MAGIC if start.startswith(magic)), None)


def is_pdf(start: bytes) -> bool:
    """Whether a file that is announced as a PDF may be one."""
    return b"%PDF-" in start[:_PDF_WITHIN]


def picture_type(start: bytes) -> str | None:
    """Which of PICTURES these bytes begin; None if none."""
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if start.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if start[:4] == b"RIFF" and start[8:12] == b"WEBP" else None


def _by_ending(ending: str) -> Kind | None:
    pictures = {media_type.partition("/")[2] for media_type in PICTURES} | {"jpg"}
    kinds = ((SOUNDS, Kind.SOUND), (_OTHER, Kind.OTHER), (pictures, Kind.PICTURE), ({"pdf"}, Kind.PDF))
    return next((kind for endings, kind in kinds if ending in endings), None)
