"""A WebSocket, and nothing else: texts out, texts in. The only module of `agent` that imports websockets.

The rules are those of `agent.providers.http_client`.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.protocol import State

from agent.providers.http_client import Disconnected, Unreachable

CONNECT_TIMEOUT_S = 10.0
"""TCP, TLS and the handshake; a host that takes longer is not there."""
CLOSE_TIMEOUT_S = 2.0
"""For the closing handshake: nothing is lost when the other side never answers it."""
PING_S = 20.0
"""How often a silent connection is asked whether it lives; a dead one is known after twice this time."""
MAX_MESSAGE_BYTES = 16_000_000
"""Of one message: far above any event of an answer, far below what would hurt."""


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
