"""The API over HTTP: an ASGI application with OpenAI's paths, and one for posts.

Rules
  The token of each request is checked first.
  A request names its token in one Authorization header. Errors have OpenAI's form, and say what to do.
  A client that goes away, also while it waits, stops its turn.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, TypeAlias

from agent.errors import CogencyError, Refused
from agent.events import Outcome
from agent.messages import Usage
from agent.ports.api_tokens import ApiToken, TokenScope
from bot.api import texts as api_texts
from bot.api.asking import ApiAsking, forbidden, unavailable
from bot.api.posting import ApiPosting, PersonPosts, PostStatus
from bot.api.replies import PendingReply
from bot.api.tokens import bearer_of
from bot.api.wire import (
    KEEP_ALIVE,
    MAX_KEY_CHARS,
    AnswerHead,
    AnswerStream,
    ApiError,
    ApiQuestion,
    Body,
    Endpoint,
    model_body,
    models_body,
    new_response_id,
    post_body,
    read_post,
    read_request,
    whole_answer,
)
from bot.chat.backoff import OncePerMinute
from bot.chat.http_routes import BODY_BYTES, RequestRefused, read_body, run_for_body
from bot.chat.telemetry import RequestEnd, RequestHandled

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

log = logging.getLogger(__name__)

PATH: Final = "/v1"
ENDPOINTS: Final = {"/v1/chat/completions": Endpoint.CHAT, "/v1/responses": Endpoint.RESPONSES}
MODELS: Final = "/v1/models"
POSTS: Final = "/v1/posts"
KEEP_ALIVE_S: Final = 15.0  # Proxies close connections that are silent for a minute
ENDPOINT_NAME: Final = "api"  # In telemetry
MAX_REQUESTS: Final = 16  # Of one token at a time, with those whose answers are still being sent
POST_BYTES: Final = 65_536  # Twice the longest post, with every character escaped
BUSY_S: Final = 5  # Until a client that had too many tries again
SEND_S: Final = 60.0  # For a client that reads slowly; one that does not read at all holds a connection
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
_UNREAD: Final = frozenset({401, 403, 404, 405, 408, 413, 415, 429})
_ENDS: Final = {
    400: RequestEnd.INVALID,
    401: RequestEnd.UNSIGNED,
    403: RequestEnd.FORBIDDEN,
    404: RequestEnd.INVALID,
    405: RequestEnd.INVALID,
    408: RequestEnd.TOO_SLOW,
    413: RequestEnd.TOO_LARGE,
    415: RequestEnd.INVALID,
    429: RequestEnd.LIMITED,
}


class ClientGone(Exception):
    """The client has closed the connection: there is nobody to answer."""


@dataclass(slots=True, eq=False)
class HttpApi:
    """The application."""

    asking: ApiAsking
    people: PersonPosts | None = None
    """Where people's tokens may post; None for nowhere."""
    keep_alive_s: float = KEEP_ALIVE_S
    _running: Counter[int] = field(default_factory=Counter[int])
    _logged: OncePerMinute = field(default_factory=OncePerMinute)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        end = RequestEnd.ACCEPTED
        try:
            await self._answer(scope, receive, send)
        except ClientGone:
            pass
        except ApiError as error:
            end = _ENDS.get(error.status, RequestEnd.UNAVAILABLE)
            if end is RequestEnd.UNSIGNED:
                now = self.asking.core.clock.monotonic()
                if (more := self._logged.due("token", now)) is not None:
                    log.warning("api: a request without a valid token was refused%s", more)
            await _send_error(send, error)
        self.asking.core.telemetry.record(RequestHandled(ENDPOINT_NAME, end))

    async def _answer(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        try:
            token = await self._authenticate(scope)
            with self._counted(token):
                await self._route(token, scope, receive, send)
        except ApiError:
            raise
        except Refused as refused:
            raise forbidden(str(refused)) from refused
        except CogencyError as error:
            raise unavailable(error) from error

    @contextmanager
    def _counted(self, token: ApiToken) -> Generator[None]:
        """Count a request of the token until the block ends. Raises ApiError if it has too many."""
        if self._running[token.id] >= MAX_REQUESTS:
            raise ApiError(
                429, api_texts.BUSY, kind="rate_limit_error", code="rate_limit_exceeded", retry_after_s=BUSY_S
            )
        self._running[token.id] += 1
        try:
            yield
        finally:
            self._running[token.id] -= 1
            if not self._running[token.id]:
                del self._running[token.id]

    async def _route(self, token: ApiToken, scope: "Scope", receive: "Receive", send: "Send") -> None:
        path: str = scope["path"]
        if path == MODELS or path.startswith(f"{MODELS}/"):
            _require_method(scope, "GET")
            _require_scope(token, TokenScope.ASK)
            await self._models(token, path.removeprefix(MODELS)[1:], send)
            return
        if path == POSTS:
            _require_method(scope, "POST")
            await self._post(token, scope, receive, send)
            return
        if path not in ENDPOINTS:
            raise ApiError(404, api_texts.NO_SUCH_PATH, code="unknown_url")
        _require_method(scope, "POST")
        _require_scope(token, TokenScope.ASK)
        body = await _body(scope, receive)
        question = await run_for_body(partial(read_request, ENDPOINTS[path]), body)
        await self._ask(token, question, receive, send)

    async def _authenticate(self, scope: "Scope") -> ApiToken:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        secret = bearer_of(given[0].decode("latin-1")) if len(given) == 1 else ""
        token = await self.asking.tokens.authenticate(secret)
        if token is None:
            raise ApiError(401, api_texts.NO_TOKEN, kind="authentication_error", code="invalid_api_key")
        return token

    async def _models(self, token: ApiToken, name: str, send: "Send") -> None:
        names = await self.asking.models_of(token)
        created = int(token.definition.created.timestamp())
        if not name:
            return await _send_json(send, 200, models_body(names, created))
        if name not in names:
            raise ApiError(404, api_texts.NO_MODEL.format(name=name), code="model_not_found", param="model")
        return await _send_json(send, 200, model_body(name, created))

    async def _post(self, token: ApiToken, scope: "Scope", receive: "Receive", send: "Send") -> None:
        _require_scope(token, TokenScope.POST)
        keys = [value.decode("latin-1") for name, value in scope["headers"] if name == b"idempotency-key"]
        if len(keys) > 1:
            raise ApiError(400, api_texts.POST_KEY.format(limit=MAX_KEY_CHARS), code="invalid_idempotency_key")
        request = read_post("".join(keys), await _body(scope, receive, POST_BYTES))
        post = await ApiPosting(self.asking, self.people).post(token, request)
        status = 202 if post.status is PostStatus.QUEUED else 201
        await _send_json(send, status, post_body(post.id, post.status, post.message))

    async def _ask(self, token: ApiToken, question: ApiQuestion, receive: "Receive", send: "Send") -> None:
        name = await self.asking.conversation_of(token, question)
        id_ = new_response_id(name, self.asking.new_id())
        head = AnswerHead(question, id_, int(self.asking.core.clock.now().timestamp()), name)
        async with (
            self.asking.opened(token, question, name, id_) as asked,
            _until_gone(receive, self.asking.ask(asked)) as answering,
        ):
            if question.streams:
                await self._stream(head, asked.pending, answering, send)
            else:
                outcome = await answering
                text, usage = _ended(asked.pending, outcome)
                await _send_json(send, 200, whole_answer(head, text, outcome, usage))

    async def _stream(
        self, head: AnswerHead, pending: PendingReply, answering: "asyncio.Future[Outcome]", send: "Send"
    ) -> None:
        """Stream the answer once its turn has begun: before, an error has a status of its own."""
        while not (pending.begun or answering.done()):
            await _changed(pending, answering, self.keep_alive_s)
        if answering.done() and answering.exception() is not None:
            await answering
        stream = AnswerStream(head)
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await _send(send, {"type": "http.response.start", "status": 200, "headers": headers})
        await _send_piece(send, stream.begin() + stream.grow(pending.text))
        while not answering.done():
            has_changed = await _changed(pending, answering, self.keep_alive_s)
            await _send_piece(send, stream.grow(pending.text) if has_changed else KEEP_ALIVE)
        try:
            outcome = await answering
            text, usage = _ended(pending, outcome)
            ended = stream.end(text, outcome, usage)
        except ApiError as error:
            ended = stream.fail(error)
        except CogencyError as error:
            ended = stream.fail(unavailable(error))
        await _send(send, {"type": "http.response.body", "body": ended, "more_body": False})


@asynccontextmanager
async def _until_gone(
    receive: "Receive", answering: Coroutine[object, None, Outcome]
) -> AsyncGenerator["asyncio.Task[Outcome]"]:
    """Run `answering` until the block ends; raise ClientGone in the block once the client is gone."""
    task, is_gone = asyncio.create_task(answering), False

    async def watch() -> None:
        nonlocal is_gone
        while (await receive())["type"] != "http.disconnect":
            pass
        is_gone = True
        task.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield task
    except asyncio.CancelledError:
        if is_gone:
            raise ClientGone from None
        raise
    finally:
        watching.cancel()
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved: the block has raised it, or something else


async def _changed(pending: PendingReply, answering: "asyncio.Future[Outcome]", seconds: float) -> bool:
    """Wait until the reply has grown or the turn has ended, and return True; False if neither came in that time."""
    changed = asyncio.ensure_future(pending.changed.wait())
    done, _ = await asyncio.wait({changed, answering}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    changed.cancel()
    pending.changed.clear()
    return bool(done)


def _ended(pending: PendingReply, outcome: Outcome) -> tuple[str, Usage]:
    """Return the answer and its usage. Raises ApiError if there is none: its sentence is what people would read."""
    usage = Usage() if pending.closing is None else pending.closing.usage
    if outcome is Outcome.REFUSED:
        raise pending.refusal or ApiError(
            502, pending.text or api_texts.INTERRUPTED, kind="server_error", code="not_answered", retry=False
        )
    return pending.text, usage


def _require_method(scope: "Scope", method: str) -> None:
    if scope["method"] != method:
        raise ApiError(405, api_texts.WRONG_METHOD.format(method=method), code="method_not_allowed")


def _require_scope(token: ApiToken, scope: TokenScope) -> None:
    if not token.allows(scope):
        raise forbidden(api_texts.NO_SCOPE.format(scope=scope))


async def _body(scope: "Scope", receive: "Receive", limit: int = BODY_BYTES) -> bytes:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != b"application/json":
        raise ApiError(415, api_texts.NO_JSON_TYPE, code="unsupported_media_type")
    try:
        return await read_body(scope, receive, limit=limit)
    except RequestRefused as refused:
        raise ApiError(refused.status, str(refused), code="invalid_body") from None


async def _send_json(send: "Send", status: int, body: Body, headers: Headers = ()) -> None:
    content = (b"content-type", b"application/json")
    await _send(send, {"type": "http.response.start", "status": status, "headers": [content, *headers]})
    await _send(send, {"type": "http.response.body", "body": json.dumps(body).encode()})


async def _send_error(send: "Send", error: ApiError) -> None:
    headers = list[tuple[bytes, bytes]]()
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.retry is not None:
        headers.append((b"x-should-retry", b"true" if error.retry else b"false"))
    if error.retry_after_s:
        headers.append((b"retry-after", str(error.retry_after_s).encode()))
    if error.status in _UNREAD:  # a part of the body may still come
        headers.append((b"connection", b"close"))
    with suppress(ClientGone):
        await _send_json(send, error.status, error.body, headers)


async def _send_piece(send: "Send", piece: bytes) -> None:
    if piece:
        await _send(send, {"type": "http.response.body", "body": piece, "more_body": True})


async def _send(send: "Send", message: "Message") -> None:
    """Raises ClientGone if the client does not read."""
    try:
        async with asyncio.timeout(SEND_S):
            await send(message)
    except TimeoutError:
        raise ClientGone from None
