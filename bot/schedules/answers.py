"""What `/remind` and `/schedules` show."""

from dataclasses import dataclass

from agent.schedules.definitions import ScheduleState


@dataclass(frozen=True, slots=True)
class ShownSchedule:
    """A reminder or a scheduled question in its person's list. `words`: the reminder's or question's text."""

    id: int
    text: str
    state: ScheduleState = ScheduleState.ACTIVE
    words: str = ""


@dataclass(frozen=True, slots=True)
class ScheduleAnswer:
    """The answer of `/remind` and `/schedules`, as Markdown, with the entries that it offers to change.

    `page`: of a list, from 1. `choices`: labels, with the words that each sends. `by_clock`: the person's time zone is
    needed, and unknown. `refused`: nothing was done, and `text` says why, or asks for what is missing.
    """

    text: str
    entries: tuple[ShownSchedule, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    by_clock: bool = False
    page: int = 1
    pages: int = 1
    refused: bool = False
