"""Cuts a growing text into pages that each stand alone. Pure.

Rules.
- Every character of the text is in the body of exactly one page, in order: the bodies joined are the text. A page may
  have an opener before its body and a closer behind it; with them it is at most `limit` long.
- A cut comes before a paragraph, else before a line, else before a word, in the second half of the page; else as late
  as a line or a word allows; else between two grapheme clusters. Whitespace stays at the end of the earlier page.
- Where a good cut leaves at least LEAST_CHARS for the last page, it is taken, though a later one would do.
- No cut inside a link, an address, inline code, short emphasis or a table's head, unless it alone is longer than a
  page; never inside the line that opens or closes a fence.
- A fence that goes on is closed, and opened again with the same marker and info. The closer is the marker on a line of
  its own. Inside a code line, a newline stands before the closer and a blank behind it: the blank says that the newline
  is not the text's.
- A table that goes on at the start of a line has its header and separator repeated.
- A cut depends on nothing that comes more than LOOKAHEAD characters behind the page, and in plain words on nothing more
  than LEAST_CHARS behind it. So a full page never changes, and is never read again.

Reading the pages back: undo the opener, which follows from the text so far; then, if the page ends inside a fence and
is not the last one, the closer.
"""

from dataclasses import dataclass

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


def pages(text: str, limit: int, most_bytes: int | None = None) -> list[Page]:
    """The pages of a complete text; none if it is empty. `limit` is at least 40; see `Pager` for `most_bytes`."""
    pager = Pager(limit, most_bytes)
    pager.read(text, complete=True)
    return pager.pages


class Pager:
    """Give it the whole text each time it has grown; `pages` are all pages, the last one still open.

    `limit` is the most characters of a page, and `most_bytes`, at least 5,000, the most bytes that they may take in
    UTF-8.
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
