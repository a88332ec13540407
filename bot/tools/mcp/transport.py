"""The transports to an MCP server: a process on this machine, or HTTP. Both limit how much a server may send.

The standard input and output of a process are handled here and not by the SDK, whose reader accepts lines of any length
and number. A process gets a session of its own, so that all processes that it starts end with it: its standard input is
closed, then its group gets SIGTERM, then SIGKILL. If the bot itself dies, a watchdog shell ends these groups.
"""

import asyncio
import json
import math
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from functools import cache
from types import TracebackType
from typing import Final, NoReturn, Self, TypeAlias, cast

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from cachetools import LRUCache
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCResponse, jsonrpc_message_adapter
from pydantic_core import PydanticSerializationError

from agent.messages import is_too_deep
from bot.chat.processes import complete, finished, has_ended, kill, signal_group, started
from bot.tools.mcp.config import HttpReach, StdioReach
from bot.tools.mcp.repair import repair

# The commands that start most servers, with how to install them.
INSTALL_HINTS: Final = {"uvx": " (install it with `pip install uv`)", "npx": " (it comes with Node.js)"}
# An image of eight million bytes, the maximum in a result, as base64 with its envelope.
MAX_MESSAGE_BYTES: Final = 12_000_000
# Of one message, counted by its commas and brackets: parsing them blocks the event loop for a fifth of a second.
MAX_VALUES: Final = 1_000_000
LONG_BYTES: Final = 100_000  # A longer message is parsed in a thread
STDERR_BYTES: Final = 2_000  # Of a process's standard error, kept until it is connected, to show why it does not start
STDERR_PAUSE_S: Final = 0.05  # Between two reads of standard error: a process that writes more blocks
# Replaces an invalid input schema: `mcp_listing` offers no tool with it.
INVALID_SCHEMA: Final[Mapping[str, object]] = {"type": "object", "not": {}}
STREAM_LINES: Final = 500  # The cost of opening a stream in lines: two a second steadily, ten at once
END_S: Final = 1.0  # For a process to end after its input is closed, and again after SIGTERM

# Headers that are set here; a file cannot set them.
GENERATED: Final = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")

Received: TypeAlias = SessionMessage | Exception


class ServerBroken(Exception):
    """The connection cannot continue. The reason is for the operator, and holds no text of the server."""


@dataclass(slots=True)
class Allowance:
    """How much a server may send: token buckets of lines, bytes and values. A flood ends the connection.

    `now` returns monotonic seconds.
    """

    now: Callable[[], float]
    max_lines: float = 5_000.0
    max_bytes: float = 4.0 * MAX_MESSAGE_BYTES
    lines_per_s: float = 1_000.0
    """Enough for thirty calls at once with thirty progress notifications a second each; takes 3 % of a processor."""
    bytes_per_s: float = 4_000_000.0
    max_values: float = 2.0 * MAX_VALUES
    values_per_s: float = MAX_VALUES / 4
    """Takes 5 % of a processor."""
    _lines: float = field(init=False)
    _bytes: float = field(init=False)
    _values: float = field(init=False)
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._lines, self._bytes, self._values = self.max_lines, self.max_bytes, self.max_values
        self._since = self.now()

    def take(self, lines: int, size: int, values: int = 0) -> None:
        """Raises ServerBroken if the server sends too much."""
        now = self.now()
        elapsed, self._since = now - self._since, now
        self._lines = min(self.max_lines, self._lines + elapsed * self.lines_per_s) - lines
        self._bytes = min(self.max_bytes, self._bytes + elapsed * self.bytes_per_s) - size
        self._values = min(self.max_values, self._values + elapsed * self.values_per_s) - values
        if min(self._lines, self._bytes, self._values) < 0:
            raise ServerBroken("it sends too much data in too short a time")


