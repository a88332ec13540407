"""Socket Mode without a gap: several sockets at once, and the next one is open before one of them closes."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, cast

from aiohttp import WSMessage
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from agent.messages import JsonObject, is_too_deep
from agent.ports import Clock
from bot.caches import Backoff, OncePerMinute
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackLimited, SlackRefused, text
from bot.platforms.slack.options import PLATFORM, SocketMode
from bot.telemetry import SILENT, ConnectionClosed, ConnectionOpened, Telemetry
from bot.texts import setup_texts

# Who wants to know whether events come in, and what brings them.


class ConnectionListener(Protocol):
    """Wants to know whether events come in."""

    def connected(self) -> None:
        """They can."""
        ...

    def lost(self, why: str) -> None:
        """From now on they cannot; `why` is a sentence for operators."""
        ...

    def gap(self, since: datetime) -> None:
        """They can, but between that time and now some did not."""
        ...


class Delivery(Protocol):
    """Brings events. `failed` raises when none can come any more. `silence`: for how many seconds a connection that
    counts as one has brought nothing, not even a heartbeat.
    """

    failed: asyncio.Future[None]

    def silence(self) -> float: ...

    async def open(self) -> None:
        """Begin. Raises SlackError, or SettingsError."""
        ...

    async def close(self) -> None: ...


# What was begun and nobody waits for, until it ends by itself or the adapter does.

# The name of the tasks that do what somebody asked or what Slack told, as asyncio's tools list them.
ASKED: Final = "slack: asked"


@dataclass(slots=True)
class TaskGroup:
    """`patience_s`: how long `close` lets it come to its end; `name`: its tasks'."""

    patience_s: float = 0.0
    name: str = "slack: beside"
    _tasks: "set[asyncio.Task[Any]]" = field(default_factory=set["asyncio.Task[Any]"])

    def begin(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=self.name)
        self.follow(task)
        return task

    def follow(self, task: "asyncio.Task[Any]") -> None:
        """Let a task that runs already end with the others."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Nothing of it is left afterwards."""
        if self._tasks and self.patience_s:
            await asyncio.wait(self._tasks, timeout=self.patience_s)
        working = [*self._tasks]
        for task in working:
            task.cancel()
        if working:
            await asyncio.wait(working)


log = logging.getLogger(__name__)

CONNECT_S: Final = 10.0  # An address for a socket is good for one attempt; after that a new one is fetched

# How long the old socket stays beside the new one: what came through it is acknowledged within three seconds.
OVERLAP_S: Final = 4.0

RETRY_S: Final = 2.5
# Between attempts to open the next socket, doubling: Slack keeps events for its first repetition, which comes after a
# minute.
MOST_RETRY_S: Final = 60.0

# Before another attempt when Slack says that there are too many, or no: an older process may be about to end.
CROWDED_S: Final = 60.0
CROWDED: Final = "too_many_websockets"
# Characters of the message with which Slack ends a socket; an event is longer, and not read twice.
MAX_GOODBYE: Final = 2_000
EVENTS: Final = ("event_callback", "app_rate_limited")  # What Slack tells by itself


