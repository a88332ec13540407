"""The streams of a client: what comes over them is bounded, and nothing else gets between the messages."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from agent.errors import Refused
from bot.api.mcp_server import texts
from bot.api.mcp_server.server import MAX_RUNNING, mcp_server
from bot.api.mcp_server.stdio import MAX_MESSAGE_BYTES, MAX_OPEN, OpenRequests, serve_stdio
from tests.fakes.clock import FakeClock
from tests.fakes.mcp_users import FakeClients, FakeMcpUser, personal_tools
from tests.fakes.store import store_in_memory
from tests.patience import PATIENCE_S

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


class Peer:
    """The client's side. `serving`: ends with the connection."""

    def __init__(self, reading: int, writing: int, serving: "asyncio.Task[None]") -> None:
        self._reading, self._writing, self.serving = os.fdopen(reading, "rb"), os.fdopen(writing, "wb", 0), serving

    async def send(self, *messages: Mapping[str, Any]) -> None:
        await self.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    async def write(self, data: bytes) -> None:
        await asyncio.to_thread(self._writing.write, data)

    async def read(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            return json.loads(await asyncio.to_thread(self._reading.readline))

    async def end(self) -> None:
        """Wait for the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.wait({self.serving})

    def close(self) -> None:
        """Send no more."""
        self._writing.close()

    def close_all(self) -> None:
        self._writing.close()
        self._reading.close()


@asynccontextmanager
async def served(user: FakeMcpUser) -> AsyncGenerator[Peer]:
    (stdin, writing), (reading, stdout) = os.pipe(), os.pipe()
    clients = FakeClients(personal_tools(store_in_memory(), user))
    peer = Peer(reading, writing, asyncio.create_task(serve_stdio(mcp_server(clients, "1.0"), stdin, stdout)))
    try:
        yield peer
        peer.close()
        await peer.end()
    finally:
        os.close(stdin)
        os.close(stdout)
        peer.close_all()


def a_call(id_: int, name: str, **arguments: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


@pytest.fixture
def user() -> FakeMcpUser:
    return FakeMcpUser(FakeClock(auto=False))


async def test_a_line_that_cannot_be_read_gets_an_error_and_the_next_one_an_answer(user: FakeMcpUser) -> None:
    async with served(user) as peer:
        await peer.send(INITIALIZE)
        assert (await peer.read())["result"]["serverInfo"]["name"] == "cogency"
        await peer.write(b"hello\n\n\xff\xfe\n")
        for _ in range(2):
            assert (await peer.read())["error"]["message"] == texts.MESSAGE_UNREADABLE
        await peer.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b"[" * 100_000 + b"\n")
        assert (await peer.read())["error"]["message"] == texts.MESSAGE_TOO_DEEP
        await peer.send({"jsonrpc": "2.0", "id": 2, "method": "ping"})
        assert (await peer.read())["id"] == 2
    assert peer.serving.exception() is None


async def test_a_line_that_is_too_long_ends_the_connection(user: FakeMcpUser) -> None:
    async with served(user) as peer:
        writing = asyncio.create_task(peer.write(b"x" * (MAX_MESSAGE_BYTES + 65_536)))
        await peer.end()
        await writing
    with pytest.raises(Refused, match="more than 1,000,000 bytes"):
        peer.serving.result()


async def test_no_more_is_read_while_many_requests_have_no_answer() -> None:
    requests = OpenRequests()
    for id_ in range(MAX_OPEN):
        await requests.passes(JSONRPCRequest(jsonrpc="2.0", id=id_, method="ping"))
    next_one = asyncio.create_task(requests.passes(JSONRPCRequest(jsonrpc="2.0", id="next", method="ping")))
    await asyncio.sleep(0)
    assert not next_one.done()
    requests.answered(JSONRPCNotification(jsonrpc="2.0", method="notifications/progress"))
    requests.answered(JSONRPCResponse(jsonrpc="2.0", id=0, result={}))
    await next_one
    cancelled = {"requestId": 1}
    await requests.passes(JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=cancelled))
    await requests.passes(JSONRPCRequest(jsonrpc="2.0", id="last", method="ping"))


async def test_calls_beyond_the_limit_are_answered_and_a_cancelled_one_is_stopped(user: FakeMcpUser) -> None:
    async with served(user) as peer:
        await peer.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        await peer.read()
        await peer.send(*(a_call(id_, "ask", question=f"Why {id_}?") for id_ in range(1, MAX_RUNNING + 3)))
        refused = [await peer.read() for _ in range(2)]
        assert {message["result"]["content"][0]["text"] for message in refused} == {texts.BUSY}
        await peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(MAX_RUNNING + 1):
                await user.changes.acquire()
        user.answered.set()
        assert {(await peer.read())["id"] for _ in range(MAX_RUNNING - 1)} == {*range(2, MAX_RUNNING + 1)}
    assert user.stopped == ["Why 1?"]


@pytest.mark.parametrize("name", ["in", os.devnull])
async def test_files_and_devices_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("")
    descriptor = os.open(tmp_path / name, os.O_RDWR)
    clients = FakeClients(personal_tools(store_in_memory(), FakeMcpUser(FakeClock(auto=False))))
    try:
        with pytest.raises(Refused, match="is not a pipe"):
            await serve_stdio(mcp_server(clients, "1.0"), descriptor, descriptor)
    finally:
        os.close(descriptor)
