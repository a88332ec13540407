"""Finding the end of a JSON value in a text that arrives in pieces. Pure.

Theory of operation. A JSON text is a sequence of tokens, and the next token depends on the last one and on the
innermost open bracket. So one pass over the tokens finds the end, or the first invalid character. Each character is
read once: a piece may end anywhere, also inside an escape, a number or a literal.

A tag inside a string is part of the string. As in JSON, a bare line break in a string is a syntax error; that is why a
line with "</execute>" can never be inside one.
"""

import re
from enum import Enum, auto


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
