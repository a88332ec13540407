"""Fetching from the web: from an address to bytes, within bounds. The only module of `bot.web` that opens connections.

Rules.
- A name is resolved here, once; every address that it leads to is judged (`bot.web.guard`), and the connection goes to
  one of those and to nothing else. TLS is verified against the name. Each redirect begins anew with all of that.
- The environment's proxies are not used: what they would connect to nobody could judge. No cookie is kept or sent, no
  key, and not where one comes from.
- What others wrote leads nobody into an own network: no redirect of the web does, and its asker has to name the host.
- Everything that a server sends is counted as it comes, and what unfolds as it unfolds: nothing is held beyond a bound.
"""

import asyncio
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, Final, TypeAlias
from urllib.parse import urljoin

import h11
from cachetools import TTLCache

from agent.ports import Clock
from bot.attachments.kinds import PICTURES, TELLS_NOTHING, FileKind, announced, is_office, plain_type
from bot.web.guard import (
    MAX_ADDRESS_CHARS,
    NO_NAME,
    NOTHING_ALLOWED,
    TOO_LONG,
    Guard,
    Robots,
    Target,
    WebRefused,
    parse_robots,
    product,
)

# The addresses that a name leads to. Raises OSError.
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
Streams: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# Connects to an IP address and a port, with TLS for a name. Raises OSError.
Dial: TypeAlias = Callable[[str, int, ssl.SSLContext | None, str | None], Awaitable[Streams]]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    seconds: float = 12.0
    """For everything until the last byte, redirects included: a person waits, and the text is still to be read."""
    connect_s: float = 4.0
    """To one address: a host that is there answers within one."""
    redirects: int = 5
    """Pages take two (http to https, to www); more is a loop or a tracker."""
    text_bytes: int = 3_000_000
    """Unfolded. Of a longer page the beginning is read: a thousand pages of a book."""
    file_bytes: int = 10_000_000
    """Of a PDF, an office file or a picture, which is of no use in part."""
    head_bytes: int = 64_000
    """Of a response's head: some sites send long policies and cookies."""
    addresses: int = 4
    """Of one name that are tried, one after the other."""


AT_ONCE: Final = 8  # Fetches of one process at a time: eighty megabytes at worst
RESOLVERS: Final = 4  # Threads that wait for names: one that is answered late, or never, holds up nothing else
PIECE: Final = 65_536
MAX_SITES: Final = 500
# How long what a site's robots.txt says is remembered; a day is the most that is allowed (RFC 9309).
ROBOTS_S: Final = 3600.0
MAX_ROBOTS_BYTES: Final = 512_000  # As much as has to be read of it (RFC 9309)
MAX_INTERIM: Final = 10  # Answers that announce the real one (103 Early Hints); a server could send them for ever
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})

TOO_LATE: Final = "it did not answer in full within {seconds:g} seconds"
UNREACHABLE: Final = "it cannot be reached"
NO_HTTP: Final = "what answers there does not speak HTTP as it should"
NOT_TRUSTED: Final = "its certificate does not prove that it is {host}"
TOO_MANY_REDIRECTS: Final = "it leads on from address to address, more than {redirects} times"
ROBOTS: Final = "its site asks programs not to read it (robots.txt)"
INTO_OWN: Final = "it leads on into the operator's own network, where the public web may not send anybody"
NOT_NAMED: Final = "it lies in the operator's own network, and is read only if the person names {host} themselves"
TOO_LARGE: Final = "it is larger than {megabytes:g} MB"
NO_PAGE: Final = "it is {kind}, which cannot be read as text"
ENCODED: Final = "it is packed in a way that is not understood here"
STATUS: Final = {
    401: "one has to sign in there, which I cannot",
    402: "it has to be paid for",
    403: "it refuses to be read by programs, or by anybody who is not signed in",
    404: "there is no such page",
    410: "the page is there no more",
    429: "it was asked too often; it may be there again in a while",
    451: "it may not be shown, for legal reasons",
}
OTHER_STATUS: Final = "it answers with an error ({status})"


