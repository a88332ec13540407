"""What makes a service accept a request: a fixed key, or headers that are made when the request is sent.

Tokens of clouds expire, and signatures cover the request itself, so they cannot be a fixed header. `Credentials` get
the complete request and return the headers to add to it. A request over HTTP and the handshake of a WebSocket ask in
the same way.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from agent.ports.clock import Clock
from agent.providers.catalog import Endpoint
from agent.providers.faults import Fault


@dataclass(frozen=True, slots=True)
class OutgoingRequest:
    """A request without its credentials. `url` is complete; the handshake of a WebSocket is a GET to a wss:// URL."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    body: bytes = field(default=b"", repr=False)


class CredentialsUnavailable(Exception):
    """There are no credentials now. The text is a sentence for the operator that says what to do."""


class Credentials(Protocol):
    """The credentials of one service; they are used by concurrent requests."""

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:
        """Return the headers to add to `request`. Raises CredentialsUnavailable."""
        ...

    def refused(self, sent: Mapping[str, str], fault: Fault) -> bool:
        """Take note that a request with the headers `sent` failed with `fault`.

        Returns whether the same request may be accepted at once with other headers. It is then sent again.
        """
        ...

    def hide(self, text: str) -> str:
        """Return a service's text without secrets of these credentials."""
        ...


Key: TypeAlias = str | Credentials | None
"""How requests are authorized: the fixed key of a service, credentials, or nothing."""


async def authorise(endpoint: Endpoint, key: Key, request: OutgoingRequest) -> dict[str, str]:
    """Return the headers that authorize a request. Raises CredentialsUnavailable."""
    if key is None or isinstance(key, str):
        return endpoint.authorisation(key)
    return dict(await key.headers(request))


@dataclass(frozen=True, slots=True)
class Token:
    """The headers of a token, and when it expires, in seconds of Unix time."""

    headers: Mapping[str, str] = field(repr=False)
    expires_at: float


EARLY_S = 300.0  # A token is renewed so long before it expires: longer than any clock is wrong, and than one request
# How old a token must be for a refusal to mean that it has become invalid: a newer one would be refused, too.
FRESH_S = 60.0
FETCH_TIMEOUT_S = 60.0  # A chain of sources tries several, and the command of a cloud's client takes seconds to start
# After a renewal that failed, or brought a token that expires soon, too: machines of clouds give the same one again
# until it is about to expire. Until then, the token is used.
RETRY_S = 30.0


class TokenCredentials:
    """Tokens that expire. `fetch` gets a new one; it raises CredentialsUnavailable.

    A token is fetched with the first request that needs it, and renewed `EARLY_S` before it expires. Concurrent
    requests wait for the same fetch. It goes on if a request is cancelled. If it fails, a token that has not expired is
    used, else each waiting request fails, and the next one fetches again.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[Token]],
        clock: Clock,
        unanswered: str,
        timeout_s: float = FETCH_TIMEOUT_S,
    ) -> None:
        """`unanswered` is the sentence for a fetch that takes longer than `timeout_s`."""
        self._fetch = fetch
        self._clock = clock
        self._unanswered = unanswered
        self._timeout_s = timeout_s
        self._token: Token | None = None
        self._fetched_at = 0.0
        self._not_before = float("-inf")
        self._fetching: asyncio.Task[Token] | None = None

    async def headers(self, request: OutgoingRequest) -> Mapping[str, str]:  # noqa: ARG002 -- a token is the same for all
        token = self._token
        left_s = token.expires_at - self._clock.now().timestamp() if token else 0.0
        if token and (left_s > EARLY_S or (left_s > 0 and self._clock.monotonic() < self._not_before)):
            return token.headers
        try:
            return (await self._renew()).headers
        except CredentialsUnavailable:
            self._not_before = self._clock.monotonic() + RETRY_S
            if token and token is self._token and token.expires_at > self._clock.now().timestamp():
                return token.headers
            raise

    def refused(self, sent: Mapping[str, str], fault: Fault) -> bool:
        if fault.status != 401:
            return False
        if self._token is None or any(sent.get(name) != value for name, value in self._token.headers.items()):
            return True  # another request has renewed it, or had it refused, in the meantime
        if self._clock.monotonic() - self._fetched_at < FRESH_S:
            return False
        self._token = None
        return True

    def hide(self, text: str) -> str:
        for value in self._token.headers.values() if self._token else ():
            for word in value.split():
                text = text.replace(word, "…") if len(word) >= MIN_SECRET_CHARS else text
        return text

    async def _renew(self) -> Token:
        if self._fetching is None:
            self._fetching = asyncio.create_task(self._fetch_in_time())
            # The requests that wait for it may all be cancelled: then nobody else looks at its error.
            self._fetching.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._fetching)

    async def _fetch_in_time(self) -> Token:
        try:
            async with asyncio.timeout(self._timeout_s):
                token = await self._fetch()
        except TimeoutError:
            raise CredentialsUnavailable(self._unanswered) from None
        finally:
            self._fetching = None
        self._token, self._fetched_at = token, self._clock.monotonic()
        self._not_before = self._fetched_at + RETRY_S
        return token


MIN_SECRET_CHARS = 12  # A shorter word of a header is no token ("Bearer", the name of a project)
