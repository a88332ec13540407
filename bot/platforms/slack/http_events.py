"""Events over HTTP: Slack sends each as a signed request, to any process behind the same load balancer."""

import asyncio
import json
import logging
import re
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from urllib.parse import parse_qs

from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from slack_bolt.adapter.aiohttp import to_aiohttp_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse
from slack_sdk.signature import Clock as VerifiersClock
from slack_sdk.signature import SignatureVerifier

from agent.errors import CogencyError
from agent.messages import Json, JsonObject, is_too_deep
from agent.ports.clock import Clock
from bot.chat.backoff import OncePerMinute
from bot.chat.http_listener import closing, listen, quiet_logger
from bot.chat.listen_errors import cannot_listen
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import api
from bot.platforms.slack.markup import mentioned_users
from bot.platforms.slack.options import HttpEvents, SlackApp
from bot.platforms.slack.settings import APP_NAME
from bot.platforms.slack.sockets import EVENTS, ConnectionListener

# For events, commands and clicks. With several apps, each has its own path below it.
EVENTS_PATH: Final = "/slack/events"
HEALTH_PATH: Final = "/health"  # For the load balancer: 200 while the process serves, 503 and "starting" before that

log = logging.getLogger(__name__)

# Slack's largest requests are windows with long texts, up to a quarter of this.
BODY_BYTES: Final = 1_048_576
READ_S: Final = 5.0  # For a body: Slack waits three seconds for the whole answer
LEAVE_S: Final = 3.0  # For requests in flight at a shutdown: Slack waits no longer
# Slack's reasons for a retry of what did not arrive, or was not stored. With "http_timeout", it arrived and took long.
LOST_REASONS: Final = frozenset({"connection_failed", "ssl_error", "http_error", "too_many_redirects", "unknown_error"})
MAX_REPEAT: Final = timedelta(minutes=7)  # Slack retries an event for up to about six minutes
STEP: Final = timedelta(minutes=1)  # Between the times of arrivals that are kept
GAP_PAUSE: Final = timedelta(minutes=5)  # Between two readings of history: Slack's own attempts are this far apart

MAX_SIGNATURE_AGE: Final = timedelta(minutes=5)  # Slack's rule: an older signature is a replay
# Bodies that are read at the same time for longer than SLOW_S, and in all: at BODY_BYTES each, they fit into memory.
# Slack's arrive with their headers, however many are sent at once.
MAX_READS: Final = 64
MAX_FRESH_READS: Final = 256
SLOW_S: Final = 1.0
# A quarter of the file descriptors that most systems allow a process: models, platforms and the database need theirs.
MAX_CONNECTIONS: Final = 256
MAX_CHALLENGE_CHARS: Final = 200
FORM: Final = "application/x-www-form-urlencoded"
SIGNING_SETTING: Final = "SLACK_SIGNING_SECRET"
# The fields that name a request's workspace, the most reliable first.
TEAM_PATHS: Final = (("view", "app_installed_team_id"), ("team_id",), ("team", "id"), ("message", "team"))
_APP_ID: Final = re.compile(r"A[A-Z0-9]{1,30}", re.ASCII)
_SIGNATURE: Final = re.compile(r"v0=[0-9a-f]{64}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}")

UNSIGNED: Final = (
    "a request was refused because Slack did not sign it with %s within the last five minutes. If it came from Slack, "
    "copy that secret again from the app's Basic Information page, or correct this machine's clock"
)


@dataclass(frozen=True, slots=True)
class _SlackClock(VerifiersClock):
    clock: Clock

    def now(self) -> float:
        return self.clock.now().timestamp()


