"""Events over HTTP: Slack sends each as a signed request, to this process or to another behind the same balancer.

Above: `run`. Below: aiohttp's server, slack-sdk's check of signatures, slack-bolt, which is handed what comes.

Rules
- Nothing is read that Slack did not sign within the last five minutes. Who is refused learns nothing of the reason.
- A request is answered after what it brings is stored, or not with 200: Slack then sends it again, up to three times,
  to whichever process the balancer chooses. The ledger knows it by its ids.
- Silence does not tell that requests got lost: a quiet workspace is as silent. What tells is a request that Slack could
  not deliver at first, or that could not be stored: then history is read since the last one that arrived well before
  it. What has arrived since then, anew, says nothing about what came in between.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.signature import Clock as VerifiersClock
from slack_sdk.signature import SignatureVerifier

from agent.errors import SettingsError
from agent.ports import Clock
from bot.access.told import Told
from bot.platforms.slack.delivery.line import Line
from bot.platforms.slack.delivery.paths import EVENTS_PATH, HEALTH_PATH
from bot.platforms.slack.settings import HttpEvents

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

UNSIGNED: Final = (
    "a request was refused that Slack did not sign with SLACK_SIGNING_SECRET within five minutes: if it came from "
    "Slack, copy that secret again from the app's page, Basic Information, or set this machine's clock"
)


@dataclass(frozen=True, slots=True)
class _SlackClock(VerifiersClock):
    clock: Clock

    def now(self) -> float:
        return self.clock.now().timestamp()


class Endpoint:
    """Listens for Slack's requests. `failed` never does: whoever comes next may be served."""

    def __init__(self, app: AsyncApp, settings: HttpEvents, clock: Clock, line: Line) -> None:
        self._app = app
        self._settings = settings
        self._clock = clock
        self._line = line
        self._told = Told(clock)
        self._verifier = SignatureVerifier(settings.signing_secret.reveal(), _SlackClock(clock))
        self._runner: web.AppRunner | None = None
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
            shutdown_timeout=LEAVE_S,
            auto_decompress=False,
            keepalive_timeout=self._settings.idle_s,
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._settings.host, self._settings.port).start()
        except OSError as error:
            await self.close()
            where = f"{self._settings.host}:{self._settings.port}"
            wrong = f"COGENCY_SLACK_HTTP: cannot listen on {where} ({error.strerror})"
            raise SettingsError(f"{wrong}: choose an address of this machine, and a free port.") from error
        log.info("Slack's requests are taken at port %d, %s", self.port, EVENTS_PATH)
        self._line.connected()

    @property
    def port(self) -> int:
        """Where it listens; 0 if it does not."""
        addresses = self._runner.addresses if self._runner is not None else []
        return addresses[0][1] if addresses else 0

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _take(self, request: web.Request) -> web.StreamResponse:
        try:
            async with asyncio.timeout(READ_S):
                body = await request.read()
        except TimeoutError:
            return web.Response(status=408)
        except (web.RequestPayloadError, ConnectionError):
            return web.Response(status=400)
        if not self._signed(body, request.headers):
            if "x-slack-signature" in request.headers and not self._told.just_now("", UNSIGNED):
                log.warning(UNSIGNED)
            return web.Response(status=401)
        try:
            asked = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        except ValueError:
            return web.Response(status=400)
        response = await self._app.async_dispatch(asked)
        self._note(stored=response.status == 200, reason=request.headers.get("x-slack-retry-reason", ""))
        return await to_aiohttp_response(response)

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
