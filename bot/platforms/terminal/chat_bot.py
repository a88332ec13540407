"""What the terminal needs of the bot, as a Protocol: one user, many conversations.

Rule: a method may raise `CogencyError`, whose one sentence the terminal shows before it continues.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from agent.events import Outcome
from agent.incoming import Attachment, Person
from agent.memory.audience import Place
from agent.messages import Depth
from agent.stored_messages import StoredMessage, Thread
from bot.chat.commands.declaration import BoundCommands
from bot.chat.reply.surface import Surface


@dataclass(frozen=True, slots=True)
class UnfinishedTurn:
    """A turn that an earlier process left unfinished, or that is due, and its conversation.

    `threads`: the user's threads, latest first.
    """

    question: str
    conversation: str
    threads: Sequence[Thread]
    scheduled: bool = False
    """It is a due schedule, not an unfinished turn."""
    works: bool = False
    """It is long work, which starts or continues now."""


class ChatBot(Protocol):
    @property
    def commands(self) -> BoundCommands: ...

    @property
    def person(self) -> Person: ...

    @property
    def place(self) -> Place: ...

    def greeting(self) -> str:
        """Return the start-up lines, as Markdown: the model and why it was chosen, and where memory is stored."""
        ...

    def new_conversation(self) -> str:
        """Return the id of a new conversation; nothing is stored before its first question."""
        ...

    def watching(self, surface_for: Callable[[UnfinishedTurn], Surface]) -> AbstractAsyncContextManager[None]:
        """While the user writes, start what becomes due, and show it on the surface that `surface_for` returns."""
        ...

    async def finish_pending(self, surface_for: Callable[[UnfinishedTurn], Surface], *, due: bool = False) -> None:
        """Finish the user's turns at terminals that are gone; `surface_for` returns the surface of one reply.

        With `due`, also start what is due, as a user reads it. Returns at once if there is nothing. The first call
        starts answering.
        """
        ...

    async def has_pending(self) -> bool:
        """Return whether `finish_pending` would show a reply now, including due ones; starts none."""
        ...

    async def past_questions(self) -> list[str]:
        """Return the user's earlier questions, oldest first, without forgotten ones: for the arrow keys."""
        ...

    async def ask(
        self,
        text: str,
        conversation: str,
        surface: Surface,
        depth: Depth = Depth.ADAPT,
        files: tuple[Attachment, ...] = (),
    ) -> Outcome | None:
        """Take the question in, answer it and show the reply on `surface`.

        Returns the outcome; None if another terminal continues the turn, or if it waits for the user's decision
        (`/tools`). If the task is cancelled, the turn ends as stopped, the reply says so, and CancelledError is raised.
        """
        ...

    async def exchanges(self, conversation: str, limit: int) -> list[StoredMessage]:
        """Return the last messages of a conversation, oldest first."""
        ...

    async def threads(self) -> list[Thread]:
        """Return the user's conversations, latest first."""
        ...

    @property
    def model_name(self) -> str:
        """The default model, in the form of `COGENCY_MODEL`."""
        ...
