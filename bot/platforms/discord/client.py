"""The Discord client: receives events and passes them on.

Messages are not cached: the library's message cache is off.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from http import HTTPStatus

import aiohttp
import discord

from agent.memory.audience import TeamAudience
from agent.memory.forgetting_plans import Gone
from bot.chat.host import Host
from bot.chat.telemetry import SILENT, ConnectionClosed, ConnectionOpened, RateLimited, Telemetry
from bot.chat.watermark import Watermark
from bot.platforms import texts as platforms_texts
from bot.platforms.discord import checks, places, pressing
from bot.platforms.discord.approving import DiscordApprovers
from bot.platforms.discord.commands import CommandHandler, CommandTree
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.conversations import DiscordConversations
from bot.platforms.discord.event_places import DiscordEventPlaces
from bot.platforms.discord.forums import DiscordForums
from bot.platforms.discord.http_client import BoundedClient
from bot.platforms.discord.intake import DiscordIntake
from bot.platforms.discord.members import DiscordMemberUnknown, Members, Servers, refused_line
from bot.platforms.discord.missed import DiscordMissed
from bot.platforms.discord.objects import channel_place
from bot.platforms.discord.occurrences import DiscordSchedules
from bot.platforms.discord.options import DiscordOptions
from bot.platforms.discord.places import SOURCE, UNREADABLE, known_as
from bot.platforms.discord.rest import Rest
from bot.platforms.discord.settings import OtherServers
from bot.platforms.discord.surroundings import Surroundings

# The shards (connections to Discord's gateway, among which the bot's servers are divided), and their state.
#
# Rules. Everything has been received only when every shard has received it. Only a shard that was lost catches up: the
# others have missed nothing.


class Shards:
    """`missed_on` creates the record of one shard, by its number; `count` returns how many there are."""

    def __init__(
        self,
        missed_on: Callable[[int], DiscordMissed],
        listening: Watermark,
        count: Callable[[], int],
        telemetry: Telemetry = SILENT,
    ) -> None:
        self._telemetry = telemetry
        self._missed_on = missed_on
        self._listening = listening
        self._count = count
        self._records: dict[int, DiscordMissed] = {}

    def of(self, shard: int) -> DiscordMissed:
        if shard not in self._records:
            self._records[shard] = self._missed_on(shard)
        return self._records[shard]

    def began(self, shard: int, received_until: datetime | None = None) -> None:
        """A new session has started. `received_until`: up to when another process has received everything there."""
        self._telemetry.record(ConnectionOpened(SOURCE, shard))
        self.of(shard).began(received_until)
        self._sum_up()

    def session_taken_over(self, shard: int, received_until: datetime | None) -> None:
        """A session of another process is resumed, which had not caught up on what was missed before it."""
        self.of(shard).began(received_until)
        self.of(shard).connected = False
        self._sum_up()

    async def ready(self, shard: int) -> None:
        """The servers of the shard are known: read what was missed from their history."""
        await self.of(shard).catch_up()
        self._sum_up()
        await self._listening.note()

    async def read_again(self, since: datetime) -> bool:
        """Read the history of this process's shards from that time on, unless one of them is not connected: what was
        taken in may no longer be stored.
        """
        if not all(record.connected for record in self._records.values()):
            return False
        for shard, record in [*self._records.items()]:
            record.began(since)
            self._sum_up()
            await self.ready(shard)
        return True

    async def resumed(self, shard: int) -> None:
        self._telemetry.record(ConnectionOpened(SOURCE, shard))
        self.of(shard).connected = True
        self._sum_up()
        await self._listening.note()

    def connection_lost(self, shard: int) -> None:
        self._telemetry.record(ConnectionClosed(SOURCE, shard))
        self.of(shard).connected = False
        self._sum_up()

    def drop(self, shard: int) -> None:
        """Another process serves this shard from now on."""
        if (dropped := self._records.pop(shard, None)) is not None:
            dropped.end()
            self._telemetry.record(ConnectionClosed(SOURCE, shard))
        self._sum_up()

    def end(self) -> None:
        """Report every shard as closed."""
        for shard in self._records:
            self._telemetry.record(ConnectionClosed(SOURCE, shard))

    def _sum_up(self) -> None:
        records = self._records.values()
        self._listening.connected = len(records) >= self._count() and all(record.connected for record in records)
        self._listening.behind = any(record.behind for record in records)


# Channels that fewer members can read than before: what was said there to the whole server stays in the channel.
#
# A channel that was restricted while the bot was offline is noticed with its next message.


async def closed_by_channel(host: Host, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel) -> None:
    """Restrict the channel's memory after a change of its own permissions. Raises CogencyError."""
    if isinstance(channel_place(before).audience, TeamAudience):
        await _restrict(host, after)


