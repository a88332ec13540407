"""A service that speaks OpenAI's Responses, over HTTP and WebSocket at one address, as the contract's `World`.

It is as strict as the vendor: every frame must fit the vendor's own types, every call needs an output, only the latest
answer of a socket can be continued, an error discards it, and one answer runs at a time.
"""

import asyncio
import json
from base64 import b64decode
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import WSMsgType, web

from agent.ports.model import Provider
from agent.providers.catalog import OPENAI, Endpoint
from agent.providers.factory import ProviderWorld, open_responses, replaying
from agent.providers.replay import ModelTimeouts
from agent.providers.socket_session import SocketLimits
from agent.providers.wire import as_list, as_object, as_text
from agent.providers.wire_responses import ResponsesDialect
from tests.contracts.model_world import PATIENT, Asked, Turn, Waits
from tests.fakes.clock import FakeClock
from tests.fakes.openai_events import Error, Event, Mishap, Step, Writer
from tests.fakes.openai_types import check_event, check_sent

MODEL = "gpt-6.1-terra"
OUTPUTS = {"custom_tool_call_output", "function_call_output"}
KINDS = {401: "authentication_error", 429: "rate_limit_error", 500: "server_error", 529: "server_error"}


class Gone(Exception):
    """The client has disconnected, or the service has cut it off."""


@dataclass(slots=True)
class OpenAiService:
    """`planned` are the answers, in the order of the requests.

    `keys` are those that it accepts, and `asked_with` the key of each request;
    `refuses` is the status of every handshake after the first `refuse_after`;
    `loses` are error codes, one for each next request over WebSocket;
    `closes_with` is the code with which a socket is closed at its first frame, 0 for none;
    `cut_after` is the number of frames, in both directions, after which a socket is reset, once.
    """

    planned: list[Turn] = field(default_factory=list[Turn])
    asked: list[Asked] = field(default_factory=list[Asked])
    bodies: list[Event] = field(default_factory=list[Event])
    keys: tuple[str, ...] = ("sk-1",)
    asked_with: list[str] = field(default_factory=list[str])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)  # Set when a socket has ended
    refuses: int = 0
    refuse_after: int = 0
    loses: list[str] = field(default_factory=list[str])
    closes_with: int = 0
    cut_after: int | None = None
    frames: int = 0
    handshakes: int = 0
    open: set[web.WebSocketResponse] = field(default_factory=set[web.WebSocketResponse])
    requests: list[web.Request] = field(default_factory=list[web.Request])
    key_header: tuple[str, str] = ("authorization", "Bearer ")  # Its name, and what is before the key
    url: str = ""

    async def over_http(self, request: web.Request) -> web.StreamResponse:
        body = await self._read(request, json.loads(await request.read()))
        writer = Writer(f"resp_{len(self.asked)}", MODEL)
        steps = writer.steps(self.planned.pop(0))
        if problem := _unanswered(as_list(body["input"]), []):
            steps = iter([problem])
        first = next(steps)
        if isinstance(first, Error):
            headers = {} if first.retry_after_s is None else {"retry-after": f"{first.retry_after_s:g}"}
            return web.json_response({"error": _error(first)}, status=first.status, headers=headers)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        if first is Mishap.CUT:
            _cut(request)
            return response
        await response.prepare(request)
        try:
            for step in (first, *steps):
                await self._write(request, response, step)
        except (ConnectionError, Gone, asyncio.CancelledError):
            self.left.set()
        return response

    async def over_websocket(self, request: web.Request) -> web.StreamResponse:
        self.handshakes += 1
        if self.refuses and self.handshakes > self.refuse_after:
            return web.json_response({"error": {"message": "no"}}, status=self.refuses)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.open.add(socket)
        try:
            await Socket(self, request, socket).serve()
        except (ConnectionError, Gone, asyncio.CancelledError):
            self.left.set()
        finally:
            self.open.discard(socket)
            self.closed.set()
        return socket

    async def read_frame(self, request: web.Request, text: str) -> Event:
        return await self._read(request, json.loads(text), len(text.encode()))

    def count_frame(self, request: web.Request) -> None:
        self.frames += 1
        if self.cut_after is not None and self.frames >= self.cut_after:
            self.cut_after = None
            _cut(request)
            raise Gone

    async def _read(self, request: web.Request, body: Event, size: int = 0) -> Event:
        check_sent(body)
        name, scheme = self.key_header
        key = request.headers[name].removeprefix(scheme)
        assert key in self.keys
        self.asked_with.append(key)
        assert "null" not in json.dumps(body)
        size = size or len(await request.read())
        texts, images = _contents(as_list(body["input"]))
        self.asked.append(Asked(tuple(texts), size, tuple(images), "previous_response_id" in body))
        self.bodies.append(body)
        return body

    async def _write(self, request: web.Request, response: web.StreamResponse, step: Step) -> None:
        match step:
            case Mishap.CUT:
                _cut(request)
                raise Gone
            case Mishap.GARBAGE:
                await response.write(b"data: {broken\n\n" + _sse({"type": "weather"}))
            case Waits(_, until, _):
                await until.wait()
            case Error():
                flat = {"type": "error", "sequence_number": 99, **_error(step), "param": None}
                check_event(flat)
                await response.write(_sse(flat))
            case dict():
                check_event(step)
                await response.write(_sse(step))