class EventsEndpoint:
    """Receives one app's requests over HTTP, from a listener that it may share with others. `failed` never raises: the
    next request may succeed.

    Rules
    - A request is answered with 200 only after its event is stored. Otherwise Slack sends it again, up to three times,
      to any process behind the load balancer. The ledger dedupes it by its ids.
    - Silence does not show that requests were lost: a quiet workspace is silent, too. A retry of a request that did not
      arrive, or was not stored, shows it. History is then read since the last arrival before Slack may have started to
      retry; later arrivals do not show that nothing was lost between them.
    """

    def __init__(
        self,
        take: Callable[[JsonObject], Awaitable[bool]],
        bolt: AsyncApp,
        app: SlackApp,
        serves: "ServedWorkspace",
        settings: HttpEvents,
        clock: Clock,
        connection: ConnectionListener,
        listener: "EventsListener",
        reads: Callable[[str], Awaitable[bool]],
    ) -> None:
        """`take` and `bolt` as in `Sockets`. `reads`: whether the workspace has a channel; raises CogencyError if that
        is not known now.
        """
        self.app = app
        self.reads = reads
        self.serves = serves
        self.settings = settings
        self._take = take
        self._bolt = bolt
        self._clock = clock
        self._connection = connection
        self._listener = listener
        self._verifier = SignatureVerifier(settings.signing_secret.reveal(), _SlackClock(clock))
        # The times of first attempts that arrived: the last one older than MAX_REPEAT, and those since.
        self._arrivals = deque([clock.now()])
        self._last_gap: datetime | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Start to receive requests. Raises SettingsError or PortInUse when the address is not available."""
        await self._listener.admit(self)
        self._connection.connected()

    def silence(self) -> float:
        """Return 0: over HTTP, a quiet workspace cannot be told from a lost connection."""
        return 0.0

    async def close(self) -> None:
        await self._listener.dismiss(self)

    def is_signed(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether Slack signed it for this app. The secret is compared in constant time."""
        return _is_signed(self._verifier, body, headers)

    async def answer(self, request: AsyncBoltRequest, headers: Mapping[str, str]) -> BoltResponse:
        """Handle a request and return the answer to Slack."""
        if request.body.get("type") in EVENTS:
            response = BoltResponse(status=200 if await self._take(request.body) else 503)
        else:
            response = await self._bolt.async_dispatch(request)
        self._note_arrival(stored=response.status == 200, reason=headers.get("x-slack-retry-reason", ""))
        return response

    def _note_arrival(self, *, stored: bool, reason: str) -> None:
        """Record an arrival; report a gap if it is a retry of a request that was lost."""
        if not stored:
            return
        now = self._clock.now()
        if reason in LOST_REASONS and (self._last_gap is None or now - self._last_gap > GAP_PAUSE):
            self._last_gap = now
            self._connection.gap(self._arrivals[0])
        if not reason and now - self._arrivals[-1] >= STEP:
            self._arrivals.append(now)
        while len(self._arrivals) > 1 and self._arrivals[1] <= now - MAX_REPEAT:
            self._arrivals.popleft()


class ListenersPages(Protocol):
    """Pages that are served beside Slack's requests, such as those of `bot.platforms.slack.installing`."""

    @property
    def delivery(self) -> HttpEvents: ...
    def add_to(self, server: web.Application) -> None: ...


