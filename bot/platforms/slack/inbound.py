"""Parses Slack's events, commands and shortcuts; None for those that are not for the bot. Pure.

Rules
- A mention arrives as two events, `app_mention` and `message`. Both parse to the same message: channel and time stamp.
- The bot's own messages are ignored. Messages of other bots are read only if the bot is on the operator's list.
- Edits and deletions start no turn: they change questions that wait. Slack's own messages in a channel are ignored;
  files, and replies that were also sent to the channel, are ordinary messages.
- An author from another workspace, or in a shared channel, is an outsider: the place is then the narrowest one.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, TypeAlias

from agent.incoming import Attachment
from agent.memory.audience import GroupAudience, label
from agent.memory.forgetting_plans import Gone
from agent.messages import Depth, JsonObject
from agent.shown_replies import ReplyVerdict
from bot.platforms.slack.api import at, fields, first_text, flag, items, number, text, texts
from bot.platforms.slack.markup import mentioned_users, without_mention
from bot.platforms.slack.message_content import Content, content_of
from bot.platforms.slack.options import PLATFORM

# The subtypes of messages that a user wrote, as opposed to notices of Slack.
USER_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})

# The fields with a file's URL, in order of preference; both need the bot's token.
_FILE_URLS: Final = ("url_private_download", "url_private")

FORWARDED_FILE: Final = "file of a forwarded message"
SOMEBODY: Final = "somebody"  # An author whom Slack does not name

PRIVATELY: Final = "privately"
_PRIVATE: Final = (PRIVATELY, "private")
_SIMILARITY: Final = 0.8  # Of a mistyped "privately": two letters of nine may differ. "privacy" is another word.
_MENTION: Final = re.compile(r"<(?:@([UW][A-Z0-9]+)|#([CG][A-Z0-9]+))(?:\|[^<>]*)?>")
_TS: Final = re.compile(r"\d{1,11}\.\d{1,9}", re.ASCII)


# Events that Slack sends to an app that it shows as an agent: what a person opened, looks at, stopped or renamed.
#
# Slack leaves out fields that it does not know, and its documentation disagrees about which field names the user. A
# missing field reads as "", and an event that needs a user and has none is ignored.

MAX_ENTITIES: Final = 5  # Slack sorts them by relevance

_ENTITY_ID: Final = re.compile(r"[A-Z][A-Z0-9]{1,63}")


class EntityKind(StrEnum):
    CHANNEL = "channel"
    MESSAGE = "message"
    CANVAS = "canvas"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Entity:
    """An object that a person views in Slack. `id`: of the canvas, the list or the channel; `ts`: of the message."""

    kind: EntityKind
    id: str
    ts: str = ""


@dataclass(frozen=True, slots=True)
class AgentOpened:
    """A person opened a tab of the app. `entities`: what they viewed then; None if Slack did not say."""

    user: str
    channel: str
    tab: str
    entities: tuple[Entity, ...] | None = None


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A person views something else now. `entities`: () if it is none of the known kinds."""

    user: str
    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class SessionStopped:
    """A user pressed Slack's own Stop button, which also ends the streams in that thread.

    `user`: "" if Slack does not say who.
    """

    channel: str
    thread: str
    user: str = ""


@dataclass(frozen=True, slots=True)
class SessionRenamed:
    """A session was given another title. `user`: who did it; "" where Slack does not say."""

    channel: str
    thread: str
    user: str


AgentEvent: TypeAlias = AgentOpened | LookedAt | SessionStopped | SessionRenamed


def read_agent_event(body: JsonObject) -> AgentEvent | None:
    """Return the agent event in an event's envelope; None for any other event."""
    event = fields(body, "event")
    user, channel, thread = _event_user(body), text(event, "channel"), text(event, "thread_ts")
    match text(event, "type"):
        case "app_home_opened" if user:
            return AgentOpened(user, channel, text(event, "tab"), entities_in(event, "context"))
        case "app_context_changed" if user:
            return LookedAt(user, entities_in(event, "context") or ())
        case "agent_session_stopped" if channel:
            return SessionStopped(channel, thread, user)
        case "agent_session_title_changed" if channel:
            return SessionRenamed(channel, thread, text(event, "user"))
        case _:
            return None


