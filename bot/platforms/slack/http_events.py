"""Events over HTTP: Slack sends each as a signed request, to this process or to another behind the same balancer."""

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import Clock as VerifiersClock
from slack_sdk.signature import SignatureVerifier

from agent.errors import SettingsError
from agent.messages import Json, JsonObject, is_too_deep
from agent.ports import Clock
from bot.caches import OncePerMinute
from bot.platforms.slack.options import HttpEvents
from bot.platforms.slack.sockets import EVENTS, ConnectionListener
from bot.texts import setup_texts

# Where the bot answers over HTTP.

EVENTS_PATH: Final = "/slack/events"
"""For events, commands and what is clicked: one address for all of them."""
HEALTH_PATH: Final = "/health"
"""For the balancer: 200 as long as the process serves, 503 and "starting" before that."""

log = logging.getLogger(__name__)

BODY_BYTES: Final = 1_048_576
"""The largest that Slack sends are windows with everything that was typed, a quarter of this."""
READ_S: Final = 5.0
"""For the body: Slack itself waits for three seconds altogether."""
LEAVE_S: Final = 3.0
"""Requests in flight may end in this time at a shutdown: so long Slack waits."""
LOST_REASONS: Final = frozenset({"connection_failed", "ssl_error", "http_error", "too_many_redirects", "unknown_error"})
"""Why Slack sends again what did not get here. "http_timeout" is not among them: it was here, and took too long."""
REPEATED: Final = timedelta(minutes=7)
"""For so long Slack sends an event again, at most: six minutes and a little."""
STEP: Final = timedelta(minutes=1)
"""Times of arrivals are kept so far apart."""
GAP_PAUSE: Final = timedelta(minutes=5)
"""Between two readings of history: so far apart are Slack's own attempts."""

AGE: Final = timedelta(minutes=5)
"""Slack's own rule: what was signed longer ago is a repetition by somebody else."""
AT_ONCE: Final = 64
"""Bodies that are read at the same time; their most bytes fit into memory."""
CONNECTIONS: Final = 256
"""A quarter of the files that most systems let a process have: models, platforms and the database need theirs."""
_SIGNATURE: Final = re.compile(r"v0=[0-9a-f]{64}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}")

UNSIGNED: Final = (
    "a request was refused that Slack did not sign with SLACK_SIGNING_SECRET within five minutes: if it came from "
    "Slack, copy that secret again from the app's page, Basic Information, or set this machine's clock"
)


@dataclass(frozen=True, slots=True)
class _SlackClock(VerifiersClock):
    clock: Clock

    def now(self) -> float:
        return self.clock.now().timestamp()


