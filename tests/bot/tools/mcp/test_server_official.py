"""A server written with the official SDK, in the protocol of 2026-07-28, through pipes and over HTTP."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from agent.errors import ToolError
from agent.messages import Image
from bot.tools.mcp.config import HttpReach, Reach, StdioReach
from tests.fakes.mcp_world import FAKES, called, config, connected
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.server, pytest.mark.slow]
SCRIPT = str(FAKES / "mcp_official.py")


@asynccontextmanager
async def reached(way: str) -> AsyncGenerator[Reach]:
    if way == "stdio":
        yield StdioReach(sys.executable, (SCRIPT,), {"PATH": "/usr/bin:/bin"})
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(sys.executable, SCRIPT, str(port), stdout=quiet, stderr=quiet)
    try:
        yield HttpReach(f"http://127.0.0.1:{port}/mcp")
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_tools_pictures_progress_resources_and_prompts_come_from_an_official_server(way: str) -> None:
    told: list[tuple[float, float]] = []

    async def report(done: float, total: float, unit: str) -> None:  # noqa: ARG001 -- a share
        told.append((done, total))

    async with reached(way) as reach, connected(config(reach, "o")) as (server,):
        async with asyncio.timeout(PATIENCE_S):
            await server.connected.wait()
        assert {tool.name for tool in server.tools} == {f"o.{name}" for name in NAMES}
        assert (await called(server, "add", a=2)).parts[0] == "3"
        (picture,) = (await called(server, "picture")).parts
        assert isinstance(picture, Image)
        assert (await called(server, "steps", report)).parts[0] == "done"
        assert "notes://today today" in (await called(server, "resources")).text
        assert (await called(server, "resources", uri="notes://today")).parts == ("notes://today:\nbuy bread",)
        assert "greet (name)" in (await called(server, "prompts")).text
        assert (await called(server, "carve")).parts[0] == 'half done: {"action":"decline","content":null}'
        with pytest.raises(ToolError, match="asks the person for something again and again"):
            await called(server, "varnish")
        assert await server.ask(lambda client: asyncio.sleep(0, client.protocol_version)) == "2026-07-28"
    assert told == [(1.0, 2.0)]


NAMES = ("add", "picture", "steps", "paint", "varnish", "carve", "resources", "prompts")
