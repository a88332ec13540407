"""Take in what was written on Discord while the bot was offline, read from the channels' history."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import discord

from agent.errors import CogencyError, StoreUnavailable, Unexpected
from agent.stored_messages import LastSeen
from bot.chat.logs import severity
from bot.chat.texts.formatting import counted
from bot.chat.watermark import Watermark
from bot.platforms.discord.places import UNREADABLE, known_as

log = logging.getLogger(__name__)

Channel: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Place: TypeAlias = Channel | discord.DMChannel

CLOSED = (discord.Forbidden, discord.NotFound)  # Not readable, or deleted: another try is useless


@dataclass(slots=True)
class DiscordMissed:
    """`take` takes in a late message and returns whether it was new; `amend` takes in an edit. `in_order` returns the
    lock of a channel.

    Rules.
    - A resumed session delivers what was missed by itself. A new one does not: then, and at a start, history is read.
    - Where: channels and threads of servers whose last message is new enough, those with the bot's conversations first,
      then recent direct conversations. Discord does not list other DMs: one that began meanwhile is read when a message
      arrives there.
    - Order within a channel is kept: what was missed there is read before the first new message is handled.
    - Direct messages are delivered over the first shard only.
    - What is not a question is not caught up: "stop", commands, buttons, reactions. Edits are taken in for the messages
      that are read; a deleted message is not in the history.
    """

    client: discord.Client
    listening: Watermark
    take: Callable[[discord.Message], Awaitable[bool]]
    amend: Callable[[discord.Message], Awaitable[None]]
    in_order: Callable[[int], asyncio.Lock]
    refuses: Callable[[int], bool]
    """Whether the bot does not answer in a server: its channels would displace those of others."""
    shard: int = 0
    connected: bool = False
    behind: bool = False
    """Whether something may have been missed that was not yet read."""
    _since: datetime | None = None
    _caught_up: bool = False
    _session_number: int = 0
    _read_places: set[int] = field(default_factory=set[int])
    _members: dict[tuple[int, int], discord.Member | None] = field(
        default_factory=dict[tuple[int, int], discord.Member | None]
    )
    _taken_count: int = 0

    def began(self, received_until: datetime | None = None) -> None:
        """A new session has started, which does not deliver what was missed before.

        `received_until`: up to when another process has received everything.
        """
        self._session_number += 1
        self._since = self.listening.since(received_until)
        self._caught_up = False
        self._read_places.clear()
        self._members.clear()
        self._taken_count = 0
        self.connected = True
        self.behind = True

    def end(self) -> None:
        """Stop reading: another process serves this shard."""
        self._session_number += 1

    async def before(self, message: discord.Message) -> None:
        """Take in what was missed in the channel of a new message; its lock is held. Raises StoreUnavailable."""
        if isinstance(message.channel, discord.DMChannel if self._caught_up else Place):
            await self._read_place(message.channel, message)

    async def catch_up(self) -> None:
        """Take in what was missed before this session, within the bounds."""
        session_number, since = self._session_number, self._since
        if since is not None:
            places = await self._places(since)
            for attempt in range(self.listening.bounds.attempts):
                if attempt:
                    await self.listening.clock.sleep(self.listening.bounds.retry_s)
                places = [
                    place
                    for place in places
                    if self._session_number == session_number and not await self._read_in_order(place)
                ]
                if not places:
                    break
            if self._session_number != session_number or self.client.is_closed():
                return
            if self._taken_count or places:
                unread_text = f", {counted(len(places), 'channel', 'channels')} could not be read" if places else ""
                taken_text = counted(self._taken_count, "message", "messages")
                log.info("Discord: caught up on %s since %s%s", taken_text, f"{since:%F %R} UTC", unread_text)
        self._caught_up = True
        self.behind = False

    async def _read_in_order(self, place: Place) -> bool:
        async with self.in_order(place.id):
            return await self.listening.retry(lambda: self._read_place(place, None))

    async def _read_place(self, place: Place, before: discord.Message | None) -> bool:
        """Take in what was missed in one place, oldest first. False if it should be tried again.

        Raises StoreUnavailable.
        """
        since = self._since
        if since is None or place.id in self._read_places:
            return True
        self._read_places.add(place.id)
        limit = self.listening.bounds.messages
        try:
            history = place.history(limit=limit, before=before, oldest_first=False)
            for message in reversed([message async for message in history]):
                if message.edited_at is not None and message.edited_at > since:
                    with suppress(Unexpected):  # the other messages are still taken in
                        await self.amend(message)
                if message.created_at > since:
                    message.author = await self._as_member(message)
                    self._taken_count += await self.take(message)
        except StoreUnavailable:
            self._read_places.discard(place.id)
            raise
        except CLOSED:
            return True
        except (CogencyError, *UNREADABLE) as error:
            log.warning("missed messages in channel %d could not be accepted yet: %s", place.id, error)
            self._read_places.discard(place.id)
            return False
        return True

    async def _as_member(self, message: discord.Message) -> discord.User | discord.Member:
        """Return the author with their current roles, which history lacks, if the message may be for the bot."""
        guild, author = message.guild, message.author
        is_for_bot = isinstance(message.channel, discord.Thread) or message.mentions or message.role_mentions
        if guild is None or author.bot or message.webhook_id is not None or not is_for_bot:
            return author
        key = (guild.id, author.id)
        if key not in self._members:
            try:
                self._members[key] = await guild.fetch_member(author.id)
            except discord.NotFound:
                self._members[key] = None
        return self._members[key] or author

    async def _places(self, since: datetime) -> list[Place]:
        bounds = self.listening.bounds
        oldest = self.listening.clock.now() - bounds.known
        try:
            seen = await self.listening.host.conversations.last_seen(
                self.listening.source, since=oldest, limit=bounds.places
            )
        except CogencyError as error:
            log.log(severity(error), "the bot's conversations could not be listed: %s", error)
            seen = []
        conversations = {last.conversation for last in seen}
        channels = [channel for guild in self.servers() for channel in _unread_channels(guild, since)]
        channels.sort(key=lambda channel: (known_as(channel.id) not in conversations, -(channel.last_message_id or 0)))
        direct_ids = dict.fromkeys(last.channel for last in seen if _may_be_direct(last)) if self.shard == 0 else ()
        direct = [await self._direct(channel) for channel in direct_ids]
        found: list[Place] = [*filter(None, direct), *channels]
        if len(found) > bounds.places:
            log.warning("Discord: %d channels were not checked for missed messages", len(found) - bounds.places)
        return found[: bounds.places]

    def servers(self) -> list[discord.Guild]:
        """The servers of this shard in which the bot answers."""
        return [guild for guild in self.client.guilds if guild.shard_id == self.shard and not self.refuses(guild.id)]

    async def _direct(self, channel: str) -> discord.DMChannel | None:
        """Return the DM channel of that id; None if it is another kind of channel."""
        found = self.client.get_channel(int(channel))
        if found is None:
            try:
                found = await self.client.fetch_channel(int(channel))
            except (discord.InvalidData, *UNREADABLE):
                return None
        return found if isinstance(found, discord.DMChannel) else None


def _may_be_direct(seen: LastSeen) -> bool:
    """Return whether it may be a DM's conversation; private questions in a channel look the same."""
    channel = known_as(seen.channel)
    return seen.conversation == channel or seen.conversation.startswith(f"{channel}:")


def _unread_channels(guild: discord.Guild, since: datetime) -> list[Channel]:
    """Return the channels with messages since then that the bot may read."""
    channels: list[Channel] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels]
    channels += [thread for thread in guild.threads if thread.parent is not None]
    return [channel for channel in channels if _is_newer(channel, since) and _readable(channel)]


def _is_newer(channel: Channel, since: datetime) -> bool:
    last = channel.last_message_id
    return last is not None and discord.utils.snowflake_time(last) > since


def _readable(channel: Channel) -> bool:
    can = channel.permissions_for(channel.guild.me)
    return can.view_channel and can.read_message_history
