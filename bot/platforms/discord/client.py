"""The Discord client: receives events and hands them on.

Above: `run` logs it in. Below: `inbound`, `reading`, `surroundings`, `desk`, `closing`, `orders`, `permissions`,
`bot.triggers`, and `bot.host.Host`.

Messages of one channel are handled in the order in which they came, however long it takes to read what one of them
refers to, or to store it. No message is kept here: the library's cache of messages is off.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import replace
from weakref import WeakValueDictionary

import discord
from discord import app_commands

from agent.errors import CogencyError, Refused, StoreUnavailable
from agent.memory.forgetting import Gone
from agent.records import Incoming
from bot import wording
from bot.access.told import Told
from bot.host import Host
from bot.logs import severity
from bot.platforms.discord import closing, inbound, orders, permissions, places, reading, refusals
from bot.platforms.discord.connection import Connection
from bot.platforms.discord.desk import Desk
from bot.platforms.discord.inbound import Me, Post
from bot.platforms.discord.members import Members
from bot.platforms.discord.missed import Missed
from bot.platforms.discord.place import known_as
from bot.platforms.discord.rest import Rest
from bot.platforms.discord.settings import DiscordSettings
from bot.platforms.discord.surroundings import Surroundings
from bot.triggers import Trigger, is_stop, trigger
from bot.turns.missed import Listening

log = logging.getLogger(__name__)

MAX_RATE_LIMIT_WAIT_S = 30.0
"""The library waits that long for Discord's limits by itself; a longer wait is ours to plan."""


