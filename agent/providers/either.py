"""Two dialects for a service of which only the second is certain. Pure.

Above: `agent.providers.opening`. Below: `dialect`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.messages import Message
from agent.ports import CallOptions, Capabilities
from agent.providers.dialect import Dialect, Reader, Request
from agent.providers.faults import Fault

ABSENT = frozenset({404, 405, 501})
"""How a server says that it does not have what was asked for."""


@dataclass(frozen=True, slots=True)
class Either:
    """Speaks `first` until the service turns out not to have it; from then on `second`."""

    first: Dialect
    second: Dialect

    @property
    def capabilities(self) -> Capabilities:
        return self.first.capabilities

    def authorisation(self, key: str) -> Mapping[str, str]:
        return self.first.authorisation(key)

    def request(self, messages: Sequence[Message], options: CallOptions) -> Request:
        return self.first.request(messages, options)

    def reader(self) -> Reader:
        return self.first.reader()

    def without(self, fault: Fault) -> Dialect | None:
        if fault.status in ABSENT and not fault.model_unknown:
            return self.second
        simpler = self.first.without(fault)
        return replace(self, first=simpler) if simpler else None
