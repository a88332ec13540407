"""The settings of turns: how many run at once, and how long each may be."""

from dataclasses import dataclass
from enum import StrEnum

from bot.settings import parsers
from bot.settings.declaration import Section, setting


class WhileBusy(StrEnum):
    """What happens to a message that comes while the same person's last one is being answered in the conversation."""

    WAIT = "wait"
    """It is answered next."""
    JOIN = "join"
    """The running answer takes it into account after its next round of tools; if there is none, it is answered next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnSettings:
    """How many turns run at once, and how far one may go."""

    while_busy: WhileBusy = setting(
        "COGENCY_WHILE_BUSY",
        parsers.one_of(WhileBusy),
        WhileBusy.WAIT,
        section=Section.ANSWERS,
        description=(
            "What happens to a message that arrives while the bot answers the same person in the same thread: wait "
            "(the bot answers it next) or join (the model reads it after its next tool calls and takes it into "
            "account; if there are none, the bot answers it next). In a terminal, messages always wait."
        ),
    )
    max_running: int = setting(
        "COGENCY_MAX_RUNNING",
        parsers.whole(1, 10_000),
        16,
        section=Section.ACCESS,
        description=(
            "How many answers can run at once in one process; further questions wait. In addition, each process can "
            "run long tasks: a quarter of this number, but at least one."
        ),
    )
    """What a vendor's lower tiers and two cores can carry."""
    person_running: int | None = setting(
        "COGENCY_PERSON_RUNNING",
        parsers.limit(1_000),
        4,
        section=Section.ACCESS,
        description=(
            "Maximum number of answers in progress for one person, across all processes. Answers that start at the "
            "same moment can exceed this limit. With 0, there is no limit."
        ),
    )
    """A few parallel threads: a quarter of one process's slots."""
    max_iterations: int = setting(
        "COGENCY_MAX_ITERATIONS",
        parsers.whole(1, 100),
        10,
        section=Section.BOUNDS,
        description="Maximum number of model calls for one answer.",
    )
    """A larger task is better asked again, with what was found."""
    lease_s: float = setting(
        "COGENCY_LEASE_S",
        parsers.seconds(600),
        9.0,
        section=Section.BOUNDS,
        description=(
            "How many seconds a process can be silent before another one takes over its answers. "
            "Starting with the third attempt at an answer, the time is up to four times as long."
        ),
    )
    """Longer than a busy machine's pauses. After a kill another process continues its answers within a second more."""
