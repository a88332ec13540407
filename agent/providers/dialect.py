"""What a wire module offers to the transports: requests out, vendor events in. Protocols and values; pure.

Above: the `wire_…` modules implement it, `replay` and the sessions use it. Below: `agent.ports`, `faults`.

A dialect is a frozen value: one wire protocol, for one model. A reader is made anew for each answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from agent.messages import Message
from agent.ports import CallOptions, Capabilities, ProviderEvent, ResponseEnded
from agent.providers.faults import Fault


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request: `path` follows the endpoint's base address; `headers` are without the key's."""

    path: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


ReaderEvent: TypeAlias = ProviderEvent | Fault


class Reader(Protocol):
    """Reads one answer: `receive` each event's data, then `close` once."""

    @property
    def begun(self) -> bool:
        """Something came that belongs to an answer: from now on nothing is tried again."""
        ...

    @property
    def finished(self) -> bool:
        """The answer is complete; only usage may still come."""
        ...

    @property
    def ends_openly(self) -> bool:
        """Whether every answer says where it ends, so that one which only stops was cut off."""
        ...

    @property
    def ignored(self) -> int:
        """How many events could not be read, or are unknown."""
        ...

    def receive(self, data: str) -> Sequence[ReaderEvent]:
        """The events of one piece of data (a JSON text), in order. A Fault is the last that will be of use."""
        ...

    def close(self) -> ResponseEnded:
        """The end of the answer, with its usage as reported; `usage` is None where the vendor reported none."""
        ...


class Dialect(Protocol):
    """One vendor's wire protocol for one model."""

    @property
    def capabilities(self) -> Capabilities: ...

    def authorisation(self, key: str) -> Mapping[str, str]:
        """The headers that carry the key."""
        ...

    def request(self, messages: Sequence[Message], options: CallOptions) -> Request:
        """The request for a streamed answer to `messages`."""
        ...

    def reader(self) -> Reader: ...

    def without(self, fault: Fault) -> "Dialect | None":
        """The same dialect without the field that the service has just refused by name; None if there is none."""
        ...
