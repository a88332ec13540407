"""Notes: lines that features add to a reply. They are shown with it, and not stored as part of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from agent.incoming import Incoming
from agent.shown_replies import Answered
from agent.turn_kinds import TurnKind
from agent.turn_records import Closing
from bot.chat.reply.surface import ReplyAction

NO_ACTIONS: frozenset[ReplyAction] = frozenset()


@dataclass(frozen=True, slots=True)
class EndedTurn:
    """A turn whose reply is complete.

    `asked_model`: the name of the model that should have answered; `why_another`: why another one did, a sentence, ""
    if none did.
    """

    number: int
    question: Incoming
    closing: Closing
    asked_model: str = ""
    why_another: str = ""

    @property
    def kind(self) -> TurnKind:
        return self.question.kind


@dataclass(frozen=True, slots=True)
class NoteLine:
    """Markdown, "" for no line, and the buttons that belong to it."""

    text: str
    actions: frozenset[ReplyAction] = NO_ACTIONS


NO_LINE = NoteLine("")


class ReplyNote(Protocol):
    is_private: ClassVar[bool]
    """Its line is shown to the asker alone, once the turn has ended; else below the reply, for all its readers."""

    async def line(self, ended: EndedTurn) -> NoteLine:
        """Return the line about a turn that has a reply. Raises StoreError."""
        ...


class NotePress(Protocol):
    """Undoes what a note reports, when a button of the note is pressed. Only the asker can press it. (A button that
    leads to a command is declared with the command.)
    """

    async def __call__(self, reply: Answered, person: str) -> str:
        """Return a sentence that says what was undone. Raises StoreError."""
        ...


async def lines_below(notes: Iterable[ReplyNote], ended: EndedTurn) -> tuple[NoteLine, ...]:
    """Return the lines below the reply, those with buttons first: the buttons stand together at its end."""
    lines = [await note.line(ended) for note in notes if not note.is_private]
    return tuple(sorted((line for line in lines if line.text), key=lambda line: not line.actions))


async def private_lines(notes: Sequence[ReplyNote], ended: EndedTurn) -> list[str]:
    """Return the lines for the asker alone."""
    lines = [await note.line(ended) for note in notes if note.is_private]
    return [line.text for line in lines if line.text]