async def closed_by_role(host: Host, before: discord.Role, after: discord.Role) -> None:
    """Restrict channels' memory after a change of the @everyone role: it may open or close every channel.

    Raises CogencyError.
    """
    if after.is_default() and before.permissions != after.permissions:
        for channel in after.guild.channels:
            await _restrict(host, channel)


async def _restrict(host: Host, channel: discord.abc.GuildChannel) -> None:
    place = channel_place(channel)
    if place.whole_channel and not isinstance(place.audience, TeamAudience):
        await host.messages.restrict_place(SOURCE, str(channel.id), place)


log = logging.getLogger(__name__)

IDENTIFY_GAP_S = 5.0  # Discord allows one new session in five seconds


def limits_traced(telemetry: Telemetry) -> aiohttp.TraceConfig:
    """Report rate-limited requests to telemetry: the library handles most of them by itself."""

    async def on_response(_: aiohttp.ClientSession, __: object, request: aiohttp.TraceRequestEndParams) -> None:
        if request.response.status == HTTPStatus.TOO_MANY_REQUESTS:
            telemetry.record(RateLimited(SOURCE))

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(on_response)
    return trace


def intents(*, message_content: bool) -> discord.Intents:
    """Return the events that the bot subscribes to. Only `message_content` is privileged."""
    subscribed = discord.Intents.none()
    subscribed.guilds = True
    subscribed.guild_messages = True
    subscribed.dm_messages = True
    subscribed.guild_reactions = True
    subscribed.dm_reactions = True
    subscribed.message_content = message_content
    return subscribed


