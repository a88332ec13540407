"""The tools of all configured MCP servers. The SDK is loaded in the background, and only if there is such a server.

Loading the SDK takes a second of processor time, and starting a server up to a minute; the start of the bot does not
wait for either.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

from agent.incoming import Person
from agent.ports.clock import Clock
from agent.ports.tool_accounts import ToolAccounts
from agent.ports.tools import Asker, Tool
from bot.chat.findings import Finding
from bot.chat.panels import Panel
from bot.chat.texts.formatting import long_time
from bot.chat.web_page import PageAnswer
from bot.tools import texts as tool_texts
from bot.tools.mcp.config import AccountKind, McpServerConfig

if TYPE_CHECKING:
    from bot.chat.sealing import SealingKeys

log = logging.getLogger(__name__)

SIGN_IN_HTTP: Final = "COGENCY_SIGN_IN_HTTP"
LOAD_S: Final = 20.0  # For loading the SDK on a busy machine
QUIET_S: Final = 5.0  # A longer wait at the start is logged


class RunningServer(Protocol):
    """A server as `bot.tools.mcp.server` runs it."""

    config: McpServerConfig
    tried: asyncio.Event
    connected: asyncio.Event

    @property
    def away_s(self) -> float:
        """How long it has not been connected; 0 while it is."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    async def examine(self) -> list[Finding]:
        """Return findings for the operator, after the first try to connect."""
        ...


class ToolSignIns(Protocol):
    async def answer(self, person: Person, words: str) -> Panel:
        """Return the answer to `/tools` with these words (see `bot.tools.accounts.sign_in`), for this person alone."""
        ...


class SignInBrowsing(Protocol):
    """The requests of the pages. `browser`: the value of the cookie, "" without one. All may raise CogencyError."""

    def document(self, server: str) -> PageAnswer: ...
    async def ask(self, link: str, browser: str) -> PageAnswer: ...
    async def agree(self, link: str, browser: str, token: str) -> PageAnswer: ...
    async def come_back(self, server: str, query: str, browser: str) -> PageAnswer: ...


class PeoplesServers(Protocol):
    """The servers at which each person signs in, as `accounts.sign_in` and `mcp.people` run them."""

    def tools(self, asker: Asker) -> Sequence[Tool]: ...

    async def prepare(self, asker: Asker) -> None: ...


class SignInService(ToolSignIns, SignInBrowsing, Protocol):
    async def forget(self, person: str) -> list[str]:
        """Revoke the person's tokens. Return the servers that did not confirm it."""
        ...


@dataclass(frozen=True, slots=True)
class PeopleSettings:
    """The settings of servers at which each person signs in. `public`: the address of the sign-in pages for browsers,
    "" if there is none. `listen`: the host and port on which this process serves them; None if it does not.
    """

    accounts: ToolAccounts
    keys: "SealingKeys"
    public: str = ""
    listen: tuple[str, int] | None = None


