"""Turns fetched resources into text for a model: pages, PDFs, feeds, JSON and other text.

Rules. HTML, PDF and office files are parsed by the subprocess that reads files (`bot.chat.attachments.reader`); parsing
here takes linear time. Entities that a document declares are never expanded. Dates are shown as the source gives them.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final
from xml.parsers import expat

from agent.memory.documents import MAX_CHARS, DocumentPage
from agent.messages import Image, is_too_deep, read_references
from agent.protocol.render import excerpt
from bot.chat.attachments.kinds import NO_DOCUMENT, PICTURES, FileKind, found, is_office, picture_type, plain_type
from bot.chat.attachments.reader import ReadAs, Reader, ReadSeconds
from bot.chat.attachments.reading import DOCUMENT_S, ReadDocument, read_document
from bot.chat.attachments.text_encoding import charset_of, declared_charset, decode
from bot.chat.network.guard import WebRefused
from bot.web.fetching import TOO_LARGE, Fetched

MAX_TITLE_CHARS: Final = 120
MAX_TEXT_CHARS: Final = 400_000  # The limit of the reader process: some twenty times what a result holds
MAX_ENTRIES: Final = 60  # Of a feed; older ones are hardly asked for
MAX_ENTRY_CHARS: Final = 600
MAX_TIDY_DEPTH: Final = 20  # Deeper JSON does not become more readable over several lines
RAW_CHARS: Final = 20  # Characters of markup that are read for each character of text
_LOOK: Final = 2_048
_BREAK: Final = re.compile(r"</?(?:br|div|h[1-6]|li|ol|p|td|tr|ul)\b[^<>]{0,1000}>", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[A-Za-z!][^<>]{0,1000}>")
# Servers name HTML as plain text: the beginning tells, behind a comment too.
_HTML: Final = re.compile(
    r"\s{0,100}(?:<!--.{0,1000}?-->\s{0,100})?<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_FEED: Final = re.compile(r"<(?:\w{1,20}:)?(?:rss|feed|rdf)\b", re.IGNORECASE)

NOT_TEXT: Final = "it is not text"
NOT_A_PICTURE: Final = "it is not the kind of picture that it claims to be"
BROKEN_FEED: Final = "(the feed is damaged: this is what could be read)"
CUT: Final = "(this is only its beginning)"


@dataclass(frozen=True, slots=True)
class WebPage:
    """The content of an address. `note`: says what is missing; `image`: in place of a text."""

    address: str
    title: str
    text: str = field(repr=False)
    note: str = ""
    image: Image | None = None
    is_own: bool = False


class PageReader:
    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def read(self, fetched: Fetched, person: str, limit: int = MAX_TEXT_CHARS) -> WebPage:
        """Read a fetched resource, up to `limit` characters. `person`: the id for fair turns. Raises WebRefused."""
        kind, data = plain_type(fetched.media_type), fetched.data
        if kind in PICTURES:
            media_type = picture_type(data)
            if media_type is None:
                raise WebRefused(NOT_A_PICTURE)
            return _page(fetched, "", "", image=Image(media_type, data))
        if (file := _file(fetched)) is not None:
            return await self._document(file, fetched, data, person)
        charset = charset_of(fetched.media_type) or declared_charset(data)
        decoded = await asyncio.to_thread(decode, data, charset, whole=fetched.is_whole)  # guessing it takes a while
        if decoded is None:
            raise WebRefused(NOT_TEXT)
        page = await self._text(kind, decoded.text, fetched, person, limit)
        return replace(page, text=f"{decoded.note}\n{page.text}") if decoded.guess else page

    async def _text(self, kind: str, text: str, fetched: Fetched, person: str, limit: int) -> WebPage:
        if kind in {"text/html", "application/xhtml+xml"} or _HTML.match(text[:_LOOK]):
            return await self._document(ReadAs.PAGE, fetched, text.encode("utf-8", "replace"), person)
        if "xml" in kind and _FEED.search(text[:_LOOK]):
            feed = await asyncio.to_thread(read_feed, text)
            return _page(fetched, feed.title, feed.text, feed.note)
        if kind.endswith("json"):
            text = await asyncio.to_thread(_tidy, text)
        return _page(fetched, "", text, limit=limit)

    async def document(self, fetched: Fetched, person: str) -> ReadDocument:
        """Read a whole resource that a place learns. Raises WebRefused."""
        if (file := _file(fetched)) is not None:
            return await read_document(self._reader, file, fetched.data, person, ReadSeconds(DOCUMENT_S))
        if not fetched.is_whole:
            raise WebRefused(TOO_LARGE.format(megabytes=len(fetched.data) / 1_000_000))
        page = await self.read(fetched, person, MAX_CHARS + 1)
        if page.image is not None:
            raise WebRefused(NO_DOCUMENT)
        return ReadDocument((DocumentPage(page.text),), page.note, title=page.title)

    async def _document(self, kind: ReadAs, fetched: Fetched, data: bytes, person: str) -> WebPage:
        read = await self._reader.text(kind, data, person, address=fetched.address)
        if not read.text:
            raise WebRefused(read.why)
        return _page(fetched, read.title, read.text, read.why)


def _file(fetched: Fetched) -> ReadAs | None:
    """Return how to read a file, by its content and type; None for text."""
    kind, data = plain_type(fetched.media_type), fetched.data
    if kind.endswith("pdf") or data.startswith(b"%PDF-"):
        return ReadAs.PDF
    return ReadAs.OFFICE if is_office(kind) or found(data) is FileKind.OFFICE else None


def _page(
    fetched: Fetched, title: str, text: str, note: str = "", image: Image | None = None, limit: int = MAX_TEXT_CHARS
) -> WebPage:
    is_cut = not fetched.is_whole or len(text) > limit
    return WebPage(
        fetched.address,
        excerpt(title, MAX_TITLE_CHARS),
        text[:limit],
        note or (CUT if is_cut else ""),
        image,
        fetched.is_own,
    )


def _tidy(text: str) -> str:
    """Format JSON over several lines; invalid, long or deeply nested text is returned as it is.

    Each value costs as many steps and blanks as it has levels, so the depth is looked at first, and this runs in a
    thread.
    """
    if len(text) > MAX_TEXT_CHARS // 4 or is_too_deep(text, MAX_TIDY_DEPTH):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
    except ValueError:
        return text


# RSS 2.0, RSS 1.0 and Atom


@dataclass(slots=True)
class Feed:
    """The readable part of a feed."""

    title: str = ""
    entries: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    note: str = ""

    @property
    def text(self) -> str:
        return "\n\n".join(map(_entry_text, self.entries))


def _entry_text(entry: Mapping[str, str]) -> str:
    lines = (f"## {entry.get('title') or '(without a title)'}", *map(entry.get, ("date", "link", "about")))
    return "\n".join(filter(None, lines))


# Fields by the names of elements without prefixes; the first element with text counts.
_FIELDS: Final = {
    "title": "title",
    "link": "link",
    "pubdate": "date",
    "published": "date",
    "updated": "date",
    "date": "date",
    "description": "about",
    "summary": "about",
    "content": "about",
    "encoded": "about",
}


class _StopParsing(Exception):
    """Ends the parsing: the feed declares an entity, nests too deeply, or has enough entries."""


class _FeedParser:
    def __init__(self) -> None:
        self.feed = Feed()
        # Open elements, each with the index of its first piece in `_pieces`
        self._open_elements: list[tuple[str, int]] = []
        self._pieces: list[str] = []
        self._entry: dict[str, str] | None = None

    def begin(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2].lower()
        self._open_elements.append((name, len(self._pieces)))
        if len(self._open_elements) > 100:
            raise _StopParsing
        if name in {"item", "entry"}:
            if len(self.feed.entries) >= MAX_ENTRIES:
                raise _StopParsing
            self._entry = {}
            self.feed.entries.append(self._entry)
        is_alternate = name == "link" and attributes.get("rel", "alternate") == "alternate"
        if is_alternate and self._entry is not None and (address := attributes.get("href", "").strip()):
            self._entry.setdefault("link", plain_text(address, MAX_ENTRY_CHARS))

    def add_text(self, text: str) -> None:
        self._pieces.append(text)

    def end(self, _name: str) -> None:
        name, first = self._open_elements.pop()
        key, entry = _FIELDS.get(name, ""), self._entry
        if name in {"item", "entry"}:
            self._entry = None
        elif entry is not None and key and key not in entry and (text := self._text(first, MAX_ENTRY_CHARS)):
            entry[key] = text
        elif entry is None and name == "title" and not self.feed.title:
            self.feed.title = self._text(first, MAX_TITLE_CHARS)

    def _text(self, begin: int, limit: int) -> str:
        """Return the text since the piece `begin`, joining no more than is needed for `limit` characters."""
        pieces, chars = list[str](), 0
        for index in range(begin, len(self._pieces)):
            pieces.append(self._pieces[index])
            chars += len(pieces[-1])
            if chars > RAW_CHARS * limit:
                break
        text = plain_text("".join(pieces), limit)
        if not text:
            del self._pieces[begin:]  # nothing but tags, which each element around it would read again
        return text

    def refuse(self, *_: object) -> None:
        raise _StopParsing


def read_feed(text: str) -> Feed:
    """Parse a feed, as far as it can be read."""
    parser, handlers = expat.ParserCreate("utf-8"), _FeedParser()  # the text is decoded, whatever encoding it declares
    parser.buffer_text = True
    parser.StartElementHandler = handlers.begin
    parser.EndElementHandler = handlers.end
    parser.CharacterDataHandler = handlers.add_text
    parser.EntityDeclHandler = handlers.refuse
    try:
        parser.Parse(text.lstrip().encode("utf-8", "replace"), True)  # noqa: FBT003 -- expat's
    except _StopParsing:
        pass
    except expat.ExpatError:
        handlers.feed.note = BROKEN_FEED
    return handlers.feed


def plain_text(text: str, limit: int) -> str:
    """Return text without tags, on one line, with up to `limit` characters."""
    text = text[: RAW_CHARS * limit]
    for _ in range(2):  # feeds often contain escaped HTML
        text = read_references(_TAG.sub("", _BREAK.sub(" ", text)))
    return excerpt(text, limit)
