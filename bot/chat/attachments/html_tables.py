"""Gives each row of HTML tables all of its cells.

Markdown has no cells that go on in the row below, so that the cells behind one would move to the left.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAX_SPAN = 100  # Rows or columns of one cell
MAX_ADDED = 20_000  # Cells of one page: spans may overlap


@dataclass(slots=True)
class _Table:
    """`below`: by column, in how many of the next rows a cell goes on."""

    soup: Any
    below: dict[int, int] = field(default_factory=dict[int, int])

    def fill(self, row: Any) -> int:  # noqa: ANN401 -- of bs4, which is loaded late
        """Add the cells that go on in this row; return how many."""
        column, missing = 0, list[tuple[Any, int]]()
        for cell in row.find_all(["td", "th"], recursive=False):
            begin = column
            column = self._after_open(column)
            missing.append((cell, column - begin))
            height, width = _span(cell, "rowspan"), _span(cell, "colspan")
            for covered in range(column, column + width if height > 1 else column):
                self.below[covered] = height - 1
            column += width
        for cell, count in missing:
            for _ in range(count):
                cell.insert_before(self.soup.new_tag("td"))
        count = self._after_open(column) - column
        for _ in range(count):
            row.append(self.soup.new_tag("td"))
        return count + sum(count for _, count in missing)

    def _after_open(self, column: int) -> int:
        """Return the next column in which no cell goes on, and count the row for those before it."""
        while self.below.get(column, 0) > 0:
            self.below[column] -= 1
            column += 1
        return column


def with_all_cells(page: bytes, bs4: Any) -> bytes:  # noqa: ANN401 -- the library, which is loaded late
    """Return the page, in UTF-8, with empty cells where a cell of a row above goes on."""
    soup = bs4.BeautifulSoup(page.decode("utf-8", "replace"), "html.parser")
    added = 0
    for table in soup.find_all("table"):
        filled = _Table(soup)
        for row in _rows(table):
            if added > MAX_ADDED:
                return page
            added += filled.fill(row)
    return str(soup).encode() if added else page


def _rows(table: Any) -> Iterator[Any]:  # noqa: ANN401 -- of bs4
    """Yield the rows of a table, without those of tables in its cells."""
    for child in table.find_all(["tr", "thead", "tbody", "tfoot"], recursive=False):
        if child.name == "tr":
            yield child
        else:
            yield from child.find_all("tr", recursive=False)


def _span(cell: Any, name: str) -> int:  # noqa: ANN401 -- of bs4
    written = str(cell.get(name, ""))
    return min(max(1, int(written)), MAX_SPAN) if written.isdecimal() and len(written) < 6 else 1
