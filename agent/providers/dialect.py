"""The interface between wire modules and transports: a dialect writes requests, a reader reads events. Pure.

A dialect is a frozen value: one wire protocol for one model. Each answer has a new reader.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, TypeAlias

from agent.messages import Message, NativeContent, Role
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, ResponseEnded, StopReason
from agent.providers.faults import Fault
from agent.providers.wire import UsageFields


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One HTTP request. `path` is relative to the endpoint's base URL; `headers` do not include the key."""

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


ReaderEvent: TypeAlias = ProviderEvent | Fault


class AnswerReader(ABC):
    """Reads one answer: call `receive` with the data of each event, then `close` once.

    `begun`: a part of the answer has arrived, so the request is not retried. `finished`: the end was reported, and
    only the usage may follow: a Fault after it changes nothing. `ignored`: the number of unreadable or unknown events.
    `dialect`: the name for native content of the answer.
    """

    ends_openly: ClassVar = True
    """Whether each answer marks its end, so that one without a mark was cut off."""
    usage_fields: ClassVar[UsageFields]

    def __init__(self, dialect: str = "") -> None:
        self.begun = False
        self.finished = False
        self.ignored: int = 0
        self._dialect = dialect
        self._reason = StopReason.UNKNOWN
        self._usage: dict[str, object] = {}

    @abstractmethod
    def receive(self, data: str) -> list[ReaderEvent]:
        """Return the events of one piece of data (a JSON text), in order. Nothing after a Fault counts."""

    def close(self) -> ResponseEnded:
        """Return the end of the answer. `usage` is None if the vendor reported none."""
        usage = self.usage_fields.read(self._usage) if self._usage else None
        return ResponseEnded(self._reason, usage, self._native())

    @abstractmethod
    def _native(self) -> NativeContent | None:
        """Return the content that must go back to the vendor unchanged."""


class Dialect(Protocol):
    """One vendor's wire protocol for one model."""

    @property
    def capabilities(self) -> Capabilities: ...

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        """Build the request for a streamed answer to `messages`."""
        ...

    def reader(self) -> AnswerReader: ...

    def without(self, fault: Fault) -> "Dialect | None":
        """Return this dialect without the field that the service refused, or None if the fault names no such field."""
        ...


ABSENT = frozenset({404, 405, 501})  # The status of a server without this protocol


@dataclass(frozen=True, slots=True)
class FallbackDialect:
    """Uses `first` until the service turns out not to support it, then `second`."""

    first: Dialect
    second: Dialect

    @property
    def capabilities(self) -> Capabilities:
        return self.first.capabilities

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        return self.first.request(messages, options)

    def reader(self) -> AnswerReader:
        return self.first.reader()

    def without(self, fault: Fault) -> Dialect | None:
        if fault.status in ABSENT and not fault.model_unknown:
            return self.second
        simpler = self.first.without(fault)
        return replace(self, first=simpler) if simpler else None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One request: `new` are the messages to send.

    With a `parent`, the vendor keeps all earlier messages under this handle, and `answering` is its last answer.
    Without one, `new` is the whole context.
    """

    new: tuple[Message, ...]
    parent: str = ""
    answering: NativeContent | None = None


@dataclass(frozen=True, slots=True)
class ResumeChain:
    """What the vendor keeps: the messages that it received, and its answer to them.

    The context of each round consists of the previous context, the answer to it, and new messages. If the vendor keeps
    the answer under a handle, only the new messages are sent:

        sent last      [a b c]            answered as N, kept under H
        to be sent     [a b c N d]   →    d, after H
        anything else  [a b x …]     →    all of it, and a new chain begins

    A chain may be discarded at any time: `ResumeChain()` is an empty one.
    """

    sent: tuple[Message, ...] = ()
    handle: str = ""
    answer: NativeContent | None = None

    def link(self, messages: Sequence[Message]) -> ChainLink:
        """Return the request for the answer to `messages`."""
        context, known = tuple(messages), len(self.sent)
        if not self.handle or context[:known] != self.sent or len(context) < known + 2:
            return ChainLink(context)
        answer = context[known]
        if answer.role is not Role.ASSISTANT or answer.native is None or answer.native != self.answer:
            return ChainLink(context)
        return ChainLink(context[known + 1 :], self.handle, self.answer)


def chain_after(messages: Sequence[Message], handle: str, answer: NativeContent | None) -> ResumeChain:
    """Return the chain after the vendor's answer to `messages`. It is empty if the answer has no handle."""
    return ResumeChain(tuple(messages), handle, answer) if handle and answer else ResumeChain()


class SocketExchange(ABC):
    """One turn's exchange with a vendor that keeps the conversation as long as the connection is open.

        connected    open → one frame, then receive until `ready`
        a question   ask → frames, then receive until `finished`; after each frame, send the `outgoing` frames
        in between   receive all frames; `continues` tells whether the connection can take the next question
        lost         open again, on the next connection: the conversation is sent again, or restored by a handle

    `halted`: the model was told to stop; only the end of its answer is awaited, which may report the usage. `ignored`:
    the number of unreadable or unknown frames.
    """

    def __init__(self) -> None:
        self.ready = True
        self.finished = False
        self.halted = False
        self.ignored: int = 0
        self._chain = ResumeChain()
        self._messages: Sequence[Message] | None = None  # The current question; None between two questions
        self._outgoing: list[str] = []

    @abstractmethod
    def open(self, messages: Sequence[Message]) -> str:
        """Return the first frame for a new connection, on which `messages` will be asked."""

    def continues(self, messages: Sequence[Message]) -> bool:
        """Return whether the connection has the beginning of `messages`, so that the rest is enough."""
        return bool(self._chain.link(messages).parent)

    @abstractmethod
    def ask(self, messages: Sequence[Message]) -> list[str]:
        """Return the frames that ask for the answer to `messages`, without what the connection has already."""

    @abstractmethod
    def receive(self, data: str) -> list[ReaderEvent]:
        """Return the events of one frame, in order; none between two questions. Nothing after a Fault counts."""

    def outgoing(self) -> list[str]:
        """Return the frames to send in response to those received; each is returned once."""
        frames, self._outgoing = self._outgoing, []
        return frames

    @abstractmethod
    def close(self) -> ResponseEnded:
        """Return the end of the answer. `usage` is None if the vendor reported none."""

    @abstractmethod
    def connection_fault(self, code: int, reason: str) -> Fault | None:
        """Return the fault of a connection that was closed before the answer was complete.

        None: the vendor has not started to work on the question, so it may be asked again on another connection.
        """


class SocketDialect(Protocol):
    """One vendor's WebSocket protocol for one model. `path` is relative to the endpoint's base URL."""

    @property
    def path(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def warning(self) -> str:
        """A warning about unexpected costs for the person who chooses this model, or ""."""
        ...

    def dialogue(self, options: CallOptions) -> SocketExchange: ...
