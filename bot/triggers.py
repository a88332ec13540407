"""Whether a message is for the bot. Pure.

A message of the one word "stop" is never a question: it stops what runs in its conversation.

Rules. A direct message and a mention are. In a thread with the bot every message is, as long as one person takes part;
once others join in, only mentions are, and the rest is context. Nothing else is: messages outside conversations with
the bot are not even stored.
"""

import re
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Final

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


# --------------------------------------------------------------------------------------------------
# Questions that somebody had answered again, and the messages that they came from. Pure.
#
# Rule: such a question is kept once more, under an id that is made of its message's. What happens to the message
# happens to these, too.


MAX_REPEATS: Final = 5
"""How often one question can be answered again: for each, the database is asked when any message is deleted."""

_REPEAT: Final = re.compile(r"again:(?P<first>.+):(?P<number>\d{1,3})")


def repeat_of(message_id: str) -> str | None:
    """The id under which a question is kept when it is answered once more; None if that was often enough."""
    found = _REPEAT.fullmatch(message_id)
    first, number = (found["first"], int(found["number"])) if found else (message_id, 0)
    return _repeat(first, number + 1) if number < MAX_REPEATS else None


def repeats_of(message_id: str) -> tuple[str, ...]:
    """Every id under which this message may be kept again, in their order."""
    return tuple(_repeat(message_id, number) for number in range(1, MAX_REPEATS + 1))


def message_of(message_id: str) -> str:
    """The message itself of a question that may have been answered again."""
    found = _REPEAT.fullmatch(message_id)
    return found["first"] if found else message_id


def _repeat(first: str, number: int) -> str:
    return f"again:{first}:{number}"
