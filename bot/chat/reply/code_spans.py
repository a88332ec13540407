"""Which parts of a Markdown text are code for everybody who will read it. Pure, in linear time.

What is written to a platform is changed in two ways: links show their addresses, and mentions notify nobody. In code
both would be damage, as code has to arrive as the model wrote it. But what is no code for the platform is a link or a
mention there, whatever Markdown says. So this module answers one question, and in doubt its answer is no.

Theory of operation. The text is read line by line, as blocks come before spans in Markdown. A block of backticks is
code if its opening line, its margin and each line up to its end leave no doubt; a span if both of its markers are on
one line. At the first construct that parsers are known to read differently, nothing after it is code (`lost`), or no
span up to the next blank line (`blurred`).

Where readers differ:
- Tildes open a block in CommonMark only. Indentation alone never counts as code here.
- On Discord a block ends at the first three backticks, wherever they are, and there is none without them. A span goes
  on over lines and paragraphs. Emphasis, spoilers, links and addresses that begin earlier swallow its markers: so all
  of these have to end before it, on their line, and before a page can be cut.
- HTML is text for some and markup for others, in which backticks mean nothing; cells of a table end inside of spans.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import regex

from bot.chat.reply.surface import MarkdownReader

MAX_SPAN_CHARS: Final = 200  # Of inline code, and of emphasis on Discord: no page is cut inside of a shorter one


@dataclass(frozen=True, slots=True)
class CodeMap:
    """The code of a text: `spans` in order, each as start and end. From `undecided` on, text that is no code now can
    still become it while the text grows.
    """

    spans: Sequence[tuple[int, int]]
    undecided: int

    def covers(self, position: int) -> bool:
        before = bisect_right(self.spans, position, key=lambda span: span[0]) - 1
        return before >= 0 and self.spans[before][0] <= position < self.spans[before][1]


def code_map(text: str, reader: MarkdownReader, *, complete: bool = True) -> CodeMap:
    """Return what is certainly code in the text. Not `complete`: more text may follow."""
    if "`" not in text and "~~~" not in text:
        return CodeMap((), len(text))
    scanner = _Scanner(reader, complete=complete)
    for line in _LINE.finditer(text):
        scanner.line(line.start(), line[0])
        if scanner.lost:
            break
    return scanner.end(len(text))


_LINE: Final = regex.compile(r"[^\n]*+\n|[^\n]++")
_QUOTE: Final = regex.compile(r" {0,3}> ?")
_INDENT: Final = regex.compile(r" *+")
_ITEM: Final = regex.compile(r"(?:[-*+]|(?P<number>\d{1,9})[.)]) {1,4}(?=\S)")
_FENCE: Final = regex.compile(r"(?P<marker>`{3,}+)[^`]*+|(?P<marker>~{3,}+).*+")
_FENCE_LIKE: Final = regex.compile(r"(?:[ \t]|>|(?:[-*+]|\d{1,9}[.)])[ \t])*+(?:`{3,}+[^`]*+\Z|~{3})")
_ENDLESS_HTML: Final = regex.compile(r"<(?:!|\?|(?:script|pre|style|textarea)\b)", regex.IGNORECASE)
_HTML: Final = regex.compile(r"</?[A-Za-z]")
_TOKEN: Final = regex.compile(r"\\.|`++|<(?=[A-Za-z/!?])")
_RUN: Final = regex.compile(r"`++")

_EMPHASIS: Final = regex.compile(rf"(\*{{1,3}}+|_{{1,2}}+|~~|\|\|)(?=\S)[^\n]{{1,{MAX_SPAN_CHARS}}}?(?<=\S)\1")
_MARKS: Final = regex.compile(r"[*_~|]")
_ESCAPE: Final = regex.compile(r"\\[^0-9A-Za-z\s]")
_STAR: Final = regex.compile(r"(?<=\S)\*|\*(?=\S)")
_UNDERSCORE: Final = regex.compile(r"(?<!\w)_|_(?!\w)")
_BRACKET: Final = regex.compile(r"[\[\]]")


@dataclass(slots=True)
class _Fence:
    """An open block: where its code starts, and what its lines have before them."""

    start: int
    quotes: int
    base: int
    indent: int
    marker: str
    is_blank: bool = True


@dataclass(slots=True)
class _Balance:
    """Whether each mark of Discord that began in the prose so far has also ended."""

    stars: int = 0
    double_stars: int = 0
    underscores: int = 0
    double_underscores: int = 0
    tildes: int = 0
    bars: int = 0
    brackets: int = 0

    def add(self, prose: str) -> None:
        prose = _ESCAPE.sub("", prose)
        self.double_stars += prose.count("**")
        self.stars += len(_STAR.findall(prose.replace("**", "")))
        self.double_underscores += prose.count("__")
        self.underscores += len(_UNDERSCORE.findall(prose.replace("__", "")))
        self.tildes += prose.count("~~")
        self.bars += prose.count("||")
        for bracket in _BRACKET.findall(prose):
            self.brackets = self.brackets + 1 if bracket == "[" else max(0, self.brackets - 1)

    def holds(self) -> bool:
        pairs = (self.stars, self.double_stars, self.underscores, self.double_underscores, self.tildes, self.bars)
        return not (self.brackets or any(count % 2 for count in pairs))


@dataclass(slots=True)
class _Scanner:
    reader: MarkdownReader
    complete: bool
    lost: bool = False
    spans: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    _undecided: int | None = None
    _fence: _Fence | None = None
    _blurred: bool = False
    _in_html: bool = False
    _after_blank: bool = True
    _quotes: int = 0
    _lists: list[int] = field(default_factory=list[int])
    """The columns at which the content of the open list items starts, the outermost first."""
    _balance: _Balance = field(default_factory=_Balance)

    def end(self, length: int) -> CodeMap:
        fence = self._fence
        if fence is not None and not self.lost and not (self.complete and self._is_loose):
            self._add(fence.start, length)
        return CodeMap(self.spans, length if self._undecided is None else self._undecided)

    @property
    def _is_loose(self) -> bool:
        return self.reader is MarkdownReader.LOOSE

    def _add(self, start: int, end: int) -> None:
        if start < end:
            self.spans.append((start, end))

    def line(self, start: int, line: str) -> None:
        # Some readers end a line at each carriage return. At the end of a text that grows a line feed may follow it.
        self.lost = self.lost or "\r" in line.removesuffix("\n").removesuffix("\r")
        body, whole = line.rstrip("\r\n"), self.complete or line.endswith("\n")
        if self._fence is not None and self._stays_in(self._fence, start, body):
            return
        if self.lost:
            return
        if not body.strip(" \t"):
            self._blurred, self._in_html, self._after_blank = False, False, True
            return
        self._outside(start, body, start + len(line), whole=whole)
        self._after_blank = False

    def _stays_in(self, fence: _Fence, start: int, body: str) -> bool:
        """Whether the line belongs to the block, as its code or as its end."""
        at = 0
        for _ in range(fence.quotes):
            quote = _QUOTE.match(body, at)
            if quote is None:
                self._leave(fence, start)
                return False
            at = quote.end()
        margin = _INDENT.match(body, at)
        indent = 0 if margin is None else margin.end() - at
        code = body[at + indent :]
        if not code.strip(" \t"):
            return True
        bare = code.rstrip(" \t")
        closes = bare.startswith(fence.marker) and not bare.strip(fence.marker[0])
        if closes and fence.indent <= indent <= fence.base + 3:
            self._add(fence.start, start)
            self._fence = None
            self.lost = self._is_loose and (len(bare) > 3 or fence.is_blank)
            return True
        fence.is_blank = False
        if closes or indent < fence.indent:  # parsers differ in whether the block goes on
            self._leave(fence, start)
            self.lost = True
        elif self._is_loose and "```" in body:
            self._add(fence.start, start + body.index("```"))
            self._fence, self.lost = None, True
        return True

    def _leave(self, fence: _Fence, end: int) -> None:
        """End a block without its closing line, where Discord sees no block at all."""
        if self._is_loose:
            self.lost = True
        else:
            self._add(fence.start, end)
        self._fence = None

    def _outside(self, start: int, body: str, after: int, *, whole: bool) -> None:
        at = quotes = 0
        while (quote := _QUOTE.match(body, at)) is not None:
            at, quotes = quote.end(), quotes + 1
        # Lists do not go on into or out of a quotation.
        if quotes != self._quotes:
            self._quotes, self._lists = quotes, []
        line_start, doubtful = at, False
        margin = _INDENT.match(body, at)
        column = 0 if margin is None else margin.end() - at
        if not body[at:].strip():
            return
        # A line that begins left of an item's content ends the item (CommonMark 5.2).
        self._lists = [content for content in self._lists if content <= column]
        while (item := _ITEM.match(body, line_start + column)) is not None:
            base = self._lists[-1] if self._lists else 0
            number = item["number"]
            # In a paragraph only a list that begins with 1 interrupts, so that a year at the start of a line does not.
            starts = number is None or int(number) == 1 or self._after_blank or bool(self._lists)
            # Four columns further right it would be indented code, or it belongs to the paragraph: readers differ
            # there.
            doubtful = doubtful or not base <= column <= base + 3 or not starts
            column += item.end() - item.start()
            if not doubtful:
                self._lists.append(column)
        base = self._lists[-1] if self._lists else 0
        content = body[line_start + column :]
        opening = _FENCE.fullmatch(content)
        if opening is not None and not doubtful and base <= column <= base + 3 and not self._in_html:
            # Only CommonMark opens a block with tildes; for other readers nothing is certain to be code from here on.
            if content[0] == "~" and self.reader is not MarkdownReader.COMMONMARK:
                self.lost = True
            elif not whole:
                self._undecided = start + line_start + column
            elif self._is_loose and (len(opening["marker"]) > 6 or not self._balance.holds()):
                self.lost = True
            else:
                self._fence = _Fence(after, quotes, base, column, opening["marker"])
            return
        if _FENCE_LIKE.match(body) is not None or _ENDLESS_HTML.match(content) is not None:
            self.lost = True
            return
        self._in_html = self._in_html or _HTML.match(content) is not None
        if not (self._blurred or self._in_html):
            self._inline(content, start + line_start + column, whole=whole)

    def _inline(self, content: str, offset: int, *, whole: bool) -> None:
        # All runs of backticks by length, found once: a search for each opening one would be quadratic.
        runs: dict[int, list[int]] = {}
        for run in _RUN.finditer(content):
            runs.setdefault(run.end() - run.start(), []).append(run.start())
        at = tag_end = 0
        for token in _TOKEN.finditer(content):
            if token.start() < max(at, tag_end) or token[0][0] == "\\":
                continue
            if token[0] == "<":
                tag_end = content.find(">", token.end())
                # Whether HTML or code begins first differs between readers where they overlap.
                if content[token.end()] in "!?" or tag_end < 0 or "`" in content[token.end() : tag_end]:
                    self._blur(offset + token.start(), whole=whole)
                    return
                continue
            size = token.end() - token.start()
            candidates = runs.get(size, [])
            closing = bisect_left(candidates, token.end())
            # An opening run may be closed in a line that has not come yet, and a run at the end may become longer.
            if closing == len(candidates) or (not whole and candidates[closing] + size == len(content)):
                self._blur(offset + token.start(), whole=whole)
                return
            end = candidates[closing] + size
            self._prose(content[at : token.start()])
            if not self._is_certain(content, at, token.start(), end, size):
                self._blurred = True
                self.lost = self.lost or self._is_loose
                return
            if not self._is_loose or self._balance.holds():
                self._add(offset + token.start(), offset + end)
            at = end
            if self._is_loose and size > 3:
                self.lost = True
                return
        self._prose(content[at:])
        if self._is_loose and whole and not self._ends_emphasis(content):
            self.lost = True

    def _prose(self, prose: str) -> None:
        self._balance.add(f"`{prose}`")  # what is beside code is no blank

    def _ends_emphasis(self, content: str) -> bool:
        """Whether all emphasis of a line ends on it, too soon for a page to be cut inside."""
        if not self._balance.holds():
            return False
        return len(content) <= MAX_SPAN_CHARS or _MARKS.search(_EMPHASIS.sub("", _ESCAPE.sub("", content))) is None

    def _is_certain(self, content: str, at: int, start: int, end: int, size: int) -> bool:
        """Whether the markers at `start` and before `end` hold a span for every reader; `at`: the end of the last."""
        if end - start > MAX_SPAN_CHARS or "|" in content[start:end] or end - start == 2 * size:
            return False
        if self._is_loose and size >= 3 and "```" in content[start + size : end - size]:  # there its block ends
            return False
        word = content[at:start].rpartition(" ")[2].lower()
        if "://" in word or "www." in word:  # the address goes on behind the marker
            self.lost = True
            return False
        return not self._is_loose or self._balance.holds() or _MARKS.search(content, start, end) is None

    def _blur(self, position: int, *, whole: bool) -> None:
        """No span begins from here on before the next blank line; an unfinished line may still bring its end."""
        if whole:
            self._blurred = True
            self.lost = self.lost or self._is_loose
        else:
            self._undecided = position
