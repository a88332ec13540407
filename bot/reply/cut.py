"""Where a page ends, and what the next one takes over from it: the rules stand in `bot.reply.split`. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby, pairwise, takewhile

import regex

from bot.reply.markdown import Block, after, is_row, kind_is_certain, spans, spans_are_certain

LOOKAHEAD = 300
"""How far behind a page's end the text must have come at most before its cut is certain: the longest opening line that
is repeated, and enough of a link to know that it is one. The next page is shown that much later."""

LEAST_CHARS = 200
"""Of the last page: two or three lines. What is shorter looks like something that was left behind."""

_LINE = regex.compile(r"[^\n]*+\n|[^\n]++")
_GRAPHEME = regex.compile(r"\X")
_SURROGATES = regex.compile("[\ud800-\udbff][\udc00-\udfff]")
_WORD = regex.compile(
    r"(?:(?<=\s)(?=\S)|(?<=[\p{Han}\p{Hiragana}\p{Katakana}、。，．！？：；」』）】])(?=[\p{Han}\p{Hiragana}\p{Katakana}「『（【]))"
    r"(?![\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}])"
)
_MARGIN = regex.compile(r"[ \t>]++")
_MARKERS = regex.compile(r"(?<![ \t>])[ \t>]*+(?:`{3,}+|~{3,}+)[ \t]*+")
_BLOCK_START = regex.compile(r"[ \t>]*+(?:#{1,6}\s|[-*+>]\s|\d{1,9}[.)]\s|\||`{3}|~{3})")
_PLAIN = regex.compile(r"[^\s>#*+.)|`~\d-]")
"""What ends everything that may become a margin, a marker or a block's start."""


class _Tie(IntEnum):
    """How strongly the characters on both sides of a place belong together."""

    NONE = 0
    SPAN = 1
    """They would look broken apart; cut only if they are longer than a page."""
    FENCE_LINE = 2
    """Inside a line that opens or closes a fence: never cut. It always fits a page."""


@dataclass(frozen=True, slots=True)
class Carry:
    """What a page takes over: what it stands in, whether it begins inside a line, and what it repeats."""

    block: Block = Block()  # noqa: RUF009 -- frozen
    inside_line: bool = False
    opener: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """A page's end: its body's length, what is added behind it, and what the next page takes over."""

    at: int
    closer: str
    carry: Carry


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    text: str
    before: Block
    after: Block

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
        """Outside of fences, and not blank."""
        return self.after.fence is None and not self.closes_fence and not self.text.isspace()

    @property
    def heads_table(self) -> bool:
        """It is a table's separator."""
        return bool(self.after.table) and not self.before.table


