"""The links by which somebody adds the bot to a server or to their own account, and what these ask for. Pure.

Rule: a permission is asked for only if a feature that was chosen needs it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from bot.texts import setup_texts

ADDRESS: Final = "https://discord.com/oauth2/authorize"


@dataclass(frozen=True, slots=True)
class Permission:
    """`title` is Discord's own name, in English; `bit` the number of which Discord's sets are sums."""

    title: str
    bit: int


PERMISSIONS: Final[Mapping[str, Permission]] = {
    "view_channel": Permission("View Channels", 1 << 10),
    "send_messages": Permission("Send Messages", 1 << 11),
    "read_message_history": Permission("Read Message History", 1 << 16),
    "create_public_threads": Permission("Create Public Threads", 1 << 35),
    "send_messages_in_threads": Permission("Send Messages in Threads", 1 << 38),
    "attach_files": Permission("Attach Files", 1 << 15),
}
"""By discord.py's own name."""


class DiscordFeature(StrEnum):
    """What the bot shall do in a server."""

    MENTIONS = "mentions"
    """Answer whoever mentions it, where they do."""
    THREADS = "threads"
    """Answer in threads."""
    FILES = "files"
    """Hand over as a file what is too long for a message."""
    COMMANDS = "commands"
    """Slash commands, and what stands in the menus of messages."""


EVERYTHING: Final = frozenset(DiscordFeature)

_NEEDED: Final[Mapping[DiscordFeature, tuple[str, ...]]] = {
    DiscordFeature.MENTIONS: ("view_channel", "send_messages", "read_message_history"),
    DiscordFeature.THREADS: (
        "view_channel",
        "read_message_history",
        "create_public_threads",
        "send_messages_in_threads",
    ),
    DiscordFeature.FILES: ("attach_files",),
    DiscordFeature.COMMANDS: (),
}


def needed(features: Collection[DiscordFeature]) -> int:
    """The permissions that these features need, as Discord counts them."""
    names = {name for feature in features for name in _NEEDED[feature]}
    return sum(PERMISSIONS[name].bit for name in names)


def server_link(application: str, features: Collection[DiscordFeature] = EVERYTHING) -> str:
    """Adds the bot to a server; whoever opens it must be allowed to manage the server."""
    scopes = ["bot", *(["applications.commands"] if DiscordFeature.COMMANDS in features else [])]
    asked = {"scope": " ".join(scopes), "permissions": needed(features), "integration_type": 0}
    return f"{ADDRESS}?{urlencode({'client_id': application, **asked})}"


def person_link(application: str) -> str:
    """Adds the bot's commands to somebody's own account, wherever they are."""
    asked = {"scope": "applications.commands", "integration_type": 1}
    return f"{ADDRESS}?{urlencode({'client_id': application, **asked})}"


def text(application: str, features: Collection[DiscordFeature] = EVERYTHING) -> str:
    """What `cogency discord invite` prints."""
    lines = [setup_texts.FOR_SERVER.format(link=server_link(application, features))]
    if DiscordFeature.COMMANDS in features:
        lines.append(setup_texts.FOR_YOURSELF.format(link=person_link(application)))
    return "".join(f"{line}\n" for line in lines)
