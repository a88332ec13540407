"""The buttons below a reply: "Stop" while it is written, and the actions afterwards. Pure.

A button's id contains what it refers to, so that it works after a restart without stored state: the conversation for
actions that everyone there may take, and the turn for actions on this one reply. It grants no right, since a
presser's own program may send any id: the message above the button decides, and the host checks.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from bot.chat.reply.surface import SCHEDULING, ReplyAction
from bot.chat.texts import replies as reply_texts
from bot.platforms import texts as platforms_texts

Components = list[dict[str, Any]]

NONE: Components = []

OFFERS: Final = frozenset(ReplyAction)
IN_A_ROW: Final = 5  # Discord's limit; further buttons go to the next row

_ACTION_ROW, _BUTTON, _SECONDARY = 1, 2, 2  # Discord's numbers of a row, a button, and the grey style

# The face of each button, in display order.
_FACES: Final[dict[ReplyAction, dict[str, Any]]] = {
    ReplyAction.DECIDE: {"label": platforms_texts.DECIDE_BUTTON},
    ReplyAction.ANSWER: {"label": reply_texts.ANSWER_BUTTON},
    ReplyAction.STOP: {"label": "Stop"},
    ReplyAction.CONTINUE: {"label": "Continue"},
    ReplyAction.REGENERATE: {"label": "Regenerate"},
    ReplyAction.GOOD: {"emoji": {"id": None, "name": "👍"}},
    ReplyAction.BAD: {"emoji": {"id": None, "name": "👎"}},
    ReplyAction.DELETE: {"label": "Delete"},
    ReplyAction.UNDO: {"label": platforms_texts.UNDO_BUTTON},
    ReplyAction.CHANGE: {"label": reply_texts.CHANGE_BUTTON},
    ReplyAction.CANCEL: {"label": reply_texts.CANCEL_BUTTON},
    ReplyAction.KEEP: {"label": reply_texts.KEEP_BUTTON},
    ReplyAction.END: {"label": reply_texts.END_BUTTON},
    ReplyAction.CODE: {"label": reply_texts.CODE_BUTTON},
    ReplyAction.NUMBERS: {"label": reply_texts.NUMBERS_BUTTON},
    ReplyAction.WHY: {"label": reply_texts.WHY_BUTTON},
    ReplyAction.SOLVED: {"label": reply_texts.SOLVED_BUTTON},
    ReplyAction.HUMAN: {"label": reply_texts.HUMAN_BUTTON},
    ReplyAction.HAND_BACK: {"label": reply_texts.HAND_BACK_BUTTON},
}

_OF_CONVERSATION: Final = frozenset({ReplyAction.STOP, ReplyAction.CONTINUE})
# Buttons outlive the process, so their id says all: a conversation where the button concerns all of it, else a turn.
# A turn has fewer digits than a number that no database takes.
_ID: Final = re.compile(
    rf"(?P<wide>{'|'.join(sorted(_OF_CONVERSATION))}):(?P<conversation>.{{1,80}})"
    rf"|(?P<own>{'|'.join(sorted(OFFERS - _OF_CONVERSATION))}):(?P<turn>[1-9]\d{{0,17}})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ReplyPress:
    """A button, and the conversation or the turn that it refers to; the other field is empty."""

    offer: ReplyAction
    conversation: str = ""
    turn: int = 0

    @property
    def id(self) -> str:
        return f"{self.offer}:{self.conversation or self.turn}"


def reply_press(button_id: str) -> ReplyPress | None:
    """The inverse of `ReplyPress.id`; None for any other button."""
    found = _ID.fullmatch(button_id)
    if found is None:
        return None
    if found["wide"]:
        return ReplyPress(ReplyAction(found["wide"]), conversation=found["conversation"])
    return ReplyPress(ReplyAction(found["own"]), turn=int(found["turn"]))


def without_undo(components: Components) -> Components:
    """Return a reply's components without "Undo", once everything it remembered is forgotten."""
    rows = [
        {**row, "components": [component for component in row["components"] if not _is_undo(component)]}
        for row in components
    ]
    return [row for row in rows if row["components"]]


def _is_undo(component: Mapping[str, Any]) -> bool:
    press = reply_press(str(component.get("custom_id", "")))
    return press is not None and press.offer is ReplyAction.UNDO


def ids(offers: AbstractSet[ReplyAction], conversation: str, turn: int) -> frozenset[str]:
    """Return the ids of the buttons for these actions."""
    return frozenset(press.id for press in _presses(offers, conversation, turn))


def _presses(offers: AbstractSet[ReplyAction], conversation: str, turn: int) -> list[ReplyPress]:
    return [
        ReplyPress(offer, conversation) if offer in _OF_CONVERSATION else ReplyPress(offer, turn=turn)
        for offer in _FACES
        if offer in offers and (turn or offer in _OF_CONVERSATION)
    ]


def row(offers: AbstractSet[ReplyAction], conversation: str, turn: int) -> Components:
    """Return the buttons for these actions, as Discord's components; those of schedules have a row of their own.

    Without a turn (0), buttons that refer to one are left out.
    """
    rows = list[Components]()
    for group in (offers & SCHEDULING, offers - SCHEDULING):
        presses = _presses(group, conversation, turn)
        components = [
            {"type": _BUTTON, "style": _SECONDARY, "custom_id": press.id, **_FACES[press.offer]} for press in presses
        ]
        rows += [components[start : start + IN_A_ROW] for start in range(0, len(components), IN_A_ROW)]
    return [{"type": _ACTION_ROW, "components": buttons} for buttons in rows] if rows else NONE
