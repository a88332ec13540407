"""MCP servers that run beside a test, connected as the bot connects them."""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from agent.incoming import Person
from agent.memory.audience import PersonAudience, Place
from agent.messages import Json
from agent.ports.clock import Clock
from agent.ports.tools import Report, ToolContext, ToolEffect, ToolOutput
from bot.tools.mcp.config import McpServerConfig, Reach, StdioReach
from bot.tools.mcp.server import McpLimits, McpServer, open_servers
from tests.fakes.fast_clock import FastClock
from tests.patience import PATIENCE_S

FAKES: Final = Path(__file__).parent
ALL_READ: Final = {"*": ToolEffect.READS}
ANN: Final = Person("slack:T1:U1", "Ann")
PUBLIC: Final = Place(PersonAudience(ANN.id), within_team="slack:T1")
QUICK: Final = McpLimits(connect_s=PATIENCE_S, wait_s=PATIENCE_S, first_pause_s=0.05, list_pause_s=0.1)


def raw(begins: str = "plain") -> StdioReach:
    """Return `tests.fakes.mcp_raw`, which starts fast."""
    return StdioReach(sys.executable, ("-S", "-E", str(FAKES / "mcp_raw.py"), begins), {"PATH": "/usr/bin:/bin"})


def config(reach: Reach, name: str = "raw", effects: Mapping[str, ToolEffect] = ALL_READ) -> McpServerConfig:
    return McpServerConfig(name, reach, effects)


@asynccontextmanager
async def connected(
    *configs: McpServerConfig, limits: McpLimits = QUICK, clock: Clock | None = None
) -> AsyncGenerator[tuple[McpServer, ...]]:
    """Connect servers, each tried once; on the real clock, unless another is given."""
    async with open_servers(configs, clock or FastClock(speed=1.0), lambda: 0.5, PATIENCE_S, limits) as servers:
        for server in servers:
            await server.tried.wait()
        yield servers


def context(report: Report | None = None) -> ToolContext:
    plain = ToolContext(ANN, PUBLIC, "thread", 1, datetime(2026, 11, 23, tzinfo=UTC))
    return plain if report is None else ToolContext(ANN, PUBLIC, "thread", 1, plain.now, report=report)


async def called(server: McpServer, tool: str, report: Report | None = None, **args: Json) -> ToolOutput:
    """Return a tool's result. Raises ToolError."""
    return await called_for(server, tool, context(report), **args)


async def called_for(server: McpServer, tool: str, context: ToolContext, **args: Json) -> ToolOutput:
    (found,) = [one for one in server.tools if one.name == f"{server.config.name}.{tool}"]
    output = await found.run(args, context)
    assert isinstance(output, ToolOutput)
    return output
