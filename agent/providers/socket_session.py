"""A model behind a WebSocket that keeps the conversation: a connection for each turn, a question for each round.

Rules.
- The next question is asked over the same connection, which then carries only what is new. If it was lost in between,
  another one is made and the whole context sent: nobody notices.
- A question that went out and was not answered is told as a failure, not asked again, unless the vendor says that it
  has refused it, or has not begun with it. After the first event nothing is ever repeated.
- A connection whose answer was not read to its end is closed: that stops the model, and nothing is mixed up later.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from agent.loop import one_round
from agent.messages import Message
from agent.ports import CallOptions, Capabilities, Clock, ProviderEvent
from agent.providers import faults
from agent.providers.dialect import SocketDialect
from agent.providers.http_client import TransportError, Unreachable
from agent.providers.replay import AttemptFailed, Counted, Question, ServedModel, ServedProvider, in_time
from agent.providers.websocket import HandshakeRefused, Socket, SocketClosed, socket_url


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


CONNECTIONS = 3
"""For one question, where the vendor has not begun with it: the one that was there, one by its handle, a new one."""

CATCH_UP_S = 0.005
"""Before each question but the first: what the system has received by then is taken in, such as a leave-taking."""
CATCH_UP_STEPS = 3
"""Of the event loop, for what came in the moment in which that time was over."""


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
