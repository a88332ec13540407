"""Slack's Block Kit: elements that are clicked or filled in, and the buttons below a reply. Pure.

Rules
  A button carries what it does and its user as JSON, so that it works after a restart, on every replica, and for that
  user only. A button below a reply carries the reply's turn and place, and no permission: at the click, the host is
  asked who may do it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Json, JsonObject
from bot.chat.reply.surface import SCHEDULING, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import number, text
from bot.platforms.slack.inbound import ReplyTo, decode_reply_to
from bot.schedules import texts as schedule_texts

ROW_ELEMENTS: Final = 25  # Slack's limit for a block of actions
LABEL_CHARS: Final = 75  # Of a button, and of an option in a menu


def plain(words: str) -> dict[str, Json]:
    return {"type": "plain_text", "text": words}


def button(action: str, label: str, payload: Mapping[str, Json], **more: Json) -> Json:
    """Return a button. `carried`: its payload, which a click brings back. `more`: its style and confirmation."""
    value = json.dumps(payload, ensure_ascii=False)
    return {"type": "button", "action_id": action, "text": plain(label), "value": value, **more}


def button_payload(action: JsonObject) -> Json:
    """Return the payload of the button that was clicked; None if it is no JSON."""
    return decode_payload(text(action, "value"))


def view_payload(view: JsonObject) -> Json:
    """Return the payload of a view; None if it is no JSON."""
    return decode_payload(text(view, "private_metadata"))


def row(elements: Sequence[Json]) -> list[Json]:
    """Return the elements side by side, in as many blocks as they need; [] for none."""
    blocks = range(0, len(elements), ROW_ELEMENTS)
    return [{"type": "actions", "elements": list(elements[first : first + ROW_ELEMENTS])} for first in blocks]


def confirm_dialog(title: str, explanation: str, yes: str, no: str) -> Json:
    """Return the confirmation of an action that cannot be undone."""
    return {
        "title": plain(title),
        "text": plain(explanation),
        "confirm": plain(yes),
        "deny": plain(no),
        "style": "danger",
    }


def window(callback: str, title: str, submit: str, payload: Mapping[str, Json], blocks: Sequence[Json]) -> JsonObject:
    """Return a window with fields. `title` and `submit` take 24 characters."""
    return {
        "type": "modal",
        "callback_id": callback,
        "title": plain(title),
        "submit": plain(submit),
        "close": plain("Cancel"),
        "private_metadata": json.dumps(payload, ensure_ascii=False),
        "blocks": list(blocks),
    }


def field(name: str, label: str, element: dict[str, Json], *, hint: str = "", optional: bool = False) -> Json:
    """Return an input field. `name` finds its value afterwards (see `text_input`, `selected_option`)."""
    block: dict[str, Json] = {
        "type": "input",
        "block_id": name,
        "label": plain(label),
        "element": {**element, "action_id": name},
    }
    if hint:
        block["hint"] = plain(hint)
    if optional:
        block["optional"] = True
    return block


def line(*, initial: str = "", multiline: bool = False, limit: int | None = None) -> dict[str, Json]:
    """Return the element for text, of up to `limit` characters."""
    element: dict[str, Json] = {"type": "plain_text_input"}
    if multiline:
        element["multiline"] = True
    if initial:
        element["initial_value"] = initial
    if limit is not None:
        element["max_length"] = limit
    return element


def option(label: str, value: str) -> dict[str, Json]:
    return {"text": plain(label), "value": value}


def text_input(view: JsonObject, name: str) -> str:
    """Return the text in the field with this name; "" for none."""
    return text(view, "state", "values", name, name, "value").strip()


def selected_option(view: JsonObject, name: str) -> str:
    """Return what was selected in the field with this name: an option's value, or Slack's id; "" for none."""
    values = ("state", "values", name, name)
    return (
        text(view, *values, "selected_option", "value")
        or text(view, *values, "selected_user")
        or text(view, *values, "selected_conversation")
    )


def decode_payload(payload: str) -> Json:
    try:
        return json.loads(payload)
    except ValueError:
        return None


# The action ids of a reply's buttons begin with it; a colon and the action follow.
ACTION: Final = "cogency_reply"

_LABELS: Final = {
    ReplyAction.STOP: "Stop",
    ReplyAction.CONTINUE: "Continue",
    ReplyAction.REGENERATE: "Regenerate",
    ReplyAction.GOOD: platforms_texts.GOOD_BUTTON,
    ReplyAction.BAD: platforms_texts.BAD_BUTTON,
    ReplyAction.DELETE: platforms_texts.DELETE_BUTTON,
    ReplyAction.UNDO: platforms_texts.UNDO_BUTTON,
    ReplyAction.CHANGE: reply_texts.CHANGE_BUTTON,
    ReplyAction.CANCEL: reply_texts.CANCEL_BUTTON,
    ReplyAction.DECIDE: platforms_texts.DECIDE_BUTTON,
    ReplyAction.ANSWER: reply_texts.ANSWER_BUTTON,
}
# The types of a reply's text blocks: as they were sent, and as Slack stores them.
_WORDS: Final = frozenset({"markdown", "rich_text"})
_JUDGING: Final = (ReplyAction.GOOD, ReplyAction.BAD)
_BUTTONS: Final = (
    ReplyAction.DECIDE,
    ReplyAction.ANSWER,
    ReplyAction.STOP,
    ReplyAction.CONTINUE,
    ReplyAction.REGENERATE,
    ReplyAction.UNDO,
    ReplyAction.CHANGE,
    ReplyAction.CANCEL,
)


@dataclass(frozen=True, slots=True)
class ReplyClick:
    """A button below the reply of `turn` was clicked. `to`: the reply's place, and the user whom it answers."""

    offer: ReplyAction
    turn: int
    conversation: str
    to: ReplyTo


