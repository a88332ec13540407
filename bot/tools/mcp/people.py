"""The servers that each person uses with their own account: one session for each person and server.

Rules.
- A session belongs to one person: it carries their token, and its tools are offered to this person alone. A tool that
  is run for another person raises an error. Another account of the same person gets another session.
- A session is opened when its person asks a question, and closed when it was idle for a while. Its list of tools is
  kept, so that the tools are still offered; the next call opens the session again. Both open and known sessions are
  limited in number.
- A person who is not signed in at a server has one tool of it, which says so.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from agent.errors import StoreError, ToolError
from agent.messages import JsonObject
from agent.ports.clock import Clock
from agent.ports.tools import Asker, Tool, ToolAccount, ToolContext, ToolEffect, ToolOutput
from bot.tools import texts as tool_texts
from bot.tools.accounts.accounts import Accounts, PersonAuth
from bot.tools.accounts.oauth import Account, OAuthFailed
from bot.tools.mcp.config import McpServerConfig
from bot.tools.mcp.server import McpLimits, McpServer
from bot.tools.mcp.transport import Watchdog

log = logging.getLogger(__name__)

NOTHING: Final[JsonObject] = {"type": "object", "properties": {}, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class PeopleLimits:
    open: int = 100
    """Connections at once: each takes a task, a socket and a hundred kilobytes."""
    known: int = 1_000
    """Sessions whose lists of tools are kept."""
    idle_s: float = 300.0
    """A conversation usually continues within minutes, or on another day."""
    first_s: float = 3.0
    """How long a person's first question waits for a server; else its tools are offered with the next question."""
    sweep_s: float = 60.0


@dataclass(eq=False)
class _Session:
    """`account`: the name of the account that is used. `tools`: the offered tools by the server's own tools, so that
    unchanged tools stay the same objects. `ending`: the run before this one.
    """

    person: str
    account: str
    server: McpServer
    auth: PersonAuth
    ending: asyncio.Task[None] | None = None
    running: asyncio.Task[None] | None = None
    used: float = 0.0
    calls: int = 0
    tools: dict[Tool, "PersonTool"] = field(default_factory=dict[Tool, "PersonTool"])


