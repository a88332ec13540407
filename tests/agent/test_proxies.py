"""Which proxy an address has, and that each kind of connection to a model goes through it."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve

from agent.messages import Message, Role
from agent.ports.model import TokensArrived
from agent.providers.factory import ProviderWorld
from agent.providers.http_client import Http, proxy_for
from agent.providers.socket_session import Socket
from tests.contracts.model_world import Says
from tests.fakes.bedrock_service import ConverseWire, bedrock_at
from tests.fakes.clock import FakeClock
from tests.fakes.company_network import company_network
from tests.fakes.http_world import http_world
from tests.fakes.model_server import ModelServer, whole
from tests.patience import PATIENCE_S

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("https://api.example.com/v1", PROXY),
        ("wss://gateway.example.com", PROXY),
        ("http://plain.example.com", "http://other.example:1"),
        ("ws://plain.example.com", "http://other.example:1"),
        ("https://inside.corp.example/x", None),
        ("https://corp.example:8443", None),
        ("https://10.1.2.3", None),
        ("https://10.1.2.4", PROXY),
        ("https://localhost:11434", None),
        ("http://127.0.0.1:80", None),
        ("https://[::1]:1", None),
    ],
)
def test_each_address_has_the_proxy_of_its_kind_and_what_is_near_has_none(
    monkeypatch: pytest.MonkeyPatch, address: str, expected: str | None
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("HTTP_PROXY", "other.example:1")
    monkeypatch.setenv("NO_PROXY", "corp.example, 10.1.2.3")
    assert proxy_for(address) == expected


async def test_requests_and_sockets_to_models_go_through_the_proxy_and_trust_its_authority(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def echo(connection: ServerConnection) -> None:
        await connection.send(await connection.recv())

    async with ModelServer([whole(200, {"a": 1})]) as model, serve(echo, "127.0.0.1", 0) as sockets:
        behind = f"127.0.0.1:{next(iter(sockets.sockets)).getsockname()[1]}"
        hosts = {"model.test": model.url.removeprefix("http://").partition("/")[0], "socket.test": behind}
        async with company_network(tmp_path, hosts, "ann:p@ss") as proxy, asyncio.timeout(PATIENCE_S):
            monkeypatch.setenv("HTTPS_PROXY", f"http://ann:p%40ss@{proxy.address}")
            monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
            async with aclosing(Http(proxies=True)) as http, http.request("GET", "https://model.test/x", {}) as reply:
                assert await reply.read() == b'{"a": 1}'
            socket = await Socket.open("wss://socket.test/live", {}, proxies=True)
            await socket.send("hello")
            assert await socket.receive() == "hello"
            await socket.close()
            assert proxy.asked == ["model.test:443", "socket.test:443"]


async def test_a_signed_request_is_accepted_behind_the_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proxy's connections escape nothing that the signature covers."""
    async with http_world(ConverseWire(), bedrock_at) as world:
        world.plan(Says(("Hi",)))
        host = world.server.url.removeprefix("http://").partition("/")[0]
        async with company_network(tmp_path, {"bedrock.test": host}) as proxy, asyncio.timeout(PATIENCE_S):
            monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.address}")
            monkeypatch.setenv("SSL_CERT_FILE", str(proxy.authority))
            line = ProviderWorld(FakeClock(), lambda: 0.0)
            async with aclosing(bedrock_at("https://bedrock.test", line)) as provider:
                events = [event async for event in provider.stream([Message(Role.USER, "Hello")])]
            assert TokensArrived("Hi") in events
            assert proxy.asked == ["bedrock.test:443"]
