"""Who can read a Discord channel."""

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
    """Return the id of a person, a conversation or a place outside of this adapter: "discord:" and Discord's id."""
    return f"{SOURCE}:{snowflake}"


@dataclass(frozen=True, slots=True)
class ChannelFacts:
    """What is known about a channel; for a public thread, about its parent channel.

    `id` is the thread's own if the thread is private. `guild` is None outside of servers, and in servers that the bot
    is not a member of, where it knows nothing.
    """

    id: int
    guild: int | None = None
    private_thread: bool = False
    voice: bool = False
    age_restricted: bool = False
    everyone_reads: bool = False
    someone_denied: bool = True


def place_of(channel: ChannelFacts) -> Place:
    """Return the place in which a reply in this channel will be read. Pure.

    Rules; any other channel is a group of its own, into which nothing else may flow.

    - A DM with the bot, and a reply that only the asker sees, are that person's.
    - A channel belongs to its whole server only if no member is kept out: @everyone may view it and read its history,
      no role or member is denied that, and it is not age-restricted. A public thread is like its channel.
    - Every reader of another text channel or thread of a server is a member of the server, so what the whole server may
      read may be used there. Voice channels also admit guests, who are not members: nothing flows into them.
    - Memory of a channel that became restricted stays in it; a private thread says nothing about its channel.
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
    """Return the place that only this person (by their known id) reads.

    `member_of`: the server of which they are currently a full member.
    """
    return Place(PersonAudience(person), within_team=None if member_of is None else known_as(member_of))


# Who can read a channel or thread of a server now, by Discord's permissions.
#
# Rules. Channels and roles come from the gateway's cache; the person's membership is fetched at each check. Anything
# but a channel or thread of a server that the bot is in has no known readers.

# Errors of reading from Discord: no permission, deleted, no network.
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
            results = await asyncio.gather(*(self._reads(user, _snowflake(place), members) for place in places))
        finally:
            for task in members.values():
                task.cancel()
        return {place: reads for place, reads in zip(places, results, strict=True) if reads is not None}

    async def _reads(
        self, user: int, number: int, members: dict[int, asyncio.Task[discord.Member | None]]
    ) -> bool | None:
        """Return whether the user can read the channel; None if unknown. `members`: running requests, by server."""
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
    """Return whether this member can currently read the channel's history. Raises UNREADABLE."""
    if member.flags.guest or (isinstance(channel, discord.Thread) and channel.parent is None):
        return False
    permissions = channel.permissions_for(member)
    if not (permissions.view_channel and permissions.read_message_history):
        return False
    if isinstance(channel, discord.VoiceChannel | discord.StageChannel):
        return permissions.connect
    if isinstance(channel, discord.Thread) and channel.is_private() and not permissions.manage_threads:
        return await _is_in(channel, member)
    return True


async def _member(guild: discord.Guild, user: int) -> discord.Member | None:
    """None if the user is not in the server."""
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
    """The inverse of `known_as`; 0, which is no one's id, for any other string."""
    number = known.removeprefix(f"{SOURCE}:")
    return int(number) if number.isascii() and number.isdecimal() else 0


# Deleted places of Discord, as forgetting identifies them. Pure.
#
# A thread that was started from a channel's message is found by its channel. Private questions stay their asker's.


def places_of_channels(channels: Iterable[int], server: int | None = None) -> Gone:
    """Return these channels with their threads; with `server`, also the server's own audience."""
    ids = frozenset(map(str, channels))
    audiences = {label(GroupAudience(known_as(id_))) for id_ in ids}
    if server is not None:
        audiences.add(label(TeamAudience(known_as(server))))
    return Gone(channels=ids, audiences=frozenset(audiences))


def places_of_thread(thread: int) -> Gone:
    conversations = frozenset({known_as(thread), acts_in(thread)})
    return Gone(conversations=conversations, audiences=frozenset({label(GroupAudience(known_as(thread)))}))


def acts_in(place: int | str | None) -> str:
    """Return the conversation of what the bot posts by tools in a channel or thread."""
    return known_as(f"{place}:acts")
