"""What a channel in Slack has besides messages: topic, description, bookmarks and canvases. No product code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from tests.fakes.slack_faults import Refusal
from tests.fakes.slack_things import FakeChannel, Object

MAX_TOPIC: Final = 250
MAX_BOOKMARKS: Final = 100


@dataclass
class FakeCanvas:
    """`sections`: by their ids, each a block of Markdown."""

    channel: str
    title: str
    sections: dict[str, str]

    @property
    def text(self) -> str:
        return "\n\n".join(self.sections.values())


@dataclass
class ChannelHeaders:
    """`member_of` returns a channel that the bot is in. `bookmarks`: by channel."""

    member_of: Callable[[str], FakeChannel]
    bookmarks: dict[str, list[Object]] = field(default_factory=dict[str, list[Object]])
    canvases: dict[str, FakeCanvas] = field(default_factory=dict[str, FakeCanvas])

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
            "canvases.create": self._create_canvas,
            "canvases.edit": self._edit_canvas,
            "canvases.delete": self._delete_canvas,
            "canvases.sections.lookup": self._find_sections,
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

    # A canvas in a tab of a channel, which everyone there can change.

    def _create_canvas(self, args: Object) -> Object:
        channel = self.member_of(args["channel_id"])
        id_ = f"F{next(self._numbers)}CANVAS"
        self.canvases[id_] = FakeCanvas(channel.id, args.get("title") or "", self._sections(args["document_content"]))
        return {"canvas_id": id_}

    def _sections(self, content: Object) -> dict[str, str]:
        assert content["type"] == "markdown"
        return {f"temp:C:{next(self._numbers)}": block for block in content["markdown"].split("\n\n")}

    def _canvas(self, args: Object) -> FakeCanvas:
        if args["canvas_id"] not in self.canvases:
            raise Refusal("canvas_not_found")
        return self.canvases[args["canvas_id"]]

    def _edit_canvas(self, args: Object) -> Object:
        canvas = self._canvas(args)
        (change,) = args["changes"]  # Slack takes one at a time
        new = self._sections(change["document_content"])
        match change["operation"]:
            case "insert_at_end":
                canvas.sections |= new
            case "replace" if change["section_id"] in canvas.sections:
                sections = dict[str, str]()
                for id_, block in canvas.sections.items():
                    sections |= new if id_ == change["section_id"] else {id_: block}
                canvas.sections = sections
            case _:
                raise Refusal("canvas_editing_failed")
        return {}

    def _delete_canvas(self, args: Object) -> Object:
        self._canvas(args)
        del self.canvases[args["canvas_id"]]
        return {}

    def _find_sections(self, args: Object) -> Object:
        sections, words = self._canvas(args).sections, args["criteria"]["contains_text"]
        return {"sections": [{"id": id_} for id_, block in sections.items() if words in block]}
