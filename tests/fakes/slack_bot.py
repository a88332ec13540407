"""The Slack adapter, served against the fake with a host.

Above: tests of the Slack adapter. Below: `bot.platforms.slack.run`, `tests.fakes.slack`.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from agent.ports import Clock
from bot.host import Host
from bot.platforms.slack.run import serve
from bot.platforms.slack.settings import SlackSettings
from bot.secret import Secret
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_things import APP_TOKEN, BOT_TOKEN


def settings(slack: FakeSlack) -> SlackSettings:
    return SlackSettings(Secret(BOT_TOKEN), Secret(APP_TOKEN), slack.url)


@asynccontextmanager
async def serving(slack: FakeSlack, host: Host, clock: Clock | None = None, **more: Any) -> AsyncGenerator[None, None]:
    """The adapter, connected; whatever ends it early fails the test."""
    sockets = len(slack.sockets)
    task = asyncio.create_task(serve(host, replace(settings(slack), **more), clock or slack.clock))
    waiting = asyncio.create_task(slack.connected(sockets + 1))
    try:
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        await waiting
        yield
    finally:
        waiting.cancel()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await slack.connected(sockets)
