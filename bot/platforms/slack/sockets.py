"""Socket Mode without a gap: the next socket is open before the last one closes.

Above: `run`. Below: slack-sdk's client, which would close the last one first; slack-bolt, which is handed what comes.

Slack refreshes each socket every few hours, and says so beforehand. Whatever the reason for which the client wants
another socket (a refresh, a broken line, silence), it asks here for a successor, and goes on until that one is open.
What Slack sent into a dying socket it sends again on the next; the ledger knows it by its ids.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from agent.ports import Clock
from bot.platforms.slack.api import SlackApi, SlackDown, SlackError, SlackRefused
from bot.platforms.slack.settings import SlackSettings

log = logging.getLogger(__name__)

CONNECT_S = 10.0
"""An address for a socket is good for one attempt; after that a new one is fetched."""

OVERLAP_S = 4.0
"""How long the old socket stays beside the new one: what came through it is acknowledged within three seconds."""

RETRY_S = 5.0
"""Between attempts to open the next socket: Slack keeps events for its first repetition, which comes after a minute."""


class Line(Protocol):
    """Who wants to know whether events come in."""

    def connected(self) -> None:
        """A socket is open."""
        ...

    def lost(self) -> None:
        """The latest socket is about to close, or dead."""
        ...


class Sockets:
    """Keeps one socket open, two while one follows the other. `failed` raises when no next one can be had."""

    def __init__(
        self, app: AsyncApp, api: SlackApi, web: AsyncWebClient, settings: SlackSettings, clock: Clock, line: Line
    ) -> None:
        self._app = app
        self._api = api
        self._web = web
        self._settings = settings
        self._clock = clock
        self._line = line
        self._clients: list[_Client] = []
        self._successions: set[asyncio.Task[None]] = set()
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        """Open a socket. Raises SlackError."""
        address = await self._api.open_connection(self._settings.app_token)
        client = _Client(self._settings, self._web, address, on_ending=self._succeed)
        client.socket_mode_request_listeners.append(self._handle)
        try:
            async with asyncio.timeout(CONNECT_S):
                await client.connect()
        except TimeoutError as error:
            raise SlackDown("Slack's socket cannot be reached.") from error
        finally:
            if client.current_session is None:
                await client.close()
        self._clients.append(client)
        self._line.connected()

    async def close(self) -> None:
        for task in [*self._successions]:
            task.cancel()
        await asyncio.gather(*self._successions, return_exceptions=True)
        for client in self._clients:
            await client.close()

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        response = await run_async_bolt_app(self._app, request)
        with suppress(ConnectionError):  # lost with its socket: Slack sends the event again
            await send_async_response(client, request, response, start_time=0.0)

    def _succeed(self, old: "_Client") -> None:
        self._line.lost()
        task = asyncio.create_task(self._change_over(old))
        self._successions.add(task)
        task.add_done_callback(self._successions.discard)

    async def _change_over(self, old: "_Client") -> None:
        while True:
            try:
                await self.open()
                break
            except SlackRefused as refused:
                if not self.failed.done():
                    self.failed.set_exception(refused)
                return
            except SlackError as error:
                log.warning("the next socket is not open yet: %s", error)
                await self._clock.sleep(RETRY_S)
        await self._clock.sleep(OVERLAP_S)
        self._clients.remove(old)
        await old.close()


class _Client(SocketModeClient):
    """slack-sdk's client for one socket: at its end it asks, once, for a successor."""

    def __init__(
        self, settings: SlackSettings, web: AsyncWebClient, address: str, on_ending: Callable[["_Client"], None]
    ) -> None:
        super().__init__(app_token=settings.app_token.reveal(), web_client=web, ping_interval=settings.ping_s)
        self.proxy = web.proxy
        self.wss_uri = address
        self._on_ending = on_ending
        self._ending = False

    async def connect_to_new_endpoint(self, force: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 -- slack-sdk's
        if not (self._ending or self.closed):
            self._ending = True
            self._on_ending(self)
