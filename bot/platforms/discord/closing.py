"""Channels of a server that fewer can read than before: what they held for the whole server stays in them.

Above: `client`. Below: `reading`, `bot.host`, discord.py's objects.

What was closed while the bot was away is found with the next message there.
"""

import discord

from agent.memory.audience import TeamAudience
from bot.host import Host
from bot.platforms.discord.reading.reading import channel_place


async def by_channel(host: Host, before: discord.abc.GuildChannel, after: discord.abc.GuildChannel) -> None:
    """The channel itself has changed. Raises CogencyError."""
    if isinstance(channel_place(before).audience, TeamAudience):
        await _narrow(host, after)


async def by_role(host: Host, before: discord.Role, after: discord.Role) -> None:
    """A role has changed; that of everybody may open or close every channel. Raises CogencyError."""
    if after.is_default() and before.permissions != after.permissions:
        for channel in after.guild.channels:
            await _narrow(host, channel)


async def _narrow(host: Host, channel: discord.abc.GuildChannel) -> None:
    place = channel_place(channel)
    if place.whole_channel and not isinstance(place.audience, TeamAudience):
        await host.narrow(str(channel.id), place)