@dataclass(frozen=True, slots=True)
class Fetched:
    """`address`: where it lay in the end; `is_whole`: nothing was cut; `is_own`: in the operator's own network. `etag`,
    `modified`: what its server calls this version; `is_known`: it is the one that was known, and nothing was sent.
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
    """What was fetched before at an address, as its server called it: nobody else's server is told that."""

    address: str
    etag: str
    modified: str


async def dial(address: str, port: int, tls: ssl.SSLContext | None, name: str | None) -> Streams:
    return await asyncio.open_connection(address, port, ssl=tls, server_hostname=name)


class SystemResolver:
    """Names as the machine resolves them, in threads of its own."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(RESOLVERS, "names")
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _addresses, name, port)
        return list(dict.fromkeys(found))

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses(name: str, port: int) -> list[str]:
    return [str(found[4][0]) for found in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]


def _nobody_named(_host: str) -> bool:
    return False


class Fetcher:
    """`agent`: how it introduces itself. `resolve` and `dial`: the network."""

    def __init__(
        self,
        guard: Guard,
        agent: str,
        clock: Clock,
        resolve: Resolve,
        dial: Dial = dial,
        *,
        robots: bool = True,
        limits: FetchLimits = FetchLimits(),
        trust: Callable[[], ssl.SSLContext] = ssl.create_default_context,
    ) -> None:
        self._guard = guard
        self._agent = agent
        self._resolve = resolve
        self._dial = dial
        self._limits = limits
        self._trust = trust
        self._tls: ssl.SSLContext | None = None
        self._free = asyncio.Semaphore(AT_ONCE)
        self._robots = TTLCache[str, Robots](MAX_SITES, ROBOTS_S, clock.monotonic) if robots else None

    async def fetch(self, address: str, is_named: Callable[[str], bool], known: KnownVersion | None = None) -> Fetched:
        """What lies at an address, or where it leads, unless that is `known`; in the operator's own network only if
        `is_named` says that the person has named its host. Raises WebRefused.
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
            target = self._guard.read(address)
            addresses = await self._resolved(target)
            is_own = self._guard.admit(target, [ip_address(one) for one in addresses])
            if is_own and was_public:
                raise WebRefused(INTO_OWN)
            if is_own and not hop and not is_named(target.host):
                raise WebRefused(NOT_NAMED.format(host=target.host))
            was_public = not is_own
            if asks_first and was_public and not await self._may_read(target):
                raise WebRefused(ROBOTS)
            conditions = _conditions(known) if known is not None and known.address == target.address else {}
            async with self._asked(target, addresses, conditions) as (response, body):
                if conditions and response.status_code == 304:
                    return Fetched(target.address, "", b"", is_own=is_own, is_known=True)
                led_on = _header(response, b"location")
                if response.status_code not in _REDIRECTS or not led_on:
                    return await self._read(target, response, body, is_own=is_own)
            if len(led_on) > MAX_ADDRESS_CHARS:
                raise WebRefused(TOO_LONG)
            address = urljoin(target.address, led_on)
        raise WebRefused(TOO_MANY_REDIRECTS.format(redirects=self._limits.redirects))

    async def _may_read(self, target: Target) -> bool:
        """What the site's robots.txt says; one that cannot be had forbids nothing, as long as its server works."""
        if self._robots is None:
            return True
        if (robots := self._robots.get(target.origin)) is None:
            try:
                found = await self._follow(f"{target.origin}/robots.txt", _nobody_named, asks_first=False)
                robots = parse_robots(found.data[:MAX_ROBOTS_BYTES].decode("utf-8", "replace"), product(self._agent))
            except WebRefused as refused:
                robots = NOTHING_ALLOWED if refused.is_fault else Robots()
            self._robots[target.origin] = robots
        return robots.allows(target.path)

    async def _resolved(self, target: Target) -> list[str]:
        if target.literal is not None:
            return [target.host]
        try:
            found = await self._resolve(target.host, target.port)
            for one in found:
                ip_address(one)
        except (OSError, UnicodeError, ValueError):  # also an address with a scope: of one cable
            raise WebRefused(NO_NAME) from None
        return list(found)

    @asynccontextmanager
    async def _asked(
        self, target: Target, addresses: Sequence[str], conditions: Mapping[str, str]
    ) -> AsyncGenerator[tuple[h11.Response, AsyncGenerator[bytes]]]:
        """The answer's head, and its body as it comes."""
        reader, writer = await self._connected(target, addresses)
        talk = _Talk(reader, h11.Connection(h11.CLIENT, max_incomplete_event_size=self._limits.head_bytes))
        headers = {
            "Host": target.authority,
            "User-Agent": self._agent,
            "Accept": "text/html,application/xhtml+xml,application/pdf,application/json,text/*;q=0.9,*/*;q=0.5",
            "Accept-Encoding": ", ".join(_DECODERS),
            "Connection": "close",
            **conditions,
        }
        try:
            writer.write(talk.request(target.path, headers))
            response = await talk.response()
            yield response, talk.body()
        except (OSError, h11.ProtocolError):
            raise WebRefused(NO_HTTP) from None
        finally:
            writer.transport.abort()  # nothing that is still to come is waited for

    async def _connected(self, target: Target, addresses: Sequence[str]) -> Streams:
        """With one of these addresses, and no other."""
        tls, why = self._context(target), UNREACHABLE
        for address in addresses[: self._limits.addresses]:
            try:
                async with asyncio.timeout(self._limits.connect_s):
                    return await self._dial(address, target.port, tls, target.host if tls else None)
            except ssl.SSLCertVerificationError:
                why = NOT_TRUSTED.format(host=target.host)
            except OSError:  # TimeoutError among them
                continue
        raise WebRefused(why)

    def _context(self, target: Target) -> ssl.SSLContext | None:
        if target.scheme == "https" and self._tls is None:
            self._tls = self._trust()
        return self._tls if target.scheme == "https" else None

    async def _read(
        self, target: Target, response: h11.Response, body: AsyncGenerator[bytes], *, is_own: bool
    ) -> Fetched:
        if not 200 <= response.status_code < 300:
            status = response.status_code
            raise WebRefused(STATUS.get(status) or OTHER_STATUS.format(status=status), is_fault=status >= 500)
        media_type = _header(response, b"content-type")
        most, decoder = self._most(target, media_type), decoder_of(_header(response, b"content-encoding"))
        data, came = bytearray(), 0
        async for piece in body:
            came += len(piece)  # what is packed may also unfold to nothing
            for part in decoder.feed(piece):
                data += part
                if len(data) > most:
                    break
            if max(came, len(data)) > most:
                if most == self._limits.file_bytes:
                    raise WebRefused(TOO_LARGE.format(megabytes=most / 1_000_000))
                return Fetched(target.address, media_type, bytes(data[:most]), is_whole=False, is_own=is_own)
        etag, modified = _version(response, b"etag"), _version(response, b"last-modified")
        return Fetched(target.address, media_type, bytes(data), is_own=is_own, etag=etag, modified=modified)

    def _most(self, target: Target, media_type: str) -> int:
        """How much of it to read. Raises WebRefused for what nobody can read as text."""
        kind = plain_type(media_type)
        called = announced(target.path.partition("?")[0], "") if kind in TELLS_NOTHING else None
        is_file = called in {FileKind.PDF, FileKind.OFFICE} or is_office(kind)
        if is_file or kind in {"application/pdf", "application/x-pdf"} | PICTURES:
            return self._limits.file_bytes
        family, _, what = kind.partition("/")
        if (
            family in {"", "text"}
            or called in {FileKind.TEXT, FileKind.HTML}
            or what.endswith(("json", "xml", "javascript", "yaml", "toml", "markdown"))
        ):
            return self._limits.text_bytes
        raise WebRefused(NO_PAGE.format(kind=kind if kind.isascii() and len(kind) < 80 else "a file"))