class DiscordClient(BoundedClient):
    """`first_connected` is set by the first connection; `lost_first` by a connection that failed before that."""

    def __init__(
        self,
        host: Host,
        settings: DiscordOptions,
        connection: Connection,
        listening: Watermark,
        *,
        message_content: bool = True,
        shard_count: int | None = None,
    ) -> None:
        super().__init__(
            intents=intents(message_content=message_content),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            chunk_guilds_at_startup=False,
            heartbeat_timeout=settings.silence_s,
            guild_ready_timeout=settings.servers_s,
            shard_count=shard_count,
            enable_debug_events=True,  # each gateway message is dispatched, heartbeats too: see `dispatch`
            http_trace=limits_traced(connection.telemetry),
        )
        self.first_connected = asyncio.Event()
        self.lost_first = asyncio.Event()
        self._last_received = connection.clock.monotonic()
        self._host = host
        self._settings = settings
        self.connection = connection
        surroundings = Surroundings(self)
        self._servers = Servers(settings, self, elsewhere=self.guild_elsewhere, are_loaded=self.knows_servers)
        members = Members(self._servers, connection.clock, settings.ranks)
        conversations = DiscordConversations(host, settings)
        self.schedules = DiscordSchedules(self, host, members, connection, self.first_connected)
        self.events = DiscordEventPlaces(self, members, connection, self.schedules)
        self.approvers = DiscordApprovers(self, host, members, self._servers, connection, self.schedules)
        self.forums = DiscordForums(self, connection, members, self.refuses)
        self._reported_servers: set[int] = set()
        self.tree = CommandTree(self)
        self._intake = DiscordIntake(
            self,
            host,
            settings,
            connection,
            listening,
            surroundings,
            members,
            self._servers,
            conversations,
        )
        self._listening = listening
        self._shards = Shards(self._missed_on, listening, self._connections, connection.telemetry)
        self._service = CommandHandler(self.tree, host, connection, surroundings, members, conversations)
        self.tree.admits = self._service.admits

    def knows_servers(self) -> bool:
        """Return whether it is known which servers this process serves."""
        return True

    def refuses(self, server: int | None) -> bool:
        """Return whether the bot does not answer in this server."""
        return self._servers.refuses(server)

    def record(self, shard: int) -> DiscordMissed:
        """Return the record of what a shard may have missed."""
        return self._shards.of(shard)

    async def read_again(self, since: datetime) -> bool:
        return await self._shards.read_again(since)

    def _connections(self) -> int:
        return self.shard_count or 1

    async def guild_elsewhere(self, number: int) -> discord.Guild | None:
        """Return the current state of a server that another process may serve. Raises UNREADABLE."""
        return self.get_guild(number)

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """Drop events after `close`: the library may still report, seconds later, that it is ready. Raw gateway
        messages only update the time of the last one.
        """
        if event == "socket_raw_receive":
            self._last_received = self.connection.clock.monotonic()
        elif not self.is_closed() and event != "socket_raw_send":
            super().dispatch(event, *args, **kwargs)

    async def close(self) -> None:
        self._shards.end()
        await super().close()

    async def setup_hook(self) -> None:
        """Runs after the login, before the first connection."""
        self._servers.set_application(self.application)
        self.connection.log_in(Rest(self))
        await self._service.sync_commands(self)

    # The connection

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 -- the library's
        if not initial:
            await self.connection.clock.sleep(IDENTIFY_GAP_S)

    def silence(self) -> float:
        """Return the seconds since the last message on any shard. The library watches each shard by itself."""
        return self.connection.clock.monotonic() - self._last_received

    async def on_connect(self) -> None:
        self._shards.began(0)
        self.first_connected.set()

    async def on_resumed(self) -> None:
        await self._resumed(0)

    async def on_ready(self) -> None:
        await self._on_servers_known(0)

    async def on_disconnect(self) -> None:
        self._lost(0)
        if not self.first_connected.is_set():
            self.lost_first.set()

    def _lost(self, shard: int) -> None:
        self._shards.connection_lost(shard)
        self._host.platforms.connected(SOURCE, platforms_texts.GATEWAY_LOST)

    async def _resumed(self, shard: int) -> None:
        await self._shards.resumed(shard)
        self._report_connected()

    def _report_connected(self) -> None:
        if self._listening.connected:
            self._host.platforms.connected(SOURCE)

    async def _on_servers_known(self, shard: int) -> None:
        guilds = [guild for guild in self.guilds if guild.shard_id == shard]
        await self._intake.apply_change(lambda: self._host.events.places_back([known_as(guild.id) for guild in guilds]))
        await self._turn_away(self._servers.others(guilds))
        servers = self._shards.of(shard).servers()
        lacking = {
            guild.name: permissions
            for guild in servers
            if (permissions := checks.missing_permissions(guild.me.guild_permissions, self._settings))
        }
        if lacking:
            report = "; ".join(f"{name}: {', '.join(permissions)}" for name, permissions in lacking.items())
            log.warning(
                "Discord: the bot lacks permissions (%s). Grant them to its role in the server's settings.", report
            )
        await self._shards.ready(shard)
        self._report_connected()

    def _missed_on(self, shard: int) -> DiscordMissed:
        intake = self._intake
        return DiscordMissed(
            self, self._listening, intake.arrived_late, intake.amend, intake.in_order, self._servers.refuses, shard
        )

    # Messages, reactions, commands

    async def on_message(self, message: discord.Message) -> None:
        shard = message.guild.shard_id if message.guild is not None else 0
        await self._intake.arrived(message, self._shards.of(shard).before)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        only_embeds = payload.message.edited_at is None
        if not only_embeds and payload.message.author != self.user:
            await self._intake.edited(payload.message)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._intake.deleted(payload.channel_id, payload.guild_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._intake.deleted(payload.channel_id, payload.guild_id, payload.message_ids)

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        await self._react(payload, lambda: pressing.reaction_added(self._host, self.connection, payload))

    async def on_raw_reaction_remove(self, payload: discord.RawReactionActionEvent) -> None:
        await self._react(payload, lambda: pressing.reaction_removed(self._host, payload))

    async def _react(self, payload: discord.RawReactionActionEvent, apply: Callable[[], Awaitable[object]]) -> None:
        """Apply a reaction of a person, in a server that is served, once that is known."""

        async def change() -> None:
            if self._servers.is_unknown(payload.guild_id):
                raise DiscordMemberUnknown
            if not self._servers.refuses(payload.guild_id):
                await apply()

        if not self._is_automatic(payload):
            await self._intake.apply_change(change)

    def _is_automatic(self, payload: discord.RawReactionActionEvent) -> bool:
        me = self.user
        return (me is not None and payload.user_id == me.id) or (payload.member is not None and payload.member.bot)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        await self._service.handle(interaction)

    # Servers and channels: deleted, joined, restricted

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self._gone(channel.id, places.places_of_channels([channel.id]), at_once=True)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        await self._gone(payload.thread_id, places.places_of_thread(payload.thread_id), at_once=True)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was removed from a server, or the server was deleted."""
        self._reported_servers.discard(guild.id)
        channels = [channel.id for channel in guild.channels]
        await self._gone(guild.id, places.places_of_channels(channels, guild.id), at_once=False)

    async def _turn_away(self, others: Sequence[discord.Guild]) -> None:
        """Log, once for each, the servers that the settings do not allow, and leave them if so configured."""
        others = [guild for guild in others if guild.id not in self._reported_servers]
        if not others or self._settings.chosen.other_servers is OtherServers.SERVE:
            return
        self._reported_servers.update(guild.id for guild in others)
        leaving = self._settings.chosen.other_servers is OtherServers.LEAVE
        log.warning("%s", refused_line(others, left=leaving))
        for guild in others if leaving else ():
            try:
                await guild.leave()
            except UNREADABLE as error:
                log.warning("Discord: server %d could not be left: %s", guild.id, type(error).__name__)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """A server was unavailable at the start; those that were not are checked together in `_on_servers_known`."""
        if self.is_ready():
            await self._turn_away(self._servers.others([guild]))

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self._turn_away(self._servers.others([guild]))
        await self._intake.apply_change(lambda: self._host.events.places_back([known_as(guild.id)]))

    async def on_guild_channel_update(self, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel) -> None:
        await self._intake.apply_change(lambda: closed_by_channel(self._host, before, after))

    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        await self._intake.apply_change(lambda: closed_by_role(self._host, before, after))

    async def _gone(self, number: int, place: Gone, *, at_once: bool) -> None:
        await self._intake.apply_change(lambda: self._host.events.place_gone(known_as(number), place, at_once=at_once))


class ShardedClient(DiscordClient, discord.AutoShardedClient):
    """`DiscordClient` over several shards; without `shard_count`, over as many as Discord recommends.

    The library reports each shard by its number, and all of them together, which adds nothing.
    """

    async def on_connect(self) -> None:
        self.first_connected.set()

    async def on_resumed(self) -> None:
        """See `on_shard_resumed`."""

    async def on_ready(self) -> None:
        """See `on_shard_ready`."""

    async def on_disconnect(self) -> None:
        if not self.first_connected.is_set():
            self.lost_first.set()

    async def on_shard_connect(self, shard_id: int) -> None:
        self._shards.began(shard_id)

    async def on_shard_resumed(self, shard_id: int) -> None:
        await self._resumed(shard_id)

    async def on_shard_ready(self, shard_id: int) -> None:
        await self._on_servers_known(shard_id)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self._lost(shard_id)
