"""The buttons under a reply: "Stop" while it grows, and what can be done about it at the end. Pure.

What a button is about stands in its own id, so that it works after a restart of the bot, with nothing remembered: the
conversation for what everybody there may do, and the turn for what concerns this one reply. It carries no right: who
may do what is asked of the host at the press.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from bot.reply_surface import SCHEDULING, ReplyAction
from bot.texts import command_texts, tool_texts

Components = list[dict[str, Any]]

NONE: Components = []

OFFERS: Final = frozenset(ReplyAction)
IN_A_ROW: Final = 5  # Discord's limit; what does not fit stands in a row below

_ACTION_ROW, _BUTTON, _SECONDARY = 1, 2, 2  # Discord's numbers for a row, a button in it, and a grey one

# What each shows, in their order.
_FACES: Final[dict[ReplyAction, dict[str, Any]]] = {
    ReplyAction.DECIDE: {"label": tool_texts.DECIDE_BUTTON},
    ReplyAction.ANSWER: {"label": command_texts.ANSWER_BUTTON},
    ReplyAction.STOP: {"label": "Stop"},
    ReplyAction.CONTINUE: {"label": "Continue"},
    ReplyAction.REGENERATE: {"label": "Regenerate"},
    ReplyAction.GOOD: {"emoji": {"id": None, "name": "👍"}},
    ReplyAction.BAD: {"emoji": {"id": None, "name": "👎"}},
    ReplyAction.DELETE: {"label": "Delete"},
    ReplyAction.UNDO: {"label": command_texts.UNDO_BUTTON},
    ReplyAction.CHANGE: {"label": command_texts.CHANGE_BUTTON},
    ReplyAction.CANCEL: {"label": command_texts.CANCEL_BUTTON},
}

_OF_CONVERSATION: Final = frozenset({ReplyAction.STOP, ReplyAction.CONTINUE})
_ID: Final = re.compile(
    rf"(?P<wide>{'|'.join(sorted(_OF_CONVERSATION))}):(?P<conversation>.{{1,80}})"
    rf"|(?P<own>{'|'.join(sorted(OFFERS - _OF_CONVERSATION))}):(?P<turn>[1-9]\d{{0,18}})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class ReplyPress:
    """A button, and the conversation or the turn that it is about; the other one is empty."""

    offer: ReplyAction
    conversation: str = ""
    turn: int = 0

    @property
    def id(self) -> str:
        return f"{self.offer}:{self.conversation or self.turn}"


def reply_press(button_id: str) -> ReplyPress | None:
    """The inverse of `Pressed.id`; None for a button that is not one of these."""
    found = _ID.fullmatch(button_id)
    if found is None:
        return None
    if found["wide"]:
        return ReplyPress(ReplyAction(found["wide"]), conversation=found["conversation"])
    return ReplyPress(ReplyAction(found["own"]), turn=int(found["turn"]))


def without_undo(components: Components) -> Components:
    """What stands below a reply, once nothing of what it remembered is left."""
    rows = [{**each, "components": [one for one in each["components"] if not _is_undo(one)]} for each in components]
    return [each for each in rows if each["components"]]


def _is_undo(component: Mapping[str, Any]) -> bool:
    made = reply_press(str(component.get("custom_id", "")))
    return made is not None and made.offer is ReplyAction.UNDO


def ids(offers: AbstractSet[ReplyAction], conversation: str, turn: int) -> frozenset[str]:
    """What the buttons for these are known by."""
    return frozenset(made.id for made in _made(offers, conversation, turn))


def _made(offers: AbstractSet[ReplyAction], conversation: str, turn: int) -> list[ReplyPress]:
    return [
        ReplyPress(offer, conversation) if offer in _OF_CONVERSATION else ReplyPress(offer, turn=turn)
        for offer in _FACES
        if offer in offers and (turn or offer in _OF_CONVERSATION)
    ]


def row(offers: AbstractSet[ReplyAction], conversation: str, turn: int) -> Components:
    """The buttons for these, as Discord's components; what is done at a time has a row of its own. Without a turn (0),
    those that are about one are left out.
    """
    rows = list[Components]()
    for some in (offers & SCHEDULING, offers - SCHEDULING):
        made = _made(some, conversation, turn)
        shown = [{"type": _BUTTON, "style": _SECONDARY, "custom_id": one.id, **_FACES[one.offer]} for one in made]
        rows += [shown[start : start + IN_A_ROW] for start in range(0, len(shown), IN_A_ROW)]
    return [{"type": _ACTION_ROW, "components": buttons} for buttons in rows] if rows else NONE
