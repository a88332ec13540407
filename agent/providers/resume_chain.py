"""What a vendor keeps of a conversation, so that a round sends only what is new. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.messages import Message, NativeContent, Role


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
