"""A small raw HTTP server that misbehaves on demand: everything that the npm double of the vendors cannot do.

A script is a list of replies, one for each request in order, or a function that answers each request. A reply is a list
of steps: bytes are written and flushed, `Wait` waits for an event of the test (or until the client disconnects), `CUT`
resets the connection, and `KEEP` waits for the next request on it. After the last step the connection is closed.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Self, TypeAlias, cast

from tests.patience import PATIENCE_S


class Step(Enum):
    CUT = "cut"
    KEEP = "keep"


CUT, KEEP = Step.CUT, Step.KEEP


@dataclass(frozen=True, slots=True)
class Wait:
    until: Callable[[], Awaitable[object]]


Reply: TypeAlias = Sequence[bytes | Wait | Step]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. Header names are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        return cast("dict[str, object]", json.loads(self.body))


def head(status: int = 200, content_type: str = "text/event-stream", *, extra: str = "") -> bytes:
    """Return a response's head without a length: its body ends with the connection."""
    return f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\nconnection: close\r\n{extra}\r\n".encode()


def framed(data: bytes) -> bytes:
    """Return one chunk of a chunked body; framed(b"") is its end."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


CHUNKED = "transfer-encoding: chunked\r\n"
KEEP_ALIVE = f"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\n{CHUNKED}\r\n".encode()


def event(value: object) -> bytes:
    """Return one server-sent event."""
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


def text(content: str, **fields: object) -> bytes:
    """Return one chunk of an answer, with the minimum that a server may send."""
    return event({"choices": [{"delta": {"content": content}, **fields}]})


def whole(status: int, value: object, *, extra: str = "") -> list[bytes]:
    """Return a complete JSON response."""
    body = json.dumps(value).encode()
    return [head(status, "application/json", extra=f"content-length: {len(body)}\r\n{extra}"), body]


DONE = b"data: [DONE]\n\n"


@dataclass(slots=True)
class ModelServer:
    """`async with ModelServer([reply, …]) as server`, then connect to `server.url`.

    `requests` are those that arrived; `left` is set when a client closed its connection before its reply was over.
    """

    script: Sequence[Reply] | Callable[[Request], Reply]
    lists_models: bool = False
    """A list of replies holds those to a request for the models, too. Else that is refused, and not in `requests`."""
    requests: list[Request] = field(default_factory=list[Request])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    url: str = ""
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            async with asyncio.timeout(PATIENCE_S):
                keep = True
                while keep and (request := await _read_request(reader)):
                    keep = await self._reply(self._steps_for(request), reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError):
            self.left.set()
        finally:
            writer.close()

    def _steps_for(self, request: Request) -> Reply:
        script = self.script
        is_list = request.method == "GET" and request.path in {"/v1/models", "/api/ps"}
        if is_list and not (callable(script) or self.lists_models):
            return whole(404, {})
        self.requests.append(request)
        return script(request) if callable(script) else script[len(self.requests) - 1]

    async def _reply(self, steps: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Perform the steps; return whether the connection is kept for another request."""
        for step in steps:
            match step:
                case bytes():
                    writer.write(step)
                    await writer.drain()
                case Wait(until):
                    if not await _happened(until, reader):
                        self.left.set()
                        return False
                case Step.CUT:
                    writer.transport.abort()
                    return False
                case Step.KEEP:
                    return True
        return False


async def _happened(until: Callable[[], Awaitable[object]], reader: asyncio.StreamReader) -> bool:
    """Wait for the event; return False if the client disconnected first."""
    waiting, gone = asyncio.ensure_future(until()), asyncio.create_task(reader.read(1))
    try:
        await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
        return not gone.done()
    finally:
        waiting.cancel()
        gone.cancel()
        await asyncio.gather(waiting, gone, return_exceptions=True)


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """Return the next request, or None if the client closed the connection instead."""
    if not (first := await reader.read(1)):
        return None
    lines = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = lines[0].split(" ", 2)
    pairs = (line.partition(":") for line in lines[1:] if line)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))
