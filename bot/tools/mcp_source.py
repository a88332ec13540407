"""The tools of every MCP server that is configured. The SDK is loaded in the background, once there is such a server.

What the SDK brings takes a second of a processor to load, and a server a minute to start: nobody waits for either.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Final, Protocol

from agent.ports import Asker, Clock, Tool
from bot.findings import Finding
from bot.tools.mcp_config import McpServerConfig

log = logging.getLogger(__name__)


QUIET_S: Final = 5.0
"""Nobody wonders about so short a wait."""


class RunningServer(Protocol):
    """A server as `bot.tools.mcp_server` runs it."""

    config: McpServerConfig
    tried: asyncio.Event

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    async def examine(self) -> list[Finding]:
        """What its operator may like to know, once its first connection was tried."""
        ...


class McpSource:
    """As `agent.ports.ToolSource`: what the servers have that are connected, or were."""

    def __init__(self) -> None:
        self.servers: tuple[RunningServer, ...] = ()
        self.loaded = asyncio.Event()

    async def examine(self) -> list[Finding]:
        """For `cogency doctor`: what each server offers, and what not."""
        await self.loaded.wait()
        each = await asyncio.gather(*(server.examine() for server in self.servers))
        return [finding for findings in each for finding in findings]

    async def settle(self, seconds: float) -> None:
        """Wait until each was tried once, and no longer than this; the log says so where that is not at once."""
        if seconds <= 0 or await self._tried(min(QUIET_S, seconds)):
            return
        log.warning("waiting for the MCP servers, %g s at most", seconds)
        if not await self._tried(seconds - QUIET_S):
            names = ", ".join(server.config.name for server in self.servers if not server.tried.is_set())
            log.warning("not connected yet, so without their tools for now: MCP servers %s", names)

    async def _tried(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.loaded.wait()
                await asyncio.gather(*(server.tried.wait() for server in self.servers))
                return True
        return False

    def tools(self, asker: Asker) -> Sequence[Tool]:  # noqa: ARG002 -- all have the same until there is a policy
        return tuple(tool for server in self.servers for tool in server.tools)


def can_connect() -> bool:
    """Whether the SDK is installed."""
    return find_spec("mcp") is not None


@asynccontextmanager
async def open_mcp(
    configs: Sequence[McpServerConfig], clock: Clock, jitter: Callable[[], float], timeout_s: float
) -> AsyncGenerator[McpSource, None]:
    """The servers run while the block does. `jitter`: a number between 0 and 1."""
    source = McpSource()
    running = asyncio.create_task(_run(source, configs, clock, jitter, timeout_s))
    try:
        yield source
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _run(
    source: McpSource, configs: Sequence[McpServerConfig], clock: Clock, jitter: Callable[[], float], timeout_s: float
) -> None:
    try:
        sdk = await asyncio.to_thread(import_module, "bot.tools.mcp_server")
    except ImportError:
        log.exception("no MCP server is connected: the SDK cannot be loaded")
        source.loaded.set()
        return
    async with sdk.open_servers(configs, clock, jitter, timeout_s) as servers:
        source.servers = servers
        source.loaded.set()
        await asyncio.Event().wait()
