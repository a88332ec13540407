"""What the terminal needs of the bot, as a Protocol: one person, many conversations.

Rule: a method may raise `CogencyError`, whose one sentence the terminal shows before it goes on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent.events import Outcome
from agent.messages import Depth
from agent.records import StoredMessage, Thread
from agent.spending import Account
from bot.host import ForgetAnswer, MemoryAnswer
from bot.surface import Surface


@dataclass(frozen=True, slots=True)
class Left:
    """A question that an earlier process left unanswered, and its conversation.

    `threads`: the person's, the latest first.
    """

    question: str
    conversation: str
    threads: Sequence[Thread]


class ChatBot(Protocol):
    def greeting(self) -> str:
        """The start-up lines, as Markdown: which model and why, and where the memory lives."""
        ...

    def new_conversation(self) -> str:
        """The id of a conversation that does not exist yet; nothing is stored before its first question."""
        ...

    async def unfinished(self, surface_for: Callable[[Left], Surface]) -> None:
        """Finish what the person asked at terminals that are gone; `surface_for` opens the place for one reply.

        At once, if there is nothing. The first call is the beginning of all answering.
        """
        ...

    async def past_questions(self) -> list[str]:
        """What the person asked earlier, oldest first: for the arrow keys. Nothing that was forgotten."""
        ...

    async def ask(self, text: str, conversation: str, surface: Surface, depth: Depth = Depth.ADAPT) -> Outcome | None:
        """Take the question in, answer it and show the reply on `surface`. How it ended; None if another terminal goes
        on with it.

        When the task is cancelled, the turn ends as stopped, the reply says so, and CancelledError goes on to the
        caller.
        """
        ...

    async def exchanges(self, conversation: str, limit: int) -> list[StoredMessage]:
        """The last messages of a conversation, oldest first."""
        ...

    async def threads(self) -> list[Thread]:
        """The person's conversations, the latest first."""
        ...

    async def memory(self, words: str = "") -> MemoryAnswer:
        """What `/memory` with these words (see `bot.memory.words`) says."""
        ...

    async def ask_to_forget(self, words: str, conversation: str) -> ForgetAnswer:
        """What `/forget` with these words would erase, written in this conversation; nothing is erased yet."""
        ...

    async def forget(self, token: str, conversation: str) -> ForgetAnswer:
        """They agree to what such an answer said: the receipt; or another question, if that has changed."""
        ...

    async def usage(self) -> Account:
        """What the person's questions took, today and this month."""
        ...

    async def policy(self, words: str) -> str:
        """See or set what holds for everybody here, as `bot.memory.policy_words` reads the words."""
        ...

    async def budget(self, words: str) -> str:
        """See or change a budget, as `bot.access.budget_words` reads the words."""
        ...

    @property
    def model_name(self) -> str:
        """The usual model, as `COGENCY_MODEL` would say it."""
        ...

    async def model(self, name: str | None) -> str:
        """A sentence that says which model answers; with a name, change to it first."""
        ...
