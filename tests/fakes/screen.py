"""A terminal's screen and scrollback, as far as a rich `Live` needs one. Unknown sequences fail: nothing is guessed."""

import io
import re
from unicodedata import combining

from rich.cells import cell_len

_SEQUENCE = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])")


class FakeScreen(io.StringIO):
    """A file that is a terminal of `width` by `height`. `lines` is everything that can be scrolled back to."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        super().__init__()
        self.width = width
        self.height = height
        self.written = ""
        self.cursor_hidden = False
        self._rows: list[list[str]] = [[]]
        self._row = 0
        self._column = 0

    @property
    def lines(self) -> list[str]:
        """Return the text of every row, without trailing blanks; rows that were never reached do not exist."""
        return ["".join(row).rstrip() for row in self._rows]

    @property
    def text(self) -> str:
        return "\n".join(self.lines).rstrip("\n")

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written += text
        position = 0
        while position < len(text):
            if text[position] == "\x1b":
                match = _SEQUENCE.match(text, position)
                assert match, f"unknown sequence: {text[position : position + 12]!r}"
                self._control(match[1], match[2], match[3])
                position = match.end()
            else:
                self._character(text[position])
                position += 1
        return len(text)

    def _control(self, private: str, arguments: str, final: str) -> None:
        match private, final:
            case "", "m":
                pass
            case "", "A":
                top = max(0, len(self._rows) - self.height)
                assert self._row - int(arguments or 1) >= top, "the cursor cannot leave the screen at its top"
                self._row -= int(arguments or 1)
            case "", "K":
                assert arguments == "2"
                self._rows[self._row] = []
            case "?", "h" | "l":
                assert arguments == "25"
                self.cursor_hidden = final == "l"
            case _:
                raise AssertionError(f"unknown control: {private}{arguments}{final}")

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row, self._column = self._row + 1, 0
            if self._row == len(self._rows):
                self._rows.append([])
        elif combining(character) or not cell_len(character):
            self._rows[self._row][self._column - 1] += character
        else:
            self._put(character)

    def _put(self, character: str) -> None:
        cells = cell_len(character)
        if self._column + cells > self.width:
            self._character("\n")
        row = self._rows[self._row]
        row.extend(" " * (self._column + cells - len(row)))
        row[self._column] = character
        if cells == 2:
            row[self._column + 1] = ""
        self._column += cells