class NotificationThrottle:
    """Limits the notifications that are passed on to two a second of each method and call: handling one costs the SDK
    fifty times as much as reading it.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._passed = LRUCache[tuple[str, str], float](MAX_KINDS)

    def passes(self, message: SessionMessage) -> bool:
        """Whether to pass the message on: true for everything that is not a notification."""
        match message.message:
            case JSONRPCNotification(method=method, params=params):
                fields = params or {}
                kind = method, str(fields.get("progressToken", fields.get("requestId", "")))[:100]
                now = self._now()
                if now - self._passed.get(kind, -math.inf) < NOTIFICATION_PAUSE_S:
                    return False
                self._passed[kind] = now
                return True
            case _:
                return True


MAX_KINDS: Final = 1_000
NOTIFICATION_PAUSE_S: Final = 0.5  # Shorter than the delay before a server's lists are read again


@dataclass(slots=True)
class ConnectionStatus:
    """The state of one connection. `why`: why it ended. `stderr`: the start of its process's standard error."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    why: str = ""
    stderr: bytearray = field(default_factory=bytearray)
    connected: bool = False

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.ended.set()


class Watchdog:
    """A shell that ends the process groups it watches when the bot has ended, even if the bot was killed.

    It is started with the first group, and knows nothing but the groups' ids.
    """

    def __init__(self) -> None:
        self._shell: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[None] | None = None

    async def watch(self, group: int) -> None:
        self._starting = self._starting or asyncio.create_task(self._start())
        await finished(self._starting)
        self._send(f"+ {group}\n")

    async def _start(self) -> None:
        with suppress(OSError):  # without a shell, servers end only because their input is closed
            self._shell = await asyncio.create_subprocess_exec(
                "/bin/sh",
                "-c",
                _WATCHDOG,
                stdin=-1,
                stdout=-3,
                stderr=-3,
                start_new_session=True,
                cwd="/",
                env={},
            )

    def forget(self, group: int) -> None:
        self._send(f"- {group}\n")

    def _send(self, line: str) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.write(line.encode())

    async def aclose(self) -> None:
        """Wait for the shell's end: it ends groups that it still watches first."""
        if self._starting is not None:
            await finished(self._starting)
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.close()
            await complete(self._shell.wait())


_WATCHDOG: Final = """
trap '' INT TERM HUP
groups=
while read -r sign group; do
  case $sign in
    +) groups="$groups $group" ;;
    -) kept=; for one in $groups; do [ "$one" = "$group" ] || kept="$kept $one"; done; groups=$kept ;;
  esac
done
[ -z "$groups" ] && exit
for one in $groups; do kill -s TERM -- "-$one"; done
sleep 1
for one in $groups; do kill -s KILL -- "-$one"; done
"""


@asynccontextmanager
async def stdio_streams(
    reach: StdioReach, allowance: Allowance, watchdog: Watchdog, status: ConnectionStatus, stalled_s: float
) -> AsyncGenerator[TransportStreams, None]:
    """Start a process, and end its group with the block. Raises ServerBroken if it cannot be started.

    `stalled_s`: the connection ends once the process has read nothing for this long while a message waits for it.
    """
    try:
        starting = asyncio.create_subprocess_exec(
            reach.command,
            *reach.args,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(reach.env),
            cwd=reach.cwd,
            start_new_session=True,
            limit=MAX_MESSAGE_BYTES,
        )
        process = await started(starting, kill)
    except (OSError, ValueError) as error:
        raise ServerBroken(f"its command could not be started: {_reason(error, reach)}") from None
    try:
        await watchdog.watch(process.pid)
        to_session, received = anyio.create_memory_object_stream[Received](0)
        to_server, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with to_session, received, to_server, outgoing, anyio.create_task_group() as tasks:
            if process.stdin is not None and process.stdout is not None and process.stderr is not None:
                tasks.start_soon(_read, process.stdout, to_session, allowance, status)
                tasks.start_soon(_write, process.stdin, outgoing, status, stalled_s)
                tasks.start_soon(_read_stderr, process.stderr, status)
            try:
                yield received, to_server
            finally:
                tasks.cancel_scope.cancel()
    finally:
        try:
            with anyio.CancelScope(shield=True):  # else a scope that is cancelled would cancel again at every step
                await complete(_end(process))
        finally:
            watchdog.forget(process.pid)