def entities_in(event: JsonObject, where: str) -> tuple[Entity, ...] | None:
    """Return the entities in the field `where` of an event, up to MAX_ENTITIES; None if the event has no such field."""
    if not isinstance(at(event, where), dict):
        return None
    return tuple(_parse_entities(items(event, where, "entities")))[:MAX_ENTITIES]


def _parse_entities(entities: Iterable[JsonObject]) -> Iterable[Entity]:
    for entity in entities:
        match text(entity, "type").rpartition("/")[2]:
            case "channel_id":
                parsed = Entity(EntityKind.CHANNEL, text(entity, "value"))
            case "canvas_id":
                parsed = Entity(EntityKind.CANVAS, text(entity, "value"))
            case "list_id":
                parsed = Entity(EntityKind.LIST, text(entity, "value"))
            case "message_context":
                parsed = Entity(
                    EntityKind.MESSAGE, text(entity, "value", "channel_id"), text(entity, "value", "message_ts")
                )
            case _:
                continue
        if _ENTITY_ID.fullmatch(parsed.id) and (parsed.kind is not EntityKind.MESSAGE or _TS.fullmatch(parsed.ts)):
            yield parsed


def _event_user(body: JsonObject) -> str:
    """Return the event's user: named in it, or else the person for whom Slack delivers it; "" for none."""
    if user := text(body, "event", "user"):
        return user
    people = (authorization for authorization in items(body, "authorizations") if not flag(authorization, "is_bot"))
    return next((text(authorization, "user_id") for authorization in people), "")


# Messages, commands and shortcuts.


@dataclass(frozen=True, slots=True)
class SlackBot:
    """The bot as Slack knows it. `address`: the workspace's URL, which ends with a slash. `prefix`: begins the names of
    its commands.
    """

    team: str
    user: str
    bot: str
    address: str = ""
    name: str = "bot"
    prefix: str = ""
    organization: str = ""  # The workspace's name
    app: str = PLATFORM  # The app's name in health reports
    enterprise: str = ""  # The id (E…) of the organisation that owns the workspace; "" for none

    @property
    def source(self) -> str:
        return f"{PLATFORM}:{self.team}"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """One message of a user or a bot, as Slack sent it: `text` still holds ids and escapes."""

    event_id: str
    channel: str
    ts: str
    thread_ts: str
    user: str
    text: str
    direct: bool
    mentioned: bool
    outside: bool  # Its author is from another workspace, or its channel is shared with one (`external`)
    external: bool = False
    content: Content = field(default_factory=Content)  # All that it shows
    files: tuple[Attachment, ...] = ()
    by_bot: bool = False
    bot_name: str = ""  # Set for a message of another bot that has no user
    sees: tuple[Entity, ...] | None = None  # What its author viewed; None if Slack did not say
    closed: bool = False  # Slack says with it that its channel is private, or a group message
    action_token: str = field(default="", repr=False)  # Lets the bot search as its author, for some minutes

    @property
    def in_thread(self) -> bool:
        """Whether it is a reply in a thread, as opposed to a thread's first message."""
        return self.thread_ts not in ("", self.ts)

    @property
    def time(self) -> datetime:
        return time_of(self.ts)


def read_event(body: JsonObject, me: SlackBot, allowed_bots: frozenset[str] = frozenset()) -> SlackMessage | None:
    """Return the message in an event's envelope; None if there is none for the bot. `allowed_bots`: ids (B…)."""
    event = fields(body, "event")
    kind, user, bot = text(event, "type"), text(event, "user"), text(event, "bot_id")
    channel, ts = text(event, "channel"), text(event, "ts")
    # A time stamp is the message's id, and becomes a part of links and keys: only one in Slack's form is taken.
    if kind not in ("message", "app_mention") or not (channel and is_ts(ts)) or not (user or bot):
        return None
    # Two bots that answer each other would not end.
    if user == me.user or (bot and (bot == me.bot or bot not in allowed_bots)):
        return None
    if text(event, "subtype") not in USER_SUBTYPES or flag(event, "hidden"):
        return None
    message_text, content = text(event, "text"), content_of(event)
    return SlackMessage(
        event_id=text(body, "event_id"),
        channel=channel,
        ts=ts,
        thread_ts=text(event, "thread_ts"),
        user=user or bot,
        text=message_text,
        # Not every event has the channel's type; a direct message is also known by its channel's letter.
        direct=text(event, "channel_type") == "im" or (channel.startswith("D") and kind == "message"),
        mentioned=kind == "app_mention" or me.user in mentioned_users(message_text),
        outside=_is_outsider(body, event, me),
        external=flag(body, "is_ext_shared_channel"),
        content=content,
        files=attachments(event, me, content),
        by_bot=bool(bot),
        bot_name="" if user else first_text(event, "username") or text(event, "bot_profile", "name") or bot,
        sees=entities_in(event, "app_context"),
        closed=text(event, "channel_type") in ("group", "mpim"),
        action_token=text(event, "assistant_thread", "action_token") or text(event, "action_token"),
    )


