"""Where an answer goes. It is stored with the question as text, so that the question can be answered after a restart.
Pure.
"""

import json
from dataclasses import asdict, dataclass

from agent.messages import Json, JsonObject
from agent.schedules.definitions import ScheduleKind
from bot.platforms.slack.api import flag, text
from bot.platforms.slack.inbound import SlackMessage, is_direct


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """`thread_ts`: "" to answer outside of threads. `private`: only `user` sees the answer.

    `after`: the question's own time stamp; pages of its answer are newer. `response_url`: if set, answers privately
    even where the bot is no member. `home`: the metadata of the person's Home tab, if they asked there; the answer is
    then shown there, and `channel` is "". `scheduled`: the kind of schedule that asked, EVENT for an event
    of a webhook; "" for none. `notified`: the ids of those whom the reply mentions, separated by commas.
    """

    channel: str
    user: str
    thread_ts: str = ""
    after: str = ""
    private: bool = False
    response_url: str = ""
    home: str = ""
    scheduled: str = ""
    notified: str = ""

    @property
    def mentions(self) -> str:
        """Whom the reply mentions, as ids separated by commas: in a channel, the person of a reminder."""
        is_reminder = self.scheduled == ScheduleKind.REMINDER and not is_direct(self.channel)
        return self.user if is_reminder else self.notified

    def encode(self, action_token: str = "") -> str:
        """Return it as JSON. `action_token`: the message's, stored with its question only. Buttons and other carriers
        encode without it.
        """
        return json.dumps(asdict(self) | ({"action_token": action_token} if action_token else {}))


def of_message(message: SlackMessage) -> ReplyTo:
    """Return where to answer a message: its channel, in its thread if it is in one."""
    return ReplyTo(message.channel, message.user, message.thread_ts if message.in_thread else "")


def of_command(body: JsonObject) -> ReplyTo:
    """Return where a slash command was written, and by whom."""
    return ReplyTo(text(body, "channel_id"), text(body, "user_id"), response_url=text(body, "response_url"))


def of_click(body: JsonObject) -> ReplyTo:
    """Return where a shortcut was used or a button clicked, and by whom."""
    in_home = text(body, "view", "type") == "home"
    return ReplyTo(
        text(body, "channel", "id") or text(body, "container", "channel_id"),
        text(body, "user", "id"),
        text(body, "container", "thread_ts") or text(body, "message", "thread_ts"),
        response_url=text(body, "response_url"),
        home=text(body, "view", "private_metadata") if in_home else "",
    )


def of_window(view: JsonObject) -> ReplyTo | None:
    """Return where a window was opened, from "to" in its metadata; None if it has none."""
    try:
        metadata: Json = json.loads(text(view, "private_metadata"))
        return decode_reply_to(text(metadata, "to"))
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
        notified=text(value, "notified"),
    )


def action_token_in(stored: str) -> str:
    """Return the search token that was encoded with a question (`ReplyTo.encode`); "" for none."""
    try:
        value: Json = json.loads(stored)
    except ValueError:
        return ""
    return text(value, "action_token")