class Sockets:
    """Keeps as many open as the settings say, one more while it follows another. `failed` raises when none is left.

    `take` takes an event in, and says whether it is stored; all else that people do goes to `app`.

    Slack refreshes each socket every few hours, and says so beforehand. Whatever the reason for which a client wants
    another socket (a refresh, a broken line, silence), it asks here for a successor, and goes on until that one is
    open. What Slack sent into a dying socket it sends again through another; the ledger knows it by its ids.
    """

    def __init__(
        self,
        take: Callable[[JsonObject], Awaitable[bool]],
        app: AsyncApp,
        api: SlackApi,
        web: AsyncWebClient,
        settings: SocketMode,
        clock: Clock,
        line: ConnectionListener,
        telemetry: Telemetry = SILENT,
        known_as: str = PLATFORM,
    ) -> None:
        self._telemetry = telemetry
        self._known_as = known_as
        self._take = take
        self._app = app
        self._api = api
        self._web = web
        self._settings = settings
        self._clock = clock
        self._line = line
        self._clients: list[_SocketClient] = []
        self._openings = TaskGroup()
        self._logged = OncePerMinute()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Begin to open the sockets, for as long as that takes: they open in the background."""
        self._openings.begin(self._open_all())

    def silence(self) -> float:
        heard = [client.heard for client in [*self._clients] if not client.ending]
        return self._clock.monotonic() - min(heard) if heard else 0.0

    async def close(self) -> None:
        await self._openings.close()
        for client in self._clients:
            self._telemetry.tell(ConnectionClosed(self._known_as, id(client)))
            await client.close()

    async def _open_all(self) -> None:
        await self._open_another()
        log.info("connected to Slack")
        for _ in range(1, self._settings.connections):
            self._openings.begin(self._open_another())

    async def _open(self) -> None:
        """Raises SlackError."""
        address = await self._api.open_connection(self._settings.app_token)
        client = _SocketClient(self._settings, self._web, address, self._clock, on_ending=self._succeed)
        client.socket_mode_request_listeners.append(self._handle)
        try:
            async with asyncio.timeout(CONNECT_S):
                await client.connect()
        except TimeoutError as error:
            raise SlackDown(setup_texts.SOCKET_UNREACHABLE) from error
        finally:
            if client.current_session is None:
                await client.close()
        self._clients.append(client)
        self._telemetry.tell(ConnectionOpened(self._known_as, id(client)))
        self._line.connected()

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        body = cast("JsonObject", request.payload)  # pyright: ignore[reportUnknownMemberType] -- slack-sdk's
        if body.get("type") in EVENTS:
            response = BoltResponse(status=200 if await self._take(body) else 503)
        else:
            response = await run_async_bolt_app(self._app, request)
        with suppress(ConnectionError):  # lost with its socket: Slack sends the event again
            await send_async_response(client, request, response, start_time=0.0)

    def _succeed(self, old: "_SocketClient") -> None:
        self._telemetry.tell(ConnectionClosed(self._known_as, id(old)))
        if self._none_left():
            self._line.lost(setup_texts.SOCKETS_CLOSED)
        self._openings.begin(self._make_room(old) if old.crowded else self._change_over(old))

    def _none_left(self) -> bool:
        return all(client.ending for client in self._clients)

    async def _change_over(self, old: "_SocketClient") -> None:
        await self._open_another()
        await self._clock.sleep(OVERLAP_S)
        await self._retire(old)

    async def _make_room(self, old: "_SocketClient") -> None:
        log.warning("Slack closes a socket: this app has more than it allows; set COGENCY_SLACK_CONNECTIONS lower")
        await self._retire(old)
        await self._clock.sleep(CROWDED_S)
        await self._open_another()

    async def _retire(self, old: "_SocketClient") -> None:
        await old.close()
        self._clients.remove(old)

    async def _open_another(self) -> None:
        backoff = Backoff(RETRY_S, MOST_RETRY_S)
        while True:
            try:
                await self._open()
            except SlackRefused as refused:
                if self._none_left():
                    if not self.failed.done():
                        self.failed.set_exception(refused)
                    return
                log.warning("another socket is refused, the bot goes on with those it has: %s", refused)
                await self._clock.sleep(CROWDED_S)
            except SlackError as error:
                if self._none_left():
                    self._line.lost(str(error))
                if (more := self._logged.due(type(error).__name__, self._clock.monotonic())) is not None:
                    log.warning("a socket is not open yet, it is tried again: %s%s", error, more)
                limited_s = error.retry_after_s if isinstance(error, SlackLimited) else 0.0
                await self._clock.sleep(max(backoff.failed(), limited_s))
            else:
                return


class _SocketClient(SocketModeClient):
    """slack-sdk's client for one socket: at its end it asks, once, for a successor."""

    def __init__(
        self,
        settings: SocketMode,
        web: AsyncWebClient,
        address: str,
        clock: Clock,
        on_ending: Callable[["_SocketClient"], None],
    ) -> None:
        super().__init__(app_token=settings.app_token.reveal(), web_client=web, ping_interval=settings.ping_s)
        self.proxy = web.proxy
        self.wss_uri = address
        self.ending = False
        self.crowded = False  # Slack ends it because there are too many
        self._clock = clock
        # When an answer to a ping was last seen. Who looks for one is slack-sdk, which may stop, too.
        self.heard = clock.monotonic()
        self._answered: float | None = None
        self._on_ending = on_ending
        self.on_message_listeners.append(self._note_crowd)

    async def _note_crowd(self, message: WSMessage) -> None:
        """Before anything is done about it."""
        words = str(message.data)
        self.crowded = self.crowded or (len(words) < MAX_GOODBYE and _reason(words) == CROWDED)

    async def is_ping_pong_failing(self) -> bool:
        """Asked after each ping."""
        if self.last_ping_pong_time != self._answered:
            self._answered, self.heard = self.last_ping_pong_time, self._clock.monotonic()
        return await super().is_ping_pong_failing()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 -- slack-sdk's
        if not (self.ending or self.closed):
            self.ending = True
            self._on_ending(self)


def _reason(message: str) -> str:
    """Why Slack ends this socket; "" if it does not."""
    try:
        return "" if is_too_deep(message) else text(json.loads(message), "reason")
    except ValueError:
        return ""