@dataclass(frozen=True, slots=True)
class _Talk:
    """One request and its answer. Its methods raise OSError and h11.ProtocolError."""

    reader: asyncio.StreamReader
    http: h11.Connection

    def request(self, path: str, headers: Mapping[str, str]) -> bytes:
        head = self.http.send(h11.Request(method="GET", target=path, headers=[*headers.items()]))
        return (head or b"") + (self.http.send(h11.EndOfMessage()) or b"")

    async def response(self) -> h11.Response:
        for _ in range(MAX_INTERIM):
            event = await self._next()
            if isinstance(event, h11.Response):
                return event
        raise h11.RemoteProtocolError("too many interim answers")

    async def body(self) -> AsyncGenerator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            yield bytes(event.data)

    async def _next(self) -> object:
        while (event := self.http.next_event()) is h11.NEED_DATA:
            self.http.receive_data(await self.reader.read(PIECE))
        return event


def _header(response: h11.Response, name: bytes) -> str:
    """The first of that name; "" if there is none."""
    found = next((value for key, value in response.headers if key == name), b"")
    return found.decode("utf-8", "replace")


MAX_VERSION_CHARS: Final = 200  # Of an ETag or a date: real ones have less than eighty. It is sent back at each look.


def _version(response: h11.Response, name: bytes) -> str:
    """What can be sent back as it came; "" for anything else."""
    said = _header(response, name)
    return said if len(said) <= MAX_VERSION_CHARS and said.isascii() and said.isprintable() else ""