class EventsListener:
    """Listens for Slack's requests while an app is served, and routes each to its app.

    Rules
    - Only requests that Slack signed within the last five minutes are handled: one whose headers cannot be a signature
      is refused before its body is read. The answer does not say why, and the log has one line a minute.
    - The path /slack/events/NAME names the app. At /slack/events it is the only app, or the one whose id the body
      holds. The request must be signed with that app's own secret; no other app's is accepted. If an app is in several
      workspaces, the body says which.
    - A request for an app that is not served now is answered with 503, so that Slack sends it again.
    - Requests of others cannot keep Slack's out: they are not rate limited together. If too many bodies are read at
      once, the one that has waited longest is given up once it is slow; Slack's arrive with their headers. Likewise
      the oldest idle connections are closed: each costs a file descriptor.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged = OncePerMinute()
        self._apps: list[EventsEndpoint] = []
        self._pages: ListenersPages | None = None
        self._lock = asyncio.Lock()
        # When each of the bodies that are being read began, the oldest first.
        self._body_timeouts: dict[asyncio.Timeout, float] = {}
        self._busy: set[RequestHandler] = set()  # The connections with a request in flight
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None

    async def serve_pages(self, pages: "ListenersPages") -> None:
        """Serve these pages, and listen until `close`, also while there is no app. Raises as `admit`."""
        async with self._lock:
            self._pages = pages
            await self._open(pages.delivery)

    async def close(self) -> None:
        async with self._lock:
            self._pages = None
            await self._close()

    async def admit(self, app: EventsEndpoint) -> None:
        """Route an app's requests to it. Raises SettingsError or PortInUse when the address is not available."""
        async with self._lock:
            if self._listening is None:
                await self._open(app.settings)
            self._apps.append(app)
        log.info("accepting requests for %s on port %d, %s", app.app.label, self.port, events_path(app.app.name))

    async def dismiss(self, app: EventsEndpoint) -> None:
        """Route no more requests to an app; stop listening after the last one."""
        async with self._lock:
            if app in self._apps:
                self._apps.remove(app)
            if not self._apps and self._pages is None:
                await self._close()

    async def _open(self, settings: HttpEvents) -> None:
        server = web.Application(client_max_size=BODY_BYTES)
        server.router.add_post(EVENTS_PATH, self._take)
        server.router.add_post(f"{EVENTS_PATH}/{{app:{APP_NAME}}}", self._take)
        server.router.add_get(HEALTH_PATH, _healthy)
        if self._pages is not None:
            self._pages.add_to(server)
        # Slack compresses nothing: unpacking would only serve attackers.
        self._runner = web.AppRunner(
            server,
            access_log=None,
            logger=quiet_logger(log, self._warn),
            shutdown_timeout=LEAVE_S,
            auto_decompress=False,
            keepalive_timeout=settings.idle_s,
        )
        await self._runner.setup()
        try:
            self._listening = await asyncio.get_running_loop().create_server(
                self._connected, settings.host, settings.port
            )
        except OSError as error:
            await self._close()
            raise cannot_listen("COGENCY_SLACK_HTTP", settings.host, settings.port, error) from error

    @property
    def port(self) -> int:
        """The port on which it listens; 0 if it does not."""
        sockets = self._listening.sockets if self._listening is not None else ()
        return sockets[0].getsockname()[1] if sockets else 0

    async def _close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _connected(self) -> RequestHandler:
        """Make the handler of a new connection."""
        assert self._runner is not None  # noqa: S101 -- it listens
        assert self._runner.server is not None  # noqa: S101 -- it listens
        # Later: several may be accepted together, and none is in the server's list before its connection is made.
        asyncio.get_running_loop().call_later(0, self._close_oldest, self._runner.server)
        return self._runner.server()

    def _close_oldest(self, server: web.Server) -> None:
        """Close idle connections above MAX_CONNECTIONS, the oldest first."""
        for connection in server.connections[:-MAX_CONNECTIONS]:
            if connection not in self._busy:
                connection.force_close()
                self._warn("more than %d open connections to Slack's port: the oldest are closed", MAX_CONNECTIONS)

    async def _take(self, request: web.Request) -> web.StreamResponse:
        self._busy.add(request.protocol)
        try:
            return await self._answer(request)
        finally:
            self._busy.discard(request.protocol)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        # Before the body is read: without a signature no stranger may make the bot read megabytes.
        if not self._looks_signed(request.headers):
            if "x-slack-signature" in request.headers:
                self._warn(UNSIGNED, self._secrets())
            return closing(web.Response(status=401))
        try:
            async with asyncio.timeout(READ_S) as reading:
                self._body_timeouts[reading] = asyncio.get_running_loop().time()
                try:
                    # More bodies at once than Slack sends: the oldest makes room, being the likeliest never to end.
                    self._cancel_oldest()
                    body = await request.read()
                finally:
                    self._body_timeouts.pop(reading, None)
        except TimeoutError:
            return closing(web.Response(status=408))
        except (web.RequestPayloadError, ConnectionError):
            return web.Response(status=400)
        if (challenge := self._challenge(body, request.headers)) is not None:
            return web.Response(text=challenge)
        candidates = self._candidates(request.match_info.get("app", ""), body, request.content_type)
        if not candidates:
            return web.Response(status=503)
        # Several apps may share an address: the signature says whose request it is.
        if not (signers := [app for app in candidates if app.is_signed(body, request.headers)]):
            self._warn(UNSIGNED, candidates[0].app.setting(SIGNING_SETTING))
            return web.Response(status=401)
        if not _is_object(body, request.content_type):
            self._warn("a request that Slack signed has an unknown form")
            return web.Response(status=400)
        bolt_request = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        try:
            app = await _select_app(signers, bolt_request.body)
        except CogencyError:
            return web.Response(status=503)
        if app is None:
            return web.Response(status=503)
        response = await app.answer(bolt_request, request.headers)
        return await to_aiohttp_response(response)

    def _candidates(self, name: str, body: bytes, media_type: str) -> list[EventsEndpoint]:
        """Return the apps that the request may be for. Of the body, which is not verified yet, only an id is read."""
        if name:
            return [app for app in self._apps if app.app.name == name]
        if len(self._apps) < 2 and self._pages is None:
            return self._apps
        id_ = app_id_in(body, media_type)
        if not (candidates := [app for app in self._apps if id_ and app.app.app_id == id_]):
            self._warn(platforms_texts.SLACK_APP_NOT_SERVED, id_ or "without an id", EVENTS_PATH)
        return candidates

    def _challenge(self, body: bytes, headers: Mapping[str, str]) -> str | None:
        """Return the answer to Slack's test of the address, before any workspace has installed the app; else None."""
        if self._pages is None or b"url_verification" not in body:
            return None
        verifier = SignatureVerifier(self._pages.delivery.signing_secret.reveal(), _SlackClock(self._clock))
        parsed = _json(body) if _is_signed(verifier, body, headers) else None
        is_verification = isinstance(parsed, dict) and parsed.get("type") == "url_verification"
        return api.text(parsed, "challenge")[:MAX_CHALLENGE_CHARS] if is_verification else None

    def _secrets(self) -> str:
        return self._apps[0].app.setting(SIGNING_SETTING) if len(self._apps) == 1 else "its app's signing secret"

    def _cancel_oldest(self) -> None:
        """Give up the bodies that have been read for longest, if there are too many. Fresh ones get SLOW_S first."""
        loop = asyncio.get_running_loop()
        while len(self._body_timeouts) > MAX_READS:
            oldest, began = next(iter(self._body_timeouts.items()))
            if len(self._body_timeouts) <= MAX_FRESH_READS and (left := began + SLOW_S - loop.time()) > 0:
                loop.call_later(left, self._cancel_oldest)
                return
            del self._body_timeouts[oldest]
            if not oldest.expired():
                oldest.reschedule(loop.time())
            self._warn("more than %d unverified requests at once: the oldest are dropped", MAX_READS)

    def _looks_signed(self, headers: Mapping[str, str]) -> bool:
        """Whether the headers have the form and the age of a signature; otherwise the body is not read."""
        timestamp = headers.get("x-slack-request-timestamp", "")
        if not _SIGNATURE.fullmatch(headers.get("x-slack-signature", "")) or not _SECONDS.fullmatch(timestamp):
            return False
        return abs(self._clock.now().timestamp() - int(timestamp)) <= MAX_SIGNATURE_AGE.total_seconds()

    def _warn(self, sentence: str, *args: object) -> None:
        """Log a warning, up to once a minute."""
        if (more := self._logged.due(sentence, self._clock.monotonic())) is not None:
            log.warning("%s%s", sentence % args, more)


