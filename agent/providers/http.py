"""HTTP, and nothing else: requests out, streams of bytes in. The only module of `agent` that speaks httpx.

Above: `agent.providers.replay`, the sessions over HTTP, `bot.models.chosen`. Below: httpx, on `aiohttp_transport`.

Rules. It knows no vendor. Foreign errors are translated here, once. The environment's proxies are used only where the
caller says so: none can reach a loopback address. Leaving the block of a reply closes its connection, which is what
stops a model that is generating; a reply that was read to its end leaves the connection to the next. No redirect is
followed, and nothing asked twice. How long to wait for an answer is the caller's business (`asyncio.timeout`); only
connecting and writing have limits of their own.
"""

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.request import getproxies

import httpx

from agent.providers.aiohttp_transport import AiohttpTransport

CONNECT_TIMEOUT_S = 10.0
"""TCP and TLS, across the world and through a proxy; a host that takes longer is not there."""
WRITE_TIMEOUT_S = 60.0
"""Per write of a request through a proxy: a megabyte on a slow line, without hanging on a dead one."""
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
