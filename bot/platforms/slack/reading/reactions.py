"""Reactions to messages, as light feedback. Pure.

Above: `intake`, `replies`. Below: `inbound`, `payload`.
"""

from dataclasses import dataclass
from typing import Final

from agent.messages import JsonObject
from agent.records import Verdict
from bot.platforms.slack.payload import fields, text
from bot.platforms.slack.reading.inbound import Me, is_ts

_VERDICTS: Final = {
    **dict.fromkeys(("+1", "thumbsup", "white_check_mark", "heavy_check_mark", "100", "tada"), Verdict.GOOD),
    **dict.fromkeys(("-1", "thumbsdown", "x", "negative_squared_cross_mark"), Verdict.BAD),
}
"""By Slack's names. Whatever may mean anything else ("eyes", "heart") is none."""

DELETE: Final = frozenset({"wastebasket"})
"""With these, the asker has a reply deleted."""


@dataclass(frozen=True, slots=True)
class Reacted:
    """`user` added a reaction to a message, or took it back. `name` is Slack's, without the tone of a skin."""

    channel: str
    ts: str
    user: str
    name: str
    added: bool

    @property
    def verdict(self) -> Verdict | None:
        return _VERDICTS.get(self.name)


def read_reaction(body: JsonObject, me: Me) -> Reacted | None:
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