def conversation(me: SlackBot, message: SlackMessage) -> str:
    """Return the id of the conversation: the thread that the message is in, or begins; also in a DM."""
    return thread_conversation(me, message.channel, message.thread_ts or message.ts)


def thread_conversation(me: SlackBot, channel: str, root: str) -> str:
    """Return the id of a thread's conversation, "slack:T0123:C0123:<ts>". `root`: the thread's first message."""
    return f"{me.source}:{channel}:{root}"


def root_of(conversation: str) -> str:
    """Return the time stamp of the message that began a conversation's thread; "" if it is not a thread."""
    root = conversation.rpartition(":")[2]
    return root if is_ts(root) else ""


def channel_conversation(me: SlackBot, channel: str) -> str:
    """Return the id under which older versions stored a DM outside of its threads as one conversation."""
    return f"{me.source}:{channel}"


def organization(me: SlackBot, *, full: bool) -> str:
    """Return the workspace's name for its full members, "" for guests and members of other workspaces."""
    return me.organization if full else ""


def is_direct(channel: str) -> bool:
    """Whether this is the id (D…) of a direct conversation of two."""
    return channel.startswith("D")


def private_conversation(me: SlackBot, channel: str, user: str) -> str:
    """Return the id of the conversation of what a person asks privately in a channel; it is apart from the channel."""
    return f"{me.source}:{channel}:private:{user}"


def private_message_id(event: str) -> str:
    """Return the message id of a private question. `event`: what asked it, a message in a channel or a click."""
    return f"private:{event}"


def person_id(me: SlackBot, user: str) -> str:
    """Return the person's id, "slack:T0123:U0123"."""
    return f"{me.source}:{user}"


def permalink(me: SlackBot, channel: str, ts: str, root: str = "") -> str | None:
    """Return the link to a message, in Slack's own form; None if the workspace's address is not known."""
    if not me.address:
        return None
    thread = f"?thread_ts={root}&cid={channel}" if root not in ("", ts) else ""
    return f"{me.address}archives/{channel}/p{ts.replace('.', '')}{thread}"


def budget_ids(words: str, me: SlackBot) -> str:
    """Replace mentions in the arguments of `/budget` by ids, as `bot.budgets.budgets` parses them."""
    return _MENTION.sub(
        lambda found: f"person:{person_id(me, found[1])}" if found[1] else f"channel:{found[2]}",
        words,
    )


def split_depth(words: str) -> tuple[Depth, str]:
    """Split "deep: why …" or "fast: when …" into the depth and the question."""
    first, colon, rest = words.strip().partition(":")
    depth = {"deep": Depth.DEEP, "fast": Depth.FAST}.get(first.strip().casefold())
    return (depth, rest.strip()) if colon and depth is not None and rest.strip() else (Depth.ADAPT, words.strip())


def split_privacy(words: str) -> tuple[str, bool]:
    """Return the question of `/ask`, and whether its answer should be private: "privately what is …"."""
    first, _, rest = words.strip().partition(" ")
    private = first.casefold().rstrip(":,") in _PRIVATE
    return (rest.strip(), True) if private else (words.strip(), False)


def private_question(message_text: str) -> str:
    """Return the question in a message that asks privately, as in "ask privately fast: why …"."""
    first, _, rest = message_text.partition(" ")
    words, _ = split_privacy(rest if first.casefold() == "ask" else message_text)
    return split_depth(words)[1] or message_text


def mistyped_private(words: str) -> str:
    """Return the first word of the question if it looks like a mistyped "privately"; else ""."""
    first = words.strip().partition(" ")[0].casefold().rstrip(":,")
    return first if first not in _PRIVATE and get_close_matches(first, [PRIVATELY], 1, _SIMILARITY) else ""