def events_path(name: str) -> str:
    """Return the path for an app's requests; `name` is "" for the only app."""
    return f"{EVENTS_PATH}/{name}" if name else EVENTS_PATH


def app_id_in(body: bytes, media_type: str) -> str:
    """Return the id (A…) of the app that a request names; "" for none. Pure."""
    parsed = _form(body) if media_type == FORM else _json(body)
    if isinstance(parsed, dict) and isinstance(parsed.get("payload"), str):
        parsed = _json(str(parsed["payload"]).encode(errors="replace"))
    id_ = api.text(parsed, "api_app_id") if isinstance(parsed, dict) else ""
    return id_ if _APP_ID.fullmatch(id_) else ""


def _is_signed(verifier: SignatureVerifier, body: bytes, headers: Mapping[str, str]) -> bool:
    try:
        return verifier.is_valid_request(body, dict(headers))
    except (ArithmeticError, TypeError, ValueError):  # no number of this age, no UTF-8, no ASCII: not Slack's
        return False


@dataclass(frozen=True, slots=True)
class ServedWorkspace:
    """A workspace (T…) whose requests an endpoint takes, its bot there (U…), and its organisation (E…, "" for none).
    `takes_others`: also those of workspaces that no endpoint names, for the only app of a token.
    """

    team: str
    user: str
    enterprise: str = ""
    takes_others: bool = False


