"""What our HTTP does and does not do, on real sockets on loopback."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.providers.http_client import MAX_BODY_BYTES, Disconnected, Http, Unreachable
from tests.fakes.model_server import CHUNKED, CUT, KEEP, KEEP_ALIVE, ModelServer, Reply, Wait, framed, head, whole
from tests.patience import PATIENCE_S

KEY = "sk-secret-4711"


@asynccontextmanager
async def asking(*script: Reply, proxies: bool = False) -> AsyncGenerator[tuple[Http, ModelServer], None]:
    http = Http(proxies=proxies)
    async with asyncio.timeout(PATIENCE_S), ModelServer(script) as server:
        try:
            yield http, server
        finally:
            await http.aclose()


async def read(http: Http, url: str, method: str = "POST") -> tuple[int, bytes]:
    async with http.request(method, url, {"authorization": KEY}, b"{}" if method == "POST" else None) as reply:
        return reply.status, await reply.read()


async def test_what_is_sent_and_received_are_the_same_bytes() -> None:
    async with asking(whole(200, {"a": "\U0001f6f6"})) as (http, server):
        assert await read(http, f"{server.url}/x?alt=sse") == (200, b'{"a": "\\ud83d\\udef6"}')
        (request,) = server.requests
    assert (request.method, request.path, request.body) == ("POST", "/v1/x?alt=sse", b"{}")
    assert request.headers["authorization"] == KEY


async def test_a_body_that_is_compressed_is_read() -> None:
    packed = gzip.compress(b"hello")
    reply = [head(extra=f"content-encoding: gzip\r\ncontent-length: {len(packed)}\r\n"), packed]
    async with asking(reply) as (http, server):
        assert await read(http, server.url) == (200, b"hello")


async def test_a_server_without_tls_gets_a_connection_for_each_request() -> None:
    kept: Reply = [KEEP_ALIVE, framed(b"hello"), framed(b""), KEEP]
    async with asking(kept, kept) as (http, server):
        assert await read(http, server.url) == await read(http, server.url) == (200, b"hello")
        assert server.connections == 2


async def test_a_reply_that_was_not_read_closes_its_connection() -> None:
    never = asyncio.Event()
    async with asking([KEEP_ALIVE, framed(b"hello"), Wait(never.wait)]) as (http, server):
        async with http.request("GET", server.url, {}) as reply:
            assert await anext(reply.body()) == b"hello"
        await server.left.wait()


async def test_no_redirect_is_followed_and_no_cookie_is_kept() -> None:
    moved = [head(302, extra="location: http://127.0.0.1:1/\r\nset-cookie: a=b\r\ncontent-length: 0\r\n")]
    async with asking(moved, whole(200, {})) as (http, server):
        assert (await read(http, server.url))[0] == 302
        await read(http, server.url)
        assert "cookie" not in server.requests[1].headers


async def test_a_request_is_never_made_twice() -> None:
    async with asking([KEEP_ALIVE, framed(b"hello"), framed(b""), KEEP], [CUT], whole(200, {})) as (http, server):
        await read(http, server.url)
        with pytest.raises(Disconnected):
            await read(http, server.url)
        assert len(server.requests) == 2


async def test_a_body_without_an_end_is_a_lost_connection() -> None:
    async with asking([head(extra=CHUNKED), framed(b"hello"), CUT]) as (http, server):
        with pytest.raises(Disconnected):
            await read(http, server.url)


async def test_what_is_no_http_is_a_lost_connection() -> None:
    async with asking([b"SSH-2.0-OpenSSH_9.9\r\n\r\n"]) as (http, server):
        with pytest.raises(Disconnected):
            await read(http, server.url)


async def test_a_long_body_is_cut() -> None:
    async with asking([head(), *[b"x" * 1_000_000] * 9]) as (http, server):
        assert len((await read(http, server.url))[1]) == MAX_BODY_BYTES


async def test_a_long_header_is_read() -> None:
    policy = "x" * 30_000
    told = whole(200, {}, extra=f"content-security-policy: {policy}\r\n")
    async with asking(told) as (http, server), http.request("GET", server.url, {}) as reply:
        assert reply.headers["content-security-policy"] == policy


@pytest.mark.parametrize("url", ["no address", "http://", "http://127.0.0.1:1/", "ftp://127.0.0.1/"])
async def test_an_address_where_nobody_is_is_unreachable(url: str) -> None:
    async with asking() as (http, _):
        with pytest.raises(Unreachable) as raised:
            await read(http, url)
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r}"


async def test_a_header_that_cannot_be_one_is_never_sent_and_never_shown() -> None:
    async with asking(whole(200, {})) as (http, server):
        with pytest.raises(Unreachable) as raised:
            async with http.request("POST", server.url, {"authorization": f"{KEY}\r\nx: y"}, b"{}"):
                pass
        assert KEY not in f"{raised.value!r} {raised.value.__cause__!r}"
        assert server.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
async def test_a_proxy_of_the_environment_is_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(whole(200, {}), proxies=True) as (http, server):
        _only_proxy(monkeypatch, name, server.url.removesuffix("/v1"))
        assert (await read(http, "http://models.example/v1/x"))[0] == 200
        assert server.requests[0].path == "http://models.example/v1/x"


async def test_a_host_that_is_excepted_is_reached_without_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(whole(200, {}), proxies=True) as (http, server):
        _only_proxy(monkeypatch, "HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert (await read(http, f"{server.url}/x"))[0] == 200


async def test_a_proxy_that_we_cannot_speak_to_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(proxies=True) as (http, _):
        _only_proxy(monkeypatch, "ALL_PROXY", "socks5://127.0.0.1:1")
        with pytest.raises(Unreachable):
            await read(http, "http://models.example/v1/x")


def _only_proxy(monkeypatch: pytest.MonkeyPatch, name: str, address: str) -> None:
    for scheme in ("HTTP", "HTTPS", "ALL", "NO"):
        for variable in (f"{scheme}_PROXY", f"{scheme}_proxy".lower()):
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv(name, address)
