"""Whether a message is for the bot. Pure.

A message of the one word "stop" is never a question: it stops what runs in its conversation.

Rules. A direct message and a mention are. In a thread with the bot every message is, as long as one person takes part;
once others join in, only mentions are, and the rest is context. Nothing else is: messages outside conversations with
the bot are not even stored.
"""

import re
from collections.abc import Set as AbstractSet
from enum import StrEnum

_STOP = re.compile(r"\s*+stop\s*+[.!]?\s*+", re.IGNORECASE)


class Trigger(StrEnum):
    ANSWER = "answer"
    OVERHEAR = "overhear"
    """Store it as context of its conversation, and say nothing."""
    IGNORE = "ignore"


def is_stop(text: str) -> bool:
    """Whether a message, without the mention of the bot, only says "stop"."""
    return _STOP.fullmatch(text) is not None


def trigger(*, author: str, direct: bool, mentioned: bool, participants: AbstractSet[str] | None) -> Trigger:
    """What to do with a message of `author`.

    `participants`: the people who wrote in this thread so far, if it is a conversation with the bot, else None.
    """
    if direct or mentioned:
        return Trigger.ANSWER
    if participants is None:
        return Trigger.IGNORE
    return Trigger.ANSWER if participants <= {author} else Trigger.OVERHEAR
