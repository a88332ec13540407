"""Shows Markdown tables where the platform has none: in columns in a code block, or row by row. Pure, in linear time.

Rules.
- A table becomes a code block with aligned columns; widths count what is displayed, so that CJK and emoji fit. One that
  is wider than `width`, or that has links, becomes a list: a heading for each row, and a line for each of its cells.
- A page may end between two rows: the next one repeats the header (`bot.chat.reply.markdown.TABLE_INFO`).
- The text only grows: a table is held back until it is complete, or has SAMPLE_CHARS. Its form and widths follow from
  these first rows alone; a later cell that is wider pushes the others of its row.
- In the columns markup is left out, as a code block would show it; the words stay.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Final

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.cells import cell_len

from bot.chat.reply.markdown import (
    HELD_CHARS,
    ROW_CHARS,
    TABLE_INFO,
    LineBlock,
    block_after,
    cells,
    is_row,
    may_separate,
)

SAMPLE_CHARS: Final = 1_500  # Of a table's source: what a model writes of it in a few seconds
MAX_CELL_CHARS: Final = 10_000  # A longer cell is shown as it is written
NO_NAME: Final = "–"  # The heading of a row whose first cell is empty
_MAX_LINE: Final = 1_000_000

_LINE: Final = regex.compile(r"[^\n]*+\n|[^\n]++")
_BREAK: Final = regex.compile(r"[ \t]*+<br[ \t]*+/?>[ \t]*+", regex.IGNORECASE)
_MARKUP: Final = regex.compile(r"[\\`*_~&<!\[]")
_LINKED: Final = regex.compile(r"https?://|\]\(|mailto:", regex.IGNORECASE)


def show_tables(text: str, width: int, *, complete: bool) -> str:
    """Return the text without tables. `width`: up to which a table is shown in columns, in cells of a terminal."""
    if "|" not in text:
        return text
    shown, block, table = list[str](), LineBlock(), None
    lines: list[str] = _LINE.findall(text)
    growing = "" if complete or not lines or lines[-1].endswith("\n") else lines.pop()
    for line in lines:
        following = block_after(block, line, _MAX_LINE)
        if following.table and not block.table:
            header = shown.pop()
            margin = header[: len(header) - len(header.lstrip(" \t>"))]
            table = _Table(margin, header, line, width)
        elif following.table and table is not None:
            table.add(line)
        else:
            shown += [] if table is None else table.shown(ended=True)
            shown.append(line)
            table = None
        block = following
    if table is not None:
        ended = complete or (len(growing) > ROW_CHARS and not is_row(growing))
        shown += table.shown(ended=ended)
        growing = growing if ended else ""
    elif not complete and block.header and may_separate(growing) and len(block.header) <= HELD_CHARS:
        shown.pop()  # a table may follow
        growing = ""
    elif not complete and block.fence is None and is_row(growing) and len(growing) <= HELD_CHARS:
        growing = ""  # it may head a table
    result = "".join([*shown, growing])
    return result.removesuffix("\n") if complete and not text.endswith("\n") else result


def is_wide(head: str, rows: Sequence[str], width: int) -> bool:
    """Whether a table with this header and separator is too wide for columns."""
    header, separator, *_ = head.splitlines(keepends=True)
    table = _Table("", header, separator, width)
    for row in rows:
        table.add(row)
    return table.too_wide


@lru_cache(maxsize=4_096)  # a growing answer is read again with each of its frames
def plain_cells(line: str) -> tuple[str, ...]:
    """Return the cells of a table's line as words without markup."""
    return tuple(map(_plain, cells(line)))


def column_widths(rows: Iterable[Sequence[str]]) -> list[int]:
    """Return the width of each column as it is displayed, in cells of a terminal."""
    return [max(map(cell_len, column)) for column in zip_longest(*rows, fillvalue="")]


def aligned(row: Sequence[str], widths: Sequence[int], to_right: Sequence[bool] = ()) -> str:
    """Return the cells of a row as one line, each in its column; a wider one pushes those behind it."""
    padded = list[str]()
    for column, cell in enumerate(row):
        room = " " * max(0, (widths[column] if column < len(widths) else 0) - cell_len(cell))
        padded.append(room + cell if column < len(to_right) and to_right[column] else cell + room)
    return "  ".join(padded).rstrip()


def underline(widths: Iterable[int]) -> str:
    return "  ".join("-" * width for width in widths)


def _plain(cell: str) -> str:
    cell = _BREAK.sub(" / ", cell)
    if len(cell) > MAX_CELL_CHARS or not _MARKUP.search(cell):
        return cell
    return "".join(_words(token) for token in _inline_parser().parseInline(cell)).strip()


def _words(token: Token) -> str:
    if token.children:
        return "".join(map(_words, token.children))
    return " " if token.type in ("softbreak", "hardbreak") else token.content


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough")


@dataclass(slots=True)
class _Table:
    margin: str
    header: str
    separator: str
    width: int
    rows: list[str] = field(default_factory=list[str])
    _sample: int = 0
    _chars: int = 0

    def add(self, row: str) -> None:
        self.rows.append(row)
        self._chars += len(row)
        if self._chars <= SAMPLE_CHARS:
            self._sample = len(self.rows)

    @property
    def too_wide(self) -> bool:
        widths = self._widths()
        return sum(widths) + 2 * (len(widths) - 1) > self.width

    def shown(self, *, ended: bool) -> Iterator[str]:
        """Yield the lines in place of the table; none while it is too short to know its form."""
        if not ended and self._chars <= SAMPLE_CHARS:
            return
        sample = [self.header, *self.rows[: self._sample]]
        if self.too_wide or any(_LINKED.search(line) or "```" in line for line in sample):
            yield from self._as_list()
        else:
            yield from self._in_columns(ended=ended)

    def _widths(self) -> list[int]:
        return column_widths([plain_cells(line) for line in (self.header, *self.rows[: self._sample])])

    def _in_columns(self, *, ended: bool) -> Iterator[str]:
        widths = self._widths()
        to_right = [mark.endswith(":") and not mark.startswith(":") for mark in cells(self.separator)]
        yield f"{self.margin}```{TABLE_INFO}\n"
        yield f"{self.margin}{aligned(plain_cells(self.header), widths, to_right)}\n"
        yield f"{self.margin}{underline(widths)}\n"
        for row in self.rows:
            yield f"{self.margin}{aligned(plain_cells(row), widths, to_right)}\n"
        if ended:
            yield f"{self.margin}```\n"

    def _as_list(self) -> Iterator[str]:
        titles = [title.replace("**", "") for title in cells(self.header)]
        for row in self.rows:
            values = [_BREAK.sub(" / ", cell) for cell in cells(row)]
            if len(titles) > 1:
                yield f"{self.margin}**{values[0].replace('**', '') or NO_NAME}**\n"
            for column, value in enumerate(values):
                title = titles[column] if column < len(titles) else ""
                if value and (column or len(titles) == 1):
                    yield f"{self.margin}- {title}: {value}\n" if title else f"{self.margin}- {value}\n"
