"""The windows in which a question is typed, and how they are read. Pure.

Rule: a window carries where it is answered and for whom, so that it works after a restart, and for nobody else.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.messages import Depth, Json, JsonObject
from agent.records import Attachment
from bot.platforms.slack.api import items, number, text
from bot.platforms.slack.block_kit import field, line, option, selected_option, text_input, window
from bot.platforms.slack.inbound import ReplyTo, attachment, decode_reply_to
from bot.texts import command_texts

ASK_SHORTCUT = "cogency_ask"
FORGET_SHORTCUT = "cogency_forget_thread"
MEMORY_SHORTCUT = "cogency_memory"
ASK_VIEW = "cogency_ask_view"
ANYWHERE_SHORTCUT = "cogency_ask_anywhere"
ANYWHERE_VIEW = "cogency_ask_anywhere_view"
_QUESTION, _WHERE, _DEPTH, _PRIVATE = "question", "where", "depth", "private"
_DEPTHS = (
    option(command_texts.DEPTH_ADAPT, Depth.ADAPT),
    option(command_texts.DEPTH_DEEP, Depth.DEEP),
    option(command_texts.DEPTH_FAST, Depth.FAST),
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
    page: str = ""
    """The time stamp of that message."""


@dataclass(frozen=True, slots=True)
class AskedAnywhere:
    """A question typed into the window that belongs to no channel; `channel` "" for the direct messages."""

    question: str
    channel: str
    private: bool
    depth: Depth


def ask_view(author: str, about: str, to: ReplyTo, files: Sequence[JsonObject] = (), page: str = "") -> JsonObject:
    """The window in which a question about a message is typed. `files`: the message's, as Slack tells them."""
    told = [_file(file) for file in files[:MAX_FILES]]
    author = author[:MAX_NAME_CHARS]
    carried = _carried(author, about, to, told, page)
    while len(json.dumps(carried, ensure_ascii=False)) > METADATA_CHARS and about:
        about = about[: len(about) * 3 // 4]
        carried = _carried(author, about, to, told, page)
    label = command_texts.QUESTION_ALONE
    return window(
        ASK_VIEW, command_texts.ASK_ABOUT_MESSAGE, "Ask", carried, [field(_QUESTION, label, line(multiline=True))]
    )


def asked(view: JsonObject) -> Asked | None:
    """What was typed into the window; None if it is not one of ours."""
    question = text(view, "state", "values", _QUESTION, _QUESTION, "value").strip()
    try:
        carried: Json = json.loads(text(view, "private_metadata"))
        to = decode_reply_to(text(carried, "to"))
    except ValueError:
        return None
    author = text(carried, "author")
    files = (replace(attachment(file), author=author, source=FILE) for file in items(carried, "files"))
    page = text(carried, "page")
    return Asked(question, author, text(carried, "about"), to, tuple(files), page) if question else None


def anywhere_view() -> JsonObject:
    """The window in which something is asked from anywhere in Slack."""
    where: dict[str, Json] = {
        "type": "conversations_select",
        "default_to_current_conversation": True,
        "filter": {"include": ["public", "private", "mpim"]},
    }
    depth: dict[str, Json] = {"type": "static_select", "options": [*_DEPTHS], "initial_option": _DEPTHS[0]}
    private: dict[str, Json] = {"type": "checkboxes", "options": [option(command_texts.ONLY_I_SEE, _PRIVATE)]}
    blocks = [
        field(_QUESTION, command_texts.YOUR_QUESTION, line(multiline=True)),
        field(_WHERE, command_texts.WHERE_TO_ANSWER, where, hint=command_texts.IN_DIRECT_MESSAGES, optional=True),
        field(_PRIVATE, command_texts.WHO_SEES, private, optional=True),
        field(_DEPTH, command_texts.HOW_DEEP, depth),
    ]
    return window(ANYWHERE_VIEW, "Ask", "Ask", {}, blocks)


def asked_anywhere(view: JsonObject) -> AskedAnywhere:
    """What was filled in there."""
    ticked = items(view, "state", "values", _PRIVATE, _PRIVATE, "selected_options")
    chosen = selected_option(view, _DEPTH)
    depth = Depth(chosen) if chosen in {*Depth} else Depth.ADAPT
    return AskedAnywhere(text_input(view, _QUESTION), selected_option(view, _WHERE), bool(ticked), depth)


def _carried(author: str, about: str, to: ReplyTo, files: list[Json], page: str) -> dict[str, Json]:
    return {"author": author, "about": about, "to": to.encode(), "files": files, "page": page}


def _file(file: JsonObject) -> Json:
    """As much of a file as it takes to ask Slack for it later."""
    named = {
        "id": text(file, "id")[:20],
        "name": text(file, "name")[:MAX_NAME_CHARS],
        "mimetype": text(file, "mimetype")[:MAX_NAME_CHARS],
    }
    return {**named, "size": number(file, "size"), "file_access": "check_file_info"}
