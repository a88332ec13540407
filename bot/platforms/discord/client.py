"""The Discord client: receives events and hands them on.

Above: `run` logs it in. Below: `intake` (what people write), `desk` (commands, buttons and windows), `closing` and
`places` (what is closed or gone), `permissions`, `shards`, and `bot.host.Host`.

No message is kept here: the library's cache of messages is off.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import discord

from agent.memory.forgetting import Gone
from bot.host import Host
from bot.latest import Latest
from bot.platforms.discord import closing
from bot.platforms.discord.commands.control import help_text
from bot.platforms.discord.commands.desk import CommandTree, Desk
from bot.platforms.discord.intake import Intake
from bot.platforms.discord.members import permissions, places
from bot.platforms.discord.members.members import Members
from bot.platforms.discord.members.membership import UNREADABLE
from bot.platforms.discord.members.place import SOURCE, known_as
from bot.platforms.discord.members.servers import Servers, refused_line
from bot.platforms.discord.missed import Missed
from bot.platforms.discord.reading.conversations import Conversations
from bot.platforms.discord.reading.surroundings import Surroundings
from bot.platforms.discord.replies import reactions
from bot.platforms.discord.replies.connection import Connection
from bot.platforms.discord.replies.rest import Rest
from bot.platforms.discord.settings import DiscordSettings, OtherServers
from bot.platforms.discord.shards import Shards
from bot.turns.missed import Listening

log = logging.getLogger(__name__)

MAX_RATE_LIMIT_WAIT_S = 30.0
"""The library waits that long for Discord's limits by itself; a longer wait is ours to plan."""

IDENTIFY_GAP_S = 5.0
"""Discord takes one new session in five seconds."""


