"""What becomes of a long answer: pages that each stand alone, and files of what is better had as one. Pure."""

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby, pairwise, takewhile
from typing import Final

import regex

from agent.messages import MAX_FILES, SharedFile
from bot.reply.markdown import CodeFence, LineBlock, block_after, is_row, kind_is_certain, spans, spans_are_certain
from bot.reply_surface import OutFile

# Where a page ends, and what the next one takes over from it.

# How far behind a page's end the text must have come at most before its cut is certain: the longest opening line that
# is repeated, and enough of a link to know that it is one. The next page is shown that much later.
LOOKAHEAD = 300

LEAST_CHARS = 200  # Of the last page: two or three lines. What is shorter looks like something that was left behind.

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
# What ends everything that may become a margin, a marker or a block's start.
_PLAIN = regex.compile(r"[^\s>#*+.)|`~\d-]")


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

    block: LineBlock = LineBlock()  # noqa: RUF009 -- frozen
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
    before: LineBlock
    after: LineBlock

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

        def last(places: Iterable[int], above: int = least, limit: int = self._most, tie: _Tie = _Tie.NONE) -> int:
            return max(
                (at for at in places if above < at <= limit and ties[at] <= tie and self._fits(at)),
                default=0,
            )

        def good(limit: int) -> int:
            return last(self._paragraphs(), half, limit) or last(self._starts, half, limit) or last(words, half, limit)

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
        following = block if going_on else block_after(block, found[0], longest)
        lines.append(_Line(found.start(), found[0], block, following))
        block = following
    return lines


@dataclass(frozen=True, slots=True)
class Page:
    """One page. `start` is where its body begins in the text."""

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


def pages(text: str, limit: int, most_bytes: int | None = None) -> list[Page]:
    """The pages of a complete text; none if it is empty. `limit` is at least 40; see `Pager` for `most_bytes`."""
    pager = Pager(limit, most_bytes)
    pager.read(text, complete=True)
    return pager.pages


