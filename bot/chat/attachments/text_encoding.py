"""Decodes a text file, or finds that it is no text. Pure, in linear time.

The first of these that applies is the encoding:
1. That of a byte order mark.
2. UTF-8, if the bytes are valid. Bytes of other encodings hardly ever are by chance.
3. The encoding that the file's sender declared.
4. UTF-32 or UTF-16, if zero bytes show it, or letters of only one script.
5. A guess by `chardet`; the result says that it is one.

For short texts `chardet`'s scores are close to each other. So a guess counts less if its words look odd (a capital or a
symbol inside a word), or if the encoding is rare. Between two of similar score, the one that decodes to more letters is
preferred, then the one of Windows; such a guess is marked as uncertain.
"""

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import regex

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What switches to another set of characters, in encodings of seven bits.
_ESCAPES: Final = ((b"\x1b$)C", "iso2022_kr"), (b"\x1b$", "iso2022_jp_ext"), (b"\x1b(I", "iso2022_jp_ext"))
# Characters that text does not contain. Escape sequences and form feeds do occur in logs.
_BINARY: Final = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffe\uffff]")
# The share that text may have: logs contain stray control characters; in compressed data every tenth character is one.
MOST_BINARY: Final = 0.001
_LOOK: Final = 4_096
GUESSED_BYTES: Final = 16_384  # What a guess is made from: more does not make it better
_FEWEST: Final = 4  # Characters: in shorter texts zero bytes prove nothing
# The share of zero bytes at even or odd positions from which a text counts as UTF-16: in English nearly all are zero.
_ZEROS: Final = 0.35
_LAST_PLANE: Final = 0x10  # Of Unicode: the third byte of a character in UTF-32
_BETWEEN_WORDS: Final = " \n\r\t\u3000、。，．"
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
_XML_ENCODING: Final = re.compile(r"""\s*<\?xml\b[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE)

# Names that stand for a larger encoding, as for browsers: what is announced as Latin-1 is hardly ever without quotes.
_LARGER: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# The encodings that a guess may name, as people call them. Rarer ones win too often in short texts.
NAMES: Final = {
    "cp1250": "Windows-1250",
    "cp1251": "Windows-1251",
    "cp1252": "Windows-1252",
    "cp1253": "Windows-1253",
    "cp1254": "Windows-1254",
    "cp1255": "Windows-1255",
    "cp1256": "Windows-1256",
    "cp1257": "Windows-1257",
    "cp1258": "Windows-1258",
    "cp874": "Windows-874",
    "cp437": "DOS 437",
    "cp850": "DOS 850",
    "cp852": "DOS 852",
    "cp855": "DOS 855",
    "cp866": "DOS 866",
    "cp932": "Shift JIS",
    "cp949": "EUC-KR",
    "cp950": "Big5",
    "big5hkscs": "Big5-HKSCS",
    "euc_jp": "EUC-JP",
    "gb18030": "GB18030",
    "iso2022_jp_ext": "ISO-2022-JP",
    "iso2022_kr": "ISO-2022-KR",
    "iso8859-2": "ISO 8859-2",
    "iso8859-5": "ISO 8859-5",
    "iso8859-6": "ISO 8859-6",
    "iso8859-7": "ISO 8859-7",
    "iso8859-8": "ISO 8859-8",
    "iso8859-15": "ISO 8859-15",
    "iso8859-16": "ISO 8859-16",
    "johab": "Johab",
    "koi8-r": "KOI8-R",
    "koi8-u": "KOI8-U",
    "mac-cyrillic": "Mac Cyrillic",
    "mac-roman": "Mac Roman",
    "utf-16-be": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-32-be": "UTF-32",
    "utf-32-le": "UTF-32",
}
_AS_GOOD: Final = 0.98  # Of the best guess's score: within the detector's own error
_RIVAL: Final = 0.9  # From this share of its score on, another guess makes it uncertain
_LETTERS: Final = 0.02  # By which share of letters two guesses differ at least
_SHARES: Final = {"cp125": 1.0, "iso8859": 0.98, "mac": 0.97, "cp4": 0.85, "cp8": 0.85}  # By how a name begins
_MANY_BYTES: Final = ("cp9", "big5", "gb", "euc", "iso2022", "johab")  # Of East Asia, whose words have no capitals
# A capital does not follow a small letter, a symbol is not between letters, and no word is of two alphabets, but by
# chance.
_ODD: Final = regex.compile(
    r"(?<=\p{Ll})[\p{Lu}--[A-Z]] | (?<=\p{L})[[^\p{L}\p{M}]--[\x00-\x7f’]](?=\p{L}) | (?<=[A-Za-z])[\p{L}--\p{Latin}]",
    regex.V1 | regex.VERBOSE,
)
_FEW_UTF_16: Final = 16  # Characters: fewer may be of one script by chance
_FEW: Final = 8  # Characters beyond ASCII: a guess from fewer is not certain
_MOST_REPLACED: Final = 0.001  # Of the characters: a few that are broken do not make a guess wrong

GUESSED: Final = "(the file does not say in which encoding it is: it was read as {encoding})"
UNCERTAIN: Final = (
    "(the file does not say in which encoding it is: it was read as {encoding}, which is not certain; if letters look "
    "wrong, tell the person so, and ask for the encoding or for the file in UTF-8)"
)


@dataclass(frozen=True, slots=True)
class DecodedText:
    """`guess`: the name of the encoding if it was guessed, else ""."""

    text: str
    guess: str = ""
    is_certain: bool = True

    @property
    def note(self) -> str:
        """What a reader has to know about the guess; "" without one."""
        if not self.guess:
            return ""
        return (GUESSED if self.is_certain else UNCERTAIN).format(encoding=self.guess)

    @property
    def with_note(self) -> str:
        return f"{self.note}\n{self.text}" if self.note else self.text


def decode(data: bytes, charset: str = "", *, whole: bool = True) -> DecodedText | None:
    """Return the text; None if the bytes are no text. `charset`: the announced one; not `whole`: the end was cut
    off.
    """
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    if marked:
        text = _decode_as(data, marked, whole=whole)
        return None if text is None else DecodedText(text)
    escaped = next((encoding for sign, encoding in _ESCAPES if sign in data[:_LOOK]), "")
    for encoding in (escaped, "utf-8", _LARGER.get(charset, charset)):
        if encoding and (text := _decode_as(data, encoding, whole=whole)) is not None:
            return DecodedText(text, NAMES[encoding] if encoding == escaped != charset else "")
    return _guess(data, whole=whole)


def charset_of(media_type: str) -> str:
    """Return the charset among a media type's parameters; "" for none or an unknown one."""
    match_ = _CHARSET.search(media_type)
    try:
        codec = codecs.lookup(match_[1]) if match_ else None
    except LookupError:
        return ""
    return codec.name if codec is not None and codec.name not in _NO_CHARSETS else ""


# In the first line of XML and of a style sheet, and in the first two of code (PEP 263).
_IN_TEXT: Final = (
    _XML_ENCODING,
    re.compile(r"""@charset\s+["']([\w.:-]+)["']\s*;""", re.IGNORECASE),
    re.compile(r"(?:[^\n]{0,200}\n)?[ \t\f]{0,200}(?:#|//|--|%|;)[^\n]{0,200}?coding[:=][ \t]{0,20}([\w.:-]+)"),
)


def charset_in_text(text: bytes) -> str:
    """Return the charset that a text file declares in its first lines; "" for none."""
    head = text[:_LOOK].decode("ascii", "ignore")
    found = (pattern.match(head) for pattern in _IN_TEXT)
    return next((charset for match in found if match and (charset := charset_of(f"charset={match[1]}"))), "")


def declared_charset(page: bytes) -> str:
    """Return the charset that an HTML page declares in its head, or an XML document in its first line."""
    head = page[:_LOOK].decode("ascii", "ignore")
    xml = _XML_ENCODING.match(head)
    return charset_of(f"charset={xml[1]}") if xml else charset_of(head)


# Codecs that are not text encodings.
_NO_CHARSETS: Final = frozenset({"base64", "bz2", "hex", "idna", "punycode", "quopri", "rot-13", "uu", "zlib"}) | {
    "raw-unicode-escape",
    "unicode-escape",
    "undefined",
    "utf-7",
}


@dataclass(frozen=True, slots=True)
class _Guess:
    encoding: str
    score: float
    sample: str
    letters: float
    """The share of letters among its characters beyond ASCII, whose number is `high`."""
    high: int


def _guess(data: bytes, *, whole: bool) -> DecodedText | None:
    if (encoding := _utf_32(data) or _utf_16(data)) and (text := _decode_as(data, encoding, whole=whole)) is not None:
        return DecodedText(text, NAMES[encoding])
    guesses = [*_guesses(_telling_lines(data))]
    best_score = max((guess.score for guess in guesses), default=0.0)
    guesses.sort(
        key=lambda guess: (
            guess.score < _AS_GOOD * best_score,
            -round(guess.letters / _LETTERS),
            not guess.encoding.startswith("cp125"),
            -guess.score,
        )
    )
    # A guess that cannot decode the whole file was wrong, however good its sample looked.
    for number, guess in enumerate(guesses):
        if (text := _decode_nearly(data, guess.encoding, whole=whole)) is not None:
            rivals = (
                rival
                for rival in guesses
                if rival.score >= _RIVAL * guess.score
                and rival.sample != guess.sample
                and rival.letters >= guess.letters - _LETTERS
            )
            # Uncertain if another encoding reads other words nearly as well, or too few letters tell them apart.
            is_certain = number == 0 and guess.high >= _FEW and next(rivals, None) is None
            return DecodedText(text, NAMES[guess.encoding], is_certain)
    for encoding in ("cp1252", "latin-1"):
        if (text := _decode_as(data, encoding, whole=whole)) is not None:
            return DecodedText(text, NAMES["cp1252"], is_certain=False)
    return None


def _telling_lines(data: bytes) -> bytes:
    """Return the first lines with bytes beyond ASCII: the others say nothing, and outweigh these in a log."""
    lines, size = list[bytes](), 0
    for line in data.splitlines(keepends=True):
        if not line.isascii():
            lines.append(line[:GUESSED_BYTES])
            size += len(line)
            if size > GUESSED_BYTES:
                break
    return b"".join(lines)[:GUESSED_BYTES]


def _guesses(sample: bytes) -> Iterator[_Guess]:
    seen = set[str]()
    import chardet  # noqa: PLC0415 -- its models are large, and few files need a guess

    for found in chardet.detect_all(sample, ignore_threshold=True):
        encoding = _codec_name(found["encoding"] or "")
        encoding = _LARGER.get(encoding, encoding)
        if encoding not in NAMES or encoding in seen:
            continue
        seen.add(encoding)
        text = codecs.decode(sample, encoding, "ignore")
        high = [sign for sign in text if sign > "\x7f"]
        if high and not any("\x80" <= sign <= "\x9f" for sign in high):  # controls that no text holds
            score = found["confidence"] * _share(encoding)
            if not encoding.startswith(_MANY_BYTES):
                score *= 1 - len(_ODD.findall(text)) / len(high)
            yield _Guess(encoding, score, text, sum(map(str.isalpha, high)) / len(high), len(high))


def _share(encoding: str) -> float:
    return next((share for start, share in _SHARES.items() if encoding.startswith(start)), 1.0)


def _codec_name(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _utf_32(data: bytes) -> str:
    """Return the form of UTF-32 without a mark, in which the highest byte of each character is zero, and the next one
    nearly so; "" for anything else.
    """
    start = data[: _LOOK - _LOOK % 4]
    quarter = len(start) // 4
    if quarter < _FEWEST:
        return ""
    for form, highest, planes in (("utf-32-le", 3, start[2::4]), ("utf-32-be", 0, start[1::4])):
        is_plane = max(planes) <= _LAST_PLANE and planes.count(0) / quarter > _ZEROS
        if is_plane and start[highest::4].count(0) == quarter:
            return form
    return ""


def _utf_16(data: bytes) -> str:
    """Return the form of UTF-16 without a mark; "" for anything else."""
    start = data[: _LOOK - _LOOK % 2]
    half = len(start) // 2
    if half < _FEWEST:
        return ""
    if start[1::2].count(0) / half > _ZEROS:
        return "utf-16-le"
    if start[0::2].count(0) / half > _ZEROS:
        return "utf-16-be"
    # Blanks, line ends and the punctuation of East Asia have such bytes; other encodings of their letters have none.
    if half < _FEW_UTF_16 or not any(start.count(byte) for byte in range(9)):
        return ""
    texts = {form: codecs.decode(start[: half * 2], form, "ignore") for form in ("utf-16-le", "utf-16-be")}
    form = max(texts, key=lambda form: sum(map(texts[form].count, _BETWEEN_WORDS)))
    return form if _is_of_one_script(texts[form]) else ""


def _is_of_one_script(text: str) -> bool:
    kinds = Counter(unicodedata.category(sign) for sign in text if sign not in "\t\r\n")
    scripts = Counter(_script(sign) for sign in text if sign.isalpha() and sign > "\x7f")
    if (
        not any(sign in text for sign in _BETWEEN_WORDS)
        or any(kinds[kind] for kind in ("Cc", "Cn", "Co"))
        or not scripts
    ):
        return False
    return scripts.most_common(1)[0][1] >= 0.95 * scripts.total()


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "").partition(" ")[0]
    return "CJK" if name in {"HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA", "HALFWIDTH", "FULLWIDTH"} else name


def _decode_as(data: bytes, encoding: str, *, whole: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except (UnicodeError, LookupError):
        return None
    return text if _is_text(text) else None


def _decode_nearly(data: bytes, encoding: str, *, whole: bool) -> str | None:
    """Decode with a few broken characters replaced."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(data, final=whole)
    return text if text.count("\ufffd") <= _MOST_REPLACED * len(text) and _is_text(text) else None


def _is_text(text: str) -> bool:
    return "\0" not in text and len(_BINARY.findall(text)) <= MOST_BINARY * len(text)