def _reason(error: OSError | ValueError, reach: StdioReach) -> str:
    if isinstance(error, FileNotFoundError):
        if reach.cwd is not None and not reach.cwd.is_dir():
            return "its folder (cwd) does not exist"
        return f"it is not installed or not on PATH{INSTALL_HINTS.get(reach.command, '')}"
    return (
        (error.strerror or "").lower()
        if isinstance(error, OSError)
        else "it contains a character that is not allowed in a command"
    )


async def _read(
    stdout: asyncio.StreamReader,
    to_session: MemoryObjectSendStream[Received],
    allowance: Allowance,
    status: ConnectionStatus,
) -> None:
    why, throttle = "its process ended", NotificationThrottle(allowance.now)
    try:
        async with to_session:
            while line := await stdout.readline():
                values = _values_in(line)
                allowance.take(1, len(line), values)
                message = await _message(line, values)
                if message is not None and throttle.passes(message):
                    await to_session.send(message)
                else:
                    await asyncio.sleep(0)  # dropped messages must not block other tasks
    except ServerBroken as broken:
        why = str(broken)
    except ValueError:
        why = f"it wrote a message of more than {MAX_MESSAGE_BYTES:,} bytes"
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass
    status.end(why)


def _values_in(piece: bytes) -> int:
    return sum(map(piece.count, (b",", b"[", b"{")))


def _lines_in(piece: bytes) -> int:
    """Count the lines of an event stream, which end with LF, CR, or both."""
    return piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")


async def _message(line: bytes, values: int) -> SessionMessage | None:
    """Return None for a line that is not a message: some programs print other text, too."""
    if not line.lstrip().startswith(b"{"):
        return None
    if values > MAX_VALUES:
        raise ServerBroken(f"it wrote a message of more than {MAX_VALUES:,} values")
    return await asyncio.to_thread(_parse, line) if len(line) > LONG_BYTES else _parse(line)


def _parse(line: bytes) -> SessionMessage | None:
    if is_too_deep(line.decode(errors="replace")):
        raise ServerBroken("it wrote a message that is nested too deeply")
    try:
        return sanitize(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
    except ValueError:
        return None


def sanitize(message: SessionMessage) -> SessionMessage:
    """Reduce a list of tools to the fields that are used, so that an invalid tool does not make the whole list invalid.
    Output schemas are removed: the SDK would validate results by them, which can take as long as the server likes.
    Other answers are repaired.
    """
    answer = message.message
    if not isinstance(answer, JSONRPCResponse):
        return message
    repair(answer.result)
    if isinstance(listed := answer.result.get("tools"), list):
        tools = [cast("dict[str, object]", tool) for tool in cast("list[object]", listed) if isinstance(tool, dict)]
        answer.result["tools"] = [_sanitize_tool(tool) for tool in tools if isinstance(tool.get("name"), str)]
    return message


def _sanitize_tool(tool: Mapping[str, object]) -> dict[str, object]:
    schema = tool.get("inputSchema")
    is_valid = isinstance(schema, dict) and cast("dict[str, object]", schema).setdefault("type", "object") == "object"
    texts = {key: tool[key] for key in ("title", "description") if isinstance(tool.get(key), str)}
    return {"name": tool["name"], **texts, "inputSchema": schema if is_valid else dict(INVALID_SCHEMA)}


async def _write(
    stdin: asyncio.StreamWriter,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    status: ConnectionStatus,
    stalled_s: float,
) -> None:
    """Write the session's messages. At the end of the connection these say which calls are given up, and nothing waits
    for a process that does not read them: the session would wait for seconds with each of them.
    """
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_write_messages, stdin, outgoing, status, stalled_s)
        await status.ended.wait()
        tasks.cancel_scope.cancel()
    async for message in outgoing:
        if not stdin.is_closing():
            stdin.write(_line(message))


async def _write_messages(
    stdin: asyncio.StreamWriter,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    status: ConnectionStatus,
    stalled_s: float,
) -> None:
    try:
        async for message in outgoing:
            stdin.write(_line(message))
            async with asyncio.timeout(stalled_s):
                await stdin.drain()
    except TimeoutError:
        status.end("it no longer reads the messages that it is sent")
    except OSError:
        status.end("its process ended, or closed its input")


