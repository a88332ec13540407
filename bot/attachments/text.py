"""From the bytes of a text file to its characters, or the insight that it is none. Pure.

Above: `bot.attachments.reading`. Below: nothing.

The encoding is what a byte order mark says; else UTF-8, which nothing else looks like by chance; else what the platform
announced; else UTF-16, which shows by its zeros; else Windows-1252, in which most of what is left was written.
"""

import codecs
import re
from typing import Final

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY: Final = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffe\uffff]")
"""What no text holds. Terminals' escapes and form feeds do occur in logs."""
MOST_BINARY: Final = 0.001
"""A stray control character does not make a log a program; in compressed data every tenth character is one."""
_LOOK: Final = 4_096
_FEWEST: Final = 4
"""Characters: of fewer nobody can say what their zeros mean."""
_ZEROS: Final = 0.35
"""Of the bytes at even or odd places: English in UTF-16 has nearly all of them, Greek or Russian its blanks and ends of
lines, so that those are taken for UTF-16 only with a mark."""
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)


def decode(data: bytes, charset: str = "", *, whole: bool = True) -> str | None:
    """The text; None if these bytes are none. `charset`: what is said of it; not `whole`: its end was cut off."""
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    if marked:
        return _read(data, marked, whole=whole)
    guesses = ("utf-8", charset, _utf_16(data), "cp1252", "latin-1")
    return next((text for guess in guesses if guess and (text := _read(data, guess, whole=whole)) is not None), None)


def charset_of(media_type: str) -> str:
    """The charset among a media type's parameters; "" if there is none that is known."""
    said = _CHARSET.search(media_type)
    try:
        known = codecs.lookup(said[1]) if said else None
    except LookupError:
        return ""
    return known.name if known is not None and known.name not in _NO_CHARSETS else ""


_NO_CHARSETS: Final = frozenset({"base64", "bz2", "hex", "idna", "punycode", "quopri", "rot-13", "uu", "zlib"}) | {
    "raw-unicode-escape",
    "unicode-escape",
    "undefined",
    "utf-7",
}
"""Codecs that are no way to write a text down."""


def _utf_16(data: bytes) -> str:
    start = data[:_LOOK]
    half = len(start) // 2
    if half < _FEWEST:
        return ""
    if start[1::2].count(0) / half > _ZEROS:
        return "utf-16-le"
    return "utf-16-be" if start[0::2].count(0) / half > _ZEROS else ""


def _read(data: bytes, encoding: str, *, whole: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except (UnicodeError, LookupError):
        return None
    return None if len(_BINARY.findall(text)) > MOST_BINARY * len(text) or "\0" in text else text