def button_rows(
    offers: AbstractSet[ReplyAction], turn: int, conversation: str, to: ReplyTo, *, plain: bool = False
) -> list[Json]:
    """Return the blocks below a reply, up to two; [] if nothing is offered.

    `plain`: with ordinary buttons only, for a server that refuses `context_actions` (invalid_blocks).
    """
    # A `response_url` is long, and valid for half an hour. A click is not the schedule's.
    value = _Value(turn, conversation, replace(to, response_url="", scheduled=""))
    if plain:
        return row([_button(offer, value) for offer in ReplyAction if offer in offers])
    judging: list[Json] = [_feedback(value)] if offers >= {*_JUDGING} else []
    deleting: list[Json] = [_trash(value)] if ReplyAction.DELETE in offers else []
    small: list[Json] = [*judging, *deleting]
    context: list[Json] = [{"type": "context_actions", "elements": small}] if small else []
    return context + row([_button(offer, value) for offer in _BUTTONS if offer in offers])


def reply_click(action: JsonObject) -> ReplyClick | None:
    """Return what a click asks for; None if it is not on a reply's button."""
    try:
        value: Json = json.loads(text(action, "value"))
        click = ReplyClick(
            ReplyAction(text(value, "do")), number(value, "turn"), text(value, "in"), decode_reply_to(text(value, "to"))
        )
    except ValueError:
        return None
    return click if click.turn else None


@dataclass(frozen=True, slots=True)
class Retraction:
    """How a part of a reply is retracted: the line with this prefix is replaced, and the buttons `offers` removed.

    `rewrite` does so in Markdown.
    """

    prefix: str
    replacement: str
    rewrite: Callable[[str], str]
    offers: frozenset[ReplyAction]


FACTS: Final = Retraction(
    reply_texts.REMEMBERED, platforms_texts.UNDONE, platforms_texts.undone, frozenset({ReplyAction.UNDO})
)
SCHEDULES: Final = Retraction(
    reply_texts.SCHEDULED, platforms_texts.UNSCHEDULED, platforms_texts.unscheduled, SCHEDULING
)


