"""The HTTP client: requests out, streams of bytes in. The only module of `agent` that uses httpx.

Rules. It knows no vendor. Errors of other libraries are translated here. The environment's proxies are used only if the
caller asks for it. To leave the block of a reply closes its connection, which stops a model that is generating; a reply
that was read to its end leaves the connection to the next one. No redirect is followed, and no request is repeated. The
caller limits the time of an answer (`asyncio.timeout`); only connecting and writing have timeouts here.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import yarl

from agent.certificates import certificate_problem
from agent.messages import is_too_deep
from agent.providers.catalog import is_loopback
from agent.providers.event_stream import EventStreamDecoder, MalformedStream, message_data
from agent.providers.httpx_library import httpx

# A transport for httpx on connections of aiohttp, which read a token in a fifth of the time of httpx's own.
#
# Rules. Redirects, cookies and decoding are left to httpx. Errors are httpx's. A reply that was read to its end leaves
# its connection to the next one; any other reply closes it. A server without TLS gets a connection for each request:
# it is near, so that costs nothing, and llama.cpp closes a connection after a streamed answer without saying so.

MAX_HEADER_BYTES = 65_536  # Of one header line: some gateways send long policies and cookies


class AiohttpTransport(httpx.AsyncBaseTransport):
    """Opens its session with the first request. `connect_s` limits TCP and TLS together."""

    def __init__(self, connect_s: float) -> None:
        self._connect_s = connect_s
        self._sessions: dict[str, aiohttp.ClientSession] = {}  # By the scheme of the address

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        with _translate_to_httpx():
            response = await self._open_session(request.url.scheme).request(
                request.method,
                yarl.URL(str(request.url), encoded=True),  # a signature covers the path as it is escaped
                headers=request.headers.multi_items(),
                data=await request.aread(),
                allow_redirects=False,
            )
        return httpx.Response(response.status, headers=list(response.raw_headers), stream=_Body(response))

    async def aclose(self) -> None:
        for session in self._sessions.values():
            await session.close()

    def _open_session(self, scheme: str) -> aiohttp.ClientSession:
        if scheme not in self._sessions:
            self._sessions[scheme] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, force_close=scheme == "http"),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=MAX_HEADER_BYTES,
            )
        return self._sessions[scheme]


class _Body(httpx.AsyncByteStream):
    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response

    async def __aiter__(self) -> AsyncGenerator[bytes, None]:
        with _translate_to_httpx():
            while piece := await self._response.content.readany():
                yield piece

    async def aclose(self) -> None:
        self._response.close()


@contextmanager
def _translate_to_httpx() -> Generator[None, None, None]:
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
        raise httpx.ConnectError(type(error).__name__) from None
    except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
        raise httpx.UnsupportedProtocol(type(error).__name__) from None
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.ReadError(type(error).__name__) from None


CONNECT_TIMEOUT_S = 10.0  # TCP and TLS, also through a proxy; a host that takes longer is down
# For each write of a request through a proxy: enough for a megabyte on a slow line.
WRITE_TIMEOUT_S = 60.0
MAX_BODY_BYTES = 8_000_000  # Of a body that is read whole: far above any list of models


class TransportError(Exception):
    """The request failed.

    TransportError
    ├── Unreachable   there was no connection: nothing was sent
    │   └── Untrusted the certificate was not accepted
    └── Disconnected  the connection was lost later, or the peer did not speak HTTP
    """


class Unreachable(TransportError):
    pass


class Untrusted(Unreachable):
    """`problem` says why, in the TLS library's words."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class Disconnected(TransportError):
    pass


@dataclass(frozen=True, slots=True)
class Reply:
    """A response whose body is not read yet. Header names are in lower case.

    `framed`: whether the end of the body can be distinguished from a lost connection.
    """

    status: int
    headers: Mapping[str, str]
    framed: bool
    response: httpx.Response

    async def body(self) -> AsyncGenerator[bytes, None]:
        """Yield the decoded bytes as they arrive. Raises Disconnected."""
        with _translate_errors():
            async for piece in self.response.aiter_bytes():
                yield piece

    async def read(self) -> bytes:
        """Return the whole body, cut after `MAX_BODY_BYTES`. Raises Disconnected."""
        body = bytearray()
        async for piece in self.body():
            body += piece
            if len(body) > MAX_BODY_BYTES:
                break
        return bytes(body[:MAX_BODY_BYTES])


