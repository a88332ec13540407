"""The MCP server over HTTP: an ASGI application for `/mcp`, which checks each request before the SDK reads it.

Rules
  Each request names its token in one Authorization header. There are no sessions: what a request may do follows from
  its token alone, and any process can answer it.
  A browser's request from another site is refused by its Origin, and one that was led here under another name by its
  Host, although without a token neither could do anything.
  A body is read within limits of size, time and depth, and only as JSON. Streams that a client opens only to listen
  (GET) are refused, since nothing is ever sent on them.
  A client that reads nothing, and a request that takes too long, are given up.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from agent.errors import CogencyError
from agent.messages import is_too_deep
from agent.ports.api_tokens import ApiToken, TokenScope
from agent.ports.clock import Clock
from bot.api.mcp_server import texts
from bot.api.mcp_server.arguments import ToolName
from bot.api.mcp_server.oauth import RESOURCE_METADATA
from bot.api.mcp_server.server import Context
from bot.api.mcp_server.service import PersonalTools
from bot.api.tokens import bearer_of
from bot.chat.backoff import OncePerMinute
from bot.chat.http_routes import MAX_BRACKETS, RequestRefused, has_too_many_parts, read_body, run_for_body
from bot.chat.telemetry import RequestEnd, RequestHandled, Telemetry

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

log = logging.getLogger(__name__)

PATH: Final = "/mcp"
ENDPOINT: Final = "mcp"  # In telemetry
TOKEN: Final = "cogency.token"  # noqa: S105 -- the name of a request's token in its scope
MAX_DEPTH: Final = 64  # Of a message: arguments are flat
MAX_BODY_BYTES: Final = 500_000  # The longest question in UTF-8; the SDK parses it on the event loop, in 20 to 45 ms
MAX_REQUESTS: Final = 16  # Of one token at a time, with those whose answers are still being sent
REQUEST_S: Final = 900.0  # For an answer with slow tools
SEND_S: Final = 60.0  # For a client that reads slowly
LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
TOOLS: Final = {
    TokenScope.RECALL: ToolName.RECALL,
    TokenScope.REMEMBER: ToolName.REMEMBER,
    TokenScope.ASK: ToolName.ASK,
    TokenScope.FORGET: ToolName.FORGET,
}


class _Refusal(Exception):
    """A request that is not answered, with its status and a sentence for the client's log."""

    def __init__(self, status: int, end: RequestEnd, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.end = status, end


class TokenClients(Protocol):
    """Whose tokens these are, and what they open. Raises CogencyError."""

    async def authenticate(self, secret: str) -> ApiToken | None:
        """Return the valid token of this secret; None for any other text."""
        ...

    def open(self, token: ApiToken) -> PersonalTools:
        """Return what the token's person can do."""
        ...


@dataclass(frozen=True, slots=True)
class HttpClients:
    """Implements `Clients`: a client is its token, which each request names."""

    tokens: TokenClients

    def person_of(self, context: Context) -> str:
        return _token_of(context).owner

    def tools_of(self, context: Context) -> frozenset[ToolName]:
        token = _token_of(context)
        return frozenset(tool for scope, tool in TOOLS.items() if token.allows(scope))

    @asynccontextmanager
    async def open(self, context: Context) -> AsyncGenerator[PersonalTools]:
        yield self.tokens.open(_token_of(context))


def _token_of(context: Context) -> ApiToken:
    token: object = None if context.request is None else context.request.scope[TOKEN]
    if not isinstance(token, ApiToken):
        raise TypeError("a request without a token")
    return token


class McpHttp:
    """The application. Use `serving` while it gets requests. `address`: at which clients reach it, "https://…".
    `signs_in`: whether clients can sign their people in with OAuth. `send_s`: for how long a client may read nothing.
    """

    def __init__(
        self,
        server: Server[Any],
        tokens: TokenClients,
        address: str,
        clock: Clock,
        telemetry: Telemetry,
        *,
        signs_in: bool = False,
        send_s: float = SEND_S,
    ) -> None:
        self._manager = StreamableHTTPSessionManager(server, stateless=True)
        self._tokens = tokens
        self._origin, self._host = address, urlsplit(address).netloc
        self._metadata = f"{address}{RESOURCE_METADATA}{PATH}" if signs_in else ""
        self._send_s = send_s
        self._clock = clock
        self._telemetry = telemetry
        self._running = Counter[int]()
        self._logged = OncePerMinute()

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Serve until the block ends, in a task of its own: an error in the SDK must end nothing else."""
        started, ended = asyncio.Event(), asyncio.Event()

        async def serve() -> None:
            async with self._manager.run():
                started.set()
                await ended.wait()

        running = asyncio.create_task(serve())
        await started.wait()
        try:
            yield
        finally:
            ended.set()
            await asyncio.wait({running})
            if not running.cancelled() and (error := running.exception()) is not None:
                log.error("the MCP server ended before the bot", exc_info=error)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        end = RequestEnd.ACCEPTED
        try:
            token, body = await self._checked(scope, receive)
        except _Refusal as refused:
            end = refused.end
            with suppress(OSError, TimeoutError):
                await _send_refusal(send, refused, self._metadata)
        else:
            try:
                await self._answer(token, body, scope, receive, send)
            except TimeoutError:
                end = RequestEnd.TOO_SLOW
            finally:
                self._running[token.id] -= 1
                if not self._running[token.id]:
                    del self._running[token.id]
        if end is RequestEnd.UNSIGNED and (more := self._logged.due("token", self._clock.monotonic())) is not None:
            log.warning("mcp: a request without a valid token was refused%s", more)
        self._telemetry.record(RequestHandled(ENDPOINT, end))

    async def _checked(self, scope: "Scope", receive: "Receive") -> tuple[ApiToken, bytes]:
        """Return the request's token, which counts as running from then on, and its body. Raises _Refusal."""
        if scope["path"].rstrip("/") != PATH:
            raise _Refusal(404, RequestEnd.INVALID, texts.NO_SUCH_PATH)
        if scope["method"] != "POST":
            raise _Refusal(405, RequestEnd.INVALID, texts.ONLY_POST)
        self._check_site(_headers(scope, b"host"), _headers(scope, b"origin"))
        token = await self._token(_headers(scope, b"authorization"))
        if self._running[token.id] >= MAX_REQUESTS:
            raise _Refusal(429, RequestEnd.LIMITED, texts.BUSY)
        self._running[token.id] += 1
        try:
            return token, await _body(scope, receive)
        except BaseException:  # a request that is not answered does not count as running
            self._running[token.id] -= 1
            raise

    def _check_site(self, hosts: list[str], origins: list[str]) -> None:
        if len(hosts) != 1 or not (hosts[0] == self._host or _is_loopback(hosts[0])):
            raise _Refusal(403, RequestEnd.FORBIDDEN, texts.OTHER_HOST.format(host=self._host))
        if origins not in ([], [self._origin]):
            raise _Refusal(403, RequestEnd.FORBIDDEN, texts.OTHER_ORIGIN)

    async def _token(self, given: list[str]) -> ApiToken:
        try:
            token = await self._tokens.authenticate(bearer_of(given[0])) if len(given) == 1 else None
        except CogencyError as error:
            raise _Refusal(503, RequestEnd.UNAVAILABLE, texts.STORE_AWAY) from error
        if token is None:
            raise _Refusal(401, RequestEnd.UNSIGNED, texts.UNAUTHORIZED)
        if token.is_service:
            raise _Refusal(403, RequestEnd.FORBIDDEN, texts.NO_PERSON)
        return token

    async def _answer(self, token: ApiToken, body: bytes, scope: "Scope", receive: "Receive", send: "Send") -> None:
        given = False

        async def receive_again() -> "Message":
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send_in_time(message: "Message") -> None:
            try:
                async with asyncio.timeout(self._send_s):
                    await send(message)
            except TimeoutError:  # the SDK would wrap it, so the whole request ends instead
                limit.reschedule(asyncio.get_running_loop().time())
                await asyncio.Event().wait()

        async with asyncio.timeout(REQUEST_S) as limit:
            await self._manager.handle_request({**scope, TOKEN: token}, receive_again, send_in_time)


def _is_loopback(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False


def _headers(scope: "Scope", wanted: bytes) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == wanted]


async def _body(scope: "Scope", receive: "Receive") -> bytes:
    """Raises _Refusal."""
    if [kind.partition(";")[0].strip().lower() for kind in _headers(scope, b"content-type")] != ["application/json"]:
        raise _Refusal(415, RequestEnd.INVALID, texts.NO_JSON_TYPE)
    try:
        body = await read_body(scope, receive, limit=MAX_BODY_BYTES)
    except RequestRefused as refused:
        ends = {408: RequestEnd.TOO_SLOW, 413: RequestEnd.TOO_LARGE}
        raise _Refusal(refused.status, ends.get(refused.status, RequestEnd.INVALID), str(refused)) from None
    if has_too_many_parts(body):
        raise _Refusal(400, RequestEnd.INVALID, texts.MESSAGE_OF_MANY_PARTS.format(limit=MAX_BRACKETS))
    if await run_for_body(lambda read: is_too_deep(read.decode(errors="replace"), MAX_DEPTH), body):
        raise _Refusal(400, RequestEnd.INVALID, texts.MESSAGE_TOO_DEEP)
    return body


async def _send_refusal(send: "Send", refused: _Refusal, metadata: str) -> None:
    """Answer with an error of JSON-RPC. A part of the body may still come, so the connection is closed."""
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    if refused.status == 401:
        where = b', resource_metadata="' + metadata.encode() + b'"' if metadata else b""
        headers.append((b"www-authenticate", b'Bearer realm="Cogency", error="invalid_token"' + where))
    if refused.status == 405:
        headers.append((b"allow", b"POST"))
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": str(refused)}}
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
