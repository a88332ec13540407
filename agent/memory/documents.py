"""Documents of a place: splits texts into passages, and declares the port of the document store. Pure.

Rules
  A passage is the unit of search and of what a model is shown: some paragraphs below one heading, about `PASSAGE_CHARS`
  long. It starts at a heading or a page, unless the passage before would be too short, so that a citation names the
  right page. It keeps the headings above it, because questions name them more often than the text does.
  Passages are complete and do not overlap. The neighbours of a passage are found by its number.
  The work is linear in the length of the text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from itertools import islice
from typing import Final, Protocol

from agent.memory.audience import Audience

# Some 250 tokens: long enough to hold an answer with what it is about, short enough that ten fit a result.
PASSAGE_CHARS: Final = 1_200
FEWEST_CHARS: Final = 300  # A shorter passage is joined with what follows: a heading and a line tell nothing alone
# The same at the end of a page. It is smaller so that citations name the right page: a title is joined, a slide is not.
FEWEST_ON_PAGE: Final = 80
MAX_HEADING_CHARS: Final = 120
MAX_HEADINGS: Final = 6  # Above a passage: the levels of Markdown
MAX_NAME_CHARS: Final = 120
# Of one document: a book of 600 pages has about 1.5 million. Longer texts must be several documents.
MAX_CHARS: Final = 2_000_000
MAX_PASSAGES: Final = 4_000  # Of one document: twice what MAX_CHARS makes of plain text
FETCH_EVERY: Final = timedelta(days=1)  # Between two fetches of a web page: handbooks change by the week
FETCH_AGAIN: Final = timedelta(hours=1)  # The same after a fetch without a result: its process was killed

# The name of a setting. A channel sets ON to share the later messages of its full members with the rest of its team; a
# person sets PAUSED to keep theirs out.
SHARING: Final = "sharing"
ON: Final = "on"

_MARKED: Final = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_NUMBERED: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})\.?[ \t]+(\S.*)")
_UNDERLINE: Final = re.compile(r"[ \t]*(?:={3,}|-{3,})[ \t]*")
_BREAK: Final = re.compile(r"\n[ \t]*\n")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """The text of one page. `number` is None if the kind of file has no pages."""

    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """`heading`: the headings above the passage, the highest level first; `page`: the page on which it starts."""

    text: str
    heading: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """The web page from which a document was read: the requested `address`, and the time of the last fetch (`seen`).

    `etag` and `modified` are the server's validators of the stored version, `digest` is a hash of its words. `fault`:
    why all fetches since `since` failed; the stored version stays. `is_own`: the page is in the operator's own network,
    as it was when it was added.
    """

    address: str
    seen: datetime
    etag: str = ""
    modified: str = ""
    digest: str = ""
    since: datetime | None = None
    fault: str = ""
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """Where an operator adds documents: the values that they get there. `source` is that of the place's messages;
    `channel` is "" for a whole workspace or server, and for a person.
    """

    audience: Audience
    source: str
    channel: str


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to store. It replaces the one of the same name or web page in its place.

    `audience` is the label of those who may find it. `channel` is the platform's id of the channel to which the person
    with the id `person` added it, "" if an operator did; `link` leads people to it. `file_digest`: names the version of
    the file that an operator added, "" for all other documents.
    """

    name: str
    audience: str
    source: str
    channel: str
    person: str
    time: datetime
    passages: Sequence[Passage]
    link: str = ""
    pages: int = 0
    """The number of pages, 0 if the kind of file has none."""
    web: LinkedPage | None = None
    file_digest: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document.

    `by`: the name of the person who added it, "" if it is unknown or was erased. `time`: when the document was added,
    or when its stored version was fetched. `file_digest`: as in NewDocument.
    """

    id: int
    name: str
    audience: str
    channel: str
    person: str
    by: str
    time: datetime
    link: str
    pages: int
    passages: int
    web: LinkedPage | None = None
    file_digest: str = ""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """`number`: the position of the passage in its document, from 1."""

    document: Document
    passage: Passage
    number: int
    score: float


class DocumentRefused(Enum):
    """Why a document is not stored."""

    MANY = auto()
    LARGE = auto()
    GONE = auto()
    """The document of a new version was removed."""


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """A search in documents. `audiences` and `wordings` are as in a `RecallQuery`."""

    text: str
    audiences: frozenset[str]
    wordings: tuple[str, ...] = ()
    limit: int = 10


class Documents(Protocol):
    """The document store. `audiences`: the labels of documents that may be shown. All methods raise StoreError."""

    async def keep(self, new: NewDocument, *, renews: int | None = None) -> DocumentRefused | None:
        """Store a document in place of the channel's one of this name or web page. Return a reason if refused.

        `renews`: the id of the document of which this is a newer version. Its current owner and audience are kept.
        """
        ...

    async def next_look(self, now: datetime) -> Document | None:
        """Return the document whose web page is due for the longest time, or None.

        No other process receives it for FETCH_AGAIN.
        """
        ...

    async def looked(self, id_: int, page: LinkedPage) -> None:
        """Record a fetch that does not change the stored version. The next one is due after FETCH_EVERY."""
        ...

    async def listed(self, audiences: frozenset[str]) -> list[Document]:
        """Return the documents, oldest first."""
        ...

    async def opened(self, id_: int, audiences: frozenset[str], limit: int) -> tuple[Document, list[Passage]] | None:
        """Return a document with its first `limit` passages, or None."""
        ...

    async def remove(self, id_: int) -> None:
        """Remove a document: its rows at once, the bytes with the next `Forgetting.sweep`. New versions are refused."""
        ...

    async def search(self, query: DocumentQuery) -> list[FoundPassage]:
        """Return the best passages first. Any text is a valid query."""
        ...


def passages_of(pages: Iterable[DocumentPage]) -> list[Passage]:
    """Return the first MAX_PASSAGES passages of a document, in order."""
    return list(islice(_packed(_blocks(pages)), MAX_PASSAGES))


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph or a piece of one (level 0), or a heading of a level from 1."""

    text: str
    page: int | None
    level: int = 0


