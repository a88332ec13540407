"""The settings for Discord."""

import re
from dataclasses import dataclass
from enum import StrEnum

from bot.settings import parsers
from bot.settings.declaration import Section, Sensitivity, secret_setting, setting
from bot.settings.parsers import id_list, whole
from bot.settings.secret import Secret


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

discord_roles = id_list(_DISCORD_ID, "role IDs, separated by commas, as in 123456789012345678,234567890123456789")

discord_servers = id_list(_DISCORD_ID, "server IDs, separated by commas, as in 123456789012345678,234567890123456789")


def parse_shards(value: str) -> int | None:
    """Parse a number of connections; None for "auto"."""
    if value.casefold() == "auto":
        return None
    try:
        return whole(1, 1_000)(value)
    except ValueError:
        raise ValueError("must be auto, or a whole number from 1 to 1000") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordSettings:
    """The Discord application, its servers, and how the bot answers there."""

    replies: ReplyMode = setting(
        "COGENCY_DISCORD_REPLIES",
        parsers.one_of(ReplyMode),
        ReplyMode.THREAD,
        section=Section.ANSWERS,
        description=(
            "Where the bot answers a mention in a Discord channel: thread (in a new thread), chain (in the channel; "
            "replies continue the conversation), or place (in the channel, which is one conversation). Managers can "
            "change this for their server or channel with /settings."
        ),
    )
    token: Secret | None = secret_setting(
        "DISCORD_TOKEN",
        section=Section.PLATFORMS,
        description="Discord: the bot token, from the Bot page in the developer portal.",
    )
    servers: frozenset[str] = setting(
        "COGENCY_DISCORD_SERVERS",
        discord_servers,
        frozenset(),
        section=Section.PLATFORMS,
        description=(
            "Discord: comma-separated IDs of the servers that the bot serves. The bot also serves the servers in "
            "COGENCY_ALLOW. Default: servers that belong to the owner of the bot's application, or to a member of its "
            "team."
        ),
        example="123456789012345678",
    )
    """Empty: the servers of the application's owner and of its team's members."""
    other_servers: OtherServers = setting(
        "COGENCY_DISCORD_OTHER_SERVERS",
        parsers.one_of(OtherServers),
        OtherServers.REFUSE,
        section=Section.PLATFORMS,
        description=(
            "Discord: what the bot does in other servers that add it: refuse (answer nobody there), leave, or serve "
            "(answer their members, but only in those servers)."
        ),
    )
    """Any server can add a public bot, and ask at the operator's expense."""
    admins: frozenset[str] = setting(
        "COGENCY_DISCORD_ADMINS",
        discord_roles,
        frozenset(),
        section=Section.PLATFORMS,
        description=(
            "Discord: comma-separated IDs of roles whose members are admins, in addition to the server's owner and "
            "administrators."
        ),
        example="123456789012345678",
    )
    managers: frozenset[str] = setting(
        "COGENCY_DISCORD_MANAGERS",
        discord_roles,
        frozenset(),
        section=Section.PLATFORMS,
        description=(
            "Discord: comma-separated IDs of roles whose members are managers. Default: people with the Manage Server "
            "permission."
        ),
        example="123456789012345678",
    )
    """Empty: those who may manage the server."""
    employees: frozenset[str] = setting(
        "COGENCY_DISCORD_EMPLOYEES",
        discord_roles,
        frozenset(),
        section=Section.PLATFORMS,
        description=(
            "Discord: comma-separated IDs of roles whose members are employees. If this is set, other members are "
            "guests, except admins and managers. Default: every member is an employee."
        ),
        example="123456789012345678",
    )
    """Empty: every member is one."""
    dm_idle_minutes: int = setting(
        "COGENCY_DISCORD_DM_IDLE_MINUTES",
        parsers.whole(1, 525_600),
        360,
        section=Section.PLATFORMS,
        description=(
            "Discord: after this many minutes of silence, a direct message starts a new conversation. /new starts one "
            "immediately."
        ),
    )
    message_content: bool = setting(
        "COGENCY_DISCORD_MESSAGE_CONTENT",
        parsers.switch,
        default=True,
        section=Section.PLATFORMS,
        description=(
            "Discord: whether to request the Message Content Intent (on or off). Without the intent, the bot sees a "
            "message in a thread only if the message mentions it; direct messages, mentions, and commands work as "
            "usual."
        ),
    )
    shards: int | None = setting(
        "COGENCY_DISCORD_SHARDS",
        parse_shards,
        1,
        section=Section.PLATFORMS,
        description=(
            "Discord: number of connections to spread the servers across, or auto for the number that Discord "
            "recommends. One connection is enough for up to 2,500 servers."
        ),
    )
    """None: as many as Discord recommends."""
    marks: bool = setting(
        "COGENCY_DISCORD_MARKS",
        parsers.switch,
        default=False,
        section=Section.PLATFORMS,
        description=(
            "Discord: react to each question with one emoji while the bot works on it, and with another when it has "
            "answered or failed: on or off. The bot needs the Add Reactions permission. If this is on, the link from "
            "`cogency discord invite` requests this permission."
        ),
    )
    api_base_url: str = setting(
        "DISCORD_API_BASE_URL",
        parsers.web_address,
        "https://discord.com/api/v10",
        section=Section.PLATFORMS,
        description="The address of Discord's API.",
        sensitivity=Sensitivity(keys=("DISCORD_TOKEN",)),
    )
    gateway_url: str = setting(
        "DISCORD_GATEWAY_URL",
        parsers.socket_address,
        "wss://gateway.discord.gg",
        section=Section.PLATFORMS,
        description="The address of Discord's gateway.",
        sensitivity=Sensitivity(keys=("DISCORD_TOKEN",)),
    )
