"""Turns that a program of before r0026 accepts while another one already runs r0026: their kind stands in their ids.

To be removed with the next release, when no such program can use the database any more.
"""

import re
from typing import Final

from agent.progress import decode
from agent.turn_kinds import TurnKind

# The forms that ids had before a turn's kind was a column; the last part says what the turn was for.
_SCHEDULED: Final = re.compile(
    r"scheduled:(?P<number>[0-9]{1,19}|budget):.*?(?P<rest>:work|:told|:ended|)", re.ASCII | re.DOTALL
)


def kind_of(event_id: str, message_id: str, progress: str) -> TurnKind:
    """The kind of a turn whose row does not say it."""
    if message_id.startswith("again:scheduled:"):
        return TurnKind.SCHEDULED_AGAIN
    if event_id.startswith("posted:"):
        return TurnKind.POSTED
    if event_id.startswith("ambient:"):
        return TurnKind.AMBIENT
    if (match := _SCHEDULED.fullmatch(event_id)) is None:
        return TurnKind.QUESTION
    if match["rest"] == ":work":
        return TurnKind.WORK
    if match["rest"] or match["number"] == "budget":
        return TurnKind.NOTICE
    begun = decode(progress)
    return TurnKind.REMINDER if begun.reply is not None and not (begun.steps or begun.calls) else TurnKind.SCHEDULED


def schedule_of(event_id: str) -> int | None:
    """The number of the schedule that began a turn."""
    match = _SCHEDULED.fullmatch(event_id)
    return int(match["number"]) if match and match["number"].isdecimal() else None