class Cutter:
    """Reads what a page can show, beginning at its start: `rest`, at most `limit` + LOOKAHEAD characters."""

    def __init__(self, rest: str, carry: Carry, limit: int) -> None:
        self._rest = rest
        self._carry = carry
        self._most = limit - len(carry.opener)
        self._longest = min(limit // 4, LOOKAHEAD)
        self._least_left = min(limit // 10, LEAST_CHARS)
        self._lines = _read_lines(rest, carry, self._longest)
        self._starts = [line.start for line in self._lines]

    def best(self, least: int = 0) -> Cut:
        """The cut for a page that cannot hold all of `rest`: the best kind of place, and of its kind the last.

        `least`: so many characters it surely has.
        """
        ties = self._ties()
        half = max(self._most // 2, least)
        words = [*self._words()]

        def last(places: Iterable[int], above: int = least, most: int = self._most, tie: _Tie = _Tie.NONE) -> int:
            return max(
                (at for at in places if above < at <= most and ties[at] <= tie and self._fits(at)),
                default=0,
            )

        def good(most: int) -> int:
            return last(self._paragraphs(), half, most) or last(self._starts, half, most) or last(words, half, most)

        place = (
            good(self._most)
            or last((*self._starts, *words))
            or last(self._graphemes())
            or last(self._graphemes(), tie=_Tie.SPAN)
            or last(range(1, self._most + 1), tie=_Tie.SPAN)
            or least
        )
        if place > (balanced := len(self._rest) - self._least_left):
            place = good(balanced) or place
        return self.at(place)

    def at(self, place: int) -> Cut:
        """The cut after `place` characters, good or bad."""
        line, inside = self._line(place)
        if inside:
            block = replace(line.after, header="")
            fence = block.fence
            if fence is None:
                return Cut(place, "", Carry(block, inside_line=True))
            opener = f"{fence.opener}\n{fence.prefix if fence.quoted else ''}"
            return Cut(place, f"\n{fence.closer} ", Carry(block, inside_line=True, opener=opener))
        block = line.before if place == line.start else line.after
        if block.fence is not None:
            return Cut(place, block.fence.closer, Carry(block, opener=f"{block.fence.opener}\n"))
        following = self._rest[place : place + LOOKAHEAD]
        goes_on = not following or is_row(following.partition("\n")[0])
        return Cut(place, "", Carry(block, opener=block.table if goes_on else ""))

    def is_certain(self, cut: Cut) -> bool:
        """Whether the best cut stays the best, whatever text follows. It may be so without our seeing it."""
        if len(self._rest) < self._most + self._least_left or _PLAIN.search(self._rest, self._most) is None:
            return False
        if cut.at > self._most // 2 and cut.at in self._paragraphs():
            return True  # no span, fence or table reaches from one paragraph into another
        if cut.at not in self._starts and cut.at not in self._words():
            return False
        return self._last_line_is_certain(cut.at) and self._spans_are_certain()

    def _last_line_is_certain(self, place: int) -> bool:
        """Whether the last line, which may go on, cannot become anything that matters at `place`."""
        last = self._lines[-1]
        if last.text.endswith("\n") or (self._carry.inside_line and len(self._lines) == 1):
            return place <= last.start or not last.after.header
        if last.text.isspace() or not kind_is_certain(last.before, last.text, self._longest):
            return False
        may_head_table = last.after.fence is None and len(last.text) <= self._longest
        return place <= last.start or not may_head_table

    def _spans_are_certain(self) -> bool:
        """Whether the spans in the last lines of text cannot change."""
        text = "".join(line.text for line in takewhile(lambda line: line.is_text, reversed(self._lines)))
        return not text or spans_are_certain(self._rest[-len(text) :])

    def _line(self, place: int) -> tuple[_Line, bool]:
        """The line that begins at, holds, or ends the text at `place`; and whether `place` is inside it."""
        line = self._lines[bisect_right(self._starts, place) - 1]
        return line, line.start < place and not (place == line.end and line.text.endswith("\n"))

    def _fits(self, place: int) -> bool:
        return place + len(self.at(place).closer) <= self._most

    def _paragraphs(self) -> Iterator[int]:
        """Before a paragraph, but not right after a heading."""
        before_blank = ""
        for earlier, line in pairwise(self._lines):
            if not earlier.text.isspace():
                before_blank = earlier.text
            elif line.before.fence is None and not line.text.isspace() and not before_blank.startswith("#"):
                yield line.start

    def _words(self) -> Iterator[int]:
        """Before a word, or between two ideographs; not where the rest would read as a list item, fence or heading."""
        for found in _WORD.finditer(self._rest, 0, self._most + 1):
            if not _BLOCK_START.match(self._rest, found.start()):
                yield found.start()

    def _graphemes(self) -> Iterator[int]:
        for found in _GRAPHEME.finditer(self._rest):
            if not _SURROGATES.match(self._rest, max(0, found.start() - 1)):
                yield found.start()

    def _ties(self) -> bytearray:
        """The tie at each place of `rest`."""
        ties = bytearray(len(self._rest) + 1)

        def tie(start: int, end: int, strength: _Tie) -> None:
            for place in range(max(0, start), min(end, len(ties))):
                ties[place] = max(ties[place], strength)

        for line in self._lines:
            if line.opens_fence:
                tie(line.start + 1, line.end, _Tie.FENCE_LINE)
                tie(line.end, line.end + 1, _Tie.SPAN)  # no empty fence at a page's end
            if line.closes_fence:
                tie(line.start + 1, line.end, _Tie.FENCE_LINE)
            if line.ends_fence:
                tie(line.start, line.start + 1, _Tie.SPAN)  # nor at a page's start
            if line.heads_table:
                tie(line.end - len(line.after.table) + 1, line.end + 1, _Tie.SPAN)
            if margin := _MARGIN.match(line.text):
                tie(line.start + 1, line.start + margin.end() + 1, _Tie.SPAN)
            for found in _MARKERS.finditer(line.text):
                tie(
                    line.start + found.start(), line.start + found.end() + 1, _Tie.SPAN
                )  # alone, they would read as one
        for is_text, group in groupby(self._lines, key=lambda line: line.is_text):
            lines = [*group]
            start, end = lines[0].start, lines[-1].end
            for span_start, span_end in spans(self._rest[start:end]) if is_text else ():
                tie(start + span_start + 1, start + span_end, _Tie.SPAN)
        return ties


def _read_lines(rest: str, carry: Carry, longest: int) -> list[_Line]:
    lines: list[_Line] = []
    block = carry.block
    for found in _LINE.finditer(rest):
        going_on = carry.inside_line and not lines
        following = block if going_on else after(block, found[0], longest)
        lines.append(_Line(found.start(), found[0], block, following))
        block = following
    return lines