class Pager:
    """Give it the whole text each time it has grown; `pages` are all pages, the last one still open.

    `limit` is the most characters of a page, and `most_bytes`, at least 5,000, the most bytes that they may take in
    UTF-8.

    Rules.
    - Every character of the text is in the body of exactly one page, in order: the bodies joined are the text. A page
      may have an opener before its body and a closer behind it; with them it is at most `limit` long.
    - A cut comes before a paragraph, else before a line, else before a word, in the second half of the page; else as
      late as a line or a word allows; else between two grapheme clusters. Whitespace stays at the end of the earlier
      page.
    - Where a good cut leaves at least LEAST_CHARS for the last page, it is taken, though a later one would do.
    - No cut inside a link, an address, inline code, short emphasis or a table's head, unless it alone is longer than a
      page; never inside the line that opens or closes a fence.
    - A fence that goes on is closed, and opened again with the same marker and info. The closer is the marker on a line
      of its own. Inside a code line, a newline stands before the closer and a blank behind it: the blank says that the
      newline is not the text's.
    - A table that goes on at the start of a line has its header and separator repeated.
    - A cut depends on nothing that comes more than LOOKAHEAD characters behind the page, and in plain words on nothing
      more than LEAST_CHARS behind it. So a full page never changes, and is never read again.

    Reading the pages back: undo the opener, which follows from the text so far; then, if the page ends inside a fence
    and is not the last one, the closer.
    """

    def __init__(self, limit: int, most_bytes: int | None = None) -> None:
        self._limit = limit
        self._most_bytes = most_bytes
        self._full: list[Page] = []
        self._carries = [Carry()]
        self._read = ""
        self._open: Page | None = None

    @property
    def pages(self) -> list[Page]:
        return self._full if self._open is None else [*self._full, self._open]

    @property
    def full(self) -> int:
        """How many pages will not change any more."""
        return len(self._full)

    @property
    def settled(self) -> int:
        """How much of the text the full pages hold."""
        return len(self._read)

    def certain(self, text: str) -> int:
        """How many characters of an open page may be shown: the rest is the room in which the page's cut is sought."""
        return self._fitting(text, reserve=min(LOOKAHEAD, self._limit // 8))

    def read(self, text: str, *, complete: bool, shown: int = 0) -> None:
        """Take the text as it is now. If it is not the earlier one grown longer, all pages are made anew.

        `shown`: no cut comes before so many characters, because they have been shown; on the open page no more than is
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
            cut = cutter.best(least=max(0, shown - start))
            page = Page(start, carry.opener, rest[: cut.at], cut.closer)
            if len(rest) < limit + LOOKAHEAD and not complete and not cutter.is_certain(cut):
                self._open = page
                break
            self._full.append(page)
            self._carries.append(cut.carry)
            start = page.end
        self._read = text[:start]

    def freeze(self, number: int, end: int, closer: str | None, text: str) -> None:
        """Page `number` ends for ever at `end`, then `closer`; None closes what is open. The next one goes on there."""
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
        """How many characters can stand on a page that begins with this text, with room for `reserve` more."""
        limit = self._limit - reserve
        if self._most_bytes is None:
            return limit
        written, most = text[:limit].encode("utf-8", "replace"), self._most_bytes - reserve
        return limit if len(written) <= most else len(written[:most].decode("utf-8", "ignore"))


# Which parts of a finished reply are also handed over as files: long code, long tables, and a very long answer.
#
# Rules. What is shown stays as it is: a file is there to be kept and opened, not instead of an answer. The content of a
# code block is handed over as it stands between its fences, to the byte. A name is one plain word of ASCII.

# Of code, or rows of a table: more than a screen shows, so that nobody wants to select it by hand.
LONG_LINES: Final = 60
MAX_PAGES: Final = 6  # An answer of more pages is read more easily as a document
MAX_BYTES: Final = 8_000_000  # Of one file: below Discord's ten mebibytes, and far above what a model writes
MAX_NAME_CHARS: Final = 60
# No line is too long to open or close a fence here: nothing is repeated on another page.
_LONGEST_LINE: Final = 1_000_000

# How files in a language end, where that is not its name.
_ENDINGS: Final = {
    "": "txt",
    "bash": "sh",
    "c#": "cs",
    "c++": "cpp",
    "csharp": "cs",
    "dockerfile": "dockerfile",
    "golang": "go",
    "haskell": "hs",
    "javascript": "js",
    "kotlin": "kt",
    "latex": "tex",
    "makefile": "mk",
    "markdown": "md",
    "objective-c": "m",
    "perl": "pl",
    "plaintext": "txt",
    "powershell": "ps1",
    "py3": "py",
    "python": "py",
    "python3": "py",
    "ruby": "rb",
    "rust": "rs",
    "shell": "sh",
    "text": "txt",
    "typescript": "ts",
    "yml": "yaml",
    "zsh": "sh",
}
_NAMED: Final = re.compile(r"(?:^|[\s:={\"'])([\w-][\w./-]*\.[A-Za-z0-9]{1,10})(?=$|[\s}\"'])", re.ASCII)
_CELLS: Final = re.compile(r"(?<!\\)\|")
# How a cell begins that a spreadsheet would run; in half of the world a semicolon begins one, and in Japan wide signs
# count, too.
_FORMULA: Final = re.compile(
    r"(?:^|(?<=[;\t]))(?=[\s\"]{0,9}(?:[=@\uff1d\uff20]|[+\-\uff0b\uff0d](?![\d.,]{1,99}%?\s?(?:$|[;\t]))))"
)
_FOLDERS: Final = re.compile(r"[/\\]")
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9._-]+")
_AFTER_LANGUAGE: Final = re.compile(r"[\s:{]")


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the reply that may be a file. `named`: by its author, "" if by nobody."""

    stem: str
    ending: str
    content: str
    lines: int
    named: str = ""


def handed_over(text: str, *, pages: int, page_chars: int, shared: Sequence[SharedFile] = ()) -> tuple[OutFile, ...]:
    """The files that come with this answer, which was shown on so many pages of at most `page_chars` characters.

    `shared`: those that tools made or brought.
    """
    parts = [part for part in _parts(text) if part.lines > LONG_LINES or len(part.content) > page_chars]
    if pages > MAX_PAGES:
        parts = [_Part("answer", "md", text, 0, named="answer.md"), *parts]
    made = ((part.named or f"{part.stem}.{part.ending}", part.content.encode(errors="replace")) for part in parts)
    return named([*((file.name, file.data) for file in shared), *made])


def named(files: Sequence[tuple[str, bytes]]) -> tuple[OutFile, ...]:
    """Files of these names and contents: as many and as large as every platform takes, each with a name of its own."""
    taken: set[str] = set()
    made: list[OutFile] = []
    for name, data in files:
        if not data or len(data) > MAX_BYTES or len(made) == MAX_FILES:
            continue
        stem, _, ending = plain_name(name).rpartition(".")
        free = next(n for n in range(1, MAX_FILES + 2) if _numbered(stem, n, ending) not in taken)
        taken.add(_numbered(stem, free, ending))
        made.append(OutFile(_numbered(stem, free, ending), data))
    return tuple(made)


def plain_name(name: str) -> str:
    """The last part of a path as one word of plain characters with an ending."""
    last = _FOLDERS.split(name.strip())[-1]
    word = _NOT_PLAIN.sub("-", last).strip("-.")
    stem, dot, ending = word.rpartition(".")
    if not dot or not ending.isalnum():
        stem, ending = word, "txt"
    return f"{stem[: MAX_NAME_CHARS - len(ending[:10]) - 1] or 'file'}.{ending[:10]}"


def _numbered(stem: str, number: int, ending: str) -> str:
    return f"{stem}.{ending}" if number == 1 else f"{stem}-{number}.{ending}"


def _parts(text: str) -> Iterator[_Part]:
    block, inside = LineBlock(), list[str]()
    for line in [*_LINE.findall(text), ""]:
        then = block_after(block, line, _LONGEST_LINE) if line else LineBlock()
        if _same(block, then):
            inside.append(line)
            continue
        if block.fence is not None:
            yield _code(block.fence, inside)
        elif block.table:
            yield _table(block.table, inside)
        block, inside = then, []


def _same(block: LineBlock, then: LineBlock) -> bool:
    """Whether the line between belongs to what it stands in."""
    if block.fence is not None:
        return then.fence is block.fence
    return bool(block.table) and then.table == block.table


def _code(fence: CodeFence, lines: Sequence[str]) -> _Part:
    info = fence.info.strip()
    language = _AFTER_LANGUAGE.split(info.lower(), maxsplit=1)[0]
    said = _NAMED.search(info)
    ending = _ENDINGS.get(language) or (language if language.isalnum() and len(language) <= 10 else "txt")
    own = "".join(_without_margin(fence, line) for line in lines)
    return _Part("code", ending, own, len(lines), said[1] if said else "")


def _without_margin(fence: CodeFence, line: str) -> str:
    """A line of code without what stands before it because the fence is part of a list or a quote."""
    before, code = line[: len(fence.prefix)], line[len(fence.prefix) :]
    return before.lstrip(" \t>" if fence.quoted else " \t") + code


def _table(head: str, rows: Sequence[str]) -> _Part:
    """As CSV, without the line below the head."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(map(_cells, [head.splitlines()[0], *rows]))
    return _Part("table", "csv", written.getvalue(), len(rows))


def _cells(line: str) -> list[str]:
    row = line.strip(" \t\r\n>")
    row = row.removeprefix("|")
    row = row[:-1] if row.endswith("|") and not row.endswith("\\|") else row
    cells = (cell.strip().replace("\\|", "|") for cell in _CELLS.split(row))
    return [_FORMULA.sub("'", cell) for cell in cells]
