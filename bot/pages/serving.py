"""Pages of our own, served in the bot's event loop. Whoever asks nothing, or sends too much, is hung up on."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn import Server
    from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS: Final = 200  # At once. A browser opens six for a page.
HEAD_BYTES: Final = 32_768  # Of a request: an address, and the cookies of a few other servers on the same host
HEAD_S: Final = 10.0  # In which a new connection has asked something
KEEP_ALIVE_S: Final = 15
CLOSING_S: Final = 2  # For answers under way when the bot stops: as long as a person waits for it
# Of one that comes by WebSocket: the longest message that a person writes, a few times over.
MESSAGE_BYTES: Final = 262_144


@asynccontextmanager
async def serving(app: "ASGIApp", host: str, port: int, *, head_s: float = HEAD_S) -> AsyncGenerator[str, None]:
    """Serve this until the block is left. Yields where, as "http://127.0.0.1:8002"; `port`: 0 for any that is free.

    Behind which address a proxy serves it is the app's to know: what a request says of one is not believed.
    Raises OSError where nothing can listen.
    """
    listening = _listen(host, port)
    server = _server(head_s)(app)
    running = asyncio.ensure_future(server.serve([listening]))
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    """Listening from now on: who asks before the first turn of the loop waits for it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=CONNECTIONS)
    listening.setblocking(False)  # noqa: FBT003 -- as the library has it
    return listening


@cache
def _server(head_s: float) -> "Callable[[ASGIApp], Server]":
    """Made with the first page that is served: who serves none does not load it."""
    from uvicorn import Config, Server  # noqa: PLC0415 -- as above

    class InLoop(Server):
        """In a loop that is the bot's, as are its signals."""

        def __init__(self, app: "ASGIApp") -> None:
            super().__init__(
                Config(
                    app,
                    http=_protocol(head_s),
                    ws="websockets-sansio",
                    ws_max_size=MESSAGE_BYTES,
                    lifespan="off",
                    log_config=None,
                    log_level="critical",
                    access_log=False,
                    proxy_headers=False,
                    server_header=False,
                    limit_concurrency=CONNECTIONS,
                    backlog=CONNECTIONS,
                    timeout_keep_alive=KEEP_ALIVE_S,
                    timeout_graceful_shutdown=CLOSING_S,
                    h11_max_incomplete_event_size=HEAD_BYTES,
                )
            )

        @contextmanager
        def capture_signals(self) -> Generator[None, None, None]:
            yield

    return InLoop


@cache
def _protocol(head_s: float) -> "type[H11Protocol]":
    from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415 -- as above

    class Impatient(H11Protocol):
        """Uvicorn waits without end for the first request of a connection."""

        _waiting: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] -- as its base does
            super().connection_made(transport)
            self._waiting = self.loop.call_later(head_s, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.scope is not None:  # pyright: ignore[reportUnnecessaryComparison] -- until it is asked something
                self._heard()

        def connection_lost(self, exc: Exception | None) -> None:
            self._heard()
            super().connection_lost(exc)

        def _heard(self) -> None:
            if self._waiting is not None:
                self._waiting.cancel()
                self._waiting = None

    return Impatient
