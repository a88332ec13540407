"""What an event, a command or a shortcut of Slack says to the bot, or None if it is not for it. Pure.

The rules.
- A mention arrives as two events, `app_mention` and `message`; both read as the same message: channel and time stamp.
- The bot's own messages are never read, those of other bots only if they are on the list.
- Edits and deletions begin nothing: they change questions that wait. What Slack itself says in a channel is not read;
  files and replies that were also sent to the channel are messages like any other.
- Who is from another workspace, or writes in a shared channel, is an outsider: the place is then the narrowest one.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Final, TypeAlias

from agent.memory.audience import GroupAudience, label
from agent.memory.forgetting_plans import Gone
from agent.messages import Depth, Json, JsonObject
from agent.records import Attachment, ReplyVerdict
from agent.schedules import ScheduleKind
from bot.platforms.slack.api import at, fields, first_text, flag, items, number, text, texts
from bot.platforms.slack.markup import mentioned_users, without_mention
from bot.platforms.slack.options import PLATFORM

# The subtypes of what somebody wrote, as opposed to what happened.
USER_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})

# Where a file says that it is; with the bot's token, and the better one first.
_FILE_URLS: Final = ("url_private_download", "url_private")

PRIVATELY: Final = "privately"
_PRIVATE: Final = (PRIVATELY, "private")
_ALIKE: Final = 0.8  # How near a mistyped "privately" is: two letters of nine. "privacy" is another word.
_NAMED: Final = re.compile(r"<(?:@([UW][A-Z0-9]+)|#([CG][A-Z0-9]+))(?:\|[^<>]*)?>")
_TS: Final = re.compile(r"\d{1,11}\.\d{1,9}", re.ASCII)


# What Slack tells an app that it shows as an agent: what a person opened, looks at, stopped or named.
#
# Slack leaves out what it does not know, and its pages disagree about who is named where: whatever is missing reads as
# "", and something that nobody can be found for is no event.

MOST_ENTITIES: Final = 5  # Slack names what a person sees by its relevance: what comes later is beside the point

_ENTITY_ID: Final = re.compile(r"[A-Z][A-Z0-9]{1,63}")


class EntityKind(StrEnum):
    CHANNEL = "channel"
    MESSAGE = "message"
    CANVAS = "canvas"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Entity:
    """Something that a person sees in Slack. `id`: of the canvas, the list or the channel; `ts`: of the message."""

    kind: EntityKind
    id: str
    ts: str = ""


@dataclass(frozen=True, slots=True)
class AgentOpened:
    """A person opened a tab of the app. `entities`: what they looked at; None if Slack did not say."""

    user: str
    channel: str
    tab: str
    entities: tuple[Entity, ...] | None = None


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A person looks at something else now; () for nothing that can be named."""

    user: str
    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class SessionStopped:
    """Somebody pressed Slack's own Stop button, which also ends the streams in that thread.

    `user`: "" if Slack does not say who.
    """

    channel: str
    thread: str
    user: str = ""


@dataclass(frozen=True, slots=True)
class SessionRenamed:
    """A person gave a session another title."""

    channel: str
    thread: str


AgentEvent: TypeAlias = AgentOpened | LookedAt | SessionStopped | SessionRenamed


def read_agent_event(body: JsonObject) -> AgentEvent | None:
    """What an event's envelope says of the agent; None for any other event."""
    event = fields(body, "event")
    user, channel, thread = _who(body), text(event, "channel"), text(event, "thread_ts")
    match text(event, "type"):
        case "app_home_opened" if user:
            return AgentOpened(user, channel, text(event, "tab"), entities_in(event, "context"))
        case "app_context_changed" if user:
            return LookedAt(user, entities_in(event, "context") or ())
        case "agent_session_stopped" if channel:
            return SessionStopped(channel, thread, user)
        case "agent_session_title_changed" if channel:
            return SessionRenamed(channel, thread)
        case _:
            return None


def entities_in(event: JsonObject, where: str) -> tuple[Entity, ...] | None:
    """What a person sees, as the field `where` of an event says; None if it says nothing."""
    if not isinstance(at(event, where), dict):
        return None
    return tuple(_known(items(event, where, "entities")))[:MOST_ENTITIES]


