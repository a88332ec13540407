"""The ids of schedules, of their occurrences, and of where they are done."""

from datetime import datetime
from typing import Final

from agent.incoming import platform_of
from agent.schedules.long_work import WORK
from agent.turn_kinds import TurnKind


def source_of(person: str) -> str:
    """The source under which a person's schedules are due: the platform's; for a terminal, the person's id."""
    source = person.rpartition(":")[0]
    return person if source == "terminal" else source


def schedule_id(schedule: int) -> str:
    """The id of a schedule, as a part of other ids: "scheduled:7"."""
    return f"scheduled:{schedule}"


def occurrence_id(schedule: int, time: datetime, kind: TurnKind = TurnKind.SCHEDULED) -> str:
    """The id of an occurrence, for its turn's event and message: "scheduled:7:1795424400"; of long work, or of a notice
    about the occurrence, with ":work" or ":told" behind it, so that each is a turn of its own.
    """
    suffix = {TurnKind.WORK: WORK, TurnKind.NOTICE: NOTICE}.get(kind, "")
    return f"{schedule_id(schedule)}:{int(time.timestamp())}{suffix}"


NOTICE: Final = ":told"  # The same of a notice to a schedule's person

TERMINAL: Final = "terminal"


def lasting_source(source: str, person: str) -> str:
    """The source where a schedule is done. A terminal's source ends with its process, so a schedule is done in any
    terminal of its person, "terminal:ann".
    """
    return person if platform_of(source) == TERMINAL else source
