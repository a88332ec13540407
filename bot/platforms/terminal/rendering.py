"""Markdown as the terminal shows it: rich's rendering, changed where it would hide or cut something.

What differs from rich: line breaks are kept, as in every chat; the items of a list keep the numbers that were written;
headings stand left; code has no blank before it; long words in table cells are folded, not cut; addresses are written
out; an answer rendered block by block looks as if rendered whole.
"""

from collections.abc import Iterable
from typing import ClassVar

from markdown_it.token import Token
from rich import box
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import (
    CodeBlock,
    Heading,
    HorizontalRule,
    ListElement,
    ListItem,
    Markdown,
    MarkdownElement,
    TableElement,
)
from rich.rule import Rule
from rich.segment import Segment
from rich.syntax import Syntax
from rich.table import Table

from bot.platforms.terminal.surface import parsed_blocks

CODE_THEME = "ansi_dark"
"""The terminal's own colours: readable on any background."""


class _LeftHeading(Heading):
    LEVEL_ALIGN: ClassVar[dict[str, JustifyMethod]] = {}


class _PlainRule(HorizontalRule):
    new_line = True

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style=console.get_style("markdown.hr", default="none"), characters="-")


class _FoldedTable(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE, pad_edge=False, style="markdown.table.border", collapse_padding=True)
        header = self.header.row.cells if self.header and self.header.row else []
        for cell in header:
            heading = cell.content.copy()
            heading.stylize("markdown.table.header")
            table.add_column(heading, overflow="fold")
        for row in self.body.rows if self.body else []:
            table.add_row(*(cell.content for cell in row.cells))
        yield table


class _FlushCode(CodeBlock):
    """Code that is copied from the screen begins where it was written: in Python a blank before it is an error."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(1, 0))


class _NumberedItem(ListItem):
    def __init__(self, written: str) -> None:
        super().__init__()
        self.number = int(written) if written.isdecimal() else None

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> "_NumberedItem":  # noqa: ARG003 -- rich's
        return cls(token.info)


class _NumberedList(ListElement):
    """Who writes "1. 3. 4." means it: a number may be the name of a thing. "1. 1. 1." leaves the counting to us."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        first = 1 if self.list_start is None else self.list_start
        written = [item.number if isinstance(item, _NumberedItem) else None for item in self.items]
        counted = len(set(written)) == 1 and len(written) > 1
        numbers = [first + at if counted or number is None else number for at, number in enumerate(written)]
        for item, number in zip(self.items, numbers, strict=True):
            yield from item.render_number(console, options, number, max(numbers))


class RenderedAnswer(Markdown):
    """One or more whole blocks of an answer."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _LeftHeading,
        "fence": _FlushCode,
        "code_block": _FlushCode,
        "hr": _PlainRule,
        "table_open": _FoldedTable,
        "ordered_list_open": _NumberedList,
        "list_item_open": _NumberedItem,
    }

    def __init__(self, text: str) -> None:
        super().__init__("", code_theme=CODE_THEME, hyperlinks=False)
        self.parsed = parsed_blocks(text)
        for token in self.parsed:
            token.children = list(_as_written(token.children)) if token.children else token.children

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        output = iter(super().__rich_console__(console, options))
        # rich puts a blank line above a list, a quote or a table even when nothing stands before it.
        first = next(output, None)
        if first is not None and first != Segment.line():
            yield first
        yield from output


def _as_written(children: Iterable[Token]) -> Iterable[Token]:
    """Inline tokens with their line breaks kept, and without the link around an address that is its own text."""
    for token in children:
        if token.type == "softbreak":
            token.type = "hardbreak"
        if token.info != "auto":
            yield token
