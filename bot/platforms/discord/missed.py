"""What was said on Discord while the bot was away: read from the channels' history, and taken in as if it came now."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

import discord

from agent.errors import CogencyError, StoreUnavailable
from agent.records import LastSeen
from bot.logs import severity
from bot.platforms.discord.places import UNREADABLE, known_as
from bot.texts.formatting import counted
from bot.turns.watermark import Watermark

log = logging.getLogger(__name__)

Channel: TypeAlias = discord.TextChannel | discord.VoiceChannel | discord.StageChannel | discord.Thread
Place: TypeAlias = Channel | discord.DMChannel

CLOSED = (discord.Forbidden, discord.NotFound)  # Not for us, or no longer there: nothing to try again


@dataclass(slots=True)
class DiscordMissed:
    """`take` takes in a message that is late, and says whether it was new; `amend` an edit. `in_order` is the lock of
    a channel.

    Rules.
    - A resumed session brings what was missed by itself. A new one does not: then, and at a start, history is read.
    - Where to look: channels and threads of servers whose last message is new enough, those with the bot's
      conversations first, then direct conversations that it had lately. Discord does not tell of others: one that began
      meanwhile is looked at when something arrives there.
    - Within a channel the order stays: what was missed there is read before the first message that arrives anew.
    - Direct messages come over the first connection alone.
    - What does not wait for an answer is not caught up: "stop", commands, buttons, reactions. Edits are followed as far
      as they stand among the messages that are read; a deletion leaves nothing to be read.
    """

    client: discord.Client
    listening: Watermark
    take: Callable[[discord.Message], Awaitable[bool]]
    amend: Callable[[discord.Message], Awaitable[None]]
    in_order: Callable[[int], asyncio.Lock]
    refuses: Callable[[int], bool]
    """Whether nobody is answered in a server: its channels would crowd out those of others."""
    shard: int = 0
    connected: bool = False
    behind: bool = False
    """Whether something may have been missed that was not yet looked for."""
    _since: datetime | None = None
    _caught_up: bool = False
    _round: int = 0
    _looked: set[int] = field(default_factory=set[int])
    _members: dict[tuple[int, int], discord.Member | None] = field(
        default_factory=dict[tuple[int, int], discord.Member | None]
    )
    _found: int = 0

    def began(self, heard: datetime | None = None) -> None:
        """A new session: what was said before it does not come by itself. `heard`: all was, by another process."""
        self._round += 1
        self._since = self.listening.since(heard)
        self._caught_up = False
        self._looked.clear()
        self._members.clear()
        self._found = 0
        self.connected = True
        self.behind = True

    def end(self) -> None:
        """Another process reads on."""
        self._round += 1

    async def before(self, message: discord.Message) -> None:
        """What was missed in the channel of a message that just arrived; its lock is held. Raises StoreUnavailable."""
        if isinstance(message.channel, discord.DMChannel if self._caught_up else Place):
            await self._looked_at(message.channel, message)

    async def catch_up(self) -> None:
        """Everything that was missed before this session, within the bounds."""
        this, since = self._round, self._since
        if since is not None:
            places = await self._places(since)
            for attempt in range(self.listening.bounds.attempts):
                if attempt:
                    await self.listening.clock.sleep(self.listening.bounds.retry_s)
                places = [place for place in places if self._round == this and not await self._in_turn(place)]
                if not places:
                    break
            if self._round != this or self.client.is_closed():
                return
            if self._found or places:
                left = f", {counted(len(places), 'channel', 'channels')} could not be read" if places else ""
                found = counted(self._found, "message", "messages")
                log.info("Discord: caught up on %s since %s%s", found, f"{since:%F %R} UTC", left)
        self._caught_up = True
        self.behind = False

    async def _in_turn(self, place: Place) -> bool:
        async with self.in_order(place.id):
            return await self.listening.insist(lambda: self._looked_at(place, None))

    async def _looked_at(self, place: Place, before: discord.Message | None) -> bool:
        """Take in what was missed in one place, the oldest first. False if it is worth another try.

        Raises StoreUnavailable.
        """
        since = self._since
        if since is None or place.id in self._looked:
            return True
        self._looked.add(place.id)
        limit = self.listening.bounds.messages
        try:
            history = place.history(limit=limit, before=before, oldest_first=False)
            for message in reversed([message async for message in history]):
                if message.edited_at is not None and message.edited_at > since:
                    await self.amend(message)
                if message.created_at > since:
                    message.author = await self._as_member(message)
                    self._found += await self.take(message)
        except StoreUnavailable:
            self._looked.discard(place.id)
            raise
        except CLOSED:
            return True
        except (CogencyError, *UNREADABLE) as error:
            log.warning("what was missed in channel %d could not be taken in yet: %s", place.id, error)
            self._looked.discard(place.id)
            return False
        return True

    async def _as_member(self, message: discord.Message) -> discord.User | discord.Member:
        """The author with their roles of today, which history does not tell, if the message may be for the bot."""
        guild, author = message.guild, message.author
        for_us = isinstance(message.channel, discord.Thread) or message.mentions or message.role_mentions
        if guild is None or author.bot or message.webhook_id is not None or not for_us:
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
        lately = self.listening.clock.now() - bounds.known
        try:
            seen = await self.listening.host.conversations.last_seen(
                self.listening.source, since=lately, limit=bounds.places
            )
        except CogencyError as error:
            log.log(severity(error), "where the bot had conversations is not known: %s", error)
            seen = []
        known = {one.conversation for one in seen}
        here = [channel for guild in self.servers() for channel in _moved(guild, since)]
        here.sort(key=lambda channel: (known_as(channel.id) not in known, -(channel.last_message_id or 0)))
        written = dict.fromkeys(one.channel for one in seen if _may_be_direct(one)) if self.shard == 0 else ()
        direct = [await self._direct(channel) for channel in written]
        found: list[Place] = [*filter(None, direct), *here]
        if len(found) > bounds.places:
            log.warning("Discord: %d channels are not looked at for what was missed", len(found) - bounds.places)
        return found[: bounds.places]

    def servers(self) -> list[discord.Guild]:
        """Those of this connection in which somebody may be answered."""
        return [guild for guild in self.client.guilds if guild.shard_id == self.shard and not self.refuses(guild.id)]

    async def _direct(self, channel: str) -> discord.DMChannel | None:
        """The direct conversation of that id; None if it is something else."""
        found = self.client.get_channel(int(channel))
        if found is None:
            try:
                found = await self.client.fetch_channel(int(channel))
            except (discord.InvalidData, *UNREADABLE):
                return None
        return found if isinstance(found, discord.DMChannel) else None


def _may_be_direct(seen: LastSeen) -> bool:
    """Whether its conversation may be one of a direct message; what was asked in a channel in private may, too."""
    channel = known_as(seen.channel)
    return seen.conversation == channel or seen.conversation.startswith(f"{channel}:")


def _moved(guild: discord.Guild, since: datetime) -> list[Channel]:
    """Where something was said since then that the bot may read."""
    channels: list[Channel] = [*guild.text_channels, *guild.voice_channels, *guild.stage_channels]
    channels += [thread for thread in guild.threads if thread.parent is not None]
    return [channel for channel in channels if _is_newer(channel, since) and _readable(channel)]


def _is_newer(channel: Channel, since: datetime) -> bool:
    last = channel.last_message_id
    return last is not None and discord.utils.snowflake_time(last) > since


def _readable(channel: Channel) -> bool:
    can = channel.permissions_for(channel.guild.me)
    return can.view_channel and can.read_message_history
