"""One answer of a model while it is read: what arrived, and what of it waits for the answer's end.

Above: `agent.loop`. Below: `agent.protocol`, `agent.ports`, `agent.tokens`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.errors import ProviderError, ProviderSilent, StreamBroken
from agent.events import CallsRejected, ProtocolEvent
from agent.messages import Message, Usage
from agent.ports import ResponseEnded
from agent.protocol.parser import Parser
from agent.tokens import estimate_tokens

MAX_CHARS = 500_000
"""Of text and reasoning together: about 125,000 tokens, as much as the vendors let a model write at once. A small model
that repeats itself would never end."""


@dataclass(slots=True)
class Answer:
    """`messages` are what it answers. `pending` are events that wait for its end; `violations` those before it.

    `worked_on`: the model began with it, as far as anybody knows. What it refused takes nothing.
    """

    parser: Parser
    messages: Sequence[Message]
    violations: int = 0
    received: list[str] = field(default_factory=list[str])
    pending: list[ProtocolEvent] = field(default_factory=list[ProtocolEvent])
    reasoned: list[str] = field(default_factory=list[str])
    chars: int = 0
    ended: ResponseEnded | None = None
    worked_on: bool = True

    @property
    def is_endless(self) -> bool:
        return self.chars > MAX_CHARS

    def hear(self, text: str) -> None:
        """A piece of its text."""
        self.chars += len(text)
        self.received.append(text)
        self.pending += self.parser.feed(text)

    def reason(self, text: str) -> None:
        """A piece of its reasoning."""
        self.chars += len(text)
        self.reasoned.append(text)

    def complete(self) -> None:
        """It has ended."""
        self.pending += self.parser.close()

    def fail(self, error: ProviderError) -> None:
        """It broke off, or never began. Calls that are complete count; half of them is not the model's mistake."""
        rest = self.parser.close() if self.received else []
        self.pending += [event for event in rest if not isinstance(event, CallsRejected)]
        self.worked_on = isinstance(error, StreamBroken | ProviderSilent) or bool(self.received or self.reasoned)

    def estimate(self) -> Usage:
        """What the call took, for a vendor that does not say."""
        return Usage(
            input_uncached=sum(estimate_tokens(message.text) for message in self.messages),
            output=estimate_tokens("".join(self.received)),
            reasoning=estimate_tokens("".join(self.reasoned)),
            bytes_up=sum(len(message.text.encode("utf-8", "replace")) for message in self.messages),
            estimated=True,
        )