class McpSource:
    """Implements `agent.ports.tools.ToolSource`, with the tools that the servers listed last, and `ToolSignIns`."""

    def __init__(self) -> None:
        self.servers: tuple[RunningServer, ...] = ()
        self.people: PeoplesServers | None = None
        self.service: SignInService | None = None
        self.loaded = asyncio.Event()
        self.port = 0  # The port of the sign-in pages; 0 if they are not served

    async def answer(self, person: Person, words: str) -> Panel:
        if (service := await self.ready()) is not None:
            return await service.answer(person, words)
        return Panel(tool_texts.NO_SERVERS if self.loaded.is_set() else tool_texts.NOT_READY)

    async def ready(self) -> SignInService | None:
        """Wait for the SDK, up to LOAD_S. Return None if there are no sign-ins, or not yet."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOAD_S):
                await self.loaded.wait()
        return self.service

    async def revoke(self, accounts: ToolAccounts, person: str) -> str:
        """Revoke a person's tokens, before the person is forgotten. Return a sentence about the servers that did not
        confirm it; without a key none does. Raises StoreError.
        """
        service = await self.ready()
        unconfirmed = [*await accounts.all_of(person)] if service is None else await service.forget(person)
        return tool_texts.NOT_TOLD.format(servers=", ".join(unconfirmed)) if unconfirmed else ""

    async def prepare(self, asker: Asker) -> None:
        """Open this person's own sessions, before `tools` is called for them."""
        if self.people is not None:
            await self.people.prepare(asker)

    async def examine(self) -> list[Finding]:
        """Return findings for `cogency doctor`: which tools each server offers, and which it does not."""
        await self.loaded.wait()
        results = await asyncio.gather(*(server.examine() for server in self.servers))
        return [finding for findings in results for finding in findings]

    async def settle(self, seconds: float) -> None:
        """Wait until each server was tried once, up to `seconds`. A wait of more than QUIET_S is logged."""
        if seconds <= 0 or await self._wait_tried(min(QUIET_S, seconds)):
            return
        log.warning("waiting up to %g s for the MCP servers", seconds)
        if not await self._wait_tried(seconds - QUIET_S):
            names = ", ".join(server.config.name for server in self.servers if not server.tried.is_set())
            log.warning("MCP servers not connected yet, so their tools are missing for now: %s", names)

    async def _wait_tried(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.loaded.wait()
                await asyncio.gather(*(server.tried.wait() for server in self.servers))
                return True
        return False

    def away(self) -> Mapping[str, str]:
        """Return the servers that are not connected, with a reason that every user may read. The reasons in the log are
        for operators: they may hold addresses, and output of a server's process.
        """
        return {
            server.config.name: tool_texts.SERVER_AWAY.format(time=long_time(server.away_s))
            if server.tried.is_set()
            else tool_texts.SERVER_STARTS
            for server in self.servers
            if not server.connected.is_set()
        }

    def tools(self, asker: Asker) -> Sequence[Tool]:
        own = () if self.people is None else self.people.tools(asker)
        return (*(tool for server in self.servers for tool in server.tools), *own)


NO_MCP_SERVERS: Final = McpSource()  # Without any server
NO_MCP_SERVERS.loaded.set()


def can_connect() -> bool:
    """Whether the SDK is installed."""
    return find_spec("mcp") is not None


@asynccontextmanager
async def open_mcp(
    configs: Sequence[McpServerConfig],
    clock: Clock,
    jitter: Callable[[], float],
    timeout_s: float,
    people: PeopleSettings | None = None,
) -> AsyncGenerator[McpSource, None]:
    """Run the servers until the block ends. `jitter` returns a random number between 0 and 1. `people`: None leaves out
    the servers at which each person signs in. Raises SettingsError if the address of their pages cannot be used.
    """
    source = McpSource()
    async with AsyncExitStack() as stack:
        if people is not None and people.listen is not None:
            pages = import_module("bot.tools.accounts.pages")
            site = pages.SignInPages(source.ready, people.public)
            source.port = await stack.enter_async_context(pages.listening(site, *people.listen, SIGN_IN_HTTP))
        running = asyncio.create_task(_run(source, configs, clock, jitter, timeout_s, people))
        try:
            yield source
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running


async def _run(
    source: McpSource,
    configs: Sequence[McpServerConfig],
    clock: Clock,
    jitter: Callable[[], float],
    timeout_s: float,
    people: PeopleSettings | None,
) -> None:
    personal = [config for config in configs if config.account is AccountKind.PERSON]
    try:
        sdk = await asyncio.to_thread(import_module, "bot.tools.mcp.server")
        sign_in = await asyncio.to_thread(import_module, "bot.tools.accounts.sign_in") if people else None
    except ImportError:
        log.exception("no MCP server is connected because the SDK could not be loaded")
        source.loaded.set()
        return
    others = [config for config in configs if config.account is not AccountKind.PERSON]
    async with AsyncExitStack() as stack:
        source.servers = await stack.enter_async_context(sdk.open_servers(others, clock, jitter, timeout_s))
        if sign_in is not None and people is not None:
            opening = sign_in.open_people(personal, people, clock, jitter, timeout_s)
            source.people, source.service = await stack.enter_async_context(opening)
        source.loaded.set()
        await asyncio.Event().wait()
