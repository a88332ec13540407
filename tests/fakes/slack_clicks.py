"""The clickable elements below a message of Slack, and the payloads that a click sends to the bot."""

from collections.abc import Iterator
from typing import Any

from tests.fakes.slack_things import Object


def labels(blocks: list[Object], user: str) -> list[str]:
    """Return the labels of the elements that this person can click."""
    return [label for label, _ in _clickable(blocks, user)]


def action_of(blocks: list[Object], user: str, label: str, number: int, *, sure: bool) -> Object | None:
    """Return the click on the element with this label, of several the one with that number; None if the person declines
    its confirmation.
    """
    element = [element for words, element in _clickable(blocks, user) if words == label][number]
    if "confirm" in element and not sure:
        return None
    return {"type": element["type"], "action_id": element["action_id"], "value": element.get("value", "")}


def state_of(blocks: list[Object], *, ticked: bool) -> Object:
    """Return the state of the inputs: every box ticked, or none."""
    boxes = [
        b for block in blocks if block["type"] == "actions" for b in block["elements"] if b["type"] == "checkboxes"
    ]
    filled: dict[str, Any] = {b["action_id"]: {"selected_options": b["options"] if ticked else []} for b in boxes}
    return {"values": {"block": filled}}


def _clickable(blocks: list[Object], user: str) -> Iterator[tuple[str, Object]]:
    for block in blocks:
        for element in block["elements"] if block["type"] in ("actions", "context_actions") else ():
            if element["type"] == "feedback_buttons":
                for side in ("positive_button", "negative_button"):
                    judging = element[side]
                    yield judging["text"]["text"], {**element, "value": judging["value"]}
            elif "text" in element and user in element.get("visible_to_user_ids", [user]):
                yield element["text"]["text"], element
