"""One MCP server: the task that owns its connection, and the tools that it has now.

The rules.
- The SDK's scopes are entered and left by one task, new for each connection. Everybody else leaves a message for it,
  and waits no longer than they may; what happens to the connection never reaches them but as a ToolError.
- A connection that fails is tried again after a pause that doubles up to a cap, with jitter, and only one that has held
  for a while begins anew. There is no keep-alive: a connection that nobody needs is left in peace.
- The tools that were listed last stay offered while a server is away, so that the prefix stays the same.
- What comes back is the asker's alone, unless the operator says that it is the team's.
"""

import asyncio
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any, Final, Generic, TypeVar, assert_never, cast

import anyio
import httpx2
import mcp_types as types
from mcp import Client, InputRequiredRoundsExceededError, MCPError
from mcp.client import ClientRequestContext, Transport
from mcp.client.subscriptions import SubscriptionLost
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from agent.errors import ToolError
from agent.memory.audience import Audience, TeamAudience
from agent.messages import JsonObject, Keep
from agent.ports import Clock, Tool, ToolContext, ToolEffect, ToolOutput
from bot.exits import Finding, Level
from bot.texts import setup_texts
from bot.texts.formatting import long_time
from bot.tools import mcp_calls
from bot.tools.mcp_calls import NEEDS_INPUT, CallQuestions, GivenUp, Required, pages_first, questions_of
from bot.tools.mcp_config import AccountKind, HttpReach, McpServerConfig, StdioReach
from bot.tools.mcp_listing import MAX_TOOLS, OfferedTool, ToolListing, listing, one_line
from bot.tools.mcp_transport import Allowance, Fate, Keeper, ServerBroken, http_streams, stdio_streams

log = logging.getLogger(__name__)
T = TypeVar("T")

CLIENT: Final = types.Implementation(name="cogency", version=version("cogency-bot"))
RESULT: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.InputRequiredResult | types.CallToolResult
)
# What the SDK raises for one request, as it says. Whatever else comes ends the connection, and is told with that.
CALL_ERRORS: Final = (MCPError, ValidationError, InputRequiredRoundsExceededError, TimeoutError)
MAX_PAGES: Final = 20  # Of one list: ten tools a page are enough for as many as are offered
LOST: Final = (
    "the connection to the server {name!r} ended while it worked on this ({why}); whether it did it is not known"
)
AWAY: Final = (
    "the server {name!r} has not been reached for {time}: {why}. It is tried again by itself; say so, and go on "
    "without it"
)
BUSY: Final = "the server {name!r} has {running} calls to do already; try again in a moment"
SETTLE_S: Final = 1.0  # From a change of a list to reading it: changes come in swarms, most of which are not passed on
SHOWN: Final = 20
MAX_CAUSES: Final = 20
UNREACHABLE: Final[Mapping[str, str]] = {
    "ConnectionRefusedError": "nothing listens there (connection refused): is it running, and is its port right?",
    "gaierror": "no address is known for its host's name: is it written right?",
    "SSLCertVerificationError": "its certificate is not trusted here",
    "SSLError": "it does not speak TLS there as it should: is it https:// or http://?",
    "ConnectTimeout": "its address did not answer in time",
}


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class McpLimits:
    connect_s: float = 60.0
    """A server that comes from a package registry is fetched on its first start."""
    wait_s: float = 5.0
    """For a call, until a server is back: longer than a first pause, and short beside what a person waits."""
    first_pause_s: float = 1.0
    most_pause_s: float = 600.0
    """Nobody notices sooner, and a server that is gone for a weekend costs three hundred tries."""
    steady_s: float = 300.0
    """A connection that held for so long was a good one."""
    calls: int = 32
    """At once, without those that wait for a person. More are a loop, or more people than one connection serves."""
    questions: int = 5
    """Of one call, to the person for whom it runs: whoever asks for more should show a page of its own."""
    list_pause_s: float = 5.0
    """Between two readings of a list that changes."""
    progress_s: float = 1.0
    """Between two words of progress: a reply is not written more often."""


