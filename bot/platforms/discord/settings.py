"""The settings for Discord."""

import re
from enum import StrEnum

from bot.settings.parsers import id_list, whole


class ReplyMode(StrEnum):
    """Where the bot answers a mention in a Discord channel; in a thread or a DM it always answers in place."""

    THREAD = "thread"
    """In a thread that the bot starts from the message: each question is a conversation."""
    CHAIN = "chain"
    """In the channel, as a reply to the message: replies to it continue the conversation."""
    IN_PLACE = "place"
    """In the channel, as a reply to the message: the whole channel is one conversation."""


class OtherServers(StrEnum):
    """What the bot does in Discord servers that are not listed."""

    REFUSE = "refuse"
    """It does not answer there, and tells askers which setting would change that."""
    LEAVE = "leave"
    """It leaves them."""
    SERVE = "serve"
    """It answers their members there, who remain strangers elsewhere."""


_DISCORD_ID = re.compile(r"\d+", re.ASCII)

discord_roles = id_list(
    _DISCORD_ID, "ids of roles with commas between them, as in 123456789012345678,234567890123456789"
)

discord_servers = id_list(
    _DISCORD_ID, "ids of servers with commas between them, as in 123456789012345678,234567890123456789"
)


def shards(value: str) -> int | None:
    """Parse a number of connections; None for "auto"."""
    if value.casefold() == "auto":
        return None
    try:
        return whole(1, 1_000)(value)
    except ValueError:
        raise ValueError("must be auto, or a whole number from 1 to 1000") from None
