"""A small Discord: one or two servers with members, channels and messages, as Discord's own payloads.

Ids are snowflakes of the clock's time, because clients read the time of a message from its id.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from agent.ports.clock import Clock

Payload = dict[str, Any]

GUILD = "10"
QUAY = str((1 << 22) + 10)  # A second server, which the bot is in once it was opened: on the second of two connections
GENERAL = "20"
STAFF = "21"  # A channel that the bot can see, but not @everyone
VOICE = "22"
DM_OF = {"41": "71", "42": "72", "43": "73"}
BOT, ANN, BO, CY, OTHER_BOT = "900", "41", "42", "43", "901"
# Discord mentions nobody in code.
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
NAMES = {BOT: "cogency", ANN: "ann", BO: "bo", CY: "cy", OTHER_BOT: "herald"}

# Everything but administrator, which no overwrite of a channel can remove.
ALL_PERMISSIONS = str(((1 << 53) - 1) & ~(1 << 3))
INVITED = "309237746688"  # The permissions of a bot that was invited by the link of `cogency discord invite`
VIEW = 1 << 10
EVERYBODY = str(VIEW | 1 << 11 | 1 << 16 | 1 << 35 | 1 << 38)  # May read, write, and start threads; manages nothing
CONNECT = 1 << 20
EPHEMERAL = 1 << 6
COMPONENTS_V2 = 1 << 15
LOADING = 1 << 7

THREADS = {10, 11, 12}

_EPOCH = datetime(2015, 1, 1, tzinfo=UTC)


def user(number: str) -> Payload:
    automatic = number in {BOT, OTHER_BOT}
    return {
        "id": number,
        "username": NAMES[number],
        "global_name": NAMES[number].title(),
        "discriminator": "0",
        "avatar": None,
        "bot": automatic,
    }


def member(number: str, **more: Any) -> Payload:
    return {
        "user": user(number),
        "roles": [],
        "joined_at": "2026-01-01T00:00:00+00:00",
        "deaf": False,
        "mute": False,
        "flags": 0,
        "nick": None,
        "avatar": None,
        "premium_since": None,
        **more,
    }


@dataclass
class World:
    clock: Clock
    messages: dict[str, Payload] = field(default_factory=dict[str, Payload])
    channels: dict[str, Payload] = field(default_factory=dict[str, Payload])
    # By message id: every content that it ever had, in order.
    edits: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    everyone_may: str = ALL_PERMISSIONS
    bot_may: str = INVITED  # Additional permissions of the bot's own role
    # The names of the servers that the bot is in.
    guilds: dict[str, str] = field(default_factory=lambda: {GUILD: "harbour"})
    owners: dict[str, str] = field(default_factory=dict[str, str])  # By server: the owner, if not Ann
    without_account: set[str] = field(default_factory=set[str])
    closed_dms: set[str] = field(default_factory=set[str])  # The direct messages of users who accept none from the bot
    absent: set[str] = field(default_factory=set[str])  # Users who have left the server
    # Users who were never in a server, with the server.
    absent_from: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    # Users who were invited to a private thread.
    in_thread: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    # By person: the ids of their roles besides @everyone.
    roles_of: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    # By person: what else is true of them as members, such as `pending` or `communication_disabled_until`.
    facts_of: dict[str, Payload] = field(default_factory=dict[str, Payload])
    verification_level: int = 0
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        hidden = [
            {"id": GUILD, "type": 0, "allow": "0", "deny": str(VIEW)},
            {"id": BOT, "type": 1, "allow": str(VIEW), "deny": "0"},
        ]
        self.channels[GENERAL] = self._channel(GENERAL, "general", 0)
        self.channels[STAFF] = self._channel(STAFF, "staff", 0, permission_overwrites=hidden)
        self.channels[VOICE] = self._channel(VOICE, "hall", 2, bitrate=64_000, user_limit=0)

    def open_channel(self, number: str, name: str, kind: int = 0, guild: str = GUILD) -> Payload:
        """A channel that all members of the server can read."""
        self.channels[number] = self._channel(number, name, kind, guild_id=guild)
        return self.channels[number]

    def open_forum(self, number: str, name: str, *tags: str, moderated: bool = False) -> Payload:
        """A forum with these tags, whose ids are the forum's with their places."""
        forum = self.open_channel(number, name, 15)
        forum["available_tags"] = [
            {"id": f"{number}{place}", "name": tag, "moderated": moderated, "emoji_id": None, "emoji_name": None}
            for place, tag in enumerate(tags)
        ]
        return forum

    def new_id(self) -> str:
        milliseconds = int((self.clock.now() - _EPOCH).total_seconds() * 1000)
        return str((milliseconds << 22) + next(self._numbers))

    def guild_of(self, channel: str) -> str:
        return self.channels[channel]["guild_id"]

    def guild(self, number: str = GUILD) -> Payload:
        return {
            "id": number,
            "name": self.guilds[number],
            "owner_id": self.owners.get(number, ANN),
            "unavailable": False,
            "member_count": 4,
            "verification_level": self.verification_level,
            "large": False,
            "roles": [
                _role(number, "@everyone", self.everyone_may),
                _role("31", "cogency", self.bot_may, bot_id=BOT),
                *(_role(number, f"role {number}", "0") for number in sorted(set[str]().union(*self.roles_of.values()))),
            ],
            "channels": [one for one in self._channels_of(number) if one["type"] not in THREADS],
            "threads": [one for one in self._channels_of(number) if one["type"] == 11 and not archived(one)],
            "members": [member(BOT, roles=["31"])],
            "emojis": [],
            "stickers": [],
            "voice_states": [],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
            "features": [],
            "joined_at": "2026-01-01T00:00:00+00:00",
        }

    def message(self, channel: str, author: str, content: str, **more: Any) -> Payload:
        """Store a message, to be read, edited and deleted."""
        message: Payload = {
            "id": self.new_id(),
            "channel_id": channel,
            "author": user(author),
            "content": content,
            "timestamp": self.clock.now().isoformat(),
            "edited_timestamp": None,
            "tts": False,
            "mention_everyone": False,
            "mentions": [user(number) for number in NAMES if f"<@{number}>" in CODE.sub(" ", content)],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
            "pinned": False,
            "type": 0,
            "flags": 0,
            "components": [],
            **more,
        }
        self.messages[message["id"]] = message
        if channel in self.channels:
            self.channels[channel]["last_message_id"] = message["id"]
        is_first = channel == message["id"]
        if "message_count" in self.channels.get(channel, ()) and not (is_first or message["flags"] & EPHEMERAL):
            self.channels[channel]["message_count"] += 1
        self.edits[message["id"]] = [content] if content else []
        return message

    def _channels_of(self, guild: str) -> list[Payload]:
        return [channel for channel in self.channels.values() if channel["guild_id"] == guild]

    def member(self, number: str, **more: Any) -> Payload:
        """A member of the server, with their roles."""
        usual = ["31"] if number == BOT else []
        return member(number, roles=self.roles_of.get(number, usual), **self.facts_of.get(number, {}), **more)

    def edit(self, message: Payload, content: str) -> None:
        message |= {"content": content, "edited_timestamp": self.clock.now().isoformat()}
        self.edits[message["id"]].append(content)

    def said_in(self, channel: str, *, newest_first: bool = False) -> list[Payload]:
        messages = [message for message in self.messages.values() if message["channel_id"] == channel]
        return messages[::-1] if newest_first else messages

    def start_thread(self, parent: str, number: str, name: str, kind: int = 11) -> Payload:
        """Start a thread; started from a message it has the message's id."""
        thread = {
            "id": number,
            "guild_id": self.guild_of(parent),
            "parent_id": parent,
            "owner_id": BOT,
            "name": name,
            "type": kind,
            "message_count": 0,
            "member_count": 1,
            "rate_limit_per_user": 0,
            "last_message_id": None,
            "flags": 0,
            "thread_metadata": {
                "archived": False,
                "auto_archive_duration": 1440,
                "archive_timestamp": self.clock.now().isoformat(),
                "locked": False,
            },
        }
        self.channels[number] = thread
        return thread

    def shown(self, channel: str, author: str = BOT) -> list[str]:
        """Return what this author's messages show in a channel now, without ephemeral ones and those of files alone."""
        messages = [m for m in self.said_in(channel) if m["author"]["id"] == author and not _hidden(m)]
        return [m["content"] for m in messages if m["content"] or not m.get("files")]

    def of_guild(self, message: Payload) -> Payload:
        """Return the message as the gateway sends it: in a server with the server's id and the author's membership."""
        if message["channel_id"] not in self.channels:
            return message
        asker = {key: value for key, value in self.member(message["author"]["id"]).items() if key != "user"}
        return {**message, "guild_id": self.guild_of(message["channel_id"]), "member": asker}

    def _channel(self, number: str, name: str, kind: int, **more: Any) -> Payload:
        return {
            "id": number,
            "guild_id": GUILD,
            "type": kind,
            "name": name,
            "position": 0,
            "permission_overwrites": [],
            "nsfw": False,
            "parent_id": None,
            "topic": None,
            "rate_limit_per_user": 0,
            "last_message_id": None,
            **more,
        }


