"""What the process that reads files writes, and its limits. See `reader_process`."""

import json
import sys
from collections.abc import Iterable

# Bytes of an archive's texts: a thousand pages have five million; parsed into a tree they take ten times that.
MAX_UNPACKED = 48_000_000
MAX_ENTRIES = 20_000
MAX_ROWS = 20_000  # Of a sheet: so many rows with content exceed the limit of characters
MAX_COLUMNS = 256
MAX_CELL_CHARS = 32_767  # Excel's own limit
MAX_REPEATED = 100
MAX_DEPTH = 250  # Of XML: nested tables within a text box reach sixty
PIECE_CHARS = 8_192  # Text is written in pieces, so that a timeout keeps what was read before it
MAX_NAME_CHARS = 100
PART_CHARS = 20  # What a part counts besides its text

LOCKED, BROKEN, MISSING, OLD, UNKNOWN, NO_TEXT = "locked", "broken", "missing", "old", "unknown", "no text"


class NoText(Exception):
    """There is no text; the argument is one of the reasons above."""


class Full(Exception):
    """The limit of characters is reached."""


class DocumentOutput:
    """Writes the lines of the result, with up to `max_chars` characters of text."""

    def __init__(self, max_chars: int) -> None:
        self._chars_left = max_chars
        self._piece = list[str]()
        self._piece_chars = 0
        self.is_empty = True

    def part(self, name: str) -> None:
        """Start a part. Raises Full; an empty part counts, too, as there may be a million of them.

        A name is one line: with line ends in it, a sheet could show lines as the program's, such as that the file goes
        on.
        """
        self.flush()
        self._chars_left -= PART_CHARS
        if self._chars_left <= 0:
            raise Full
        self.line("part", " ".join(name[:MAX_NAME_CHARS].split()))

    def text(self, text: str) -> None:
        """Add text to the part. Raises Full."""
        accepted = text[: self._chars_left]
        self._piece.append(accepted)
        self._piece_chars += len(accepted)
        self._chars_left -= len(text)
        if self._piece_chars >= PIECE_CHARS or self._chars_left <= 0:
            self.flush()
        if self._chars_left <= 0:
            raise Full

    def flush(self) -> None:
        text, self._piece, self._piece_chars = "".join(self._piece), [], 0
        if text.strip():
            self.is_empty = False
            self.line("text", text)

    def line(self, what: str, value: object) -> None:
        sys.stdout.write(json.dumps([what, value]) + "\n")
        sys.stdout.flush()


def row_text(cells: Iterable[str]) -> str:
    """Format a row as one line; "" for an empty row."""
    text = " | ".join(" ".join(cell[:MAX_CELL_CHARS].split()) for cell in cells).rstrip(" |")
    return f"{text}\n" if text else ""
