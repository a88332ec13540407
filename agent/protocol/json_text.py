"""Reading a model's JSON: strictly, or mended where only one meaning is possible. Pure.

Above: `agent.protocol.parser`, calls, meaning, render. Below: `agent.protocol.grammar`.

What is mended: bare line breaks in strings, single or curly quotes, trailing commas, Python's True, False and None,
bare keys, a missing last `]`. Each is a spelling; none changes what is said. Everything else is refused with a reason,
because a call that was guessed is worse than a call that is asked for again.

Nothing that comes out holds NUL, half a surrogate pair, NaN, Infinity or a number of thousands of digits: Python would
raise on some, PostgreSQL refuses the others.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from math import isfinite
from typing import Final

from agent.messages import Json
from agent.protocol.grammar import ParserLimits

_NEAR = 20
"""Characters that a reason quotes from before and after the place of an error."""
_QUOTES = re.compile(r"""\\(.)|(")""", re.DOTALL)


class Unreadable(ValueError):
    """This text is not JSON; the message says why, for a model."""


def sane_text(text: str) -> str:
    """Without NUL; halves of surrogate pairs joined, and lone ones replaced by U+FFFD."""
    if text.isascii():
        return text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "")


class SaneStream:
    """As `sane_text`, for a text in pieces: a pair may be cut in two."""

    def __init__(self) -> None:
        self.half = ""
        """The first half of a pair, which was fed last."""

    def feed(self, piece: str) -> str:
        if piece.isascii() and not self.half:
            return piece.replace("\x00", "") if "\x00" in piece else piece
        piece = self.half + piece
        self.half = piece[-1] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return sane_text(piece[:-1] if self.half else piece)

    def flush(self) -> str:
        half, self.half = self.half, ""
        return sane_text(half)


_TOO_DEEP: Final = "it is nested too deeply"
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def _open_at(text: str) -> int:
    """How many arrays and objects are open where this text ends."""
    code = _STRING.sub("", text)
    return code.count("[") + code.count("{") - code.count("]") - code.count("}")


class JsonReader:
    """Reads whole texts; limits as constructor data."""

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
        """Every value in `text`, one or several, with nothing but blanks and commas between. Raises Unreadable."""
        values: list[Json] = []
        position = _skip_separators(text, 0)
        while position < len(text):
            try:
                value, position = self._decoder.raw_decode(text, position)
            except json.JSONDecodeError as error:
                # Where Python's own limit of nesting lies depends on its version; some get as far as the end.
                if _open_at(text[: error.pos]) > self._limits.depth:
                    raise Unreadable(_TOO_DEEP) from error
                raise Unreadable(_reason(error)) from error
            except RecursionError as error:
                raise Unreadable(_TOO_DEEP) from error
            values.append(self._sane(value, 1))
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

    def _sane(self, value: Json, depth: int) -> Json:
        if depth > self._limits.depth + 1:
            raise Unreadable(f"it is nested more than {self._limits.depth} levels deep")
        if isinstance(value, str):
            return sane_text(value)
        if isinstance(value, list):
            return [self._sane(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return _object([(sane_text(key), self._sane(item, depth + 1)) for key, item in value.items()])
        return value


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    read = dict(pairs)
    if len(read) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise Unreadable(f'the key "{twice[:_NEAR]}" stands twice in one object')
    return read


def _constant(name: str) -> Json:
    raise Unreadable(f"{name} is not JSON")


def _skip_separators(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n,":
        position += 1
    return position


def _reason(error: json.JSONDecodeError) -> str:
    near = error.doc[max(0, error.pos - _NEAR) : error.pos + _NEAR]
    return f"{error.msg[0].lower()}{error.msg[1:]}, near {sane_text(near)!r}"


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
    """The tokens of `text` as JSON writes them."""
    tokens = list(_tokens(text))
    open_: list[str] = []
    for (kind, symbol), (_, following) in pairwise([*tokens, ("end", "")]):
        if symbol in _ENDS:
            open_.append(_ENDS[symbol])
            if len(open_) > max_depth:
                raise Unreadable(f"it is nested more than {max_depth} levels deep")
        elif symbol in _ENDS.values() and (not open_ or open_.pop() != symbol):
            raise Unreadable(f"a {symbol} has no beginning")
        if symbol == "," and (not following or following in _ENDS.values()):
            continue
        yield f'"{symbol}"' if kind == "word" and following == ":" else _WORDS.get(symbol, symbol)
    if whole and open_ == ["]"]:
        yield "]"


def _tokens(text: str) -> Iterable[tuple[str, str]]:
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or "other"
        if kind in ("single", "curly"):
            yield "string", _requoted(found[0][1:-1])
        elif kind == "other":
            at = found.start()
            raise Unreadable(f"unexpected {text[at]!r}, near {text[max(0, at - _NEAR) : at + _NEAR]!r}")
        elif kind != "space":
            yield kind, found[0]


def _requoted(inside: str) -> str:
    escaped = _QUOTES.sub(lambda m: '\\"' if m[2] else ("'" if m[1] == "'" else m[0]), inside)
    return f'"{escaped}"'