def _known(entities: Iterable[JsonObject]) -> Iterable[Entity]:
    for entity in entities:
        match text(entity, "type").rpartition("/")[2]:
            case "channel_id":
                seen = Entity(EntityKind.CHANNEL, text(entity, "value"))
            case "canvas_id":
                seen = Entity(EntityKind.CANVAS, text(entity, "value"))
            case "list_id":
                seen = Entity(EntityKind.LIST, text(entity, "value"))
            case "message_context":
                seen = Entity(
                    EntityKind.MESSAGE, text(entity, "value", "channel_id"), text(entity, "value", "message_ts")
                )
            case _:
                continue
        if _ENTITY_ID.fullmatch(seen.id) and (seen.kind is not EntityKind.MESSAGE or _TS.fullmatch(seen.ts)):
            yield seen


def _who(body: JsonObject) -> str:
    """Whose event it is: named in it, or the person for whom Slack delivers it."""
    if user := text(body, "event", "user"):
        return user
    people = (one for one in items(body, "authorizations") if not flag(one, "is_bot"))
    return next((text(one, "user_id") for one in people), "")


# Messages, commands and shortcuts.


@dataclass(frozen=True, slots=True)
class SlackBot:
    """The bot as Slack knows it. `address` is the workspace's, with a slash at its end; `prefix` stands before the
    names of its commands.
    """

    team: str
    user: str
    bot: str
    address: str = ""
    name: str = "bot"
    prefix: str = ""
    organization: str = ""
    """What the workspace is called."""
    app: str = PLATFORM
    """Under which this app's troubles are told."""
    enterprise: str = ""
    """The organisation (E…) of which the workspace is a part; "" for none."""

    @property
    def source(self) -> str:
        return f"{PLATFORM}:{self.team}"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """One message that somebody wrote, as Slack sent it: `text` still holds ids and escapes."""

    event_id: str
    channel: str
    ts: str
    thread_ts: str
    user: str
    text: str
    direct: bool
    mentioned: bool
    outside: bool
    """Whether its author is of another workspace, or others than its organisation read along (`external`)."""
    external: bool = False
    files: tuple[Attachment, ...] = ()
    by_bot: bool = False
    bot_name: str = ""
    """Set for a message of another bot that has no user."""
    sees: tuple[Entity, ...] | None = None
    """What its author looked at, if Slack said so."""
    closed: bool = False
    """Whether Slack says with it that its channel is private, or a group message."""
    action_token: str = field(default="", repr=False)
    """The right to search for its author, for some minutes."""

    @property
    def in_thread(self) -> bool:
        """Whether it answers in a thread that had begun before it."""
        return self.thread_ts not in ("", self.ts)

    @property
    def time(self) -> datetime:
        return time_of(self.ts)


def read_event(body: JsonObject, me: SlackBot, allowed_bots: frozenset[str] = frozenset()) -> SlackMessage | None:
    """The message in an event's envelope; None if there is none for the bot."""
    event = fields(body, "event")
    kind, user, bot = text(event, "type"), text(event, "user"), text(event, "bot_id")
    channel, ts = text(event, "channel"), text(event, "ts")
    if kind not in ("message", "app_mention") or not (channel and is_ts(ts)) or not (user or bot):
        return None
    if user == me.user or (bot and (bot == me.bot or bot not in allowed_bots)):
        return None
    if text(event, "subtype") not in USER_SUBTYPES or flag(event, "hidden"):
        return None
    written = text(event, "text")
    return SlackMessage(
        event_id=text(body, "event_id"),
        channel=channel,
        ts=ts,
        thread_ts=text(event, "thread_ts"),
        user=user or bot,
        text=written,
        direct=text(event, "channel_type") == "im" or (channel.startswith("D") and kind == "message"),
        mentioned=kind == "app_mention" or me.user in mentioned_users(written),
        outside=_outside(body, event, me),
        external=flag(body, "is_ext_shared_channel"),
        files=attachments(event, me),
        by_bot=bool(bot),
        bot_name="" if user else first_text(event, "username") or text(event, "bot_profile", "name") or bot,
        sees=entities_in(event, "app_context"),
        closed=text(event, "channel_type") in ("group", "mpim"),
        action_token=text(event, "assistant_thread", "action_token") or text(event, "action_token"),
    )


