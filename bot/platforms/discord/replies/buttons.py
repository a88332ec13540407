"""The buttons under a reply: "Stop" while it grows, and what can be done about it at the end. Pure.

Above: `surface` shows them, `pressing` does what they say. Below: `bot.surface`.

What a button is about stands in its own id, so that it works after a restart of the bot, with nothing remembered: the
conversation for what everybody there may do, and the turn for what concerns this one reply. It carries no right: who
may do what is asked of the host at the press.
"""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

from bot.surface import Offer

Components = list[dict[str, Any]]

NONE: Components = []

OFFERS: Final = frozenset(Offer)
IN_A_ROW: Final = 5
"""Discord's limit; what does not fit stands in a row below."""

_ACTION_ROW, _BUTTON, _SECONDARY = 1, 2, 2
"""Discord's numbers for a row, a button in it, and a grey one."""

_FACES: Final[dict[Offer, dict[str, Any]]] = {
    Offer.STOP: {"label": "Stop"},
    Offer.CONTINUE: {"label": "Continue"},
    Offer.REGENERATE: {"label": "Regenerate"},
    Offer.GOOD: {"emoji": {"id": None, "name": "👍"}},
    Offer.BAD: {"emoji": {"id": None, "name": "👎"}},
    Offer.DELETE: {"label": "Delete"},
    Offer.UNDO: {"label": "Undo “Remembered”"},
}
"""What each shows, in their order."""

_OF_CONVERSATION: Final = frozenset({Offer.STOP, Offer.CONTINUE})
_ID: Final = re.compile(
    rf"(?P<wide>{'|'.join(sorted(_OF_CONVERSATION))}):(?P<conversation>.{{1,80}})"
    rf"|(?P<own>{'|'.join(sorted(OFFERS - _OF_CONVERSATION))}):(?P<turn>[1-9]\d{{0,18}})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button, and the conversation or the turn that it is about; the other one is empty."""

    offer: Offer
    conversation: str = ""
    turn: int = 0

    @property
    def id(self) -> str:
        return f"{self.offer}:{self.conversation or self.turn}"


def pressed(button_id: str) -> Pressed | None:
    """The inverse of `Pressed.id`; None for a button that is not one of these."""
    found = _ID.fullmatch(button_id)
    if found is None:
        return None
    if found["wide"]:
        return Pressed(Offer(found["wide"]), conversation=found["conversation"])
    return Pressed(Offer(found["own"]), turn=int(found["turn"]))


def row(offers: AbstractSet[Offer], conversation: str, turn: int) -> Components:
    """The buttons for these, as Discord's components. Without a turn (0), those that are about one are left out."""
    made = [
        Pressed(offer, conversation) if offer in _OF_CONVERSATION else Pressed(offer, turn=turn)
        for offer in _FACES
        if offer in offers and (turn or offer in _OF_CONVERSATION)
    ]
    shown = [{"type": _BUTTON, "style": _SECONDARY, "custom_id": button.id, **_FACES[button.offer]} for button in made]
    rows = [shown[start : start + IN_A_ROW] for start in range(0, len(shown), IN_A_ROW)]
    return [{"type": _ACTION_ROW, "components": buttons} for buttons in rows] if rows else NONE
