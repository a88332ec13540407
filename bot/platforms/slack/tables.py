"""Markdown tables in Slack's own form, the block `data_table`, which readers can sort and filter. Pure.

Rules
- Only a table that fits Slack's limits as it is becomes a block, and only outside of lists and quotes. Everything else
  stays Markdown, which Slack shows as a table that cannot be sorted. So does a table with what only Markdown shows:
  bare addresses, which it makes links, names of emoji, and Slack's forms of channels and people.
- Slack sorts a column by number if all of its cells are numbers, else by letter. A column is of numbers only if no
  cell can be read in two ways: "1.234" may be a thousand, or one and a bit.
https://docs.slack.dev/reference/block-kit/blocks/data-table-block
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

from markdown_it.tree import SyntaxTreeNode as Node

from agent.messages import Json
from bot.chat.texts.formatting import shortened
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.markup import MAX_CELLS, markdown_parser, max_cells, plain_text

# Slack's page allows 200 rows below the header, and 20,000 characters in all tables of a message. An earlier version of
# it allowed 100 rows, and the block `table` takes 10,000 characters: a reply's page has no more of either.
MAX_ROWS: Final = 100
MAX_CELL_CHARS: Final = 10_000
MAX_COLUMNS: Final = 20
MIN_ROWS: Final = 2  # With one there is nothing to sort
MAX_TABLES: Final = 10  # In one message, which has up to 50 blocks
PAGE_ROWS: Final = 10  # That are shown at once; Slack shows 5 unless told, and allows 100
CAPTION_CHARS: Final = 100  # Slack names no limit; screen readers read it aloud
MAX_URL_CHARS: Final = 3_000

EMPTY: Final = " "  # Slack takes no cell without a character

_MARKDOWN_ONLY: Final = re.compile(r":[a-z][a-z0-9_+-]*:|<[#@!]|https?://", re.IGNORECASE)
_STYLES: Final[Mapping[str, str]] = {"strong": "bold", "em": "italic", "s": "strike"}
_ADDRESS: Final = re.compile(r"(?:https?|mailto):", re.IGNORECASE)
# At most 15 digits, which a float holds exactly. Thousands are grouped with commas, as in English.
_NUMBER: Final = re.compile(
    r"(?P<sign>[-+\u2212]?)(?P<before>[$€£¥]?)(?P<whole>[0-9]{1,3}(?:,[0-9]{3}){1,3}|[0-9]{1,12})"
    r"(?P<part>\.[0-9]{1,3})?(?P<after> ?%|)"
)
_TWO_READINGS: Final = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}")
# What shows that a dot is the decimal point: it stands before other than three digits, or after groups of thousands.
_ENGLISH: Final = re.compile(
    r"[0-9]+\.[0-9]{1,2}|[0-9]{1,3}(?:,[0-9]{3}){2,}|[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+|0\.[0-9]+"
)


def blocks_with_tables(text: str, limit: int = MAX_TABLES) -> list[Json]:
    """Return a page's text as blocks of Markdown, with its first `limit` tables as blocks of their own; [] if none of
    them can be one.
    """
    if "|" not in text or "\r" in text or max_cells(text) > MAX_CELLS:
        return []
    environment: dict[str, object] = {}
    root = Node(markdown_parser(tables=True).parse(text, environment))
    if environment.get("references"):  # they would be in another block than what they are the addresses of
        return []
    lines, blocks, end, tables, chars = text.split("\n"), list[Json](), 0, 0, 0
    for node in root.children:
        if node.type != "table" or node.map is None or tables >= limit:
            continue
        rows = [[*row.children] for part in node.children for row in part.children]
        texts = [plain_text(cell) for row in rows for cell in row]
        size = sum(map(len, texts))
        if chars + size > MAX_CELL_CHARS or any(map(_MARKDOWN_ONLY.search, texts)) or (block := _table(rows)) is None:
            continue
        start, after = node.map
        blocks += [*_words(lines[end:start]), block]
        end, tables, chars = after, tables + 1, chars + size
    return [*blocks, *_words(lines[end:])] if blocks else []


def count_tables(blocks: Sequence[Json]) -> int:
    return sum(isinstance(block, dict) and block.get("type") == "data_table" for block in blocks)


def _words(lines: Sequence[str]) -> Iterator[Json]:
    if (words := "\n".join(lines).strip("\n")).strip():
        yield {"type": "markdown", "text": words}


def _table(rows: Sequence[Sequence[Node]]) -> "Json | None":
    head, *body = rows
    if not MIN_ROWS <= len(body) <= MAX_ROWS or len(head) > MAX_COLUMNS or any(len(row) != len(head) for row in body):
        return None
    titles = [plain_text(cell).strip() for cell in head]
    numbers = [_numbers([row[column] for row in body]) for column in range(len(head))]
    shown: list[Json] = [[_raw(title) for title in titles]]
    for index, row in enumerate(body):
        values = [None if column is None else column[index] for column in numbers]
        shown.append([_cell(cell, value) for cell, value in zip(row, values, strict=True)])
    columns = ", ".join(filter(None, titles))
    return {
        "type": "data_table",
        "caption": shortened(platforms_texts.TABLE_CAPTION.format(columns=columns).strip(" :"), CAPTION_CHARS),
        "page_size": min(len(body), PAGE_ROWS),
        "rows": shown,
    }


def _raw(text: str) -> Json:
    return {"type": "raw_text", "text": text.strip() or EMPTY}


def _cell(cell: Node, value: float | None) -> Json:
    text = plain_text(cell).strip()
    if value is not None:
        return {"type": "raw_number", "value": value, "text": text}
    spans = [*chain.from_iterable(child.children for child in cell.children)]
    if all(span.type == "text" for span in spans):
        return _raw(text)
    elements: list[Json] = [element for span in spans for element in _elements(span, {})]
    section: Json = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "elements": [section]} if elements else _raw(text)


def _elements(span: Node, style: Mapping[str, Json]) -> Iterator[Json]:
    """Yield a span of a cell as elements of rich text."""
    styled: dict[str, Json] = {"style": {**style}} if style else {}
    if span.type in _STYLES:
        for child in span.children:
            yield from _elements(child, {**style, _STYLES[span.type]: True})
        return
    address = str(span.attrs.get("href") or span.attrs.get("src") or "")
    words = plain_text(span)
    if span.type == "code_inline":
        styled = {"style": {**style, "code": True}}
    if span.type in ("link", "image") and _ADDRESS.match(address) and len(address) <= MAX_URL_CHARS:
        yield {"type": "link", "url": address, "text": words or address, **styled}
    elif words:
        yield {"type": "text", "text": words, **styled}


def _numbers(cells: Sequence[Node]) -> list[float] | None:
    """Return the values of a column's cells; None if it is not certain that all of them are numbers of one kind."""
    if any(child.type != "text" for cell in cells for inline in cell.children for child in inline.children):
        return None
    texts = [plain_text(cell).strip() for cell in cells]
    found = [_NUMBER.fullmatch(text) for text in texts]
    matches = [match for match in found if match is not None]
    units = {(match["before"], match["after"].strip()) for match in matches}
    if len(matches) < len(texts) or len(units) != 1:
        return None
    digits = [text.strip("-+\u2212$€£¥% ") for text in texts]
    if not any(map(_ENGLISH.fullmatch, digits)) and any(map(_TWO_READINGS.fullmatch, digits)):
        return None
    return [_value(match) for match in matches]


def _value(match: re.Match[str]) -> float:
    number = float(match["whole"].replace(",", "") + (match["part"] or ""))
    signed = number if match["sign"] in ("", "+") else -number
    return int(signed) if signed.is_integer() else signed
