"""Notes: lines that features add to a reply. They are shown with it, and not stored as part of it."""

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
        """Return the line about a turn that has a reply. Raises StoreError; what it raises leaves the line out."""
        ...


class NotePress(Protocol):
    """Undoes what a note reports, when a button of the note is pressed. Only the asker can press it. (A button that
    leads to a command is declared with the command.)
    """

    async def __call__(self, reply: Answered, person: str) -> str:
        """Return a sentence that says what was undone. Raises StoreError."""
        ...