def _conditions(known: KnownVersion) -> dict[str, str]:
    told = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    return {name: said for name, said in told.items() if said}


# What is packed, unpacked as it comes: a small piece may unfold to any size, so it comes in pieces of a bounded one.


class Decoder:
    """Feed it pieces; each gives bounded pieces. Raises WebRefused for what is none of its kind."""

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
        while (piece or len(part) == PIECE) and not self._unpack.eof:  # a full part may have left some behind
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
    """8 MB: what the web allows (RFC 9659)."""

    def __init__(self) -> None:
        self._library = import_module(ZSTD)
        most = {self._library.DecompressionParameter.window_log_max: self.MAX_WINDOW_LOG}
        self._unpack: Any = self._library.ZstdDecompressor(options=most)

    def feed(self, piece: bytes) -> Iterable[bytes]:
        try:
            while not self._unpack.eof:
                yield self._unpack.decompress(piece, PIECE)
                piece = b""
                if self._unpack.needs_input:
                    return
        except self._library.ZstdError:
            raise WebRefused(ENCODED) from None


def _is_there(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # nor is what it would be a part of
        return False


ZSTD: Final = "compression.zstd" if _is_there("compression.zstd") else "backports.zstd"
# What is asked for; br and zstd come with the extra "web".
_DECODERS: Final[dict[str, Callable[[], Decoder]]] = {
    "gzip": lambda: _Inflate(zlib.MAX_WBITS | 16),
    "deflate": lambda: _Inflate(zlib.MAX_WBITS),
    **({"br": _Brotli} if _is_there("brotli") else {}),
    **({"zstd": _Zstandard} if _is_there(ZSTD) else {}),
}


def decoder_of(encoding: str) -> Decoder:
    """Raises WebRefused for what was not asked for, and for what is packed twice."""
    name = encoding.strip().lower().removeprefix("x-")
    if name in {"", "identity"}:
        return Decoder()
    if name not in _DECODERS:
        raise WebRefused(ENCODED)
    return _DECODERS[name]()