@dataclass(slots=True)
class _Heading:
    """`is_used`: it is part of a passage, or a heading above one."""

    text: str
    level: int
    is_used: bool = False


def _blocks(pages: Iterable[DocumentPage]) -> Iterator[_Paragraph]:
    for page in pages:
        for paragraph in _BREAK.split(page.text.replace("\r\n", "\n").replace("\r", "\n")):
            lines = [line.rstrip() for line in paragraph.strip("\n").split("\n") if line.strip()]
            body: list[str] = []
            for line in lines:
                if len(body) == 1 and len(body[0]) <= MAX_HEADING_CHARS and _UNDERLINE.fullmatch(line):
                    yield _Paragraph(body.pop().strip(), page.number, 1 if "=" in line else 2)
                elif (level := _level(line.strip(), alone=len(lines) == 1)) > 0:
                    yield from _pieces(body, page.number)
                    body = []
                    yield _Paragraph(_title(line.strip()), page.number, level)
                else:
                    body.append(line)
            yield from _pieces(body, page.number)


def _level(line: str, *, alone: bool) -> int:
    """Return the level of a heading, or 0 for other lines. `alone`: it is the only line of its paragraph."""
    if len(line) > MAX_HEADING_CHARS:
        return 0
    if (marked := _MARKED.fullmatch(line)) is not None:
        return len(marked[1])
    if line.endswith((".", ",", ";", ":")) or not alone:
        return 0
    if (numbered := _NUMBERED.fullmatch(line)) is not None and not numbered[2][0].isdigit():
        return 1 + numbered[1].count(".")
    return 2 if line.isupper() and len(line.split()) <= 12 else 0


def _title(line: str) -> str:
    marked = _MARKED.fullmatch(line)
    return line if marked is None else marked[2].rstrip(" \t#") or marked[2]


def _pieces(lines: Sequence[str], page: int | None) -> Iterator[_Paragraph]:
    """Yield a paragraph, or the pieces of a long one, which end with a sentence or line if possible."""
    text = "\n".join(lines)
    if len(text) <= PASSAGE_CHARS:
        if text.strip():
            yield _Paragraph(text, page)
        return
    start, last_end = 0, 0
    for end in [*(match.end() for match in _SENTENCE.finditer(text)), len(text)]:
        if end - start > PASSAGE_CHARS and last_end > start:
            yield _Paragraph(text[start:last_end].strip(), page)
            start = last_end
        while end - start > PASSAGE_CHARS:  # a sentence without an end
            cut = text.rfind(" ", start + PASSAGE_CHARS // 2, start + PASSAGE_CHARS)
            cut = start + PASSAGE_CHARS if cut < 0 else cut
            yield _Paragraph(text[start:cut].strip(), page)
            start = cut
        last_end = end
    if text[start:].strip():
        yield _Paragraph(text[start:].strip(), page)


def _packed(blocks: Iterable[_Paragraph]) -> Iterator[Passage]:
    above: list[_Heading] = []
    texts: list[str] = []
    heading, page, size = "", None, 0

    def take(text: str, block: _Paragraph) -> None:
        nonlocal heading, page, size
        if not texts:
            heading, page, size = " › ".join(entry.text for entry in above), block.page, 0
            for entry in above:
                entry.is_used = True
        texts.append(text)
        size += len(text)

    for block in blocks:
        full = size + len(block.text) > PASSAGE_CHARS
        starts_passage = (size >= FEWEST_CHARS and block.level > 0) or (size >= FEWEST_ON_PAGE and block.page != page)
        if texts and (full or starts_passage):
            yield Passage("\n\n".join(texts), heading, page)
            texts, size = [], 0
        if not block.level:
            take(block.text, block)
            continue
        closed = [entry for entry in above if entry.level >= block.level]
        above = [entry for entry in above if entry.level < block.level][-MAX_HEADINGS + 1 :]
        for entry in closed:
            if not entry.is_used:  # no text followed it
                take(entry.text, block)
        above.append(_Heading(block.text, block.level, is_used=bool(texts)))
        if texts:
            take(block.text, block)
    for entry in above:
        if not entry.is_used:
            take(entry.text, _Paragraph("", page))
    if texts:
        yield Passage("\n\n".join(texts), heading, page)
