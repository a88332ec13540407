"""Asks Discord how the application is set up, without connecting to its gateway or saying a word."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, cast

import aiohttp
import discord
from discord.http import Route

from agent.errors import SettingsError
from agent.ports import Clock
from bot.exits import Finding, Level
from bot.platforms.discord.checks import MOST_GUILDS, WHERE, DiscordFacts, findings
from bot.platforms.discord.members import owners_of
from bot.platforms.discord.options import DiscordSettings
from bot.platforms.discord.places import UNREADABLE
from bot.platforms.discord.run import DiscordUnreachable, point_at
from bot.texts import setup_texts

MOST_ASKED: Final = 20  # Servers that are asked whose they are, one request each, where no setting names any


class _Dates:
    """What time Discord says it is, in its last answer, and what time it was here then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ours: datetime | None = None
        self.theirs: datetime | None = None

    async def __call__(self, _: object, __: object, ended: aiohttp.TraceRequestEndParams) -> None:
        with suppress(ValueError):
            self.theirs = parsedate_to_datetime(ended.response.headers.get("date", "")).astimezone(UTC)
            self.ours = self._clock.now()


async def examine(settings: DiscordSettings, clock: Clock) -> list[Finding]:
    """Raises nothing that Discord can cause."""
    dates, trace = _Dates(clock), aiohttp.TraceConfig()
    trace.on_request_end.append(dates)
    try:
        facts = await _facts(settings, trace)
        return findings(replace(facts, ours=dates.ours, theirs=dates.theirs))
    except SettingsError as error:
        return [Finding(Level.PROBLEM, WHERE, "the token is not accepted", str(error))]
    except DiscordUnreachable as error:
        return [Finding(Level.PROBLEM, WHERE, "it cannot be reached", str(error))]


async def application_id(settings: DiscordSettings) -> str:
    """The id of the application whose token this is. Raises SettingsError and DiscordUnreachable."""
    application = (await _facts(settings)).application
    if application is None:
        raise DiscordUnreachable(setup_texts.APPLICATION_UNKNOWN)
    return str(application["id"])


async def _facts(settings: DiscordSettings, trace: aiohttp.TraceConfig | None = None) -> DiscordFacts:
    point_at(settings)
    intents = discord.Intents(guilds=True)
    async with discord.Client(intents=intents, http_trace=trace or aiohttp.TraceConfig()) as client:
        try:
            await client.login(settings.token.reveal())
        except discord.LoginFailure:
            raise SettingsError(setup_texts.COPY_DISCORD_AGAIN) from None
        except (discord.HTTPException, aiohttp.ClientError, OSError, TimeoutError):
            raise DiscordUnreachable(setup_texts.DISCORD_SILENT.format(address=settings.api_base_url)) from None
        guilds = await _asked(client, f"/users/@me/guilds?limit={MOST_GUILDS}&with_counts=true")
        told = None if guilds is None else tuple(cast("list[Mapping[str, Any]]", guilds))
        return DiscordFacts(
            settings,
            application=_object(await _asked(client, "/applications/@me")),
            guilds=told,
            gateway=_object(await _asked(client, "/gateway/bot")),
            owned=frozenset() if settings.servers else await _owned(client, told or ()),
        )


async def _owned(client: discord.Client, guilds: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Those of these servers that belong to whose the application is."""
    owners = owners_of(client.application) if client.application is not None else frozenset[int]()
    numbers = [str(guild["id"]) for guild in guilds[:MOST_ASKED]]
    told = {number: _object(await _asked(client, f"/guilds/{number}")) or {} for number in numbers}
    return frozenset(number for number, guild in told.items() if str(guild.get("owner_id")) in map(str, owners))


async def _asked(client: discord.Client, path: str) -> object:
    """None if Discord does not say."""
    try:
        return await client.http.request(Route("GET", path))
    except UNREADABLE:
        return None


def _object(told: object) -> Mapping[str, Any] | None:
    return cast("Mapping[str, Any]", told) if isinstance(told, dict) else None
