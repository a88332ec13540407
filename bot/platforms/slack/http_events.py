"""Events over HTTP: Slack sends each as a signed request, to this process or to another behind the same balancer."""

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
from bot.platforms.slack import api
from bot.platforms.slack.markup import mentioned_users
from bot.platforms.slack.options import HttpEvents, SlackApp
from bot.platforms.slack.sockets import EVENTS, ConnectionListener
from bot.setting_parsers import APP_NAME
from bot.texts import setup_texts

# Where the bot answers over HTTP.

# For events, commands and what is clicked: one address for all of them; of several apps each has its own below it.
EVENTS_PATH: Final = "/slack/events"
HEALTH_PATH: Final = "/health"  # For the balancer: 200 as long as the process serves, 503 and "starting" before that

log = logging.getLogger(__name__)

# The largest that Slack sends are windows with everything that was typed, a quarter of this.
BODY_BYTES: Final = 1_048_576
READ_S: Final = 5.0  # For the body: Slack itself waits for three seconds altogether
LEAVE_S: Final = 3.0  # Requests in flight may end in this time at a shutdown: so long Slack waits
# Why Slack sends again what did not get here. "http_timeout" is not among them: it was here, and took too long.
LOST_REASONS: Final = frozenset({"connection_failed", "ssl_error", "http_error", "too_many_redirects", "unknown_error"})
REPEATED: Final = timedelta(minutes=7)  # For so long Slack sends an event again, at most: six minutes and a little
STEP: Final = timedelta(minutes=1)  # Times of arrivals are kept so far apart
GAP_PAUSE: Final = timedelta(minutes=5)  # Between two readings of history: so far apart are Slack's own attempts

AGE: Final = timedelta(minutes=5)  # Slack's own rule: what was signed longer ago is a repetition by somebody else
AT_ONCE: Final = 64  # Bodies that are read at the same time; their most bytes fit into memory
# A quarter of the files that most systems let a process have: models, platforms and the database need theirs.
CONNECTIONS: Final = 256
MAX_CHALLENGE_CHARS: Final = 200
FORM: Final = "application/x-www-form-urlencoded"
SIGNED_WITH: Final = "SLACK_SIGNING_SECRET"
# Where something says of which workspace it is, the surest first.
TEAM_PATHS: Final = (("view", "app_installed_team_id"), ("team_id",), ("team", "id"), ("message", "team"))
_APP_ID: Final = re.compile(r"A[A-Z0-9]{1,30}", re.ASCII)
_SIGNATURE: Final = re.compile(r"v0=[0-9a-f]{64}")
_SECONDS: Final = re.compile(r"[0-9]{1,12}")

UNSIGNED: Final = (
    "a request was refused that Slack did not sign with %s within five minutes: if it came from "
    "Slack, copy that secret again from the app's page, Basic Information, or set this machine's clock"
)


@dataclass(frozen=True, slots=True)
class _SlackClock(VerifiersClock):
    clock: Clock

    def now(self) -> float:
        return self.clock.now().timestamp()


class EventsEndpoint:
    """What one app is brought over HTTP, by a listener that it may share with others. `failed` never does: whoever
    comes next may be served.

    Rules
    - A request is answered after what it brings is stored, or not with 200: Slack then sends it again, up to three
      times, to whichever process the balancer chooses. The ledger knows it by its ids.
    - Silence does not tell that requests got lost: a quiet workspace is as silent. What tells is a request that Slack
      could not deliver at first, or that could not be stored: then history is read since the last one that arrived well
      before it. What has arrived since then, anew, says nothing about what came in between.
    """

    def __init__(
        self,
        take: Callable[[JsonObject], Awaitable[bool]],
        bolt: AsyncApp,
        app: SlackApp,
        team: str,
        user: str,
        settings: HttpEvents,
        clock: Clock,
        line: ConnectionListener,
        listener: "EventsListener",
    ) -> None:
        """`take` and `bolt` as in `Sockets`; `team`: the app's workspace (T…); `user`: its bot there (U…)."""
        self.app = app
        self.team = team
        self.user = user
        self.settings = settings
        self._take_in = take
        self._bolt = bolt
        self._clock = clock
        self._line = line
        self._listener = listener
        self._verifier = SignatureVerifier(settings.signing_secret.reveal(), _SlackClock(clock))
        # When requests arrived well: the last time before what Slack may still be repeating, and those since.
        self._well = deque([clock.now()])
        self._read: datetime | None = None
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Begin to be brought requests. Raises SettingsError when the address cannot be had."""
        await self._listener.admit(self)
        self._line.connected()

    def silence(self) -> float:
        """A quiet workspace is as silent as a lost one."""
        return 0.0

    async def close(self) -> None:
        await self._listener.dismiss(self)

    def signed(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether Slack signed it for this app. The secret is compared in constant time."""
        return _is_signed(self._verifier, body, headers)

    async def answer(self, asked: AsyncBoltRequest, headers: Mapping[str, str]) -> BoltResponse:
        """What Slack is answered."""
        if asked.body.get("type") in EVENTS:
            response = BoltResponse(status=200 if await self._take_in(asked.body) else 503)
        else:
            response = await self._bolt.async_dispatch(asked)
        self._note(stored=response.status == 200, reason=headers.get("x-slack-retry-reason", ""))
        return response

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


