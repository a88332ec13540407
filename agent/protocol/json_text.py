"""Reading a model's JSON: strictly, or mended where only one meaning is possible. Pure.

It mends bare line breaks in strings, single or curly quotes, trailing commas, comments, Python's True, False and None,
bare keys, and a missing last `]`. These are only spellings; none changes the meaning. Everything else is rejected with
a reason, because to guess a call is worse than to ask for it again.

No result holds NUL, half a surrogate pair, NaN, Infinity or a number of thousands of digits: Python would raise on
some, PostgreSQL rejects the others.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import isfinite

from agent.messages import Json, is_too_deep
from agent.protocol.grammar import ParserLimits

_NEAR = 20  # Characters before and after an error that its reason quotes
_QUOTES = re.compile(r"""\\(.)|(")""", re.DOTALL)


class Unreadable(ValueError):
    """The text is not JSON; the message says why, for a model."""


def sane_text(text: str) -> str:
    """Remove NUL; join halves of surrogate pairs, and replace lone ones by U+FFFD."""
    if text.isascii():
        return text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "")


class SaneStream:
    """As `sane_text`, for a text in pieces, where a pair may be cut in two."""

    def __init__(self) -> None:
        self.half = ""  # The first half of a pair at the end of the last piece

    def feed(self, piece: str) -> str:
        if piece.isascii() and not self.half:
            return piece.replace("\x00", "") if "\x00" in piece else piece
        piece = self.half + piece
        self.half = piece[-1] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return sane_text(piece[:-1] if self.half else piece)

    def flush(self) -> str:
        half, self.half = self.half, ""
        return sane_text(half)


class JsonReader:
    """Reads whole texts of JSON."""

    def __init__(self, limits: ParserLimits) -> None:
        self._limits = limits
        self._decoder = json.JSONDecoder(
            strict=False,
            object_pairs_hook=_object,
            parse_int=self._integer,
            parse_float=self._float,
            parse_constant=_constant,
        )

    def read(self, text: str) -> list[Json]:
        """Return all values in `text`, at least one, separated by blanks and commas only. Raises Unreadable."""
        if is_too_deep(text, self._limits.depth):
            raise Unreadable(f"it is nested more than {self._limits.depth} levels deep")
        values: list[Json] = []
        position = _skip_separators(text, 0)
        while position < len(text):
            try:
                value, position = self._decoder.raw_decode(text, position)
            except json.JSONDecodeError as error:
                raise Unreadable(_reason(error)) from error
            values.append(_sane(value))
            position = _skip_separators(text, position)
        if not values:
            raise Unreadable("there is no JSON in it")
        return values

    def read_mended(self, text: str, *, whole: bool) -> list[Json]:
        """As `read`, after mending. A missing last `]` is only added if the text is `whole`. Raises Unreadable."""
        return self.read("".join(_mend(text, self._limits.depth, whole=whole)))

    def _integer(self, digits: str) -> int:
        if len(digits) > self._limits.number:
            raise Unreadable(f"a number has more than {self._limits.number} digits")
        return int(digits)

    def _float(self, digits: str) -> float:
        number = float(digits)
        if len(digits) > self._limits.number or not isfinite(number):
            raise Unreadable("a number is too large")
        return number


_DOUBLED = re.compile(r"\{\{|\}\}")
_DOUBLED_OPENINGS = re.compile(r"\{\s{0,4}\{(?=\s{0,8}[\"'“])")


def undoubled(text: str) -> tuple[str, str]:
    """Return JSON with doubled braces, as in a template, with single ones: all of them, or only those that open."""
    return _DOUBLED.sub(lambda braces: braces[0][0], text), _DOUBLED_OPENINGS.sub("{", text)


def _sane(value: Json) -> Json:
    if isinstance(value, str):
        return sane_text(value)
    if isinstance(value, list):
        return [_sane(item) for item in value]
    if isinstance(value, dict):
        return _object([(sane_text(key), _sane(item)) for key, item in value.items()])
    return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    result = dict(pairs)
    if len(result) < len(pairs):
        duplicate = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise Unreadable(f'the key "{duplicate[:_NEAR]}" stands twice in one object')
    return result


def _constant(name: str) -> Json:
    raise Unreadable(f"{name} is not JSON")


def _skip_separators(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    return position


def _reason(error: json.JSONDecodeError) -> str:
    near = error.doc[max(0, error.pos - _NEAR) : error.pos + _NEAR]
    return f"{error.msg[0].lower()}{error.msg[1:]}, near {sane_text(near)!r}"


# Every character belongs to one alternative, so that the text is read once; runs of numbers are one token, or lists of
# them would take seconds.
_TOKEN = re.compile(
    r"""
      (?P<space>[\s\u200b\u200c\u200d\u2060\ufeff]+|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))
    | (?P<double>"(?:[^"\\]|\\.)*")
    | (?P<single>'(?:[^'\\]|\\.)*')
    | (?P<curly>[“”](?:[^“”"\\]|\\.)*[“”])
    | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<numbers>(?:-?[0-9]{1,15}[ \t\r\n]*+,[ \t\r\n]*+(?=-?[0-9]))++)
    | (?P<number>-?[0-9][-+.0-9eE]*)
    | (?P<marks>,{2,}|:{2,})
    | (?P<mark>[\[\]{}:,])
    | (?P<other>["'“”].*|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ENDS = {"[": "]", "{": "}"}
_WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}


def _mend(text: str, max_depth: int, *, whole: bool) -> Iterable[str]:
    """Yield the tokens of `text` in valid JSON spelling."""
    tokens = list(_tokens(text))
    closers: list[str] = []
    for (kind, symbol), (_, following) in pairwise([*tokens, ("end", "")]):
        if symbol in _ENDS:
            closers.append(_ENDS[symbol])
            if len(closers) > max_depth:
                raise Unreadable(f"it is nested more than {max_depth} levels deep")
        elif symbol in _ENDS.values() and (not closers or closers.pop() != symbol):
            raise Unreadable(f"a {symbol} has no beginning")
        # A comma before a bracket, or before the end of a cut text, is dropped: models write it as in Python.
        if symbol == "," and (not following or following in _ENDS.values()):
            continue
        yield f'"{symbol}"' if kind == "word" and following == ":" else _WORDS.get(symbol, symbol)
    # Only the bracket around all calls is added at the end. Any other would invent the end of a value.
    if whole and closers == ["]"]:
        yield "]"


def _tokens(text: str) -> Iterable[tuple[str, str]]:
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind in ("single", "curly"):
            yield "string", _requoted(match[0][1:-1])
        elif kind == "other":
            at = match.start()
            raise Unreadable(f"unexpected {text[at]!r}, near {text[max(0, at - _NEAR) : at + _NEAR]!r}")
        elif kind != "space":
            yield kind, match[0]


def _requoted(inside: str) -> str:
    escaped = _QUOTES.sub(lambda m: '\\"' if m[2] else ("'" if m[1] == "'" else m[0]), inside)
    return f'"{escaped}"'
