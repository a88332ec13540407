"""What turns ask of the rest of the bot, by ports of their own: `bot.memory` and `bot.models` are rooms above."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from agent.context import Persona
from agent.context_composer import ContextConfig
from agent.incoming import Incoming
from agent.memory.audience import Place
from agent.messages import Elicitation, Elicited
from agent.ports.model import Provider
from agent.ports.tool_audit import ToolAudit
from agent.ports.tools import Asker
from agent.progress import Progress
from agent.tool_policy import CallGate, TurnWords
from agent.toolbox.registry import Registry, Toolbox
from agent.turn import Turn, TurnLimits
from agent.turn_records import Claim
from bot.chat.attachments.reading import Attached
from bot.chat.feature import Feature
from bot.chat.ports import NO_BUDGETS, NO_CHANNEL_RULES, BudgetChecks, ChannelRules
from bot.chat.telemetry import SILENT, Telemetry
from bot.chat.turns.turn_events import HandleNotes


class GroupReaders(Protocol):
    async def groups_of(self, place: Place) -> frozenset[str]:
        """Return the group places whose content may be used in a place that only one person reads."""
        ...


class FileReader(Protocol):
    async def read(self, incoming: Incoming) -> Attached:
        """Read the files that came with a question."""
        ...


class TurnPolicy(Protocol):
    @property
    def rows(self) -> Sequence[object]:
        """The rows of the policy. Without any, only tools whose effects need consent ask for it."""
        ...

    async def turn(
        self,
        claim: Claim,
        asker: Asker,
        tools: Registry,
        limits: TurnLimits,
        progress: Progress,
        words: Callable[[], TurnWords],
    ) -> tuple[Turn, CallGate]:
        """Return the claimed turn, with the consents that its asker has decided meanwhile, and the gate of its calls.
        Raises StoreError.

        `words` returns whose words the turn's context holds, which is known before the first tool call.
        """
        ...


class ToolQuestions(Protocol):
    @property
    def waiting(self) -> Collection[int]:
        """The turns of this process of which a call waits for an answer. They take no slot."""
        ...

    async def ask(
        self, claim: Claim, call: str, question: Elicitation, shown: Callable[[], Awaitable[None]]
    ) -> Elicited:
        """Wait for the answer of the claim's asker to a question that a tool asks during a call, and return it.
        `shown` is called once they can answer. Raises StoreError.
        """
        ...


class LearningRules(Protocol):
    def due(self, now: datetime) -> datetime | None:
        """Return when to learn from a question that is answered now; None: not at all."""
        ...

    async def may_learn(self, incoming: Incoming) -> bool: ...


class Foreground(Protocol):
    def answering(self) -> AbstractContextManager[None]:
        """Return the context in which a model is asked: background work pauses meanwhile."""
        ...


# What stands for a part that is not there.


class NoGroups:
    async def groups_of(self, place: Place) -> frozenset[str]:  # noqa: ARG002 -- a port's
        return frozenset()


class NoFiles:
    async def read(self, incoming: Incoming) -> Attached:  # noqa: ARG002 -- a port's
        return Attached()


class NothingLearned:
    def due(self, now: datetime) -> datetime | None:  # noqa: ARG002 -- a port's
        return None

    async def may_learn(self, incoming: Incoming) -> bool:  # noqa: ARG002 -- a port's
        return True


class NothingBeside:
    """No background work pauses for an answer."""

    def answering(self) -> AbstractContextManager[None]:
        return nullcontext()


NO_GROUPS: Final = NoGroups()
NO_FILES: Final = NoFiles()
NOTHING_LEARNED: Final = NothingLearned()
NOTHING_BESIDE: Final = NothingBeside()


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """What turns need. A part that is None is switched off: no audit is written, no consent is asked for."""

    provider: Callable[[Incoming], Awaitable[Provider]]
    persona: Callable[[Incoming], Awaitable[Persona]]
    tools: Toolbox
    context: ContextConfig
    features: Sequence[Feature] = ()
    joins: bool = False
    """Whether a message that a person sends while their answer grows joins it; else it waits for its own answer."""
    summarises: bool = False
    """Whether messages that no longer fit into the history are summarised in the background."""
    telemetry: Telemetry = SILENT
    policy: TurnPolicy | None = None
    """Which calls run without confirmation; None: all that `tools` offers."""
    audit: ToolAudit | None = None
    questions: ToolQuestions | None = None
    """Where a tool asks the person something during a call."""
    budgets: BudgetChecks = NO_BUDGETS
    channel_rules: ChannelRules = NO_CHANNEL_RULES
    readers: GroupReaders = NO_GROUPS
    files: FileReader = NO_FILES
    learning: LearningRules = NOTHING_LEARNED
    handles: HandleNotes | None = None
    foreground: Foreground = NOTHING_BESIDE
