"""The buttons below a reply, and the clicks on them. Pure.

Rule: a button carries the reply's turn and place, and no permission: at the click, the host is asked who may do it.
"""

import json
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Final

from agent.messages import Json, JsonObject
from bot.chat.reply.surface import ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts
from bot.platforms.slack.api import number, text
from bot.platforms.slack.block_kit import confirm_dialog, plain, row
from bot.platforms.slack.reply_to import ReplyTo, decode_reply_to

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
    ReplyAction.KEEP: reply_texts.KEEP_BUTTON,
    ReplyAction.END: reply_texts.END_BUTTON,
    ReplyAction.CODE: reply_texts.CODE_BUTTON,
    ReplyAction.NUMBERS: reply_texts.NUMBERS_BUTTON,
    ReplyAction.WHY: reply_texts.WHY_BUTTON,
    ReplyAction.SOLVED: reply_texts.SOLVED_BUTTON,
    ReplyAction.HUMAN: reply_texts.HUMAN_BUTTON,
    ReplyAction.HAND_BACK: reply_texts.HAND_BACK_BUTTON,
    ReplyAction.DECIDE: platforms_texts.DECIDE_BUTTON,
    ReplyAction.ANSWER: reply_texts.ANSWER_BUTTON,
}
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
    ReplyAction.KEEP,
    ReplyAction.END,
    ReplyAction.CODE,
    ReplyAction.NUMBERS,
    ReplyAction.WHY,
    ReplyAction.SOLVED,
    ReplyAction.HUMAN,
    ReplyAction.HAND_BACK,
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
    value = _Value(turn, conversation, replace(to, response_url="", scheduled="").encode(), to.user)
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
class _Value:
    """What all buttons below a reply send back. `to`: its place, encoded; `user`: whom it answers."""

    turn: int
    conversation: str
    to: str
    user: str

    def of(self, offer: ReplyAction) -> str:
        return json.dumps({"do": offer, "turn": self.turn, "in": self.conversation, "to": self.to})


def _button(offer: ReplyAction, value: _Value) -> Json:
    button: dict[str, Json] = {
        "type": "button",
        "action_id": f"{ACTION}:{offer}",
        "text": plain(_LABELS[offer]),
        "value": value.of(offer),
    }
    if offer in {ReplyAction.CANCEL, ReplyAction.END}:
        sure = confirm_dialog(platforms_texts.ARE_YOU_SURE, reply_texts.CANCEL_CONSEQUENCE, _LABELS[offer], "Keep")
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
        "visible_to_user_ids": [value.user],
        "confirm": _confirm(),
    }


def _confirm() -> Json:
    return {
        "title": plain(platforms_texts.DELETE_TITLE),
        "text": plain(platforms_texts.DELETE_TEXT),
        "confirm": plain("Delete"),
        "deny": plain(platforms_texts.KEEP_BUTTON),
    }
