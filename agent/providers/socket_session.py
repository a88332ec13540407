"""A model behind a WebSocket that keeps the conversation: a connection for each turn, a question for each round.

Rules.
- The next question is asked over the same connection, which then carries only what is new. If it was lost in between,
  another one is made and the whole context sent: nobody notices.
- A question that went out and was not answered is told as a failure, not asked again, unless the vendor says that it
  has refused it, or has not begun with it. After the first event nothing is ever repeated.
- A connection whose answer was not read to its end is closed: that stops the model, and nothing is mixed up later.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State

from agent.loop import one_round
from agent.messages import Message
from agent.ports import CallOptions, Capabilities, Clock, ProviderEvent
from agent.providers import faults
from agent.providers.dialect import SocketDialect
from agent.providers.http_client import Disconnected, TransportError, Unreachable
from agent.providers.replay import AttemptFailed, Counted, Question, ServedModel, ServedProvider, in_time

CONNECT_TIMEOUT_S = 10.0  # TCP, TLS and the handshake; a host that takes longer is not there
CLOSE_TIMEOUT_S = 2.0  # For the closing handshake: nothing is lost when the other side never answers it
PING_S = 20.0  # How often a silent connection is asked whether it lives; a dead one is known after twice this time
MAX_MESSAGE_BYTES = 16_000_000  # Of one message: far above any event of an answer, far below what would hurt


class HandshakeRefused(Exception):
    """The server speaks HTTP, and does not want a WebSocket: its status, headers (in lower case) and body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.headers = headers
        self.body = body


class SocketClosed(Disconnected):
    """The server closed the connection with this code (1006: without a word) and reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"closed with {code}")
        self.code = code
        self.reason = reason


class _Connecting(connect):
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
            connection = await _Connecting(
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
            raise Unreachable(type(error).__name__) from None
        return cls(connection)

    @property
    def is_open(self) -> bool:
        """As far as we know, and not about to close: one that died silently is noticed by the next ping."""
        return self._connection.state is State.OPEN

    async def send(self, text: str) -> None:
        """Raises SocketClosed; then nothing of this text was read by the other side's application, or all of it."""
        with _translated():
            await self._connection.send(text)

    async def receive(self) -> str:
        """The next message; bytes are read as UTF-8. Raises SocketClosed."""
        with _translated():
            message = await self._connection.recv()
        return message if isinstance(message, str) else bytes(message).decode("utf-8", "replace")

    async def close(self) -> None:
        """Take leave; at most CLOSE_TIMEOUT_S."""
        await self._connection.close()


@contextmanager
def _translated() -> Generator[None, None, None]:
    try:
        yield
    except ConnectionClosed as error:
        frame = error.rcvd or error.sent
        raise SocketClosed(frame.code if frame else 1006, frame.reason if frame else "") from None


def socket_url(base_url: str) -> str:
    """The ws:// address of an http:// one, and wss:// of https://."""
    return base_url.replace("http", "ws", 1) if base_url.startswith("http") else base_url


@dataclass(frozen=True, slots=True)
class SocketLimits:
    rotate_s: float = 3_000.0
    """The vendors close a socket after 60 minutes; ten are left for the turn that takes it last."""
    idle_s: float = 300.0
    """Of nobody's turn. Long enough for a conversation's pauses; a handshake costs a fraction of a second."""
    max_sockets: int = 64
    """Open at once. Turns beyond that are answered over HTTP."""
    refused_s: float = 300.0
    """How long no handshake is tried after one that failed."""


@dataclass(eq=False, slots=True)
class WarmSocket:
    """An open socket, since `opened_s` of the clock."""

    socket: Socket
    opened_s: float