class EventsEndpoint:
    """Listens for Slack's requests. `failed` never does: whoever comes next may be served.

    Rules
    - Nothing is read that Slack did not sign within the last five minutes: what cannot be signed is refused by its
      headers, before its body is read. Who is refused learns nothing of the reason, and the log has a line a minute.
    - Nobody else's requests keep Slack's out, however many come: nothing counts them, and where too many bodies are
      read at once, the one that has been awaited for longest is given up. Slack's arrive with their headers. So it is
      with connections: each costs a file, and a process has few.
    - A request is answered after what it brings is stored, or not with 200: Slack then sends it again, up to three
      times, to whichever process the balancer chooses. The ledger knows it by its ids.
    - Silence does not tell that requests got lost: a quiet workspace is as silent. What tells is a request that Slack
      could not deliver at first, or that could not be stored: then history is read since the last one that arrived well
      before it. What has arrived since then, anew, says nothing about what came in between.
    """

    def __init__(
        self,
        take: Callable[[JsonObject], Awaitable[bool]],
        app: AsyncApp,
        settings: HttpEvents,
        clock: Clock,
        line: ConnectionListener,
    ) -> None:
        """`take` and `app` as in `Sockets`."""
        self._take_in = take
        self._app = app
        self._settings = settings
        self._clock = clock
        self._line = line
        self._logged = OncePerMinute()
        self._reading: dict[asyncio.Timeout, None] = {}
        """The ends of the bodies that are being read, the oldest first."""
        self._answering: set[RequestHandler] = set()
        """The connections by which something is asked."""
        self._verifier = SignatureVerifier(settings.signing_secret.reveal(), _SlackClock(clock))
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None
        self._well = deque([clock.now()])
        """When requests arrived well: the last time before what Slack may still be repeating, and those since."""
        self._read: datetime | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Listen. Raises SettingsError when the address cannot be had."""
        server = web.Application(client_max_size=BODY_BYTES)
        server.router.add_post(EVENTS_PATH, self._take)
        server.router.add_get(HEALTH_PATH, _healthy)
        # Slack compresses nothing, and what others compress is not worth unpacking.
        self._runner = web.AppRunner(
            server,
            access_log=None,
            logger=_quiet(self._warn),
            shutdown_timeout=LEAVE_S,
            auto_decompress=False,
            keepalive_timeout=self._settings.idle_s,
        )
        await self._runner.setup()
        try:
            self._listening = await asyncio.get_running_loop().create_server(
                self._connected, self._settings.host, self._settings.port
            )
        except OSError as error:
            await self.close()
            where = f"{self._settings.host}:{self._settings.port}"
            wrong = f"COGENCY_SLACK_HTTP: cannot listen on {where} ({error.strerror})"
            raise SettingsError(setup_texts.CHOOSE_ADDRESS.format(problem=wrong)) from error
        log.info("Slack's requests are taken at port %d, %s", self.port, EVENTS_PATH)
        self._line.connected()

    @property
    def port(self) -> int:
        """Where it listens; 0 if it does not."""
        sockets = self._listening.sockets if self._listening is not None else ()
        return sockets[0].getsockname()[1] if sockets else 0

    def silence(self) -> float:
        """A quiet workspace is as silent as a lost one."""
        return 0.0

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _connected(self) -> RequestHandler:
        """Somebody connects."""
        assert self._runner is not None  # noqa: S101 -- it listens
        assert self._runner.server is not None  # noqa: S101 -- as above
        # Not at once: many may be let in together, and none of them is counted before its connection is made.
        asyncio.get_running_loop().call_later(0, self._close_oldest, self._runner.server)
        return self._runner.server()

    def _close_oldest(self, server: web.Server) -> None:
        """Of too many connections those by which nothing is asked go, the oldest first."""
        for one in server.connections[:-CONNECTIONS]:
            if one not in self._answering:
                one.force_close()
                self._warn("more than %d connections to Slack's port are open: the oldest are closed", CONNECTIONS)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        self._answering.add(request.protocol)
        try:
            return await self._answer(request)
        finally:
            self._answering.discard(request.protocol)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if not self._may_be_signed(request.headers):
            if "x-slack-signature" in request.headers:
                self._warn(UNSIGNED)
            return web.Response(status=401, headers={"Connection": "close"})
        try:
            async with asyncio.timeout(READ_S) as reading:
                self._reading[reading] = None
                try:
                    self._give_up_oldest()
                    body = await request.read()
                finally:
                    self._reading.pop(reading, None)
        except TimeoutError:
            return web.Response(status=408, headers={"Connection": "close"})
        except (web.RequestPayloadError, ConnectionError):
            return web.Response(status=400)
        if not self._signed(body, request.headers):
            self._warn(UNSIGNED)
            return web.Response(status=401)
        if not _is_object(body, request.content_type):
            self._warn("a request that Slack signed is not in a form of Slack's")
            return web.Response(status=400)
        asked = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        if asked.body.get("type") in EVENTS:
            response = BoltResponse(status=200 if await self._take_in(asked.body) else 503)
        else:
            response = await self._app.async_dispatch(asked)
        self._note(stored=response.status == 200, reason=request.headers.get("x-slack-retry-reason", ""))
        return await to_aiohttp_response(response)

    def _give_up_oldest(self) -> None:
        while len(self._reading) > AT_ONCE:
            oldest = next(iter(self._reading))
            del self._reading[oldest]
            if not oldest.expired():
                oldest.reschedule(asyncio.get_running_loop().time())
            self._warn(
                "more than %d requests that claim to be Slack's are read at once: the oldest are given up", AT_ONCE
            )

    def _may_be_signed(self, headers: Mapping[str, str]) -> bool:
        """Whether the headers have the form and the age of a signature: the body is not worth reading otherwise."""
        at = headers.get("x-slack-request-timestamp", "")
        if not _SIGNATURE.fullmatch(headers.get("x-slack-signature", "")) or not _SECONDS.fullmatch(at):
            return False
        return abs(self._clock.now().timestamp() - int(at)) <= AGE.total_seconds()

    def _warn(self, sentence: str, *args: object) -> None:
        """Once a minute, however much garbage comes."""
        if (more := self._logged.due(sentence, self._clock.monotonic())) is not None:
            log.warning("%s%s", sentence % args, more)

    def _signed(self, body: bytes, headers: Mapping[str, str]) -> bool:
        try:
            return self._verifier.is_valid_request(body, dict(headers))
        except (ArithmeticError, TypeError, ValueError):  # no number of this age, no UTF-8, no ASCII: not Slack's
            return False

    def _note(self, *, stored: bool, reason: str) -> None:
        """Whether something may have got lost, and since when."""
        if not stored:
            return
        now = self._clock.now()
        if reason in LOST_REASONS and (self._read is None or now - self._read > GAP_PAUSE):
            self._read = now
            self._line.gap(self._well[0])
        if not reason and now - self._well[-1] >= STEP:
            self._well.append(now)
        while len(self._well) > 1 and self._well[1] <= now - REPEATED:
            self._well.popleft()


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


@asynccontextmanager
async def starting(settings: HttpEvents) -> AsyncGenerator[None]:
    """Until the block ends the balancer is told that this process starts, and Slack to send again what it brings: that
    it could not be delivered at first is why history is read then.
    """
    server = web.Application()
    server.router.add_route("*", "/{path:.*}", _starting)
    runner = web.AppRunner(server, access_log=None, logger=_quiet(log.debug), shutdown_timeout=0)
    await runner.setup()
    try:
        with suppress(OSError):  # whoever serves says why the address cannot be had
            await web.TCPSite(runner, settings.host, settings.port).start()
        yield
    finally:
        await runner.cleanup()


async def _starting(_: web.Request) -> web.Response:
    return web.Response(status=503, text="starting", headers={"Connection": "close"})


def _is_object(body: bytes, media_type: str) -> bool:
    """Whether it is JSON with an object in it, or a form, whose payload (if it has one) is such a JSON."""
    try:
        written = body.decode()
        if media_type == "application/x-www-form-urlencoded":
            payload = parse_qs(written, max_num_fields=100).get("payload")
            if payload is None:
                return True
            written = payload[0]
        found: Json = None if is_too_deep(written) else json.loads(written)
    except ValueError:
        return False
    return isinstance(found, dict)


def _quiet(warn: Callable[[str], None]) -> logging.Logger:
    """For aiohttp's server, which logs a traceback for each request that is no HTTP."""

    class Once(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            if record.levelno >= logging.ERROR and record.exc_info is not None and _is_garbage(record.exc_info[1]):
                warn("a request was refused that is no HTTP")
                return False
            return True

    quiet = logging.Logger(f"{__name__}.server")  # noqa: LOG001 -- one of its own for each endpoint
    quiet.parent = log
    quiet.addFilter(Once())
    return quiet


def _is_garbage(error: BaseException | None) -> bool:
    return isinstance(error, HttpProcessingError)