def select_workspace(served: Sequence[ServedWorkspace], body: Mapping[str, Any]) -> ServedWorkspace | None:
    """Return the workspace that a request is for: the first whose bot is mentioned in a channel that it shares, else
    the one that the request was delivered for, else the one that it names. Pure.

    For a channel that several workspaces share, Slack sends one request. Elsewhere a mention is a text that anybody can
    write, and leads to no other workspace. Slack does not say with whom a channel is shared: see `_select_app`. None:
    the workspace installed the app by its page, and this process does not serve it, or not yet.
    """
    event = api.fields(dict(body), "event")
    teams, enterprises = _teams(body), _enterprises(body)
    is_shared = body.get("is_ext_shared_channel") is True
    named = [*mentioned_users(api.text(event, "text")), api.text(event, "item_user")]
    for user in filter(None, named):
        for workspace in served:
            # A mention may lead to another workspace only if Slack itself says that the two have something to do with
            # each other.
            may_lead = is_shared or workspace.team in teams or workspace.enterprise in enterprises
            if workspace.user == user and may_lead:
                return workspace
    own = (workspace for team in filter(None, teams) for workspace in served if workspace.team == team)
    return next(own, None) or next((workspace for workspace in served if workspace.takes_others), None)


async def _select_app(apps: Sequence[EventsEndpoint], body: Mapping[str, Any]) -> EventsEndpoint | None:
    """Return the app of the workspace that a request is for. Raises CogencyError if that cannot be known now.

    A mention in a shared channel leads only to a workspace that has this channel: somebody else may share a channel of
    their own with anybody, and mention any bot in it.
    """
    left = list(apps)
    while (workspace := select_workspace([app.serves for app in left], body)) is not None:
        app = next(app for app in left if app.serves is workspace)
        if workspace.takes_others or _is_delivered_for(workspace, body):
            return app
        if await app.reads(
            api.text(dict(body), "event", "channel") or api.text(dict(body), "event", "item", "channel")
        ):
            return app
        left.remove(app)
    return None


def _is_delivered_for(workspace: ServedWorkspace, body: Mapping[str, Any]) -> bool:
    return workspace.team in _teams(body)  # that it is of the same organisation is no proof: each has its own channels


def _teams(body: Mapping[str, Any]) -> list[str]:
    """Return the workspaces (T…) that a request names, the most reliable first; "" for a field that it lacks."""
    authorizations = api.items(dict(body), "authorizations")
    teams = [api.text(authorization, "team_id") for authorization in authorizations]
    return [*teams, *(api.text(dict(body), *path) for path in TEAM_PATHS)]


def _enterprises(body: Mapping[str, Any]) -> set[str]:
    items = (*api.items(dict(body), "authorizations"), dict(body))
    return {api.text(item, "enterprise_id") for item in items} - {""}


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")


@asynccontextmanager
async def starting(settings: HttpEvents) -> AsyncGenerator[None]:
    """Answer every request with 503 until the block ends. The load balancer learns that this process starts, and Slack
    retries; such a retry makes the bot read history.
    """
    server = web.Application()
    server.router.add_route("*", "/{path:.*}", _starting)
    runner = web.AppRunner(server, access_log=None, logger=quiet_logger(log, log.debug), shutdown_timeout=0)
    await runner.setup()
    listening: asyncio.Server | None = None
    try:
        with suppress(OSError):  # `EventsListener` reports why the address is not available
            listening = await listen(runner, settings.host, settings.port, MAX_CONNECTIONS)
        yield
    finally:
        if listening is not None:
            listening.close()
        await runner.cleanup()


async def _starting(_: web.Request) -> web.Response:
    return closing(web.Response(status=503, text="starting"))


def _is_object(body: bytes, media_type: str) -> bool:
    """Whether it is a JSON object, or a form whose payload (if it has one) is a JSON object."""
    parsed = _form(body) if media_type == FORM else _json(body)
    if media_type == FORM and isinstance(parsed, dict) and "payload" in parsed:
        parsed = _json(str(parsed["payload"]).encode())
    return isinstance(parsed, dict)


def _form(body: bytes) -> Json:
    """Return the first value of each field; None if the form cannot be read."""
    try:
        return {name: values[0] for name, values in parse_qs(body.decode(), max_num_fields=100).items()}
    except ValueError:
        return None


def _json(body: bytes) -> Json:
    try:
        decoded = body.decode()
        return None if is_too_deep(decoded) else json.loads(decoded)
    except ValueError:
        return None
