"""Who can read a Discord channel, from plain facts about it. Pure."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import aiohttp
import discord

from agent.memory.audience import GroupAudience, PersonAudience, Place, TeamAudience, label
from agent.memory.forgetting_plans import Gone

SOURCE = "discord"


def known_as(snowflake: int | str) -> str:
    """The id of a person, a conversation or a place outside this adapter: unique across platforms."""
    return f"{SOURCE}:{snowflake}"


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    """What is known about a channel, or, for a public thread, about the channel that it belongs to.

    `id` is the thread's own where the thread is private. `guild` is None outside servers, and on servers that the
    bot is not a member of: there it knows nothing.
    """

    id: int
    guild: int | None = None
    private_thread: bool = False
    voice: bool = False
    age_restricted: bool = False
    everyone_reads: bool = False
    someone_denied: bool = True


def place_of(channel: ChannelFacts) -> Place:
    """Where a reply in this channel will be read.

    The rules; whatever they do not name is a group of its own that nothing else may flow into.
    - A DM with the bot, and a reply that only the asker sees, are that person's.
    - A channel is its server's only if no member is kept out: @everyone may view it and read its history, no role or
      member is denied that, and it is not age-restricted. A public thread is what its channel is.
    - Every reader of another text channel or thread of a server is a member of the server, so what the whole server may
      read may be used there. Voice channels also admit guests, who are not members: nothing flows into them.
    - A channel that is known to be closed keeps what it held to itself; a private thread says nothing about its
      channel.
    """
    group = GroupAudience(known_as(channel.id))
    if channel.guild is None:
        return Place(group)
    if channel.voice:
        return Place(group, whole_channel=True)
    server = known_as(channel.guild)
    if channel.private_thread:
        return Place(group, within_team=server)
    if channel.age_restricted or channel.someone_denied or not channel.everyone_reads:
        return Place(group, within_team=server, whole_channel=True)
    return Place(TeamAudience(server), within_team=server)


def private_place(person: str, member_of: int | None = None) -> Place:
    """Where only this person (by their known id) reads. `member_of`: the server that they are a full member of now."""
    return Place(PersonAudience(person), within_team=None if member_of is None else known_as(member_of))


# Who can read which channel or thread of a server now, by Discord's own permissions.
#
# Rules. Channels and roles are those of the gateway's cache; who the person is in their server is asked anew.
# Whatever is neither a channel nor a thread of a server that the bot is in has no readers that anybody could name.

# Whatever keeps us from something of Discord: no permission, deleted, no network.
UNREADABLE: Final = (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError, TimeoutError)

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


# Places of Discord that are no more, as forgetting knows them. Pure.
#
# A thread that began from a message of a channel is found by its channel. What somebody asked in private stays theirs.


def places_of_channels(channels: Iterable[int], server: int | None = None) -> Gone:
    """These channels with their threads; with `server`, all of that server that Discord still tells of."""
    ids = frozenset(map(str, channels))
    audiences = {label(GroupAudience(known_as(id_))) for id_ in ids}
    if server is not None:
        audiences.add(label(TeamAudience(known_as(server))))
    return Gone(channels=ids, audiences=frozenset(audiences))


def places_of_thread(thread: int) -> Gone:
    return Gone(
        conversations=frozenset({known_as(thread)}), audiences=frozenset({label(GroupAudience(known_as(thread)))})
    )
