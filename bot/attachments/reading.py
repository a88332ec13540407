"""Reads the files of a question when its turn begins: pictures, text, documents, speech.

Rules. A file is fetched only if its kind may be read, and never beyond the bound of its kind. What it turns out to be
counts, not what it says. Files are read one after the other, in bounded time; the rest are named with the reason, so
that the answer does not pretend that there had been none.
"""

import asyncio
import codecs
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.errors import ProviderError
from agent.memory.documents import MAX_CHARS, DocumentPage
from agent.messages import Image, ModelCall, estimate_tokens
from agent.ports import Transcriber
from agent.records import AttachedMessage, Attachment, Incoming, Quoted
from bot.attachments import kinds
from bot.attachments.kinds import TEXT_TOKENS, FileKind, announced, cut_text, found, is_pdf, picture_type, token_shares
from bot.attachments.reader import ReadAs, Reader, ReadSeconds
from bot.texts import reply_texts

# From the bytes of a text file to its characters, or the insight that it is none. Pure.
#
# The encoding is what a byte order mark says; else UTF-8, which nothing else looks like by chance; else what the
# platform announced; else UTF-16, which shows by its zeros; else Windows-1252, in which most of what is left was
# written.

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# What no text holds. Terminals' escapes and form feeds do occur in logs.
_BINARY: Final = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffe\uffff]")
# A stray control character does not make a log a program; in compressed data every tenth character is one.
MOST_BINARY: Final = 0.001
_LOOK: Final = 4_096
_FEWEST: Final = 4  # Characters: of fewer nobody can say what their zeros mean
# Of the bytes at even or odd places: English in UTF-16 has nearly all of them, Greek or Russian its blanks and ends of
# lines, so that those are taken for UTF-16 only with a mark.
_ZEROS: Final = 0.35
_CHARSET: Final = re.compile(r"""charset\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)


def decode(data: bytes, charset: str = "", *, whole: bool = True) -> str | None:
    """The text; None if these bytes are none. `charset`: what is said of it; not `whole`: its end was cut off."""
    marked = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "")
    if marked:
        return _read(data, marked, whole=whole)
    guesses = ("utf-8", charset, _utf_16(data), "cp1252", "latin-1")
    return next((text for guess in guesses if guess and (text := _read(data, guess, whole=whole)) is not None), None)


def charset_of(media_type: str) -> str:
    """The charset among a media type's parameters; "" if there is none that is known."""
    said = _CHARSET.search(media_type)
    try:
        known = codecs.lookup(said[1]) if said else None
    except LookupError:
        return ""
    return known.name if known is not None and known.name not in _NO_CHARSETS else ""


# Codecs that are no way to write a text down.
_NO_CHARSETS: Final = frozenset({"base64", "bz2", "hex", "idna", "punycode", "quopri", "rot-13", "uu", "zlib"}) | {
    "raw-unicode-escape",
    "unicode-escape",
    "undefined",
    "utf-7",
}


def _utf_16(data: bytes) -> str:
    start = data[:_LOOK]
    half = len(start) // 2
    if half < _FEWEST:
        return ""
    if start[1::2].count(0) / half > _ZEROS:
        return "utf-16-le"
    return "utf-16-be" if start[0::2].count(0) / half > _ZEROS else ""


def _read(data: bytes, encoding: str, *, whole: bool) -> str | None:
    try:
        text = codecs.getincrementaldecoder(encoding)("strict").decode(data, final=whole)
    except (UnicodeError, LookupError):
        return None
    return None if len(_BINARY.findall(text)) > MOST_BINARY * len(text) or "\0" in text else text


log = logging.getLogger(__name__)

# The first so many bytes of the file at an `Attachment.address`; None if it cannot be had.
Fetch: TypeAlias = Callable[[str, int], Awaitable[bytes | None]]
# What is attached to a message now; None if the person with this id cannot read it there now, or nobody says so.
FilesNow: TypeAlias = Callable[[AttachedMessage, str], Awaitable[Sequence[Attachment] | None]]
# Puts calls on the bill of the person with this id.
Charge: TypeAlias = Callable[[str, Sequence[ModelCall]], Awaitable[None]]

MAX_PICTURES: Final = 5  # Of one message: each costs a model about as much as a page of text, and rarely are more meant
# Besides pictures: what Discord lets one message carry; each costs time in which the person sees nothing.
MAX_FILES: Final = 10
WHOLE_BYTES: Final = 5_000_000  # Of a text that is read piece by piece: a thousand pages
# Of a file that is read again, at once: some fifteen pages, less than a tool's result may hold.
PIECE_TOKENS: Final = 5_000
PIECE_CHARS: Final = 20_000  # As above, of text that costs little
FETCH_S: Final = 20.0  # For one file: 20 MB on a slow line; a platform that takes longer has lost it
READ_S: Final = 60.0  # For all files of a message: nobody waits longer before the first word

# In bytes.
_MOST: Final = {
    FileKind.TEXT: 256_000,  # more than the model is given, whatever the alphabet
    FileKind.PICTURE: 5_000_000,  # what every vendor takes; a photograph that a chat has made fit is smaller
    FileKind.PDF: 20_000_000,  # a book with pictures
    FileKind.OFFICE: 20_000_000,  # as above
    FileKind.HTML: 2_000_000,  # a page as browsers save it
    FileKind.SOUND: 25_000_000,  # what services for transcription take: some twenty minutes and more
}
_CALLED: Final = {
    FileKind.PICTURE: "a picture",
    FileKind.PDF: "a PDF",
    FileKind.OFFICE: "an office file",
    FileKind.SOUND: "a sound",
}
_NO_DOCUMENTS: Final = frozenset({FileKind.PICTURE, FileKind.SOUND, FileKind.OTHER})
DOCUMENT_S: Final = 60.0  # For reading one document: its person waits for it, and is told that it is read
MAX_DOCUMENT_PAGES: Final = 1_500  # Of one: what is longer is an archive, whose parts are better found by their names
# Of HTML that the model gets as it is written, a page or two of code that somebody asks about; of more, the words.
SOURCE_CHARS: Final = 16_000


@dataclass(frozen=True, slots=True)
class Attached:
    """What came with a question. `spoken`: the question itself, if it was said; `sorry`: why that cannot be heard."""

    quoted: tuple[Quoted, ...] = ()
    images: tuple[Image, ...] = ()
    spoken: str = ""
    sorry: str = ""


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """`why`: there is nothing, or not all of it. `of`: how many pages a PDF has; `title`: of a page of the web."""

    pages: tuple[DocumentPage, ...] = ()
    why: str = ""
    of: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class ReadLink:
    """A page of the web, asked for at `address`, which lay at `link` in the end. `etag`, `modified`: what its server
    calls this version; `is_known`: it is the one that was known, and was not read again. `is_own`: it lies in the
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
    words: str


@dataclass(frozen=True, slots=True)
class _Unread:
    """`reason`: why the content cannot be had."""

    reason: str


_Content: TypeAlias = _Text | _Unread | Image


@dataclass(frozen=True, slots=True)
class _Wish:
    """How a file is to be read: for whom (`source` of the message, `person`), from which page, and how much of a text.

    `patience`: what is left for all documents of a message.
    """

    source: str
    person: str
    patience: ReadSeconds
    page: int = 1
    is_whole: bool = False


class AttachmentReader:
    """`fetchers`: by the source of the messages; a platform that connects later adds its own."""

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
        """Everything that the message brought along, as far as it can be read."""
        contents: list[_Content] = []
        wish = _Wish(incoming.source, incoming.person.id, ReadSeconds())
        left = {True: MAX_PICTURES, False: MAX_FILES}
        try:
            async with asyncio.timeout(self._read_s):
                for file in incoming.files:
                    is_picture = announced(file.name, file.media_type) is FileKind.PICTURE
                    left[is_picture] -= 1
                    few = left[is_picture] >= 0
                    contents.append(await self._content(file, wish) if few else _Unread(kinds.TOO_MANY))
        except TimeoutError:
            log.info("some files of a message could not be read in time")
        contents += [_Unread(kinds.LATE)] * (len(incoming.files) - len(contents))
        return self._attached([*zip(incoming.files, contents, strict=True)])

    def _attached(self, read: Sequence[tuple[Attachment, _Content]]) -> Attached:
        heard = [content.words for file, content in read if file.spoken and isinstance(content, _Text)]
        unheard = [content.reason for file, content in read if file.spoken and isinstance(content, _Unread)]
        if unheard and len(unheard) == len(read):
            return Attached(sorry=_sorry(unheard[0]))
        texts = [
            (file, _words(file, content))
            for file, content in read
            if not (isinstance(content, Image) or (file.spoken and isinstance(content, _Text)))
        ]
        given = token_shares([estimate_tokens(words) for _, words in texts], self._text_tokens)
        return Attached(
            tuple(_quoted(file, cut_text(words, most)) for (file, words), most in zip(texts, given, strict=True)),
            tuple(content for _, content in read if isinstance(content, Image)),
            spoken="\n\n".join(heard),
        )

    async def piece(self, file: Attachment, source: str, person: str, page: int, start: int) -> Image | str:
        """A piece of a file of an earlier message, from the character `start` (counted from 1) of what stands on that
        page of a PDF and behind it; a sentence where there is none. It says where it goes on.
        """
        wish = _Wish(source, person, ReadSeconds(), page, is_whole=True)
        try:
            async with asyncio.timeout(self._read_s):
                content = await self._content(file, wish)
        except TimeoutError:
            content = _Unread(kinds.LATE)
        if isinstance(content, Image):
            return content
        return _piece(content.words, start) if isinstance(content, _Text) else _words(file, content)

    async def _content(self, file: Attachment, wish: _Wish) -> _Content:
        said = announced(file.name, file.media_type)
        if said is FileKind.OTHER:
            return _Unread(kinds.WRONG_KIND)
        if said is FileKind.SOUND and self._transcriber is None:
            return _Unread(kinds.UNHEARD)
        found_out = await self._found_out(file, said, wish)
        if isinstance(found_out, _Unread):
            return found_out
        kind, data = found_out
        match kind:
            case FileKind.PICTURE:
                media_type = picture_type(data)
                return _Unread(kinds.NOT_A_PICTURE) if media_type is None else Image(media_type, data)
            case FileKind.PDF:
                return await self._document(ReadAs.PDF, data, wish)
            case FileKind.OFFICE:
                read = await self._document(ReadAs.OFFICE, data, wish)
                is_other = said is kind and read == _Unread(kinds.WRONG_KIND)  # of another suite, say
                return _Unread(kinds.OFFICE) if is_other else read
            case FileKind.HTML:
                return await self._html(file, data, wish)
            case FileKind.SOUND:
                return await self._heard(file, data, wish.person)
            case FileKind.OTHER:
                return _Unread(kinds.WRONG_KIND)
            case _:
                return _text(file, data, said, _most(kind, wish))

    async def document(self, file: Attachment, source: str, person: str) -> ReadDocument:
        """All of a file, for a place that is to know it; or why there is nothing to know."""
        said = announced(file.name, file.media_type)
        wish = _Wish(source, person, ReadSeconds(DOCUMENT_S), is_whole=True)
        found_out = _Unread(kinds.NO_DOCUMENT) if said in _NO_DOCUMENTS else await self._found_out(file, said, wish)
        if isinstance(found_out, _Unread):
            return ReadDocument(why=found_out.reason)
        kind, data = found_out
        if kind in {None, FileKind.TEXT, FileKind.HTML} and len(data) > (most := _most(kind, wish)):
            return ReadDocument(why=kinds.too_large("a text", most))
        match kind:
            case FileKind.PDF:
                return await read_document(self._reader, ReadAs.PDF, data, person, wish.patience)
            case FileKind.OFFICE if not data.startswith(b"{\\rtf"):
                return await read_document(self._reader, ReadAs.OFFICE, data, person, wish.patience)
            case FileKind.HTML:
                words = decode(data, charset_of(file.media_type)) or ""
                return await read_document(self._reader, ReadAs.HTML, words.encode(), person, wish.patience)
            case FileKind.TEXT | None:
                words = decode(data, charset_of(file.media_type))
                return ReadDocument(why=kinds.NO_TEXT) if words is None else ReadDocument((DocumentPage(words),))
            case _:
                return ReadDocument(why=kinds.NO_DOCUMENT)

    async def _found_out(
        self, file: Attachment, said: FileKind | None, wish: _Wish
    ) -> tuple[FileKind | None, bytes] | _Unread:
        """What a file is, whatever it says, and as much of it as may be read of its kind."""
        data = await self._fetched(file, said or FileKind.TEXT, wish)
        if isinstance(data, _Unread):
            return data
        kind = _kind(said, data)
        if kind is None or kind is said or kind not in _CALLED:
            return kind, data
        data = await self._fetched(file, kind, wish)  # only now do we know how much of it to fetch
        return data if isinstance(data, _Unread) else (kind, data)

    async def _fetched(self, file: Attachment, kind: FileKind, wish: _Wish) -> bytes | _Unread:
        """The file, as far as the bound of its kind; of text a beginning will do."""
        most = _most(kind, wish)
        too_large = _Unread(kinds.too_large(_CALLED[kind], most)) if kind in _CALLED else None
        if too_large is not None and file.size > most:
            return too_large
        fetch = self._fetchers.get(wish.source)
        if fetch is None or not file.address:
            return _Unread(kinds.UNREACHABLE)
        try:
            async with asyncio.timeout(self._fetch_s):
                data = await fetch(file.address, most + 1)
        except TimeoutError:
            return _Unread(kinds.LATE)
        if data is None:
            return _Unread(kinds.UNREACHABLE)
        return too_large if too_large is not None and len(data) > most else data

    async def _document(self, kind: ReadAs, data: bytes, wish: _Wish) -> _Content:
        if kind is ReadAs.PDF and not is_pdf(data):
            return _Unread(kinds.NOT_A_PDF)
        if kind is ReadAs.OFFICE and data.startswith(b"{\\rtf"):
            return _Unread(kinds.OFFICE)
        read = await self._reader.text(kind, data, wish.person, wish.patience, first=wish.page)
        return _Text("\n\n".join(filter(None, [read.text, read.why]))) if read.text else _Unread(read.why)

    async def _html(self, file: Attachment, data: bytes, wish: _Wish) -> _Content:
        """Its words; as it is written where it is short, or nothing can be made of it."""
        source = _text(file, data, FileKind.HTML, _most(FileKind.HTML, wish))
        if isinstance(source, _Unread) or len(source.words) <= SOURCE_CHARS:
            return source
        read = await self._document(ReadAs.HTML, source.words.encode(), wish)
        return read if isinstance(read, _Text) else source

    async def _heard(self, file: Attachment, data: bytes, person: str) -> _Content:
        if self._transcriber is None:
            return _Unread(kinds.UNHEARD)
        try:
            transcript = await self._transcriber.transcribe(data, kinds.shown_note(file.name), file.media_type)
        except ProviderError as error:
            log.warning("a voice message could not be turned into text: %s", error)
            return _Unread(kinds.NOT_UNDERSTOOD)
        if self._charge is not None:
            await self._charge(person, [transcript.call])
        words = transcript.text.strip()
        return _Text(words) if words else _Unread(kinds.SILENT)


async def read_document(reader: Reader, kind: ReadAs, data: bytes, person: str, patience: ReadSeconds) -> ReadDocument:
    """All of it, for a place that is to know it: of a PDF as many pages at a time as a process reads."""
    if kind is ReadAs.PDF and not is_pdf(data):
        return ReadDocument(why=kinds.NOT_A_PDF)
    pages, first = list[DocumentPage](), 1
    while True:
        read = await reader.text(kind, data, person, patience, first=first)
        pages += [_page(*part) for part in read.parts]
        first = (pages[-1].number or 0) + 1 if read.parts else first
        chars = sum(len(one.text) for one in pages)
        goes_on = kind is ReadAs.PDF and read.parts and first <= min(read.pages, MAX_DOCUMENT_PAGES)
        if not goes_on or chars > MAX_CHARS:
            return ReadDocument(tuple(pages), read.why, read.pages)


_NUMBER: Final = re.compile(r"(?:page|slide) (\d{1,6})")


def _page(name: str, text: str) -> DocumentPage:
    """A part of a file: a sheet's name is its heading."""
    numbered = _NUMBER.fullmatch(name)
    return DocumentPage(text, int(numbered[1])) if numbered else DocumentPage(f"# {name}\n\n{text}" if name else text)


def _kind(said: FileKind | None, data: bytes) -> FileKind | None:
    """What a file is, by its first bytes, where they tell; of one that says that it is a text only if it is none."""
    is_ = found(data)
    if said is FileKind.SOUND or is_ is None:
        return said if said is not FileKind.OFFICE else _unpacked(data)
    if said in {FileKind.TEXT, FileKind.HTML} and is_ is FileKind.SOUND:
        return said
    return FileKind.OFFICE if said is FileKind.OFFICE and is_ is FileKind.OTHER and data.startswith(b"PK") else is_


def _unpacked(data: bytes) -> FileKind:
    """What says that it is an office file, and is none: programs like to write tables so, as HTML or as a text."""
    return FileKind.HTML if data[:_LOOK].lstrip().lower().startswith((b"<!doctype html", b"<html")) else FileKind.TEXT


def _most(kind: FileKind | None, wish: _Wish) -> int:
    """In bytes."""
    is_text = kind is None or kind is FileKind.TEXT
    return WHOLE_BYTES if is_text and wish.is_whole else _MOST[FileKind.TEXT if kind is None else kind]


def _piece(words: str, start: int) -> str:
    """With its place in the whole, where it is not all of it."""
    rest = words[start - 1 :]
    if not rest:
        return f"(there is nothing from character {start:,} on: it has {len(words):,})"
    kept = rest[:PIECE_CHARS]
    while (cost := estimate_tokens(kept)) > PIECE_TOKENS:
        kept = kept[: min(len(kept) - 1, len(kept) * PIECE_TOKENS // cost)]
    if len(kept) == len(words):
        return words
    end = start - 1 + len(kept)
    more = f"; go on with from: {end + 1}" if end < len(words) else ""
    return f"{kept}\n(characters {start:,} to {end:,} of {len(words):,}{more})"


def _text(file: Attachment, data: bytes, said: FileKind | None, most: int) -> _Text | _Unread:
    words = decode(data[:most], charset_of(file.media_type), whole=len(data) <= most)
    if words is None:
        return _Unread(_NO_TEXT.get(said, kinds.WRONG_KIND) if said else kinds.WRONG_KIND)
    return _Text(words if len(data) <= most else f"{words}\n(the file goes on)")


_NO_TEXT: Final = {
    FileKind.TEXT: kinds.NO_TEXT,
    FileKind.HTML: kinds.NO_TEXT,
    FileKind.OFFICE: kinds.BROKEN,
}


def _words(file: Attachment, content: _Text | _Unread) -> str:
    if isinstance(content, _Unread):
        return kinds.not_read(file.media_type, file.size, content.reason)
    return content.words or "(the file is empty)"


def _quoted(file: Attachment, words: str) -> Quoted:
    return Quoted(f"{file.source} {kinds.shown_note(file.name)}", file.author, words)


def _sorry(reason: str) -> str:
    return reply_texts.CANNOT_LISTEN if reason == kinds.UNHEARD else reply_texts.CANNOT_LISTEN_NOW.format(reason=reason)
