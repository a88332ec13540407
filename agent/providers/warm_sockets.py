"""Sockets to one service that stay open between turns, so that a turn does not begin with a handshake.

Above: the sessions of vendors that keep a socket. Below: `websocket`.

Rules. A socket belongs to one turn at a time. Between turns somebody listens on it: one that is closed, that speaks
unasked or that idles too long is put away. An old one is put away when it would be taken, which is where turns begin.
There is always another way to reach the vendor: whoever gets no socket goes there, and for a while nobody tries again.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from agent.ports import Clock
from agent.providers.http import TransportError, Unreachable
from agent.providers.websocket import HandshakeRefused, Socket


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
    """`take` one for a turn, then `give_back` it, or `drop` it if its last answer was not read to the end."""

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
        """Close it, without waiting for the other side."""
        self._taken -= 1
        closing = asyncio.create_task(warm.socket.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    def refused(self) -> None:
        """The service does not serve this by socket."""
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
