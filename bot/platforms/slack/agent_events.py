"""What Slack tells an app that it shows as an agent: what a person opened, looks at, stopped or named. Pure.

Slack leaves out what it does not know, and its pages disagree about who is named where: whatever is missing reads as
"", and something that nobody can be found for is no event.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from agent.messages import JsonObject
from bot.platforms.slack.api import at, fields, flag, items, text

MOST_THINGS: Final = 5
"""Slack names what a person sees by its relevance: what comes later is beside the point."""

_ID: Final = re.compile(r"[A-Z][A-Z0-9]{1,63}")
_TS: Final = re.compile(r"\d{1,11}\.\d{1,9}")


class AgentThingKind(StrEnum):
    CHANNEL = "channel"
    MESSAGE = "message"
    CANVAS = "canvas"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Thing:
    """Something that a person sees in Slack. `id`: of the canvas, the list or the channel; `ts`: of the message."""

    kind: AgentThingKind
    id: str
    ts: str = ""


@dataclass(frozen=True, slots=True)
class AgentOpened:
    """A person opened a tab of the app. `things`: what they looked at; None if Slack did not say."""

    user: str
    channel: str
    tab: str
    things: tuple[Thing, ...] | None = None


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A person looks at something else now; () for nothing that can be named."""

    user: str
    things: tuple[Thing, ...]


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
            return AgentOpened(user, channel, text(event, "tab"), things(event, "context"))
        case "app_context_changed" if user:
            return LookedAt(user, things(event, "context") or ())
        case "agent_session_stopped" if channel:
            return SessionStopped(channel, thread, user)
        case "agent_session_title_changed" if channel:
            return SessionRenamed(channel, thread)
        case _:
            return None


def things(event: JsonObject, where: str) -> tuple[Thing, ...] | None:
    """What a person sees, as the field `where` of an event says; None if it says nothing."""
    if not isinstance(at(event, where), dict):
        return None
    return tuple(_known(items(event, where, "entities")))[:MOST_THINGS]


def _known(entities: Iterable[JsonObject]) -> Iterable[Thing]:
    for entity in entities:
        match text(entity, "type").rpartition("/")[2]:
            case "channel_id":
                thing = Thing(AgentThingKind.CHANNEL, text(entity, "value"))
            case "canvas_id":
                thing = Thing(AgentThingKind.CANVAS, text(entity, "value"))
            case "list_id":
                thing = Thing(AgentThingKind.LIST, text(entity, "value"))
            case "message_context":
                thing = Thing(
                    AgentThingKind.MESSAGE, text(entity, "value", "channel_id"), text(entity, "value", "message_ts")
                )
            case _:
                continue
        if _ID.fullmatch(thing.id) and (thing.kind is not AgentThingKind.MESSAGE or _TS.fullmatch(thing.ts)):
            yield thing


def _who(body: JsonObject) -> str:
    """Whose event it is: named in it, or the person for whom Slack delivers it."""
    if user := text(body, "event", "user"):
        return user
    people = (one for one in items(body, "authorizations") if not flag(one, "is_bot"))
    return next((text(one, "user_id") for one in people), "")
