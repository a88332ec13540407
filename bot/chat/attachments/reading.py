"""Reads the files of a question when its turn begins: pictures, text, documents, speech.

Rules. A file is fetched only if its kind can be read, and only up to the size limit of its kind. A file's kind follows
from its content, not from its name or announced type. Files are read one after the other, in bounded time. The model
sees the names of unread files with the reason, so that its answer does not ignore them.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from agent.errors import ProviderError
from agent.incoming import Attachment, Incoming, Quoted, person_source
from agent.memory.documents import MAX_CHARS, DocumentPage
from agent.messages import Image, ModelCall, estimate_tokens
from agent.ports.transcription import PlacedTranscriber, Transcriber
from agent.stored_messages import AttachedMessage
from bot.chat.attachments import kinds
from bot.chat.attachments.kinds import (
    TEXT_TOKENS,
    FileKind,
    announced,
    cut_text,
    found,
    is_pdf,
    picture_type,
    token_shares,
)
from bot.chat.attachments.reader import ReadAs, Reader, ReadSeconds
from bot.chat.attachments.text_encoding import charset_in_text, charset_of, declared_charset, decode
from bot.chat.texts import replies as reply_texts

log = logging.getLogger(__name__)

# Fetches up to this many bytes of the file at an `Attachment.address`; None if the file is not available.
Fetch: TypeAlias = Callable[[str, int], Awaitable[bytes | None]]
# Returns what is attached to a message now; None if the person with this id cannot read there, or that is unknown.
FilesNow: TypeAlias = Callable[[AttachedMessage, str], Awaitable[Sequence[Attachment] | None]]
# Charges model calls to the person with this id.
Charge: TypeAlias = Callable[[str, Sequence[ModelCall]], Awaitable[None]]

MAX_PICTURES: Final = 5  # Per message: each costs about as much as a page of text, and questions rarely need more
# Files besides pictures: as many as a Discord message carries; each delays the first words of the reply.
MAX_FILES: Final = 10
MAX_LISTED: Final = 40  # Files that are named, read or not: a forwarded message may hold hundreds
WHOLE_BYTES: Final = 5_000_000  # Of a text that is read piece by piece: a thousand pages
# In one piece of a file that is read again: some fifteen pages, less than a tool's result may hold.
PIECE_TOKENS: Final = 5_000
PIECE_CHARS: Final = 20_000  # The same limit for text with few tokens
FETCH_S: Final = 20.0  # For one file: 20 MB on a slow line; a platform that takes longer has lost it
READ_S: Final = 60.0  # For all files of a message: a person should not wait longer for the first word

# The size limit of each kind, in bytes.
MAX_BYTES: Final = {
    FileKind.TEXT: 256_000,  # more than the model is given, whatever the alphabet
    FileKind.PICTURE: 5_000_000,  # what every vendor accepts; a photograph resized by a chat client is smaller
    FileKind.PDF: 20_000_000,  # a book with pictures
    FileKind.OFFICE: 20_000_000,  # a long document with pictures
    FileKind.HTML: 2_000_000,  # a page as browsers save it
    FileKind.SOUND: 25_000_000,  # what transcription services accept: twenty minutes or more
}
_KIND_NAMES: Final = {
    FileKind.PICTURE: "a picture",
    FileKind.PDF: "a PDF",
    FileKind.OFFICE: "an office file",
    FileKind.SOUND: "an audio file",
}
NO_DOCUMENTS: Final = frozenset({FileKind.PICTURE, FileKind.SOUND, FileKind.OTHER})
DOCUMENT_S: Final = 60.0  # For one document to learn, while its person watches an indicator
MAX_DOCUMENT_PAGES: Final = 1_500  # A longer document is a collection, whose parts are easier to find as documents
# Up to this length the model gets HTML as source, such as a page or two of code in question; beyond it, the text.
SOURCE_CHARS: Final = 16_000


@dataclass(frozen=True, slots=True)
class Attached:
    """The contents of a question's files. `spoken`: the transcript of a spoken question; `sorry`: the sentence for the
    person if it could not be transcribed.
    """

    quoted: tuple[Quoted, ...] = ()
    images: tuple[Image, ...] = ()
    spoken: str = ""
    sorry: str = ""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """`why`: the reason if there is no text, or not all of it. `page_count`: the number of a PDF's pages; `title`: of a
    web page.
    """

    pages: tuple[DocumentPage, ...] = ()
    why: str = ""
    page_count: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReadLink:
    """A web page. `address`: the requested one; `link`: the final one after redirects. `etag`, `modified`: the server's
    validators of this version; `is_known`: it is the known version, so it was not read again. `is_own`: it is in the
    operator's own network.
    """

    address: str
    document: ReadDocument = ReadDocument()
    link: str = ""
    etag: str = ""
    modified: str = ""
    is_known: bool = False
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class _Text:
    """`note`: what a reader has to know about the words."""

    words: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Unread:
    """`reason`: why the content is not available."""

    reason: str


_Content: TypeAlias = _Text | _Unread | Image


@dataclass(frozen=True, slots=True)
class _ReadRequest:
    """How to read a file. `source`: of its message. `person`: who asked."""

    source: str
    person: str
    time_left: ReadSeconds
    """For all documents of the message."""
    page: int = 1
    """The first page to read."""
    is_whole: bool = False
    """Whether a text is read as a whole, and not only its beginning."""
    channel: str = ""
    """Where it is read."""


class AttachmentReader:
    """Reads attached files. `fetchers`: by the source of the message; a platform that connects later adds its own."""

    def __init__(
        self,
        fetchers: Mapping[str, Fetch],
        transcriber: Transcriber | None = None,
        charge: Charge | None = None,
        *,
        text_tokens: int = TEXT_TOKENS,
        fetch_s: float = FETCH_S,
        read_s: float = READ_S,
        reader: Reader | None = None,
    ) -> None:
        self._fetchers = fetchers
        self._transcriber = transcriber
        self._charge = charge
        self._text_tokens = text_tokens
        self._fetch_s = fetch_s
        self._read_s = read_s
        self._reader = reader or Reader()

    async def read(self, incoming: Incoming) -> Attached:
        """Read the files of a message, as far as they can be read."""
        files, contents = incoming.files[:MAX_LISTED], list[_Content]()
        request = _ReadRequest(incoming.source, incoming.person.id, ReadSeconds(), channel=incoming.channel)
        slots = {True: MAX_PICTURES, False: MAX_FILES}
        try:
            async with asyncio.timeout(self._read_s):
                for file in files:
                    is_picture = announced(file.name, file.media_type) is FileKind.PICTURE
                    slots[is_picture] -= 1
                    fits = slots[is_picture] >= 0
                    contents.append(await self._read_file(file, request) if fits else _Unread(kinds.TOO_MANY))
        except TimeoutError:
            log.info("some files of a message could not be read in time")
        contents += [_Unread(kinds.LATE)] * (len(files) - len(contents))
        attached = self._combine([*zip(files, contents, strict=True)])
        more = len(incoming.files) - len(files)
        rest = (Quoted(kinds.MORE_FILES, "", kinds.AND_MORE.format(more=f"{more:,}")),) if more else ()
        return replace(attached, quoted=(*attached.quoted, *rest))

    def _combine(self, contents: Sequence[tuple[Attachment, _Content]]) -> Attached:
        transcripts = [content.words for file, content in contents if file.spoken and isinstance(content, _Text)]
        reasons = [content.reason for file, content in contents if file.spoken and isinstance(content, _Unread)]
        # A voice message that cannot be understood is the question itself: there is nothing else to answer.
        if reasons and len(reasons) == len(contents):
            return Attached(sorry=_apology(reasons[0]))
        texts = [
            (file, _text_of(file, content))
            for file, content in contents
            if not (isinstance(content, Image) or (file.spoken and isinstance(content, _Text)))
        ]
        shares = token_shares([estimate_tokens(words) for _, words in texts], self._text_tokens)
        return Attached(
            tuple(_quote(file, cut_text(words, limit)) for (file, words), limit in zip(texts, shares, strict=True)),
            tuple(content for _, content in contents if isinstance(content, Image)),
            spoken="\n\n".join(transcripts),
        )

    async def piece(
        self, file: Attachment, source: str, person: str, page: int, start: int, channel: str = ""
    ) -> Image | str:
        """Return a piece of a file of an earlier message, or a sentence if there is none. The text starts at a PDF's
        page `page`, the piece at its character `start` (counted from 1); the piece says where the next one starts.
        `channel`: where it is read.
        """
        request = _ReadRequest(source, person, ReadSeconds(), page, is_whole=True, channel=channel)
        try:
            async with asyncio.timeout(self._read_s):
                content = await self._read_file(file, request)
        except TimeoutError:
            content = _Unread(kinds.LATE)
        if isinstance(content, Image):
            return content
        if isinstance(content, _Text):
            return "\n".join(filter(None, (content.note, _piece(content.words, start))))
        return _text_of(file, content)

    async def original(self, file: Attachment, source: str, limit: int) -> bytes | str:
        """Return the bytes of a file as it was attached, or a sentence why they cannot be had. `source`: of its
        message; `limit`: the most bytes.
        """
        if file.size > limit:
            return kinds.too_large("a file", limit)
        data = await self._bytes(file, source, limit)
        if isinstance(data, _Unread):
            return data.reason
        return kinds.too_large("a file", limit) if len(data) > limit else data

    async def _read_file(self, file: Attachment, request: _ReadRequest) -> _Content:
        announced_kind = announced(file.name, file.media_type)
        if announced_kind is FileKind.OTHER:
            return _Unread(kinds.WRONG_KIND)
        if announced_kind is FileKind.SOUND and self._transcriber is None:
            return _Unread(kinds.UNHEARD)
        fetched = await self._fetch_by_kind(file, announced_kind, request)
        if isinstance(fetched, _Unread):
            return fetched
        kind, data = fetched
        match kind:
            case FileKind.PICTURE:
                media_type = picture_type(data)
                return _Unread(kinds.NOT_A_PICTURE) if media_type is None else Image(media_type, data)
            case FileKind.PDF:
                return await self._document(ReadAs.PDF, data, request)
            case FileKind.OFFICE:
                read = await self._document(ReadAs.OFFICE, data, request)
                is_unsupported = announced_kind is kind and read == _Unread(kinds.WRONG_KIND)  # of another suite, say
                return _Unread(kinds.OFFICE) if is_unsupported else read
            case FileKind.HTML:
                return await self._html(file, data, request)
            case FileKind.SOUND:
                return await self._transcribe(file, data, request)
            case FileKind.OTHER:
                return _Unread(kinds.WRONG_KIND)
            case _:
                limit = _byte_limit(kind, request)
                return await asyncio.to_thread(_decode_file, file, data, announced_kind, limit)

    async def document(self, file: Attachment, source: str, person: str) -> ReadDocument:
        """Read a whole file that a place learns, or return the reason why it cannot be learned."""
        announced_kind = announced(file.name, file.media_type)
        request = _ReadRequest(source, person, ReadSeconds(DOCUMENT_S), is_whole=True)
        fetched = (
            _Unread(kinds.NO_DOCUMENT)
            if announced_kind in NO_DOCUMENTS
            else await self._fetch_by_kind(file, announced_kind, request)
        )
        if isinstance(fetched, _Unread):
            return ReadDocument(why=fetched.reason)
        kind, data = fetched
        # PDF and Office files have a limit in the reader process; text would be decoded here.
        if kind in {None, FileKind.TEXT, FileKind.HTML} and len(data) > (limit := _byte_limit(kind, request)):
            return ReadDocument(why=kinds.too_large("a text file", limit))
        match kind:
            case FileKind.PDF:
                return await read_document(self._reader, ReadAs.PDF, data, person, request.time_left)
            case FileKind.OFFICE if not data.startswith(b"{\\rtf"):
                return await read_document(self._reader, ReadAs.OFFICE, data, person, request.time_left)
            case FileKind.HTML:
                charset = charset_of(file.media_type) or declared_charset(data)
                decoded = await asyncio.to_thread(decode, data, charset)
                words = "" if decoded is None else decoded.text
                return await read_document(self._reader, ReadAs.HTML, words.encode(), person, request.time_left)
            case FileKind.TEXT | None:
                charset = charset_of(file.media_type) or charset_in_text(data)
                decoded = await asyncio.to_thread(decode, data, charset)
                if decoded is None:
                    return ReadDocument(why=kinds.NO_TEXT)
                return ReadDocument((DocumentPage(decoded.text if decoded.is_certain else decoded.with_note),))
            case _:
                return ReadDocument(why=kinds.NO_DOCUMENT)

    async def _fetch_by_kind(
        self, file: Attachment, announced_kind: FileKind | None, request: _ReadRequest
    ) -> tuple[FileKind | None, bytes] | _Unread:
        """Fetch a file; return its kind by content, and its bytes up to the limit of that kind."""
        data = await self._fetch(file, announced_kind or FileKind.TEXT, request)
        if isinstance(data, _Unread):
            return data
        kind = _kind(announced_kind, data)
        if kind is None or kind is announced_kind or kind not in _KIND_NAMES:
            return kind, data
        data = await self._fetch(file, kind, request)  # again, as the limit of its kind is only known now
        return data if isinstance(data, _Unread) else (kind, data)

    async def _fetch(self, file: Attachment, kind: FileKind, request: _ReadRequest) -> bytes | _Unread:
        """Fetch a file up to the limit of its kind; a larger one is refused, except for text, whose beginning is
        used.
        """
        limit = _byte_limit(kind, request)
        too_large = _Unread(kinds.too_large(_KIND_NAMES[kind], limit)) if kind in _KIND_NAMES else None
        if too_large is not None and file.size > limit:
            return too_large
        data = await self._bytes(file, request.source, limit)
        return too_large if too_large is not None and not isinstance(data, _Unread) and len(data) > limit else data

    async def _bytes(self, file: Attachment, source: str, limit: int) -> bytes | _Unread:
        """Return the first bytes of a file: one more than `limit`, if it has them."""
        fetch = self._fetchers.get(source)
        if fetch is None or not file.address:
            return _Unread(kinds.UNREACHABLE)
        try:
            async with asyncio.timeout(self._fetch_s):
                data = await fetch(file.address, limit + 1)
        except TimeoutError:
            return _Unread(kinds.LATE)
        return _Unread(kinds.UNREACHABLE) if data is None else data

    async def _document(self, kind: ReadAs, data: bytes, request: _ReadRequest) -> _Content:
        if kind is ReadAs.PDF and not is_pdf(data):
            return _Unread(kinds.NOT_A_PDF)
        if kind is ReadAs.OFFICE and data.startswith(b"{\\rtf"):
            return _Unread(kinds.OFFICE)
        read = await self._reader.text(kind, data, request.person, request.time_left, first=request.page)
        return _Text("\n\n".join(filter(None, [read.text, read.why]))) if read.text else _Unread(read.why)

    async def _html(self, file: Attachment, data: bytes, request: _ReadRequest) -> _Content:
        """Return a page's text; its source if it is short, or if the text cannot be extracted."""
        limit = _byte_limit(FileKind.HTML, request)
        source = await asyncio.to_thread(_decode_file, file, data, FileKind.HTML, limit)
        if isinstance(source, _Unread) or len(source.words) <= SOURCE_CHARS:
            return source
        read = await self._document(ReadAs.HTML, source.words.encode(), request)
        return _Text(read.words, source.note) if isinstance(read, _Text) else source

    async def _transcribe(self, file: Attachment, data: bytes, request: _ReadRequest) -> _Content:
        transcriber = self._transcriber
        if transcriber is None:
            return _Unread(kinds.UNHEARD)
        try:
            if isinstance(transcriber, PlacedTranscriber):
                transcriber = await transcriber.at(person_source(request.person), request.channel)
            transcript = await transcriber.transcribe(data, kinds.shown_note(file.name), file.media_type)
        except ProviderError as error:
            log.warning("a voice message could not be transcribed: %s", error)
            return _Unread(kinds.NOT_UNDERSTOOD)
        if self._charge is not None:
            await self._charge(request.person, [transcript.call])
        words = transcript.text.strip()
        return _Text(words) if words else _Unread(kinds.SILENT)


