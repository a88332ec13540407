"""What the chat bot needs of features, which implement these ports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from agent.context import Persona
from agent.incoming import Incoming
from agent.messages import ModelCall
from agent.ports.tools import Asker
from agent.turn_events import EndDue, PauseDue
from bot.chat.askers import Requester
from bot.chat.panels import Panel


@dataclass(frozen=True, slots=True)
class ModelMenu:
    """The model that answers a person in a channel, why it was selected, and the names of the models they may choose.
    If `sentence` is not "", it is shown in place of the other fields.
    """

    current: str
    why: str
    allowed: tuple[str, ...] = ()
    sentence: str = ""


class ReadHistory(Protocol):
    async def __call__(self, since: datetime) -> bool:
        """Take in from a platform's history what was written since then and is not in the database. Return False if the
        platform is not connected.

        It may go on after this returns.
        """
        ...


class RunningTurns(Protocol):
    async def stop_conversation(self, conversation: str, *, alone: bool = False) -> bool:
        """Stop running and waiting answers there, and long work unless `alone`; return whether there were any."""
        ...


class ModelChoices(Protocol):
    async def menu(self, who: Requester) -> ModelMenu:
        """Return the model that answers this person there, and the choice."""
        ...

    async def choose(self, who: Requester, name: str) -> None:
        """Answer this person with that model from now on; "" restores the default. Raises SettingsError."""
        ...


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question that a person may want to ask next: the button's label, and the question that it sends."""

    title: str
    message: str


class Suggestions(Protocol):
    async def suggest(self, viewer: Asker, limit: int) -> Sequence[Suggestion]:
        """Return what this person may want to ask next, of what may be shown at their place; the likeliest first.

        Raises StoreError.
        """
        ...


class BudgetChecks(Protocol):
    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:
        """Return None while every budget that this message draws on has something left; else a sentence for its author.

        `calls`: calls of its turn that are not stored yet. Raises StoreError.
        """
        ...

    async def budget_refusal(self, incoming: Incoming) -> str | None:
        """Return why this message is not accepted: a budget is used up, and nobody can extend it now. None if it is
        accepted, and perhaps waits. Raises StoreError.
        """
        ...

    async def held(
        self, question: Incoming, turn: int, calls: Sequence[ModelCall], *, waits: bool
    ) -> PauseDue | EndDue | None:
        """Return how budgets hold the turn back before its next call of a model; None if it may continue.

        `calls`: all of the turn's, which are stored. `waits`: whether it can wait for a person. Raises StoreError.
        """
        ...

    async def ended(self, question: Incoming, turn: int, calls: Sequence[ModelCall]) -> None:
        """Notice what the turn has spent, once that is stored. `calls`: all of the turn's."""
        ...


class WaitingDecisions(Protocol):
    """What people decide about beside tool calls, with buttons below what they were written in direct messages."""

    async def answer(self, person: str, words: str) -> Panel | None:
        """Return the answer to a press with these words, or to the command without any; None if they are about
        something else. Raises StoreError.
        """
        ...


def usual_persona(persona: Persona) -> Persona:
    """Return who the bot is without a rule of the channel."""
    return persona


def unshaped(text: str) -> str:
    """Return an answer as it was written."""
    return text


@dataclass(frozen=True, slots=True)
class AnswerRules:
    """What a channel's rules change about the answer to one question. They are read once for it, so that its prompt and
    its shape follow from the same rules. Its functions are pure.
    """

    persona: Callable[[Persona], Persona] = usual_persona
    """Returns who the bot is. For the questions of one channel it is the same, for caches."""
    shape: Callable[[str], str] = unshaped
    """Shapes the answer, while it grows and once it is complete."""


class ChannelRules(Protocol):
    """What the managers of a channel have set for it. Its methods raise StoreError."""

    async def refusal(self, incoming: Incoming) -> str | None:
        """Return why this message is not answered there, a sentence for its author; None if it is."""
        ...

    async def answer(self, question: Incoming) -> AnswerRules:
        """Return how the question is answered, by the rules as they are now."""
        ...


class NoBudgets:
    async def budget_left(self, incoming: Incoming, calls: Sequence[ModelCall] = ()) -> str | None:  # noqa: ARG002 -- a port's
        return None

    async def budget_refusal(self, incoming: Incoming) -> str | None:  # noqa: ARG002 -- a port's
        return None

    async def held(
        self,
        question: Incoming,  # noqa: ARG002 -- a port's
        turn: int,  # noqa: ARG002 -- a port's
        calls: Sequence[ModelCall],  # noqa: ARG002 -- a port's
        *,
        waits: bool,  # noqa: ARG002 -- a port's
    ) -> PauseDue | EndDue | None:
        return None

    async def ended(self, question: Incoming, turn: int, calls: Sequence[ModelCall]) -> None: ...


NO_BUDGETS: Final = NoBudgets()


class NoChannelRules:
    async def refusal(self, incoming: Incoming) -> str | None:  # noqa: ARG002 -- a port's
        return None

    async def answer(self, question: Incoming) -> AnswerRules:  # noqa: ARG002 -- a port's
        return AnswerRules()


NO_CHANNEL_RULES: Final = NoChannelRules()
