"""Tools: what a call is given and returns, and the sources and servers of tools."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol, TypeAlias, runtime_checkable

from agent.admission_terms import Authority
from agent.citations import ReferenceNumbers
from agent.errors import ToolError
from agent.incoming import Person
from agent.memory.attribution import TextsRead
from agent.memory.audience import WIDE, Audience, Place
from agent.memory.facts import Scope
from agent.memory.marking import Superseded
from agent.messages import (
    ElicitAction,
    Elicitation,
    Elicited,
    JsonObject,
    Keep,
    Message,
    Provenance,
    Reference,
    ResultPart,
    ToolCall,
    ToolResult,
)
from agent.turn_kinds import TurnKind

# Reports the progress of a call: done, total and the unit, as in `agent.events.CallProgressed`.
Report: TypeAlias = Callable[[float, float, str], Awaitable[None]]


async def _report_nothing(done: float, total: float, unit: str) -> None:
    pass


# Asks only the asker and waits for the answer; the tool's timeout pauses meanwhile.
Ask: TypeAlias = Callable[[Elicitation], Awaitable[Elicited]]


async def decline_question(_: Elicitation) -> Elicited:
    """Decline; for calls for which no person waits."""
    return Elicited(ElicitAction.DECLINE)


# Asks the turn's model a separate question. Returns its whole answer. Raises ProviderError; ToolError beyond a budget.
Consult: TypeAlias = Callable[[Sequence[Message]], Awaitable[str]]


async def _consult_nothing(messages: Sequence[Message]) -> str:  # noqa: ARG001 -- there is no model
    return ""


class InnerCalls(Protocol):
    """The tools that a running call can use itself, for code that it runs. Each call passes the policy, the audit and
    the limits like one of the model; what nobody has allowed yet is refused, as nobody is asked.
    """

    @property
    def tools(self) -> "Sequence[Tool]":
        """The tools of the turn, but for those that run code. Only those that read can be called."""
        ...

    async def run(self, call: ToolCall) -> ToolResult:
        """Run a call; it always has a result, for code without pictures and files. Once too many were made, it raises
        ToolError.
        """
        ...


class _NoInnerCalls:
    @property
    def tools(self) -> "Sequence[Tool]":
        return ()

    async def run(self, call: ToolCall) -> ToolResult:
        raise ToolError(f"there is no tool {call.name}", ours=True)


NO_INNER_CALLS: Final[InnerCalls] = _NoInnerCalls()


@dataclass(frozen=True, slots=True)
class ToolContext:
    """On whose behalf and for which readers a tool runs. It comes from the platform's event, never from the model."""

    person: Person
    place: Place
    conversation: str
    message: int
    now: datetime
    readable: frozenset[str] = frozenset()
    """The labels of what else the only reader of the place can read now."""
    authority: Authority = Authority.EMPLOYEE
    superseded: tuple[Superseded, ...] = ()
    """What to mark in quoted text because it no longer holds."""
    assumed: Scope = Scope.GLOBAL
    """HYPOTHETICAL or DRAFT while the question continues a hypothetical or a draft: its statements hold only there."""
    asker_texts: tuple[str, ...] = ()
    """What the person wrote in this conversation, with the question: only this may be stored as their statement."""
    other_texts: tuple[str, ...] = ()
    """The other text that the model has read: files, quotes, results of tools, messages of others and of the bot."""
    visible_from: int = 0
    """The id of the oldest message of this conversation that the model sees; 0: it sees all."""
    report: Report = field(default=_report_nothing, compare=False)
    """For a slow call. It must not reveal what the call is about: others may read the reply."""
    ask: Ask = field(default=decline_question, compare=False)
    channel: str = ""
    message_id: str = ""  # the question's, on its platform
    reply_to: str = field(default="", repr=False, compare=False)  # it may hold a token to act for the asker
    consult: Consult = field(default=_consult_nothing, compare=False)
    read: TextsRead = field(default_factory=TextsRead, compare=False)
    """What tools have read of these texts in this turn."""
    kind: TurnKind = TurnKind.QUESTION
    words: Provenance = Provenance.OWN
    """Whose text the model has read."""
    sources: tuple[int, ...] = ()
    """The ids of the stored messages that this turn's tools have brought into it, or that joined it."""
    documents: tuple[int, ...] = ()
    """The ids of the stored documents that they have quoted."""
    drawn_from: str = WIDE
    """The narrowest source of their results (`agent.memory.audience`)."""
    calls_before: int = 0
    """The calls of the same tool before this one in the turn."""
    numbers: ReferenceNumbers = field(default_factory=ReferenceNumbers, compare=False)
    """The numbers of the sources that an answer may cite."""
    inner: InnerCalls = field(default=NO_INNER_CALLS, compare=False)
    turn: int = 0
    call: str = ""
    """The call's id in its turn, as "2.1"; the same if the call runs again because its process was killed."""