@dataclass(eq=False)
class _Request(Generic[T]):
    """A message for the task that owns the connection. Its scope is cancelled by who asked, and by nobody else."""

    do: Callable[[Client], Awaitable[T]]
    answer: asyncio.Future[T]
    questions: CallQuestions | None = None
    """What its person may be asked; None: nobody is."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def fail(self, why: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(ToolError(why))


# The request for which something is sent, and, where a transport tells, what its server sends meanwhile.
_ANSWERING: Final = ContextVar["_Request[Any] | None"]("answering", default=None)


class McpServer:
    """`jitter`: a number between 0 and 1, new at each call. `run` it in a task of its own, until that is cancelled."""

    def __init__(
        self,
        config: McpServerConfig,
        clock: Clock,
        jitter: Callable[[], float],
        keeper: Keeper,
        timeout_s: float,
        limits: McpLimits = McpLimits(),
        auth: httpx2.Auth | None = None,
    ) -> None:
        self.config = config
        self.trouble = ""  # Why it is not connected now, for its operator; "" while it is, or was not tried yet
        self.connected = asyncio.Event()
        self.tried = asyncio.Event()  # Set once it is known whether the first connection came to be
        self.attempts = 0
        self.took_s = 0.0  # From the beginning of the latest connection until its tools were listed
        self._clock = clock
        self._jitter = jitter
        self._keeper = keeper
        self._timeout_s = config.timeout_s or timeout_s
        self._limits = limits
        self._auth = auth
        self._inbox: asyncio.Queue[_Request[Any]] = asyncio.Queue()
        self._asked: set[_Request[Any]] = set()
        self._given_up = GivenUp(clock.monotonic)
        self._changed = asyncio.Event()
        self._next_try = -math.inf
        self._since = clock.monotonic()  # When it was connected last, or named first
        self._listing = ToolListing()
        self._tools: tuple[McpTool, ...] = ()

    @property
    def listing(self) -> ToolListing:
        """What it had when it was connected last."""
        return self._listing

    @property
    def away_s(self) -> float:
        """For how long it has not been connected; 0 while it is."""
        return 0.0 if self.connected.is_set() else self._clock.monotonic() - self._since

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Those of `listing` that are offered; the same objects as long as nothing changes."""
        return self._tools

    async def examine(self) -> list[Finding]:
        """What its operator may like to know, once its first connection was tried."""
        await self.tried.wait()
        name, finding = self.config.name, partial(Finding, where="Tools")
        if not self.connected.is_set():
            what = f"{self.config.sentence}, and is not connected: {self.trouble}"
            return [finding(Level.WARNING, what=what, remedy=setup_texts.CHECK_MCP_ENTRY)]
        offered = ", ".join(f"{one.name} ({one.effect})" for one in self._tools) or "none"
        account = setup_texts.SHARED_ACCOUNT if self.config.account is AccountKind.SHARED else ""
        what = setup_texts.MCP_CONNECTED.format(
            sentence=self.config.sentence, account=account, seconds=self.took_s, offered=offered
        )
        found = [finding(Level.GOOD, what=what)]
        reasons: dict[str, list[str]] = {}
        for omitted in self._listing.omitted:
            reasons.setdefault(omitted.why, []).append(omitted.name)
        return found + [
            finding(Level.NOTE, what=f"{name} has tools that are not offered, because {why}: {_some(names)}")
            for why, names in reasons.items()
        ]

    # The task that owns the connection.

    async def run(self) -> None:
        """Connect, and connect again, until cancelled."""
        failures = 0
        while True:
            began, fate, why = self._clock.monotonic(), Fate(), ""
            self.attempts += 1
            try:
                why = await self._outcome(fate)
            finally:
                self.connected.clear()
                self._since = self._clock.monotonic() if fate.connected else self._since
                self._forsake(why or fate.why or "it is stopped")
            if fate.connected and self._clock.monotonic() - began >= self._limits.steady_s:
                failures = 0
            pause = min(self._limits.most_pause_s, self._limits.first_pause_s * 2.0 ** min(failures, 30))
            pause *= 0.75 + 0.5 * self._jitter()
            failures += 1
            self.trouble = why
            self.tried.set()
            self._next_try = self._clock.monotonic() + pause
            log.warning("MCP server %s: %s; it is tried again in %.0f s", self.config.name, why, pause)
            await self._clock.sleep(pause)

    async def _outcome(self, fate: Fate) -> str:
        """Of one connection, in a task that ends with it: what the SDK may leave behind in a task ends there, too."""
        connection = asyncio.create_task(self._connection(fate))
        try:
            await asyncio.wait({connection})
        finally:
            while not connection.done():  # whoever stops this waits for its process to be gone
                connection.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({connection})
        error = None if connection.cancelled() else connection.exception()
        log.debug("MCP server %s: the connection ended", self.config.name, exc_info=error)
        why = fate.why or (reason_of(error) if error is not None else "the connection ended")
        said = " ".join(fate.said.decode(errors="replace").split())
        return why if fate.connected or not said else f"{why}; it said: {one_line(said[-500:], 500)}"

    def _forsake(self, why: str) -> None:
        for request in self._asked:
            request.fail(LOST.format(name=self.config.name, why=why))
        while not self._inbox.empty():
            self._inbox.get_nowait()

    async def _connection(self, fate: Fate) -> None:
        began = self._clock.monotonic()
        with anyio.CancelScope(deadline=anyio.current_time() + self._limits.connect_s) as scope:
            async with Client(
                self._streams(fate),
                cache=None,
                client_info=CLIENT,
                message_handler=self._notified,
                elicitation_callback=self._elicited,
            ) as client:
                self._take(await self._listed(client))
                scope.deadline = math.inf
                fate.connected, self.trouble = True, ""
                self.took_s = self._clock.monotonic() - began
                self.connected.set()
                self.tried.set()
                log.info("MCP server %s: connected, %d tools are offered", self.config.name, len(self._tools))
                await self._serve(client, fate)
        if not fate.connected:
            fate.end(f"it was not ready after {self._limits.connect_s:g} s")

    def _streams(self, fate: Fate) -> Transport:
        allowance = Allowance(self._clock.monotonic)
        match self.config.reach:
            case StdioReach() as reach:
                return stdio_streams(reach, allowance, self._keeper, fate)
            case HttpReach() as reach:
                return http_streams(reach, allowance, fate, self._auth)
            case _:
                assert_never(self.config.reach)

    async def _serve(self, client: Client, fate: Fate) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, fate)
            tasks.start_soon(self._follow, client)
            capabilities = client.server_capabilities
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS and capabilities.tools is not None:
                tasks.start_soon(self._listen, client)
            while True:
                request = await self._inbox.get()
                tasks.start_soon(self._answer, client, request, fate)

    async def _watch(self, fate: Fate) -> None:
        await fate.ended.wait()
        self.connected.clear()  # at once: ending its process may take seconds
        raise ServerBroken(fate.why)

    async def _answer(self, client: Client, request: _Request[T], fate: Fate) -> None:
        _ANSWERING.set(request)
        with request.scope:
            try:
                answer = await request.do(client)
            except ToolError as error:
                request.fail(str(error))
            except CALL_ERRORS as error:
                if isinstance(error, MCPError) and _is_end(error):
                    self.connected.clear()
                    fate.end("the connection ended")
                    request.fail(LOST.format(name=self.config.name, why="the connection ended"))
                request.fail(reason_of(error))
            else:
                if not request.answer.done():
                    request.answer.set_result(answer)

    async def _elicited(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG002 -- the SDK's
        """It asks a person something, in the middle of a call or of another request."""
        request = _ANSWERING.get()
        under_way = (one.questions for one in self._asked)
        questions = request.questions if request is not None else self._given_up.sole(under_way)
        if questions is None:
            log.info("MCP server %s: it asks a person, and it is not known whom: nobody is asked", self.config.name)
            return types.ElicitResult(action="cancel")
        return await questions.elicited(params)

    # What it has.

    async def _notified(self, message: object) -> None:
        changes = (
            types.ToolListChangedNotification
            | types.ResourceListChangedNotification
            | types.PromptListChangedNotification
        )
        if isinstance(message, changes):
            self._changed.set()

    async def _listen(self, client: Client) -> None:
        """Servers of 2026-07-28 tell of changes only whom they are asked to. That ends with a stream, not with us."""
        pause = self._limits.list_pause_s
        while True:
            with suppress(MCPError, SubscriptionLost, ValidationError, TimeoutError):
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._changed.set()
            await self._clock.sleep(pause)
            pause = min(2 * pause, self._limits.most_pause_s)

    async def _follow(self, client: Client) -> None:
        while True:
            await self._changed.wait()
            await self._clock.sleep(SETTLE_S)
            self._changed.clear()
            try:
                self._take(await self._listed(client))
            except (MCPError, ValidationError) as error:
                log.warning("MCP server %s: its new list cannot be read: %s", self.config.name, reason_of(error))
            await self._clock.sleep(self._limits.list_pause_s)

    async def _listed(self, client: Client) -> ToolListing:
        """Raises MCPError and ValidationError."""
        tools, capabilities = list[types.Tool](), client.server_capabilities
        cursor: str | None = None
        for _ in range(MAX_PAGES if capabilities.tools is not None else 0):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor else None
            page = await client.session.list_tools(params=params)
            tools += page.tools[: 2 * MAX_TOOLS]
            cursor = page.next_cursor
            if not cursor or len(tools) > MAX_TOOLS:
                break
        return await asyncio.to_thread(
            listing,
            self.config,
            tools,
            resources=capabilities.resources is not None,
            prompts=capabilities.prompts is not None,
        )

    def _take(self, now: ToolListing) -> None:
        if now != self._listing:
            known = {tool.name: tool for tool in self._tools}
            self._tools = tuple(
                same if (same := known.get(one.name)) is not None and same.offered == one else self._tool(one)
                for one in now.offered
            )
            self._listing = now

    def _tool(self, offered: OfferedTool) -> "McpTool":
        return McpTool(offered, self, self._timeout_s, for_team=self.config.for_team)

    # What others ask of it.

    async def ask(self, do: Callable[[Client], Awaitable[T]], questions: CallQuestions | None = None) -> T:
        """What the connection answers. Raises ToolError; if the caller is cancelled, the server is told."""
        await self._ready()
        working = len(self._asked) - sum(one.questions is not None and one.questions.waiting > 0 for one in self._asked)
        if working >= self._limits.calls:
            raise ToolError(BUSY.format(name=self.config.name, running=working))
        request = _Request(do, asyncio.get_running_loop().create_future(), questions)
        self._asked.add(request)
        self._inbox.put_nowait(request)
        try:
            return await request.answer
        except asyncio.CancelledError:
            self._given_up.add(questions)
            raise
        finally:
            self._asked.discard(request)
            request.scope.cancel()
            if request.answer.done() and not request.answer.cancelled():
                request.answer.exception()  # it is read here, should nobody wait for it any more

    async def _ready(self) -> None:
        waits = self.attempts == 0 or self._next_try - self._clock.monotonic() <= self._limits.wait_s
        if not self.connected.is_set() and waits:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.wait_s):
                    await self.connected.wait()
        if not self.connected.is_set():
            why, time = self.trouble or "it is still starting", long_time(self.away_s)
            raise ToolError(AWAY.format(name=self.config.name, time=time, why=why))

    async def call(self, offered: OfferedTool, args: JsonObject, context: ToolContext) -> ToolOutput:
        """A call of a tool of its own. Raises ToolError."""
        progress = _Progress(self._clock, self._limits.progress_s)
        questions = questions_of(context, self.config.name, self._limits.questions)
        params = types.CallToolRequestParams(name=offered.called, arguments=dict(args))

        async def do(client: Client) -> types.CallToolResult | Required:
            log.debug("MCP server %s: %s is called", self.config.name, offered.called)
            request = types.CallToolRequest(params=params)
            try:
                return await client.session.send_request(request, RESULT, progress_callback=progress.note)
            except MCPError as error:
                if (pages := pages_first(error)) is None:
                    raise
                return pages

        async with progress.told(context):
            try:
                while not isinstance(result := await self.ask(do, questions), types.CallToolResult):
                    params = await questions.again(params, result)
                parts = await asyncio.to_thread(mcp_calls.parts_of, result)
            except ToolError as error:
                raise ToolError(str(error), ours=error.ours, for_turn=questions.told) from None
            finally:
                questions.end()
        return ToolOutput(parts=parts, keep=Keep.TURN if questions.told else Keep.STORED)

    async def resources(self, uri: str) -> ToolOutput:
        """The list of its resources, or one of them."""

        async def listed(client: Client) -> str:
            resources = await client.list_resources()
            with suppress(MCPError):  # not every server has templates
                templates = await client.list_resource_templates()
                return mcp_calls.resource_list(resources.resources, templates.resource_templates)
            return mcp_calls.resource_list(resources.resources, ())

        if not uri:
            return ToolOutput(await self.ask(listed))
        return ToolOutput(parts=mcp_calls.resource_parts(await self.ask(lambda client: client.read_resource(uri))))

    async def prompts(self, name: str, args: JsonObject) -> ToolOutput:
        """The list of its prompts, or what one of them says."""
        if not name:
            listed = await self.ask(lambda client: client.list_prompts())
            return ToolOutput(mcp_calls.prompt_list(listed.prompts))
        given = mcp_calls.arguments_of(args)
        prompt = await self.ask(lambda client: client.get_prompt(name, given))
        return ToolOutput(parts=mcp_calls.prompt_parts(prompt))


