"""The windows in which a question is typed, and how they are read. Pure.

Above: `asking`, `listeners`, `manifest`. Below: `block_kit`, `inbound`, `payload`, `reply_to`.

Rule: a window carries where it is answered and for whom, so that it works after a restart, and for nobody else.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.messages import Depth, Json, JsonObject
from agent.records import Attachment
from bot.platforms.slack.payload import items, number, text
from bot.platforms.slack.reading.inbound import attachment
from bot.platforms.slack.replies.reply_to import ReplyTo, decode
from bot.platforms.slack.views.block_kit import field, line, option, picked, typed, window

ASK_SHORTCUT = "cogency_ask"
FORGET_SHORTCUT = "cogency_forget_thread"
MEMORY_SHORTCUT = "cogency_memory"
ASK_VIEW = "cogency_ask_view"
ANYWHERE_SHORTCUT = "cogency_ask_anywhere"
ANYWHERE_VIEW = "cogency_ask_anywhere_view"
_QUESTION, _WHERE, _DEPTH, _PRIVATE = "question", "where", "depth", "private"
_DEPTHS = (
    option("As deep as the question needs", Depth.ADAPT),
    option("Deep: take your time", Depth.DEEP),
    option("Fast: a short answer", Depth.FAST),
)

MAX_FILES = 3
"""Of the message that is asked about: what a view carries beside its words."""
MAX_NAME_CHARS = 80
"""Of a file or an author, there."""
FILE = "file of the message that is asked about"

METADATA_CHARS = 3_000
"""The most that a view carries; a longer message is asked about by its beginning."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about one message, typed into the view of the shortcut."""

    question: str
    author: str
    about: str
    to: ReplyTo
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedAnywhere:
    """A question typed into the window that belongs to no channel; `channel` "" for the direct messages."""

    question: str
    channel: str
    private: bool
    depth: Depth


def ask_view(author: str, about: str, to: ReplyTo, files: Sequence[JsonObject] = ()) -> JsonObject:
    """The window in which a question about a message is typed. `files`: the message's, as Slack tells them."""
    told = [_file(file) for file in files[:MAX_FILES]]
    author = author[:MAX_NAME_CHARS]
    carried = _carried(author, about, to, told)
    while len(carried) > METADATA_CHARS and about:
        about = about[: len(about) * 3 // 4]
        carried = _carried(author, about, to, told)
    return {
        "type": "modal",
        "callback_id": ASK_VIEW,
        "title": _plain("Ask about this message"),
        "submit": _plain("Ask"),
        "close": _plain("Cancel"),
        "private_metadata": carried,
        "blocks": [
            {
                "type": "input",
                "block_id": _QUESTION,
                "label": _plain("Your question (only you will see the answer)"),
                "element": {"type": "plain_text_input", "action_id": _QUESTION, "multiline": True},
            }
        ],
    }


def asked(view: JsonObject) -> Asked | None:
    """What was typed into the window; None if it is not one of ours."""
    question = text(view, "state", "values", _QUESTION, _QUESTION, "value").strip()
    try:
        carried: Json = json.loads(text(view, "private_metadata"))
        to = decode(text(carried, "to"))
    except ValueError:
        return None
    author = text(carried, "author")
    files = (replace(attachment(file), author=author, source=FILE) for file in items(carried, "files"))
    return Asked(question, author, text(carried, "about"), to, tuple(files)) if question else None


def anywhere_view() -> JsonObject:
    """The window in which something is asked from anywhere in Slack."""
    where: dict[str, Json] = {
        "type": "conversations_select",
        "default_to_current_conversation": True,
        "filter": {"include": ["public", "private", "mpim"]},
    }
    depth: dict[str, Json] = {"type": "static_select", "options": [*_DEPTHS], "initial_option": _DEPTHS[0]}
    private: dict[str, Json] = {"type": "checkboxes", "options": [option("Only I see the answer", _PRIVATE)]}
    blocks = [
        field(_QUESTION, "Your question", line(multiline=True)),
        field(_WHERE, "Where to answer", where, hint="Empty: in your direct messages with me.", optional=True),
        field(_PRIVATE, "Who sees the answer", private, optional=True),
        field(_DEPTH, "How deep", depth),
    ]
    return window(ANYWHERE_VIEW, "Ask", "Ask", {}, blocks)


def asked_anywhere(view: JsonObject) -> AskedAnywhere:
    """What was filled in there."""
    ticked = items(view, "state", "values", _PRIVATE, _PRIVATE, "selected_options")
    chosen = picked(view, _DEPTH)
    depth = Depth(chosen) if chosen in {*Depth} else Depth.ADAPT
    return AskedAnywhere(typed(view, _QUESTION), picked(view, _WHERE), bool(ticked), depth)


def _carried(author: str, about: str, to: ReplyTo, files: list[Json]) -> str:
    carried = {"author": author, "about": about, "to": to.encode(), "files": files}
    return json.dumps(carried, ensure_ascii=False)


def _file(file: JsonObject) -> Json:
    """As much of a file as it takes to ask Slack for it later."""
    named = {
        "id": text(file, "id")[:20],
        "name": text(file, "name")[:MAX_NAME_CHARS],
        "mimetype": text(file, "mimetype")[:MAX_NAME_CHARS],
    }
    return {**named, "size": number(file, "size"), "file_access": "check_file_info"}


def _plain(words: str) -> dict[str, Json]:
    return {"type": "plain_text", "text": words}
