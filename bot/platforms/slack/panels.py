"""Panels of commands as Slack's blocks, the clicks in them, and the windows of their forms. Pure.

Rules. A button carries its command's arguments, its user and its channel, so that it works after a restart, and for
that user only; a menu carries them in the id of its block. A form only spells the arguments of its command. A value
that cannot be read gets an error beside its field, and the window stays open.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Final, assert_never

from agent.messages import Json, JsonObject
from bot.chat.commands.declaration import AnyCommand
from bot.chat.panels import FieldKind, Filled, FormField, Panel, PanelAction, PanelForm, PanelSelect
from bot.chat.texts.formatting import shortened
from bot.commands import COMMANDS, form_named
from bot.platforms import texts as platforms_texts
from bot.platforms.slack import block_kit
from bot.platforms.slack.api import fields, items, text
from bot.platforms.slack.inbound import SlackBot, person_id
from bot.platforms.slack.reply_to import ReplyTo, of_window

# Of an entry in a list: a page of entries stays under the 12,000 characters that Slack shows in one message.
ENTRY_CHARS: Final = 600
WINDOW_FIELDS: Final = 25  # Slack allows a hundred blocks; more fields are too many to fill in at once
OPTIONS: Final = 100  # In a menu
OPTION_CHARS: Final = 150  # Of the value of a menu's option; a longer value can only be typed

PRESS: Final = "cogency_press"
TICK: Final = "cogency_tick"
FORM: Final = "cogency_window"

TextBlocks = Callable[[str], list[Json]]


@dataclass(frozen=True, slots=True)
class ShownTo:
    """The user to whom a panel is shown, and where its command was used. `thread`: what "this thread" means there."""

    user: str
    channel: str = ""
    thread: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class PanelPress:
    """A button was clicked, or an option chosen in a menu. `options`: the flags that were ticked beside it."""

    command: AnyCommand
    words: str
    at: ShownTo
    form: PanelForm | None = None
    options: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class FormSent:
    """A form was submitted. `to`: where its button was. `elsewhere`: the channel that was chosen in it; "" for none."""

    command: AnyCommand
    form: PanelForm
    words: str
    filled: Filled
    to: ReplyTo
    thread: tuple[str, ...]
    elsewhere: str


def as_markdown(words: str) -> list[Json]:
    return [{"type": "markdown", "text": words}]


def panel_blocks(panel: Panel, command: AnyCommand, at: ShownTo, show: TextBlocks = as_markdown) -> list[Json]:
    """Return the blocks below the text of a panel."""
    numbers = count()
    boxes = [_box(command, name, ticked=ticked) for name, ticked in panel.boxes.items()]
    blocks = block_kit.row([*boxes, *(_button(action, command, at, next(numbers)) for action in panel.actions)])
    for part in panel.parts:
        blocks += show(part.text) if part.text else []
        blocks += block_kit.row([_button(action, command, at, next(numbers)) for action in part.actions])
        blocks += [] if part.select is None else _menu(part.select, command, at, next(numbers))
    return blocks


def press_of(body: JsonObject, action: JsonObject) -> PanelPress | None:
    """Return what was clicked or chosen; None if it does not belong to a panel."""
    chosen = text(action, "selected_option", "value")
    payload = block_kit.decode_payload(text(action, "block_id")) if chosen else block_kit.button_payload(action)
    command, user = pressed_command(text(action, "action_id")), text(payload, "user")
    if command is None or not user:
        return None
    found = form_named(text(payload, "form"))
    at = ShownTo(user, text(payload, "channel"), _thread(payload))
    words = f"{text(payload, 'words')} {chosen}".strip()
    return PanelPress(command, words, at, found[1] if found else None, _ticked(body))


def pressed_command(action_id: str) -> AnyCommand | None:
    """Return the command whose panel has this action; None for any other action."""
    name = action_id.removeprefix(f"{PRESS}:").partition(":")[0]
    return next((command for command in COMMANDS if command.name == name), None)


def view_id(form: PanelForm) -> str:
    """Return the callback id of the form's window."""
    return f"{FORM}:{form.name}"


def view_of(
    form: PanelForm,
    to: ReplyTo,
    words: str = "",
    thread: Collection[str] = (),
    filled: Filled = MappingProxyType({}),
) -> JsonObject:
    """Return the form's window. `filled`: its initial values. `to`: where it is answered."""
    payload: dict[str, Json] = {"to": to.encode(), "words": words, "thread": [*sorted(thread)]}
    shown = [form_field for form_field in form.fields if to.home or form_field.kind is not FieldKind.ELSEWHERE]
    blocks = [_field(form_field, filled.get(form_field.name, "")) for form_field in shown]
    return block_kit.window(view_id(form), form.title, form.submit, payload, blocks)


def read_form_view(view: JsonObject, me: SlackBot, built_form: PanelForm | None = None) -> FormSent | None:
    """Return what was filled in; None for another window. `built_form`: the form, if its fields depend on a button."""
    found, to = form_named(text(view, "callback_id").removeprefix(f"{FORM}:")), of_window(view)
    if found is None or to is None:
        return None
    command, form = found[0], built_form or found[1]
    filled = {form_field.name: _filled(view, form_field, me) for form_field in form.fields}
    elsewhere = next(
        (filled[form_field.name] for form_field in form.fields if form_field.kind is FieldKind.ELSEWHERE), ""
    )
    payload = block_kit.view_payload(view)
    return FormSent(command, form, text(payload, "words"), filled, to, _thread(payload), elsewhere)


