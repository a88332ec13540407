"""Where an answer goes, as the text that is stored with the question: enough to answer after a restart. Pure."""

import json
from dataclasses import asdict, dataclass

from agent.messages import Json, JsonObject
from bot.platforms.slack.api import flag, text
from bot.platforms.slack.inbound import SlackMessage


@dataclass(frozen=True, slots=True)
class ReplyTo:
    """`thread_ts` "" answers outside of threads; `private` so that only `user` sees it.

    `after` is the question's own time stamp: pages of its answer are newer. `response_url`, if there is one, answers
    privately even where the bot is no member. `home`: what the view of the person's Home tab carries, if it was asked
    for there; the answer is then shown there, and there is no channel.
    """

    channel: str
    user: str
    thread_ts: str = ""
    after: str = ""
    private: bool = False
    response_url: str = ""
    home: str = ""

    def encode(self) -> str:
        return json.dumps(asdict(self))


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
    )
