"""What a wire module offers to a session over a WebSocket: frames out, frames in. Protocols; pure.

Above: `wire_realtime` and `wire_live` implement it, `socket_session` uses it. Below: `dialect`, `faults`.

Theory of operation. Some vendors keep a conversation as long as its connection stands. A dialogue knows what the
connection holds, and says what to send:

    connected    open → one frame, then receive until `ready`
    a question   ask → frames, then receive until `finished`; after each frame, send what is `outgoing`
    in between   receive whatever comes; `continues` tells whether the connection can be asked the next question
    lost         open again, on the next connection: what the first one held is sent again, or fetched by a handle

A dialogue lives for one turn, and is told of every connection that it is given.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from agent.messages import Message
from agent.ports import CallOptions, Capabilities, ResponseEnded
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault


class Dialogue(Protocol):
    """One turn's exchange with a vendor that keeps the conversation with the connection."""

    @property
    def ready(self) -> bool:
        """The connection takes questions."""
        ...

    @property
    def finished(self) -> bool:
        """The answer is complete."""
        ...

    @property
    def halted(self) -> bool:
        """The model was told to stop, and only the end of its answer is waited for: it may tell the usage."""
        ...

    @property
    def ignored(self) -> int:
        """How many frames could not be read, or are unknown."""
        ...

    def open(self, messages: Sequence[Message]) -> str:
        """A new connection was made, on which `messages` will be asked: the first frame to send."""
        ...

    def continues(self, messages: Sequence[Message]) -> bool:
        """Whether the connection has the beginning of `messages`, and may be asked for the rest."""
        ...

    def ask(self, messages: Sequence[Message]) -> Sequence[str]:
        """The frames that ask for the answer to `messages`: what the connection does not have of them."""
        ...

    def receive(self, data: str) -> Sequence[ReaderEvent]:
        """The events of one frame, in order; none between two questions. A Fault is the last that will be of use."""
        ...

    def outgoing(self) -> Sequence[str]:
        """The frames that the last one received calls for; handed out once."""
        ...

    def close(self) -> ResponseEnded:
        """The end of the answer, with its usage as reported; `usage` is None where the vendor reported none."""
        ...

    def lost(self, code: int, reason: str) -> Fault | None:
        """The connection was closed before the answer was complete: what that means.

        None: nobody has begun to work on the question, so it may be asked again on another connection.
        """
        ...


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

    def authorisation(self, key: str) -> Mapping[str, str]:
        """The headers that carry the key."""
        ...

    def dialogue(self, options: CallOptions) -> Dialogue: ...
