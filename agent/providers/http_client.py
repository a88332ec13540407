"""HTTP, and nothing else: requests out, streams of bytes in. The only module of `agent` that speaks httpx.

Rules. It knows no vendor. Foreign errors are translated here, once. The environment's proxies are used only where the
caller says so. Leaving the block of a reply closes its connection, which stops a model that is generating; a reply that
was read to its end leaves it to the next. No redirect is followed, and nothing asked twice. How long to wait for an
answer is the caller's business (`asyncio.timeout`); only connecting and writing have limits of their own.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.request import getproxies

import aiohttp
import httpx

# httpx's transport on aiohttp's connections, which read a token in a fifth of the time that httpx's own take.
#
# Rules. No redirect is followed, no cookie kept, nothing decoded: that is httpx's business. Errors are httpx's. A reply
# that was read to its end leaves its connection to the next; any other one takes it along.

MAX_HEADER_BYTES = 65_536  # Of one line of a reply's head: some gateways send long policies and cookies


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Opens its session with the first request. `connect_s` bounds TCP and TLS together."""

    def __init__(self, connect_s: float) -> None:
        self._connect_s = connect_s
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _as_httpx():
            response = await self._opened().request(
                request.method,
                str(request.url),
                headers=request.headers.multi_items(),
                data=await request.aread(),
                allow_redirects=False,
            )
        return httpx.Response(response.status, headers=list(response.raw_headers), stream=_Body(response))

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=MAX_HEADER_BYTES,
            )
        return self._session


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        with _as_httpx():
            while piece := await self._response.content.readany():
                yield piece

    async def aclose(self) -> None:
        self._response.close()


@contextmanager
def _as_httpx() -> Generator[None, None, None]:
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise httpx.ConnectError(type(error).__name__) from None
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
        raise httpx.UnsupportedProtocol(type(error).__name__) from None
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.ReadError(type(error).__name__) from None


CONNECT_TIMEOUT_S = 10.0  # TCP and TLS, across the world and through a proxy; a host that takes longer is not there
# Per write of a request through a proxy: a megabyte on a slow line, without hanging on a dead one.
WRITE_TIMEOUT_S = 60.0
MAX_BODY_BYTES = 8_000_000  # Of an answer that is read whole: far above any list of models, far below what would hurt


class TransportError(Exception):
    """The request did not come through.

    TransportError
    ├── Unreachable   no connection was made: nothing was sent
    └── Disconnected  the connection ended, or spoke no HTTP, after that
    """


class Unreachable(TransportError):
    pass


class Disconnected(TransportError):
    pass


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer whose body is still on its way. Header names are in lower case.

    `framed` tells whether the end of the body can be told from a lost connection.
    """

    status: int
    headers: Mapping[str, str]
    framed: bool
    response: httpx.Response

    async def body(self) -> AsyncGenerator[bytes, None]:
        """The decoded bytes as they arrive. Raises Disconnected."""
        with _translated():
            async for piece in self.response.aiter_bytes():
                yield piece

    async def read(self) -> bytes:
        """The whole body, cut after `MAX_BODY_BYTES`. Raises Disconnected."""
        body = bytearray()
        async for piece in self.body():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                break
        return bytes(body[:MAX_BODY_BYTES])


class Http:
    """Connections, opened on the first request and kept until `aclose`; through the environment's `proxies`, or not."""

    def __init__(self, *, proxies: bool) -> None:
        self._proxies = proxies
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncGenerator[Reply, None]:
        """Send, and hand out the reply as soon as its headers are there. Raises Unreachable and Disconnected."""
        with _translated():
            request = self._opened().build_request(method, url, headers=dict(headers), content=body)
            response = await self._opened().send(request, stream=True)
        try:
            received = {name.lower(): value for name, value in response.headers.items()}
            framed = not received.keys().isdisjoint({"content-length", "transfer-encoding"})
            yield Reply(response.status_code, received, framed, response)
        finally:
            with _translated():
                await response.aclose()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            # Through a proxy httpx takes its own connections, which know all kinds of proxies.
            proxied = self._proxies and any(getproxies().values())
            self._client = httpx.AsyncClient(
                transport=None if proxied else AiohttpTransport(CONNECT_TIMEOUT_S),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT_S, write=WRITE_TIMEOUT_S),
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=20),
                trust_env=self._proxies,
            )
        return self._client


@contextmanager
def _translated() -> Generator[None, None, None]:
    # Not chained: httpx repeats an illegal header in its text, and that may be a key.
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
        raise Unreachable(type(error).__name__) from None
    except (ValueError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:  # nothing was sent
        raise Unreachable(type(error).__name__) from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise Disconnected(type(error).__name__) from None


# Server-sent events: pieces of bytes in, the data of each event out. Pure: feed and flush.
#
# Rules. However the bytes are cut, in the middle of a line or of a character, the same data come out. Comments and
# every field but `data` are ignored. An event at the very end counts without its blank line: some servers forget it.
#
# A line ends with \n, \r or both. A \r at the end of a piece is taken for a whole line end at once, so that nothing
# waits for the next piece; a \n that then begins it belongs to the same end.

# Far above any chunk of an answer. A server that sends more without an event's end would fill the memory.
MAX_EVENT_BYTES = 8_000_000
BOM = b"\xef\xbb\xbf"


class EventReader:
    """`feed` it the pieces of one stream; `flush` it at the end."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # The beginning of a line whose end has not come, in pieces
        self._data: list[bytes] = []  # The data of an event whose blank line has not come
        self._bytes = 0
        self._after_return = False
        self._begun = False

    def feed(self, piece: bytes) -> list[str]:
        """The data of the events that end in this piece. Raises Disconnected for an event that does not end."""
        if self._after_return and piece.startswith(b"\n"):
            piece, self._after_return = piece[1:], False
        if b"\r" in piece:
            self._after_return = piece.endswith(b"\r")
            piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        elif piece:
            self._after_return = False
        lines = piece.split(b"\n")
        rest = lines.pop()
        if self._line and lines:
            lines[0] = b"".join([*self._line, lines[0]])
            self._line = []
        events = [data for line in lines if (data := self._take(line))]
        if rest:
            self._line.append(rest)
        self._bytes += len(piece)
        if self._bytes > MAX_EVENT_BYTES:
            raise Disconnected("endless event")
        return events

    def flush(self) -> list[str]:
        """The data of an event that the stream ended without its blank line."""
        return [*self.feed(b"\n"), *self.feed(b"\n")]

    def _take(self, line: bytes) -> str:
        """The data of the event that this line ends, "" for every other line."""
        if not self._begun:
            line, self._begun = line.removeprefix(BOM), True
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
        elif not line:
            data, self._data, self._bytes = b"\n".join(self._data), [], 0
            return data.decode("utf-8", "replace")
        return ""


async def event_data(body: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """The data of each event that has any. Raises what `body` raises, and Disconnected for an event without an end."""
    reader = EventReader()
    async for piece in body:
        for data in reader.feed(piece):
            yield data
    for data in reader.flush():
        yield data
