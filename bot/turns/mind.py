"""What answers: the model, the persona, the tools and the limits of turns, and what they ask the rest of the bot.

Above: `bot.app` makes it, `bot.turns.thinking` and `bot.turns.known` use it. Below: the values of `agent`.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime

from agent.context import ContextBudget, Persona
from agent.events import AgentEvent
from agent.memory.audience import Place
from agent.memory.earlier import Said
from agent.ports import Provider
from agent.records import Incoming, RecallQuery
from agent.state import ActionRecord
from agent.tools.registry import Registry
from agent.turn import TurnLimits
from bot.attachments.reading import Attached
from bot.casts import FooterStyle


async def no_groups(place: Place) -> frozenset[str]:  # noqa: ARG001 -- nobody to ask
    return frozenset()


@dataclass(frozen=True, slots=True)
class Mind:
    """What answers: chosen anew for each turn, so that a person's choice of model counts from the next question."""

    provider: Callable[[Incoming], Awaitable[Provider]]
    persona: Callable[[Incoming], Persona]
    tools: Registry
    turn_limits: TurnLimits
    budget: ContextBudget
    fresh_word: Callable[[], str]
    """Random: marks what the system says in one turn, so that nobody who writes can say it in its place."""
    footer: FooterStyle = FooterStyle.OFF
    joins: bool = False
    """Whether what a person writes while their answer grows joins it; else it waits for its own."""
    budget_left: Callable[[Incoming], Awaitable[str | None]] | None = None
    """Why a question that has waited may no longer be answered: what others spent meanwhile; None if it may."""
    notice: Callable[[AgentEvent], Awaitable[None]] | None = None
    """Told of everything that happens, before it is shown."""
    learn_at: Callable[[datetime], datetime | None] | None = None
    """When to learn from a question that is answered now; None: nothing is learned."""
    may_learn: Callable[[Incoming], Awaitable[bool]] | None = None
    """Whether this question may be learned from; None: all may."""
    first_notice: Callable[[str, int], Awaitable[str]] | None = None
    """What this turn says to this person below its answer because it is the first; "" if it is not."""
    kept: Callable[[int], Awaitable[str]] | None = None
    """What this turn has kept of its asker as facts, said below its answer; "" for nothing (`bot.memory.kept`)."""
    answering: Callable[[], AbstractContextManager[None]] = nullcontext
    """Entered while a model is asked: what works in the background gives way."""
    aside: Callable[[Incoming, Sequence[ActionRecord]], Awaitable[str]] | None = None
    """What the person alone is told of what was done for them, "" for nothing (`bot.memory.withheld`)."""
    groups_of: Callable[[Place], Awaitable[frozenset[str]]] = no_groups
    """The group places that may be drawn from where only one person reads (`bot.access.readers`)."""
    recollect: Callable[[RecallQuery], Awaitable[Sequence[Said]]] | None = None
    """Finds the past threads that a question is about; None: they are left to the recall tool."""
    summarises: bool = False
    """Whether what leaves the history is summarised in the background."""
    attached: Callable[[Incoming], Awaitable[Attached]] | None = None
    """Reads the files that came with a question; None: they are not read."""
    history_messages: int = 200
    """Messages read from the store for one turn; the budget's tokens cut further."""
