"""Fetches web pages within limits, over connections that are guarded (`bot.chat.network.connections`).

Rules.
- Each redirect is checked as the first address is.
- No cookie is stored or sent, no credential, and no referrer.
- Content by others cannot lead the bot into the operator's own network: redirects from the public web into it are
  refused, and its hosts have to be named by the asker.
- Received bytes are counted as they come, and decompressed bytes as they are produced, so memory stays bounded.
"""

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.parse import urljoin

import h11
from cachetools import TTLCache

from agent.ports.clock import Clock
from bot.chat.attachments.kinds import PICTURES, TELLS_NOTHING, FileKind, announced, is_office, plain_type
from bot.chat.network.connections import (
    DIRECT,
    Admitted,
    ConnectLimits,
    Dial,
    GuardedConnections,
    Resolve,
    Route,
    dial,
)
from bot.chat.network.guard import MAX_ADDRESS_CHARS, TOO_LONG, Guard, Target, WebRefused
from bot.chat.network.http_exchange import PIECE, HttpExchange, header
from bot.web.robots_txt import NOTHING_ALLOWED, Robots, parse_robots, product


@dataclass(frozen=True, slots=True)
class FetchLimits:
    seconds: float = 12.0
    """Until the last byte, with all redirects: a person waits, and extracting the text takes more time."""
    connect_s: float = 4.0
    """For connecting to one address: a working host answers within a second."""
    redirects: int = 5
    """Pages need two (http to https, to www); more suggest a loop or a tracker."""
    text_bytes: int = 3_000_000
    """Of text, decompressed: a thousand pages of a book. Only the beginning of a longer page is read."""
    file_bytes: int = 10_000_000
    """Of a PDF, an office file or a picture; a longer one is refused, as a part is of no use."""
    head_bytes: int = 64_000
    """Of a response's head: some sites send long policies and cookies."""
    addresses: int = 4
    """Addresses of one name that are tried, one after the other."""


AT_ONCE: Final = 8  # Concurrent fetches of a process: eighty megabytes at worst
MAX_SITES: Final = 500
ROBOTS_S: Final = 3600.0  # How long a site's robots.txt is cached; RFC 9309 allows a day
MAX_ROBOTS_BYTES: Final = 512_000  # RFC 9309 requires that at least 500 KiB are read
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

