"""Serves Discord until it is cancelled.

A failed start raises an error whose one sentence names the setting and the remedy. After that, discord.py reconnects by
itself, resuming its session, for as long as Discord allows it.
"""

import asyncio
import logging
from contextlib import aclosing
from functools import partial
from typing import Final, NoReturn, assert_never

import aiohttp
import discord
import yarl
from discord.gateway import DiscordWebSocket
from discord.http import Route

from agent.certificates import sentence_of
from agent.errors import CogencyError, SettingsError
from agent.incoming import Incoming
from agent.ports.clock import Clock
from agent.providers.http_client import Http
from agent.shown_replies import ShownPage, ShownReply
from bot.chat.attachments.reading import Fetch
from bot.chat.host import Host
from bot.chat.platform_errors import PlatformUnavailable
from bot.chat.reply.surface import Surface
from bot.chat.telemetry import SILENT, Telemetry
from bot.chat.watermark import Watermark
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import buttons
from bot.platforms.discord.acting import DiscordHands
from bot.platforms.discord.attachments import Downloads
from bot.platforms.discord.channel_history import DiscordChannelReader
from bot.platforms.discord.channel_names import channel_names
from bot.platforms.discord.client import DiscordClient, ShardedClient
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.http_client import ReconnectPause
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.panels import waiting_panels
from bot.platforms.discord.places import SOURCE, DiscordMembership
from bot.platforms.discord.reply_to import Address, decode_address, place_of_page
from bot.platforms.discord.rest import Rest, Token
from bot.platforms.discord.scheduled_events import event_of
from bot.platforms.discord.surface import DiscordSurface
from bot.platforms.discord.surroundings import Surroundings
from bot.platforms.failed_requests import failure_reason

log = logging.getLogger(__name__)

# How long the first connection may take: a start that hangs is reported before an operator looks for the reason.
CONNECT_PATIENCE_S = 30.0

GRACE_S = 2.0  # After a lost first connection: how long the library takes to report the reason, if it knows it

FORGOTTEN: Final = "Forgotten"  # The new name of a thread whose question was forgotten

RECONNECT_S = 5.0  # Slow enough not to exhaust Discord's thousand logins a day

LONGEST_WAIT_S = 3_600.0  # Whatever a response says, Discord is tried again after an hour

# Errors of the library for an event of an unexpected form. One such event must not end the bot.
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


_AUTHENTICATION_FAILED = 4004
_SHARDING_REQUIRED = 4011
_PERMANENT = {4010, 4012, 4013}  # An invalid shard, API version or intents: permanent errors
_UNREACHABLE = (aiohttp.ClientError, discord.GatewayNotFound, OSError, TimeoutError)


class DiscordUnreachable(PlatformUnavailable):
    """Discord could not be reached at the start, or ended the connection permanently."""


class DiscordRefused(CogencyError):
    """Discord refuses the connection, permanently."""


async def serve(host: Host, settings: DiscordOptions, clock: Clock, telemetry: Telemetry = SILENT) -> NoReturn:
    """Log in, and pass all events to the host. Returns only by cancellation.

    Raises SettingsError or DiscordUnreachable if it cannot start.
    """
    point_at(settings)
    connection = Connection(clock, settings.edit_interval_s, telemetry)

    def surface_for(incoming: Incoming) -> Surface:
        return DiscordSurface(connection, incoming, partial(waiting_panels, host, incoming), chosen=settings.chosen)

    host.platforms.register_surface(SOURCE, surface_for)
    host.platforms.register_deletion(SOURCE, partial(clear, connection))
    listening = Watermark(host, SOURCE, clock)
    message_content = settings.chosen.message_content
    try:
        await listening.begin()
        connection.lasting.start(listening.keep())
        async with aclosing(Http(proxies=True)) as files:
            fetch = Downloads(files, settings.api_base_url).fetch
            while True:
                client = _client(host, settings, connection, listening, message_content=message_content)
                _register(host, client, connection, fetch)
                try:
                    await _serve(client, settings)
                except discord.PrivilegedIntentsRequired:
                    if not message_content:
                        raise DiscordUnreachable(platforms_texts.INTENTS_REFUSED) from None
                    message_content = False
                    log.warning(platforms_texts.WITHOUT_CONTENT)
                except UNREADABLE:
                    log.exception("Discord sent data that its library cannot read; reconnecting")
                    listening.connected = False
                    await clock.sleep(RECONNECT_S)
    finally:
        await connection.close()
        host.platforms.unregister(SOURCE)


