"""The Discord adapter, served against the fake with a host."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from bot.chat.host import Host
from bot.chat.reply.tables import show_tables
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.run import serve
from bot.platforms.discord.surface import TABLE_WIDTH
from bot.settings.secret import Secret
from tests.fakes.discord_gateway import FakeDiscord
from tests.fakes.discord_requests import TOKEN
from tests.fakes.discord_world import BOT, Payload

WINDOW_S = 1.0
EDIT_INTERVAL_S = 0.24  # Discord's five edits in five seconds and our pace below it, both five times as fast

SERVERS_S = 0.1


def settings(fake: FakeDiscord, **more: Any) -> DiscordOptions:
    """`more`: fields of `DiscordOptions`. An operator's settings are `chosen`."""
    given: Payload = {"edit_interval_s": EDIT_INTERVAL_S, "servers_s": SERVERS_S, **more}
    return DiscordOptions(Secret(TOKEN), fake.api_base_url, fake.gateway_url, **given)


@asynccontextmanager
async def serving(fake: FakeDiscord, host: Host, **more: Any) -> AsyncGenerator[None, None]:
    """Serve the adapter, connected; if it ends early, the test fails."""
    before = fake.identified
    task = asyncio.create_task(serve(host, settings(fake, **more), fake.world.clock))
    waiting = asyncio.create_task(fake.until(lambda: fake.identified > before and fake.rest.commands))
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


def edits_of(fake: FakeDiscord, channel: str) -> list[float]:
    """Return when the messages of a channel were edited, as the server saw it."""
    return [
        call.time
        for call in fake.calls
        if call.method == "PATCH" and call.path.startswith(f"/channels/{channel}/messages/") and call.status == 200
    ]


def most_in(times: list[float], window_s: float) -> int:
    """Return the largest number of these moments within any interval of that length."""
    return max((sum(start <= time < start + window_s for time in times) for start in times), default=0)


def pings(fake: FakeDiscord) -> list[Payload]:
    """Return every body in which the bot would let Discord notify a person."""
    contents = [call.body for call in fake.calls if "content" in call.body]
    return [body for body in contents if body.get("allowed_mentions", {}).get("parse") != []]


def by_the_bot(fake: FakeDiscord) -> list[Payload]:
    return [message for message in fake.world.messages.values() if message["author"]["id"] == BOT]


def on_discord(text: str) -> str:
    """Return an answer of a model as it is shown on Discord, which has no tables."""
    return show_tables(text, TABLE_WIDTH, complete=True)
