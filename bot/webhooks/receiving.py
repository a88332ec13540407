"""Receives deliveries: `POST /hooks/NAME`, an ASGI application.

Rules
- A request is checked from what costs least to what costs most: its method, name, headers, rate, body, signature, JSON.
- An event is stored before it is acknowledged. If it cannot be stored, the sender is told to try again.
- Events that arrive at the same time are stored together (`EventBatches`), so that what people write does not wait
  behind each of a flood.
- Memory is bounded: the server bounds how many connections send a body of up to SMALL, and larger ones are read from
  a few senders at the same time. So slow senders without a secret delay no small delivery.
- A sender learns that it was refused, and not why its signature is wrong. The log says why, once a minute for each
  hook and reason; it quotes nothing of the request.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from agent.errors import StoreError
from agent.ports.clock import Clock
from agent.ports.webhooks import ArrivedEvent, EventAdded, NewWebhookEvent, WebhookEvents
from bot.chat.backoff import OncePerMinute
from bot.chat.http_routes import BODY_BYTES, RequestRefused, read_body
from bot.chat.telemetry import RequestEnd, RequestHandled, Telemetry
from bot.webhooks import texts
from bot.webhooks.config import Hook
from bot.webhooks.deliveries import Event, Ignored, Refused, read
from bot.webhooks.storing import EventBatches

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

log = logging.getLogger(__name__)

PATH: Final = "/hooks"
SMALL: Final = 65_536  # Bytes: most deliveries are smaller
LARGE_AT_ONCE: Final = 8  # Bodies of a megabyte, and their JSON several times that
IGNORED_AT_ONCE: Final = 2  # SQLite has one writer, which writes in the order in which it was asked
PATIENCE_S: Final = 10.0  # For a large body: senders give up after ten seconds or more
MAX_WAITING: Final = 1_000  # Events of a hook that were not posted yet
MAX_HEADERS: Final = 100
MAX_RECENT: Final = 10_000
RECENT: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)
RETRY_S: Final = 60


@dataclass(frozen=True, slots=True)
class Response:
    """`end`: for operators. `why`: for the log, "" if nothing is to be logged."""

    status: int
    text: str
    end: RequestEnd
    why: str = ""
    headers: tuple[tuple[bytes, bytes], ...] = ()


_ENDS: Final = {400: RequestEnd.INVALID, 408: RequestEnd.TOO_SLOW, 413: RequestEnd.TOO_LARGE, 415: RequestEnd.INVALID}
_RETRY: Final = ((b"retry-after", str(RETRY_S).encode()),)


@dataclass(slots=True)
class MinuteRates:
    """Counts stored deliveries by hook, in the memory of this process."""

    _times: dict[str, deque[datetime]] = field(default_factory=dict[str, deque[datetime]])

    def is_reached(self, hook: Hook, now: datetime) -> bool:
        """Count one more delivery and return False; or return True, if it would exceed the hook's rate."""
        times = self._times.setdefault(hook.name, deque(maxlen=hook.rate))
        if len(times) == hook.rate and times[0] > now - MINUTE:
            return True
        times.append(now)
        return False

    def give_back(self, hook: Hook, counted: datetime) -> None:
        """Count no longer a delivery that was counted at this time."""
        times = self._times[hook.name]
        if counted in times:  # it may have been pushed out
            times.remove(counted)


@dataclass(slots=True)
class RecentIds:
    """The ids of the last stored deliveries, in the memory of this process: who repeats one costs the store nothing."""

    _until: dict[tuple[str, str], datetime] = field(default_factory=dict[tuple[str, str], datetime])

    def has(self, hook: Hook, ids: Sequence[str], now: datetime) -> bool:
        return any(self._until.get((hook.name, each), now) > now for each in ids)

    def note(self, hook: Hook, id_: str, now: datetime) -> None:
        if len(self._until) >= MAX_RECENT:
            del self._until[next(iter(self._until))]
        self._until[hook.name, id_] = now + RECENT