def _register(host: Host, client: DiscordClient, connection: Connection, fetch: Fetch) -> None:
    """Register what this connection to Discord answers, in place of an earlier one."""
    host.platforms.ask_readers(SOURCE, DiscordMembership(client))
    host.platforms.register_fetcher(SOURCE, fetch, Surroundings(client).files_now)
    host.platforms.register_schedules(SOURCE, client.schedules)
    host.platforms.register_events(SOURCE, client.events)
    host.platforms.register_approvers(SOURCE, client.approvers)
    host.platforms.register_forums(SOURCE, client.forums)
    host.platforms.register_silence(SOURCE, client.silence)
    host.platforms.register_history(SOURCE, client.read_again)
    host.platforms.register_names(SOURCE, partial(channel_names, client))
    reader = DiscordChannelReader(client, client.refuses)
    host.platforms.register_channel_reader(SOURCE, reader)
    host.platforms.register_hands(SOURCE, DiscordHands(client, connection, reader))


async def clear(connection: Connection, shown: ShownPage) -> None:
    """Remove forgotten text from Discord. Raises SurfaceError."""
    rest = await connection.rest()
    match shown.what:
        case ShownReply.PAGE if (event := event_of(shown.page)) is not None:
            await rest.delete_event(*event)
        case ShownReply.PAGE:
            channel, message, _ = place_of_page(shown.page)
            await rest.delete(channel, message)
        case ShownReply.TITLE:
            place = shown.page.partition(":")[2]  # a private conversation also has ":" and its person: no thread
            if place.isdecimal():
                await rest.rename_thread(place, FORGOTTEN)
        case ShownReply.HOME:
            pass  # Discord has no home page
        case ShownReply.KEPT:
            channel, message, _ = place_of_page(shown.page)
            text, components = await rest.read(channel, message)
            if (undone := platforms_texts.undone(text)) != text:
                await rest.edit(channel, message, undone, buttons.without_undo(components))
        case ShownReply.UNANSWERED | ShownReply.JOINED:
            await _end_deferred(connection, rest, decode_address(shown.page), shown.what)
        case _:
            assert_never(shown.what)


async def _end_deferred(connection: Connection, rest: Rest, address: Address, what: ShownReply) -> None:
    """End a deferred response, at which Discord would say for fifteen minutes that the bot is thinking."""
    if not address.is_deferred(connection.clock.now()):
        return
    await connection.until_acknowledged(address.interaction)
    token = Token(address.application, address.token)
    if what is ShownReply.JOINED:
        await rest.answer(token, platforms_texts.ANSWERED_TOGETHER)
    else:
        await rest.delete_response(token)


def _client(
    host: Host, settings: DiscordOptions, connection: Connection, listening: Watermark, *, message_content: bool
) -> DiscordClient:
    if host.platforms.replicas is not None:
        from bot.platforms.discord.shards import LeasedClient  # noqa: PLC0415 -- a single process does not need it

        return LeasedClient(
            host, settings, connection, listening, host.platforms.replicas, message_content=message_content
        )
    if settings.chosen.shards == 1:
        return DiscordClient(host, settings, connection, listening, message_content=message_content)
    return ShardedClient(
        host, settings, connection, listening, message_content=message_content, shard_count=settings.chosen.shards
    )


def point_at(settings: DiscordOptions) -> None:
    """Set discord.py's addresses and pauses. They are global, so a process talks to one Discord server only."""
    Route.BASE = settings.api_base_url
    DiscordWebSocket.DEFAULT_GATEWAY = yarl.URL(settings.gateway_url)
    for module in (discord.client, discord.shard):  # the library has no setting for it
        setattr(module, "ExponentialBackoff", ReconnectPause)  # noqa: B010 -- it does not export the name
    # It would warn at every start that voice is not available; the bot does not use it.
    discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False


