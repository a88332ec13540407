"""One MCP server: the task that owns its connection, and its current tools.

Rules.
- The SDK's scopes are entered and left by one task, a new one for each connection. Callers send it requests and wait up
  to their own timeout. A failure of the connection reaches them only as a ToolError.
- A failed connection is retried after a pause that doubles up to a limit, with jitter. The pause is reset only after a
  connection that lasted for `McpLimits.steady_s`. There is no keep-alive: an unused connection causes no traffic.
- The tools that were listed last stay offered while a server is away, so that the context's prefix does not change.
- Results are for the asker alone, unless the operator configures that they are for the team.
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

from agent.certificates import certificate_problem
from agent.errors import ToolError
from agent.memory.audience import Audience, TeamAudience
from agent.memory.secrets import without_secrets
from agent.messages import JsonObject, Keep
from agent.ports.clock import Clock
from agent.ports.tools import Tool, ToolAccount, ToolContext, ToolEffect, ToolOutput
from bot.chat.findings import Finding, Level
from bot.chat.logs import redactor
from bot.chat.processes import complete
from bot.chat.texts import operating as operating_texts
from bot.chat.texts.formatting import long_time
from bot.tools import texts as tool_texts
from bot.tools.mcp.call_questions import NEEDS_INPUT, CallQuestions, GivenUp, Required, pages_first, questions_of
from bot.tools.mcp.config import AccountKind, HttpReach, McpServerConfig, StdioReach
from bot.tools.mcp.listing import MAX_TOOLS, OfferedTool, ToolListing, listing, one_line
from bot.tools.mcp.result_parts import arguments_of, parts_of, prompt_list, prompt_parts, resource_list, resource_parts
from bot.tools.mcp.transport import Allowance, ConnectionStatus, ServerBroken, Watchdog, http_streams, stdio_streams

log = logging.getLogger(__name__)
T = TypeVar("T")

CLIENT: Final = types.Implementation(name="cogency", version=version("cogency-bot"))
RESULT: Final[TypeAdapter[types.CallToolResult | types.InputRequiredResult]] = TypeAdapter(
    types.InputRequiredResult | types.CallToolResult
)
# The SDK's documented errors of a single request. Any other error ends the connection.
CALL_ERRORS: Final = (MCPError, ValidationError, InputRequiredRoundsExceededError, TimeoutError)
MAX_PAGES: Final = 20  # Of one list: with ten tools a page, enough for MAX_TOOLS
LOST: Final = (
    "the connection to the server {name!r} ended during this call ({why}); it is unknown whether the call took effect"
)
ANSWERED_UNREADABLY: Final = (
    "the server {name!r} answered, but its answer could not be read ({why}); the call may have taken effect"
)
AWAY: Final = (
    "the server {name!r} has been unreachable for {time}: {why}. It is retried automatically; say so, and go on "
    "without it"
)
BUSY: Final = "the server {name!r} is busy with {running} calls; try again in a moment"
SETTLE_S: Final = 1.0  # From the first notification of a change to reading the list: changes come in bursts
MAX_SHOWN: Final = 20
MAX_CAUSES: Final = 20
UNREACHABLE: Final[Mapping[str, str]] = {
    "ConnectionRefusedError": "the connection was refused; check that it is running and that its port is right",
    "gaierror": "its host name has no address; check the spelling",
    "SSLError": "TLS failed; check whether its address begins with https:// or http://",
    "ConnectTimeout": "it did not answer in time",
}


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - MAX_SHOWN
    return ", ".join(names[:MAX_SHOWN]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class McpLimits:
    connect_s: float = 60.0
    """Enough for a first start, which downloads a server from a package registry."""
    wait_s: float = 5.0
    """How long a call waits for a server that is away: longer than the first pause, and acceptable for a user."""
    first_pause_s: float = 1.0
    max_pause_s: float = 600.0
    """With this pause, a server that is away for a weekend causes about three hundred tries."""
    steady_s: float = 300.0
    """A connection that lasted for this long resets the pause before retries."""
    calls: int = 32
    """Calls at once, without those that wait for a person. More are a loop, or too many people for one connection."""
    questions: int = 5
    """Questions of one call to the asker: a server that needs more should use a web page of its own."""
    list_pause_s: float = 5.0
    """The least time between two reads of a changing list."""
    progress_s: float = 1.0
    """The least time between two reports of progress: a reply is not edited more often."""


@dataclass(eq=False)
class _Request(Generic[T]):
    """A request to the task that owns the connection. Only the caller cancels its scope."""

    do: Callable[[Client], Awaitable[T]]
    answer: asyncio.Future[T]
    questions: CallQuestions | None = None
    """Asks the person for whom the call runs; None: no questions are possible."""
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    def fail(self, why: str) -> None:
        if not self.answer.done():
            self.answer.set_exception(ToolError(why))


# The request that is being sent. Where a transport keeps the context, also that of messages its server sends meanwhile.
_ANSWERING: Final = ContextVar["_Request[Any] | None"]("answering", default=None)


class McpServer:
    """An MCP server. `run` it in its own task, until that is cancelled. `jitter` returns numbers between 0 and 1."""

    def __init__(
        self,
        config: McpServerConfig,
        clock: Clock,
        jitter: Callable[[], float],
        watchdog: Watchdog,
        timeout_s: float,
        limits: McpLimits = McpLimits(),
        auth: httpx2.Auth | None = None,
    ) -> None:
        self.config = config
        # Why it is not connected; "" while it is, or before the first try. `trouble` is for the operator, with what a
        # process wrote to its standard error. `why_away` holds no text of the server: models and people read it.
        self.trouble = ""
        self.why_away = ""
        self.connected = asyncio.Event()
        self.tried = asyncio.Event()  # Set after the first try to connect
        self.attempts = 0
        self.took_s = 0.0  # From the start of the latest connection until its tools were listed
        self._clock = clock
        self._jitter = jitter
        self._watchdog = watchdog
        self._timeout_s = config.timeout_s or timeout_s
        self._limits = limits
        self._auth = auth
        self._inbox: asyncio.Queue[_Request[Any]] = asyncio.Queue()
        self._open: set[_Request[Any]] = set()
        self._given_up = GivenUp(clock.monotonic)
        self._changed = asyncio.Event()
        self._next_try = -math.inf
        self._since = clock.monotonic()  # When it was connected last, or created
        self._listing = ToolListing()
        self._tools: tuple[McpTool, ...] = ()

    @property
    def listing(self) -> ToolListing:
        """The tools that it had when it was connected last."""
        return self._listing

    @property
    def away_s(self) -> float:
        """How long it has not been connected; 0 while it is."""
        return 0.0 if self.connected.is_set() else self._clock.monotonic() - self._since

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The offered tools of `listing`; the same objects as long as nothing changes."""
        return self._tools

    async def examine(self) -> list[Finding]:
        """Return findings for the operator, after the first try to connect."""
        await self.tried.wait()
        name, finding = self.config.name, partial(Finding, where="Tools")
        if not self.connected.is_set():
            what = f"{self.config.sentence}; not connected: {self.trouble}"
            return [finding(Level.WARNING, what=what, remedy=tool_texts.CHECK_MCP_ENTRY)]
        offered = ", ".join(f"{tool.name} ({tool.effect})" for tool in self._tools) or "none"
        account = tool_texts.SHARED_ACCOUNT if self.config.account is AccountKind.SHARED else ""
        what = tool_texts.MCP_CONNECTED.format(
            sentence=self.config.sentence, account=account, seconds=self.took_s, offered=offered
        )
        findings = [finding(Level.GOOD, what=what)]
        reasons: dict[str, list[str]] = {}
        for omitted in self._listing.omitted:
            reasons.setdefault(omitted.why, []).append(omitted.name)
        return findings + [
            finding(Level.NOTE, what=f"{name}: some tools are not offered because {why}: {_join_names(names)}")
            for why, names in reasons.items()
        ]

    # The task that owns the connection.

    async def run(self) -> None:
        """Connect, and connect again, until cancelled."""
        failures = 0
        while True:
            started, status, why, told = self._clock.monotonic(), ConnectionStatus(), "", ""
            self.attempts += 1
            try:
                why, told = await self._run_connection(status)
            finally:
                self.connected.clear()
                self._since = self._clock.monotonic() if status.connected else self._since
                self._fail_open(told or status.why or "it was stopped")
            if status.connected and self._clock.monotonic() - started >= self._limits.steady_s:
                failures = 0
            pause = min(self._limits.max_pause_s, self._limits.first_pause_s * 2.0 ** min(failures, 30))
            pause *= 0.75 + 0.5 * self._jitter()
            failures += 1
            self.trouble, self.why_away = why, told
            self.tried.set()
            self._next_try = self._clock.monotonic() + pause
            log.warning("MCP server %s: %s; retrying in %.0f s", self.config.name, why, pause)
            await self._clock.sleep(pause)

    async def _run_connection(self, status: ConnectionStatus) -> tuple[str, str]:
        """Run one connection in its own task, so that no task state of the SDK outlives it. Return why it ended, for
        the operator and for others.
        """
        connection = asyncio.create_task(self._connect(status))
        try:
            await asyncio.wait({connection})
        finally:
            status.ended.set()
            while not connection.done():  # a caller that cancels this waits for the server's process to end
                connection.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({connection})
            error = None if connection.cancelled() else connection.exception()
        log.debug("MCP server %s: the connection ended", self.config.name, exc_info=error)
        why = status.why or (reason_of(error) if error is not None else "the connection ended")
        told = status.why or (reason_of(error, quoting=False) if error is not None else "the connection ended")
        stderr = " ".join(status.stderr.decode(errors="replace").split())
        if not status.connected and stderr:
            stderr = without_secrets(redactor(self.config.secrets)(stderr))
            why = f"{why}; its error output: {one_line(stderr[-500:], 500)}"
        return why, told

    def _fail_open(self, why: str) -> None:
        for request in self._open:
            request.fail(LOST.format(name=self.config.name, why=why))
        while not self._inbox.empty():
            self._inbox.get_nowait()

    async def _connect(self, status: ConnectionStatus) -> None:
        started = self._clock.monotonic()
        with anyio.CancelScope(deadline=anyio.current_time() + self._limits.connect_s) as scope:
            async with Client(
                self._streams(status),
                cache=None,
                client_info=CLIENT,
                message_handler=self._receive,
                elicitation_callback=self._elicit,
            ) as client:
                self._update(await self._read_list(client))
                scope.deadline = math.inf
                status.connected, self.trouble, self.why_away = True, "", ""
                self.took_s = self._clock.monotonic() - started
                self.connected.set()
                self.tried.set()
                log.info("MCP server %s: connected; tools offered: %d", self.config.name, len(self._tools))
                await self._serve(client, status)
        if not status.connected:
            status.end(f"it was not ready after {self._limits.connect_s:g} s")

    def _streams(self, status: ConnectionStatus) -> Transport:
        allowance = Allowance(self._clock.monotonic)
        match self.config.reach:
            case StdioReach() as reach:
                # Whoever waits for an answer has given up by then. Less, and a server that works on one call would lose
                # it because it reads no other meanwhile.
                return stdio_streams(reach, allowance, self._watchdog, status, stalled_s=self._timeout_s)
            case HttpReach() as reach:
                return http_streams(reach, allowance, status, self._auth)
            case _:
                assert_never(self.config.reach)

    async def _serve(self, client: Client, status: ConnectionStatus) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, status)
            tasks.start_soon(self._follow, client)
            capabilities = client.server_capabilities
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS and capabilities.tools is not None:
                tasks.start_soon(self._listen, client)
            while True:
                request = await self._inbox.get()
                tasks.start_soon(self._answer, client, request, status)

    async def _watch(self, status: ConnectionStatus) -> None:
        await status.ended.wait()
        self.connected.clear()  # at once: ending its process may take seconds
        raise ServerBroken(status.why)

    async def _answer(self, client: Client, request: _Request[T], status: ConnectionStatus) -> None:
        _ANSWERING.set(request)
        with request.scope:
            try:
                answer = await request.do(client)
            except ToolError as error:
                request.fail(str(error))
            except CALL_ERRORS as error:
                if isinstance(error, MCPError) and _is_end(error):
                    self.connected.clear()
                    status.end("the connection ended")
                    request.fail(LOST.format(name=self.config.name, why="the connection ended"))
                request.fail(reason_of(error))
            else:
                if not request.answer.done():
                    request.answer.set_result(answer)

    async def _elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG002 -- the SDK's
        """Pass a question of the server on to the person for whom the call runs."""
        request = _ANSWERING.get()
        open_questions = (other.questions for other in self._open)
        questions = request.questions if request is not None else self._given_up.sole(open_questions)
        if questions is None:
            log.info(
                "MCP server %s: it asked a question without naming its call, so nobody was asked", self.config.name
            )
            return types.ElicitResult(action="cancel")
        return await questions.elicit(params)

    # The lists of the server.

    async def _receive(self, message: object) -> None:
        changes = (
            types.ToolListChangedNotification
            | types.ResourceListChangedNotification
            | types.PromptListChangedNotification
        )
        if isinstance(message, changes):
            self._changed.set()

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes, as servers of 2026-07-28 require. A subscription that ended is made again."""
        pause = self._limits.list_pause_s
        while True:
            with suppress(MCPError, SubscriptionLost, ValidationError, TimeoutError):
                async with client.listen(tools_list_changed=True) as changes:
                    async for _ in changes:
                        self._changed.set()
            await self._clock.sleep(pause)
            pause = min(2 * pause, self._limits.max_pause_s)

    async def _follow(self, client: Client) -> None:
        while True:
            await self._changed.wait()
            await self._clock.sleep(SETTLE_S)
            self._changed.clear()
            try:
                self._update(await self._read_list(client))
            except (MCPError, ValidationError) as error:
                log.warning(
                    "MCP server %s: its new list of tools could not be read: %s", self.config.name, reason_of(error)
                )
            await self._clock.sleep(self._limits.list_pause_s)

    async def _read_list(self, client: Client) -> ToolListing:
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

    def _update(self, listing: ToolListing) -> None:
        if listing != self._listing:
            known = {tool.name: tool for tool in self._tools}
            self._tools = tuple(
                tool
                if (tool := known.get(offered.name)) is not None and tool.offered == offered
                else McpTool(offered, self, self._timeout_s, for_team=self.config.for_team)
                for offered in listing.offered
            )
            self._listing = listing

    # Requests of callers.

    async def ask(self, do: Callable[[Client], Awaitable[T]], questions: CallQuestions | None = None) -> T:
        """Run `do` with the connection, and return its result. Cancelling this call cancels the request at the server.
        Raises ToolError.
        """
        await self._ready()
        waiting = sum(other.questions is not None and other.questions.waiting > 0 for other in self._open)
        working = len(self._open) - waiting
        if working >= self._limits.calls:
            raise ToolError(BUSY.format(name=self.config.name, running=working))
        request = _Request(do, asyncio.get_running_loop().create_future(), questions)
        self._open.add(request)
        self._inbox.put_nowait(request)
        try:
            return await request.answer
        except asyncio.CancelledError:
            self._given_up.add(questions)
            raise
        finally:
            self._open.discard(request)
            request.scope.cancel()
            if request.answer.done() and not request.answer.cancelled():
                request.answer.exception()  # retrieved, so that asyncio does not log it as never retrieved

    async def _ready(self) -> None:
        waits = self.attempts == 0 or self._next_try - self._clock.monotonic() <= self._limits.wait_s
        if not self.connected.is_set() and waits:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._limits.wait_s):
                    await self.connected.wait()
        if not self.connected.is_set():
            why, time = self.why_away or "it is still starting", long_time(self.away_s)
            raise ToolError(AWAY.format(name=self.config.name, time=time, why=why))

    async def call(self, offered: OfferedTool, args: JsonObject, context: ToolContext) -> ToolOutput:
        """Call one of the server's tools. Raises ToolError."""
        progress = _Progress(self._clock, self._limits.progress_s)
        questions = questions_of(context, self.config.name, self._limits.questions)
        params = types.CallToolRequestParams(name=offered.called, arguments=dict(offered.restore(args)))

        async def do(client: Client) -> types.CallToolResult | Required:
            log.debug("MCP server %s: calling %s", self.config.name, offered.called)
            request = types.CallToolRequest(params=params)
            try:
                return await client.session.send_request(request, RESULT, progress_callback=progress.note)
            except ValidationError as error:  # the server has done something, and cannot say what
                raise ToolError(ANSWERED_UNREADABLY.format(name=self.config.name, why=reason_of(error))) from None
            except MCPError as error:
                if (pages := pages_first(error)) is None:
                    raise
                return pages

        async with progress.reported(context):
            try:
                while not isinstance(result := await self.ask(do, questions), types.CallToolResult):
                    params = await questions.again(params, result)
                parts = await asyncio.to_thread(parts_of, result)
            except ToolError as error:
                raise ToolError(str(error), ours=error.ours, for_turn=questions.has_answers) from None
            finally:
                questions.end()
        return ToolOutput(parts=parts, keep=Keep.TURN if questions.has_answers else Keep.STORED)

    async def resources(self, uri: str) -> ToolOutput:
        """Return the list of resources, or the one at `uri`. Raises ToolError."""

        async def read_list(client: Client) -> str:
            resources = await client.list_resources()
            with suppress(MCPError):  # not every server has templates
                templates = await client.list_resource_templates()
                return resource_list(resources.resources, templates.resource_templates)
            return resource_list(resources.resources, ())

        if not uri:
            return ToolOutput(await self.ask(read_list))
        return ToolOutput(
            parts=await asyncio.to_thread(resource_parts, await self.ask(lambda client: client.read_resource(uri)))
        )

    async def prompts(self, name: str, args: JsonObject) -> ToolOutput:
        """Return the list of prompts, or the one of this name. Raises ToolError."""
        if not name:
            result = await self.ask(lambda client: client.list_prompts())
            return ToolOutput(prompt_list(result.prompts))
        arguments = arguments_of(args)
        prompt = await self.ask(lambda client: client.get_prompt(name, arguments))
        return ToolOutput(parts=await asyncio.to_thread(prompt_parts, prompt))


