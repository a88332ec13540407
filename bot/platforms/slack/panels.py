"""Panels of commands as blocks of Slack, what is pressed in them, and the windows of forms and questions. Pure.

Rules. A button carries what it tells its command, for whom and from where, so that it works after a restart, and for
nobody else; a menu carries it in the id of its block. A form only spells what the command would be told. What cannot
be read is said beside its field, and the window stays.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Final, assert_never

from agent.messages import Depth, Json, JsonObject
from agent.records import Attachment
from bot.commands.declaration import Command, FieldKind, Filled, FormField, Panel, PanelAction, PanelForm, PanelSelect
from bot.commands.discovery import COMMANDS, form_named
from bot.platforms.slack import block_kit
from bot.platforms.slack.api import fields, items, number, text
from bot.platforms.slack.inbound import ReplyTo, SlackBot, attachment, decode_reply_to, of_window, person_id
from bot.texts import command_texts
from bot.texts.formatting import shortened

# Of an entry in a list: a page of them stays under the 12,000 characters that Slack shows in one message.
ENTRY_CHARS: Final = 600
WINDOW_FIELDS: Final = 25  # Of a hundred blocks that a window may have: more nobody fills in at once
OPTIONS: Final = 100  # In a menu
OPTION_CHARS: Final = 150  # Of what an option in a menu stands for; what is longer can only be written

PRESS: Final = "cogency_press"
TICK: Final = "cogency_tick"
FORM: Final = "cogency_window"

TextBlocks = Callable[[str], list[Json]]


@dataclass(frozen=True, slots=True)
class ShownTo:
    """To whom a panel is shown, and where its command was used; `thread`: the conversation, if there is one."""

    user: str
    channel: str = ""
    thread: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class PanelPress:
    """A button was pressed, or something chosen in a menu. `options`: the flags that were ticked beside it."""

    command: Command
    words: str
    at: ShownTo
    form: PanelForm | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class FormSent:
    """`to`: where its button stood. `elsewhere`: the channel in which the command is used instead; "" if in none."""

    command: Command
    form: PanelForm
    words: str
    filled: Filled
    to: ReplyTo
    thread: tuple[str, ...]
    elsewhere: str


def as_markdown(words: str) -> list[Json]:
    return [{"type": "markdown", "text": words}]


def panel_blocks(panel: Panel, command: Command, at: ShownTo, show: TextBlocks = as_markdown) -> list[Json]:
    """What stands below the text of a panel."""
    numbers = count()
    boxes = [_box(command, name, ticked=ticked) for name, ticked in panel.boxes.items()]
    blocks = block_kit.row([*boxes, *(_button(one, command, at, next(numbers)) for one in panel.actions)])
    for part in panel.parts:
        blocks += show(part.text) if part.text else []
        blocks += block_kit.row([_button(one, command, at, next(numbers)) for one in part.actions])
        blocks += [] if part.select is None else _menu(part.select, command, at, next(numbers))
    return blocks


def press_of(body: JsonObject, action: JsonObject) -> PanelPress | None:
    """What was pressed or chosen; None if it is not one of ours."""
    chosen = text(action, "selected_option", "value")
    carried = _decoded(text(action, "block_id")) if chosen else block_kit.carried_by(action)
    command, user = pressed_command(text(action, "action_id")), text(carried, "user")
    if command is None or not user:
        return None
    found = form_named(text(carried, "form"))
    at = ShownTo(user, text(carried, "channel"), _thread(carried))
    words = f"{text(carried, 'words')} {chosen}".strip()
    return PanelPress(command, words, at, found[1] if found else None, _ticked(body))


def pressed_command(action_id: str) -> Command | None:
    """The command in whose panel it stands."""
    name = action_id.removeprefix(f"{PRESS}:").partition(":")[0]
    return next((one for one in COMMANDS if one.name == name), None)


def view_id(form: PanelForm) -> str:
    """The callback id of its window."""
    return f"{FORM}:{form.name}"


def view_of(
    form: PanelForm,
    to: ReplyTo,
    words: str = "",
    thread: Collection[str] = (),
    filled: Filled = MappingProxyType({}),
) -> JsonObject:
    """The window, with what stands in it at first; it is answered where `to` says."""
    carried: dict[str, Json] = {"to": to.encode(), "words": words, "thread": [*sorted(thread)]}
    shown = [one for one in form.fields if to.home or one.kind is not FieldKind.ELSEWHERE]
    blocks = [_field(one, filled.get(one.name, "")) for one in shown]
    return block_kit.window(view_id(form), form.title, form.submit, carried, blocks)


def form_sent(view: JsonObject, me: SlackBot, made: PanelForm | None = None) -> FormSent | None:
    """What was filled in; None for another window. `made`: the form, where its fields were not known before."""
    found, to = form_named(text(view, "callback_id").removeprefix(f"{FORM}:")), of_window(view)
    if found is None or to is None:
        return None
    command, form = found[0], made or found[1]
    filled = {one.name: _filled(view, one, me) for one in form.fields}
    elsewhere = next((filled[one.name] for one in form.fields if one.kind is FieldKind.ELSEWHERE), "")
    carried = block_kit.carried_by_view(view)
    return FormSent(command, form, text(carried, "words"), filled, to, _thread(carried), elsewhere)


def _button(one: PanelAction, command: Command, at: ShownTo, number: int) -> Json:
    carried = _carried(at, one.words) | ({"form": one.form.name} if one.form else {})
    more: dict[str, Json] = {"style": "danger"} if one.danger else {}
    if one.confirm:
        more["confirm"] = block_kit.confirm_dialog(command_texts.ARE_YOU_SURE, one.confirm, one.label, "Keep")
    return block_kit.button(f"{PRESS}:{command.name}:{number}", one.label, carried, **more)


def _menu(one: PanelSelect, command: Command, at: ShownTo, number: int) -> list[Json]:
    fitting = [value for value in one.options if value.strip() and len(value) <= OPTION_CHARS]
    labels = {value: shortened(one.options[value], block_kit.LABEL_CHARS) for value in fitting[:OPTIONS]}
    options = {value: block_kit.option(label, value) for value, label in labels.items()}
    menu: dict[str, Json] = {
        "type": "static_select",
        "action_id": f"{PRESS}:{command.name}:{number}",
        "placeholder": block_kit.plain(one.placeholder),
        "options": [*options.values()],
    }
    if one.chosen in options:
        menu["initial_option"] = options[one.chosen]
    return [{"type": "actions", "block_id": json.dumps(_carried(at, one.words)), "elements": [menu]}]


def _box(command: Command, name: str, *, ticked: bool) -> Json:
    options: list[Json] = [block_kit.option(next(one.summary for one in command.arguments if one.name == name), name)]
    more: dict[str, Json] = {"initial_options": options} if ticked else {}
    return {"type": "checkboxes", "action_id": f"{TICK}:{name}", "options": options, **more}


def _carried(at: ShownTo, words: str) -> dict[str, Json]:
    carried: dict[str, Json] = {"user": at.user, "words": words, "channel": at.channel, "thread": [*sorted(at.thread)]}
    return {name: value for name, value in carried.items() if value}


def _ticked(body: JsonObject) -> Mapping[str, str]:
    """The boxes that are ticked in the message or the view of a click."""
    blocks = [*fields(body, "state", "values").values(), *fields(body, "view", "state", "values").values()]
    boxes = [(name, box) for block in blocks if isinstance(block, dict) for name, box in block.items()]
    ticked = [name for name, box in boxes if name.startswith(TICK) and items(box, "selected_options")]
    return {name.removeprefix(f"{TICK}:"): "yes" for name in ticked}


def _thread(carried: Json) -> tuple[str, ...]:
    held = carried.get("thread") if isinstance(carried, dict) else None
    return tuple(one for one in held if isinstance(one, str)) if isinstance(held, list) else ()


def _decoded(carried: str) -> Json:
    try:
        return json.loads(carried)
    except ValueError:
        return None


def _field(one: FormField, before: str) -> Json:
    hint = "" if one.kind is FieldKind.BOX else one.hint
    return block_kit.field(one.name, one.label, _element(one, before), hint=hint, optional=one.optional)


def _element(one: FormField, before: str) -> dict[str, Json]:
    match one.kind:
        case FieldKind.LINE | FieldKind.LINES:
            return block_kit.line(initial=before, multiline=one.kind is FieldKind.LINES, limit=one.max_chars)
        case FieldKind.CHOICE:
            options = [block_kit.option(label, value) for value, label in one.choices.items()]
            return {"type": "radio_buttons", "options": [*options], "initial_option": options[0]}
        case FieldKind.PICK | FieldKind.PICKS:
            return _picks(one, before.split())
        case FieldKind.BOX:
            return {"type": "checkboxes", "options": [block_kit.option(one.hint, one.name)]}
        case FieldKind.PERSON:
            return {"type": "users_select"}
        case FieldKind.CHANNEL:
            return {"type": "conversations_select", "filter": {"include": ["public", "private", "mpim"]}}
        case FieldKind.ELSEWHERE:
            return {"type": "conversations_select", "filter": {"include": ["private"]}}
        case _:
            assert_never(one.kind)


def _picks(one: FormField, before: Collection[str]) -> dict[str, Json]:
    options = {
        value: block_kit.option(shortened(label, block_kit.LABEL_CHARS), value) for value, label in one.choices.items()
    }
    initial: list[Json] = [option for value, option in options.items() if value in before]
    several = one.kind is FieldKind.PICKS
    menu: dict[str, Json] = {"type": "multi_static_select" if several else "static_select"}
    menu["options"] = [*options.values()]
    if initial and several:
        menu["initial_options"] = initial
    elif initial:
        menu["initial_option"] = initial[0]
    return menu


def _filled(view: JsonObject, one: FormField, me: SlackBot) -> str:
    match one.kind:
        case FieldKind.LINE | FieldKind.LINES:
            return block_kit.text_input(view, one.name)
        case FieldKind.PERSON:
            user = block_kit.selected_option(view, one.name)
            return person_id(me, user) if user else ""
        case FieldKind.BOX:
            return "yes" if items(view, "state", "values", one.name, one.name, "selected_options") else ""
        case FieldKind.PICKS:
            chosen = items(view, "state", "values", one.name, one.name, "selected_options")
            return " ".join(text(option, "value") for option in chosen)
        case FieldKind.CHOICE | FieldKind.PICK | FieldKind.CHANNEL | FieldKind.ELSEWHERE:
            return block_kit.selected_option(view, one.name)
        case _:
            assert_never(one.kind)


# The windows in which a question is typed, and how they are read.
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
    block_kit.option(command_texts.DEPTH_ADAPT, Depth.ADAPT),
    block_kit.option(command_texts.DEPTH_DEEP, Depth.DEEP),
    block_kit.option(command_texts.DEPTH_FAST, Depth.FAST),
)

MAX_FILES = 3  # Of the message that is asked about: what a view carries beside its words
MAX_NAME_CHARS = 80  # Of a file or an author, there
FILE = "file of the message that is asked about"

METADATA_CHARS = 3_000  # The most that a view carries; a longer message is asked about by its beginning


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
    carried = _carried_question(author, about, to, told, page)
    while len(json.dumps(carried, ensure_ascii=False)) > METADATA_CHARS and about:
        about = about[: len(about) * 3 // 4]
        carried = _carried_question(author, about, to, told, page)
    label = command_texts.QUESTION_ALONE
    return block_kit.window(
        ASK_VIEW,
        command_texts.ASK_ABOUT_MESSAGE,
        "Ask",
        carried,
        [block_kit.field(_QUESTION, label, block_kit.line(multiline=True))],
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
    private: dict[str, Json] = {"type": "checkboxes", "options": [block_kit.option(command_texts.ONLY_I_SEE, _PRIVATE)]}
    blocks = [
        block_kit.field(_QUESTION, command_texts.YOUR_QUESTION, block_kit.line(multiline=True)),
        block_kit.field(
            _WHERE, command_texts.WHERE_TO_ANSWER, where, hint=command_texts.IN_DIRECT_MESSAGES, optional=True
        ),
        block_kit.field(_PRIVATE, command_texts.WHO_SEES, private, optional=True),
        block_kit.field(_DEPTH, command_texts.HOW_DEEP, depth),
    ]
    return block_kit.window(ANYWHERE_VIEW, "Ask", "Ask", {}, blocks)


def asked_anywhere(view: JsonObject) -> AskedAnywhere:
    """What was filled in there."""
    ticked = items(view, "state", "values", _PRIVATE, _PRIVATE, "selected_options")
    chosen = block_kit.selected_option(view, _DEPTH)
    depth = Depth(chosen) if chosen in {*Depth} else Depth.ADAPT
    return AskedAnywhere(
        block_kit.text_input(view, _QUESTION), block_kit.selected_option(view, _WHERE), bool(ticked), depth
    )


def _carried_question(author: str, about: str, to: ReplyTo, files: list[Json], page: str) -> dict[str, Json]:
    return {"author": author, "about": about, "to": to.encode(), "files": files, "page": page}


def _file(file: JsonObject) -> Json:
    """As much of a file as it takes to ask Slack for it later."""
    named = {
        "id": text(file, "id")[:20],
        "name": text(file, "name")[:MAX_NAME_CHARS],
        "mimetype": text(file, "mimetype")[:MAX_NAME_CHARS],
    }
    return {**named, "size": number(file, "size"), "file_access": "check_file_info"}
