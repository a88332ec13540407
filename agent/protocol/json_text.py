"""Reading a model's JSON: strictly, or mended where only one meaning is possible. Pure.

It mends bare line breaks in strings, single or curly quotes, trailing commas, Python's True, False and None, bare keys,
and a missing last `]`. These are only spellings; none changes the meaning. Everything else is rejected with a reason,
because to guess a call is worse than to ask for it again.

No result holds NUL, half a surrogate pair, NaN, Infinity or a number of thousands of digits: Python would raise on
some, PostgreSQL rejects the others.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from enum import Enum, auto
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


def undoubled(text: str) -> str:
    """Return JSON whose braces are all doubled, as in a template, with single ones."""
    return _DOUBLED.sub(lambda braces: braces[0][0], text)


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
      (?P<space>[\s\u200b\u200c\u200d\u2060\ufeff]+)
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


# --------------------------------------------------------------------------------------------------
# Finding the end of a JSON value in a text that arrives in pieces. Pure.
#
# Theory of operation. A JSON text is a sequence of tokens, and the next token depends on the last one and on the
# innermost open bracket. So one pass over the tokens finds the end, or the first invalid character. Each character is
# read once: a piece may end anywhere, also inside an escape, a number or a literal.
#
# A tag inside a string is part of the string. As in JSON, a bare line break in a string is a syntax error; that is why
# "\n</execute>" can never be inside one.


class Status(Enum):
    MORE = auto()
    DONE = auto()
    FAILED = auto()


class _Expect(Enum):
    VALUE = auto()
    VALUE_OR_END = auto()
    KEY = auto()
    KEY_OR_END = auto()
    COLON = auto()
    COMMA_OR_END = auto()
    NEXT = auto()
    """A complete value was read; another one may follow."""


_SPACE = re.compile(r"[ \t\n\r]*")
_STRING_RUN = re.compile(r'[^"\\\x00-\x1f]*')
_SCALAR_RUN = re.compile(r"[-+.0-9A-Za-z]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")
# Plain items of a list, each with its comma, in one match: one by one they take ten times as long.
_ITEMS = re.compile(
    r'(?:(?:"[^"\\\x00-\x1f]*+"|-?(?:0|[1-9][0-9]{0,14})|true|false|null|\[\]|\{\})[ \t\n\r]*+,[ \t\n\r]*+)++'
)
_HEX = frozenset("0123456789abcdefABCDEF")
_VALUES = (_Expect.VALUE, _Expect.VALUE_OR_END)
_KEYS = (_Expect.KEY, _Expect.KEY_OR_END)
_END = {"]": (_Expect.VALUE_OR_END, _Expect.COMMA_OR_END), "}": (_Expect.KEY_OR_END, _Expect.COMMA_OR_END)}


class JsonScanner:
    """Finds the end of a value. Pass text from the first `[` or `{` on. The status is DONE after the matching bracket,
    and FAILED at the first invalid character.

    With `several`, objects may follow each other, with or without commas, as some models write their calls. The status
    is then DONE at the first character that begins no further object; `complete` says whether the value may end here.
    """

    def __init__(self, *, max_depth: int, max_number: int, several: bool = False) -> None:
        self._max_depth = max_depth
        self._max_number = max_number
        self._several = several
        self._open: list[str] = []
        self._expect = _Expect.VALUE
        self._in_string = False
        self._escape = 0  # Remaining characters of an escape: 1 after a backslash, 4 to 1 after a \u
        self._hex = False
        self._scalar = ""
        self.status = Status.MORE

    @property
    def complete(self) -> bool:
        return self.status is Status.DONE or (self.status is Status.MORE and self._expect is _Expect.NEXT)

    def stays_in_string(self, piece: str) -> bool:
        """Return whether this printable piece only continues an open string."""
        return self._in_string and not self._escape and '"' not in piece and "\\" not in piece

    def feed(self, text: str, start: int = 0) -> int:
        """Read from `text[start]`. Returns the position after what was read, which is `len(text)` while MORE."""
        position, length = start, len(text)
        while position < length and self.status is Status.MORE:
            if self._in_string:
                position = self._read_string(text, position)
            elif self._scalar:
                position = self._read_scalar(text, position)
            else:
                position = self._read_token(text, position)
        return position

    def _fail(self, position: int) -> int:
        self.status = Status.FAILED
        return position

    def _read_string(self, text: str, position: int) -> int:
        if self._escape:
            return self._read_escape(text, position)
        match = _STRING_RUN.match(text, position)
        position = match.end() if match else position
        if position == len(text):
            return position
        character = text[position]
        if character == '"':
            self._in_string = False
            self._expect = _Expect.COLON if self._expect in _KEYS else _Expect.COMMA_OR_END
        elif character == "\\":
            self._escape, self._hex = 1, False
        else:
            return self._fail(position)
        return position + 1

    def _read_escape(self, text: str, position: int) -> int:
        character = text[position]
        if self._hex:
            if character not in _HEX:
                return self._fail(position)
            self._escape -= 1
        elif character == "u":
            self._escape, self._hex = 4, True
        elif character in '"\\/bfnrt':
            self._escape = 0
        else:
            return self._fail(position)
        return position + 1

    def _read_scalar(self, text: str, position: int) -> int:
        match = _SCALAR_RUN.match(text, position, position + self._max_number + 1)
        end = match.end() if match else position
        self._scalar += text[position:end]
        if len(self._scalar) > self._max_number:
            return self._fail(position)
        if end < len(text):
            if not _SCALAR.fullmatch(self._scalar):
                return self._fail(position)
            self._scalar = ""
            self._expect = _Expect.COMMA_OR_END
        return end

    def _read_token(self, text: str, position: int) -> int:
        match = _SPACE.match(text, position)
        position = match.end() if match else position
        if position == len(text):
            return position
        # A shortcut for long lists of plain values, which took most of the time: several items in one match.
        if self._expect in _VALUES and self._open and self._open[-1] == "]" and len(self._open) < self._max_depth:
            items = _ITEMS.match(text, position)
            if items is not None:
                self._expect = _Expect.VALUE
                return items.end()
        character = text[position]
        if self._expect is _Expect.NEXT:
            return self._read_next(character, position)
        if character == '"' and self._expect in _VALUES + _KEYS:
            self._in_string = True
        elif character in "[{" and self._expect in _VALUES:
            return self._open_bracket(character, position)
        elif character in "]}":
            return self._close_bracket(character, position)
        elif character == ":" and self._expect is _Expect.COLON:
            self._expect = _Expect.VALUE
        elif character == "," and self._expect is _Expect.COMMA_OR_END:
            self._expect = _Expect.VALUE if self._open[-1] == "]" else _Expect.KEY
        # `isalnum` is also true for digits of other scripts, which JSON does not have.
        elif self._expect in _VALUES and (character.isalnum() or character == "-"):
            return self._read_scalar(text, position) if character.isascii() else self._fail(position)
        else:
            return self._fail(position)
        return position + 1

    def _read_next(self, character: str, position: int) -> int:
        if character == "{":
            return self._open_bracket(character, position)
        if character == ",":
            return position + 1
        self.status = Status.DONE
        return position

    def _open_bracket(self, character: str, position: int) -> int:
        if len(self._open) == self._max_depth:
            return self._fail(position)
        self._open.append("]" if character == "[" else "}")
        self._expect = _Expect.VALUE_OR_END if character == "[" else _Expect.KEY_OR_END
        return position + 1

    def _close_bracket(self, character: str, position: int) -> int:
        if not self._open or self._open[-1] != character or self._expect not in _END[character]:
            return self._fail(position)
        self._open.pop()
        self._expect = _Expect.COMMA_OR_END
        if not self._open:
            if self._several and character == "}":
                self._expect = _Expect.NEXT
            else:
                self.status = Status.DONE
        return position + 1
