"""Whether a message is for the bot. Pure.

Above: the platforms' `inbound` and `run` modules. Below: nothing.

Rules. A direct message and a mention are. In a thread with the bot every message is, as long as one person takes part;
once others join in, only mentions are, and the rest is context. Nothing else is: messages outside conversations with
the bot are not even stored.
"""

from collections.abc import Set as AbstractSet
from enum import StrEnum


class Trigger(StrEnum):
    ANSWER = "answer"
    OVERHEAR = "overhear"
    """Store it as context of its conversation, and say nothing."""
    IGNORE = "ignore"


def trigger(*, author: str, direct: bool, mentioned: bool, participants: AbstractSet[str] | None) -> Trigger:
    """What to do with a message of `author`.

    `participants`: the people who wrote in this thread so far, if it is a conversation with the bot, else None.
    """
    if direct or mentioned:
        return Trigger.ANSWER
    if participants is None:
        return Trigger.IGNORE
    return Trigger.ANSWER if participants <= {author} else Trigger.OVERHEAR