TOO_LATE: Final = "it did not respond completely within {seconds:g} seconds"
NO_HTTP: Final = "the server did not respond with valid HTTP"
TOO_MANY_REDIRECTS: Final = "it redirects more than {redirects} times"
ROBOTS: Final = "the site does not allow programs to read it (robots.txt)"
INTO_OWN: Final = "it redirects into the operator's own network, which a public address is not allowed to do"
NOT_NAMED: Final = "it is in the operator's own network, so it is read only if the person names {host} themselves"
TOO_LARGE: Final = "it is larger than {megabytes:g} MB"
NO_PAGE: Final = "it is {kind}, which cannot be read as text"
A_FILE: Final = "a file"
# The types that may be named in a refusal, which is the program's own sentence: a site chooses the type that it sends,
# and could write words into it.
KNOWN_TYPES: Final = frozenset(
    {
        *(f"application/{kind}" for kind in ("octet-stream", "zip", "gzip", "x-tar", "x-7z-compressed", "epub+zip")),
        *(f"audio/{kind}" for kind in ("mpeg", "mp4", "ogg", "wav", "webm", "flac")),
        *(f"video/{kind}" for kind in ("mp4", "mpeg", "ogg", "webm", "quicktime")),
        *(f"image/{kind}" for kind in ("avif", "bmp", "heic", "tiff", "x-icon")),
        *(f"font/{kind}" for kind in ("ttf", "otf", "woff", "woff2")),
    }
)
ENCODED: Final = "it is compressed in a format that is not supported here"
STATUS: Final = {
    401: "it requires signing in, which I cannot do",
    402: "it requires payment",
    403: "it does not allow programs to read it, or requires signing in",
    404: "the page does not exist",
    410: "the page no longer exists",
    429: "it received too many requests; try again later",
    451: "it is not available for legal reasons",
}
OTHER_STATUS: Final = "it returned an error ({status})"


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetched resource. `address`: the final one after redirects; `is_whole`: nothing was cut; `is_own`: it is in the
    operator's own network. `etag`, `modified`: the server's validators of this version; `is_known`: the known version
    is still current, and no data was sent.
    """

    address: str
    media_type: str
    data: bytes = field(repr=False)
    is_whole: bool = True
    is_own: bool = False
    etag: str = ""
    modified: str = ""
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """The validators of an earlier fetch from `address`. They are sent to no other address."""

    address: str
    etag: str
    modified: str


def _is_never_named(_host: str) -> bool:
    return False


class Fetcher:
    """Fetches resources. `agent`: its user agent; `resolve` and `dial`: the network; `robots`: whether robots.txt is
    obeyed; `route`: whether a proxy is between; `trust`: creates the TLS context.
    """

    def __init__(
        self,
        guard: Guard,
        agent: str,
        clock: Clock,
        resolve: Resolve,
        dial: Dial = dial,
        *,
        robots: bool = True,
        route: Route = DIRECT,
        limits: FetchLimits = FetchLimits(),
        trust: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self._agent = agent
        self._limits = limits
        reach = ConnectLimits(limits.connect_s, limits.addresses)
        self._connections = GuardedConnections(guard, resolve, dial, route=route, limits=reach, trust=trust)
        self._free = asyncio.Semaphore(AT_ONCE)
        self._robots = TTLCache[str, Robots](MAX_SITES, ROBOTS_S, clock.monotonic) if robots else None

    async def fetch(self, address: str, is_named: Callable[[str], bool], known: KnownVersion | None = None) -> Fetched:
        """Fetch an address, following redirects; no data if `known` is still current. Raises WebRefused.

        `is_named`: returns whether the person has named this host, which is required in the operator's own network.
        """
        limits = self._limits
        try:
            async with asyncio.timeout(limits.seconds), self._free:
                return await self._follow(address, is_named, known)
        except TimeoutError:
            raise WebRefused(TOO_LATE.format(seconds=limits.seconds)) from None

    async def _follow(
        self,
        address: str,
        is_named: Callable[[str], bool],
        known: KnownVersion | None = None,
        *,
        asks_first: bool = True,
    ) -> Fetched:
        was_public = False
        for hop in range(self._limits.redirects + 1):
            # Each hop is checked on the addresses to which it will connect.
            admitted = await self._connections.admit(address)
            target, is_own = admitted.target, admitted.is_own
            # A public page must not lead the bot into its operator's network.
            if is_own and was_public:
                raise WebRefused(INTO_OWN)
            # A host of one's own network is opened only if a person named it, not because a model or a page did.
            if is_own and not hop and not is_named(target.host):
                raise WebRefused(NOT_NAMED.format(host=target.host))
            was_public = not is_own
            if asks_first and was_public and not await self._is_allowed(target):
                raise WebRefused(ROBOTS)
            conditions = _conditions(known) if known is not None and known.address == target.address else {}
            async with self._request(admitted, conditions, named=not hop) as (response, body):
                if conditions and response.status_code == 304:
                    return Fetched(target.address, "", b"", is_own=is_own, is_known=True)
                location = header(response, b"location")
                if response.status_code not in _REDIRECTS or not location:
                    return await self._read(target, response, body, is_own=is_own)
            if len(location) > MAX_ADDRESS_CHARS:
                raise WebRefused(TOO_LONG)
            address = urljoin(target.address, location)
        raise WebRefused(TOO_MANY_REDIRECTS.format(redirects=self._limits.redirects))

    async def _is_allowed(self, target: Target) -> bool:
        """Return whether the site's robots.txt allows reading. A missing one allows all; a failing server allows
        none.
        """
        if self._robots is None:
            return True
        if (robots := self._robots.get(target.origin)) is None:
            try:
                fetched = await self._follow(f"{target.origin}/robots.txt", _is_never_named, asks_first=False)
                robots = parse_robots(fetched.data[:MAX_ROBOTS_BYTES].decode("utf-8", "replace"), product(self._agent))
            except WebRefused as refused:
                robots = NOTHING_ALLOWED if refused.is_fault else Robots()
            self._robots[target.origin] = robots
        return robots.allows(target.path)

    @asynccontextmanager
    async def _request(
        self,
        admitted: Admitted,
        conditions: Mapping[str, str],
        *,
        named: bool,
    ) -> AsyncGenerator[tuple[h11.Response, AsyncGenerator[bytes]]]:
        """Send the request; yield the response's head, and its body as it arrives. `named`: as for
        `GuardedConnections.open`.
        """
        reader, writer = await self._connections.open(admitted, named=named)
        exchange = HttpExchange(reader, h11.Connection(h11.CLIENT, max_incomplete_event_size=self._limits.head_bytes))
        headers = {
            "Host": admitted.target.authority,
            "User-Agent": self._agent,
            "Accept": "text/html,application/xhtml+xml,application/pdf,application/json,text/*;q=0.9,*/*;q=0.5",
            "Accept-Encoding": ", ".join(_DECODERS),
            "Connection": "close",
            **conditions,
        }
        try:
            writer.write(exchange.request("GET", admitted.target.path, headers))
            response = await exchange.response()
            yield response, exchange.body()
        except (OSError, h11.ProtocolError):
            raise WebRefused(NO_HTTP) from None
        finally:
            writer.transport.abort()  # discard any bytes that are still to come

    async def _read(
        self, target: Target, response: h11.Response, body: AsyncGenerator[bytes], *, is_own: bool
    ) -> Fetched:
        if not 200 <= response.status_code < 300:
            status = response.status_code
            raise WebRefused(STATUS.get(status) or OTHER_STATUS.format(status=status), is_fault=status >= 500)
        media_type = header(response, b"content-type")
        limit, decoder = self._byte_limit(target, media_type), decoder_of(header(response, b"content-encoding"))
        data, received = bytearray(), 0
        async for piece in body:
            received += len(piece)  # counted, too, as compressed data may produce no output
            for part in decoder.feed(piece):
                data += part
                if len(data) > limit:
                    break
            if max(received, len(data)) > limit:
                if limit == self._limits.file_bytes:
                    raise WebRefused(TOO_LARGE.format(megabytes=limit / 1_000_000))
                return Fetched(target.address, media_type, bytes(data[:limit]), is_whole=False, is_own=is_own)
        etag, modified = _version(response, b"etag"), _version(response, b"last-modified")
        return Fetched(target.address, media_type, bytes(data), is_own=is_own, etag=etag, modified=modified)

    def _byte_limit(self, target: Target, media_type: str) -> int:
        """Return the size limit of a resource. Raises WebRefused for types that cannot be read as text."""
        kind = plain_type(media_type)
        guessed = announced(target.path.partition("?")[0], "") if kind in TELLS_NOTHING else None
        is_file = guessed in {FileKind.PDF, FileKind.OFFICE} or is_office(kind)
        if is_file or kind in {"application/pdf", "application/x-pdf"} | PICTURES:
            return self._limits.file_bytes
        family, _, subtype = kind.partition("/")
        if (
            family in {"", "text"}
            or guessed in {FileKind.TEXT, FileKind.HTML}
            or subtype.endswith(("json", "xml", "javascript", "yaml", "toml", "markdown"))
        ):
            return self._limits.text_bytes
        raise WebRefused(NO_PAGE.format(kind=kind if kind in KNOWN_TYPES else A_FILE))


MAX_VERSION_CHARS: Final = 200  # Of a validator, which is sent back at each fetch: real ones have less than eighty


def _version(response: h11.Response, name: bytes) -> str:
    """Return a validator that can be sent back unchanged; "" for any other."""
    value = header(response, name)
    return value if len(value) <= MAX_VERSION_CHARS and value.isascii() and value.isprintable() else ""


def _conditions(known: KnownVersion) -> dict[str, str]:
    headers = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    return {name: value for name, value in headers.items() if value}


# Decompression while data arrives. A small piece may decompress to any size, so output comes in bounded pieces.


class Decoder:
    """Decodes a stream: `feed` takes a piece and yields bounded pieces. Raises WebRefused for invalid data."""

    def feed(self, piece: bytes) -> Iterable[bytes]:
        yield piece


class _Inflate(Decoder):
    """gzip, or deflate in either of its two forms."""

    def __init__(self, wbits: int) -> None:
        self._unpack = zlib.decompressobj(wbits)
        self._is_raw_tried = wbits == zlib.MAX_WBITS | 16
        self._has_begun = False

    def feed(self, piece: bytes) -> Iterable[bytes]:
        part = b""
        while (piece or len(part) == PIECE) and not self._unpack.eof:  # after a full part more output may be buffered
            try:
                part = self._unpack.decompress(piece, PIECE)
            except zlib.error:
                if self._has_begun or self._is_raw_tried:
                    raise WebRefused(ENCODED) from None
                self._unpack, self._is_raw_tried = zlib.decompressobj(-zlib.MAX_WBITS), True
                continue
            self._has_begun = True
            piece = self._unpack.unconsumed_tail
            yield part


class _Brotli(Decoder):
    def __init__(self) -> None:
        self._library = import_module("brotli")
        self._unpack: Any = self._library.Decompressor()

    def feed(self, piece: bytes) -> Iterable[bytes]:
        try:
            while not self._unpack.is_finished() and (part := self._unpack.process(piece, output_buffer_limit=PIECE)):
                piece = b""
                yield part
        except self._library.error:
            raise WebRefused(ENCODED) from None


class _Zstandard(Decoder):
    MAX_WINDOW_LOG: Final = 23
    """8 MB, the limit for the web (RFC 9659)."""

    def __init__(self) -> None:
        self._library = import_module(ZSTD)
        options = {self._library.DecompressionParameter.window_log_max: self.MAX_WINDOW_LOG}
        self._unpack: Any = self._library.ZstdDecompressor(options=options)

    def feed(self, piece: bytes) -> Iterable[bytes]:
        try:
            while not self._unpack.eof:
                yield self._unpack.decompress(piece, PIECE)
                piece = b""
                if self._unpack.needs_input:
                    return
        except self._library.ZstdError:
            raise WebRefused(ENCODED) from None


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # its parent package is missing
        return False


ZSTD: Final = "compression.zstd" if _is_installed("compression.zstd") else "backports.zstd"
# The accepted encodings; br and zstd come with the extra "web".
_DECODERS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": lambda: _Inflate(zlib.MAX_WBITS | 16),
    "deflate": lambda: _Inflate(zlib.MAX_WBITS),
    **({"br": _Brotli} if _is_installed("brotli") else {}),
    **({"zstd": _Zstandard} if _is_installed(ZSTD) else {}),
}


def decoder_of(encoding: str) -> Decoder:
    """Return the decoder of a content encoding. Raises WebRefused for one that was not offered, or several."""
    name = encoding.strip().lower().removeprefix("x-")
    if name in {"", "identity"}:
        return Decoder()
    if name not in _DECODERS:
        raise WebRefused(ENCODED)
    return _DECODERS[name]()
