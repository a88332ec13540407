"""Examine the application's configuration, without connecting to the gateway or sending a message."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

import aiohttp
import discord
from discord.http import Route

from agent.errors import SettingsError
from agent.ports.clock import Clock
from bot.chat.findings import Finding, Level, platform_away
from bot.platforms import texts as platforms_texts
from bot.platforms.discord.channel_names import shown_channel
from bot.platforms.discord.checks import MAX_GUILDS, WHERE, DiscordFacts, findings
from bot.platforms.discord.http_client import BoundedClient
from bot.platforms.discord.members import owners_of
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.places import UNREADABLE
from bot.platforms.discord.run import DiscordUnreachable, login_failed, point_at

MAX_NAMED_SERVERS: Final = 50  # Servers whose channels are listed, one request each
MAX_OWNER_REQUESTS: Final = 20  # Servers whose owner is requested, one request each, if no setting names any


class _Dates:
    """The time of Discord's last response, and our time when it arrived."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ours: datetime | None = None
        self.theirs: datetime | None = None

    async def __call__(self, _: object, __: object, params: aiohttp.TraceRequestEndParams) -> None:
        with suppress(ValueError):
            self.theirs = parsedate_to_datetime(params.response.headers.get("date", "")).astimezone(UTC)
            self.ours = self._clock.now()


async def examine(settings: DiscordOptions, clock: Clock) -> list[Finding]:
    """Return the findings. Never raises for an error of Discord."""
    dates, trace = _Dates(clock), aiohttp.TraceConfig()
    trace.on_request_end.append(dates)
    try:
        facts = await _facts(settings, trace)
        return findings(replace(facts, ours=dates.ours, theirs=dates.theirs))
    except SettingsError as error:
        return [Finding(Level.PROBLEM, WHERE, platforms_texts.DISCORD_REFUSES_LOGIN, str(error))]
    except DiscordUnreachable as error:
        return [platform_away(WHERE, platforms_texts.DISCORD_AWAY, str(error))]


async def application_id(settings: DiscordOptions) -> str:
    """Return the id of the token's application. Raises SettingsError and DiscordUnreachable."""
    application = (await _facts(settings)).application
    if application is None:
        raise DiscordUnreachable(platforms_texts.APPLICATION_UNKNOWN)
    return str(application["id"])


async def channel_names(settings: DiscordOptions) -> Mapping[str, str]:
    """Return the names of the servers and their channels by id, as `bot.platforms.discord.channel_names`. Raises
    SettingsError and DiscordUnreachable.
    """
    names = dict[str, str]()
    async with _signed_in(settings) as client:
        guilds = await _request(client, f"/users/@me/guilds?limit={MAX_GUILDS}")
        if guilds is None:
            raise DiscordUnreachable(platforms_texts.SERVERS_UNKNOWN)
        for guild in cast("list[Mapping[str, Any]]", guilds)[:MAX_NAMED_SERVERS]:
            names[str(guild["id"])] = str(guild["name"])
            channels = await _request(client, f"/guilds/{guild['id']}/channels")
            for channel in cast("list[Mapping[str, Any]]", channels or []):
                names[str(channel["id"])] = shown_channel(str(channel["name"]), str(guild["name"]))
    return names


@asynccontextmanager
async def _signed_in(
    settings: DiscordOptions, trace: aiohttp.TraceConfig | None = None
) -> AsyncGenerator[discord.Client]:
    """Yield a client without a gateway. Raises SettingsError and DiscordUnreachable."""
    point_at(settings)
    intents = discord.Intents(guilds=True)
    async with BoundedClient(intents=intents, http_trace=trace or aiohttp.TraceConfig()) as client:
        try:
            await client.login(settings.token.reveal())
        except discord.LoginFailure:
            raise SettingsError(platforms_texts.COPY_DISCORD_AGAIN) from None
        except (discord.RateLimited, discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError) as error:
            raise login_failed(error, settings) from None
        yield client


async def _facts(settings: DiscordOptions, trace: aiohttp.TraceConfig | None = None) -> DiscordFacts:
    async with _signed_in(settings, trace) as client:
        guilds = await _request(client, f"/users/@me/guilds?limit={MAX_GUILDS}&with_counts=true")
        payloads = None if guilds is None else tuple(cast("list[Mapping[str, Any]]", guilds))
        return DiscordFacts(
            settings,
            application=_object(await _request(client, "/applications/@me")),
            guilds=payloads,
            gateway=_object(await _request(client, "/gateway/bot")),
            owned=frozenset() if settings.servers else await _owned(client, payloads or ()),
        )


async def _owned(client: discord.Client, guilds: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of those of these servers that belong to the application's owners."""
    owners = owners_of(client.application) if client.application is not None else frozenset[int]()
    numbers = [str(guild["id"]) for guild in guilds[:MAX_OWNER_REQUESTS]]
    details = {number: _object(await _request(client, f"/guilds/{number}")) or {} for number in numbers}
    return frozenset(number for number, guild in details.items() if str(guild.get("owner_id")) in map(str, owners))


async def _request(client: discord.Client, path: str) -> object:
    """Return Discord's response; None if it fails."""
    try:
        return await client.http.request(Route("GET", path))
    except UNREADABLE:
        return None


def _object(response: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", response) if isinstance(response, dict) else None