def is_ts(ts: str) -> bool:
    """Whether this is one of Slack's time stamps, which are the ids of messages."""
    return bool(_TS.fullmatch(ts))


def is_written(message: JsonObject) -> bool:
    """Whether it was written by a user or an app, and not deleted; else it is a notice of Slack."""
    subtype = text(message, "subtype")
    return subtype in USER_SUBTYPES and is_ts(text(message, "ts"))


def time_of(ts: str) -> datetime:
    return datetime.fromtimestamp(float(ts), UTC)


def is_ours(message: JsonObject, me: SlackBot) -> bool:
    """Return whether the bot wrote the message."""
    return text(message, "user") == me.user or text(message, "bot_id") == me.bot


def attachments(message: JsonObject, me: SlackBot, content: Content | None = None) -> tuple[Attachment, ...]:
    """Return the files of a message, and of the messages that it forwards. Only a clip that its author recorded, in a
    message without other words, counts as spoken by them: any other audio may hold another person's words.

    `content`: of the message, if it is known.
    """
    content = content_of(message) if content is None else content
    author, words = text(message, "user"), without_mention(text(message, "text"), me.user).strip()
    wordless = not (words or content.enclosed)
    own = (
        attachment(
            file,
            spoken=wordless and _is_clip(file) and text(file, "user") == author,
            by_bot=is_ours(message, me) or text(file, "user") == me.user,
        )
        for file in items(message, "files")
    )
    forwarded = (replace(attachment(file, by_bot=True), author=SOMEBODY) for file in content.files)
    return (*own, *(replace(file, source=FORWARDED_FILE) for file in forwarded))


def attachment(file: JsonObject, *, spoken: bool = False, by_bot: bool = False) -> Attachment:
    """Return an attached file, addressed by "<id> <url>": a file from another workspace by its id alone.

    A deleted file, and one that is not stored in Slack, have no address.
    """
    name, kind = first_text(file, "name", "title") or "file", text(file, "mimetype")
    if _is_clip(file):  # Slack sends a recording as a video without pictures
        kind = kind.replace("video/", "audio/") or "audio/mp4"
    url = url_of_file(file)
    has_address = url or (text(file, "file_access") == "check_file_info" and not _is_remote(file))
    return Attachment(
        name,
        kind,
        number(file, "size"),
        f"{text(file, 'id')} {url}".rstrip() if has_address else "",
        spoken=spoken,
        by_bot=by_bot,
    )


def url_of_file(file: JsonObject) -> str:
    """Return the URL of the file's bytes; "" for a file outside of Slack, whose URL may be any that a user typed."""
    return "" if _is_remote(file) else first_text(file, *_FILE_URLS)


def _is_remote(file: JsonObject) -> bool:
    return flag(file, "is_external") or text(file, "mode") == "external"


def _is_clip(file: JsonObject) -> bool:
    """Whether it is an audio clip that was recorded in Slack."""
    return text(file, "subtype") == "slack_audio"


def _is_outsider(body: JsonObject, event: JsonObject, me: SlackBot) -> bool:
    """Whether the author is from another workspace, or the channel is shared with one.

    Slack may name the organisation in place of a workspace. The author's account then says where they belong.
    """
    team_ids = (text(event, name) for name in ("user_team", "source_team", "team"))
    author_team = next((team_id for team_id in team_ids if team_id not in ("", me.enterprise)), me.team)
    return flag(body, "is_ext_shared_channel") or author_team != me.team


# Edits, deletions, and channels that were made private. Pure.

# Slack replaces a deleted message that began a thread by a tombstone: such a deletion arrives as an edit.
TOMBSTONE = "tombstone"


@dataclass(frozen=True, slots=True)
class Changed:
    """A message was edited, or deleted (`text` None). `text`: all that it shows; `alone`: without what it
    forwards, if it does. `ours`: the bot had written it.
    """

    channel: str
    ts: str
    text: str | None
    ours: bool = False
    alone: str | None = None
    files: tuple[Attachment, ...] = ()