def _is_end(error: MCPError) -> bool:
    """Whether no later call can do better: the connection, or the server's memory of it, is gone."""
    return error.code == types.CONNECTION_CLOSED or error.message.lower() == "session terminated"


def reason_of(error: BaseException) -> str:
    """Why it failed, in one bounded sentence: the one place where the SDK's errors are put into words."""
    match error:
        case ServerBroken():
            return str(error)
        case BaseExceptionGroup(exceptions=[first, *_]):
            return reason_of(first)
        case ValidationError():
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            where = ".".join(map(str, faults[0]["loc"])) if faults else ""
            fault = f"{where}: {faults[0]['msg']}" if faults else ""
            return f"the server does not keep to the protocol: {one_line(fault, 300)}"
        case MCPError(code=code) if code == types.REQUEST_TIMEOUT:
            return "the server did not answer in time"
        case InputRequiredRoundsExceededError():
            return NEEDS_INPUT
        case MCPError():
            return f"the server refuses: {one_line(error.message, 500)}"
        case _ if why := _unreachable(error):
            return f"it cannot be reached: {why}"
        case OSError():
            return f"it cannot be reached: {one_line(error.strerror or type(error).__name__, 200)}"
        case _:
            return f"it cannot be reached ({type(error).__name__})"


def _unreachable(error: BaseException) -> str:
    """Why no connection came to be, in words for who wrote its address; "" where that is not known."""
    causes, at = [error], 0
    while at < len(causes) < MAX_CAUSES:
        one = causes[at]
        if isinstance(one, BaseExceptionGroup):
            causes += cast("BaseExceptionGroup[BaseException]", one).exceptions
        causes += [more for more in (one.__cause__ or one.__context__,) if more is not None]
        at += 1
    kinds = {kind.__name__ for one in causes for kind in type(one).__mro__}
    return next((why for kind, why in UNREACHABLE.items() if kind in kinds), "")