class ListenersPages(Protocol):
    """Pages that are served beside what Slack brings, as `bot.platforms.slack.installing` makes them."""

    @property
    def delivery(self) -> HttpEvents: ...
    def add_to(self, server: web.Application) -> None: ...


class EventsListener:
    """Listens for Slack's requests, for as long as an app is to be brought some, and finds the app that each is for.

    Rules
    - Nothing is read that Slack did not sign within the last five minutes: what cannot be signed is refused by its
      headers, before its body is read. Who is refused learns nothing of the reason, and the log has a line a minute.
    - A request is for the app that its path names, /slack/events/NAME; at /slack/events for the only app, or for the
      one with the id that its body says. It must be signed with that app's own secret: no other app's opens it. Where
      an app is in several workspaces, the body says which.
    - An app that is not served at this moment is answered with 503, so that Slack sends again what it brings.
    - Nobody else's requests keep Slack's out, however many come: nothing counts them, and where too many bodies are
      read at once, the one that has been awaited for longest is given up. Slack's arrive with their headers. So it is
      with connections: each costs a file, and a process has few.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logged = OncePerMinute()
        self._apps: list[EventsEndpoint] = []
        self._pages: ListenersPages | None = None
        self._changing = asyncio.Lock()
        self._reading: dict[asyncio.Timeout, None] = {}  # The ends of the bodies that are being read, the oldest first
        self._answering: set[RequestHandler] = set()  # The connections by which something is asked
        self._runner: web.AppRunner | None = None
        self._listening: asyncio.Server | None = None

    async def stay(self, pages: "ListenersPages") -> None:
        """Listen until it is closed, also while there is no app, and serve these pages, too. Raises as `admit`."""
        async with self._changing:
            self._pages = pages
            await self._open(pages.delivery)

    async def close(self) -> None:
        async with self._changing:
            self._pages = None
            await self._close()

    async def admit(self, app: EventsEndpoint) -> None:
        """Bring it what comes for it. Raises SettingsError when the address cannot be had."""
        async with self._changing:
            if self._listening is None:
                await self._open(app.settings)
            self._apps.append(app)
        log.info("requests for %s are taken at port %d, %s", app.app.label, self.port, events_path(app.app.name))

    async def dismiss(self, app: EventsEndpoint) -> None:
        """Bring it nothing more."""
        async with self._changing:
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
        # Slack compresses nothing, and what others compress is not worth unpacking.
        self._runner = web.AppRunner(
            server,
            access_log=None,
            logger=_quiet(self._warn),
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
            wrong = f"COGENCY_SLACK_HTTP: cannot listen on {settings.host}:{settings.port} ({error.strerror})"
            raise SettingsError(setup_texts.CHOOSE_ADDRESS.format(problem=wrong)) from error

    @property
    def port(self) -> int:
        """Where it listens; 0 if it does not."""
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
                self._warn(UNSIGNED, self._secrets())
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
        if (challenge := self._challenge(body, request.headers)) is not None:
            return web.Response(text=challenge)
        meant = self._meant(request.match_info.get("app", ""), body, request.content_type)
        if not meant:
            return web.Response(status=503)
        if not (signed := [app for app in meant if app.signed(body, request.headers)]):
            self._warn(UNSIGNED, meant[0].app.setting(SIGNED_WITH))
            return web.Response(status=401)
        if not _is_object(body, request.content_type):
            self._warn("a request that Slack signed is not in a form of Slack's")
            return web.Response(status=400)
        asked = AsyncBoltRequest(body=body.decode(), query=request.query_string, headers=dict(request.headers))
        if (app := _in_team(signed, asked.body)) is None:
            return web.Response(status=503)
        response = await app.answer(asked, request.headers)
        return await to_aiohttp_response(response)

    def _meant(self, name: str, body: bytes, media_type: str) -> list[EventsEndpoint]:
        """Whose request it claims to be; nothing of the body is believed for that but an id."""
        if name:
            return [app for app in self._apps if app.app.name == name]
        if len(self._apps) < 2 and self._pages is None:
            return self._apps
        id_ = app_id_in(body, media_type)
        if not (meant := [app for app in self._apps if id_ and app.app.app_id == id_]):
            self._warn(setup_texts.SLACK_APP_NOT_SERVED, id_ or "without an id", EVENTS_PATH)
        return meant

    def _challenge(self, body: bytes, headers: Mapping[str, str]) -> str | None:
        """What Slack is to be answered that tries the address of an app which nobody has installed yet; else None."""
        if self._pages is None or b"url_verification" not in body:
            return None
        verifier = SignatureVerifier(self._pages.delivery.signing_secret.reveal(), _SlackClock(self._clock))
        told = _json(body) if _is_signed(verifier, body, headers) else None
        is_asked = isinstance(told, dict) and told.get("type") == "url_verification"
        return api.text(told, "challenge")[:MAX_CHALLENGE_CHARS] if is_asked else None

    def _secrets(self) -> str:
        return self._apps[0].app.setting(SIGNED_WITH) if len(self._apps) == 1 else "its app's signing secret"

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


def events_path(name: str) -> str:
    """Where an app's requests are to be sent."""
    return f"{EVENTS_PATH}/{name}" if name else EVENTS_PATH


