"""Who can read which channel or thread of a server now, by Discord's own permissions.

Above: `client` hands it to the host, `surroundings` asks about a linked message. Below: `place`, discord.py's objects.

Rules. Channels and roles are those of the gateway's cache; who the person is in their server is asked anew. Whatever is
neither a channel nor a thread of a server that the bot is in has no readers that anybody could name.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import aiohttp
import discord

from bot.platforms.discord.members.place import SOURCE

UNREADABLE: Final = (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError, TimeoutError)
"""Whatever keeps us from something of Discord: no permission, deleted, no network."""

GuildChannel = discord.TextChannel | discord.ForumChannel | discord.VoiceChannel | discord.StageChannel
Readable = GuildChannel | discord.Thread


class DiscordMembership:
    """The port Membership."""

    def __init__(self, client: discord.Client) -> None:
        self._client = client

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        user = _snowflake(person)
        members: dict[int, asyncio.Task[discord.Member | None]] = {}
        try:
            said = await asyncio.gather(*(self._reads(user, _snowflake(place), members) for place in places))
        finally:
            for asking in members.values():
                asking.cancel()
        return {place: reads for place, reads in zip(places, said, strict=True) if reads is not None}

    async def _reads(
        self, user: int, number: int, members: dict[int, asyncio.Task[discord.Member | None]]
    ) -> bool | None:
        """None: nothing is known. `members`: what is being asked about the user already, by server."""
        try:
            channel = self._client.get_channel(number) or await self._client.fetch_channel(number)
            if not isinstance(channel, Readable):
                return False
            guild = channel.guild
            if guild.id not in members:
                members[guild.id] = asyncio.create_task(_member(guild, user))
            member = await asyncio.shield(members[guild.id])
            return member is not None and await can_read(channel, member)
        except discord.NotFound:
            return False
        except (discord.InvalidData, *UNREADABLE):
            return None


async def can_read(channel: Readable, member: discord.Member) -> bool:
    """Whether this member, as they are now, can read what was said in the channel. Raises UNREADABLE."""
    if member.flags.guest or (isinstance(channel, discord.Thread) and channel.parent is None):
        return False
    can = channel.permissions_for(member)
    if not (can.view_channel and can.read_message_history):
        return False
    if isinstance(channel, discord.VoiceChannel | discord.StageChannel):
        return can.connect
    if isinstance(channel, discord.Thread) and channel.is_private() and not can.manage_threads:
        return await _is_in(channel, member)
    return True


async def _member(guild: discord.Guild, user: int) -> discord.Member | None:
    """None for somebody who is not in the server."""
    try:
        return await guild.fetch_member(user)
    except discord.NotFound:
        return None


async def _is_in(thread: discord.Thread, member: discord.Member) -> bool:
    try:
        await thread.fetch_member(member.id)
    except discord.NotFound:
        return False
    return True


def _snowflake(known: str) -> int:
    """The inverse of `known_as`; 0, which is nobody and nothing, for any other name."""
    number = known.removeprefix(f"{SOURCE}:")
    return int(number) if number.isascii() and number.isdecimal() else 0