def archived(thread: Payload) -> bool:
    return thread["thread_metadata"]["archived"]


def parts(message: Payload) -> Iterator[Payload]:
    """Return every component of a message, nested ones after their parents."""
    waiting: list[Payload] = [*message["components"]]
    while waiting:
        part = waiting.pop(0)
        yield part
        inner = [*part.get("components", []), *(part[key] for key in ("accessory", "component") if key in part)]
        waiting = [*inner, *waiting]


def seen(message: Payload) -> str:
    """Return all the text that a message shows: its content, or that of its components."""
    texts = [part["content"] for part in parts(message) if part["type"] == 10]
    return "\n".join([message["content"], *texts] if message["content"] else texts)


def labels(message: Payload) -> list[str]:
    """Return the labels of a message's buttons."""
    return [part.get("label") or part["emoji"]["name"] for part in parts(message) if part["type"] == 2]


def text_file(name: str, address: str, size: int, content_type: str = "text/plain; charset=utf-8") -> Payload:
    return {
        "id": "5000",
        "filename": name,
        "size": size,
        "url": address,
        "proxy_url": address,
        "content_type": content_type,
    }


def without_content(message: Payload) -> Payload:
    """Return the message as an application without the message content intent sees it."""
    ours = message["author"]["id"] == BOT or any(mention["id"] == BOT for mention in message["mentions"])
    empty: dict[str, Sequence[object] | str] = {"content": "", "embeds": [], "attachments": [], "components": []}
    return message if ours or "guild_id" not in message else {**message, **empty}


def _hidden(message: Payload) -> bool:
    return bool(message["flags"] & (EPHEMERAL | LOADING))


def _role(number: str, name: str, permissions: str, bot_id: str = "") -> Payload:
    return {
        "id": number,
        "name": name,
        "permissions": permissions,
        "position": 0 if number == GUILD else 1,
        "color": 0,
        "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
        "hoist": False,
        "managed": bool(bot_id),
        "mentionable": False,
        "flags": 0,
        **({"tags": {"bot_id": bot_id}} if bot_id else {}),
    }
