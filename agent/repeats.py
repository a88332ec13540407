"""Regenerated answers: the question is stored again.

Rule: the repeat is stored under an id that is made of the id of its message. What happens to the message happens to
its repeats, too.
"""

import re
from typing import Final

# How often one question can be answered again: when any message is deleted, the database looks for each repeat.
MAX_REPEATS: Final = 5
AGAIN: Final = "again:"  # How the ids of repeats begin
_REPEAT: Final = re.compile(rf"{AGAIN}(?P<original>.+):(?P<number>\d{{1,3}})")


def repeat_of(message_id: str) -> str | None:
    """The id of the next repeat of a question, or of a repeat; None after MAX_REPEATS."""
    match = _REPEAT.fullmatch(message_id)
    original, number = (match["original"], int(match["number"])) if match else (message_id, 0)
    return _repeat_id(original, number + 1) if number < MAX_REPEATS else None


def repeats_of(message_id: str) -> tuple[str, ...]:
    """The ids of all possible repeats of this message, in order."""
    return tuple(_repeat_id(message_id, number) for number in range(1, MAX_REPEATS + 1))


def repeats_with(message_id: str) -> tuple[str, ...]:
    """The ids of the message and of all its repeats, for the id of the message or of one repeat."""
    original = message_of(message_id)
    return (original, *repeats_of(original))


def message_of(message_id: str) -> str:
    """The id of the original message, for its own id or that of a repeat."""
    match = _REPEAT.fullmatch(message_id)
    return match["original"] if match else message_id


def is_repeat(message_id: str) -> bool:
    return _REPEAT.fullmatch(message_id) is not None


def _repeat_id(original: str, number: int) -> str:
    return f"{AGAIN}{original}:{number}"
