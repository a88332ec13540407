"""How long a question at a terminal waits for the servers of its tools."""

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from agent.ports import Tool
from bot.findings import Finding
from bot.tools.mcp_config import McpServerConfig
from bot.tools.mcp_source import McpSource
from tests.fakes.mcp_world import config, raw
from tests.patience import PATIENCE_S


@dataclass
class SlowServer:
    config: McpServerConfig
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    tools: tuple[Tool, ...] = ()

    async def examine(self) -> list[Finding]:
        return []


def source_of(*servers: SlowServer) -> McpSource:
    source = McpSource()
    source.servers = servers
    source.loaded.set()
    return source


async def test_nobody_waits_longer_than_they_would_and_the_log_names_what_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    there, away = SlowServer(config(raw(), "there")), SlowServer(config(raw(), "away"))
    there.tried.set()
    async with asyncio.timeout(PATIENCE_S):
        await source_of(there, away).settle(0.01)
    assert [one.levelno for one in caplog.records] == [logging.WARNING] * 2
    assert caplog.messages[-1] == "not connected yet, so without their tools for now: MCP servers away"


async def test_whoever_need_not_wait_hears_nothing(caplog: pytest.LogCaptureFixture) -> None:
    slow = SlowServer(config(raw(), "slow"))
    async with asyncio.timeout(PATIENCE_S):
        await source_of(slow).settle(0)
        waiting = asyncio.create_task(source_of(slow).settle(PATIENCE_S))
        await asyncio.sleep(0)
        assert not waiting.done()
        slow.tried.set()
        await waiting
    assert caplog.messages == []