def read_change(body: JsonObject, me: SlackBot) -> Changed | None:
    """Return the edit or the deletion in an event's envelope.

    None for any other event, for a link that only unfurls, and for the bot's own edits. An app that edits its message,
    such as an alert, often changes its attachments or blocks alone.
    """
    event = fields(body, "event")
    now, before = fields(event, "message"), fields(event, "previous_message")
    channel, ours = text(event, "channel"), text(before, "user") == me.user
    if text(event, "type") != "message" or not channel:
        return None
    match text(event, "subtype"):
        case "message_changed" if is_ts(text(now, "ts")) and text(now, "subtype") == TOMBSTONE:
            return Changed(channel, text(now, "ts"), None, ours)
        case "message_changed" if is_ts(text(now, "ts")) and text(now, "user") != me.user:
            content = content_of(now)
            if content == content_of(before):
                return None
            alone = content.text if content.enclosed else None
            return Changed(channel, text(now, "ts"), content.whole, alone=alone, files=attachments(now, me, content))
        case "message_deleted" if is_ts(text(event, "deleted_ts")):
            return Changed(channel, text(event, "deleted_ts"), None, ours)
        case _:
            return None


def read_closed_channel(body: JsonObject) -> str | None:
    """Return the channel that was made private or shared with another workspace; None for any other event."""
    event = fields(body, "event")
    match text(event, "type"), text(event, "subtype"):
        case ("message", "channel_convert_to_private") | ("channel_shared", _):
            return text(event, "channel") or None
        case _:
            return None


def read_deleted_channel(body: JsonObject, me: SlackBot) -> tuple[str, Gone] | None:
    """Return the deleted channel as "slack:T0123:C0123", and what it held; None for any other event."""
    event = fields(body, "event")
    if text(event, "type") not in ("channel_deleted", "group_deleted") or not (channel := text(event, "channel")):
        return None
    audience = label(GroupAudience(name := f"{me.source}:{channel}"))
    return name, Gone(channels=frozenset({channel}), audiences=frozenset({audience}), within=me.source)


def read_renumbered_channel(body: JsonObject) -> tuple[str, str] | None:
    """Return the old and the new id of a private channel to which another company was invited; None for any other
    event.
    """
    event = fields(body, "event")
    old, new = text(event, "old_channel_id"), text(event, "new_channel_id")
    return (old, new) if text(event, "type") == "channel_id_changed" and old and new and old != new else None


def is_revoked(body: JsonObject, me: SlackBot) -> bool:
    """Whether the event says that the app was uninstalled from this workspace, or its bot token revoked.

    The socket of a distributed app, and a shared address, get these events of every workspace. One that names no
    workspace proves nothing: then a token that Slack refuses does.
    """
    event = fields(body, "event")
    kind = text(event, "type")
    if text(body, "team_id") != me.team:
        return False
    return kind == "app_uninstalled" or (kind == "tokens_revoked" and me.user in texts(event, "tokens", "bot"))


# Reactions to messages, as feedback. Pure.

# By Slack's names. A reaction that may mean something else ("eyes", "heart") is no verdict.
_VERDICTS: Final = {
    **dict.fromkeys(("+1", "thumbsup", "white_check_mark", "heavy_check_mark", "100", "tada"), ReplyVerdict.GOOD),
    **dict.fromkeys(("-1", "thumbsdown", "x", "negative_squared_cross_mark"), ReplyVerdict.BAD),
}

DELETE: Final = frozenset({"wastebasket"})  # With these, the asker deletes a reply


@dataclass(frozen=True, slots=True)
class Reacted:
    """`user` added a reaction to a message, or removed it. `name` is Slack's, without the skin tone."""

    channel: str
    ts: str
    user: str
    name: str
    added: bool

    @property
    def verdict(self) -> ReplyVerdict | None:
        return _VERDICTS.get(self.name)


def read_reaction(body: JsonObject, me: SlackBot) -> Reacted | None:
    """Return the reaction to a message of the bot in an event's envelope.

    None for any other event, and for a reaction without a meaning.
    """
    event = fields(body, "event")
    kind, user, channel = text(event, "type"), text(event, "user"), text(event, "item", "channel")
    ts, name = text(event, "item", "ts"), text(event, "reaction").partition("::")[0]
    if kind not in ("reaction_added", "reaction_removed") or user in ("", me.user):
        return None
    if text(event, "item", "type") != "message" or not (channel and is_ts(ts)):
        return None
    if text(event, "item_user") not in ("", me.user) or (name not in _VERDICTS and name not in DELETE):
        return None
    return Reacted(channel, ts, user, name, added=kind == "reaction_added")
