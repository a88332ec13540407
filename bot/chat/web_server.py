"""Serves our own pages in the bot's event loop.

Rules
- Connections that send no request, or too much, are closed.
- A connection above the limit closes the oldest one that waits for no response: each costs a file descriptor, and
  one client that keeps many open must not keep others out.
- A request that sends both a length and chunks, which a proxy before the page may read in another way, is refused.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
    from uvicorn import Server
    from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS: Final = 200  # Concurrent; a browser opens six for a page
# From here on uvicorn answers with an error: those that are being closed still count there, and so do WebSockets.
MAX_CONCURRENT: Final = 2 * CONNECTIONS
HEAD_BYTES: Final = 32_768  # Of a request: an address, and cookies of a few other servers on the same host
HEAD_S: Final = 10.0  # For the first request of a connection
KEEP_ALIVE_S: Final = 15
CLOSING_S: Final = 2  # For responses in progress when the bot stops: the operator waits for the stop
# Of a WebSocket message: the longest message that a person writes, a few times over.
MESSAGE_BYTES: Final = 262_144


@asynccontextmanager
async def serving(
    app: "ASGIApp", host: str, port: int, *, head_s: float = HEAD_S, message_bytes: int = MESSAGE_BYTES
) -> AsyncGenerator[str, None]:
    """Serve an app until the block is left. Yields its address, as "http://127.0.0.1:8002". Raises OSError if the port
    cannot be used.

    `port`: 0 for any free one. `message_bytes`: the limit of a WebSocket message. Proxy headers of requests are
    ignored: the app knows its address behind a proxy.
    """
    listening = _listen(host, port)
    server = _server(head_s, message_bytes)(_refusing_ambiguous(app))
    running = asyncio.ensure_future(server.serve([listening]))
    try:
        url_host = f"[{host}]" if ":" in host else host
        yield f"http://{url_host}:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listening.close()


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; connections wait in its backlog until the event loop accepts them."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.create_server((host, port), family=family, backlog=CONNECTIONS)
    listening.setblocking(False)  # noqa: FBT003 -- as the library has it
    return listening


_LENGTHS: Final = frozenset({b"content-length", b"transfer-encoding"})


def _refusing_ambiguous(app: "ASGIApp") -> "ASGIApp":
    async def ask(scope: "Scope", receive: "Receive", send: "Send") -> None:
        if not {name for name, _ in scope["headers"]} >= _LENGTHS:
            await app(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": 400, "headers": [(b"connection", b"close")]})
        await send({"type": "http.response.body"})

    return ask


@cache
def _server(head_s: float, message_bytes: int) -> "Callable[[ASGIApp], Server]":
    """Return the server class, created at first use, so that uvicorn is loaded only where a page is served."""
    from uvicorn import Config, Server  # noqa: PLC0415 -- loaded only where a page is served

    class InLoop(Server):
        """A server in the bot's event loop, which leaves signal handling to the bot."""

        def __init__(self, app: "ASGIApp") -> None:
            super().__init__(
                Config(
                    app,
                    http=_protocol(head_s),
                    ws="websockets-sansio",
                    ws_max_size=message_bytes,
                    lifespan="off",
                    log_config=None,
                    log_level="critical",
                    access_log=False,
                    proxy_headers=False,
                    server_header=False,
                    limit_concurrency=MAX_CONCURRENT,
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


def _protocol(head_s: float) -> "type[H11Protocol]":
    """Return the protocol class of one server, whose connections it counts."""
    import h11  # noqa: PLC0415 -- loaded only where a page is served
    from uvicorn.protocols.http.h11_impl import H11Protocol  # noqa: PLC0415 -- as above

    connections = dict["Impatient", None]()  # The oldest first; without WebSockets, which have a protocol of their own

    class Impatient(H11Protocol):
        """Closes a connection without a first request in time; uvicorn would wait without end."""

        _head_timeout: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] -- as its base does
            super().connection_made(transport)
            self._head_timeout = self.loop.call_later(head_s, transport.close)
            connections[self] = None
            for oldest in [one for one in connections if not one.is_answering()][
                : max(0, len(connections) - CONNECTIONS)
            ]:
                del connections[oldest]
                oldest.transport.close()

        def is_answering(self) -> bool:
            """Return whether a whole request has no response yet. One whose body does not come is none, nor is one
            whose sender does not read.
            """
            is_open = self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison] -- None before the first request
            return is_open and self.conn.their_state is not h11.SEND_BODY and not self.flow.write_paused

        def data_received(self, data: bytes) -> None:
            if self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY:
                self.transport.close()  # the rest of a body after the response, which h11 would parse for nobody
                return
            super().data_received(data)
            if self.scope is not None:  # pyright: ignore[reportUnnecessaryComparison] -- None before the first request
                self._cancel_head_timeout()

        def handle_websocket_upgrade(self, event: "h11.Request") -> None:
            connections.pop(self, None)
            super().handle_websocket_upgrade(event)

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self, None)
            self._cancel_head_timeout()
            super().connection_lost(exc)

        def _cancel_head_timeout(self) -> None:
            if self._head_timeout is not None:
                self._head_timeout.cancel()
                self._head_timeout = None

    return Impatient
