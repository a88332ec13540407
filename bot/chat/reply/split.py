"""Splits a long answer into pages that each render on their own. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby, pairwise, takewhile

import regex

from bot.chat.reply.markdown import (
    HEAD_LINES,
    LineBlock,
    block_after,
    is_row,
    kind_is_certain,
    spans,
    spans_are_certain,
)

# Where a page ends, and what the next one repeats of it.

# How many characters behind a page's end are needed at most before its cut is certain: the longest opening line that
# is repeated, and enough of a link to recognise it. The next page is shown that much later.
LOOKAHEAD = 300

MIN_LAST_CHARS = 200  # Of the last page: two or three lines. A shorter one looks like a leftover.

LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_GRAPHEME = regex.compile(r"\X")
_SURROGATES = regex.compile("[\ud800-\udbff][\udc00-\udfff]")
# Chinese and Japanese are cut between any two signs, except before closing marks; never before a sign that belongs to
# the one in front.
_WORD = regex.compile(
    r"(?:(?<=\s)(?=\S)|(?<=[\p{Han}\p{Hiragana}\p{Katakana}、。，．！？：；」』）】])(?=[\p{Han}\p{Hiragana}\p{Katakana}「『（【]))"
    r"(?![\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}])"
)
_MARGIN = regex.compile(r"[ \t>]++")
_INDENT = regex.compile(r"(?:[ \t]*+\r?\n)*+(?P<indent>[ \t]*+)")
_ITEM = regex.compile(r"[ \t]*+(?P<marker>[-*+]|\d{1,9}[.)])(?:[ \t]|\r?\n)")
_NUMBER = regex.compile(r"\d{1,9}[.)]")
CODE_COLUMNS = 4  # Text that is indented so far outside of a list reads as code
MAX_DEPTH = 16  # Of a list: the items of a deeper one would not fit LOOKAHEAD
_MARKERS = regex.compile(r"(?<![ \t>])[ \t>]*+(?:`{3,}+|~{3,}+)[ \t]*+")
_BLOCK_START = regex.compile(r"[ \t>]*+(?:#{1,6}\s|[-*+>]\s|\d{1,9}[.)]\s|\||`{3}|~{3})")
# A character that cannot belong to a margin, a marker or a block's start.
_PLAIN = regex.compile(r"[^\s>#*+.)|`~\d-]")


class _Tie(IntEnum):
    """How strongly the characters on both sides of a position belong together."""

    NONE = 0
    SPAN = 1
    """Cut only if the span is longer than a page, as its parts would look broken."""
    FENCE_LINE = 2
    """Inside a line that opens or closes a fence: never cut. It always fits a page."""


@dataclass(frozen=True, slots=True)
class ListItem:
    """An open list item. `column` is that of its marker."""

    column: int
    marker: str

    @property
    def opener(self) -> str:
        return f"{' ' * self.column}{self.marker} …"

    @property
    def content(self) -> int:
        """The least column of what belongs to the item."""
        return self.column + len(self.marker) + 1


@dataclass(frozen=True, slots=True)
class Carry:
    """The state at the start of a page: the block and the list items it starts in, the outermost first, whether it
    starts inside a line, and its opener.
    """

    block: LineBlock = LineBlock()  # noqa: RUF009 -- frozen
    items: tuple[ListItem, ...] = ()
    inside_line: bool = False
    opener: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """A page's end: the length of its body, the closer behind it, and the state at the start of the next page."""

    at: int
    closer: str
    carry: Carry


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    before: LineBlock
    after: LineBlock
    items_before: tuple[ListItem, ...]
    items: tuple[ListItem, ...]
    """The open list items behind the line."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def opens_fence(self) -> bool:
        return self.after.fence is not None and self.after.fence is not self.before.fence

    @property
    def ends_fence(self) -> bool:
        return self.before.fence is not None and self.after.fence is not self.before.fence

    @property
    def closes_fence(self) -> bool:
        return self.ends_fence and self.before.fence is not None and not self.before.fence.left_by(self.text)

    @property
    def is_text(self) -> bool:
        """Whether the line is outside of fences and not blank."""
        return self.after.fence is None and not self.closes_fence and not self.text.isspace()

    @property
    def heads_table(self) -> bool:
        """Whether the line is a table's separator, or the last line of a head in a fence."""
        if self.after.fence is not None:
            return self.after.table != self.before.table and self.after.table.count("\n") == HEAD_LINES
        return bool(self.after.table) and not self.before.table


