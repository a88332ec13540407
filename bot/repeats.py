"""Questions that somebody had answered again, and the messages that they came from. Pure.

Above: the platforms. Below: nothing.

Rule: such a question is kept once more, under an id that is made of its message's. What happens to the message happens
to these, too.
"""

import re
from typing import Final

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
