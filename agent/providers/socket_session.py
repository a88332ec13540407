"""A model behind a WebSocket that keeps the conversation: one connection for each turn, one question for each round.

Rules.
- The next question uses the same connection, and sends only new messages. If the connection was lost in between, a new
  one is opened, and the whole context is sent.
- A question that was sent and not answered is an error, and not asked again, unless the vendor says that it refused it
  or has not started with it. After the first event there is no retry.
- A connection whose answer was not read to its end is closed: this stops the model, and late events cannot be mistaken
  for those of the next answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State

from agent.messages import Message
from agent.model_sessions import SessionProvider
from agent.ports.clock import Clock
from agent.ports.model import CallOptions, Capabilities, ProviderEvent
from agent.providers import faults
from agent.providers.credentials import OutgoingRequest
from agent.providers.http_client import Disconnected, TransportError, Unreachable, unreachable
from agent.providers.replay import AttemptFailed, Question, ServedModel, ServedProvider, UsageCounter, with_timeouts
from agent.providers.socket_dialect import SocketDialect

CONNECT_TIMEOUT_S = 10.0  # TCP, TLS and the handshake; a host that takes longer is down
CLOSE_TIMEOUT_S = 2.0  # For the closing handshake: nothing is lost if the peer does not answer
PING_S = 20.0  # Interval of keepalive pings; a dead connection is noticed after twice this time
MAX_MESSAGE_BYTES = 16_000_000  # Far above any event of an answer, far below what would exhaust memory


class HandshakeRefused(Exception):
    """The server refused the WebSocket handshake. Header names are in lower case."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


class SocketClosed(Disconnected):
    """The server closed the connection with this code (1006: without a closing handshake) and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"closed with {code}")
        self.code = code
        self.reason = reason


class _ConnectWithoutRedirects(connect):
    def process_redirect(self, exc: Exception) -> Exception:
        return exc


class Socket:
    """An open connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str], *, proxies: bool) -> Self:
        """Connect. Raises Unreachable (nothing was sent) and HandshakeRefused."""
        try:
            connection = await _ConnectWithoutRedirects(
                url,
                additional_headers=dict(headers),
                proxy=True if proxies else None,
                open_timeout=CONNECT_TIMEOUT_S,
                close_timeout=CLOSE_TIMEOUT_S,
                ping_interval=PING_S,
                ping_timeout=PING_S,
                max_size=MAX_MESSAGE_BYTES,
                compression=None,  # a token is too short to shrink, and each socket would keep two windows for it
            )
        except InvalidStatus as error:
            answer = error.response
            received = {name.lower(): value for name, value in answer.headers.raw_items()}
            raise HandshakeRefused(answer.status_code, received, bytes(answer.body or b"")) from None
        except (OSError, WebSocketException, ValueError, ImportError) as error:
            # ValueError: a name that no host has; ImportError: a proxy of a kind that needs another library.
            raise unreachable(error) from None
        return cls(connection)

    @property
    def is_open(self) -> bool:
        """Whether the connection is open and not closing. A dead one is noticed by the next ping."""
        return self._connection.state is State.OPEN

    async def send(self, text: str) -> None:
        """Send a message. Raises SocketClosed; the peer's application has then read all of it or nothing."""
        with _translate_errors():
            await self._connection.send(text)

    async def receive(self) -> str:
        """Return the next message; bytes are decoded as UTF-8. Raises SocketClosed."""
        with _translate_errors():
            message = await self._connection.recv()
        return message if isinstance(message, str) else bytes(message).decode("utf-8", "replace")

    async def close(self) -> None:
        """Close with a handshake, within CLOSE_TIMEOUT_S."""
        await self._connection.close()


@contextmanager
def _translate_errors() -> Generator[None, None, None]:
    try:
        yield
    except ConnectionClosed as error:
        frame = error.rcvd or error.sent
        raise SocketClosed(frame.code if frame else 1006, frame.reason if frame else "") from None


def socket_url(base_url: str) -> str:
    """Return the ws:// URL of an http:// one, and wss:// of https://."""
    return base_url.replace("http", "ws", 1) if base_url.startswith("http") else base_url


@dataclass(frozen=True, slots=True)
class SocketLimits:
    rotate_s: float = 3_000.0
    """Age up to which a socket is reused. Vendors close it after 60 minutes; the last turn has ten of them."""
    idle_s: float = 300.0
    """How long an unused socket is kept: longer than usual pauses of a conversation."""
    max_sockets: int = 64
    """Sockets that are open at once. Further turns are answered over HTTP."""
    refused_s: float = 300.0
    """How long no handshake is tried after a failed one."""