class WarmSockets:
    """Sockets to one service that stay open between turns, so that a turn does not begin with a handshake.

    `take` one for a turn, then `give_back` it, or `drop` it if its last answer was not read to the end. Between turns
    each is listened on: one that is closed, that speaks unasked or that idles too long is put away. Whoever gets none
    goes another way, and for a while nobody tries again.
    """

    def __init__(
        self, url: str, headers: Mapping[str, str], clock: Clock, limits: SocketLimits, *, proxies: bool
    ) -> None:
        self._url = url
        self._headers = headers
        self._clock = clock
        self._limits = limits
        self._proxies = proxies
        self._parked: dict[WarmSocket, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._taken = 0
        self._not_before = float("-inf")
        self._closed = False

    async def take(self) -> WarmSocket | None:
        """A socket that is open as far as we know, or None where there is none to be had now."""
        while self._parked:
            warm, listening = self._parked.popitem()
            self._taken += 1
            listening.cancel()
            try:
                await asyncio.wait([listening])
            except asyncio.CancelledError:
                self.drop(warm)
                raise
            if warm.socket.is_open and self._clock.monotonic() - warm.opened_s < self._limits.rotate_s:
                return warm
            self.drop(warm)
        if self._taken >= self._limits.max_sockets or self._clock.monotonic() < self._not_before:
            return None
        return await self._opened()

    def give_back(self, warm: WarmSocket) -> None:
        """The turn is over, and every answer on this socket too."""
        if self._closed or not warm.socket.is_open:
            self.drop(warm)
            return
        self._taken -= 1
        self._parked[warm] = asyncio.create_task(self._listen(warm))

    def drop(self, warm: WarmSocket) -> None:
        self._taken -= 1
        closing = asyncio.create_task(warm.socket.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def refused(self) -> None:
        self._not_before = self._clock.monotonic() + self._limits.refused_s

    async def aclose(self) -> None:
        """Close all that are parked; those in use follow when their turns end."""
        self._closed = True
        while self._parked:
            warm, listening = self._parked.popitem()
            listening.cancel()
            self._taken += 1
            self.drop(warm)
            await asyncio.wait([listening])
        await asyncio.gather(*self._closing)

    async def _opened(self) -> WarmSocket | None:
        self._taken += 1
        warm: WarmSocket | None = None
        try:
            socket = await Socket.open(self._url, self._headers, proxies=self._proxies)
            warm = WarmSocket(socket, self._clock.monotonic())
        except (HandshakeRefused, Unreachable):
            self.refused()
        finally:
            self._taken -= warm is None
        return warm

    async def _listen(self, warm: WarmSocket) -> None:
        with suppress(TimeoutError, TransportError):
            async with asyncio.timeout(self._limits.idle_s):
                await warm.socket.receive()
        if self._parked.pop(warm, None):
            await warm.socket.close()


# For one question, where the vendor has not begun with it: the one that was there, one by its handle, a new one.
CONNECTIONS = 3

# Before each question but the first: what the system has received by then is taken in, such as a leave-taking.
CATCH_UP_S = 0.005
CATCH_UP_STEPS = 3  # Of the event loop, for what came in the moment in which that time was over


class SocketProvider(ServedProvider):
    """`resumes` False: each round has a connection of its own, over which the whole context goes."""

    def __init__(self, served: ServedModel, dialect: SocketDialect, *, resumes: bool = True) -> None:
        super().__init__(served)
        self._dialect = dialect
        self._resumes = resumes

    @property
    def capabilities(self) -> Capabilities:
        able = self._dialect.capabilities
        return able if self._resumes else replace(able, resume=False)

    @property
    def warning(self) -> str:
        return self._dialect.warning

    def connect(self, options: CallOptions) -> "SocketSession":
        return SocketSession(self._served, self._dialect, options)

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),  # noqa: B008 -- frozen
    ) -> AsyncGenerator[ProviderEvent, None]:
        return one_round(self.connect(options), messages)

    async def aclose(self) -> None:
        """Nothing is kept: each session closes its own connection."""


