"""What a vendor already has of a conversation, and what is new: the bookkeeping of resume mode. Pure.

Above: `wire_…` modules and sessions of vendors that keep the context behind a handle. Below: `agent.messages`.

Theory of operation. Each round of a turn sends a context that begins with the last one, goes on with the answer to it,
and ends with something new. If the vendor has kept that answer under a handle, the new end is all it needs:

    sent last      [a b c]            answered as N, kept under H
    to be sent     [a b c N d]   →    d, after H
    anything else  [a b x …]     →    all of it, and a new chain begins

A chain is an optimisation that may be thrown away at any time: `Chain()` is one that nobody has answered yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.messages import Message, Native, Role


@dataclass(frozen=True, slots=True)
class Link:
    """One request: `new` are the messages to send.

    With a `parent`, the vendor has all before them under this handle, `answering` as its own last words. Without one,
    they are the whole context.
    """

    new: tuple[Message, ...]
    parent: str = ""
    answering: Native | None = None


@dataclass(frozen=True, slots=True)
class Chain:
    """What the vendor has: the messages that it was sent, and its answer to them."""

    sent: tuple[Message, ...] = ()
    handle: str = ""
    answer: Native | None = None

    def link(self, messages: Sequence[Message]) -> Link:
        """How to ask for the answer to `messages`."""
        whole, known = tuple(messages), len(self.sent)
        if not self.handle or whole[:known] != self.sent or len(whole) < known + 2:
            return Link(whole)
        answer = whole[known]
        if answer.role is not Role.ASSISTANT or answer.native is None or answer.native != self.answer:
            return Link(whole)
        return Link(whole[known + 1 :], self.handle, self.answer)


def answered(messages: Sequence[Message], handle: str, answer: Native | None) -> Chain:
    """The chain after the vendor has answered `messages`; an answer without a handle cannot be built on."""
    return Chain(tuple(messages), handle, answer) if handle and answer else Chain()
