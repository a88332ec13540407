"""The port of tools: what one offers, and on whose behalf it runs.

Above: `agent.loop`. Implemented by: `agent.tools`.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from agent.authority import Authority
from agent.memory.audience import Place
from agent.memory.facts import Scope
from agent.memory.marking import Superseded
from agent.messages import JsonObject
from agent.records import Person


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf, and for which readers, a tool runs. It comes from the platform's event, never from the model."""

    person: Person
    place: Place
    conversation: str
    message: int
    now: datetime
    readable_groups: frozenset[str] = frozenset()
    authority: Authority = Authority.EMPLOYEE
    superseded: tuple[Superseded, ...] = ()
    """What to mark in what is quoted: it holds no longer."""
    assumed: Scope = Scope.GLOBAL
    """HYPOTHETICAL or DRAFT while the question goes on with a game of thought: what it says holds only there."""
    own_words: tuple[str, ...] = ()
    """What the person wrote in this conversation, the question among it: nothing else is kept as theirs."""
    others_words: tuple[str, ...] = ()
    """What the model has read beside that: files, quotes, results of tools, what others and the bot itself wrote."""
    visible_from: int = 0
    """The id of the oldest message of this conversation that the model sees; 0: it sees all."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool says, and the ids of the stored messages that it quotes."""

    text: str
    sources: tuple[int, ...] = ()


class Tool(Protocol):
    """Something that the model can do. Stateless; everything that it needs is a constructor argument."""

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str:
        """One line, written for the model."""
        ...

    @property
    def schema(self) -> JsonObject:
        """JSON Schema of the arguments (type object)."""
        ...

    @property
    def read_only(self) -> bool:
        """True if running it twice does no harm: such a call may be repeated after a crash."""
        ...

    @property
    def timeout_s(self) -> float: ...

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        """Do it, with arguments that match the schema. Raises ToolError with a reason for the model."""
        ...