def conversation(me: SlackBot, heard: SlackMessage) -> str:
    """The thread that the message is in, or begins; also in a DM."""
    return thread_conversation(me, heard.channel, heard.thread_ts or heard.ts)


def thread_conversation(me: SlackBot, channel: str, root: str) -> str:
    return f"{me.source}:{channel}:{root}"


def root_of(conversation: str) -> str:
    """The message that its thread began with, by the name of a conversation; "" for one that is no thread."""
    root = conversation.rpartition(":")[2]
    return root if is_ts(root) else ""


def whole_channel(me: SlackBot, channel: str) -> str:
    """What was said in a DM outside its threads, while all of that was one conversation."""
    return f"{me.source}:{channel}"


def organization(me: SlackBot, *, full: bool) -> str:
    """What the workspace is called, for its full members: whoever comes from another one is not of it."""
    return me.organization if full else ""


def is_direct(channel: str) -> bool:
    """Whether this is the id of direct messages of two."""
    return channel.startswith("D")


def private_conversation(me: SlackBot, channel: str, user: str) -> str:
    """What one person asks in a channel so that only they see the answer: never part of the channel."""
    return f"{me.source}:{channel}:private:{user}"


def private_message(event: str) -> str:
    """The id of such a question, which `event` names: a message in a channel, or a press of something."""
    return f"private:{event}"


def person_id(me: SlackBot, user: str) -> str:
    return f"{me.source}:{user}"


def permalink(me: SlackBot, channel: str, ts: str, root: str = "") -> str | None:
    """The link to a message, in the form that Slack itself gives."""
    if not me.address:
        return None
    thread = f"?thread_ts={root}&cid={channel}" if root not in ("", ts) else ""
    return f"{me.address}archives/{channel}/p{ts.replace('.', '')}{thread}"


def budget_ids(words: str, me: SlackBot) -> str:
    """The words of `/budget` with ids in place of mentions, as `bot.access.budgets` reads them."""
    return _NAMED.sub(
        lambda found: f"person:{person_id(me, found[1])}" if found[1] else f"channel:{found[2]}",
        words,
    )


def split_depth(words: str) -> tuple[Depth, str]:
    """How deep the answer should go, and the question: "deep: why …", "fast: when …"."""
    first, colon, rest = words.strip().partition(":")
    depth = {"deep": Depth.DEEP, "fast": Depth.FAST}.get(first.strip().casefold())
    return (depth, rest.strip()) if colon and depth is not None and rest.strip() else (Depth.ADAPT, words.strip())


def ask_words(words: str) -> tuple[str, bool]:
    """The question of `/ask`, and whether its answer should be private: "privately what is …"."""
    first, _, rest = words.strip().partition(" ")
    private = first.casefold().rstrip(":,") in _PRIVATE
    return (rest.strip(), True) if private else (words.strip(), False)


def split_private(written: str) -> str:
    """The question in a message that asks it privately, as in "ask privately fast: why …"."""
    first, _, rest = written.partition(" ")
    words, _ = ask_words(rest if first.casefold() == "ask" else written)
    return split_depth(words)[1] or written


def mistyped_private(words: str) -> str:
    """The first word of the question, if it is most likely a mistyped "privately"; "" otherwise."""
    first = words.strip().partition(" ")[0].casefold().rstrip(":,")
    return first if first not in _PRIVATE and get_close_matches(first, [PRIVATELY], 1, _ALIKE) else ""


def is_ts(ts: str) -> bool:
    """Whether this is one of Slack's time stamps, which name messages."""
    return bool(_TS.fullmatch(ts))


def time_of(ts: str) -> datetime:
    return datetime.fromtimestamp(float(ts), UTC)


def attachments(message: JsonObject, me: SlackBot) -> tuple[Attachment, ...]:
    """What is attached to a message. Only a clip that its author recorded, and that stands there without words
    for the bot, is what they say: any other sound may be anybody's words.
    """
    author, wordless = text(message, "user"), not without_mention(text(message, "text"), me.user).strip()
    return tuple(
        attachment(file, spoken=wordless and _is_clip(file) and text(file, "user") in {"", author})
        for file in items(message, "files")
    )


