"""Edits, deletions and channels that are closed in the events of Slack. Pure.

Above: `intake`, `replies`. Below: `inbound`, `payload`.
"""

from dataclasses import dataclass

from agent.memory.audience import GroupAudience, label
from agent.memory.forgetting import Gone
from agent.messages import JsonObject
from bot.platforms.slack.payload import fields, text
from bot.platforms.slack.reading.inbound import Me, is_ts

TOMBSTONE = "tombstone"
"""What stands in place of a deleted message that begins a thread: such a deletion comes as an edit."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A message that somebody edited, or deleted (`text` None). `ours`: the bot had written it."""

    channel: str
    ts: str
    text: str | None
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Removed:
    """A channel, or (not `at_once`) the bot's place in the workspace, is no more; `name` is its own."""

    name: str
    what: Gone
    at_once: bool


def read_change(body: JsonObject, me: Me) -> Changed | None:
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
            return None if text(now, "user") == me.user else Changed(channel, text(now, "ts"), text(now, "text"))
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


def read_gone(body: JsonObject, me: Me) -> Removed | None:
    """What an event says is no more; None for any other."""
    event = fields(body, "event")
    match text(event, "type"):
        case "channel_deleted" | "group_deleted" if channel := text(event, "channel"):
            name = f"{me.source}:{channel}"
            gone = Gone(channels=frozenset({channel}), audiences=frozenset({label(GroupAudience(name))}))
            return Removed(name, gone, at_once=True)
        case "app_uninstalled":
            return Removed(me.source, Gone(sources=frozenset({me.source})), at_once=False)
        case _:
            return None
