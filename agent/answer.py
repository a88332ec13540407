"""One answer of a model while it is read: what arrived, and what of it waits for the answer's end.

Above: `agent.loop`. Below: `agent.protocol`, `agent.ports`, `agent.tokens`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.events import ProtocolEvent
from agent.messages import Message, Usage
from agent.ports import ResponseEnded
from agent.protocol.parser import Parser
from agent.tokens import estimate_tokens


@dataclass(slots=True)
class Answer:
    """`messages` are what it answers. `pending` are events that wait for its end; `violations` those before it."""

    parser: Parser
    messages: Sequence[Message]
    violations: int = 0
    received: list[str] = field(default_factory=list[str])
    pending: list[ProtocolEvent] = field(default_factory=list[ProtocolEvent])
    ended: ResponseEnded | None = None

    def estimate(self) -> Usage:
        """What the call took, for a vendor that does not say."""
        return Usage(
            input_uncached=sum(estimate_tokens(message.text) for message in self.messages),
            output=estimate_tokens("".join(self.received)),
            bytes_up=sum(len(message.text.encode("utf-8", "replace")) for message in self.messages),
            estimated=True,
        )