def attachment(file: JsonObject, *, spoken: bool = False) -> Attachment:
    """An attached file, by its id and its URL: one from another workspace by its id alone, a deleted one not at all.

    Nor has one that lies outside of Slack an address.
    """
    name, kind = first_text(file, "name", "title") or "file", text(file, "mimetype")
    if _is_clip(file):  # it comes as a film without pictures
        kind = kind.replace("video/", "audio/") or "audio/mp4"
    url = url_of_file(file)
    known = url or (text(file, "file_access") == "check_file_info" and not _is_remote(file))
    return Attachment(
        name,
        kind,
        number(file, "size"),
        f"{text(file, 'id')} {url}".rstrip() if known else "",
        spoken=spoken,
    )


def url_of_file(file: JsonObject) -> str:
    """Where Slack keeps its bytes; "" for a file that lies elsewhere, whose address is whatever somebody wrote."""
    return "" if _is_remote(file) else first_text(file, *_FILE_URLS)


def _is_remote(file: JsonObject) -> bool:
    return flag(file, "is_external") or text(file, "mode") == "external"


def _is_clip(file: JsonObject) -> bool:
    """Whether somebody recorded it in Slack to say something."""
    return text(file, "subtype") == "slack_audio"


def _outside(body: JsonObject, event: JsonObject, me: SlackBot) -> bool:
    """Slack may name the organisation in place of a workspace: who its author is, their account says."""
    told = (text(event, name) for name in ("user_team", "source_team", "team"))
    home = next((one for one in told if one not in ("", me.enterprise)), me.team)
    return flag(body, "is_ext_shared_channel") or home != me.team


# Edits, deletions and channels that are closed in the events of Slack. Pure.

# What stands in place of a deleted message that begins a thread: such a deletion comes as an edit.
TOMBSTONE = "tombstone"


@dataclass(frozen=True, slots=True)
class Changed:
    """A message that somebody edited, or deleted (`text` None). `ours`: the bot had written it."""

    channel: str
    ts: str
    text: str | None
    ours: bool = False
    files: tuple[Attachment, ...] = ()


def read_change(body: JsonObject, me: SlackBot) -> Changed | None:
    """The edit or the deletion in an event's envelope; None for any other, for a link that only unfolds, and for what
    the bot itself edits.
    """
    event = fields(body, "event")
    now, before = fields(event, "message"), fields(event, "previous_message")
    channel, ours = text(event, "channel"), text(before, "user") == me.user
    if text(event, "type") != "message" or not channel:
        return None
    match text(event, "subtype"):
        case "message_changed" if is_ts(text(now, "ts")) and text(now, "subtype") == TOMBSTONE:
            return Changed(channel, text(now, "ts"), None, ours)
        case "message_changed" if is_ts(text(now, "ts")) and text(now, "text") != text(before, "text"):
            if text(now, "user") == me.user:
                return None
            return Changed(channel, text(now, "ts"), text(now, "text"), files=attachments(now, me))
        case "message_deleted" if is_ts(text(event, "deleted_ts")):
            return Changed(channel, text(event, "deleted_ts"), None, ours)
        case _:
            return None


def read_closed(body: JsonObject) -> str | None:
    """The channel that an event says was made private or shared with another workspace; None for any other event."""
    event = fields(body, "event")
    match text(event, "type"), text(event, "subtype"):
        case ("message", "channel_convert_to_private") | ("channel_shared", _):
            return text(event, "channel") or None
        case _:
            return None


def read_gone(body: JsonObject, me: SlackBot) -> tuple[str, Gone] | None:
    """The channel that an event says is no more, by a name of its own; None for any other event."""
    event = fields(body, "event")
    if text(event, "type") not in ("channel_deleted", "group_deleted") or not (channel := text(event, "channel")):
        return None
    audience = label(GroupAudience(name := f"{me.source}:{channel}"))
    return name, Gone(channels=frozenset({channel}), audiences=frozenset({audience}))


def is_revoked(body: JsonObject, me: SlackBot) -> bool:
    """Whether an event says that the app was uninstalled, or its bot token revoked."""
    event = fields(body, "event")
    kind = text(event, "type")
    return kind == "app_uninstalled" or (kind == "tokens_revoked" and me.user in texts(event, "tokens", "bot"))