def app_id_in(body: bytes, media_type: str) -> str:
    """The id of the app that a request says it is for; "" for none. Pure."""
    found = _form(body) if media_type == FORM else _json(body)
    if isinstance(found, dict) and isinstance(found.get("payload"), str):
        found = _json(str(found["payload"]).encode())
    id_ = api.text(found, "api_app_id") if isinstance(found, dict) else ""
    return id_ if _APP_ID.fullmatch(id_) else ""


def _is_signed(verifier: SignatureVerifier, body: bytes, headers: Mapping[str, str]) -> bool:
    try:
        return verifier.is_valid_request(body, dict(headers))
    except (ArithmeticError, TypeError, ValueError):  # no number of this age, no UTF-8, no ASCII: not Slack's
        return False


def _in_team(apps: Sequence[EventsEndpoint], body: Mapping[str, Any]) -> EventsEndpoint | None:
    """Of one app in several workspaces the one that is meant: whose bot is named, else for which Slack delivers it,
    else where it was. Of a channel that these share Slack tells once, for any of them.

    None: it was installed there by its page, and is not served here, or not yet.
    """
    event = api.fields(dict(body), "event")
    named = [*mentioned_users(api.text(event, "text")), api.text(event, "item_user")]
    told: list[str] = [api.text(one, "team_id") for one in api.items(dict(body), "authorizations")]
    told += [api.text(dict(body), *path) for path in TEAM_PATHS]
    found = next((app for user in named for app in apps if user and app.user == user), None)
    found = found or next((app for team in told for app in apps if team and app.team == team), None)
    return found or next((app for app in apps if not app.app.team), None)


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
    found = _form(body) if media_type == FORM else _json(body)
    if media_type == FORM and isinstance(found, dict) and "payload" in found:
        found = _json(str(found["payload"]).encode())
    return isinstance(found, dict)


def _form(body: bytes) -> Json:
    """The first value of each field; None if it cannot be read."""
    try:
        return {name: values[0] for name, values in parse_qs(body.decode(), max_num_fields=100).items()}
    except ValueError:
        return None


def _json(body: bytes) -> Json:
    try:
        written = body.decode()
        return None if is_too_deep(written) else json.loads(written)
    except ValueError:
        return None


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
