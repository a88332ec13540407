"""httpx's transport on aiohttp's connections, which read a token in a fifth of the time that httpx's own take.

Above: `agent.providers.http`. Below: aiohttp. `benchmarks.stream` measures both: it decides how many answers one
process can stream.

Rules. No redirect is followed, no cookie kept, nothing decoded: that is httpx's business. Errors are httpx's. A reply
that was read to its end leaves its connection to the next; any other one takes it along.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

import aiohttp
import httpx

MAX_HEADER_BYTES = 65_536
"""Of one line of a reply's head: some gateways send long policies and cookies."""


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
