"""The interface between wire modules and WebSocket sessions: an exchange writes and reads one turn's frames. Pure.

A dialect is a frozen value: one WebSocket protocol for one model. Each turn has a new exchange.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

from agent.messages import Message
from agent.ports.model import CallOptions, Capabilities, ResponseEnded
from agent.providers.dialect import ReaderEvent
from agent.providers.faults import Fault
from agent.providers.resume_chain import ResumeChain


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
