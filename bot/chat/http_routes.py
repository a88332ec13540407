"""What features serve over HTTP to other programs: their routes on one server, and reading a request within limits.

Rules
- A request's body is read within a limit and a time, and as it was sent: one that is compressed is refused.
- Responses forbid to be cached, framed or guessed at; no route knows cookies, so no browser's session can be abused.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from agent.errors import CogencyError
from bot.chat.texts import operating as operating_texts

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")
BODY_BYTES: Final = 1_048_576
LARGE_BYTES: Final = 65_536  # Parsing more holds the event loop for longer than others should wait
MAX_BRACKETS: Final = 20_000  # { and [ of a JSON body, those in its texts included
BODY_S: Final = 5.0  # For a whole body: programs send theirs at once
HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclass(frozen=True, slots=True)
class HttpRoutes:
    """`path`: as "/hooks"; this path and all below it belong to `app`, an ASGI application that sees the whole path."""

    path: str
    app: "ASGIApp"


class RequestRefused(CogencyError):
    """A request's body cannot be used. `status`: of the response; after it the connection must be closed."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


async def read_body(scope: "Scope", receive: "Receive", *, limit: int = BODY_BYTES, seconds: float = BODY_S) -> bytes:
    """Return a request's body of at most `limit` bytes. Raises RequestRefused."""
    headers = dict[bytes, bytes](scope["headers"])
    if headers.get(b"content-encoding", b"identity").strip().lower() not in {b"", b"identity"}:
        raise RequestRefused(415, operating_texts.BODY_COMPRESSED)
    length = headers.get(b"content-length", b"0")
    too_long = RequestRefused(413, operating_texts.BODY_TOO_LONG.format(limit=limit))
    if not length.isdigit() or len(length) > len(str(limit)) or int(length) > limit:
        raise too_long
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RequestRefused(400, operating_texts.BODY_INCOMPLETE)
                body += message.get("body", b"")
                if len(body) > limit:
                    raise too_long
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        raise RequestRefused(408, operating_texts.BODY_TOO_SLOW) from None


def has_too_many_parts(body: bytes) -> bool:
    """Return whether a JSON body may have so many objects and lists that parsing it is slow. Call this first."""
    return body.count(b"{") + body.count(b"[") > MAX_BRACKETS


async def run_for_body(read: Callable[[bytes], T], body: bytes) -> T:
    """Return `read(body)`; a large body is read beside the event loop. Raises what `read` raises."""
    return await asyncio.to_thread(read, body) if len(body) > LARGE_BYTES else read(body)


def is_from_public_site(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether a response to a request for "/" is this server's. `headers`: with names in small letters."""
    return status == 404 and all(headers.get(name.decode()) == value.decode() for name, value in HEADERS)


class PublicSite:
    """The ASGI application of all routes. Paths of no route are answered with 404, WebSockets refused."""

    def __init__(self, routes: Sequence[HttpRoutes]) -> None:
        self._routes = routes

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return

        async def send_with_headers(message: "Message") -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ())]
                names = {name.lower() for name, _ in headers}
                message = {**message, "headers": [*headers, *(pair for pair in HEADERS if pair[0] not in names)]}
            await send(message)

        path: str = scope["path"]
        for routes in self._routes:
            if path == routes.path or path.startswith(f"{routes.path}/"):
                await routes.app(scope, receive, send_with_headers)
                return
        content = (b"content-type", b"text/plain; charset=utf-8")
        await send_with_headers({"type": "http.response.start", "status": 404, "headers": [content]})
        await send_with_headers({"type": "http.response.body", "body": b"Not found\n"})
