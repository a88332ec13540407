"""What the bot needs in a server, what it lacks there, and what keeps it from answering in a channel.

Above: `client` says what is lacking at the start, `intake` before it answers; `pressing` and `reading` ask what is
permitted. Below: `invite` has them all, `checks`; discord.py's servers and channels.

Rule: what cannot be known, as in a server that is not in the cache, is taken to be permitted: Discord will say.
"""

from typing import Final, TypeAlias

import discord

from agent.errors import Refused
from bot.platforms.discord.setup import checks
from bot.platforms.discord.setup.invite import PERMISSIONS

_IN_CHANNELS: Final = ("view_channel", "send_messages", "read_message_history")
"""A reply to a message takes the right to read it."""
_IN_THREADS: Final = ("view_channel", "send_messages_in_threads")

Channel: TypeAlias = discord.abc.GuildChannel | discord.Thread


def lacking(granted: discord.Permissions) -> list[str]:
    """The permissions that the bot lacks among those granted in a whole server; single channels may still differ."""
    return checks.lacking(granted.value)


def may_start_threads(channel: discord.TextChannel) -> bool:
    """Whether the bot can start a thread from a message there, and write in it."""
    granted = _granted(channel)
    return granted is None or (granted.create_public_threads and granted.send_messages_in_threads)


def check(channel: object, *, in_thread: bool) -> None:
    """Raises Refused, with what is missing, if the bot cannot answer there.

    `in_thread`: the answer goes into a thread, which this channel is, or has.
    """
    granted = _granted(channel) if isinstance(channel, Channel) else None
    if not isinstance(channel, Channel) or granted is None:
        return
    if isinstance(channel, discord.Thread) and channel.locked and not granted.manage_threads:
        raise Refused(f"I cannot answer in the thread “{channel.name}”: it is locked.")
    needed = _IN_THREADS if in_thread else _IN_CHANNELS
    missing = [PERMISSIONS[name].title for name in needed if not getattr(granted, name)]
    if missing:
        raise Refused(
            f"I cannot answer in #{channel.name}: my role lacks {_listed(missing)} there. Whoever manages the server "
            "can give me that."
        )


def may_answer(granted: discord.Permissions, *, in_thread: bool) -> bool:
    """Whether the bot can write by itself where it has these permissions, and not only answer a command."""
    return all(getattr(granted, name) for name in (_IN_THREADS if in_thread else _IN_CHANNELS))


def _granted(channel: Channel) -> discord.Permissions | None:
    """What the bot may do there now; None if that is not known."""
    guild = channel.guild
    unknown = guild.get_role(guild.id) is None or (isinstance(channel, discord.Thread) and channel.parent is None)
    return None if unknown else channel.permissions_for(guild.me)


def _listed(titles: list[str]) -> str:
    return " and ".join([", ".join(titles[:-1]), titles[-1]] if len(titles) > 1 else titles)
