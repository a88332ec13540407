"""The tools of every MCP server that is configured. The SDK is loaded in the background, once there is such a server.

What the SDK brings takes a second of a processor to load, and a server a minute to start: nobody waits for either.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

from agent.ports import Asker, Clock, Tool, ToolAccounts
from agent.records import Person
from bot.exits import Finding
from bot.texts import tool_texts
from bot.texts.formatting import long_time
from bot.tools.mcp_config import AccountKind, McpServerConfig

if TYPE_CHECKING:
    from bot.tools.sealing import SealingKeys

log = logging.getLogger(__name__)

SIGN_IN_HTTP: Final = "COGENCY_SIGN_IN_HTTP"
LOAD_S: Final = 20.0  # For the SDK, on a machine that is busy
QUIET_S: Final = 5.0  # Nobody wonders about so short a wait


class RunningServer(Protocol):
    """A server as `bot.tools.mcp_server` runs it."""

    config: McpServerConfig
    tried: asyncio.Event
    connected: asyncio.Event

    @property
    def away_s(self) -> float:
        """For how long it has not been connected; 0 while it is."""
        ...

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    async def examine(self) -> list[Finding]:
        """What its operator may like to know, once its first connection was tried."""
        ...


@dataclass(frozen=True, slots=True)
class SignInAnswer:
    """What `/tools` answers about sign-ins, as Markdown for the person alone. The names of the servers at which they
    are signed in, and of the others, where those were asked for.
    """

    text: str
    signed_in: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


class ToolSignIns(Protocol):
    async def answer(self, person: Person, words: str) -> SignInAnswer:
        """What `/tools` with these words (see `bot.tools.sign_in`) says to this person, for them alone."""
        ...


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What a browser is told. `go`: where it is sent. `cookie`: what it is to keep. `json`: in place of a page."""

    status: int
    html: str = ""
    go: str = ""
    cookie: str = ""
    json: str = ""


class SignInBrowsing(Protocol):
    """What the pages ask; `browser` is what stands in the cookie, "" if there is none. Each may raise CogencyError."""

    def document(self, server: str) -> PageAnswer: ...
    async def ask(self, link: str, browser: str) -> PageAnswer: ...
    async def agree(self, link: str, browser: str, said: str) -> PageAnswer: ...
    async def come_back(self, server: str, query: str, browser: str) -> PageAnswer: ...


class PeoplesServers(Protocol):
    """The servers at which each person signs in, as `bot.tools.sign_in` and `bot.tools.mcp_people` run them."""

    def tools(self, asker: Asker) -> Sequence[Tool]: ...

    async def prepare(self, asker: Asker) -> None: ...


class SignInService(ToolSignIns, SignInBrowsing, Protocol):
    async def forget(self, person: str) -> list[str]:
        """Have revoked what they gave: the servers that have not confirmed it."""
        ...


@dataclass(frozen=True, slots=True)
class PeopleSettings:
    """What the servers need at which each person signs in. `public`: the address by which browsers reach the pages, ""
    if none do; `listen`: where those are served, None if they are not, or by another process.
    """

    accounts: ToolAccounts
    keys: "SealingKeys"
    public: str = ""
    listen: tuple[str, int] | None = None


class McpSource:
    """As `agent.ports.ToolSource`: what the servers have that are connected, or were. Implements `ToolSignIns`, too."""

    def __init__(self) -> None:
        self.servers: tuple[RunningServer, ...] = ()
        self.people: PeoplesServers | None = None
        self.desk: SignInService | None = None
        self.loaded = asyncio.Event()
        self.port = 0  # Where the pages of sign-ins are served; 0 if they are not

    async def answer(self, person: Person, words: str) -> SignInAnswer:
        if (desk := await self.ready()) is not None:
            return await desk.answer(person, words)
        return SignInAnswer(tool_texts.NO_SERVERS if self.loaded.is_set() else tool_texts.NOT_READY)

    async def ready(self) -> SignInService | None:
        """None if nobody can sign in anywhere, or not yet."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOAD_S):
                await self.loaded.wait()
        return self.desk

    async def revoke(self, kept: ToolAccounts, person: str) -> str:
        """Before somebody is forgotten: what they gave is no longer taken. A sentence about what was not confirmed, as
        nothing is without a key. Raises StoreError.
        """
        desk = await self.ready()
        untold = [*await kept.all_of(person)] if desk is None else await desk.forget(person)
        return tool_texts.NOT_TOLD.format(servers=", ".join(untold)) if untold else ""

    async def prepare(self, asker: Asker) -> None:
        """Before this person's tools are asked for: those of their own accounts are looked up."""
        if self.people is not None:
            await self.people.prepare(asker)

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

    def away(self) -> Mapping[str, str]:
        """The servers that are not connected, with the reason as far as everybody may know it: what an operator reads
        in the log may hold addresses and what a server's process has written.
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


NOWHERE: Final = McpSource()  # Without any server
NOWHERE.loaded.set()


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
    """The servers run while the block does. `jitter`: a number between 0 and 1. `people`: None leaves out the servers
    at which each person signs in. Raises SettingsError if the address of their pages cannot be had.
    """
    source = McpSource()
    async with AsyncExitStack() as stack:
        if people is not None and people.listen is not None:
            pages = import_module("bot.tools.sign_in_pages")
            shown = pages.SignInPages(source.ready, people.public)
            source.port = await stack.enter_async_context(pages.listening(shown, *people.listen, SIGN_IN_HTTP))
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
    theirs = [config for config in configs if config.account is AccountKind.PERSON]
    try:
        sdk = await asyncio.to_thread(import_module, "bot.tools.mcp_server")
        signing = await asyncio.to_thread(import_module, "bot.tools.sign_in") if people else None
    except ImportError:
        log.exception("no MCP server is connected: the SDK cannot be loaded")
        source.loaded.set()
        return
    others = [config for config in configs if config.account is not AccountKind.PERSON]
    async with AsyncExitStack() as stack:
        source.servers = await stack.enter_async_context(sdk.open_servers(others, clock, jitter, timeout_s))
        if signing is not None and people is not None:
            opening = signing.open_people(theirs, people, clock, jitter, timeout_s)
            source.people, source.desk = await stack.enter_async_context(opening)
        source.loaded.set()
        await asyncio.Event().wait()
