"""Documents of a place: how a text becomes passages, and what is kept and found of them. Pure.

Rules
  A passage is what a search finds and a model is shown: some paragraphs below one heading, about `PASSAGE_CHARS` long.
  It begins where a heading stands, or where a page does, unless too little came before: a citation then names the right
  page. What stands above it, the headings, is kept with it: a question names them more often than the text does.
  Nothing is left out, and nothing stands in two passages: what is beside a passage is found by its number.
  The work is linear in the text, whatever it says.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final, Protocol

# Some 250 tokens: long enough to hold an answer with what it is about, short enough that ten fit a result.
PASSAGE_CHARS: Final = 1_200
FEWEST_CHARS: Final = 300  # Of less no passage is made where more follows: a heading and a line tell nothing alone
# The same of a page, as citations are to name the right one: a title goes with what follows, a slide does not.
FEWEST_ON_PAGE: Final = 80
MAX_HEADING_CHARS: Final = 120
MAX_HEADINGS: Final = 6  # Above a passage: as many as Markdown has
MAX_NAME_CHARS: Final = 120
# Of one document: a book of 600 pages has about 1.5 million. What is longer is several documents.
MAX_CHARS: Final = 2_000_000
MAX_PASSAGES: Final = 4_000  # Of one document: twice what MAX_CHARS makes of plain text
# How long after a look at a page of the web it is looked at again: handbooks change by the week.
LOOK_EVERY: Final = timedelta(days=1)
LOOK_AGAIN: Final = timedelta(hours=1)  # The same, where nobody says how the look ended: its process was killed

# A choice: of a channel ON, if what full members say there from then on may serve others of its team; of a person
# PAUSED, if theirs may not.
SHARING: Final = "sharing"
ON: Final = "on"

_MARKED: Final = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_NUMBERED: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})\.?[ \t]+(\S.*)")
_UNDERLINE: Final = re.compile(r"[ \t]*(?:={3,}|-{3,})[ \t]*")
_BREAK: Final = re.compile(r"\n[ \t]*\n")
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """`number`: None where the kind of file has no pages."""

    text: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """`heading`: what stands above it, the widest first; `page`: where it begins."""

    text: str
    heading: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """The page of the web that a document was read from, as it was asked for at `address` and looked at last (`seen`).

    `etag`, `modified`: what its server calls the version that is known; `digest`: of its words. `fault`: why it could
    not be read at any look since `since`; the version that is known stays. `is_own`: it lies in the operator's own
    network, as it did when somebody named it.
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
class NewDocument:
    """What a place is to know from now on, in place of what it had under this name, or from this page of the web.

    `audience` is the label of those who may find it, `channel` the platform's id of where it was handed in, by the
    person with this id; `link` leads people to it.
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
    """How many there are, 0 where the kind of file has none."""
    web: LinkedPage | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One that a place knows. `by`: the name of who handed it in, "" for nobody who is known (any more). `time`: when
    it was, or when the version that is known was read.
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


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """`number`: its place in the document, from 1."""

    document: Document
    passage: Passage
    number: int
    score: float


class DocumentRefused(Enum):
    """Why a place does not keep a document."""

    MANY = auto()
    LARGE = auto()
    GONE = auto()
    """Of a new version: what it is one of is known no longer."""


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """A search of what places know. `audiences`, `wordings`: as in a `RecallQuery`."""

    text: str
    audiences: frozenset[str]
    wordings: tuple[str, ...] = ()
    limit: int = 10


class Documents(Protocol):
    """What places were told to know. Raises StoreError. `audiences`: the labels of what may be shown."""

    async def keep(self, new: NewDocument, *, renews: int | None = None) -> DocumentRefused | None:
        """Know it from now on, in place of what that channel had under this name, or from this page. Why not, where the
        place is full.

        `renews`: the document (its id) of which it is a newer version; whose that is now, and who may find it, counts.
        """
        ...

    async def next_look(self, now: datetime) -> Document | None:
        """The document whose page of the web has waited longest to be looked at; until LOOK_AGAIN it is nobody else's.
        None if none is due.
        """
        ...

    async def looked(self, id_: int, page: LinkedPage) -> None:
        """What a look found, where the version that is known stays; the next one is due after LOOK_EVERY."""
        ...

    async def listed(self, audiences: frozenset[str]) -> list[Document]:
        """What is known, the oldest first."""
        ...

    async def opened(self, id_: int, audiences: frozenset[str], limit: int) -> tuple[Document, list[Passage]] | None:
        """One of them, with its first passages."""
        ...

    async def remove(self, id_: int) -> None:
        """Know it no longer, nor a newer version: its rows go at once, the bytes with the next `Forgetting.sweep`."""
        ...

    async def search(self, query: DocumentQuery) -> list[FoundPassage]:
        """The best passages first. Any text is a valid query; none raises."""
        ...


def passages_of(pages: Iterable[DocumentPage]) -> list[Passage]:
    """The passages of a document, in order; MAX_PASSAGES at most."""
    made: list[Passage] = []
    for passage in _packed(_blocks(pages)):
        made.append(passage)
        if len(made) == MAX_PASSAGES:
            break
    return made


@dataclass(frozen=True, slots=True)
class _Paragraph:
    """A paragraph, or a piece of one; or a heading of this level (from 1)."""

    text: str
    page: int | None
    level: int = 0


@dataclass(slots=True)
class _Heading:
    """`told`: it stands in a passage, or above one."""

    text: str
    level: int
    told: bool = False


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
    """Of a heading; 0 for what is none. `alone`: no text stands below it in its paragraph."""
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
    """A paragraph; of a long one pieces that end where sentences or lines do, as far as they have ends."""
    text = "\n".join(lines)
    if len(text) <= PASSAGE_CHARS:
        if text.strip():
            yield _Paragraph(text, page)
        return
    begin, good = 0, 0
    for end in [*(found.end() for found in _SENTENCE.finditer(text)), len(text)]:
        if end - begin > PASSAGE_CHARS and good > begin:
            yield _Paragraph(text[begin:good].strip(), page)
            begin = good
        while end - begin > PASSAGE_CHARS:  # a sentence without an end
            cut = text.rfind(" ", begin + PASSAGE_CHARS // 2, begin + PASSAGE_CHARS)
            cut = begin + PASSAGE_CHARS if cut < 0 else cut
            yield _Paragraph(text[begin:cut].strip(), page)
            begin = cut
        good = end
    if text[begin:].strip():
        yield _Paragraph(text[begin:].strip(), page)


def _packed(blocks: Iterable[_Paragraph]) -> Iterator[Passage]:
    above: list[_Heading] = []
    texts: list[str] = []
    heading, page, size = "", None, 0

    def take(text: str, block: _Paragraph) -> None:
        nonlocal heading, page, size
        if not texts:
            heading, page, size = " › ".join(one.text for one in above), block.page, 0
            for one in above:
                one.told = True
        texts.append(text)
        size += len(text)

    for block in blocks:
        full = size + len(block.text) > PASSAGE_CHARS
        begins = (size >= FEWEST_CHARS and block.level > 0) or (size >= FEWEST_ON_PAGE and block.page != page)
        if texts and (full or begins):
            yield Passage("\n\n".join(texts), heading, page)
            texts, size = [], 0
        if not block.level:
            take(block.text, block)
            continue
        left = [one for one in above if one.level >= block.level]
        above = [one for one in above if one.level < block.level][-MAX_HEADINGS + 1 :]
        for one in left:
            if not one.told:  # nothing stood below it
                take(one.text, block)
        above.append(_Heading(block.text, block.level, told=bool(texts)))
        if texts:
            take(block.text, block)
    for one in above:
        if not one.told:
            take(one.text, _Paragraph("", page))
    if texts:
        yield Passage("\n\n".join(texts), heading, page)
