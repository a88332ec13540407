"""Socket Mode without gaps: several sockets at once, each replaced by an open one before it closes."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import Final, Protocol, cast

from aiohttp import WSMessage
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.response import BoltResponse
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from agent.messages import JsonObject, is_too_deep
from agent.ports.clock import Clock
from agent.providers.http_client import proxy_for
from bot.chat.background_tasks import BackgroundTasks
from bot.chat.backoff import Backoff, OncePerMinute
from bot.chat.telemetry import SILENT, ConnectionClosed, ConnectionOpened, Telemetry
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackRefused, text
from bot.platforms.slack.options import PLATFORM, SocketMode


class ConnectionListener(Protocol):
    """Is notified whether events can arrive."""

    def connected(self) -> None:
        """Events can arrive."""
        ...

    def connection_lost(self, why: str) -> None:
        """No events can arrive from now on; `why` is a sentence for operators."""
        ...

    def gap(self, since: datetime) -> None:
        """Events can arrive, but some between that time and now were not delivered."""
        ...


class Delivery(Protocol):
    """Delivers events. `failed` raises when none can arrive any more."""

    failed: asyncio.Future[None]

    def silence(self) -> float:
        """Return for how many seconds an open connection has brought nothing, not even a heartbeat."""
        ...

    async def open(self) -> None:
        """Start. Raises SlackError, or SettingsError."""
        ...

    async def close(self) -> None: ...


# The name of tasks that handle events and requests of users, as asyncio's tools list it.
USER_TASKS: Final = "slack: asked"


log = logging.getLogger(__name__)

CONNECT_S: Final = 10.0  # A socket's address is valid for one attempt; the next attempt fetches a new one

# How long the old socket stays open beside the new one: its events are acknowledged within three seconds.
OVERLAP_S: Final = 4.0

# The pause before the next attempt to open a socket doubles from the first to the second: Slack repeats events that
# were not delivered after a minute.
RETRY_S: Final = 2.5
MAX_RETRY_S: Final = 60.0

# The pause after Slack refused a socket, or said that there are too many: an older process may be about to end.
TOO_MANY_RETRY_S: Final = 60.0
TOO_MANY_SOCKETS: Final = "too_many_websockets"
# A longer message is an event, and not the message with which Slack ends a socket: it is not parsed a second time.
MAX_DISCONNECT_CHARS: Final = 2_000
EVENTS: Final = ("event_callback", "app_rate_limited")  # Types of payloads that are no click, command or window


class Sockets:
    """Keeps as many sockets open as the settings say. `failed` raises when none is left and Slack refuses a new one.

    `take` takes an event in, and returns whether it is stored; commands, clicks and windows go to `app`.

    Theory of operation. Slack refreshes each socket every few hours, and announces it. When a client needs another
    socket (a refresh, a broken connection, silence), it calls `on_ending`, and goes on until its successor is open.
    Events that Slack sent into a dying socket it sends again through another; the ledger dedupes them by their ids.
    """

    def __init__(
        self,
        take: Callable[[JsonObject], Awaitable[bool]],
        app: AsyncApp,
        api: SlackApi,
        web: AsyncWebClient,
        settings: SocketMode,
        clock: Clock,
        listener: ConnectionListener,
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
        self._listener = listener
        self._clients: list[_SocketClient] = []
        self._openings = BackgroundTasks()
        self._logged = OncePerMinute()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Open the sockets in the background, for as long as that takes."""
        self._openings.start(self._open_all())

    def silence(self) -> float:
        last_pongs = [client.last_pong for client in [*self._clients] if not client.is_ending]
        return self._clock.monotonic() - min(last_pongs) if last_pongs else 0.0

    async def close(self) -> None:
        await self._openings.close()
        for client in self._clients:
            self._telemetry.record(ConnectionClosed(self._known_as, id(client)))
            await client.close()

    async def _open_all(self) -> None:
        await self._open_another()
        log.info("connected to Slack")
        for _ in range(1, self._settings.connections):
            self._openings.start(self._open_another())

    async def _open(self) -> None:
        """Raises SlackError."""
        address = await self._api.open_connection(self._settings.app_token)
        client = _SocketClient(self._settings, self._web, address, self._clock, on_ending=self._replace)
        client.socket_mode_request_listeners.append(self._handle)
        try:
            async with asyncio.timeout(CONNECT_S):
                await client.connect()
        except TimeoutError as error:
            raise SlackDown(platforms_texts.SOCKET_UNREACHABLE) from error
        finally:
            if client.current_session is None:
                await client.close()
        self._clients.append(client)
        self._telemetry.record(ConnectionOpened(self._known_as, id(client)))
        self._listener.connected()

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        body = cast("JsonObject", request.payload)  # pyright: ignore[reportUnknownMemberType] -- slack-sdk's
        if body.get("type") in EVENTS:
            response = BoltResponse(status=200 if await self._take(body) else 503)
        else:
            response = await run_async_bolt_app(self._app, request)
        with suppress(ConnectionError):  # lost with its socket: Slack sends the event again
            await send_async_response(client, request, response, start_time=0.0)

    def _replace(self, old: "_SocketClient") -> None:
        self._telemetry.record(ConnectionClosed(self._known_as, id(old)))
        if self._all_ending():
            self._listener.connection_lost(platforms_texts.SOCKETS_CLOSED)
        self._openings.start(self._close_surplus(old) if old.is_surplus else self._open_successor(old))

    def _all_ending(self) -> bool:
        return all(client.is_ending for client in self._clients)

    async def _open_successor(self, old: "_SocketClient") -> None:
        await self._open_another()
        await self._clock.sleep(OVERLAP_S)
        await self._retire(old)

    async def _close_surplus(self, old: "_SocketClient") -> None:
        log.warning("Slack closed a socket because this app has too many; lower COGENCY_SLACK_CONNECTIONS")
        await self._retire(old)
        await self._clock.sleep(TOO_MANY_RETRY_S)
        await self._open_another()

    async def _retire(self, old: "_SocketClient") -> None:
        await old.close()
        self._clients.remove(old)

    async def _open_another(self) -> None:
        backoff = Backoff(RETRY_S, MAX_RETRY_S)
        while True:
            try:
                await self._open()
            except SlackRefused as refused:
                if self._all_ending():
                    if not self.failed.done():
                        self.failed.set_exception(refused)
                    return
                log.warning("Slack refused another socket; the bot continues with the open ones: %s", refused)
                await self._clock.sleep(TOO_MANY_RETRY_S)
            except SlackError as error:
                if self._all_ending():
                    self._listener.connection_lost(str(error))
                if (more := self._logged.due(type(error).__name__, self._clock.monotonic())) is not None:
                    log.warning("a socket could not be opened yet; the bot tries again: %s%s", error, more)
                await self._clock.sleep(max(backoff.failed(), error.retry_after_s))
            else:
                return