class PersonServers:
    """The sessions of all people. `timeout_s`, `jitter`: as in `McpServer`."""

    def __init__(
        self,
        configs: Sequence[McpServerConfig],
        accounts: Accounts,
        clock: Clock,
        jitter: Callable[[], float],
        timeout_s: float,
        limits: PeopleLimits = PeopleLimits(),
        connections: McpLimits = McpLimits(),  # noqa: B008 -- frozen
    ) -> None:
        self.configs: Mapping[str, McpServerConfig] = {config.name: config for config in configs}
        self.accounts = accounts
        self._clock = clock
        self._jitter = jitter
        self._timeout_s = timeout_s
        self._limits = limits
        self._connections = connections
        self._sessions: OrderedDict[tuple[str, str], _Session] = OrderedDict()
        self._sign_in_tools = {config.name: SignInTool(config, self, timeout_s) for config in configs}
        self._watchdog = Watchdog()
        self._ending: set[asyncio.Task[None]] = set()

    # The tools of a turn.

    def tools(self, asker: Asker) -> tuple[Tool, ...]:
        """Return the known tools of the servers at which this person is signed in, and sign-in tools for the others."""
        tools: list[Tool] = []
        for name, sign_in in self._sign_in_tools.items():
            session = self._sessions.get((asker.person.id, name))
            own = () if session is None else self._offered(session)
            tools += own or (sign_in,)
        return tuple(tools)

    def _offered(self, session: _Session) -> tuple["PersonTool", ...]:
        session.tools = {
            tool: session.tools.get(tool) or PersonTool(tool, session.person, session.server.config.name, self)
            for tool in session.server.tools
        }
        return tuple(session.tools.values())

    async def prepare(self, asker: Asker) -> None:
        """Open the asker's sessions, and wait up to `first_s` for servers that were never tried."""
        person = asker.person.id
        try:
            accounts = await self.accounts.all_of(person)
        except StoreError:
            return  # the turn itself meets the error
        waiting: list[McpServer] = []
        for name in self.configs:
            if (account := accounts.get(name)) is None:
                self._close(person, name)
            elif (session := self._open(person, name, account)) is not None and not session.server.tried.is_set():
                waiting.append(session.server)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.first_s):
                for server in waiting:
                    await server.tried.wait()

    # Sessions.

    def _open(self, person: str, name: str, account: Account) -> _Session | None:
        """Return the person's running session; None if there are too many."""
        key = person, name
        session = self._sessions.get(key)
        if session is not None and session.account != account.name:
            self._close(person, name)
            session = None
        if session is None:
            auth = PersonAuth(self.accounts, person, name)
            server = McpServer(
                self.configs[name], self._clock, self._jitter, self._watchdog, self._timeout_s, self._connections, auth
            )
            session = self._sessions[key] = _Session(person, account.name, server, auth)
        self._sessions.move_to_end(key)
        session.used = self._clock.monotonic()
        if session.running is None:
            if not self._make_room():
                return None
            session.running = asyncio.create_task(_run(session.server, session.ending), name=f"mcp {name} of a person")
        return session

    def _make_room(self) -> bool:
        """Drop or stop the sessions that were used longest ago; False if all of them have calls."""
        while len(self._sessions) > self._limits.known:
            key = next((key for key, session in self._sessions.items() if not session.calls), None)
            if key is None:
                return False
            self._stop(self._sessions.pop(key))
        running = [session for session in self._sessions.values() if session.running is not None]
        idle = [session for session in running if not session.calls]
        if len(running) >= self._limits.open:
            if not idle:
                return False
            self._stop(idle[0])
        return True

    def _stop(self, session: _Session) -> None:
        if session.running is not None:
            session.running.cancel()
            session.ending, session.running = session.running, None
            self._ending.add(session.ending)
            session.ending.add_done_callback(self._ending.discard)

    def _close(self, person: str, name: str) -> None:
        """Stop the session, and drop its list of tools."""
        session = self._sessions.pop((person, name), None)
        if session is not None:
            self._stop(session)

    async def changed(self, person: str, name: str) -> None:
        """The person signed in or out: replace the session."""
        self._close(person, name)
        account = await self.accounts.of(person, name)
        if account is not None:
            self._open(person, name, account)

    async def run(self) -> None:
        """Close idle sessions, and delete sign-ins that were not finished, until cancelled."""
        while True:
            with suppress(StoreError):  # tried again at the next sweep
                await self.accounts.store.expire(self._clock.now())
            await self._clock.sleep(self._limits.sweep_s)
            now = self._clock.monotonic()
            for session in self._sessions.values():
                if not session.calls and now - session.used >= self._limits.idle_s:
                    self._stop(session)

    @property
    def open(self) -> int:
        return sum(session.running is not None for session in self._sessions.values())

    async def aclose(self) -> None:
        for session in self._sessions.values():
            self._stop(session)
        self._sessions.clear()
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self.accounts.aclose()
        await self._watchdog.aclose()

    @asynccontextmanager
    async def using(self, person: str, name: str) -> AsyncGenerator[_Session, None]:
        """Use the person's session for a call. Raises ToolError if they are not signed in, or too many are in use."""
        try:
            await self.accounts.bearer(person, name)
            account = await self.accounts.of(person, name)
        except (OAuthFailed, StoreError) as failed:
            raise ToolError(str(failed)) from None
        session = None if account is None else self._open(person, name, account)
        if session is None:
            raise ToolError(tool_texts.TOO_MANY)
        session.calls += 1
        try:
            if session.ending is not None:
                await asyncio.wait({session.ending})
            yield session
        finally:
            session.calls -= 1
            session.used = self._clock.monotonic()

    async def why(self, session: _Session) -> str:
        """Return what the person can do about a failed call; "" for nothing."""
        name = session.server.config.name
        try:
            account = await self.accounts.of(session.person, name)
        except StoreError:
            return ""
        if account is None or session.auth.rejected:
            return tool_texts.SIGN_IN_AGAIN.format(server=name)
        return tool_texts.MORE_RIGHTS.format(server=name) if account.wants else ""


async def _run(server: McpServer, before: asyncio.Task[None] | None) -> None:
    if before is not None:
        await asyncio.wait({before})
    await server.run()


@dataclass(frozen=True, slots=True, eq=False)
class PersonTool:
    """A tool of a person's own account, as `agent.ports.tools.Tool`. Its results are for this person alone."""

    tool: Tool
    person: str
    server: str
    servers: PersonServers

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def schema(self) -> JsonObject:
        return self.tool.schema

    @property
    def effect(self) -> ToolEffect:
        return self.tool.effect

    @property
    def timeout_s(self) -> float:
        return self.tool.timeout_s

    @property
    def account(self) -> ToolAccount:
        return ToolAccount.ASKER

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput | str:
        if context.person.id != self.person:
            raise ToolError(tool_texts.NOT_THEIR_TOOL)
        async with self.servers.using(self.person, self.server) as session:
            try:
                return await self.tool.run(args, context)
            except ToolError:
                if why := await self.servers.why(session):
                    raise ToolError(why) from None
                raise


@dataclass(frozen=True, slots=True, eq=False)
class SignInTool:
    """The only tool of a server at which the person is not signed in, or whose tools are not known yet."""

    config: McpServerConfig
    servers: PersonServers
    timeout_s: float

    @property
    def name(self) -> str:
        return f"{self.config.name}.sign_in"

    @property
    def description(self) -> str:
        return tool_texts.SIGN_IN_TOOL.format(server=self.config.name)

    @property
    def schema(self) -> JsonObject:
        return NOTHING

    @property
    def effect(self) -> ToolEffect:
        return ToolEffect.READS

    async def run(self, args: JsonObject, context: ToolContext) -> str:  # noqa: ARG002 -- it takes none
        person, name = context.person.id, self.config.name
        try:
            async with self.servers.using(person, name) as session:
                why = session.server.why_away or tool_texts.STILL_CONNECTING
                return await self.servers.why(session) or tool_texts.SOON_READY.format(server=name, why=why)
        except ToolError as error:
            return str(error)
