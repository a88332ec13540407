"""discord.py's HTTP client, with a deadline for each request and a bound on each wait.

By itself the library gives a request five minutes. It also refuses a request whose rate limit is reset far in the
future, although requests are left, and does not return a response that used up the last one before the reset.

Rules
- A request without a response within REQUEST_S (UPLOAD_S with files) raises TimeoutError. Whether it took effect is not
  known then.
- While requests are left, a request is sent. Else it waits for the reset for at most `wait_at_most` seconds, and raises
  discord.RateLimited, with the time to wait, where that would take longer.
- A response is returned at once.
- The library repeats a request that a server of Discord's failed to answer. `ONCE` is for one with another effect twice
  than once.
- After a lost connection the gateway is tried again every few seconds.
"""
# ruff: noqa: ANN401 -- the library's own types of what is overridden here

import asyncio
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from types import TracebackType
from typing import Any, Final, Literal, cast

import aiohttp
import discord
from discord.backoff import ExponentialBackoff
from discord.http import HTTPClient, Ratelimit, Route
from discord.webhook.async_ import AsyncWebhookAdapter, async_context

from agent.providers.http_client import proxy_for

REQUEST_S: Final = 15.0  # Discord answers within a second, or not at all
UPLOAD_S: Final = 50.0  # Ten megabytes on a slow line

MAX_LIMIT_WAIT_S: Final = 30.0  # Of a request for which no user waits

# How long the bot may stay deaf after an outage of the gateway. Discord allows a thousand new sessions a day, but an
# attempt that reaches no gateway, or resumes a session, is none.
MAX_RECONNECT_S: Final = 8.0

_UNKNOWN_S: Final = 1.0  # When to try again where the response that will name the limit takes long
_SOON_S: Final = 0.001  # The shortest wait: a timer may end a moment before its time

_limit_wait: ContextVar[float] = ContextVar("limit_wait", default=MAX_LIMIT_WAIT_S)


@contextmanager
def wait_at_most(seconds: float) -> Generator[None]:
    """Wait for rate limits up to this long in the requests of this block."""
    token = _limit_wait.set(seconds)
    try:
        yield
    finally:
        _limit_wait.reset(token)


class Unanswered(aiohttp.ClientError):
    """A request was not answered, and may have taken effect."""


async def _once(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send a request, and raise Unanswered where the library would repeat it, except after a rate limit."""
    try:
        response = await handler(request)
    except OSError as error:
        raise Unanswered from error
    if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        response.release()
        raise Unanswered
    return response


ONCE: Final = (_once,)  # The `middlewares` of a request that is not repeated


class _Bucket(Ratelimit):
    """The requests that Discord counts together. `remaining` may be negative."""

    def update(self, response: aiohttp.ClientResponse, *, use_clock: bool = False) -> None:
        super().update(response, use_clock=use_clock)
        counted = int(response.headers.get("X-Ratelimit-Remaining", 0))
        self.remaining = counted - (self.outgoing - 1)  # Discord may not have counted the others yet

    async def acquire(self) -> None:
        self._last_request = self._loop.time()
        deadline = self._last_request + _limit_wait.get()
        while not self._is_free():
            now = self._loop.time()
            until = deadline if self.expires is None else self.expires  # None: a first request is on its way
            if until > deadline or now >= deadline:
                raise discord.RateLimited(_UNKNOWN_S if self.expires is None else self.expires - now)
            changed = self._loop.create_future()
            self._pending_requests.append(changed)
            await asyncio.wait([changed], timeout=max(_SOON_S, until - now))
            changed.cancel()
        self.remaining -= 1
        self.outgoing += 1

    def _is_free(self) -> bool:
        if self.is_expired():
            self.reset()
        return self.remaining > 0

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.outgoing -= 1
        if self.expires is None:  # no response has named the limit
            self.reset()
        while self._pending_requests:  # what they wait for may be known now
            self._wake_next()


class DiscordHttp(HTTPClient):
    @property
    def max_ratelimit_timeout(self) -> float | None:
        """How long the library waits for a rate limit with which Discord answers."""
        return _limit_wait.get()

    # The library sets it as an attribute; pyright sees a property in its place, which is what we want.
    @max_ratelimit_timeout.setter
    def max_ratelimit_timeout(self, seconds: float | None) -> None:  # pyright: ignore[reportIncompatibleVariableOverride] -- as above
        pass

    def get_ratelimit(self, key: str) -> Ratelimit:
        if key not in self._buckets:
            self._buckets[key] = _Bucket(None)
            self._try_clear_expired_ratelimits()
        return self._buckets[key]

    async def ws_connect(self, url: str, *, compress: int = 0) -> aiohttp.ClientWebSocketResponse:
        async with asyncio.timeout(REQUEST_S):
            return await super().ws_connect(url, compress=compress)

    async def request(
        self,
        route: Route,
        *,
        files: Sequence[discord.File] | None = None,
        form: Iterable[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> Any:
        """`timeout`: another deadline than usual."""
        kwargs.setdefault("timeout", aiohttp.ClientTimeout(total=UPLOAD_S if files or form else REQUEST_S))
        return await super().request(route, files=files, form=form, **kwargs)


class ReconnectPause(ExponentialBackoff[Literal[False]]):
    """The pauses between attempts to reach the gateway again. The library's own grow to 17 minutes, and are reset only
    after half an hour without an attempt.
    """

    def delay(self) -> float:
        return min(super().delay(), MAX_RECONNECT_S)


class _BoundedSession:
    """The library's session, with a deadline for each request."""

    def __init__(self, session: aiohttp.ClientSession, deadline: aiohttp.ClientTimeout) -> None:
        self._session = session
        self._deadline = deadline

    def request(self, method: str, url: str, **kwargs: Any) -> object:
        return self._session.request(method, url, timeout=self._deadline, **kwargs)


class _Interactions(AsyncWebhookAdapter):
    """The library's requests about interactions, which do not go through its HTTPClient."""

    async def request(self, route: Any, session: aiohttp.ClientSession, **kwargs: Any) -> Any:
        has_files = bool(kwargs.get("files") or kwargs.get("multipart"))
        deadline = aiohttp.ClientTimeout(total=UPLOAD_S if has_files else REQUEST_S)
        bounded = cast("aiohttp.ClientSession", _BoundedSession(session, deadline))
        return await super().request(route, bounded, **kwargs)


class BoundedClient(discord.Client):
    """A client of the library whose requests follow the rules of this module."""

    def _get_state(self, **options: Any) -> Any:  # called once, after `http` is set
        library = self.http
        self.http = DiscordHttp(
            self.loop,
            None,
            proxy=library.proxy or proxy_for(Route.BASE),
            proxy_auth=library.proxy_auth,
            unsync_clock=not library.use_clock,
            http_trace=library.http_trace,
        )
        return super()._get_state(**options)

    async def login(self, token: str) -> None:
        async_context.set(_Interactions())
        await super().login(token)
