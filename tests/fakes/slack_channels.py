"""What a channel in Slack has besides messages: its topic, its description and its bookmarks. No product code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from tests.fakes.slack_faults import Refusal
from tests.fakes.slack_things import FakeChannel, Object

MAX_TOPIC: Final = 250
MAX_BOOKMARKS: Final = 100


@dataclass
class ChannelHeaders:
    """`member_of` returns a channel that the bot is in. `bookmarks`: by channel."""

    member_of: Callable[[str], FakeChannel]
    bookmarks: dict[str, list[Object]] = field(default_factory=dict[str, list[Object]])

    def __post_init__(self) -> None:
        self._numbers = count(1)

    @property
    def methods(self) -> Mapping[str, Callable[[Object], Object]]:
        return {
            "conversations.setTopic": lambda args: self._set(args, "topic"),
            "conversations.setPurpose": lambda args: self._set(args, "purpose"),
            "bookmarks.add": self._add_bookmark,
            "bookmarks.list": lambda args: {"bookmarks": [*self._listed(args)]},
            "bookmarks.remove": self._remove_bookmark,
        }

    def _set(self, args: Object, name: str) -> Object:
        channel = self.member_of(args["channel"])
        if channel.facts.get("is_archived"):
            raise Refusal("is_archived")
        if channel.kind == "im":
            raise Refusal("method_not_supported_for_channel_type")
        if len(args[name]) > MAX_TOPIC:
            raise Refusal("too_long")
        channel.facts[name] = {"value": args[name], "creator": "U0BOT", "last_set": 1}
        return {"channel": {"id": channel.id, name: channel.facts[name]}}

    def _listed(self, args: Object) -> list[Object]:
        return self.bookmarks.setdefault(self.member_of(args["channel_id"]).id, [])

    def _add_bookmark(self, args: Object) -> Object:
        listed = self._listed(args)
        if args["type"] != "link" or not str(args.get("link") or "").startswith(("http://", "https://")):
            raise Refusal("invalid_link")
        if len(listed) >= MAX_BOOKMARKS:
            raise Refusal("too_many_bookmarks")
        listed.append({"id": f"Bk{next(self._numbers)}", **args})
        return {"bookmark": listed[-1]}

    def _remove_bookmark(self, args: Object) -> Object:
        listed = self._listed(args)
        if not any(one["id"] == args["bookmark_id"] for one in listed):
            raise Refusal("not_found")
        listed[:] = [one for one in listed if one["id"] != args["bookmark_id"]]
        return {}
