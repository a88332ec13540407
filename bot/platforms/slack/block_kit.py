"""The pieces of Slack's Block Kit that are clicked or filled in, each built in one way. Pure.

Rule: a button carries what it does and for whom, as JSON, so that it works after a restart, and for nobody else.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from agent.messages import Json, JsonObject
from bot.platforms.slack.api import text

LABEL_CHARS: Final = 75
"""Of a button, and of an option in a menu."""


def plain(words: str) -> dict[str, Json]:
    return {"type": "plain_text", "text": words}


def button(action: str, label: str, carried: Mapping[str, Json], **more: Json) -> Json:
    """`carried` is what a click brings back. `more`: its style and confirmation."""
    value = json.dumps(carried, ensure_ascii=False)
    return {"type": "button", "action_id": action, "text": plain(label), "value": value, **more}


def carried_by(action: JsonObject) -> Json:
    """What the button that was clicked carries; None if it is not one of ours."""
    return _decoded(text(action, "value"))


def carried_by_view(view: JsonObject) -> Json:
    """What a view carries; None if it is not one of ours."""
    return _decoded(text(view, "private_metadata"))


def row(elements: Sequence[Json]) -> list[Json]:
    """These side by side, 25 at most; no block at all for none."""
    return [{"type": "actions", "elements": list(elements)}] if elements else []


def confirm_dialog(title: str, explanation: str, yes: str, no: str) -> Json:
    """The question before something that cannot be undone."""
    return {
        "title": plain(title),
        "text": plain(explanation),
        "confirm": plain(yes),
        "deny": plain(no),
        "style": "danger",
    }


def window(callback: str, title: str, submit: str, carried: Mapping[str, Json], blocks: Sequence[Json]) -> JsonObject:
    """A window with fields. `title` and `submit` take 24 characters."""
    return {
        "type": "modal",
        "callback_id": callback,
        "title": plain(title),
        "submit": plain(submit),
        "close": plain("Cancel"),
        "private_metadata": json.dumps(carried, ensure_ascii=False),
        "blocks": list(blocks),
    }


def field(name: str, label: str, element: dict[str, Json], *, hint: str = "", optional: bool = False) -> Json:
    """Something to fill in; `name` finds what was filled in (see `typed`)."""
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
    """A field for text, of at most so many characters."""
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
    """What was typed into the field with this name; "" for nothing."""
    return text(view, "state", "values", name, name, "value").strip()


def selected_option(view: JsonObject, name: str) -> str:
    """What was picked in the field with this name: an option's value, or an id; "" for nothing."""
    values = ("state", "values", name, name)
    return (
        text(view, *values, "selected_option", "value")
        or text(view, *values, "selected_user")
        or text(view, *values, "selected_conversation")
    )


def _decoded(carried: str) -> Json:
    try:
        return json.loads(carried)
    except ValueError:
        return None
