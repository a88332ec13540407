"""What stands below a reply: what its readers may do about it, as blocks, and how their clicks are read. Pure.

Rules. A button carries the reply's turn and where it stands, so that it works after a restart and on every replica. It
carries no right: who may do what is asked of the host at the click.
"""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Json, JsonObject
from bot.platforms.slack.api import number, text
from bot.platforms.slack.block_kit import plain, row
from bot.platforms.slack.inbound import ReplyTo, decode_reply_to
from bot.reply_surface import ReplyAction
from bot.texts import command_texts, memory_texts, tool_texts

ACTION: Final = "cogency_reply"
"""What the action ids of these buttons begin with; behind it a colon, and what the button does."""

_LABELS: Final = {
    ReplyAction.STOP: "Stop",
    ReplyAction.CONTINUE: "Continue",
    ReplyAction.REGENERATE: "Regenerate",
    ReplyAction.GOOD: command_texts.GOOD_BUTTON,
    ReplyAction.BAD: command_texts.BAD_BUTTON,
    ReplyAction.DELETE: command_texts.DELETE_BUTTON,
    ReplyAction.UNDO: command_texts.UNDO_BUTTON,
    ReplyAction.DECIDE: tool_texts.DECIDE_BUTTON,
    ReplyAction.ANSWER: command_texts.ANSWER_BUTTON,
}
_WORDS: Final = frozenset({"markdown", "rich_text"})
"""Blocks of a reply's own words: as they were sent, and as Slack stores them."""
_JUDGING: Final = (ReplyAction.GOOD, ReplyAction.BAD)
_BUTTONS: Final = (
    ReplyAction.DECIDE,
    ReplyAction.ANSWER,
    ReplyAction.STOP,
    ReplyAction.CONTINUE,
    ReplyAction.REGENERATE,
    ReplyAction.UNDO,
)


@dataclass(frozen=True, slots=True)
class ReplyClick:
    """A button below the reply of `turn` was clicked; `to` is where the reply stands, and whom it answers."""

    offer: ReplyAction
    turn: int
    conversation: str
    to: ReplyTo


def button_rows(
    offers: AbstractSet[ReplyAction], turn: int, conversation: str, to: ReplyTo, *, plain: bool = False
) -> list[Json]:
    """The blocks below a reply; [] where nothing is offered. Two at most.

    `plain`: with ordinary buttons only, for a server that refuses `context_actions` (invalid_blocks).
    """
    value = _Value(turn, conversation, replace(to, response_url=""))  # its address is long, and good for half an hour
    if plain:
        return row([_button(offer, value) for offer in ReplyAction if offer in offers])
    judging: list[Json] = [_feedback(value)] if offers >= {*_JUDGING} else []
    deleting: list[Json] = [_trash(value)] if ReplyAction.DELETE in offers else []
    small: list[Json] = [*judging, *deleting]
    context: list[Json] = [{"type": "context_actions", "elements": small}] if small else []
    return context + row([_button(offer, value) for offer in _BUTTONS if offer in offers])


def reply_click(action: JsonObject) -> ReplyClick | None:
    """What a click asks for; None if it is not on one of these buttons."""
    try:
        value: Json = json.loads(text(action, "value"))
        made = ReplyClick(
            ReplyAction(text(value, "do")), number(value, "turn"), text(value, "in"), decode_reply_to(text(value, "to"))
        )
    except ValueError:
        return None
    return made if made.turn else None


def without_undo(blocks: Sequence[JsonObject]) -> list[Json]:
    """The blocks of a reply as Slack shows them, without the words that were remembered, and without the button; [] if
    its words are in none of them.
    """
    if not any(text(block, "type") in _WORDS for block in blocks):
        return []
    left: list[Json] = []
    for block in blocks:
        match block:
            case {"type": "actions", "elements": [*elements]}:
                others = [one for one in elements if not _is_undo(one)]
                left += [{**block, "elements": others}] if others else []
            case {"type": "markdown", "text": str(words)}:
                left.append({**block, "text": memory_texts.undone(words)})
            case {"type": "rich_text", "elements": [*parts]}:
                left.append({**block, "elements": [_without_kept(part) for part in parts]})
            case _:
                left.append({**block})
    return left


def _is_undo(element: Json) -> bool:
    return isinstance(element, dict) and element.get("action_id") == f"{ACTION}:{ReplyAction.UNDO}"


def _without_kept(part: Json) -> Json:
    """A part of rich text, into which Slack turns Markdown: the line is its last in italics, and may hold links."""
    match part:
        case {"type": "rich_text_section", "elements": [*elements]}:
            begins = [at for at, one in enumerate(elements) if _begins_kept(one)]
            if not begins:
                return part
            behind = [one for one in elements[begins[-1] :] if not _is_italic(one)]
            line: Json = {"type": "text", "text": memory_texts.UNDONE.strip("*"), "style": {"italic": True}}
            return {**part, "elements": [*elements[: begins[-1]], line, *behind]}
        case _:
            return part


def _begins_kept(element: Json) -> bool:
    begins = isinstance(element, dict) and str(element.get("text", "")).startswith(memory_texts.REMEMBERED.strip("*"))
    return begins and _is_italic(element)


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
        "title": plain(command_texts.DELETE_TITLE),
        "text": plain(command_texts.DELETE_TEXT),
        "confirm": plain("Delete"),
        "deny": plain("Keep"),
    }