def _is_end(error: MCPError) -> bool:
    """Whether no later call can succeed: the connection is closed, or the server no longer knows its session."""
    return error.code == types.CONNECTION_CLOSED or error.message.lower() == "session terminated"


def reason_of(error: BaseException, *, quoting: bool = True) -> str:
    """Describe an error in one sentence of limited length. All of the SDK's errors are translated here. `quoting`:
    whether the server's own words may stand in it.
    """
    match error:
        case ServerBroken():
            return str(error)
        case BaseExceptionGroup(exceptions=[first, *_]):
            return reason_of(first, quoting=quoting)
        case ValidationError():
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            where = ".".join(map(str, faults[0]["loc"])) if faults else ""
            fault = f"{where}: {faults[0]['msg']}" if faults else ""
            about = f": {one_line(fault, 300)}" if quoting else ""
            return f"the server violates the protocol{about}"
        case MCPError(code=code) if code == types.REQUEST_TIMEOUT:
            return "the server did not answer in time"
        case InputRequiredRoundsExceededError():
            return NEEDS_INPUT
        case MCPError():
            return f"the server refused: {one_line(error.message, 500)}" if quoting else "the server refused"
        # Before OSError: an error that wraps the one with the true cause may be an OSError itself.
        case _ if why := _unreachable(error):
            return f"it cannot be reached: {why}"
        case OSError():
            return f"it cannot be reached: {one_line(error.strerror or type(error).__name__, 200)}"
        case _:
            return f"it cannot be reached ({type(error).__name__})"


