"""What an answer presents, as Discord's components, and the buttons that ask its follow-up questions. Pure.

A message of components has no text beside them, so Discord's notifications name only its sender: the answer above it
is a message of its own. Pictures have descriptions for screen readers. A button's id names the turn and the number of
its question, so it works after a restart; its label is the question itself.
https://discord.com/developers/docs/components/reference
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from agent.presentations import (
    Presentation,
    PresentedPicture,
    PresentedSection,
    escaped,
    field_markdown,
    table_markdown,
)
from bot.chat.reply.tables import show_tables
from bot.platforms.discord.buttons import Components

MAX_CHARS: Final = 4_000  # Of all texts of a message together
MAX_COMPONENTS: Final = 40  # Of a message, nested ones included; what `agent.presentations` allows are fewer
_ROW, _BUTTON, _TEXT, _GALLERY, _SEPARATOR, _CONTAINER = 1, 2, 10, 12, 14, 17  # Discord's numbers of components
_SECONDARY: Final = 2
_ID: Final = re.compile(r"present:([1-9]\d{0,17}):(\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class QuestionPress:
    """A button below the answer of a turn that asks a follow-up question, by its number from 0."""

    turn: int
    number: int

    @property
    def id(self) -> str:
        return f"present:{self.turn}:{self.number}"


def question_press(button_id: str) -> QuestionPress | None:
    """The inverse of `QuestionPress.id`; None for any other button."""
    found = _ID.fullmatch(button_id)
    return None if found is None else QuestionPress(int(found[1]), int(found[2]))


def question_ids(presentation: Presentation, turn: int) -> frozenset[str]:
    return frozenset(QuestionPress(turn, number).id for number in range(len(presentation.questions)))


def presented_components(presentation: Presentation, turn: int, table_width: int) -> Components | None:
    """Return the message; None for one that Discord would refuse: it is empty or too long."""
    parts: Components = [_text(f"## {escaped(presentation.title)}")] if presentation.title else []
    for number, section in enumerate(presentation.sections):
        shown = _section(section, table_width)
        parts += [{"type": _SEPARATOR}, *shown] if number and shown else shown
    if not parts:
        return None
    message: Components = [{"type": _CONTAINER, "components": parts}]
    if presentation.questions:
        message.append({"type": _ROW, "components": _buttons(presentation, turn)})
    chars = sum(len(part["content"]) for part in parts if part["type"] == _TEXT)
    return message if chars <= MAX_CHARS else None


def _section(section: PresentedSection, table_width: int) -> Components:
    words = [
        f"### {escaped(section.heading)}" if section.heading else "",
        section.text,
        "\n".join(map(field_markdown, section.fields)),
        table_markdown(section.table) if section.table else "",
    ]
    text = show_tables("\n\n".join(filter(None, words)), table_width, complete=True)
    shown: Components = [_text(text)] if text else []
    return [*shown, _gallery(section.pictures)] if section.pictures else shown


def _text(content: str) -> dict[str, Any]:
    return {"type": _TEXT, "content": content}


def _gallery(pictures: "tuple[PresentedPicture, ...]") -> dict[str, Any]:
    items = [{"media": {"url": picture.address}, "description": picture.alt} for picture in pictures]
    return {"type": _GALLERY, "items": items}


def _buttons(presentation: Presentation, turn: int) -> Components:
    return [
        {"type": _BUTTON, "style": _SECONDARY, "label": question, "custom_id": QuestionPress(turn, number).id}
        for number, question in enumerate(presentation.questions)
    ]
