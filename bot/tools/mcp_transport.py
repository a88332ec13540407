"""How bytes come from an MCP server and go to it: a process on this machine, or HTTP; within bounds, whatever it sends.

A process is spoken to here and not by the SDK, whose own reader takes lines of any length, and any number of them. It
gets a session of its own, so that whatever it starts ends with it: its standard input is closed, then it is asked to
end, then its whole group is killed. Should the bot itself die, a shell that waits for that ends what it leaves behind.
"""

import asyncio
import math
import os
import signal
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

from agent.messages import is_too_deep
from bot.tools.mcp_config import HttpReach, StdioReach

# What starts most servers, and where it is from.
BROUGHT_BY: Final = {"uvx": " (`pip install uv` brings it)", "npx": " (Node.js brings it)"}
# A picture of eight million bytes, the most that a result may hold, as base64, and what it stands in.
MAX_MESSAGE_BYTES: Final = 12_000_000
# Of one message, by its commas and brackets: reading them holds everybody up for a fifth of a second.
MAX_VALUES: Final = 1_000_000
LONG_BYTES: Final = 100_000  # From here on a message is read in a thread, while others are answered
STDERR_BYTES: Final = 2_000  # Of what a process says until it is connected, for its operator: why it does not start
STDERR_PAUSE_S: Final = 0.05  # Between two pieces of that: one that says more waits, and nothing spins
# In place of what is no schema of an object: a field of a name that no tool is offered with.
NO_SCHEMA: Final[Mapping[str, object]] = {"type": "object", "properties": {"?": {}}}
STREAM_LINES: Final = 500  # What asking for a stream counts for: two a second for as long as you like, ten at once
END_S: Final = 1.0  # For a process to end by itself once its input is closed, and again once it was asked to
REAP_S: Final = 2.0  # For the system to take away what was killed
LOOK_S: Final = 0.01

# Headers that are made here, whatever a file names.
GENERATED: Final = ("accept-encoding", "connection", "content-length", "host", "transfer-encoding")

Received: TypeAlias = SessionMessage | Exception


class ServerBroken(Exception):
    """The connection cannot go on, for a reason that its operator may read: nothing in it was written by the server."""


@dataclass(slots=True)
class Allowance:
    """How much a server may send: a burst, and then so much a second. More is a flood, which ends the connection.

    `now`: seconds from any start, never going back.
    """

    now: Callable[[], float]
    max_lines: float = 5_000.0
    max_bytes: float = 4.0 * MAX_MESSAGE_BYTES
    lines_per_s: float = 1_000.0
    """Three hundredths of a processor: thirty calls at once with thirty words of progress a second each."""
    bytes_per_s: float = 4_000_000.0
    max_values: float = 2.0 * MAX_VALUES
    values_per_s: float = MAX_VALUES / 4
    """A twentieth of a processor."""
    _lines: float = field(init=False)
    _bytes: float = field(init=False)
    _values: float = field(init=False)
    _since: float = field(init=False)

    def __post_init__(self) -> None:
        self._lines, self._bytes, self._values = self.max_lines, self.max_bytes, self.max_values
        self._since = self.now()

    def take(self, lines: int, size: int, values: int = 0) -> None:
        """Raises ServerBroken when it sends too much."""
        now = self.now()
        passed, self._since = now - self._since, now
        self._lines = min(self.max_lines, self._lines + passed * self.lines_per_s) - lines
        self._bytes = min(self.max_bytes, self._bytes + passed * self.bytes_per_s) - size
        self._values = min(self.max_values, self._values + passed * self.values_per_s) - values
        if min(self._lines, self._bytes, self._values) < 0:
            raise ServerBroken("it floods: it sends more than any tool needs")


class Notifications:
    """Which of those that a server sends are passed on: of one kind, and of one call, two a second. They cost the SDK
    fifty times as much as reading them does.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._passed = LRUCache[tuple[str, str], float](MAX_KINDS)

    def passes(self, message: SessionMessage) -> bool:
        """Always for what is none."""
        match message.message:
            case JSONRPCNotification(method=method, params=params):
                about = params or {}
                kind = method, str(about.get("progressToken", about.get("requestId", "")))[:100]
                now = self._now()
                if now - self._passed.get(kind, -math.inf) < NOTIFICATION_PAUSE_S:
                    return False
                self._passed[kind] = now
                return True
            case _:
                return True


MAX_KINDS: Final = 1_000
NOTIFICATION_PAUSE_S: Final = 0.5  # Shorter than what the lists of a server are read after


@dataclass(slots=True)
class Fate:
    """What becomes of one connection. `said`: the first words of its process's standard error."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    why: str = ""
    said: bytearray = field(default_factory=bytearray)
    connected: bool = False

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.ended.set()