def proxy_for(address: str) -> str | None:
    """Return the environment's proxy for an address (https, http, wss or ws); None if it is reached directly."""
    parts = urlsplit(address)
    if is_loopback(parts.hostname or "") or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    proxy = getproxies().get({"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme), "")
    if not proxy:
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


class Http:
    """A pool of connections, opened at the first request. `proxies`: whether the environment's proxies are used."""

    def __init__(self, *, proxies: bool) -> None:
        self._proxies = proxies
        self._client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncGenerator[Reply, None]:
        """Send a request, and yield the reply after its headers. Raises Unreachable and Disconnected."""
        with _translate_errors():
            request = self._open_client().build_request(method, url, headers=dict(headers), content=body)
            response = await self._open_client().send(request, stream=True)
        try:
            received = {name.lower(): value for name, value in response.headers.items()}
            framed = not received.keys().isdisjoint({"content-length", "transfer-encoding"})
            yield Reply(response.status_code, received, framed, response)
        finally:
            with _translate_errors():
                await response.aclose()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            # Through a proxy httpx uses its own connections, which support all kinds of proxies.
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
def _translate_errors() -> Generator[None, None, None]:
    # Not chained: the text of httpx's error repeats an illegal header, which may be a key.
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
        raise unreachable(error) from None
    except (ValueError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:  # nothing was sent
        raise Unreachable(type(error).__name__) from None
    except (httpx.HTTPError, httpx.StreamError) as error:
        raise Disconnected(type(error).__name__) from None


def unreachable(error: Exception) -> Unreachable:
    """Return the error for a connection that failed with this one."""
    problem = certificate_problem(error)
    return Untrusted(problem) if problem else Unreachable(type(error).__name__)


# A parser of server-sent events: bytes in, the data of each event out. Pure: feed and flush.
#
# Rules. The result does not depend on how the bytes are split, even inside of a line or a character. Comments and all
# fields but `data` and `event` are ignored. The last event counts without its blank line, which some servers omit.
#
# Not all servers with this protocol keep to its form, whatever their content type says. A line with data is an event of
# its own if it is a whole JSON text and the next line begins another: some gateways omit the blank line between events.
# Others write the name of the field twice. A line of JSON without a field
# is an event of its own; one that begins a longer JSON text is joined with all such lines until the end. A page of HTML
# is passed on as it is, so that the caller sees that something came. The data of an event named `error`, and a field
# `error`, become a JSON object with that one name, because other errors have it, too.
#
# A line ends with \n, \r or both. A \r at the end of a piece ends the line at once, so that no event waits for the next
# piece; a \n at the start of that piece belongs to the same line end.

# Far above any chunk of an answer. A server that sends more without the end of an event would fill the memory.
MAX_EVENT_BYTES = 8_000_000
BOM = b"\xef\xbb\xbf"
_BARE = (b"{", b"[", b"<")


class EventReader:
    """Call `feed` with the pieces of one stream, and `flush` at its end."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # The pieces of an incomplete line
        self._data: list[bytes] = []  # The data of an incomplete event
        self._bare: list[bytes] = []  # Lines without a field that are no complete JSON text
        self._is_error = False
        self._bytes = 0
        self._after_return = False
        self._begun = False

    def feed(self, piece: bytes) -> list[str]:
        """Return the data of the events that end in this piece. Raises Disconnected if an event is too long."""
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
        """Return the data of a last event without a blank line."""
        events = [*self.feed(b"\n"), *self.feed(b"\n")]
        bare, self._bare = b"\n".join(self._bare), []
        return [*events, bare.decode("utf-8", "replace")] if bare else events

    def _take(self, line: bytes) -> str:
        """Process a line. Return the data of the event that it ends, or ""."""
        if not self._begun:
            line, self._begun = line.removeprefix(BOM), True
        if line.startswith(b"data:"):
            return self._take_data(line)
        if not line:
            return self._end_event()
        if line.startswith((b"event:", b"error:")):
            self._name_event(line)
        elif self._bare or line.lstrip().startswith(_BARE):
            return self._take_bare(line)
        return ""

    def _take_data(self, line: bytes) -> str:
        """Process a line with data. Return the data of the event before it, if the blank line between them is missing.

        Only the first line of an event is read by itself, so this is linear.
        """
        value = line[6:] if line.startswith(b" ", 5) else line[5:]
        if value.startswith((b"data: {", b"data:{", b"data: [DONE]")):
            value = value[5:].lstrip()
        ended = ""
        if len(self._data) == 1 and value.startswith((b"{", b"[DONE]")) and self._data[0].rstrip().endswith(b"}"):
            is_whole = _parse_json(self._data[0].decode("utf-8", "replace")) is not None
            ended = self._end_event() if is_whole else ""
        self._data.append(value)
        return ended

    def _end_event(self) -> str:
        data, self._data = b"\n".join(self._data), []
        is_error, self._is_error = self._is_error, False
        if not self._bare:
            self._bytes = 0
        text = data.decode("utf-8", "replace")
        return _as_error(text) if is_error and text else text

    def _name_event(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        if field == b"error":
            self._is_error = True
            self._data.append(value.strip())
        else:
            self._is_error = value.strip().lower() == b"error"

    def _take_bare(self, line: bytes) -> str:
        """Process a line without a field. Only the first of a JSON text is read by itself, so this is linear."""
        text = line.strip().decode("utf-8", "replace")
        if not self._bare and text[-1:] in {"}", "]"} and _parse_json(text) is not None:
            self._bytes = 0
            return text
        self._bare.append(line)
        return ""


def _as_error(text: str) -> str:
    """Return the data of an event that is named as an error in a form that shows it."""
    value = _parse_json(text)
    if isinstance(value, dict) and "error" in value:
        return text
    return json.dumps({"error": text if value is None else value})


def _parse_json(text: str) -> object:
    """Return the value, or None for text that is not JSON or is nested too deeply."""
    try:
        return None if is_too_deep(text) else json.loads(text)
    except ValueError:
        return None


async def event_data(body: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """Yield the data of each event that has any. Raises errors of `body`, and Disconnected if an event is too long."""
    reader = EventReader()
    async for piece in body:
        for data in reader.feed(piece):
            yield data
    for data in reader.flush():
        yield data


NO_STREAM = "(The body is no event stream.)"


async def event_stream_data(body: AsyncIterable[bytes]) -> AsyncGenerator[str, None]:
    """Yield the data of each message of one of Amazon's event streams. Raises errors of `body`, and Disconnected if the
    stream is damaged or ends inside of a message. A body that is no such stream is passed on as a text that says so.
    """
    decoder, begun = EventStreamDecoder(), False
    try:
        async for piece in body:
            for message in decoder.feed(piece):
                begun = True
                yield message_data(message)
        decoder.flush()
    except MalformedStream as error:
        if begun:
            raise Disconnected(str(error)) from None
        yield NO_STREAM