def _unreachable(error: BaseException) -> str:
    """Return why no connection was made, for the author of the configuration; "" if that is not known."""
    causes, index = [error], 0
    while index < len(causes) < MAX_CAUSES:
        cause = causes[index]
        if isinstance(cause, BaseExceptionGroup):
            causes += cast("BaseExceptionGroup[BaseException]", cause).exceptions
        if (inner := cause.__cause__ or cause.__context__) is not None:
            causes.append(inner)
        index += 1
    if problem := certificate_problem(error):
        return operating_texts.CERTIFICATE_NOT_TRUSTED.format(problem=problem)
    kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    return next((why for kind, why in UNREACHABLE.items() if kind in kinds), "")


class _Progress:
    """Reports the newest progress of one call, at most every `pause_s`. The connection's task never waits for it."""

    def __init__(self, clock: Clock, pause_s: float) -> None:
        self._clock = clock
        self._pause_s = pause_s
        self._newest = (0.0, 0.0)
        self._came = asyncio.Event()

    async def note(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002 -- the SDK's
        """Record progress. The server's `message` is not shown, as others may read the page."""
        self._newest = progress, total or 0.0
        self._came.set()

    @asynccontextmanager
    async def reported(self, context: ToolContext) -> AsyncGenerator[None, None]:
        reporting = asyncio.create_task(self._report(context))
        try:
            yield
        finally:
            reporting.cancel()
            await asyncio.gather(reporting, return_exceptions=True)

    async def _report(self, context: ToolContext) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            done, total = self._newest
            await context.report(done, total, "")
            await self._clock.sleep(self._pause_s)


@dataclass(frozen=True, slots=True, eq=False)
class McpTool:
    """A tool of a server, as `agent.ports.tools.Tool`."""

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

    @property
    def account(self) -> ToolAccount:
        is_shared = self.server.config.account is AccountKind.SHARED
        return ToolAccount.OPERATOR if is_shared else ToolAccount.NONE

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
    """Run the servers of a configuration, each in its task, until the block ends. Does not wait for connections."""
    watchdog = Watchdog()
    servers = tuple(McpServer(config, clock, jitter, watchdog, timeout_s, limits) for config in configs)
    tasks = [asyncio.create_task(server.run(), name=f"mcp {server.config.name}") for server in servers]
    try:
        yield servers
    finally:
        await complete(_stop(tasks, watchdog))


async def _stop(tasks: Sequence[asyncio.Task[None]], watchdog: Watchdog) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await watchdog.aclose()
