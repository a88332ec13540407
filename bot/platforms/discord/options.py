"""What an operator can choose for Discord, as one frozen value; and the links by which the bot is added. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from bot.setting_parsers import OtherServers, ReplyMode, Secret
from bot.texts import setup_texts


@dataclass(frozen=True, slots=True)
class Ranks:
    """Ids of the roles that make somebody an admin, a manager or an employee; see `ranks`."""

    admins: frozenset[str] = frozenset()
    managers: frozenset[str] = frozenset()
    employees: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DiscordSettings:
    """Everything that `serve` needs to know. The addresses move so that it can talk to a server of one's own."""

    token: Secret
    api_base_url: str = "https://discord.com/api/v10"
    gateway_url: str = "wss://gateway.discord.gg"
    reply_mode: ReplyMode = ReplyMode.THREAD
    allowed_bots: frozenset[str] = frozenset()
    """User ids of other bots that may talk with this one; messages of all others are ignored."""
    servers: frozenset[str] = frozenset()
    """Ids of the servers that are the operator's; empty for those that belong to the application's owner."""
    others: OtherServers = OtherServers.REFUSE
    home: frozenset[str] = frozenset()
    """Ids of the servers whose members may write DMs; empty for all that are the operator's."""
    ranks: Ranks = Ranks()
    dm_idle: timedelta = timedelta(hours=6)
    """A direct message after so long a silence begins a conversation: more than a meeting or a meal takes, less than
    a night. What was said before is still found when it is asked about."""
    message_content: bool = True
    """Whether to ask for the text of messages that do not mention the bot."""
    shards: int | None = 1
    """Connections among which the servers are divided; None: as many as Discord recommends, from 2,500 servers on."""
    edit_interval_s: float = 1.02
    """Least time between the starts of two edits in one channel, of which five are counted from a return
    (`gate`). Discord was seen to allow five in five seconds; this is a little less."""
    silence_s: float = 60.0
    """A socket through which nothing came for so long, not even the answer to a heartbeat, is dead, and replaced."""
    servers_s: float = 2.0
    """How long to wait for the next of the bot's servers, of which Discord tells one by one after a login."""


# The links by which somebody adds the bot to a server or to their own account, and what these ask for.
#
# Rule: a permission is asked for only if a feature that was chosen needs it.

ADDRESS: Final = "https://discord.com/oauth2/authorize"


@dataclass(frozen=True, slots=True)
class Permission:
    """`title` is Discord's own name, in English; `bit` the number of which Discord's sets are sums."""

    title: str
    bit: int


# By discord.py's own name.
PERMISSIONS: Final[Mapping[str, Permission]] = {
    "view_channel": Permission("View Channels", 1 << 10),
    "send_messages": Permission("Send Messages", 1 << 11),
    "read_message_history": Permission("Read Message History", 1 << 16),
    "create_public_threads": Permission("Create Public Threads", 1 << 35),
    "send_messages_in_threads": Permission("Send Messages in Threads", 1 << 38),
    "attach_files": Permission("Attach Files", 1 << 15),
}


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


def invite_text(application: str, features: Collection[DiscordFeature] = EVERYTHING) -> str:
    """What `cogency discord invite` prints."""
    lines = [setup_texts.FOR_SERVER.format(link=server_link(application, features))]
    if DiscordFeature.COMMANDS in features:
        lines.append(setup_texts.FOR_YOURSELF.format(link=person_link(application)))
    return "".join(f"{line}\n" for line in lines)
