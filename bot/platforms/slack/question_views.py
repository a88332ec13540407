"""The windows in which people ask: about a message, or from anywhere in Slack. Pure.

Rule: a window carries its user and where it is answered, so that it works after a restart, and for that user only.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from agent.incoming import Attachment
from agent.messages import Depth, Json, JsonObject
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import block_kit
from bot.platforms.slack.api import flag, items, number, text
from bot.platforms.slack.inbound import attachment
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to

ASK_SHORTCUT = "cogency_ask"
ASK_VIEW = "cogency_ask_view"
ANYWHERE_SHORTCUT = "cogency_ask_anywhere"
ANYWHERE_VIEW = "cogency_ask_anywhere_view"
_QUESTION, _WHERE, _DEPTH, _PRIVATE = "question", "where", "depth", "private"
_DEPTHS = (
    block_kit.option(platforms_texts.DEPTH_ADAPT, Depth.ADAPT),
    block_kit.option(platforms_texts.DEPTH_DEEP, Depth.DEEP),
    block_kit.option(platforms_texts.DEPTH_FAST, Depth.FAST),
)

MAX_FILES = 3  # Of the message that is asked about: they fit a view's metadata beside its text
MAX_NAME_CHARS = 80  # Of a file or an author, there
FILE = "file of the message that the question is about"

METADATA_CHARS = 3_000  # Slack's limit for a view; of a longer message, only the beginning is carried


@dataclass(frozen=True, slots=True)
class PageAsked:
    """The message that a question is about. `by_bot`: the bot wrote it, or nobody knows who did."""

    ts: str = ""
    by_bot: bool = True


@dataclass(frozen=True, slots=True)
class QuestionAboutMessage:
    """A question about a message. `about`: its text."""

    question: str
    author: str
    about: str
    to: ReplyTo
    files: tuple[Attachment, ...] = ()
    page: PageAsked = PageAsked()


@dataclass(frozen=True, slots=True)
class QuestionAnywhere:
    """A question from the window that belongs to no channel. `channel`: "" to answer in direct messages."""

    question: str
    channel: str
    private: bool
    depth: Depth


def ask_view(
    author: str,
    about: str,
    to: ReplyTo,
    files: Sequence[JsonObject] = (),
    page: PageAsked = PageAsked(),
) -> JsonObject:
    """Return the window for a question about a message. `files`: the message's, as Slack sent them."""
    carried_files = [_file(file) for file in files[:MAX_FILES]]
    author = author[:MAX_NAME_CHARS]
    payload = _question_payload(author, about, to, carried_files, page)
    while len(json.dumps(payload, ensure_ascii=False)) > METADATA_CHARS and about:
        about = about[: len(about) * 3 // 4]
        payload = _question_payload(author, about, to, carried_files, page)
    label = platforms_texts.QUESTION_ALONE
    return block_kit.window(
        ASK_VIEW,
        platforms_texts.ASK_ABOUT_MESSAGE,
        "Ask",
        payload,
        [block_kit.field(_QUESTION, label, block_kit.line(multiline=True))],
    )


def read_ask_view(view: JsonObject) -> QuestionAboutMessage | None:
    """Return what was typed into the window; None if it is empty, or the window is not `ask_view`."""
    question = text(view, "state", "values", _QUESTION, _QUESTION, "value").strip()
    try:
        payload: Json = json.loads(text(view, "private_metadata"))
        to = decode_reply_to(text(payload, "to"))
    except ValueError:
        return None
    author = text(payload, "author")
    page = PageAsked(text(payload, "page"), by_bot=not flag(payload, "by_person"))
    file = partial(replace, author=author, source=FILE, by_bot=page.by_bot)
    files = (file(attachment(sent)) for sent in items(payload, "files"))
    return QuestionAboutMessage(question, author, text(payload, "about"), to, tuple(files), page) if question else None


def anywhere_view() -> JsonObject:
    """Return the window for a question from anywhere in Slack."""
    where: dict[str, Json] = {
        "type": "conversations_select",
        "default_to_current_conversation": True,
        "filter": {"include": ["public", "private", "mpim"]},
    }
    depth: dict[str, Json] = {"type": "static_select", "options": [*_DEPTHS], "initial_option": _DEPTHS[0]}
    private: dict[str, Json] = {
        "type": "checkboxes",
        "options": [block_kit.option(platforms_texts.ONLY_I_SEE, _PRIVATE)],
    }
    blocks = [
        block_kit.field(_QUESTION, platforms_texts.YOUR_QUESTION, block_kit.line(multiline=True)),
        block_kit.field(
            _WHERE, platforms_texts.WHERE_TO_ANSWER, where, hint=platforms_texts.IN_DIRECT_MESSAGES, optional=True
        ),
        block_kit.field(_PRIVATE, platforms_texts.WHO_SEES, private, optional=True),
        block_kit.field(_DEPTH, platforms_texts.HOW_DEEP, depth),
    ]
    return block_kit.window(ANYWHERE_VIEW, "Ask", "Ask", {}, blocks)


def read_anywhere_view(view: JsonObject) -> QuestionAnywhere:
    """Return what was filled in in `anywhere_view`."""
    ticked = items(view, "state", "values", _PRIVATE, _PRIVATE, "selected_options")
    chosen = block_kit.selected_option(view, _DEPTH)
    depth = Depth(chosen) if chosen in {*Depth} else Depth.ADAPT
    return QuestionAnywhere(
        block_kit.text_input(view, _QUESTION), block_kit.selected_option(view, _WHERE), bool(ticked), depth
    )


def _question_payload(author: str, about: str, to: ReplyTo, files: list[Json], page: PageAsked) -> dict[str, Json]:
    return {
        "author": author,
        "about": about,
        "to": to.encode(),
        "files": files,
        "page": page.ts,
        "by_person": not page.by_bot,
    }


def _file(file: JsonObject) -> Json:
    """Return the fields of a file that are needed to fetch it later."""
    texts = {
        "id": text(file, "id")[:20],
        "name": text(file, "name")[:MAX_NAME_CHARS],
        "mimetype": text(file, "mimetype")[:MAX_NAME_CHARS],
    }
    return {**texts, "size": number(file, "size"), "file_access": "check_file_info"}