def without(retraction: Retraction, blocks: Sequence[JsonObject]) -> list[Json]:
    """Return the blocks of a reply, as Slack stores them, with a part retracted; [] if none of them has its text."""
    if not any(text(block, "type") in _WORDS for block in blocks):
        return []
    kept_blocks: list[Json] = []
    for block in blocks:
        match block:
            case {"type": "actions", "elements": [*elements]}:
                others = [element for element in elements if not _offers(element, retraction.offers)]
                kept_blocks += [{**block, "elements": others}] if others else []
            case {"type": "markdown", "text": str(words)}:
                kept_blocks.append({**block, "text": retraction.rewrite(words)})
            case {"type": "rich_text", "elements": [*parts]}:
                kept_blocks.append({**block, "elements": [_without_line(retraction, part) for part in parts]})
            case _:
                kept_blocks.append({**block})
    return kept_blocks


def _offers(element: Json, offers: AbstractSet[ReplyAction]) -> bool:
    return isinstance(element, dict) and element.get("action_id") in {f"{ACTION}:{offer}" for offer in offers}


def _without_line(retraction: Retraction, part: Json) -> Json:
    """Retract the line in a part of rich text, into which Slack turns Markdown. It is the last such line in italics,
    and may hold links.
    """
    match part:
        case {"type": "rich_text_section", "elements": [*elements]}:
            starts = [at for at, element in enumerate(elements) if _begins(element, retraction.prefix)]
            if not starts:
                return part
            next_lines = [at for at, element in enumerate(elements) if at > starts[-1] and _begins(element, *_LINES)]
            end = min(next_lines, default=len(elements))
            behind = [element for element in elements[starts[-1] : end] if not _is_italic(element)]
            line: Json = {"type": "text", "text": retraction.replacement.strip("*"), "style": {"italic": True}}
            return {**part, "elements": [*elements[: starts[-1]], line, *behind, *elements[end:]]}
        case _:
            return part


_LINES: Final = (reply_texts.REMEMBERED, reply_texts.SCHEDULED)


def _begins(element: Json, *lines: str) -> bool:
    prefixes = tuple(line.strip("*") for line in lines)
    return isinstance(element, dict) and str(element.get("text", "")).startswith(prefixes) and _is_italic(element)


def _is_italic(element: Json) -> bool:
    match element:
        case {"style": {"italic": True}}:
            return True
        case _:
            return False


@dataclass(frozen=True, slots=True)
class _Value:
    turn: int
    conversation: str
    to: ReplyTo

    def of(self, offer: ReplyAction) -> str:
        return json.dumps({"do": offer, "turn": self.turn, "in": self.conversation, "to": self.to.encode()})


def _button(offer: ReplyAction, value: _Value) -> Json:
    button: dict[str, Json] = {
        "type": "button",
        "action_id": f"{ACTION}:{offer}",
        "text": plain(_LABELS[offer]),
        "value": value.of(offer),
    }
    if offer is ReplyAction.CANCEL:
        sure = confirm_dialog(platforms_texts.ARE_YOU_SURE, schedule_texts.SURE, reply_texts.CANCEL_BUTTON, "Keep")
        return button | {"confirm": sure}
    return button | ({"style": "danger", "confirm": _confirm()} if offer is ReplyAction.DELETE else {})


def _feedback(value: _Value) -> Json:
    def judging(offer: ReplyAction) -> Json:
        label = _LABELS[offer]
        return {"text": plain(label), "accessibility_label": label, "value": value.of(offer)}

    return {
        "type": "feedback_buttons",
        "action_id": f"{ACTION}:judge",
        "positive_button": judging(ReplyAction.GOOD),
        "negative_button": judging(ReplyAction.BAD),
    }


def _trash(value: _Value) -> Json:
    return {
        "type": "icon_button",
        "action_id": f"{ACTION}:{ReplyAction.DELETE}",
        "icon": "trash",
        "text": plain(_LABELS[ReplyAction.DELETE]),
        "value": value.of(ReplyAction.DELETE),
        "visible_to_user_ids": [value.to.user],
        "confirm": _confirm(),
    }


def _confirm() -> Json:
    return {
        "title": plain(platforms_texts.DELETE_TITLE),
        "text": plain(platforms_texts.DELETE_TEXT),
        "confirm": plain("Delete"),
        "deny": plain("Keep"),
    }
