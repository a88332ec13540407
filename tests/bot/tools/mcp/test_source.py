"""How long a question at a terminal waits for MCP servers."""

import asyncio
import json
import logging
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from agent.events import Outcome
from agent.incoming import Person
from agent.machine import CLOCK
from agent.ports.tools import Tool
from bot.app.platforms import open_terminal
from bot.app.settings import load_settings
from bot.chat.findings import Finding
from bot.tools import texts as tool_texts
from bot.tools.mcp.config import McpServerConfig
from bot.tools.mcp.source import McpSource
from tests.fakes.mcp_world import config, raw
from tests.fakes.surface import FakeSurface
from tests.patience import PATIENCE_S

ANNA = Person("terminal:anna", "Anna")


@dataclass
class SlowServer:
    config: McpServerConfig
    tried: asyncio.Event = field(default_factory=asyncio.Event)
    connected: asyncio.Event = field(default_factory=asyncio.Event)
    tools: tuple[Tool, ...] = ()
    away_s: float = 200.0

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
    assert caplog.messages[-1] == "MCP servers not connected yet, so their tools are missing for now: away"


def test_of_servers_that_are_away_everybody_reads_a_reason_that_names_nothing_of_theirs() -> None:
    there, starts, away = (SlowServer(config(raw(), name)) for name in ("there", "starts", "away"))
    there.tried.set()
    there.connected.set()
    away.tried.set()
    assert source_of(there, starts, away).away() == {
        "starts": tool_texts.SERVER_STARTS,
        "away": tool_texts.SERVER_AWAY.format(time="3 minutes"),
    }


@pytest.mark.slow
async def test_a_server_that_never_answers_holds_up_no_start_and_a_question_for_a_while_only(tmp_path: Path) -> None:
    silent = raw("silent")
    servers = {"silent": {"command": silent.command, "args": list(silent.args)}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    (tmp_path / "mcp.json").chmod(0o600)
    settings = load_settings({"COGENCY_MODEL": "rehearsal", "COGENCY_MCP": str(tmp_path / "mcp.json")}, None, tmp_path)
    for wait_s in (0.05, 3_600.0):
        async with asyncio.timeout(PATIENCE_S), open_terminal(settings, ANNA, tools_wait_s=wait_s) as bot:
            await bot.finish_pending(lambda _: FakeSurface(CLOCK))
            asking = asyncio.create_task(bot.ask("hello", bot.new_conversation(), FakeSurface(CLOCK)))
            if wait_s < 1:
                assert await asking is Outcome.ANSWERED
            else:
                await bot.threads()
                assert not asking.done()
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)


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
