"""Code fences: in them, tags are text. Pure.

Above: `agent.protocol.parser`, `agent.protocol.trial`, `agent.protocol.render`. Below: `agent.protocol.tags`.

As in CommonMark, a fence is three or more backticks or tildes at the start of a line; it ends with a line of at least
as many of them. Unlike there, it may be indented as deep as one likes: models write fences inside lists.
"""

import re

from agent.protocol.grammar import ParserLimits
from agent.protocol.tags import BLANKS, MAYBE, Maybe, skip_blanks

_OPENING = re.compile(r"(?:(`{3,}+)[^`\n]*+|(~{3,}+)[^\n]*+)\n")
_OPENING_BEGUN = re.compile(r"(?:`{1,2}|~{1,2}|`{3,}+[^`\n]*+|~{3,}+[^\n]*+)\Z")
_CLOSING_BEGUN = re.compile(rf"[{BLANKS}]*+(?:`++|~++|)[{BLANKS}]*+")
_ITEM = rf"(?:[-*+]|\d{{1,9}}[.)])[{BLANKS}]++"
_ITEMS = re.compile(rf"(?:{_ITEM})+(?=[`~])")
_ITEMS_BEGUN = re.compile(rf"(?:{_ITEM})*(?:[-*+]|\d{{1,9}}[.)]?)?[{BLANKS}]*\Z")


def read_item_fence(text: str, start: int, limits: ParserLimits) -> tuple[str, int] | Maybe | None:
    """As `read_fence`, for the fence that opens a list's item ("- ```sh") which begins at `start`."""
    found = _ITEMS.match(text, start, start + limits.indent)
    if found:
        return read_fence(text, found.end(), limits)
    return MAYBE if len(text) - start < limits.indent and _ITEMS_BEGUN.match(text, start) else None


def read_fence(text: str, start: int, limits: ParserLimits) -> tuple[str, int] | Maybe | None:
    """The fence whose line begins at `start`: its marker, and the position after its line break."""
    found = _OPENING.match(text, start, start + limits.fence)
    if found:
        return found[1] or found[2], found.end()
    if len(text) - start < limits.fence and _OPENING_BEGUN.match(text, start):
        return MAYBE
    return None


def read_fence_end(text: str, start: int, marker: str, limits: ParserLimits) -> int | Maybe | None:
    """The position after the line that ends the fence, if its backticks or tildes begin at `start`."""
    end = start
    while text[end : end + 1] == marker[0]:
        end += 1
    end = skip_blanks(text, end)
    if end - start >= limits.fence:
        return None
    if end == len(text):
        return MAYBE
    return end + 1 if text[end] == "\n" and text.startswith(marker, start) else None


def unclosed_fence(text: str) -> str | None:
    """The marker of the fence in which this text ends, if it ends in one."""
    limits = ParserLimits()
    fence: OpenFence | None = None
    for line in text.rstrip("\n").split("\n"):
        if fence is None:
            start = skip_blanks(line, 0)
            read = read_item_fence(f"{line}\n", start, limits) or read_fence(f"{line}\n", start, limits)
            fence = OpenFence(read[0], limits) if isinstance(read, tuple) else None
        else:
            fence.feed(f"{line}\n", 0)
            fence = None if fence.closed else fence
    return fence.marker if fence else None


class OpenFence:
    """Everything in it is text, which is said at once; only its end has to be noticed.

    `line` in the constructor: what stands in its last line already.
    """

    def __init__(self, marker: str, limits: ParserLimits, line: str = "") -> None:
        self.marker = marker
        self.closed = False
        self._limits = limits
        self.line: str | None = ""
        """What stands in its last line, as long as that may still end the fence."""
        self._note(line)

    def feed(self, text: str, start: int) -> int:
        """The position after the next line break, or after the text."""
        line_break = text.find("\n", start)
        end = line_break if line_break >= 0 else len(text)
        self._note(text[start:end])
        if line_break < 0:
            return end
        self.closed = self.line is not None and self.line.strip(BLANKS).startswith(self.marker)
        self.line = ""
        return line_break + 1

    def _note(self, piece: str) -> None:
        if self.line is not None and piece:
            line = self.line + piece
            self.line = line if len(line) <= self._limits.fence and _CLOSING_BEGUN.fullmatch(line) else None
