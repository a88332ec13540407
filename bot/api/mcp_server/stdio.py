"""The transport of `cogency mcp`: one client, which started this process and owns its standard input and output.

The SDK's own reader accepts lines of any length and depth, so the streams are handled here.

Rules
  While serving, descriptor 0 is the null device and descriptor 1 is standard error, so that nothing that code prints
  gets between the messages.
  A line that is too long ends the connection; one that is nested too deeply gets an error.
  No more is read while MAX_OPEN requests are unanswered, or while the client does not read its answers.
"""

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import IO, Any, Final, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from agent.errors import Refused
from agent.messages import is_too_deep
from bot.api.mcp_server import texts

MAX_MESSAGE_BYTES: Final = 1_000_000  # Ten times the longest question
MAX_OPEN: Final = 64  # Requests without an answer
STDERR: Final = 2

Received: TypeAlias = SessionMessage | Exception


async def serve_stdio(server: Server[Any], stdin: int, stdout: int) -> None:
    """Serve the client behind these file descriptors until it closes its side. Raises Refused if it sends too much, or
    if the descriptors are files or devices.
    """
    async with _pipes(stdin, stdout) as (reader, writer):
        to_server, received = anyio.create_memory_object_stream[Received](0)
        to_client, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        requests = OpenRequests()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read, reader, to_server, to_client.clone(), requests)
            tasks.start_soon(_write, outgoing, writer, requests, tasks.cancel_scope)
            await server.run(received, to_client, server.create_initialization_options())
        if requests.too_long:
            raise Refused(texts.MESSAGE_TOO_LONG.format(limit=MAX_MESSAGE_BYTES))


class OpenRequests:
    """The requests of the client that have no answer yet. `too_long`: it sent a line that is too long."""

    def __init__(self) -> None:
        self.too_long = False
        self._ids = set[int | str]()
        self._room = asyncio.Event()
        self._room.set()

    async def passes(self, message: JSONRPCMessage) -> None:
        """Note a message of the client, once there is room for it."""
        match message:
            case JSONRPCRequest(id=id_):
                await self._room.wait()
                self._ids.add(id_)
            case JSONRPCNotification(method="notifications/cancelled", params=params):
                self._ids.discard((params or {}).get("requestId", ""))  # it gets no answer
            case _:
                pass
        self._update()

    def answered(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
            self._ids.discard(message.id)
            self._update()

    def _update(self) -> None:
        if len(self._ids) < MAX_OPEN:
            self._room.set()
        else:
            self._room.clear()


@asynccontextmanager
async def _pipes(stdin: int, stdout: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Take these descriptors over, and give them back at the end. Raises Refused if one is a file or a device."""
    with ExitStack() as given:
        pipes = [given.enter_context(_taken(stdin, "rb")), given.enter_context(_taken(stdout, "wb"))]
        if any(_is_device(pipe.fileno()) for pipe in pipes):
            raise Refused(texts.NO_PIPES)
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(MAX_MESSAGE_BYTES)
        flow = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        try:
            reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipes[0])
            given.callback(reading.close)
            writing, _ = await loop.connect_write_pipe(lambda: flow, pipes[1])
            given.callback(writing.abort)
        except ValueError:
            raise Refused(texts.NO_PIPES) from None
        yield reader, asyncio.StreamWriter(writing, flow, None, loop)


def _is_device(descriptor: int) -> bool:
    """Return whether it is a device such as /dev/null, which no event loop can wait for; a terminal is none."""
    return stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor)


@contextmanager
def _taken(descriptor: int, mode: str) -> Generator[IO[bytes]]:
    """Take a descriptor over: code that uses it reads nothing, or writes to standard error."""
    given = os.dup(descriptor)
    other = os.open(os.devnull, os.O_RDONLY) if mode == "rb" else os.dup(STDERR)
    os.dup2(other, descriptor)
    os.close(other)
    try:
        with os.fdopen(os.dup(given), mode, 0) as pipe:
            yield pipe
    finally:
        os.set_blocking(given, True)
        os.dup2(given, descriptor)
        os.close(given)


async def _read(
    reader: asyncio.StreamReader,
    to_server: MemoryObjectSendStream[Received],
    to_client: MemoryObjectSendStream[SessionMessage],
    requests: OpenRequests,
) -> None:
    async with to_server, to_client:
        try:
            while line := await reader.readline():
                if not line.strip():
                    continue
                if is_too_deep(text := line.decode(errors="replace")):
                    error = ErrorData(code=PARSE_ERROR, message=texts.MESSAGE_TOO_DEEP)
                    await to_client.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
                    continue
                try:
                    message = jsonrpc_message_adapter.validate_json(text, by_name=False)
                except ValueError:
                    error = ErrorData(code=PARSE_ERROR, message=texts.MESSAGE_UNREADABLE)
                    await to_client.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error)))
                    continue
                await requests.passes(message)
                await to_server.send(SessionMessage(message))
        except ValueError:
            requests.too_long = True
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
            pass


async def _write(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    writer: asyncio.StreamWriter,
    requests: OpenRequests,
    serving: anyio.CancelScope,
) -> None:
    try:
        async with outgoing:
            async for sent in outgoing:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(f"{text}\n".encode(errors="replace"))
                await writer.drain()
                requests.answered(sent.message)
    except OSError:  # the client has gone
        serving.cancel()