async def read_document(reader: Reader, kind: ReadAs, data: bytes, person: str, time_left: ReadSeconds) -> ReadDocument:
    """Read a whole document that a place learns; a PDF in several runs of the reader process."""
    if kind is ReadAs.PDF and not is_pdf(data):
        return ReadDocument(why=kinds.NOT_A_PDF)
    pages, first = list[DocumentPage](), 1
    while True:
        read = await reader.text(kind, data, person, time_left, first=first)
        pages += [_page(*part) for part in read.parts]
        first = (pages[-1].number or 0) + 1 if read.parts else first
        chars = sum(len(page.text) for page in pages)
        goes_on = kind is ReadAs.PDF and read.parts and first <= min(read.pages, MAX_DOCUMENT_PAGES)
        if not goes_on or chars > MAX_CHARS:
            return ReadDocument(tuple(pages), read.why, read.pages)


_NUMBER: Final = re.compile(r"(?:page|slide) (\d{1,6})")


def _page(name: str, text: str) -> DocumentPage:
    """Return a part of a file as a page; the name of a sheet becomes its heading."""
    numbered = _NUMBER.fullmatch(name)
    return DocumentPage(text, int(numbered[1])) if numbered else DocumentPage(f"# {name}\n\n{text}" if name else text)


def _kind(announced_kind: FileKind | None, data: bytes) -> FileKind | None:
    """Return a file's kind: that of its first bytes where they are decisive, else the announced one.

    Audio signatures do not overrule an announced text.
    """
    detected = found(data)
    if announced_kind is FileKind.SOUND or detected is None:
        return announced_kind if announced_kind is not FileKind.OFFICE else _mislabelled_kind(data)
    if announced_kind in {FileKind.TEXT, FileKind.HTML} and detected is FileKind.SOUND:
        return announced_kind
    return (
        FileKind.OFFICE
        if announced_kind is FileKind.OFFICE and detected is FileKind.OTHER and data.startswith(b"PK")
        else detected
    )