class Keeper:
    """A shell that ends the groups of processes that it knows as soon as the bot is gone, however it went.

    It is started with the first of them, and holds nothing but their numbers.
    """

    def __init__(self) -> None:
        self._shell: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()

    async def watch(self, group: int) -> None:
        async with self._starting:
            if self._shell is None:
                with suppress(OSError):  # a machine without a shell: servers end by their closed input alone
                    self._shell = await asyncio.create_subprocess_exec(
                        "/bin/sh",
                        "-c",
                        _KEEPER,
                        stdin=-1,
                        stdout=-3,
                        stderr=-3,
                        start_new_session=True,
                        cwd="/",
                        env={},
                    )
        self._tell(f"+ {group}\n")

    def forget(self, group: int) -> None:
        self._tell(f"- {group}\n")

    def _tell(self, line: str) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.write(line.encode())

    async def aclose(self) -> None:
        if self._shell is not None and self._shell.stdin is not None:
            self._shell.stdin.close()
            await self._shell.wait()


_KEEPER: Final = """
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
    reach: StdioReach, allowance: Allowance, keeper: Keeper, fate: Fate
) -> AsyncGenerator[TransportStreams, None]:
    """A process, from its start to the end of its group. Raises ServerBroken if it cannot be started."""
    try:
        process = await asyncio.create_subprocess_exec(
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
    except (OSError, ValueError) as error:
        raise ServerBroken(f"its command cannot be started: {_reason(error, reach)}") from None
    try:
        await keeper.watch(process.pid)
        to_session, received = anyio.create_memory_object_stream[Received](0)
        to_server, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        async with to_session, received, to_server, outgoing, anyio.create_task_group() as tasks:
            if process.stdin is not None and process.stdout is not None and process.stderr is not None:
                tasks.start_soon(_read, process.stdout, to_session, allowance, fate)
                tasks.start_soon(_write, process.stdin, outgoing, fate)
                tasks.start_soon(_hear, process.stderr, fate)
            try:
                yield received, to_server
            finally:
                tasks.cancel_scope.cancel()
    finally:
        await _end(process)
        keeper.forget(process.pid)


def _reason(error: OSError | ValueError, reach: StdioReach) -> str:
    if isinstance(error, FileNotFoundError):
        if reach.cwd is not None and not reach.cwd.is_dir():
            return "its folder (cwd) does not exist"
        return f"it is not installed here, or not on PATH{BROUGHT_BY.get(reach.command, '')}"
    return (error.strerror or "").lower() if isinstance(error, OSError) else "it holds a character that no command may"


async def _read(
    stdout: asyncio.StreamReader,
    to_session: MemoryObjectSendStream[Received],
    allowance: Allowance,
    fate: Fate,
) -> None:
    why, heard = "its process ended", Notifications(allowance.now)
    try:
        async with to_session:
            while line := await stdout.readline():
                values = _values_in(line)
                allowance.take(1, len(line), values)
                message = await _message(line, values)
                if message is not None and heard.passes(message):
                    await to_session.send(message)
                else:
                    await asyncio.sleep(0)  # what nobody hears costs others no time

    except ServerBroken as broken:
        why = str(broken)
    except ValueError:
        why = f"it wrote a message of more than {MAX_MESSAGE_BYTES:,} bytes"
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass
    fate.end(why)


def _values_in(piece: bytes) -> int:
    return sum(map(piece.count, (b",", b"[", b"{")))


def _lines_in(piece: bytes) -> int:
    """As streams of events end them: by LF, CR, or both."""
    return piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n")


async def _message(line: bytes, values: int) -> SessionMessage | None:
    """None for what is none: some programs print other things, too."""
    if not line.lstrip().startswith(b"{"):
        return None
    if values > MAX_VALUES:
        raise ServerBroken(f"it wrote a message of more than {MAX_VALUES:,} values")
    return await asyncio.to_thread(_parsed, line) if len(line) > LONG_BYTES else _parsed(line)


def _parsed(line: bytes) -> SessionMessage | None:
    if is_too_deep(line.decode(errors="replace")):
        raise ServerBroken("it wrote a message that is nested too deeply")
    try:
        return mended(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))
    except ValueError:
        return None


def mended(message: SessionMessage) -> SessionMessage:
    """A list of tools with what is used of it: so one that is wrong does not take the others with it, and no schema of
    results is there for the SDK to check, which may take as long as its server likes.
    """
    answer = message.message
    if isinstance(answer, JSONRPCResponse) and isinstance(listed := answer.result.get("tools"), list):
        tools = [cast("dict[str, object]", one) for one in cast("list[object]", listed) if isinstance(one, dict)]
        answer.result["tools"] = [_mended_tool(tool) for tool in tools if isinstance(tool.get("name"), str)]
    return message


def _mended_tool(tool: Mapping[str, object]) -> dict[str, object]:
    schema = tool.get("inputSchema")
    fits = isinstance(schema, dict) and cast("dict[str, object]", schema).get("type") == "object"
    texts = {key: tool[key] for key in ("title", "description") if isinstance(tool.get(key), str)}
    return {"name": tool["name"], **texts, "inputSchema": schema if fits else dict(NO_SCHEMA)}


async def _write(stdin: asyncio.StreamWriter, outgoing: MemoryObjectReceiveStream[SessionMessage], fate: Fate) -> None:
    try:
        async for message in outgoing:
            stdin.write(f"{message.message.model_dump_json(by_alias=True, exclude_unset=True)}\n".encode())
            await stdin.drain()
    except (ConnectionError, OSError):
        fate.end("its process ended")


async def _hear(stderr: asyncio.StreamReader, fate: Fate) -> None:
    """What it says besides goes nowhere once it is connected: then it may be what somebody asked."""
    while piece := await stderr.read(65_536):
        if not fate.connected and len(fate.said) < STDERR_BYTES:
            fate.said += piece[: STDERR_BYTES - len(fate.said)]
        await anyio.sleep(STDERR_PAUSE_S)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End it and all that it started, also while the caller is cancelled, and cancelled again."""
    with anyio.CancelScope(shield=True):
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not await _gone(process, END_S):
                _signal(process.pid, signal.SIGTERM)
                await _gone(process, END_S)
        finally:
            _signal(process.pid, signal.SIGKILL)
            await _gone(process, REAP_S)
            # A grandchild that left the group may still hold the pipes, and nothing public closes ours.
            process._transport.close()  # noqa: SLF001 # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def _gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """Whether it has ended in this time. `process.wait` would wait for its children's pipes, too."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110 -- there is no event for it
            await anyio.sleep(LOOK_S)
    return process.returncode is not None