@dataclass(eq=False, slots=True)
class PooledSocket:
    """An open socket of the pool. `opened_s` is the monotonic time at which it was opened."""

    socket: Socket
    opened_s: float


class SocketPool:
    """A pool of sockets to one service that stay open between turns, so that a turn needs no handshake.

    `acquire` a socket for a turn, then `release` it, or `discard` it if its last answer was not read to the end. An
    idle socket that is closed, receives a message or idles too long is removed. After a failed handshake `acquire`
    returns None for a while, and the caller uses HTTP.
    """

    def __init__(
        self,
        url: str,
        authorise: Callable[[OutgoingRequest], Awaitable[Mapping[str, str]]],
        clock: Clock,
        limits: SocketLimits,
        *,
        proxies: bool,
    ) -> None:
        """`authorise` returns the headers for each new handshake. `acquire` raises its errors."""
        self._url = url
        self._authorise = authorise
        self._clock = clock
        self._limits = limits
        self._proxies = proxies
        self._idle: dict[PooledSocket, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._in_use = 0
        self._not_before = float("-inf")
        self._closed = False

    async def acquire(self) -> PooledSocket | None:
        """Return an open socket, or None if none is available now."""
        while self._idle:
            pooled, listener = self._idle.popitem()
            self._in_use += 1
            listener.cancel()
            try:
                await asyncio.wait([listener])
            except asyncio.CancelledError:
                self.discard(pooled)
                raise
            if pooled.socket.is_open and self._clock.monotonic() - pooled.opened_s < self._limits.rotate_s:
                return pooled
            self.discard(pooled)
        if self._in_use >= self._limits.max_sockets or self._clock.monotonic() < self._not_before:
            return None
        return await self._open()

    def release(self, pooled: PooledSocket) -> None:
        """Return a socket to the pool. All answers on it must be complete."""
        if self._closed or not pooled.socket.is_open:
            self.discard(pooled)
            return
        self._in_use -= 1
        self._idle[pooled] = asyncio.create_task(self._listen(pooled))

    def discard(self, pooled: PooledSocket) -> None:
        self._in_use -= 1
        closing = asyncio.create_task(pooled.socket.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def refused(self) -> None:
        self._not_before = self._clock.monotonic() + self._limits.refused_s

    async def aclose(self) -> None:
        """Close all idle sockets. Those in use are closed when their turns end."""
        self._closed = True
        while self._idle:
            pooled, listener = self._idle.popitem()
            listener.cancel()
            self._in_use += 1
            self.discard(pooled)
            await asyncio.wait([listener])
        await asyncio.gather(*self._closing)

    async def _open(self) -> PooledSocket | None:
        self._in_use += 1
        pooled: PooledSocket | None = None
        try:
            headers = await self._authorise(OutgoingRequest("GET", self._url))
            socket = await Socket.open(self._url, headers, proxies=self._proxies)
            pooled = PooledSocket(socket, self._clock.monotonic())
        except (HandshakeRefused, Unreachable):
            self.refused()
        finally:
            self._in_use -= pooled is None
        return pooled

    async def _listen(self, pooled: PooledSocket) -> None:
        with suppress(TimeoutError, TransportError):
            async with asyncio.timeout(self._limits.idle_s):
                await pooled.socket.receive()
        if self._idle.pop(pooled, None):
            await pooled.socket.close()


# Tried for one question while the vendor has not started with it: the open one, one resumed by its handle, a new one.
CONNECTIONS = 3

# Before each question but the first, pending frames are read for this time, such as the notice that the server closes.
CATCH_UP_S = 0.005
CATCH_UP_STEPS = 3  # Iterations of the event loop, for a frame that arrives at the end of that time


class SocketProvider(ServedProvider, SessionProvider):
    """`resumes` False: each round opens a connection and sends the whole context."""

    def __init__(self, served: ServedModel, dialect: SocketDialect, *, resumes: bool = True) -> None:
        super().__init__(served)
        self._dialect = dialect
        self._resumes = resumes

    @property
    def capabilities(self) -> Capabilities:
        capabilities = self._dialect.capabilities
        return capabilities if self._resumes else replace(capabilities, resume=False)

    @property
    def warning(self) -> str:
        return self._dialect.warning

    def connect(self, options: CallOptions) -> "SocketSession":
        return SocketSession(self._served, self._dialect, options)

    async def aclose(self) -> None:
        """Do nothing: each session closes its own connection."""


class SocketSession:
    def __init__(self, served: ServedModel, dialect: SocketDialect, options: CallOptions) -> None:
        self._served = served
        self._dialect = dialect
        self._dialogue = dialect.dialogue(options)
        self._question = Question(())
        self._socket: Socket | None = None
        self._is_asked = False

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        self._question = Question(tuple(messages))
        async with aclosing(
            self._served.with_retries(self._with_timeouts, self._question.adapt, self._question)
        ) as events:
            async for event in events:
                yield event

    async def close(self) -> tuple[str, ...]:
        await self._close_socket()
        return ()

    async def _with_timeouts(self) -> AsyncGenerator[ProviderEvent, None]:
        is_complete = False
        try:
            async with aclosing(with_timeouts(self._attempt(), self._served.world.patience)) as events:
                async for event in events:
                    yield event
            is_complete = True
        finally:
            if not is_complete:
                await self._close_socket()

    async def _attempt(self) -> AsyncGenerator[ProviderEvent, None]:
        fault: faults.Fault | None = None
        for _ in range(CONNECTIONS):
            try:
                await self._ask()
                async with aclosing(self._answer()) as events:
                    async for event in events:
                        yield event
            except SocketClosed as closed:
                fault = self._dialogue.connection_fault(closed.code, closed.reason)
                await self._close_socket()
            else:
                return
            if fault is not None:
                break
        fault = fault or faults.Fault(faults.FaultKind.CUT)
        raise AttemptFailed(
            self._served.unreachable() if fault.kind is faults.FaultKind.CUT and not self._is_asked else fault
        )

    async def _ask(self) -> None:
        """Send the question: only its end if the connection has its beginning, else the whole over a new connection."""
        if self._socket and await self._still_open(self._socket) and self._dialogue.continues(self._question.messages):
            with suppress(SocketClosed):  # a frame that was not sent was not received
                await self._send(self._socket, self._dialogue.ask(self._question.messages))
                return
        await self._close_socket()
        self._is_asked = False
        self._socket = socket = await self._connect()
        await self._send(socket, [self._dialogue.open(self._question.messages)])
        while not self._dialogue.ready:
            await self._receive(socket)
        question = self._dialogue.ask(self._question.messages)
        self._is_asked = True
        await self._send(socket, question)

    async def _connect(self) -> Socket:
        endpoint = self._served.endpoint
        url = socket_url(endpoint.base_url) + self._dialect.path
        headers = await self._served.authorise(OutgoingRequest("GET", url))
        try:
            return await Socket.open(url, headers, proxies=not endpoint.is_local)
        except HandshakeRefused as refused:
            fault = self._served.refusal(refused.status, refused.headers, refused.body)
            raise self._served.failure(fault, headers) from None
        except Unreachable as error:
            raise AttemptFailed(self._served.unreachable(error)) from None

    async def _still_open(self, socket: Socket) -> bool:
        """Read the frames that arrived since the last answer, and return whether the connection is still open.

        On a busy machine the timeout may be late, so frames that have arrived by then are read, too.
        """
        while True:
            receiving = asyncio.ensure_future(socket.receive())
            try:
                await asyncio.wait({receiving}, timeout=CATCH_UP_S)
                for _ in range(CATCH_UP_STEPS):
                    if not receiving.done():
                        await asyncio.sleep(0)
            finally:
                receiving.cancel()
            if not receiving.done():
                await asyncio.wait({receiving})
            try:
                self._dialogue.receive(receiving.result())
            except asyncio.CancelledError:
                return socket.is_open
            except SocketClosed:
                return False

    async def _answer(self) -> AsyncGenerator[ProviderEvent, None]:
        """Yield the events of the answer. After the model was told to stop, a lost connection loses only its usage."""
        socket, usage_counter, until = self._socket, UsageCounter(), None
        while socket and not self._dialogue.finished:
            if self._dialogue.halted and until is None:
                until = asyncio.get_running_loop().time() + self._served.world.patience.tail_s
            try:
                async with asyncio.timeout_at(until):
                    events = await self._receive(socket)
                with suppress(SocketClosed):  # the next `receive` raises it, too
                    await self._send(socket, self._dialogue.outgoing())
            except (TimeoutError, SocketClosed):
                if not self._dialogue.halted:
                    raise
                await self._close_socket()
                break
            for event in events:
                usage_counter.add(event)
                yield event
        yield usage_counter.finish(self._dialogue.close(), self._question)

    async def _receive(self, socket: Socket) -> list[ProviderEvent]:
        """Return the events of the next frame. Raises SocketClosed, and AttemptFailed for a fault."""
        events: list[ProviderEvent] = []
        for event in self._dialogue.receive(await socket.receive()):
            if isinstance(event, faults.Fault):
                raise AttemptFailed(event)
            events.append(event)
        return events

    async def _send(self, socket: Socket, frames: Sequence[str]) -> None:
        for frame in frames:
            await socket.send(frame)
            self._question.bytes_up += len(frame.encode())

    async def _close_socket(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
