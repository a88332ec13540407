"""The settings for Discord, as one frozen value, and the links that add the bot. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from bot.platforms import texts as platforms_texts
from bot.platforms.discord.settings import DiscordSettings
from bot.settings.secret import Secret


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ids of the roles that make a member an admin, a manager or an employee; see `members.ranked`."""

    admins: frozenset[str] = frozenset()
    managers: frozenset[str] = frozenset()
    employees: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DiscordOptions:
    """The settings of `serve`. The addresses may point to another server, as in tests."""

    token: Secret
    api_base_url: str = "https://discord.com/api/v10"
    gateway_url: str = "wss://gateway.discord.gg"
    allowed_bots: frozenset[str] = frozenset()
    """User ids of other bots whose messages are accepted; those of all others are ignored."""
    servers: frozenset[str] = frozenset()
    """Ids of the operator's servers; empty for those that belong to the application's owner."""
    home: frozenset[str] = frozenset()
    """Ids of the servers whose members may write DMs; empty for all the operator's servers."""
    acts: bool = False
    """Whether the bot may act for the people who ask."""
    chosen: DiscordSettings = field(default_factory=DiscordSettings)
    """The operator's settings for Discord as they are. A setting that depends on no other is read here."""
    edit_interval_s: float = 1.02
    """Least time between the starts of two edits in one channel (`connection.WriteTurns`). Discord was observed to
    allow five in five seconds; this is slightly slower.
    """
    silence_s: float = 60.0
    """A connection that received nothing for this long, not even a heartbeat's answer, is dead, and replaced."""
    servers_s: float = 2.0
    """How long to wait for the next of the bot's servers, which Discord announces one by one after a login."""

    @property
    def ranks(self) -> Ranks:
        return Ranks(self.chosen.admins, self.chosen.managers, self.chosen.employees)

    @property
    def dm_idle(self) -> timedelta:
        """A DM after this long without messages starts a new conversation."""
        return timedelta(minutes=self.chosen.dm_idle_minutes)


# The links that add the bot to a server or to a personal account, and the permissions they request.
#
# Rule: a permission is requested only if a selected feature needs it.

ADDRESS: Final = "https://discord.com/oauth2/authorize"


@dataclass(frozen=True, slots=True)
class Permission:
    """`title` is Discord's own name, in English; `bit` its bit in Discord's permission sets."""

    title: str
    bit: int


# By discord.py's name of the permission.
PERMISSIONS: Final[Mapping[str, Permission]] = {
    "view_channel": Permission("View Channels", 1 << 10),
    "send_messages": Permission("Send Messages", 1 << 11),
    "read_message_history": Permission("Read Message History", 1 << 16),
    "create_public_threads": Permission("Create Public Threads", 1 << 35),
    "send_messages_in_threads": Permission("Send Messages in Threads", 1 << 38),
    "attach_files": Permission("Attach Files", 1 << 15),
    "add_reactions": Permission("Add Reactions", 1 << 6),
    "pin_messages": Permission("Pin Messages", 1 << 51),
    "send_polls": Permission("Create Polls", 1 << 49),
    "manage_threads": Permission("Manage Threads", 1 << 34),
    "create_events": Permission("Create Events", 1 << 44),
}
# What some acts need too, and no link asks for, because it allows much more: managers give it in single channels.
MANAGERS_GIVE: Final[Mapping[str, Permission]] = {
    "manage_channels": Permission("Manage Channels", 1 << 4),
    "connect": Permission("Connect", 1 << 20),
    "mute_members": Permission("Mute Members", 1 << 22),
    "move_members": Permission("Move Members", 1 << 24),
}


class DiscordFeature(StrEnum):
    """A feature of the bot in a server."""

    MENTIONS = "mentions"
    """Answer mentions where they are."""
    THREADS = "threads"
    """Answer in threads."""
    FILES = "files"
    """Attach texts as a file that are too long for a message."""
    COMMANDS = "commands"
    """Slash commands, and the context menus of messages."""
    ACTS = "acts"
    """Posts, reactions, threads and the like for the person who asks."""
    MARKS = "marks"
    """Reactions of the bot on questions."""
    FORUMS = "forums"
    """The tags of solved posts in forums."""


EVERYTHING: Final = frozenset(DiscordFeature)

_PERMISSIONS_OF: Final[Mapping[DiscordFeature, tuple[str, ...]]] = {
    DiscordFeature.MENTIONS: ("view_channel", "send_messages", "read_message_history"),
    DiscordFeature.THREADS: (
        "view_channel",
        "read_message_history",
        "create_public_threads",
        "send_messages_in_threads",
    ),
    DiscordFeature.FILES: ("attach_files",),
    DiscordFeature.COMMANDS: (),
    DiscordFeature.ACTS: (
        "view_channel",
        "read_message_history",
        "send_messages",
        "add_reactions",
        "pin_messages",
        "send_polls",
        "create_events",
        "create_public_threads",
        "send_messages_in_threads",
    ),
    DiscordFeature.MARKS: ("read_message_history", "add_reactions"),
    DiscordFeature.FORUMS: ("view_channel", "read_message_history", "send_messages_in_threads", "manage_threads"),
}


def required_features(settings: DiscordSettings, *, acts: bool = False) -> frozenset[DiscordFeature]:
    """Return all features that these settings use. `acts`: whether the bot may act for the people who ask."""
    # Managers of posts can do much: only a server with a help forum needs that.
    used = {DiscordFeature.ACTS: acts, DiscordFeature.MARKS: settings.marks, DiscordFeature.FORUMS: False}
    return frozenset(feature for feature in EVERYTHING if used.get(feature, True))


USUAL: Final = required_features(DiscordSettings())


def needed_permissions(features: Collection[DiscordFeature]) -> list[Permission]:
    """Return the permissions that these features need, in the order of PERMISSIONS."""
    names = {name for feature in features for name in _PERMISSIONS_OF[feature]}
    return [permission for name, permission in PERMISSIONS.items() if name in names]


def permission_bits(features: Collection[DiscordFeature]) -> int:
    """Return the sum of the bits of the permissions that these features need."""
    return sum(permission.bit for permission in needed_permissions(features))


def server_link(application: str, features: Collection[DiscordFeature] = USUAL) -> str:
    """Return the link that adds the bot to a server; opening it requires the Manage Server permission there."""
    scopes = ["bot", *(["applications.commands"] if DiscordFeature.COMMANDS in features else [])]
    query = {"scope": " ".join(scopes), "permissions": permission_bits(features), "integration_type": 0}
    return f"{ADDRESS}?{urlencode({'client_id': application, **query})}"


def person_link(application: str) -> str:
    """Return the link that adds the bot's commands to a personal account."""
    query = {"scope": "applications.commands", "integration_type": 1}
    return f"{ADDRESS}?{urlencode({'client_id': application, **query})}"


def invite_text(application: str, features: Collection[DiscordFeature] = USUAL) -> str:
    """Return the output of `cogency discord invite`."""
    lines = [platforms_texts.FOR_SERVER.format(link=server_link(application, features))]
    if DiscordFeature.COMMANDS in features:
        lines.append(platforms_texts.FOR_YOURSELF.format(link=person_link(application)))
    return "".join(f"{line}\n" for line in lines)
