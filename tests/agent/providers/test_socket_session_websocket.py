"""Our WebSocket client without a connection, on real sockets on loopback."""

import asyncio

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from agent.providers.http_client import Unreachable
from agent.providers.socket_session import HandshakeRefused, Socket
from tests.patience import PATIENCE_S

KEY = {"x-goog-api-key": "sk-secret-4711"}


async def test_no_redirect_is_followed_so_that_no_key_goes_elsewhere() -> None:
    visits: list[str] = []

    def redirect(_: ServerConnection, request: Request) -> Response:
        visits.append(request.path)
        return Response(302, "Found", Headers({"Location": "/elsewhere", "Content-Length": "0"}), b"")

    async def never(_: ServerConnection) -> None:
        raise AssertionError("a redirect was followed")

    async with asyncio.timeout(PATIENCE_S), serve(never, "127.0.0.1", 0, process_request=redirect) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(HandshakeRefused) as refused:
            await Socket.open(f"ws://127.0.0.1:{port}/here", KEY, proxies=False)
    assert refused.value.status == 302
    assert visits == ["/here"]


@pytest.mark.parametrize("url", ["ws://a..b/v1", "ws://127.0.0.1:1/v1", "http://127.0.0.1/v1", f"ws://{'x' * 70}/v1"])
async def test_what_cannot_be_reached_is_told_as_such_whatever_the_reason(url: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Unreachable):
            await Socket.open(url, KEY, proxies=False)


@pytest.mark.parametrize("proxy", ["127.0.0.1:1", "ftp://127.0.0.1:1", "socks5://127.0.0.1:1", "http://127.0.0.1:1"])
async def test_a_proxy_that_cannot_be_used_is_told_as_no_connection(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(Unreachable):
            await Socket.open("wss://gateway.example/v1", KEY, proxies=True)
