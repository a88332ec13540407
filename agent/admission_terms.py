"""On which terms a message is taken in: how many in which time, and how many may wait. Pure values.

Rules. What counts is when the ledger took a message in, by the clock of the terms, never the platform's time. A message
that was taken in before is told as such, whatever the terms are by now.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import TypeAlias

from agent import texts
from agent.errors import NotAdmitted


class Whose(StrEnum):
    """Whose messages or tokens a limit is for."""

    PERSON = "person"
    CHANNEL = "channel"
    WORKSPACE = "workspace"
    EVERYONE = "everyone"


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `limit` messages in any `within`; of one person, in one channel or workspace, or in all."""

    whose: Whose
    limit: int
    within: timedelta


@dataclass(frozen=True, slots=True)
class Terms:
    """What must hold for a message to be taken in at `now`.

    `backlog`: no more than so many turns may wait already; None for no limit. `closed`: nothing new is taken in.
    """

    now: datetime
    rates: tuple[Rate, ...] = ()
    backlog: int | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class RateReached:
    """`free_at`: when the next one is taken in."""

    rate: Rate
    free_at: datetime


@dataclass(frozen=True, slots=True)
class BacklogFull:
    waiting: int


@dataclass(frozen=True, slots=True)
class Closed:
    """As the terms said."""


Obstacle: TypeAlias = RateReached | BacklogFull | Closed


class TermsNotMet(NotAdmitted):
    """Nothing was stored."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(texts.TERMS_NOT_MET)
        self.obstacle = obstacle


class Authority(IntEnum):
    """What a person is where they write, from the platform's facts of this moment: a greater one may do more."""

    STRANGER = 0
    """Not a member of where the bot is at home, or nobody can say who it is."""
    GUEST = 1
    EMPLOYEE = 2
    MANAGER = 3
    ADMIN = 4