def _button(action: PanelAction, command: AnyCommand, at: ShownTo, number: int) -> Json:
    payload = _payload(at, action.words) | ({"form": action.form.name} if action.form else {})
    extras: dict[str, Json] = {"style": "danger"} if action.danger else {}
    if action.confirm:
        extras["confirm"] = block_kit.confirm_dialog(
            platforms_texts.ARE_YOU_SURE, action.confirm, action.label, platforms_texts.KEEP_BUTTON
        )
    return block_kit.button(f"{PRESS}:{command.name}:{number}", action.label, payload, **extras)


def _menu(select: PanelSelect, command: AnyCommand, at: ShownTo, number: int) -> list[Json]:
    fitting = [value for value in select.options if value.strip() and len(value) <= OPTION_CHARS]
    labels = {value: shortened(select.options[value], block_kit.LABEL_CHARS) for value in fitting[:OPTIONS]}
    options = {value: block_kit.option(label, value) for value, label in labels.items()}
    menu: dict[str, Json] = {
        "type": "static_select",
        "action_id": f"{PRESS}:{command.name}:{number}",
        "placeholder": block_kit.plain(select.placeholder),
        "options": [*options.values()],
    }
    if select.chosen in options:
        menu["initial_option"] = options[select.chosen]
    return [{"type": "actions", "block_id": json.dumps(_payload(at, select.words)), "elements": [menu]}]


def _box(command: AnyCommand, name: str, *, ticked: bool) -> Json:
    options: list[Json] = [
        block_kit.option(next(argument.summary for argument in command.arguments if argument.name == name), name)
    ]
    initial: dict[str, Json] = {"initial_options": options} if ticked else {}
    return {"type": "checkboxes", "action_id": f"{TICK}:{name}", "options": options, **initial}


def _payload(at: ShownTo, words: str) -> dict[str, Json]:
    payload: dict[str, Json] = {"user": at.user, "words": words, "channel": at.channel, "thread": [*sorted(at.thread)]}
    return {name: value for name, value in payload.items() if value}


def _ticked(body: JsonObject) -> Mapping[str, str]:
    """Return the boxes that are ticked in the message or the view of a click, each with "yes"."""
    blocks = [*fields(body, "state", "values").values(), *fields(body, "view", "state", "values").values()]
    boxes = [(name, box) for block in blocks if isinstance(block, dict) for name, box in block.items()]
    ticked = [name for name, box in boxes if name.startswith(TICK) and items(box, "selected_options")]
    return {name.removeprefix(f"{TICK}:"): "yes" for name in ticked}


def _thread(payload: Json) -> tuple[str, ...]:
    ids = payload.get("thread") if isinstance(payload, dict) else None
    return tuple(id_ for id_ in ids if isinstance(id_, str)) if isinstance(ids, list) else ()


def _field(form_field: FormField, before: str) -> Json:
    hint = "" if form_field.kind is FieldKind.BOX else form_field.hint
    return block_kit.field(
        form_field.name, form_field.label, _element(form_field, before), hint=hint, optional=form_field.optional
    )


def _element(form_field: FormField, before: str) -> dict[str, Json]:
    match form_field.kind:
        case FieldKind.LINE | FieldKind.LINES | FieldKind.SECRET:
            return block_kit.line(
                initial=before, multiline=form_field.kind is FieldKind.LINES, limit=form_field.max_chars
            )
        case FieldKind.CHOICE:
            options = [block_kit.option(label, value) for value, label in form_field.choices.items()]
            return {"type": "radio_buttons", "options": [*options], "initial_option": options[0]}
        case FieldKind.PICK | FieldKind.PICKS:
            return _picks(form_field, before.split())
        case FieldKind.BOX:
            return {"type": "checkboxes", "options": [block_kit.option(form_field.hint, form_field.name)]}
        case FieldKind.PERSON:
            return {"type": "users_select"}
        case FieldKind.CHANNEL:
            return {"type": "conversations_select", "filter": {"include": ["public", "private", "mpim"]}}
        case FieldKind.ELSEWHERE:
            return {"type": "conversations_select", "filter": {"include": ["private"]}}
        case _:
            assert_never(form_field.kind)


def _picks(form_field: FormField, before: Collection[str]) -> dict[str, Json]:
    options = {
        value: block_kit.option(shortened(label, block_kit.LABEL_CHARS), value)
        for value, label in form_field.choices.items()
    }
    initial: list[Json] = [option for value, option in options.items() if value in before]
    several = form_field.kind is FieldKind.PICKS
    menu: dict[str, Json] = {"type": "multi_static_select" if several else "static_select"}
    menu["options"] = [*options.values()]
    if initial and several:
        menu["initial_options"] = initial
    elif initial:
        menu["initial_option"] = initial[0]
    return menu


def _filled(view: JsonObject, form_field: FormField, me: SlackBot) -> str:
    match form_field.kind:
        case FieldKind.LINE | FieldKind.LINES | FieldKind.SECRET:
            return block_kit.text_input(view, form_field.name)
        case FieldKind.PERSON:
            user = block_kit.selected_option(view, form_field.name)
            return person_id(me, user) if user else ""
        case FieldKind.BOX:
            return "yes" if items(view, "state", "values", form_field.name, form_field.name, "selected_options") else ""
        case FieldKind.PICKS:
            chosen = items(view, "state", "values", form_field.name, form_field.name, "selected_options")
            return " ".join(text(option, "value") for option in chosen)
        case FieldKind.CHOICE | FieldKind.PICK | FieldKind.CHANNEL | FieldKind.ELSEWHERE:
            return block_kit.selected_option(view, form_field.name)
        case _:
            assert_never(form_field.kind)