def _line(message: SessionMessage) -> bytes:
    try:
        text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:  # half of a surrogate pair, which has no UTF-8 form: written as an escape
        text = json.dumps(message.message.model_dump(by_alias=True, exclude_unset=True))
    return f"{text}\n".encode()


async def _read_stderr(stderr: asyncio.StreamReader, status: ConnectionStatus) -> None:
    """Keep the start of standard error. Once connected, it is discarded, as it may hold users' text."""
    while piece := await stderr.read(65_536):
        if not status.connected and len(status.stderr) < STDERR_BYTES:
            status.stderr += piece[: STDERR_BYTES - len(status.stderr)]
        await anyio.sleep(STDERR_PAUSE_S)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a process and all that it started."""
    try:
        if process.stdin is not None:
            process.stdin.close()
        if not await has_ended(process, END_S):
            signal_group(process, "SIGTERM")
            await has_ended(process, END_S)
    finally:
        await kill(process)


@cache
def certificates() -> ssl.SSLContext:
    """Cached: loading the certificate authorities blocks the event loop for 27 ms."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def http_streams(
    reach: HttpReach, allowance: Allowance, status: ConnectionStatus, auth: httpx2.Auth | None = None
) -> AsyncGenerator[TransportStreams, None]:
    """Connect to a service. Its answers count toward `allowance` as they arrive. Compressed answers are not requested,
    and refused.
    """

    async def limit(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.ReadError("the answer is compressed, which was not requested", request=response.request)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _Counted(stream, allowance, status, None if is_stream else MAX_MESSAGE_BYTES)

    async def count(request: httpx2.Request) -> None:
        """Count each opening of a stream: the SDK reopens one that ended as often as the server lets it."""
        if request.method == "GET":
            _take(allowance, status, STREAM_LINES, 0)

    headers = httpx2.Headers(reach.headers)  # merges names that differ in case alone
    for name in GENERATED:
        headers.pop(name, None)
    client = httpx2.AsyncClient(
        headers=[*headers.multi_items(), ("accept-encoding", "identity")],
        auth=auth,
        verify=certificates(),
        timeout=httpx2.Timeout(30.0, read=900.0),  # a stream is silent while a person answers, for up to nine minutes
        event_hooks={"request": [count], "response": [limit]},
    )
    async with (
        client,
        streamable_http_client(reach.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as (read, write),
    ):
        yield _ServiceStream(read, NotificationThrottle(allowance.now)), write


class _ServiceStream:
    """The messages of a service, throttled and sanitized. A message that comes during a request keeps that request's
    context, by which the session knows for whom the service asks a question.
    """

    def __init__(self, read: ReadStream[Received], throttle: NotificationThrottle) -> None:
        self._read = read
        self._throttle = throttle

    @property
    def last_context(self) -> Context | None:
        return getattr(self._read, "last_context", None)

    async def receive(self) -> Received:
        while True:
            message = await self._read.receive()
            if not isinstance(message, SessionMessage):
                return message
            if self._throttle.passes(message):
                return sanitize(message)

    def __aiter__(self) -> ReadStream[Received]:
        return self

    async def __anext__(self) -> Received:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._read.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


def _take(allowance: Allowance, status: ConnectionStatus, lines: int, size: int, values: int = 0) -> None:
    try:
        allowance.take(lines, size, values)
    except ServerBroken as broken:
        _abort(status, str(broken))


def _abort(status: ConnectionStatus, why: str) -> NoReturn:
    status.end(why)
    raise httpx2.ReadError(why)


class _Counted(httpx2.AsyncByteStream):
    """The bytes of a response, at most `limit`; they count toward `allowance`. A flood ends the connection."""

    def __init__(
        self, stream: httpx2.AsyncByteStream, allowance: Allowance, status: ConnectionStatus, limit: int | None
    ) -> None:
        self._stream = stream
        self._allowance = allowance
        self._status = status
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if self._limit is not None and size > self._limit:
                _abort(self._status, f"it sent a message of more than {self._limit:,} bytes")
            _take(self._allowance, self._status, _lines_in(piece), len(piece), _values_in(piece))
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