class Cutter:
    """Finds the cut of one page. `rest` is the text from the page's start, up to `limit` + LOOKAHEAD characters."""

    def __init__(self, rest: str, carry: Carry, limit: int) -> None:
        self._rest = rest
        self._carry = carry
        self._max_chars = limit - len(carry.opener)
        self._max_line = min(limit // 4, LOOKAHEAD)
        self._min_left = min(limit // 10, MIN_LAST_CHARS)
        self._lines = _read_lines(rest, carry, self._max_line)
        self._starts = [line.start for line in self._lines]

    def best(self, min_chars: int = 0) -> Cut:
        """Return the cut for a page that cannot hold all of `rest`: the last position of the best kind.

        `min_chars`: no cut comes before this position.
        """
        ties = self._ties()
        half = max(self._max_chars // 2, min_chars)
        words = [*self._words()]

        def last(
            positions: Iterable[int], above: int = min_chars, limit: int = self._max_chars, tie: _Tie = _Tie.NONE
        ) -> int:
            return max(
                (at for at in positions if above < at <= limit and ties[at] <= tie and self._fits(at)),
                default=0,
            )

        def good(limit: int) -> int:
            return last(self._paragraphs(), half, limit) or last(self._starts, half, limit) or last(words, half, limit)

        position = (
            good(self._max_chars)
            or last((*self._starts, *words))
            or last(self._graphemes())
            or last(self._graphemes(), tie=_Tie.SPAN)
            or last(range(1, self._max_chars + 1), tie=_Tie.SPAN)
            or min_chars
        )
        if position > (balanced := len(self._rest) - self._min_left):
            position = good(balanced) or position
        return self.at(position)

    def at(self, position: int) -> Cut:
        """Return the cut after `position` characters, good or bad."""
        line, inside = self._line_at(position)
        following = self._rest[position : position + LOOKAHEAD]
        if inside:
            block = replace(line.after, header="")
            fence = block.fence
            if fence is None:
                opener = self._items_opener(line.items).removesuffix("\n") if following.strip() else ""
                return Cut(position, "", Carry(block, line.items, inside_line=True, opener=opener and f"{opener} "))
            opener = self._in_list(line.items, f"{fence.opener}\n{fence.prefix if fence.quoted else ''}")
            return Cut(position, f"\n{fence.closer} ", Carry(block, line.items, inside_line=True, opener=opener))
        block, items = (line.before, line.items_before) if position == line.start else (line.after, line.items)
        if block.fence is not None:
            opener = self._in_list(items, f"{block.fence.opener}\n{block.table}")
            return Cut(position, block.fence.closer, Carry(block, items, opener=opener))
        table_continues = not following or is_row(following.partition("\n")[0])
        opener = self._in_list(items, block.table if table_continues else "", following)
        return Cut(position, "", Carry(block, items, opener=opener))

    def _in_list(self, items: tuple[ListItem, ...], opener: str, following: str = "") -> str:
        """Return `opener` behind the items that hold the next line, if the line would read as code without them. The
        next line is the first of `opener`, or else of `following`.
        """
        indent = _INDENT.match(opener or following)
        column = 0 if indent is None else _columns(indent["indent"])
        if indent is None or column < CODE_COLUMNS or not (opener or following.strip()):
            return opener
        around = self._items_opener([item for item in items if item.content <= column], len(opener))
        if around and not opener and _NUMBER.match(following, indent.end()):
            return f"{around}\n"
        return around + opener

    def _items_opener(self, items: Iterable[ListItem], reserve: int = 0) -> str:
        # Inside of another item, a number other than 1 starts an item only after a blank line.
        opener = "".join(f"\n{item.opener}\n" if item.marker[0].isdigit() else f"{item.opener}\n" for item in items)
        opener = opener.removeprefix("\n")
        return opener if len(opener) + reserve <= self._max_line else ""

    def is_certain(self, cut: Cut) -> bool:
        """Whether the best cut stays the best whatever text follows. False if that cannot be determined."""
        if len(self._rest) < self._max_chars + self._min_left or _PLAIN.search(self._rest, self._max_chars) is None:
            return False
        if cut.at > self._max_chars // 2 and cut.at in self._paragraphs():
            return True  # no span, fence or table crosses the border between two paragraphs
        if cut.at not in self._starts and cut.at not in self._words():
            return False
        return self._last_line_is_certain(cut.at) and self._spans_are_certain()

    def _last_line_is_certain(self, position: int) -> bool:
        """Whether the last line, which may be incomplete, cannot become anything that affects a cut at `position`."""
        last = self._lines[-1]
        if last.text.endswith("\n") or (self._carry.inside_line and len(self._lines) == 1):
            return position <= last.start or not last.after.header
        if last.text.isspace() or not kind_is_certain(last.before, last.text, self._max_line):
            return False
        may_head_table = last.after.fence is None and len(last.text) <= self._max_line
        return position <= last.start or not may_head_table

    def _spans_are_certain(self) -> bool:
        """Whether the spans in the last lines of text cannot change."""
        text = "".join(line.text for line in takewhile(lambda line: line.is_text, reversed(self._lines)))
        return not text or spans_are_certain(self._rest[-len(text) :])

    def _line_at(self, position: int) -> tuple[_Line, bool]:
        """Return the line that starts at, contains or ends at `position`, and whether `position` is inside of it."""
        line = self._lines[bisect_right(self._starts, position) - 1]
        return line, line.start < position and not (position == line.end and line.text.endswith("\n"))

    def _fits(self, position: int) -> bool:
        return position + len(self.at(position).closer) <= self._max_chars

    def _paragraphs(self) -> Iterator[int]:
        """Yield the start of each paragraph that does not directly follow a heading."""
        before_blank = ""
        for earlier, line in pairwise(self._lines):
            if not earlier.text.isspace():
                before_blank = earlier.text
            elif line.before.fence is None and not line.text.isspace() and not before_blank.startswith("#"):
                yield line.start

    def _words(self) -> Iterator[int]:
        """Yield positions before a word or between two ideographs, except where the rest would start a list item, a
        fence or a heading.
        """
        for match in _WORD.finditer(self._rest, 0, self._max_chars + 1):
            if not _BLOCK_START.match(self._rest, match.start()):
                yield match.start()

    def _graphemes(self) -> Iterator[int]:
        for match in _GRAPHEME.finditer(self._rest):
            if not _SURROGATES.match(self._rest, max(0, match.start() - 1)):
                yield match.start()

    def _ties(self) -> bytearray:
        """Return the tie at each position of `rest`."""
        ties = bytearray(len(self._rest) + 1)

        def tie(start: int, end: int, strength: _Tie) -> None:
            for position in range(max(0, start), min(end, len(ties))):
                ties[position] = max(ties[position], strength)

        for line in self._lines:
            if line.opens_fence:
                tie(line.start + 1, line.end, _Tie.FENCE_LINE)
                tie(line.end, line.end + 1, _Tie.SPAN)  # no empty fence at the end of a page
            if line.closes_fence:
                tie(line.start + 1, line.end, _Tie.FENCE_LINE)
            if line.ends_fence:
                tie(line.start, line.start + 1, _Tie.SPAN)  # nor at the start of one
            if line.heads_table:
                tie(line.end - len(line.after.table) + 1, line.end + 1, _Tie.SPAN)
            if margin := _MARGIN.match(line.text):
                tie(line.start + 1, line.start + margin.end() + 1, _Tie.SPAN)
            for marker in _MARKERS.finditer(line.text):  # alone on a line, each would be a fence
                tie(line.start + marker.start(), line.start + marker.end() + 1, _Tie.SPAN)
        for is_text, group in groupby(self._lines, key=lambda line: line.is_text):
            lines = [*group]
            start, end = lines[0].start, lines[-1].end
            for span_start, span_end in spans(self._rest[start:end]) if is_text else ():
                tie(start + span_start + 1, start + span_end, _Tie.SPAN)
        return ties


def _read_lines(rest: str, carry: Carry, max_line: int) -> list[_Line]:
    lines: list[_Line] = []
    block, items = carry.block, carry.items
    for match in LINE.finditer(rest):
        continues_line = carry.inside_line and not lines
        following = block if continues_line else block_after(block, match[0], max_line)
        items_before, items = items, items if continues_line else _items_after(items, block, match[0])
        lines.append(_Line(match.start(), match[0], block, following, items_before, items))
        block = following
    return lines


def _columns(indent: str) -> int:
    return len(indent.expandtabs(CODE_COLUMNS))


def _items_after(items: tuple[ListItem, ...], block: LineBlock, line: str) -> tuple[ListItem, ...]:
    """Return the list items that are open behind a line in this block."""
    if line.isspace() or (block.fence is not None and not block.fence.left_by(line)):
        return items
    item, indent = _ITEM.match(line), _INDENT.match(line)
    column = 0 if indent is None else _columns(indent["indent"])
    if item is None:
        return tuple(one for one in items if one.content <= column)
    parents = tuple(one for one in items if one.content <= column)
    if column - (parents[-1].content if parents else 0) >= CODE_COLUMNS or len(parents) == MAX_DEPTH:
        return parents
    return (*parents, ListItem(column, item["marker"]))


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `start` is the position of its body in the text."""

    start: int
    opener: str
    body: str
    closer: str = ""

    @property
    def text(self) -> str:
        return f"{self.opener}{self.body}{self.closer}"

    @property
    def end(self) -> int:
        return self.start + len(self.body)


def pages(text: str, limit: int, max_bytes: int | None = None) -> list[Page]:
    """Return the pages of a complete text; none if it is empty. `limit` is at least 40; see `Pager` for `max_bytes`."""
    pager = Pager(limit, max_bytes)
    pager.read(text, complete=True)
    return pager.pages


class Pager:
    """Splits a growing text into pages. Pass the whole text to `read` each time it has grown; the last of `pages` is
    still open.

    `limit` is the maximum length of a page in characters, and `max_bytes`, at least 5,000, in bytes of UTF-8.

    Rules.
    - Every character of the text is in the body of exactly one page, in order: the bodies joined are the text. A page
      may have an opener before its body and a closer behind it; `limit` includes both.
    - A cut comes before a paragraph, else before a line, else before a word, in the second half of the page; else as
      late as a line or a word allows; else between two grapheme clusters. Whitespace stays at the end of the earlier
      page.
    - A good cut that leaves at least MIN_LAST_CHARS for the last page is preferred to a later one.
    - No cut is inside a link, an address, inline code, short emphasis or a table's head, unless it alone is longer than
      a page; never inside a line that opens or closes a fence.
    - A fence that continues is closed, and opened again with the same marker and info, and with the head of a table
      in it. The closer is the marker on a line of its own. Inside a code line, a newline is put before the closer and
      a blank behind it: the blank marks that the newline is not part of the text.
    - A table that continues at the start of a line has its header and separator repeated.
    - A page that starts inside a line of a list opens the list items around it again, each with "…" for its text. So
      does one that starts with a line indented by CODE_COLUMNS or more, as without its list the line reads as code.
    - A cut does not depend on text more than LOOKAHEAD characters behind the page; in plain text, more than
      MIN_LAST_CHARS. So a full page never changes and is never read again.

    To restore the text from the pages, remove the opener, which follows from the text so far; then, if the page ends
    inside a fence and is not the last one, the closer.
    """

    def __init__(self, limit: int, max_bytes: int | None = None) -> None:
        self._limit = limit
        self._max_bytes = max_bytes
        self._full: list[Page] = []
        self._carries = [Carry()]
        self._read = ""
        self._open: Page | None = None

    @property
    def pages(self) -> list[Page]:
        return self._full if self._open is None else [*self._full, self._open]

    @property
    def full(self) -> int:
        """The number of pages that will not change any more."""
        return len(self._full)

    @property
    def settled(self) -> int:
        """The number of characters of the text in the full pages."""
        return len(self._read)

    def certain(self, text: str) -> int:
        """Return how many characters of an open page may be shown. The page's cut may fall in the rest."""
        return self._fitting(text, reserve=min(LOOKAHEAD, self._limit // 8))

    def read(self, text: str, *, complete: bool, shown: int = 0) -> None:
        """Set the text as it is now. If it does not start with the text of the full pages, all pages are split again.

        `shown`: how many characters have been shown, before which there is no cut. On the open page, at most what is
        `certain`, or the whole of a complete text.
        """
        if not text.startswith(self._read):
            self._full, self._carries, self._read = [], [Carry()], ""
        start, window = len(self._read), self._limit + LOOKAHEAD
        while True:
            carry, rest = self._carries[-1], text[start : start + window]
            limit = self._fitting(carry.opener + rest)
            if len(carry.opener) + len(rest) <= limit:
                self._open = Page(start, carry.opener, rest) if rest else None
                break
            rest = rest[: limit + LOOKAHEAD]
            cutter = Cutter(rest, carry, limit)
            cut = cutter.best(min_chars=max(0, shown - start))
            page = Page(start, carry.opener, rest[: cut.at], cut.closer)
            if len(rest) < limit + LOOKAHEAD and not complete and not cutter.is_certain(cut):
                self._open = page
                break
            self._full.append(page)
            self._carries.append(cut.carry)
            start = page.end
        self._read = text[:start]

    def freeze(self, number: int, end: int, closer: str | None, text: str) -> None:
        """End page `number` permanently at `end`, with `closer`; None: with what closes an open fence. The next page
        continues at `end`.
        """
        start = self.pages[number].start if number < len(self.pages) else self.settled
        ended, carry = Page(start, "", ""), self._carries[number]
        if end > start:
            rest = text[start : start + self._limit + LOOKAHEAD]
            cut = Cutter(rest, carry, self._limit).at(end - start)
            ended = Page(start, carry.opener, rest[: cut.at], cut.closer if closer is None else closer)
            carry = cut.carry
        self._full = [*self._full[:number], ended]
        self._carries = [*self._carries[: number + 1], carry]
        self._read, self._open = text[:end], None

    def _fitting(self, text: str, reserve: int = 0) -> int:
        """Return how many characters of this text fit a page, with room for `reserve` more."""
        limit = self._limit - reserve
        if self._max_bytes is None:
            return limit
        encoded, max_bytes = text[:limit].encode("utf-8", "replace"), self._max_bytes - reserve
        return limit if len(encoded) <= max_bytes else len(encoded[:max_bytes].decode("utf-8", "ignore"))
