"""Our own pages are served on the bot's event loop, to valid requests only."""

import asyncio
import signal
import socket
from contextlib import AsyncExitStack, suppress

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from bot.chat.web_server import CONNECTIONS, HEAD_BYTES, MESSAGE_BYTES, serving
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.patience import PATIENCE_S


async def hello(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"{request.url.scheme} {request.client.host if request.client else ''}")


async def echo(ws: WebSocket) -> None:
    await ws.accept()
    async for text in ws.iter_text():
        await ws.send_text(text)


async def form(request: Request) -> PlainTextResponse:
    return PlainTextResponse((await request.body()).decode())


def app() -> Starlette:
    return Starlette(routes=[Route("/", hello), Route("/form", form, methods=["POST"]), WebSocketRoute("/ws", echo)])


async def test_a_page_is_served_only_while_the_block_runs() -> None:
    handled = signal.getsignal(signal.SIGINT)
    async with serving(app(), "127.0.0.1", 0) as address:
        async with httpx.AsyncClient(verify=NO_AUTHORITIES) as client:
            answer = await client.get(address, headers={"X-Forwarded-For": "10.1.1.1", "X-Forwarded-Proto": "https"})
        assert answer.text == "http 127.0.0.1", "what a request says of a proxy is not believed"
        assert "server" not in answer.headers
        assert signal.getsignal(signal.SIGINT) is handled
    async with httpx.AsyncClient(verify=NO_AUTHORITIES) as client:
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\nHost: here\r\nX-", b"POST / HTTP/1.1\r\nContent-Length: 9\r\n"]
)
async def test_connections_that_are_kept_open_keep_nobody_out_and_take_few_files(sent: bytes) -> None:
    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        address = await stack.enter_async_context(serving(app(), "127.0.0.1", 0))
        port = int(address.rpartition(":")[2])
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS + 60)]
        for _, writer in held:
            stack.callback(writer.close)
            writer.write(sent)
        async with httpx.AsyncClient(verify=NO_AUTHORITIES) as client:
            for _ in range(3):
                assert (await client.get(address, headers={"Connection": "close"})).status_code == 200
        for reader, _ in held[:60]:
            with suppress(ConnectionError):
                assert await reader.read() == b""


@pytest.mark.slow
async def test_a_connection_that_is_answered_is_not_closed_for_others() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(_: Request) -> PlainTextResponse:
        begun.set()
        await ended.wait()
        return PlainTextResponse("done")

    async with asyncio.timeout(PATIENCE_S), AsyncExitStack() as stack:
        pages = Starlette(routes=[Route("/", hello), Route("/slow", slow)])
        address = await stack.enter_async_context(serving(pages, "127.0.0.1", 0))
        client = await stack.enter_async_context(httpx.AsyncClient(verify=NO_AUTHORITIES))
        asked = asyncio.create_task(client.get(f"{address}/slow"))
        await begun.wait()
        for _ in range(CONNECTIONS + 20):
            _, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
            stack.callback(writer.close)
        ended.set()
        assert (await asked).text == "done"


async def test_a_body_that_goes_on_after_its_response_is_not_read() -> None:
    async with asyncio.timeout(PATIENCE_S), serving(app(), "127.0.0.1", 0) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(b"GET / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"1\r\na\r\n" * 100)
                await writer.drain()
                await reader.read(1_000)
        writer.close()


async def test_a_request_with_a_length_and_chunks_is_refused() -> None:
    sent = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    async with asyncio.timeout(PATIENCE_S), serving(app(), "127.0.0.1", 0) as address:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(sent + b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 400")
    assert answer.count(b"HTTP/1.1") == 1