class SocketSession:
    def __init__(self, served: ServedModel, dialect: SocketDialect, options: CallOptions) -> None:
        self._served = served
        self._dialect = dialect
        self._dialogue = dialect.dialogue(options)
        self._question = Question(())
        self._socket: Socket | None = None
        self._asked = False

    async def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        self._question = Question(tuple(messages))
        async with aclosing(self._served.retried(self._in_time, self._question.mend)) as events:
            async for event in events:
                yield event

    async def close(self) -> tuple[str, ...]:
        await self._hang_up()
        return ()

    async def _in_time(self) -> AsyncGenerator[ProviderEvent, None]:
        whole = False
        try:
            async with aclosing(in_time(self._attempt(), self._served.world.patience)) as events:
                async for event in events:
                    yield event
            whole = True
        finally:
            if not whole:
                await self._hang_up()

    async def _attempt(self) -> AsyncGenerator[ProviderEvent, None]:
        fault: faults.Fault | None = None
        for _ in range(CONNECTIONS):
            try:
                await self._ask()
                async with aclosing(self._answer()) as events:
                    async for event in events:
                        yield event
            except SocketClosed as closed:
                fault = self._dialogue.lost(closed.code, closed.reason)
                await self._hang_up()
            else:
                return
            if fault is not None:
                break
        fault = fault or faults.Fault(faults.FaultKind.CUT)
        raise AttemptFailed(
            self._served.unreachable() if fault.kind is faults.FaultKind.CUT and not self._asked else fault
        )

    async def _ask(self) -> None:
        """Send the question: its end over the connection that has its beginning, else the whole over a new one."""
        if self._socket and await self._still_open(self._socket) and self._dialogue.continues(self._question.messages):
            with suppress(SocketClosed):  # a frame that could not be written was not received
                await self._send(self._socket, self._dialogue.ask(self._question.messages))
                return
        await self._hang_up()
        self._asked = False
        self._socket = socket = await self._dial()
        await self._send(socket, [self._dialogue.open(self._question.messages)])
        while not self._dialogue.ready:
            await self._hear(socket)
        question = self._dialogue.ask(self._question.messages)
        self._asked = True
        await self._send(socket, question)

    async def _dial(self) -> Socket:
        endpoint = self._served.endpoint
        url = socket_url(endpoint.base_url) + self._dialect.path
        try:
            return await Socket.open(url, endpoint.authorisation(self._served.key), proxies=not endpoint.is_local)
        except HandshakeRefused as refused:
            raise AttemptFailed(self._served.refusal(refused.status, refused.headers, refused.body)) from None
        except Unreachable:
            raise AttemptFailed(self._served.unreachable()) from None

    async def _still_open(self, socket: Socket) -> bool:
        """Take in what came since the last answer. A timer that rings late, on a busy machine, does not decide: what is
        there then is read first.
        """
        while True:
            hearing = asyncio.ensure_future(socket.receive())
            try:
                await asyncio.wait({hearing}, timeout=CATCH_UP_S)
                for _ in range(CATCH_UP_STEPS):
                    if not hearing.done():
                        await asyncio.sleep(0)
            finally:
                hearing.cancel()
            if not hearing.done():
                await asyncio.wait({hearing})
            try:
                self._dialogue.receive(hearing.result())
            except asyncio.CancelledError:
                return socket.is_open
            except SocketClosed:
                return False

    async def _answer(self) -> AsyncGenerator[ProviderEvent, None]:
        """The events of the answer. Where the model was told to stop, losing the rest loses only its usage."""
        socket, counted, until = self._socket, Counted(), None
        while socket and not self._dialogue.finished:
            if self._dialogue.halted and until is None:
                until = asyncio.get_running_loop().time() + self._served.world.patience.tail_s
            try:
                async with asyncio.timeout_at(until):
                    events = await self._hear(socket)
                with suppress(SocketClosed):  # the next frame will not come either, and says what that means
                    await self._send(socket, self._dialogue.outgoing())
            except (TimeoutError, SocketClosed):
                if not self._dialogue.halted:
                    raise
                await self._hang_up()
                break
            for event in events:
                counted.see(event)
                yield event
        yield counted.ended(self._dialogue.close(), self._question)

    async def _hear(self, socket: Socket) -> list[ProviderEvent]:
        """The events of the next frame. Raises SocketClosed, and AttemptFailed for a fault."""
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

    async def _hang_up(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()
