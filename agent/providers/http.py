"""HTTP, and nothing else: requests out, streams of bytes in. The only module of `agent` that imports aiohttp.

Above: `agent.providers.replay`, the sessions over HTTP, `bot.models`. Below: aiohttp.

Rules. It knows no vendor. Foreign errors are translated here, once. The environment's proxies are used only where the
caller says so: none can reach a loopback address. Leaving the block of a reply closes its connection, which is what
stops a model that is generating; a reply that was read to its end leaves the connection to the next. No redirect is
followed, no cookie kept, and nothing asked twice. How long to wait for an answer is the caller's business
(`asyncio.timeout`); only connecting has a limit of its own.

Why aiohttp: it reads a token in a fifth of the time that httpx takes (`benchmarks.stream` measures both), which decides
how many answers one process can stream.
"""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

CONNECT_TIMEOUT_S = 10.0
"""TCP and TLS, across the world and through a proxy; a host that takes longer is not there."""
MAX_HEADER_BYTES = 65_536
"""Of one line of a reply's head: some gateways send long policies and cookies."""
MAX_BODY_BYTES = 8_000_000
"""Of an answer that is read whole: far above any list of models, far below what would hurt."""


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
    response: aiohttp.ClientResponse

    async def body(self) -> AsyncGenerator[bytes, None]:
        """The decoded bytes as they arrive. Raises Disconnected."""
        with _translated():
            while piece := await self.response.content.readany():
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
        self._client: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> AsyncGenerator[Reply, None]:
        """Send, and hand out the reply as soon as its headers are there. Raises Unreachable and Disconnected."""
        with _translated():
            proxy = _proxy_for(url) if self._proxies else None
            response = await self._opened().request(
                method, url, headers=headers, data=body, proxy=proxy, allow_redirects=False
            )
        try:
            received = {name.lower(): value for name, value in response.headers.items()}
            framed = not received.keys().isdisjoint({"content-length", "transfer-encoding"})
            yield Reply(response.status, received, framed, response)
        finally:
            response.close()

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._client is None:
            self._client = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=MAX_HEADER_BYTES,
                max_field_size=MAX_HEADER_BYTES,
            )
        return self._client


def _proxy_for(url: str) -> str | None:
    """The environment's proxy for this address (HTTPS_PROXY, HTTP_PROXY or ALL_PROXY, unless NO_PROXY names it)."""
    parts = urlsplit(url)
    proxies = getproxies()
    if parts.hostname is None or proxy_bypass(parts.hostname):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


@contextmanager
def _translated() -> Generator[None, None, None]:
    # Not chained: aiohttp repeats headers and addresses in its texts, and one of them may hold a key.
    try:
        yield
    except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.ClientHttpProxyError) as error:
        raise Unreachable(type(error).__name__) from None
    except (ValueError, aiohttp.NonHttpUrlClientError) as error:  # no address, header or proxy: nothing was sent
        raise Unreachable(type(error).__name__) from None
    except (aiohttp.ClientError, OSError) as error:
        raise Disconnected(type(error).__name__) from None