def _mislabelled_kind(data: bytes) -> FileKind:
    """Return the kind of a file that is announced as an office file and is none: many programs export tables so, as
    HTML or as text.
    """
    return FileKind.HTML if data[:2_048].lstrip().lower().startswith((b"<!doctype html", b"<html")) else FileKind.TEXT


def _byte_limit(kind: FileKind | None, request: _ReadRequest) -> int:
    """Return the size limit in bytes."""
    is_text = kind is None or kind is FileKind.TEXT
    return WHOLE_BYTES if is_text and request.is_whole else MAX_BYTES[FileKind.TEXT if kind is None else kind]


def _piece(words: str, start: int) -> str:
    """Return the piece that starts at `start`, with its range in the whole unless it is all of it."""
    rest = words[start - 1 :]
    if not rest:
        return f"(there is nothing from character {start:,} on: the last one is {len(words):,})"
    piece = rest[:PIECE_CHARS]
    while (cost := estimate_tokens(piece)) > PIECE_TOKENS:
        piece = piece[: min(len(piece) - 1, len(piece) * PIECE_TOKENS // cost)]
    if len(piece) == len(words):
        return words
    end = start - 1 + len(piece)
    continuation = f"; go on with from: {end + 1}" if end < len(words) else ""
    return f"{piece}\n(characters {start:,} to {end:,} of {len(words):,}{continuation})"


def _decode_file(file: Attachment, data: bytes, announced_kind: FileKind | None, limit: int) -> _Text | _Unread:
    in_file = declared_charset if announced_kind is FileKind.HTML else charset_in_text
    charset = charset_of(file.media_type) or in_file(data)
    decoded = decode(data[:limit], charset, whole=len(data) <= limit)
    if decoded is None:
        return _Unread(_NO_TEXT.get(announced_kind, kinds.WRONG_KIND) if announced_kind else kinds.WRONG_KIND)
    return _Text(decoded.text if len(data) <= limit else f"{decoded.text}\n(the file goes on)", decoded.note)


_NO_TEXT: Final = {
    FileKind.TEXT: kinds.NO_TEXT,
    FileKind.HTML: kinds.NO_TEXT,
    FileKind.OFFICE: kinds.BROKEN,
}


def _text_of(file: Attachment, content: _Text | _Unread) -> str:
    if isinstance(content, _Unread):
        return kinds.not_read(file.media_type, file.size, content.reason)
    return "\n".join(filter(None, (content.note, content.words or "(the file is empty)")))


def _quote(file: Attachment, words: str) -> Quoted:
    return Quoted(f"{file.source} {kinds.shown_note(file.name)}", file.author, words, by_bot=file.by_bot)


def _apology(reason: str) -> str:
    return reply_texts.CANNOT_LISTEN if reason == kinds.UNHEARD else reply_texts.CANNOT_LISTEN_NOW.format(reason=reason)