async def _serve(client: DiscordClient, settings: DiscordOptions) -> NoReturn:
    """Raises PrivilegedIntentsRequired if the client requests intents that the application lacks."""
    async with client:
        try:
            await client.login(settings.token.reveal())
            await _hold_connection(client, settings)
        except asyncio.CancelledError:
            await client.connection.close()  # before the client closes, which the last calls still need
            raise
        except discord.LoginFailure:
            raise _wrong_token() from None
        except discord.ConnectionClosed as closed:
            if closed.code == _AUTHENTICATION_FAILED and client.first_connected.is_set():
                # One refusal of a token that was accepted proves nothing: the next login says whether it is valid.
                ended = platforms_texts.GATEWAY_ENDED.format(address=settings.gateway_url, code=closed.code)
                raise DiscordUnreachable(ended) from None
            raise _closed(closed, settings) from None
        except (discord.RateLimited, discord.HTTPException, *_UNREACHABLE) as error:
            raise login_failed(error, settings) from None


def login_failed(error: Exception, settings: DiscordOptions) -> DiscordUnreachable:
    """Return the error for the operator. `error`: of the library, at the login."""
    cause = error.__cause__ if isinstance(error, discord.GatewayNotFound) and error.__cause__ is not None else error
    match cause:
        case discord.RateLimited(retry_after=seconds):
            return DiscordUnreachable(platforms_texts.LOGIN_LIMITED.format(seconds=seconds), retry_after_s=seconds)
        case discord.HTTPException(status=status):
            sentence = platforms_texts.LOGIN_FAILED.format(status=status)
            return DiscordUnreachable(sentence, retry_after_s=_retry_after(cause))
        case _:
            address, why = settings.api_base_url, failure_reason(cause)
            otherwise = platforms_texts.DISCORD_UNREACHABLE.format(address=address, why=why)
            return DiscordUnreachable(sentence_of(cause, "Discord", address, otherwise))


async def _hold_connection(client: DiscordClient, settings: DiscordOptions) -> NoReturn:
    """Run the connection. A first one that fails is reported at once; the library restores later ones."""
    connecting = asyncio.create_task(client.connect())
    first = [asyncio.create_task(client.first_connected.wait()), asyncio.create_task(client.lost_first.wait())]
    try:
        await asyncio.wait({connecting, *first}, timeout=CONNECT_PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if not client.first_connected.is_set():
            await asyncio.wait({connecting}, timeout=GRACE_S)
            _raise_reason(connecting)
            raise DiscordUnreachable(platforms_texts.GATEWAY_UNREACHABLE.format(address=settings.gateway_url))
        log.info("Discord: connected as %s", client.user)
        await connecting
        raise DiscordUnreachable(platforms_texts.DISCORD_ENDED)
    finally:
        for task in [connecting, *first]:
            task.cancel()
        await asyncio.gather(connecting, *first, return_exceptions=True)


def _retry_after(error: discord.HTTPException) -> float:
    """Return the seconds that the response names."""
    value = error.response.headers.get("Retry-After", "")
    return min(float(value), LONGEST_WAIT_S) if value.isascii() and value.isdecimal() else 0.0


def _raise_reason(connecting: asyncio.Task[None]) -> None:
    """Raise the error with which the gateway refused; any other failure is a lost connection."""
    reason = connecting.exception() if connecting.done() and not connecting.cancelled() else None
    if isinstance(reason, discord.PrivilegedIntentsRequired | discord.ConnectionClosed):
        raise reason


def _closed(closed: discord.ConnectionClosed, settings: DiscordOptions) -> CogencyError:
    if closed.code == _AUTHENTICATION_FAILED:
        return _wrong_token()
    if closed.code == _SHARDING_REQUIRED:
        return SettingsError(platforms_texts.TOO_MANY_SERVERS)
    if closed.code in _PERMANENT:
        return DiscordRefused(platforms_texts.GATEWAY_REFUSED.format(address=settings.gateway_url, code=closed.code))
    return DiscordUnreachable(platforms_texts.GATEWAY_ENDED.format(address=settings.gateway_url, code=closed.code))


def _wrong_token() -> SettingsError:
    return SettingsError(platforms_texts.DISCORD_LOGIN_REFUSED)
