"""The Slack adapter, served against the fake with a host, through sockets or over HTTP."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, assert_never

from agent.ports.clock import Clock
from bot.chat.host import Host
from bot.platforms.slack.options import Delivery, HttpEvents, SlackApp, SlackOptions, SocketMode
from bot.platforms.slack.run import AppRevoked, serve
from bot.settings.secret import Secret
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN, SIGNING_SECRET

SOCKETS = SocketMode(Secret(APP_TOKEN), connections=1)
LOOK_S = 0.02


def http_events() -> HttpEvents:
    """Listen at a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return HttpEvents(Secret(SIGNING_SECRET), "127.0.0.1", probe.getsockname()[1])


def app_of(slack: FakeSlack, **more: Any) -> SlackApp:
    """Return the app's settings for the way in which this workspace delivers events."""
    return replace(SlackApp(Secret(BOT_TOKEN), http_events() if slack.over_http else SOCKETS), **more)


def settings(slack: FakeSlack) -> SlackOptions:
    return SlackOptions(slack.url)


@asynccontextmanager
async def serving(
    slack: FakeSlack, host: Host, clock: Clock | None = None, *, delivery: Delivery | None = None, **more: Any
) -> AsyncGenerator[None, None]:
    """Serve the adapter, connected; if it ends early, the test fails. Several adapters simulate several processes."""
    own = {name: more.pop(name) for name in ("bot_token", "command_prefix") if name in more}
    chosen = app_of(slack, **own)
    chosen = replace(chosen, delivery=delivery or chosen.delivery)
    sockets = len(slack.sockets)
    task = asyncio.create_task(serve(host, chosen, replace(settings(slack), **more), clock or slack.clock))
    try:
        match chosen.delivery:
            case SocketMode(connections=connections):
                await _or_failed(slack.connected(sockets + connections), task)
                yield
            case HttpEvents(port=port):
                await _or_failed(_listens(slack, port), task)
                slack.posts.ports.append(port)
                try:
                    yield
                finally:
                    slack.posts.ports.remove(port)
            case _:
                assert_never(chosen.delivery)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, AppRevoked):  # if a test uninstalls the app, its adapter ends by itself
            await task
    await slack.connected(sockets)


async def _listens(slack: FakeSlack, port: int) -> None:
    while not await slack.posts.healthy(port):  # noqa: ASYNC110 -- it happens behind a port
        await asyncio.sleep(LOOK_S)


async def _or_failed(waiting: Awaitable[None], task: asyncio.Task[None]) -> None:
    """Wait until this has happened; if the adapter ends before, raise its error."""
    happening = asyncio.ensure_future(waiting)
    try:
        await asyncio.wait({task, happening}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        await happening
    finally:
        happening.cancel()
