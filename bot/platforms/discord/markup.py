"""Convert Discord's markup to text for the model: names instead of ids. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from agent.memory.attribution import label, mention

# All forms of Discord's reference of markup; what matches none is text that somebody typed.
_TOKEN = re.compile(
    r"<(?:@!?(?P<user>\d{1,20})|@&(?P<role>\d{1,20})|#(?P<channel>\d{1,20})|a?:(?P<emoji>\w+):\d{1,20}"
    r"|/(?P<command>[^:<>]+):\d{1,20}|t:(?P<time>-?\d{1,11})(?::[a-zA-Z])?)>",
    re.ASCII,
)
_MENTION = re.compile(r"\s*<@[!&]?(\d{1,20})>[,:]?", re.ASCII)
_LINK = re.compile(r"https?://(?:\w+\.)?discord(?:app)?\.com/channels/(\d{1,20}|@me)/(\d{1,20})/(\d{1,20})", re.ASCII)


@dataclass(frozen=True, slots=True)
class DiscordNames:
    """The names for the ids in one message."""

    users: Mapping[int, str] = field(default_factory=dict[int, str])
    roles: Mapping[int, str] = field(default_factory=dict[int, str])
    channels: Mapping[int, str] = field(default_factory=dict[int, str])


@dataclass(frozen=True, slots=True)
class DiscordMessageLink:
    """`guild` is None for a link into a DM."""

    guild: int | None
    channel: int
    message: int


def readable(content: str, names: DiscordNames) -> str:
    """Return the text with `@name`, `#channel`, `:emoji:` and dates; "@someone" for users without a name.

    A channel without a name here, as in direct messages, keeps its id, by which it can be read.
    """

    def name(found: re.Match[str]) -> str:
        before = content[max(0, found.start() - 1) : found.start()]
        match found.lastgroup:
            case "user":
                return mention(names.users.get(int(found["user"]), "someone"), before=before)
            case "role":
                return mention(names.roles.get(int(found["role"]), "someone"), before=before)
            case "channel":
                channel_name = names.channels.get(int(found["channel"]))
                return found[0] if channel_name is None else mention(channel_name, "#", before=before)
            case "emoji":
                return label(f":{found['emoji']}:", before=before)
            case "command":
                return label(f"/{found['command']}", before=before)
            case _:
                return _date(int(found["time"]), found[0])

    return _TOKEN.sub(name, content)


def without_mention(content: str, ids: frozenset[int]) -> str:
    """Return the text without leading mentions of these users or roles, which only address it."""
    end = 0
    while (found := _MENTION.match(content, end)) and int(found[1]) in ids:
        end = found.end()
    return content[end:].lstrip() if end else content


def message_links(text: str) -> list[DiscordMessageLink]:
    """Return the links to Discord messages, in order, without duplicates."""
    found = dict.fromkeys(_LINK.findall(text))
    return [
        DiscordMessageLink(None if guild == "@me" else int(guild), int(channel), int(message))
        for guild, channel, message in found
    ]


def _date(seconds: int, default: str) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, OSError, ValueError):
        return default