def intents(*, message_content: bool) -> discord.Intents:
    """Which events Discord sends. Only the text of messages that do not mention the bot is privileged."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
    wanted.guild_reactions = True
    wanted.dm_reactions = True
    wanted.message_content = message_content
    return wanted


class DiscordClient(discord.Client):
    """`first_connected` is set by the first READY; `lost_first` by the first connection that failed before it."""

    def __init__(
        self,
        host: Host,
        settings: DiscordSettings,
        connection: Connection,
        listening: Listening,
        *,
        message_content: bool = True,
        shard_count: int | None = None,
    ) -> None:
        super().__init__(
            intents=intents(message_content=message_content),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            chunk_guilds_at_startup=False,
            max_ratelimit_timeout=MAX_RATE_LIMIT_WAIT_S,
            heartbeat_timeout=settings.silence_s,
            guild_ready_timeout=settings.servers_s,
            shard_count=shard_count,
        )
        self.first_connected = asyncio.Event()
        self.lost_first = asyncio.Event()
        self._host = host
        self._settings = settings
        self._room = connection
        surroundings = Surroundings(self)
        self._servers = Servers(settings, self)
        members = Members(self._servers, connection.clock, settings.ranks)
        conversations = Conversations(host, settings)
        self._turned_away: set[int] = set()
        self.tree = CommandTree(self)
        self._intake = Intake(
            self,
            host,
            settings,
            connection,
            listening,
            surroundings,
            members,
            self._servers,
            conversations,
            partial(help_text, self.tree),
        )
        self._listening = listening
        self._shards = Shards(self._missed_on, listening, lambda: self.shard_count or 1)
        self._said_last = Latest()
        self._desk = Desk(self.tree, host, connection, surroundings, members, conversations, self._said_last)
        self.tree.admits = self._desk.admits

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """Nothing after the end: the library may still say, seconds after it was closed, that it is ready."""
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def setup_hook(self) -> None:
        """Logged in, not yet connected."""
        self._servers.belong_to(self.application)
        self._room.log_in(Rest(self))
        await self._desk.tell(self)

    # The line

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:  # noqa: ARG002 -- the library's
        if not initial:
            await self._room.clock.sleep(IDENTIFY_GAP_S)

    async def on_connect(self) -> None:
        self._shards.began(0)
        self.first_connected.set()

    async def on_resumed(self) -> None:
        await self._resumed(0)

    async def on_ready(self) -> None:
        await self._told_of_servers(0)

    async def on_disconnect(self) -> None:
        self._lost(0)
        if not self.first_connected.is_set():
            self.lost_first.set()

    def _lost(self, shard: int) -> None:
        self._shards.lost(shard)
        self._host.connected(SOURCE, "Discord's gateway ended the connection; the bot connects again by itself.")

    async def _resumed(self, shard: int) -> None:
        await self._shards.resumed(shard)
        self._tell_connected()

    def _tell_connected(self) -> None:
        if self._listening.connected:
            self._host.connected(SOURCE)

    async def _told_of_servers(self, shard: int) -> None:
        here = [guild for guild in self.guilds if guild.shard_id == shard]
        await self._intake.follow(lambda: self._host.back([known_as(guild.id) for guild in here]))
        await self._turn_away(self._servers.others(here))
        servers = self._shards.of(shard).servers()
        lacking = {
            guild.name: missing for guild in servers if (missing := permissions.lacking(guild.me.guild_permissions))
        }
        if lacking:
            told = "; ".join(f"{name}: {', '.join(missing)}" for name, missing in lacking.items())
            log.warning("Discord: I lack permissions (%s): give them to my role in the server's settings.", told)
        await self._shards.ready(shard)
        self._tell_connected()

    def _missed_on(self, shard: int) -> Missed:
        intake = self._intake
        return Missed(
            self, self._listening, intake.arrived_late, intake.amend, intake.in_order, self._servers.refuses, shard
        )

    # What people do

    async def on_message(self, message: discord.Message) -> None:
        shard = message.guild.shard_id if message.guild is not None else 0
        await self._intake.arrived(message, self._shards.of(shard).before)

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        only_unfolded = payload.message.edited_at is None
        if not only_unfolded and payload.message.author != self.user:
            await self._intake.edited(payload.message)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._intake.deleted(payload.channel_id, payload.guild_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._intake.deleted(payload.channel_id, payload.guild_id, payload.message_ids)

    async def on_raw_reaction_add(self, payload: discord.RawReactionActionEvent) -> None:
        if not self._is_automatic(payload) and not self._is_refused(payload):
            await self._intake.follow(lambda: reactions.added(self._host, self._room, self._said_last, payload))

    async def on_raw_reaction_remove(self, payload: discord.RawReactionActionEvent) -> None:
        if not self._is_automatic(payload) and not self._is_refused(payload):
            await self._intake.follow(lambda: reactions.taken_back(self._host, self._said_last, payload))

    def _is_automatic(self, payload: discord.RawReactionActionEvent) -> bool:
        me = self.user
        return (me is not None and payload.user_id == me.id) or (payload.member is not None and payload.member.bot)

    def _is_refused(self, payload: discord.RawReactionActionEvent) -> bool:
        return self._servers.refuses(payload.guild_id)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        await self._desk.take(interaction)

    # What is closed, or gone

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self._gone(channel.id, places.of_channels([channel.id]), at_once=True)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        await self._gone(payload.thread_id, places.of_thread(payload.thread_id), at_once=True)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was taken out of a server, or the server is no more."""
        self._turned_away.discard(guild.id)
        channels = [channel.id for channel in guild.channels]
        await self._gone(guild.id, places.of_channels(channels, guild.id), at_once=False)

    async def _turn_away(self, others: Sequence[discord.Guild]) -> None:
        """These servers are not named; each is told of once."""
        others = [guild for guild in others if guild.id not in self._turned_away]
        if not others or self._settings.others is OtherServers.SERVE:
            return
        self._turned_away.update(guild.id for guild in others)
        leaving = self._settings.others is OtherServers.LEAVE
        log.warning("%s", refused_line(others, left=leaving))
        for guild in others if leaving else ():
            try:
                await guild.leave()
            except UNREADABLE as error:
                log.warning("Discord: server %d could not be left: %s", guild.id, type(error).__name__)

    async def on_guild_available(self, guild: discord.Guild) -> None:
        """It was away at the start: those that were not are looked at together when all are known."""
        if self.is_ready():
            await self._turn_away(self._servers.others([guild]))

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self._turn_away(self._servers.others([guild]))
        await self._intake.follow(lambda: self._host.back([known_as(guild.id)]))

    async def on_guild_channel_update(self, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel) -> None:
        await self._intake.follow(lambda: closing.by_channel(self._host, before, after))

    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        await self._intake.follow(lambda: closing.by_role(self._host, before, after))

    async def _gone(self, number: int, place: Gone, *, at_once: bool) -> None:
        await self._intake.follow(lambda: self._host.gone(known_as(number), place, at_once=at_once))


class ShardedClient(DiscordClient, discord.AutoShardedClient):
    """The same over several connections; without `shard_count`, over as many as Discord recommends.

    The library tells of each connection by its number, and of all of them together, which says nothing more.
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
        await self._told_of_servers(shard_id)

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self._lost(shard_id)
