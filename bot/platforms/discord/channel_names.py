"""The names of the servers that the bot is in, and of their channels."""

from collections.abc import Mapping

import discord


async def channel_names(client: discord.Client) -> Mapping[str, str]:
    """Return the names by id, as the gateway has them: "#general (Boats)", and the server's own."""
    names = {str(guild.id): guild.name for guild in client.guilds}
    for guild in client.guilds:
        for channel in (*guild.channels, *guild.threads):
            names[str(channel.id)] = shown_channel(channel.name, guild.name)
    return names


def shown_channel(channel: str, server: str) -> str:
    return f"#{channel} ({server})"
