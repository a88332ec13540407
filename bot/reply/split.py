"""Cuts a growing text into pages that each stand alone. Pure.

Above: `bot.reply.live`. Below: `bot.reply.cut`, `bot.reply.markdown`.

Rules.
- Every character of the text is in the body of exactly one page, in order: the bodies joined are the text. A page may
  have an opener before its body and a closer behind it; with them it is at most `limit` long.
- A cut comes before a paragraph, else before a line, else before a word, in the second half of the page; else as late
  as a line or a word allows; else between two grapheme clusters. Whitespace stays at the end of the earlier page.
- No cut inside a link, an address, inline code, short emphasis or a table's head, unless it alone is longer than a
  page; never inside the line that opens or closes a fence.
- A fence that goes on is closed, and opened again with the same marker and info. The closer is the marker on a line of
  its own. Inside a code line, a newline stands before the closer and a blank behind it: the blank says that the newline
  is not the text's.
- A table that goes on at the start of a line has its header and separator repeated.
- A cut depends on nothing that comes more than LOOKAHEAD characters behind the page. So a full page never changes, and
  is never read again.

Reading the pages back: undo the opener, which follows from the text so far; then, if the page ends inside a fence and
is not the last one, the closer.
"""

from dataclasses import dataclass, replace

from bot.reply.cut import LOOKAHEAD, Carry, Cutter


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


def pages(text: str, limit: int) -> list[Page]:
    """The pages of a complete text; none if it is empty. `limit` is at least 40."""
    pager = Pager(limit)
    pager.read(text, complete=True)
    return pager.pages


class Pager:
    """Give it the whole text each time it has grown; `pages` are all pages, the last one still open."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
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

    def read(self, text: str, *, complete: bool) -> None:
        """Take the text as it is now. If it is not the earlier one grown longer, all pages are made anew."""
        if not text.startswith(self._read):
            self._full, self._carries, self._read = [], [Carry()], ""
        start, window = len(self._read), self._limit + LOOKAHEAD
        while True:
            carry, rest = self._carries[-1], text[start : start + window]
            if len(carry.opener) + len(rest) <= self._limit:
                self._open = Page(start, carry.opener, rest) if rest else None
                break
            cut = Cutter(rest, carry, self._limit).best()
            page = Page(start, carry.opener, rest[: cut.at], cut.closer)
            if len(rest) < window and not complete:
                self._open = page
                break
            self._full.append(page)
            self._carries.append(cut.carry)
            start = page.end
        self._read = text[:start]

    def freeze(self, number: int, end: int, closer: str, text: str) -> None:
        """Page `number` stays for ever as it is shown: up to `end`, then `closer`. The next one goes on from there."""
        page = self.pages[number]
        rest = text[page.start : page.start + self._limit + LOOKAHEAD]
        cut = Cutter(rest, self._carries[number], self._limit).at(end - page.start)
        self._full = [*self._full[:number], replace(page, body=rest[: cut.at], closer=closer)]
        self._carries = [*self._carries[: number + 1], cut.carry]
        self._read, self._open = text[:end], None