@dataclass(slots=True)
class Socket:
    """One connection, and the service's state for it."""

    service: OpenAiService
    request: web.Request
    socket: web.WebSocketResponse
    latest: Writer | None = None

    async def serve(self) -> None:
        async for message in self.socket:
            if message.type is not WSMsgType.TEXT:
                continue
            if self.service.closes_with:
                await self.socket.close(code=self.service.closes_with)
                return
            body = await self.service.read_frame(self.request, message.data)
            self.service.count_frame(self.request)
            for step in self._steps(body):
                await self._send(step)

    def _steps(self, body: Event) -> Iterator[Step]:
        if self.service.loses:
            code = self.service.loses.pop(0)
            self.latest = None
            return iter([Error(400, code, "It is gone.")])
        parent = body.get("previous_response_id")
        if parent and (self.latest is None or self.latest.response_id != parent):
            return iter([Error(400, "previous_response_not_found", f"Previous response '{parent}' not found.")])
        known = self.latest.output if parent and self.latest else []
        if problem := _unanswered(as_list(body["input"]), known):
            return iter([problem])
        return self._answer(self.service.planned.pop(0))

    def _answer(self, turn: Turn) -> Iterator[Step]:
        writer = Writer(f"resp_{len(self.service.asked)}", MODEL)
        self.latest = None
        for step in writer.steps(turn):
            if isinstance(step, dict) and step["type"] == "response.completed":
                self.latest = writer
            yield step

    async def _send(self, step: Step) -> None:
        match step:
            case Mishap.CUT:
                _cut(self.request)
                raise Gone
            case Mishap.GARBAGE:
                await self.socket.send_str("{broken")
                await self.socket.send_str('{"type": "weather"}')
            case Waits(_, until, _):
                await self._wait(until)
            case Error(status, retry_after_s=wait):
                headers = {} if wait is None else {"retry-after": f"{wait:g}"}
                event = {"type": "error", "status": status, "error": {**_error(step), "headers": headers}}
                await self._frame(event)
            case dict():
                await self._frame(step)

    async def _frame(self, event: Mapping[str, object]) -> None:
        check_event(event, websocket=True)
        await self.socket.send_str(json.dumps(event))
        self.service.count_frame(self.request)

    async def _wait(self, until: asyncio.Event) -> None:
        """Wait until the test sets the event, or the client disconnects."""
        waiting, gone = asyncio.create_task(until.wait()), asyncio.create_task(self.socket.receive())
        try:
            await asyncio.wait({waiting, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise Gone
        finally:
            for task in (waiting, gone):
                task.cancel()
            await asyncio.gather(waiting, gone, return_exceptions=True)


class OpenedProvider(Provider, Protocol):
    async def aclose(self) -> None: ...


@dataclass(slots=True)
class OpenAiWorld:
    provider: Provider
    clock: FakeClock
    asked: list[Asked]
    left: asyncio.Event
    service: OpenAiService
    aclose: Callable[[], Awaitable[None]]  # The provider's

    def plan(self, *turns: Turn) -> None:
        self.service.planned.extend(turns)


@asynccontextmanager
async def serving(root: str = "/v1") -> AsyncGenerator[OpenAiService, None]:
    """Run the service on a free loopback port, below `root`."""
    service = OpenAiService()
    app = web.Application()
    app.router.add_post(f"{root}/responses", service.over_http)
    app.router.add_get(f"{root}/responses", service.over_websocket)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    service.url = f"{site.name}{root}"
    try:
        yield service
    finally:
        for socket in list(service.open):
            await socket.close()
        await runner.cleanup()


@asynccontextmanager
async def _world(
    opened: Callable[[Endpoint, ProviderWorld], OpenedProvider], patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[OpenAiWorld, None]:
    clock = FakeClock()
    async with serving() as service:
        provider = opened(OPENAI.at(service.url), ProviderWorld(clock, lambda: 0.0, patience))
        try:
            yield OpenAiWorld(provider, clock, service.asked, service.left, service, provider.aclose)
        finally:
            await provider.aclose()


@asynccontextmanager
async def responses_world(
    *, limits: SocketLimits | None = None, patience: ModelTimeouts = PATIENT
) -> AsyncGenerator[OpenAiWorld, None]:
    """Over WebSocket, with HTTP as the fallback."""
    settings = limits or SocketLimits()
    async with _world(
        lambda endpoint, line: open_responses(endpoint, MODEL, "sk-1", line, settings), patience
    ) as world:
        yield world


@asynccontextmanager
async def responses_http_world(patience: ModelTimeouts = PATIENT) -> AsyncGenerator[OpenAiWorld, None]:
    async with _world(
        lambda endpoint, line: replaying(endpoint, MODEL, ResponsesDialect(MODEL), "sk-1", line), patience
    ) as world:
        yield world


def _cut(request: web.Request) -> None:
    if request.transport is not None:
        request.transport.abort()


def _sse(event: Mapping[str, object]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _error(error: Error) -> dict[str, object]:
    return {"message": error.message, "type": KINDS.get(error.status, "invalid_request_error"), "code": error.code}


def _unanswered(items: list[object], known: list[Event]) -> Error | None:
    """Return the vendor's refusal of calls without an output, outputs without a call, and unreadable reasoning."""
    seen = [*known, *map(as_object, items)]
    calls = [as_text(item["call_id"]) for item in seen if item["type"] in {"custom_tool_call", "function_call"}]
    outputs = [as_text(item["call_id"]) for item in seen if item["type"] in OUTPUTS]
    if calls != outputs:
        return Error(400, "invalid_request_error", f"No tool output found for one of {calls}.")
    if any(item["type"] == "reasoning" and not item.get("encrypted_content") for item in seen):
        return Error(400, "invalid_request_error", "Items are not persisted when `store` is set to false.")
    return None


def _contents(items: list[object]) -> tuple[list[str], list[bytes]]:
    """Return every text and picture, in order."""
    texts: list[str] = []
    images: list[bytes] = []
    for item in map(as_object, items):
        content = item.get("content") or item.get("output") or item.get("input") or ""
        for part in [{"text": content}] if isinstance(content, str) else map(as_object, as_list(content)):
            if url := as_text(part.get("image_url")):
                images.append(b64decode(url.partition("base64,")[2], validate=True))
            else:
                texts.append(as_text(part.get("text")))
    return texts, images
