"""Slack's Block Kit: elements that are clicked or filled in. Pure.

Rule: a button carries what it does and its user as JSON, so that it works after a restart, on every replica, and for
that user only.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from agent.messages import Json, JsonObject
from bot.platforms.slack.api import text

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