@dataclass(slots=True, eq=False)
class Receiver:
    """The ASGI application. `hooks`: by their names."""

    hooks: Mapping[str, Hook]
    events: WebhookEvents
    clock: Clock
    telemetry: Telemetry
    body_s: float = 5.0
    _rates: MinuteRates = field(default_factory=MinuteRates)
    _recent: RecentIds = field(default_factory=RecentIds)
    _reading_large: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LARGE_AT_ONCE))
    _ignoring: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(IGNORED_AT_ONCE))
    _logged: OncePerMinute = field(default_factory=OncePerMinute)
    _batches: EventBatches = field(init=False)

    def __post_init__(self) -> None:
        self._batches = EventBatches(self.events, MAX_WAITING)

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        name = str(scope["path"]).removeprefix(PATH).removeprefix("/")
        hook = self.hooks.get(name)
        if hook is None:
            response = Response(404, texts.TOLD_UNKNOWN, RequestEnd.INVALID, "there is no such webhook")
        else:
            response = await self._receive(hook, scope, receive)
        endpoint = texts.ENDPOINT.format(name=hook.name if hook else "unknown")
        self.telemetry.record(RequestHandled(endpoint, response.end))
        if response.why:
            cause = f"{endpoint} {response.why}"
            if (more := self._logged.due(cause, self.clock.monotonic())) is not None:
                log.warning(
                    "a delivery to the %s was refused (%d): %s%s", endpoint, response.status, response.why, more
                )
        await _respond(response, send)

    async def _receive(self, hook: Hook, scope: "Scope", receive: "Receive") -> Response:
        if scope["method"] != "POST":
            return Response(
                405, texts.TOLD_METHOD, RequestEnd.INVALID, "it is not a POST request", ((b"allow", b"POST"),)
            )
        headers = headers_of(scope)
        if headers is None:
            return Response(431, texts.TOLD_HEADERS, RequestEnd.TOO_LARGE, "it has too many headers")
        if "transfer-encoding" in headers or not headers.get("content-length", "").isdecimal():
            return Response(411, texts.TOLD_LENGTH, RequestEnd.INVALID, "it does not say how long it is")
        if is_small(headers["content-length"]):
            return await self._read(hook, headers, scope, receive, SMALL)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._reading_large.acquire()
        except TimeoutError:
            return Response(503, texts.TOLD_BUSY, RequestEnd.UNAVAILABLE, "too many large ones came at once", _RETRY)
        try:
            return await self._read(hook, headers, scope, receive, BODY_BYTES)
        finally:
            self._reading_large.release()

    async def _read(
        self, hook: Hook, headers: Mapping[str, str], scope: "Scope", receive: "Receive", limit: int
    ) -> Response:
        try:
            body = await read_body(scope, receive, limit=limit, seconds=self.body_s)
        except RequestRefused as refused:
            return Response(refused.status, str(refused), _ENDS.get(refused.status, RequestEnd.INVALID), str(refused))
        return await self._accept(hook, headers, body)

    async def _accept(self, hook: Hook, headers: Mapping[str, str], body: bytes) -> Response:
        now = self.clock.now()
        reading = read(hook, headers, body, now)
        if isinstance(reading, Refused):
            end = RequestEnd.UNSIGNED if reading.status == 401 else RequestEnd.INVALID
            end = RequestEnd.EXPIRED if reading.is_old else end
            return Response(reading.status, reading.told, end, reading.why)
        if self._recent.has(hook, reading.ids, now):
            return Response(200, texts.TOLD_DUPLICATE, RequestEnd.REPEATED)
        if isinstance(reading, Ignored):
            return await self._ignore(hook, reading, now)
        # Only what is stored counts: else those who forge a delivery, or repeat one, could use up the rate.
        if self._rates.is_reached(hook, now):
            why = texts.RATE_REACHED.format(rate=hook.rate)
            return Response(429, texts.TOLD_RATE, RequestEnd.LIMITED, why, _RETRY)
        is_stored = False
        try:
            response = await self._store(hook, reading, now)
            is_stored = response.status == 202
        finally:
            if not is_stored:
                self._rates.give_back(hook, now)
        return response

    async def _ignore(self, hook: Hook, ignored: Ignored, now: datetime) -> Response:
        if ignored.ids:
            try:
                async with self._ignoring:
                    added = await self.events.add_ignored(hook.name, ignored.ids, now)
            except StoreError as error:
                return Response(503, texts.TOLD_UNSTORED, RequestEnd.UNAVAILABLE, str(error), _RETRY)
            self._recent.note(hook, ignored.ids[0], now)
            if added is EventAdded.DUPLICATE:
                return Response(200, texts.TOLD_DUPLICATE, RequestEnd.REPEATED)
        return Response(200, texts.TOLD_IGNORED, RequestEnd.ACCEPTED)

    async def _store(self, hook: Hook, event: Event, now: datetime) -> Response:
        new = NewWebhookEvent(event.hook, event.ids, event.text, event.key, event.closes)
        run_at = (hook.quiet and hook.quiet.until(now)) or now
        try:
            added = await self._batches.add(ArrivedEvent(new, now, run_at))
        except StoreError as error:
            return Response(503, texts.TOLD_UNSTORED, RequestEnd.UNAVAILABLE, str(error), _RETRY)
        if added is not EventAdded.FULL:
            self._recent.note(hook, event.ids[0], now)
        match added:
            case EventAdded.STORED:
                return Response(202, texts.TOLD_STORED, RequestEnd.ACCEPTED)
            case EventAdded.DUPLICATE:
                return Response(200, texts.TOLD_DUPLICATE, RequestEnd.REPEATED)
            case EventAdded.FULL:
                why = texts.TOO_MANY_WAIT.format(most=MAX_WAITING)
                return Response(503, texts.TOLD_BUSY, RequestEnd.LIMITED, why, _RETRY)


def is_small(length: str) -> bool:
    """Return whether a Content-Length of decimal digits is one of at most SMALL bytes."""
    return len(length) <= len(str(SMALL)) and int(length) <= SMALL


def headers_of(scope: "Scope") -> Mapping[str, str] | None:
    """Return the headers by their names in lowercase, repeated ones joined; None if there are too many."""
    pairs: list[tuple[bytes, bytes]] = scope["headers"]
    if len(pairs) > MAX_HEADERS:
        return None
    headers = dict[str, str]()
    for name, value in pairs:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


async def _respond(response: Response, send: "Send") -> None:
    body = f"{response.text}.\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *response.headers,
    ]
    if response.status >= 400:
        headers.append((b"connection", b"close"))  # its body may not have been read
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
