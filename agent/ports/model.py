"""Models: providers, their capabilities, and the events of an answer."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeAlias, runtime_checkable

from agent.errors import FailureReason
from agent.messages import Depth, Message, NativeContent, ToolSpec, Usage


class Halt(StrEnum):
    """How a provider can stop at the delimiter. NONE: the consumer closes the stream."""

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
    """Tools are called in the vendor's form, which has no field for a workspace."""
    reasons: bool = False
    """The model reasons by itself before it writes: the prompt does not ask it to think aloud."""
    context_tokens: int = 0
    """The size of the model's context window; 0 if it is not known, or so large that it does not matter."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """Options of every model call of one turn. `cache_key` is the same for requests with the same prefix, and reveals
    no user data.
    """

    depth: Depth = Depth.ADAPT
    cache_key: str = ""
    tools: tuple[ToolSpec, ...] = ()
    """The tools that the messages describe, for a dialect that passes tools in the vendor's form."""


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
    REPEATED = "repeated"
    """The model repeated itself, and was stopped here."""
    UNKNOWN = "unknown"
    """The service gave no reason, or one that is not known to be good: the answer may be incomplete."""


@dataclass(frozen=True, slots=True)
class ResponseEnded:
    """The model finished. The last event of every stream that did not fail."""

    reason: StopReason
    usage: Usage | None = None
    native: NativeContent | None = None
    """The output in the vendor's own form, where a later request must send it back unchanged."""


@dataclass(frozen=True, slots=True)
class ModelChanged:
    """Another model answers in place of the one that was called."""

    name: str
    why: FailureReason


@dataclass(frozen=True, slots=True)
class HandleKept:
    """The vendor keeps this conversation under `handle`, until it is deleted there."""

    handle: str


@dataclass(frozen=True, slots=True)
class PromptReduced:
    """The answer is to less than was asked, because the service refused the rest.

    `sentence` says to the person what is missing. The reply ends with it.
    """

    sentence: str


ProviderEvent: TypeAlias = TokensArrived | ReasoningArrived | ResponseEnded | ModelChanged | HandleKept | PromptReduced


class Provider(Protocol):
    """One model behind one wire protocol."""

    @property
    def name(self) -> str:
        """The name that people use, for example "ollama:llama3.2"."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities that the adapter declares."""
        ...

    def stream(
        self, messages: Sequence[Message], options: CallOptions = CallOptions()
    ) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages` (replay mode: the whole context in each call).

        Raises ProviderUnavailable or ProviderRefused before the first event, StreamBroken after it. Closing the
        generator closes the connection, which stops the generation.
        """
        ...


class ModelSession(Protocol):
    """One turn's exchange with a model. Where the vendor keeps the context (resume), rounds send only what is new."""

    def answer(self, messages: Sequence[Message]) -> AsyncGenerator[ProviderEvent, None]:
        """Answer `messages`, always the whole context; the session may leave out the part that the vendor keeps.

        Raises the errors of `Provider.stream`. Closing the generator early abandons the answer.
        """
        ...

    async def close(self) -> tuple[str, ...]:
        """Return the connection at the end of the turn, and delete what the vendor keeps.

        Returns the handles (see HandleKept) that may still exist there. Never raises.
        """
        ...


@runtime_checkable
class ResumingProvider(Protocol):
    """A provider whose vendor can keep the context behind a handle (capability `resume`)."""

    def connect(self, options: CallOptions) -> ModelSession:
        """Open a new session; it connects when the connection is first needed."""
        ...


@runtime_checkable
class WarningProvider(Protocol):
    """A provider with a warning about its use."""

    @property
    def warning(self) -> str:
        """A sentence for the person who chose it; "" if there is none."""
        ...


@runtime_checkable
class SizedProvider(Protocol):
    """A provider whose capabilities name the size of the model's context, once its server has said it."""

    context_tokens: int


@runtime_checkable
class OwnKeyProvider(Protocol):
    """A provider that asks some of its models with keys that a channel has given, and not with the operator's."""

    @property
    def own_models(self) -> frozenset[str]:
        """The names of these models."""
        ...


def has_own_key(provider: Provider, model: str) -> bool:
    """Return whether the provider asks this model with a channel's own key."""
    return isinstance(provider, OwnKeyProvider) and model in provider.own_models


@runtime_checkable
class KeepingProvider(Protocol):
    """A provider whose vendor stores what it receives (see HandleKept)."""

    async def forget_handles(self, handles: Sequence[str]) -> tuple[str, ...]:
        """Delete these at the vendor. Returns the handles that may still exist there; never raises."""
        ...
