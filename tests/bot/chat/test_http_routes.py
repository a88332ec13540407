"""Other programs' requests reach the route of their path, and no body costs more than its limit."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from bot.chat.http_routes import HttpRoutes, PublicSite, RequestRefused, read_body
from bot.chat.web_server import serving
from tests.fakes.no_authorities import NO_AUTHORITIES
from tests.patience import PATIENCE_S


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        body = await read_body(scope, receive, limit=1_000, seconds=0.2)
    except RequestRefused as error:
        refusal = PlainTextResponse(str(error), error.status, {"Connection": "close"})
        await refusal(scope, receive, send)
        return
    await PlainTextResponse(f"{Request(scope).url.path} {body.decode()}")(scope, receive, send)


@asynccontextmanager
async def client() -> AsyncGenerator[httpx.AsyncClient]:
    site = PublicSite([HttpRoutes("/hooks", echo), HttpRoutes("/v1", echo)])
    async with (
        asyncio.timeout(PATIENCE_S),
        serving(site, "127.0.0.1", 0) as address,
        httpx.AsyncClient(base_url=address, verify=NO_AUTHORITIES) as one,
    ):
        yield one


async def pieces(count: int, size: int) -> AsyncGenerator[bytes]:
    for _ in range(count):
        yield b"x" * size


async def test_a_request_reaches_the_route_of_its_path_and_may_not_be_cached() -> None:
    async with client() as http:
        for path in ("/hooks", "/hooks/a", "/v1/models"):
            response = await http.post(path, content="hello")
            assert response.text == f"{path} hello"
            assert response.headers["cache-control"] == "no-store"
            assert response.headers["x-content-type-options"] == "nosniff"


async def test_a_path_of_no_route_is_not_found() -> None:
    async with client() as http:
        for path in ("/", "/hook", "/hooksy", "/V1/models", "/%2e%2e/hooks"):
            assert (await http.post(path)).status_code == 404, path


async def test_a_websocket_is_refused() -> None:
    async with client() as http:
        with pytest.raises(InvalidStatus):
            await connect(f"ws://{http.base_url.host}:{http.base_url.port}/hooks")


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [(b"x" * 1_001, {}, 413), (gzip.compress(b"x" * 10), {"content-encoding": "gzip"}, 415), (b"x" * 1_000, {}, 200)],
)
async def test_a_body_that_is_too_long_or_compressed_is_refused(
    content: bytes, headers: dict[str, str], status: int
) -> None:
    async with client() as http:
        response = await http.post("/hooks", content=content, headers=headers)
        assert response.status_code == status


async def test_a_chunked_body_is_read_until_its_end() -> None:
    async with client() as http:
        assert (await http.post("/hooks", content=pieces(10, 100))).text == f"/hooks {'x' * 1_000}"


@pytest.mark.parametrize("length", [b"1001", b"9" * 5_000, b"-1", b"", b"1e3", "²".encode()])
async def test_a_length_that_is_too_large_or_no_number_is_refused_before_anything_is_read(length: bytes) -> None:
    async def receive() -> Message:
        raise AssertionError

    with pytest.raises(RequestRefused) as refused:
        await read_body({"type": "http", "headers": [(b"content-length", length)]}, receive, limit=1_000)
    assert refused.value.status == 413


async def test_a_body_that_does_not_arrive_in_time_is_refused() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(RequestRefused) as refused:
        await read_body({"type": "http", "headers": []}, receive, seconds=0.01)
    assert refused.value.status == 408


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_a_body_is_what_was_sent_or_refused(sent: list[bytes]) -> None:
    messages: list[Message] = [{"type": "http.request", "body": piece, "more_body": True} for piece in sent]
    messages.append({"type": "http.request"})

    async def receive() -> Message:
        return messages.pop(0)

    async def read() -> bytes | int:
        try:
            return await read_body({"type": "http", "headers": []}, receive, limit=1_000)
        except RequestRefused as error:
            return error.status

    whole = b"".join(sent)
    assert asyncio.run(read()) == (whole if len(whole) <= 1_000 else 413)


async def test_a_client_that_leaves_is_not_taken_for_one_that_sent_everything() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(RequestRefused):
        await read_body({"type": "http", "headers": []}, receive)
