"""The interface between wire modules and transports: a dialect writes requests, a reader reads events. Pure.

A dialect is a frozen value: one wire protocol for one model. Each answer has a new reader.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar, Protocol, TypeAlias

from agent.messages import Message, NativeContent
from agent.ports.model import CallOptions, Capabilities, ProviderEvent, ResponseEnded, StopReason
from agent.providers.faults import Fault
from agent.providers.wire import UsageFields


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One HTTP request. `path` is relative to the endpoint's base URL; `headers` do not include the key."""

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Framing(StrEnum):
    """How the body of an answer is divided into the data of its events. The value is the media type to ask for."""

    SERVER_SENT_EVENTS = "text/event-stream"
    EVENT_STREAM = "application/vnd.amazon.eventstream"


ReaderEvent: TypeAlias = ProviderEvent | Fault


class AnswerReader(ABC):
    """Reads one answer: call `receive` with the data of each event, then `close` once.

    `begun`: a part of the answer has arrived, so the request is not retried. `finished`: the end was reported, and
    only the usage may follow: a Fault after it changes nothing. `ignored`: the number of unreadable or unknown events.
    `dialect`: the name for native content of the answer.

    An answer with content that nobody gets to see (`_unseen`), such as a picture or a call of a tool that was not
    offered, has not ended well.
    """

    ends_openly: ClassVar = True
    """Whether each answer marks its end, so that one without a mark was cut off."""
    framing: ClassVar = Framing.SERVER_SENT_EVENTS
    usage_fields: ClassVar[UsageFields]

    def __init__(self, dialect: str = "") -> None:
        self.begun = False
        self.finished = False
        self.ignored: int = 0
        self._dialect = dialect
        self._reason = StopReason.UNKNOWN
        self._unseen = False
        self._usage: dict[str, object] = {}

    @abstractmethod
    def receive(self, data: str) -> list[ReaderEvent]:
        """Return the events of one piece of data (a JSON text), in order. Nothing after a Fault counts."""

    def close(self) -> ResponseEnded:
        """Return the end of the answer. `usage` is None if the vendor reported none."""
        usage = self.usage_fields.read(self._usage) if self._usage else None
        reason = StopReason.UNKNOWN if self._unseen and self._reason is StopReason.END else self._reason
        return ResponseEnded(reason, usage, self._native())

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