class _SocketClient(SocketModeClient):
    """slack-sdk's client for one socket: at its end it calls `on_ending`, once."""

    def __init__(
        self,
        settings: SocketMode,
        web: AsyncWebClient,
        address: str,
        clock: Clock,
        on_ending: Callable[["_SocketClient"], None],
    ) -> None:
        super().__init__(app_token=settings.app_token.reveal(), web_client=web, ping_interval=settings.ping_s)
        self.proxy = proxy_for(address)
        self.wss_uri = address
        self.is_ending = False
        self.is_surplus = False  # Slack ends it because there are too many
        self._clock = clock
        self.last_pong = clock.monotonic()  # When slack-sdk's check last saw a new answer to a ping
        self._seen_pong: float | None = None
        self._on_ending = on_ending
        self.on_message_listeners.append(self._note_surplus)

    async def _note_surplus(self, message: WSMessage) -> None:
        data = str(message.data)
        self.is_surplus = self.is_surplus or (len(data) < MAX_DISCONNECT_CHARS and _reason(data) == TOO_MANY_SOCKETS)

    async def is_ping_pong_failing(self) -> bool:
        """slack-sdk calls it after each ping."""
        if self.last_ping_pong_time != self._seen_pong:
            self._seen_pong, self.last_pong = self.last_ping_pong_time, self._clock.monotonic()
        return await super().is_ping_pong_failing()

    async def connect_to_new_endpoint(self, force: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 -- slack-sdk's
        if not (self.is_ending or self.closed):
            self.is_ending = True
            self._on_ending(self)


def _reason(message: str) -> str:
    """Return why Slack ends this socket; "" if the message does not end it."""
    try:
        return "" if is_too_deep(message) else text(json.loads(message), "reason")
    except ValueError:
        return ""
