"""What a wire module offers to the transports: requests out, vendor events in. Pure.

A dialect is a frozen value: one wire protocol, for one model. A reader is made anew for each answer.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, TypeAlias

from agent.messages import Message, NativeContent, Role
from agent.ports import CallOptions, Capabilities, ProviderEvent, ResponseEnded, StopReason
from agent.providers.faults import Fault
from agent.providers.wire import UsageFields


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One HTTP request: `path` follows the endpoint's base address; `headers` are without the key's."""

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


ReaderEvent: TypeAlias = ProviderEvent | Fault


class AnswerReader(ABC):
    """Reads one answer: `receive` each event's data, then `close` once.

    `begun`: something came that belongs to an answer, so from now on nothing is tried again. `finished`: the answer is
    complete, and only usage may still come. `ignored`: how many events could not be read, or are unknown. `dialect`
    names what may go back to it.
    """

    ends_openly: ClassVar = True
    """Every answer says where it ends, so that one which only stops was cut off."""
    usage_fields: ClassVar[UsageFields]

    def __init__(self, dialect: str = "") -> None:
        self.begun = False
        self.finished = False
        self.ignored: int = 0
        self._dialect = dialect
        self._reason = StopReason.END
        self._usage: dict[str, object] = {}

    @abstractmethod
    def receive(self, data: str) -> list[ReaderEvent]:
        """The events of one piece of data (a JSON text), in order. A Fault is the last that will be of use."""

    def close(self) -> ResponseEnded:
        """The end of the answer, with its usage as reported; `usage` is None where the vendor reported none."""
        usage = self.usage_fields.read(self._usage) if self._usage else None
        return ResponseEnded(self._reason, usage, self._native())

    @abstractmethod
    def _native(self) -> NativeContent | None:
        """What goes back to the vendor as it came."""


class Dialect(Protocol):
    """One vendor's wire protocol for one model."""

    @property
    def capabilities(self) -> Capabilities: ...

    def request(self, messages: Sequence[Message], options: CallOptions) -> ModelRequest:
        """The request for a streamed answer to `messages`."""
        ...

    def reader(self) -> AnswerReader: ...

    def without(self, fault: Fault) -> "Dialect | None":
        """The same dialect without the field that the service has just refused by name; None if there is none."""
        ...


ABSENT = frozenset({404, 405, 501})  # How a server says that it does not have what was asked for


@dataclass(frozen=True, slots=True)
class FallbackDialect:
    """Speaks `first` until the service turns out not to have it; from then on `second`."""

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

    With a `parent`, the vendor has all before them under this handle, `answering` as its own last words. Without one,
    they are the whole context.
    """

    new: tuple[Message, ...]
    parent: str = ""
    answering: NativeContent | None = None


@dataclass(frozen=True, slots=True)
class ResumeChain:
    """What the vendor has: the messages that it was sent, and its answer to them.

    Each round of a turn sends a context that begins with the last one, goes on with the answer to it, and ends with
    something new. If the vendor has kept that answer under a handle, the new end is all it needs:

        sent last      [a b c]            answered as N, kept under H
        to be sent     [a b c N d]   →    d, after H
        anything else  [a b x …]     →    all of it, and a new chain begins

    A chain may be thrown away at any time: `ResumeChain()` is one that nobody has answered yet.
    """

    sent: tuple[Message, ...] = ()
    handle: str = ""
    answer: NativeContent | None = None

    def link(self, messages: Sequence[Message]) -> ChainLink:
        """How to ask for the answer to `messages`."""
        whole, known = tuple(messages), len(self.sent)
        if not self.handle or whole[:known] != self.sent or len(whole) < known + 2:
            return ChainLink(whole)
        answer = whole[known]
        if answer.role is not Role.ASSISTANT or answer.native is None or answer.native != self.answer:
            return ChainLink(whole)
        return ChainLink(whole[known + 1 :], self.handle, self.answer)


def answered(messages: Sequence[Message], handle: str, answer: NativeContent | None) -> ResumeChain:
    """The chain after the vendor has answered `messages`; an answer without a handle cannot be built on."""
    return ResumeChain(tuple(messages), handle, answer) if handle and answer else ResumeChain()


class SocketExchange(ABC):
    """One turn's exchange with a vendor that keeps the conversation as long as its connection stands.

        connected    open → one frame, then receive until `ready`
        a question   ask → frames, then receive until `finished`; after each frame, send what is `outgoing`
        in between   receive whatever comes; `continues` tells whether the connection can be asked the next question
        lost         open again, on the next connection: what the first one held is sent again, or fetched by a handle

    `halted`: the model was told to stop, and only the end of its answer is waited for, which may tell the usage.
    `ignored`: how many frames could not be read, or are unknown.
    """

    def __init__(self) -> None:
        self.ready = True
        self.finished = False
        self.halted = False
        self.ignored: int = 0
        self._chain = ResumeChain()
        self._messages: Sequence[Message] | None = None  # What is asked; None between two questions
        self._outgoing: list[str] = []

    @abstractmethod
    def open(self, messages: Sequence[Message]) -> str:
        """A new connection was made, on which `messages` will be asked: the first frame to send."""

    def continues(self, messages: Sequence[Message]) -> bool:
        """Whether the connection has the beginning of `messages`, and may be asked for the rest."""
        return bool(self._chain.link(messages).parent)

    @abstractmethod
    def ask(self, messages: Sequence[Message]) -> list[str]:
        """The frames that ask for the answer to `messages`: what the connection does not have of them."""

    @abstractmethod
    def receive(self, data: str) -> list[ReaderEvent]:
        """The events of one frame, in order; none between two questions. A Fault is the last that will be of use."""

    def outgoing(self) -> list[str]:
        """The frames that the last one received calls for; handed out once."""
        frames, self._outgoing = self._outgoing, []
        return frames

    @abstractmethod
    def close(self) -> ResponseEnded:
        """The end of the answer, with its usage as reported; `usage` is None where the vendor reported none."""

    @abstractmethod
    def lost(self, code: int, reason: str) -> Fault | None:
        """The connection was closed before the answer was complete: what that means.

        None: nobody has begun to work on the question, so it may be asked again on another connection.
        """


class SocketDialect(Protocol):
    """One vendor's WebSocket protocol for one model. `path` follows the endpoint's base address."""

    @property
    def path(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def warning(self) -> str:
        """What whoever chooses this model should know before it costs them; "" if there is nothing."""
        ...

    def dialogue(self, options: CallOptions) -> SocketExchange: ...