def _signal(group: int, sign: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, sign)


@cache
def certificates() -> ssl.SSLContext:
    """Made once: reading the authorities takes 27 ms of a processor, in which the bot stands still."""
    return httpx2.create_ssl_context()


@asynccontextmanager
async def http_streams(
    reach: HttpReach, allowance: Allowance, fate: Fate, auth: httpx2.Auth | None = None
) -> AsyncGenerator[TransportStreams, None]:
    """A service. Its answers are counted as they come; compressed ones are not asked for, and not read."""

    async def bound(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.ReadError("the answer is compressed, which was not asked for", request=response.request)
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
            response.stream = _Counted(stream, allowance, fate, None if is_stream else MAX_MESSAGE_BYTES)

    async def count(request: httpx2.Request) -> None:
        """A stream that ends at once is asked for again by the SDK, and again, when the server says so."""
        if request.method == "GET":
            _take(allowance, fate, STREAM_LINES, 0)

    headers = httpx2.Headers(reach.headers)  # no two of them with one name in other letters
    for name in GENERATED:
        headers.pop(name, None)
    client = httpx2.AsyncClient(
        headers=[*headers.multi_items(), ("accept-encoding", "identity")],
        auth=auth,
        verify=certificates(),
        timeout=httpx2.Timeout(30.0, read=900.0),  # a stream is silent while a person thinks, who has nine minutes
        event_hooks={"request": [count], "response": [bound]},
    )
    async with (
        client,
        streamable_http_client(reach.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as (read, write),
    ):
        yield _ServiceStream(read, Notifications(allowance.now)), write


class _ServiceStream:
    """What a service sends, as far as it is passed on. What comes in answer to a request keeps that request's context,
    by which the session tells for whom the service asks something.
    """

    def __init__(self, read: ReadStream[Received], heard: Notifications) -> None:
        self._read = read
        self._heard = heard

    @property
    def last_context(self) -> Context | None:
        return getattr(self._read, "last_context", None)

    async def receive(self) -> Received:
        while True:
            message = await self._read.receive()
            if not isinstance(message, SessionMessage):
                return message
            if self._heard.passes(message):
                return mended(message)

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


def _take(allowance: Allowance, fate: Fate, lines: int, size: int, values: int = 0) -> None:
    try:
        allowance.take(lines, size, values)
    except ServerBroken as broken:
        _give_up(fate, str(broken))


def _give_up(fate: Fate, why: str) -> NoReturn:
    fate.end(why)
    raise httpx2.ReadError(why)


class _Counted(httpx2.AsyncByteStream):
    """A response's bytes, up to `limit` of them. A flood ends the connection."""

    def __init__(self, stream: httpx2.AsyncByteStream, allowance: Allowance, fate: Fate, limit: int | None) -> None:
        self._stream = stream
        self._allowance = allowance
        self._fate = fate
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if self._limit is not None and size > self._limit:
                _give_up(self._fate, f"it sent a message of more than {self._limit:,} bytes")
            _take(self._allowance, self._fate, _lines_in(piece), len(piece), _values_in(piece))
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