class _Progress:
    """The newest progress of one call, told at most so often; the owner of the connection never waits for it."""

    def __init__(self, clock: Clock, pause_s: float) -> None:
        self._clock = clock
        self._pause_s = pause_s
        self._newest = (0.0, 0.0)
        self._came = asyncio.Event()

    async def note(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 -- the SDK's
        """What it says in words is not shown: the page may be read by others."""
        self._newest = progress, total or 0.0
        self._came.set()

    @asynccontextmanager
    async def told(self, context: ToolContext) -> AsyncGenerator[None, None]:
        telling = asyncio.create_task(self._tell(context))
        try:
            yield
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _tell(self, context: ToolContext) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            done, total = self._newest
            await context.report(done, total, "")
            await self._clock.sleep(self._pause_s)


@dataclass(frozen=True, slots=True, eq=False)
class McpTool:
    """A tool of a server, as `agent.ports.Tool`."""

    offered: OfferedTool
    server: McpServer
    timeout_s: float
    for_team: bool = False

    @property
    def name(self) -> str:
        return self.offered.name

    @property
    def description(self) -> str:
        return self.offered.description

    @property
    def schema(self) -> JsonObject:
        return self.offered.schema

    @property
    def effect(self) -> ToolEffect:
        return self.offered.effect

    async def run(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        output = await self._output(args, context)
        audience = self._audience(context) if output.keep is Keep.STORED else None
        return replace(output, audience=audience)

    async def _output(self, args: JsonObject, context: ToolContext) -> ToolOutput:
        if self.offered.called:
            return await self.server.call(self.offered, args, context)
        if self.offered.name.endswith(".resources"):
            return await self.server.resources(str(args.get("uri", "")))
        return await self.server.prompts(str(args.get("name", "")), args)

    def _audience(self, context: ToolContext) -> Audience | None:
        team = context.place.within_team
        return TeamAudience(team) if self.for_team and team else None


@asynccontextmanager
async def open_servers(
    configs: Sequence[McpServerConfig],
    clock: Clock,
    jitter: Callable[[], float],
    timeout_s: float,
    limits: McpLimits = McpLimits(),
) -> AsyncGenerator[tuple[McpServer, ...], None]:
    """The servers of a configuration, each in its task, while the block runs: nobody waits for them to connect."""
    keeper = Keeper()
    servers = tuple(McpServer(config, clock, jitter, keeper, timeout_s, limits) for config in configs)
    tasks = [asyncio.create_task(server.run(), name=f"mcp {server.config.name}") for server in servers]
    try:
        yield servers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await keeper.aclose()
