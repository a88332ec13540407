"""Our own pages are served on the bot's event loop, to valid requests only."""

import asyncio
import signal
import socket

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bot.chat.web_server import HEAD_BYTES, MESSAGE_BYTES, serving
from tests.patience import PATIENCE_S


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.url.scheme} {request.client.host if request.client else ''}")


async def echo(ws: WebSocket) -> None:
    await ws.accept()
    async for text in ws.iter_text():
        await ws.send_text(text)


def app() -> Starlette:
    return Starlette(routes=[Route("/", hello), WebSocketRoute("/ws", echo)])


async def test_a_page_is_served_only_while_the_block_runs() -> None:
    handled = signal.getsignal(signal.SIGINT)
    async with serving(app(), "127.0.0.1", 0) as address:
        async with httpx.AsyncClient() as client:
            answer = await client.get(address, headers={"X-Forwarded-For": "10.1.1.1", "X-Forwarded-Proto": "https"})
        assert answer.text == "http 127.0.0.1", "what a request says of a proxy is not believed"
        assert "server" not in answer.headers
        assert signal.getsignal(signal.SIGINT) is handled
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(address)


async def test_a_websocket_carries_messages_both_ways_and_a_flood_closes_it() -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(app(), "127.0.0.1", 0) as address,
        connect(address.replace("http", "ws") + "/ws", max_size=None) as ws,
    ):
        await ws.send("hello")
        assert await ws.recv() == "hello"
        await ws.send("x" * (MESSAGE_BYTES + 1))
        with pytest.raises(ConnectionClosed):
            await ws.recv()


async def test_an_address_that_cannot_be_listened_at_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        async with serving(app(), "127.0.0.1", taken.getsockname()[1]):
            pass


async def test_a_connection_without_a_request_is_closed() -> None:
    async with asyncio.timeout(PATIENCE_S), serving(app(), "127.0.0.1", 0, head_s=0.05) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\n")
        assert await reader.read() == b""
        writer.close()


async def test_a_head_without_end_is_refused() -> None:
    async with asyncio.timeout(PATIENCE_S), serving(app(), "127.0.0.1", 0) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nX-A: " + b"a" * (HEAD_BYTES + 1))
        assert (await reader.read()).startswith(b"HTTP/1.1 400")
        writer.close()