class ToolEffect(StrEnum):
    """The side effects of a tool call."""

    READS = "reads"
    """None. Only such a call may run again when it is unknown whether it ran."""
    WRITES_HERE = "writes here"
    """It changes data of this bot."""
    ACTS_OUTWARD = "acts outward"
    """It is visible to others: something is sent, created or changed elsewhere."""
    IRREVERSIBLE = "irreversible"
    """It cannot be undone: something is deleted, paid or published."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The output of a tool: a text, and parts that follow it in order.

    `sources`: the ids of the stored messages that it quotes, `documents`: those of the stored documents. `audience`:
    who may read it; None: only the asker.
    `read`: see `agent.addresses`. `failed`: what the tool ran for the model failed, and the text says why.
    """

    text: str = ""
    sources: tuple[int, ...] = ()
    parts: tuple[ResultPart, ...] = ()
    audience: Audience | None = None
    keep: Keep = Keep.STORED
    references: tuple[Reference, ...] = ()  # with numbers of `ToolContext.numbers`, which the text uses for them
    words: Provenance = Provenance.FOREIGN  # OWN: it holds only what the asker said and what the bot said on its own
    read: tuple[str, ...] | None = None  # the texts in it that others than the bot wrote; None: all of it
    documents: tuple[int, ...] = ()
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Asker:
    """A person who asks or requests something, and the place; they decide which tools a turn has, and what a command
    shows and does. `authority`: the one they have there at this moment. `manages`: whether they may decide for everyone
    there. `thread`: the ids of the conversations that "this thread" means; empty outside of threads.
    """

    person: Person
    place: Place
    channel: str = ""
    """The platform's id of the channel of the question ("C0123"), "" in the terminal."""
    authority: Authority = Authority.EMPLOYEE
    manages: bool = False
    thread: frozenset[str] = frozenset()


class Tool(Protocol):
    """A tool that the model can call. Stateless; its dependencies are constructor arguments."""

    @property
    def name(self) -> str:
        """The name for calls: one ASCII word, "recall"; for a server's tool two with a dot, "files.read"."""
        ...

    @property
    def description(self) -> str:
        """One line, written for the model."""
        ...

    @property
    def schema(self) -> JsonObject:
        """JSON Schema of the arguments (type object)."""
        ...

    @property
    def effect(self) -> ToolEffect:
        """The most severe effect that a call may have."""
        ...

    @property
    def timeout_s(self) -> float:
        """A run that takes longer is cancelled, and its result for the model says so."""
        ...

    async def run(self, args: JsonObject, context: ToolContext) -> str | ToolOutput:
        """Run the tool with arguments that match the schema. A plain string is an output for the asker alone.

        Raises ToolError with a reason for the model.
        """
        ...


@runtime_checkable
class SituationalTool(Protocol):
    """A tool that is useful only in certain contexts."""

    @property
    def beside(self) -> str | frozenset[str]:
        """The condition for offering the tool: a text that must occur in what the model reads; or a set of lower-case
        words of which one must occur in the question or in one of the last messages.
        """
        ...


@runtime_checkable
class CodeTool(Protocol):
    """A tool that runs code. Code cannot call it: its runs wait for each other."""

    @property
    def runs_code(self) -> bool:
        """Always true: the attribute itself marks the tool."""
        ...


@runtime_checkable
class PlatformTool(Protocol):
    """A tool whose arguments reach only the platform on which the question was asked."""

    @property
    def on_platform(self) -> bool:
        """Always true: the attribute itself marks the tool."""
        ...


class ToolAccount(StrEnum):
    """Whose account at a service the calls of a tool use."""

    NONE = ""
    """None, or nobody knows."""
    ASKER = "asker"
    OPERATOR = "operator"


@runtime_checkable
class AccountTool(Protocol):
    """A tool that uses an account at a service."""

    @property
    def account(self) -> ToolAccount:
        """Whose account its calls use."""
        ...


class ToolSource(Protocol):
    """A changing set of tools: of a server, a plug-in, an operator's package."""

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """Return the tools that this asker has now; unchanged tools are the same objects."""
        ...


@runtime_checkable
class PlaceTools(Protocol):
    """A source whose tools depend on what was chosen for a place, which is looked up before they are collected."""

    async def look_up(self, asker: Asker) -> None:
        """Look up what `tools` needs to know of this asker's place. Raises nothing."""
        ...

    def tools(self, asker: Asker) -> Sequence[Tool]:
        """As of `ToolSource`."""
        ...


class ToolServers(Protocol):
    """The servers behind tools that come and go."""

    async def prepare(self, asker: Asker) -> None:
        """Look up the tools of this person's own accounts, before their tools are collected."""
        ...

    async def settle(self, seconds: float) -> None:
        """Wait, up to this long, until each server was tried once: after a start they still connect."""
        ...

    def away(self) -> Mapping[str, str]:
        """The servers that are not connected, by name, with a sentence why that everybody may read."""
        ...


class _NoServers:
    async def prepare(self, asker: Asker) -> None: ...
    async def settle(self, seconds: float) -> None: ...

    def away(self) -> Mapping[str, str]:
        return {}


NO_SERVERS: Final[ToolServers] = _NoServers()