def intents(*, message_content: bool) -> discord.Intents:
    """Which events Discord sends. Only the text of messages that do not mention the bot is privileged."""
    wanted = discord.Intents.none()
    wanted.guilds = True
    wanted.guild_messages = True
    wanted.dm_messages = True
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
    ) -> None:
        super().__init__(
            intents=intents(message_content=message_content),
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            chunk_guilds_at_startup=False,
            max_ratelimit_timeout=MAX_RATE_LIMIT_WAIT_S,
            heartbeat_timeout=settings.silence_s,
            guild_ready_timeout=settings.servers_s,
        )
        self.first_connected = asyncio.Event()
        self.lost_first = asyncio.Event()
        self._host = host
        self._settings = settings
        self._room = connection
        self._listening = listening
        self._told = Told(connection.clock)
        self._surroundings = Surroundings(self)
        self._members = Members(lambda: self.guilds, settings.home, connection.clock, settings.ranks)
        self._orders: WeakValueDictionary[int, asyncio.Lock] = WeakValueDictionary()
        self._missed = Missed(self, listening, self._take_late, self._amend, self._in_order)
        self.tree = app_commands.CommandTree(self)
        self._desk = Desk(self.tree, host, connection, self._surroundings, self._members, settings.reply_mode)

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """Nothing after the end: the library may still say, seconds after it was closed, that it is ready."""
        if not self.is_closed():
            super().dispatch(event, *args, **kwargs)

    async def setup_hook(self) -> None:
        """Logged in, not yet connected."""
        self._room.log_in(Rest(self.http))
        await self._desk.tell(self)

    async def on_connect(self) -> None:
        self._missed.began()
        self.first_connected.set()

    async def on_resumed(self) -> None:
        await self._missed.resumed()

    async def on_ready(self) -> None:
        await self._change(lambda: self._host.back([known_as(guild.id) for guild in self.guilds]))
        lacking = {guild.name: missing for guild in self.guilds if (missing := permissions.lacking(guild))}
        if lacking:
            servers = "; ".join(f"{name}: {', '.join(missing)}" for name, missing in lacking.items())
            log.warning("Discord: I lack permissions (%s): give them to my role in the server's settings.", servers)
        await self._missed.catch_up()

    async def on_disconnect(self) -> None:
        self._missed.lost()
        if not self.first_connected.is_set():
            self.lost_first.set()

    async def on_message(self, message: discord.Message) -> None:
        async def take() -> bool:
            await self._missed.before(message)
            return await self._take(message)

        async def tell_to_wait(_: StoreUnavailable) -> None:
            me, post = self._me(message.guild), reading.post_of(message, self._room.clock.now())
            for_us = post.where.direct or inbound.mentioned(post, me)
            if for_us and not self._told.just_now(str(message.author.id), wording.KEPT_WAITING):
                await _reply(message, wording.KEPT_WAITING)

        async with self._in_order(message.channel.id):
            try:
                await self._listening.insist(take, tell_to_wait)
            except Refused as refused:
                await refusals.tell(message.author, refused)
            except CogencyError as error:
                log.log(severity(error), "message %d could not be taken in: %s", message.id, error)
                await _reply(message, wording.failure(error))

    async def on_raw_message_edit(self, payload: discord.RawMessageUpdateEvent) -> None:
        if payload.message.edited_at is not None:  # else a link only unfolds
            async with self._in_order(payload.channel_id):
                await self._change(lambda: self._amend(payload.message))

    async def _amend(self, message: discord.Message) -> None:
        """An edit begins nothing; it changes a question that waits, and what is known. Raises CogencyError."""
        post = reading.post_of(message, self._room.clock.now())
        if (edited := inbound.read(post, self._me(message.guild), self._settings.reply_mode)) is not None:
            await self._host.amend(edited.channel, edited.message_id, edited.text)

    async def on_raw_message_delete(self, payload: discord.RawMessageDeleteEvent) -> None:
        await self._withdraw(payload.channel_id, [payload.message_id])

    async def on_raw_bulk_message_delete(self, payload: discord.RawBulkMessageDeleteEvent) -> None:
        await self._withdraw(payload.channel_id, payload.message_ids)

    async def _withdraw(self, channel: int, messages: Collection[int]) -> None:
        async with self._in_order(channel):
            found = self.get_channel(channel)
            parent = found.parent_id if isinstance(found, discord.Thread) else channel
            await self._change(lambda: self._host.withdraw(str(parent), frozenset(map(str, messages))))

    async def on_guild_channel_delete(self, channel: discord.abc.GuildChannel) -> None:
        await self._gone(channel.id, places.of_channels([channel.id]), at_once=True)

    async def on_raw_thread_delete(self, payload: discord.RawThreadDeleteEvent) -> None:
        await self._gone(payload.thread_id, places.of_thread(payload.thread_id), at_once=True)

    async def on_guild_remove(self, guild: discord.Guild) -> None:
        """The bot was taken out of a server, or the server is no more."""
        channels = [channel.id for channel in guild.channels]
        await self._gone(guild.id, places.of_channels(channels, guild.id), at_once=False)

    async def on_guild_join(self, guild: discord.Guild) -> None:
        await self._change(lambda: self._host.back([known_as(guild.id)]))

    async def on_guild_channel_update(self, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel) -> None:
        await self._change(lambda: closing.by_channel(self._host, before, after))

    async def on_guild_role_update(self, before: discord.Role, after: discord.Role) -> None:
        await self._change(lambda: closing.by_role(self._host, before, after))

    async def _gone(self, number: int, place: Gone, *, at_once: bool) -> None:
        await self._change(lambda: self._host.gone(known_as(number), place, at_once=at_once))

    async def _change(self, change: Callable[[], Awaitable[object]]) -> None:
        try:
            await self._listening.insist(change)
        except CogencyError as error:
            log.warning("what was edited, deleted or closed on Discord is kept as it was: %s", error)

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        await self._desk.take(interaction)

    def _in_order(self, channel: int) -> asyncio.Lock:
        return self._orders.setdefault(channel, asyncio.Lock())

    async def _take_late(self, message: discord.Message) -> bool:
        try:
            return await self._take(message, late=True)
        except Refused as refused:
            log.info("message %d, which was missed, is not answered: %s", message.id, refused)
            return False

    async def _take(self, message: discord.Message, *, late: bool = False) -> bool:
        """Whether it was new, and is answered."""
        me = self._me(message.guild)
        await self._surroundings.find_channel(message)
        post = reading.post_of(message, self._room.clock.now())
        if not post.author.automatic:
            post = replace(post, author=await self._members.known(post.author, direct=post.where.direct))
        incoming = inbound.read(post, me, self._settings.reply_mode)
        if incoming is None:
            return False
        in_thread = post.where.parent is not None
        participants = await self._host.participants(incoming.conversation) if in_thread else None
        decided = self._trigger(post, me, incoming.person.id, participants)
        if is_stop(incoming.text) and decided is not Trigger.IGNORE:
            if not late:
                await self._stop(message, incoming, decided)
            return False
        if decided is Trigger.ANSWER and (command := orders.command_meant(incoming, direct=post.where.direct)):
            if not late:
                await _reply(message, wording.use_command(command))
            return False
        match decided:
            case Trigger.ANSWER:
                new = in_thread and participants is None
                brought = await self._surroundings.of_message(message, incoming.place, import_thread=new)
                return await self._host.take(replace(incoming, quoted=brought.quoted, files=brought.files))
            case Trigger.OVERHEAR:
                await self._host.overhear(incoming)
            case Trigger.IGNORE:
                pass
        return False

    async def _stop(self, message: discord.Message, incoming: Incoming, decided: Trigger) -> None:
        """The word "stop", which is never a question."""
        if await self._host.stop(incoming.conversation):
            return
        if decided is Trigger.ANSWER:
            await message.reply(wording.NOTHING_RUNNING, mention_author=False)
        else:
            await self._host.overhear(incoming)

    @staticmethod
    def _trigger(post: Post, me: Me, author: str, participants: frozenset[str] | None) -> Trigger:
        mentioned, direct = inbound.mentioned(post, me), post.where.direct
        decided = trigger(author=author, direct=direct, mentioned=mentioned, participants=participants)
        if decided is Trigger.ANSWER and post.author.automatic and not (mentioned or direct):
            return Trigger.OVERHEAR  # two bots that answer each other's every message never end
        return decided

    def _me(self, guild: discord.Guild | None) -> Me:
        assert self.user is not None  # noqa: S101 -- events come after the login
        role = guild.self_role if guild is not None else None
        return Me(self.user.id, frozenset({role.id} if role else ()), self._settings.allowed_bots)


async def _reply(message: discord.Message, words: str) -> None:
    with suppress(discord.HTTPException):  # nothing more can be done for them
        await message.reply(words, mention_author=False)
