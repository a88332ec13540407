"""What the bot needs in a server, and what it lacks there.

Above: `client` says so at the start; `manifests/discord.md` has the reasons. Below: discord.py's servers.
"""

from typing import Final

import discord

PERMISSIONS: Final = {
    "view_channel": "View Channels",
    "send_messages": "Send Messages",
    "read_message_history": "Read Message History",
    "create_public_threads": "Create Public Threads",
    "send_messages_in_threads": "Send Messages in Threads",
}
"""By discord.py's and by Discord's own name."""


def lacking(guild: discord.Guild) -> list[str]:
    """The permissions that the bot lacks in the whole server; single channels may still differ."""
    granted = guild.me.guild_permissions
    return [title for name, title in PERMISSIONS.items() if not getattr(granted, name)]
