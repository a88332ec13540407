"""A conversation as vendors with strict roles want it: user and assistant in turns, a user first and last. Pure.

Above: the wire modules of Anthropic and Gemini. Below: `agent.messages`.

Rule: what is appended after a message of the user never changes what stands before it, so that a vendor's prefix cache
hits, and so that what is bound to a prefix (thinking, signatures) stays valid.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from agent.messages import Message, Role

MISSING_QUESTION = "(The beginning of this conversation is not shown.)"
"""Stands where history begins with an answer."""
GO_ON = "(Please go on.)"
"""Stands where the last words are the model's own: current models refuse to continue them."""


def system_text(messages: Sequence[Message]) -> str:
    """Every system message, joined by blank lines."""
    return "\n\n".join(message.text for message in messages if message.role is Role.SYSTEM)


def alternating(messages: Sequence[Message], dialect: str) -> list[Message]:
    """What was spoken, in turns, without the system's words. Blank messages are left out: vendors refuse them.

    What another dialect wrote in its own form is left out too: the message's text stands for it.
    """
    known = [_known(message, dialect) for message in messages if message.role is not Role.SYSTEM]
    spoken = [message for message in known if message.text.strip() or message.images or message.native]
    if not spoken or spoken[0].role is Role.ASSISTANT:
        spoken.insert(0, Message(Role.USER, MISSING_QUESTION))
    if spoken[-1].role is Role.ASSISTANT:
        spoken.append(Message(Role.USER, GO_ON))
    return [_joined(list(run)) for _, run in groupby(spoken, key=lambda message: message.role)]


def _known(message: Message, dialect: str) -> Message:
    ours = message.role is Role.ASSISTANT and message.native and message.native.dialect == dialect
    return message if ours else replace(message, native=None)


def _joined(run: Sequence[Message]) -> Message:
    """A run of one speaker as one message. What is in a vendor's own form joins nothing: there its text stands."""
    worded = [message for message in run if message.text.strip() or message.images] or run[-1:]
    if len(worded) == 1:
        return worded[0]
    images = tuple(image for message in worded for image in message.images)
    return Message(run[0].role, "\n\n".join(message.text for message in worded if message.text.strip()), images)
