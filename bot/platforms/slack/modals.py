"""Windows: the forms of commands, and those in which a question is typed. Pure.

Rules. A form only spells what the command would be told. What cannot be read is said beside its field, and the window
stays.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from agent.messages import Depth, Json, JsonObject
from agent.records import Attachment
from bot.commands.declaration import Command, FieldKind, Filled, FormField, PanelForm
from bot.commands.discovery import form_named
from bot.platforms.slack.api import items, number, text
from bot.platforms.slack.block_kit import button, carried_by, field, line, option, picked, typed, window
from bot.platforms.slack.inbound import ReplyTo, SlackBot, attachment, decode_reply_to, person_id
from bot.texts import command_texts

MODAL_ACTION: Final = "cogency_window"


@dataclass(frozen=True, slots=True)
class ModalOpened:
    """Somebody opens a form."""

    form: PanelForm
    user: str
    channel: str


@dataclass(frozen=True, slots=True)
class FormSent:
    """`elsewhere`: the channel in which the command is used, in place of where the form was opened; "" if in none."""

    command: Command
    form: PanelForm
    filled: Filled
    elsewhere: str


def view_id(form: PanelForm) -> str:
    """The callback id of its window, and the action of the button that opens it."""
    return f"{MODAL_ACTION}:{form.name}"


def modal_button(form: PanelForm, user: str, channel: str = "") -> Json:
    """The button that opens a form; `channel`: where it was asked for, wherever the button may stand."""
    return button(view_id(form), form.label, {"user": user, "channel": channel})


def modal_opened(action: JsonObject) -> ModalOpened | None:
    """Which form a click opens; None if it is not on one of those buttons."""
    carried = carried_by(action)
    found = form_named(text(action, "action_id").removeprefix(f"{MODAL_ACTION}:"))
    return None if found is None else ModalOpened(found[1], text(carried, "user"), text(carried, "channel"))


def view_of(form: PanelForm, to: ReplyTo) -> JsonObject:
    """The window; it is answered where `to` says."""
    blocks = [_field(one) for one in form.fields if to.home or one.kind is not FieldKind.ELSEWHERE]
    return window(view_id(form), form.title, form.submit, {"to": to.encode()}, blocks)


def form_sent(view: JsonObject, me: SlackBot) -> FormSent | None:
    """What was filled in; None for another window."""
    found = form_named(text(view, "callback_id").removeprefix(f"{MODAL_ACTION}:"))
    if found is None:
        return None
    command, form = found
    filled = {one.name: _filled(view, one, me) for one in form.fields}
    elsewhere = next((filled[one.name] for one in form.fields if one.kind is FieldKind.ELSEWHERE), "")
    return FormSent(command, form, filled, elsewhere)


def mistakes(view: JsonObject, me: SlackBot) -> Mapping[str, str]:
    """What is wrong with what was filled in, by the names of the fields."""
    sent = form_sent(view, me)
    return {} if sent is None else sent.form.mistakes(sent.filled)


def _field(one: FormField) -> Json:
    return field(one.name, one.label, _element(one), hint=one.hint, optional=one.optional)


def _element(one: FormField) -> dict[str, Json]:
    match one.kind:
        case FieldKind.LINE | FieldKind.LINES:
            return line(multiline=one.kind is FieldKind.LINES, limit=one.max_chars)
        case FieldKind.CHOICE:
            options = [option(label, value) for value, label in one.choices.items()]
            return {"type": "radio_buttons", "options": [*options], "initial_option": options[0]}
        case FieldKind.PERSON:
            return {"type": "users_select"}
        case FieldKind.CHANNEL:
            return {"type": "conversations_select", "filter": {"include": ["public", "private", "mpim"]}}
        case FieldKind.ELSEWHERE:
            return {"type": "conversations_select", "filter": {"include": ["private"]}}
        case _:
            assert_never(one.kind)


def _filled(view: JsonObject, one: FormField, me: SlackBot) -> str:
    match one.kind:
        case FieldKind.LINE | FieldKind.LINES:
            return typed(view, one.name)
        case FieldKind.PERSON:
            user = picked(view, one.name)
            return person_id(me, user) if user else ""
        case FieldKind.CHOICE | FieldKind.CHANNEL | FieldKind.ELSEWHERE:
            return picked(view, one.name)
        case _:
            assert_never(one.kind)


# The windows in which a question is typed, and how they are read. Pure.
#
# Rule: a window carries where it is answered and for whom, so that it works after a restart, and for nobody else.

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
    while len(json.dumps(carried, ensure_ascii=False)) > METADATA_CHARS and about:
        about = about[: len(about) * 3 // 4]
        carried = _carried(author, about, to, told)
    label = "Your question (only you will see the answer)"
    return window(ASK_VIEW, "Ask about this message", "Ask", carried, [field(_QUESTION, label, line(multiline=True))])


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
    return Asked(question, author, text(carried, "about"), to, tuple(files)) if question else None


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
    chosen = picked(view, _DEPTH)
    depth = Depth(chosen) if chosen in {*Depth} else Depth.ADAPT
    return AskedAnywhere(typed(view, _QUESTION), picked(view, _WHERE), bool(ticked), depth)


def _carried(author: str, about: str, to: ReplyTo, files: list[Json]) -> dict[str, Json]:
    return {"author": author, "about": about, "to": to.encode(), "files": files}


def _file(file: JsonObject) -> Json:
    """As much of a file as it takes to ask Slack for it later."""
    named = {
        "id": text(file, "id")[:20],
        "name": text(file, "name")[:MAX_NAME_CHARS],
        "mimetype": text(file, "mimetype")[:MAX_NAME_CHARS],
    }
    return {**named, "size": number(file, "size"), "file_access": "check_file_info"}
