"""The buttons under a reply: "Stop" while it grows, "Continue" where it was cut. Pure.

Above: `surface` shows them, `pressing` does what they say. Below: nothing.

The conversation stands in the button's own id, so that it works after a restart of the bot, with nothing remembered.
Whoever can read the reply may press: a thread belongs to all who are in it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Components = list[dict[str, Any]]

NONE: Components = []

_ACTION_ROW, _BUTTON, _SECONDARY = 1, 2, 2
"""Discord's numbers for a row, a button in it, and a grey one."""


class Button(StrEnum):
    STOP = "stop"
    CONTINUE = "continue"


_ID = re.compile(rf"({'|'.join(Button)}):(.{{1,80}})")


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button, and the conversation that its reply belongs to."""

    button: Button
    conversation: str

    @property
    def id(self) -> str:
        return f"{self.button}:{self.conversation}"


def pressed(button_id: str) -> Pressed | None:
    """The inverse of `Pressed.id`; None for a button that is not one of these."""
    found = _ID.fullmatch(button_id)
    return Pressed(Button(found[1]), found[2]) if found is not None else None


def row(button: Button, conversation: str) -> Components:
    """One button, as Discord's components."""
    shown = {
        "type": _BUTTON,
        "style": _SECONDARY,
        "label": button.title(),
        "custom_id": Pressed(button, conversation).id,
    }
    return [{"type": _ACTION_ROW, "components": [shown]}]
