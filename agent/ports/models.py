"""The ports of models: what is asked, what comes back, and what a provider and its session offer.

Above: `agent.loop`, `agent.session`. Implemented by: `agent.providers`.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from agent.messages import Depth, JsonObject, Message, Native, Usage


class Halt(StrEnum):
    """How a provider can stop at the delimiter. NONE: the reader closes the stream."""

    STOP_SEQUENCE = "stop_sequence"
    TOOL = "tool"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Declared by an adapter, never guessed."""

    halt: Halt = Halt.NONE
    resume: bool = False
    images: bool = False
    effort: bool = False
    native_calls: bool = False
    """Tools are called in the vendor's form, which has no room for a workspace."""
    reasons: bool = False
    """The model reasons by itself before it writes: it is not told to think aloud."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a vendor takes it that has a form of its own for tools. `schema` is its arguments' JSON Schema."""

    name: str
    description: str
    schema: JsonObject


@dataclass(frozen=True, slots=True)
class CallOptions:
    """What holds for every model call of one turn. `cache_key` names requests that begin alike, and nobody's data."""

    depth: Depth = Depth.ADAPT
    cache_key: str = ""
    tools: tuple[ToolSpec, ...] = ()
    """What the messages teach already, for a dialect that hands tools over in the vendor's form."""


@dataclass(frozen=True, slots=True)
class TokensArrived:
    """A piece of the model's one text stream, protocol included."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningArrived:
    """A piece of the vendor's own reasoning channel. Private: never shown, never stored as text of the reply."""

    text: str


class StopReason(StrEnum):
    END = "end"
    HALTED = "halted"
    LENGTH = "length"
    FILTERED = "filtered"


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    """The model finished. The last event of every stream that did not fail."""

    reason: StopReason
    usage: Usage | None = None
    native: Native | None = None
    """What was written, in the vendor's own form, where a later request must give it back unchanged."""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers than the one that was asked; `why` is a sentence for the person."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class HandleKept:
    """The vendor keeps this conversation under `handle`, until it is deleted there."""

    handle: str


ProviderEvent: TypeAlias = TokensArrived | ReasoningArrived | ResponseEnded | ModelChanged | HandleKept


class Provider(Protocol):
    """One model behind one wire protocol."""

    @property
    def name(self) -> str:
        """What a person calls it, for example "ollama:llama3.2"."""
        ...

    @property
    def capabilities(self) -> Capabilities: ...

    def stream(
        self,
        messages: Sequence[Message],
        options: CallOptions = CallOptions(),
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` (replay mode: the whole context, each time).

        Raises ProviderUnavailable or ProviderRefused before the first event, StreamBroken after it. Closing the
        generator closes the connection, which stops the generation.
        """
        ...


class Session(Protocol):
    """One turn's exchange with a model. Its rounds send only what is new where the vendor keeps the rest (resume)."""

    async def send(self, messages: Sequence[Message]) -> None:
        """Ask for the answer to `messages`: always the whole context, whose beginning may not be sent again.

        Raises ProviderUnavailable or ProviderRefused.
        """
        ...

    def receive(self) -> AsyncGenerator[ProviderEvent, None]:
        """The answer to what was sent last. Errors as `Provider.stream`; closing it early abandons the answer."""
        ...

    async def close(self) -> tuple[str, ...]:
        """The turn is over: give the connection back, and have the vendor drop what it keeps.

        Returns the handles (see HandleKept) of what may still be there. Never raises.
        """
        ...


@runtime_checkable
class ResumingProvider(Protocol):
    """A provider whose vendor can keep the context behind a handle (capability `resume`)."""

    def connect(self, options: CallOptions) -> Session:
        """A new session; the connection is made when it is first needed."""
        ...


@runtime_checkable
class WarningProvider(Protocol):
    """A provider with something to say before it is used."""

    @property
    def warning(self) -> str:
        """A sentence for whoever chose it; "" if there is none."""
        ...


@runtime_checkable
class KeepingProvider(Protocol):
    """A provider whose vendor stores what it is sent (see HandleKept)."""

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Have the vendor delete these. Returns those that may still be there; never raises."""
        ...