# Reactions to messages, as light feedback. Pure.

# By Slack's names. Whatever may mean anything else ("eyes", "heart") is none.
_VERDICTS: Final = {
    **dict.fromkeys(("+1", "thumbsup", "white_check_mark", "heavy_check_mark", "100", "tada"), ReplyVerdict.GOOD),
    **dict.fromkeys(("-1", "thumbsdown", "x", "negative_squared_cross_mark"), ReplyVerdict.BAD),
}

DELETE: Final = frozenset({"wastebasket"})  # With these, the asker has a reply deleted


@dataclass(frozen=True, slots=True)
class Reacted:
    """`user` added a reaction to a message, or took it back. `name` is Slack's, without the tone of a skin."""

    channel: str
    ts: str
    user: str
    name: str
    added: bool

    @property
    def verdict(self) -> ReplyVerdict | None:
        return _VERDICTS.get(self.name)


def read_reaction(body: JsonObject, me: SlackBot) -> Reacted | None:
    """The reaction to a message of the bot in an event's envelope; None for any other event, and for one that says
    nothing.
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


# Where an answer goes, as the text that is stored with the question: enough to answer after a restart. Pure.


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """`thread_ts` "" answers outside of threads; `private` so that only `user` sees it.

    `after` is the question's own time stamp: pages of its answer are newer. `response_url`, if there is one, answers
    privately even where the bot is no member. `home`: what the view of the person's Home tab carries, if it was asked
    for there; the answer is then shown there, and there is no channel. `scheduled`: the kind of schedule that asked.
    """

    channel: str
    user: str
    thread_ts: str = ""
    after: str = ""
    private: bool = False
    response_url: str = ""
    home: str = ""
    scheduled: str = ""

    @property
    def mentions(self) -> str:
        """Whom what is shown calls: of a reminder for all to see its person; else nobody."""
        return self.user if self.scheduled == ScheduleKind.REMINDER and not is_direct(self.channel) else ""

    def encode(self, action_token: str = "") -> str:
        """`action_token`: the message's, kept with its question alone. What is carried elsewhere, as by buttons, is
        encoded anew, without it.
        """
        return json.dumps(asdict(self) | ({"action_token": action_token} if action_token else {}))


def of_message(heard: SlackMessage) -> ReplyTo:
    """Beside a message, in its thread if it is in one."""
    return ReplyTo(heard.channel, heard.user, heard.thread_ts if heard.in_thread else "")


def of_command(body: JsonObject) -> ReplyTo:
    """Where a slash command was written, and by whom."""
    return ReplyTo(text(body, "channel_id"), text(body, "user_id"), response_url=text(body, "response_url"))


def of_click(body: JsonObject) -> ReplyTo:
    """Where a shortcut was used or a button clicked, and by whom."""
    in_home = text(body, "view", "type") == "home"
    return ReplyTo(
        text(body, "channel", "id") or text(body, "container", "channel_id"),
        text(body, "user", "id"),
        text(body, "container", "thread_ts") or text(body, "message", "thread_ts"),
        response_url=text(body, "response_url"),
        home=text(body, "view", "private_metadata") if in_home else "",
    )


def of_window(view: JsonObject) -> ReplyTo | None:
    """Where a window was opened, which carries it as "to"; None for any other."""
    try:
        carried: Json = json.loads(text(view, "private_metadata"))
        return decode_reply_to(text(carried, "to"))
    except ValueError:
        return None


def decode_reply_to(stored: str) -> ReplyTo:
    """The inverse of `ReplyTo.encode`. Raises ValueError for anything else."""
    value: Json = json.loads(stored)
    if not (text(value, "channel") or text(value, "home")):
        raise ValueError("not a place of Slack")
    return ReplyTo(
        channel=text(value, "channel"),
        user=text(value, "user"),
        thread_ts=text(value, "thread_ts"),
        after=text(value, "after"),
        private=flag(value, "private"),
        response_url=text(value, "response_url"),
        home=text(value, "home"),
        scheduled=text(value, "scheduled"),
    )


def action_token_in(stored: str) -> str:
    """The right to search that came with a question, as it was encoded; "" for none."""
    try:
        value: Json = json.loads(stored)
    except ValueError:
        return ""
    return text(value, "action_token")
