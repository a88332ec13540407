"""The common part of fake model services over WebSocket: a real server on loopback, and the contract's `World`."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self, cast

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from agent.ports.model import Provider
from agent.providers.socket_session import SocketProvider
from tests.contracts.model_world import Asked, Refuses, Turn
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

Frame = dict[str, object]


class Visit(Protocol):
    """One connection's conversation. `speaking`: an answer has begun and has not ended."""

    @property
    def speaking(self) -> bool: ...

    async def greet(self) -> None:
        """Called before the first frame is read."""
        ...

    async def read(self, frame: Frame, size: int) -> None:
        """A frame of `size` bytes was received."""
        ...

    async def leave(self) -> None:
        """The connection was closed."""
        ...


@dataclass(slots=True)
class SocketService:
    """`async with SocketService(visit) as service`, then connect to `service.url`.

    A refusal that is planned for a new connection answers its handshake; `sent` and `received` are all frames.
    """

    visit: "Callable[[SocketService, ServerConnection], Visit]"
    planned: list[Turn] = field(default_factory=list[Turn])
    asked: list[Asked] = field(default_factory=list[Asked])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    # Set while the last question has no more output, until the next question or frame.
    rested: asyncio.Event = field(default_factory=asyncio.Event)
    sent: list[Frame] = field(default_factory=list[Frame])
    received: list[Frame] = field(default_factory=list[Frame])
    handshakes: list[Request] = field(default_factory=list[Request])
    # Every connection so far, oldest first.
    guests: list[ServerConnection] = field(default_factory=list[ServerConnection])
    url: str = ""
    _server: Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._talk, "127.0.0.1", 0, process_request=self._greet, ping_interval=None, close_timeout=1.0
        )
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.close()
            await self._server.wait_closed()

    async def send(self, connection: ServerConnection, frame: Mapping[str, object]) -> None:
        self.sent.append(dict(frame))
        await connection.send(json.dumps(frame))

    async def _greet(self, connection: ServerConnection, request: Request) -> Response | None:
        del connection
        self.handshakes.append(request)
        if not (self.planned and isinstance(self.planned[0], Refuses)):
            return None
        turn = cast("Refuses", self.planned.pop(0))
        self.asked.append(Asked((), 0))
        body = json.dumps({"error": {"message": turn.message, "code": turn.code}}).encode()
        headers = Headers([("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
        headers["Connection"] = "close"
        if turn.retry_after_s is not None:
            headers["Retry-After"] = f"{turn.retry_after_s:g}"
        return Response(turn.status, "Refused", headers, body)

    async def _talk(self, connection: ServerConnection) -> None:
        self.guests.append(connection)
        visit = self.visit(self, connection)
        with suppress(ConnectionClosed, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await visit.greet()
                async for message in connection:
                    text = message if isinstance(message, str) else message.decode()
                    frame = cast("Frame", json.loads(text))
                    self.received.append(frame)
                    await visit.read(frame, len(text.encode()))
        if visit.speaking:
            self.left.set()
        await visit.leave()


def hang_up(connection: ServerConnection) -> None:
    """Cut the connection without a close frame."""
    connection.transport.abort()


@dataclass(slots=True)
class SocketWorld:
    """`provider` and `sockets` are the same object, with the contract's type and with its own."""

    provider: Provider
    sockets: SocketProvider
    clock: FakeClock
    asked: list[Asked]
    left: asyncio.Event
    service: SocketService

    def plan(self, *turns: Turn) -> None:
        self.service.planned.extend(turns)


@asynccontextmanager
async def socket_world(
    visit: Callable[[SocketService, ServerConnection], Visit], opened: Callable[[str, FakeClock], SocketProvider]
) -> AsyncGenerator[SocketWorld, None]:
    """A service of such visits, and the provider that `opened` makes for its address."""
    clock = FakeClock()
    async with SocketService(visit) as service:
        provider = opened(service.url, clock)
        try:
            yield SocketWorld(provider, provider, clock, service.asked, service.left, service)
        finally:
            await provider.aclose()
