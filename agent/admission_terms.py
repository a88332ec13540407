"""The terms on which the ledger accepts a message: rate limits, and how many turns may wait. Pure values.

Rules. The time that counts is when the ledger accepts the message, by the clock of the terms, never the platform's
time. A message that was accepted before is reported as a duplicate, whatever the terms are now.
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
    """Up to `limit` messages in any period of `within`: of one person, in one channel or workspace, or of everyone."""

    whose: Whose
    limit: int
    within: timedelta


@dataclass(frozen=True, slots=True)
class Terms:
    """The conditions for accepting a message at `now`.

    `backlog`: how many turns may already wait; None for no limit. `closed`: no new message is accepted.
    """

    now: datetime
    rates: tuple[Rate, ...] = ()
    backlog: int | None = None
    closed: bool = False


@dataclass(frozen=True, slots=True)
class RateReached:
    """`free_at`: when the next message is accepted."""

    rate: Rate
    free_at: datetime


@dataclass(frozen=True, slots=True)
class BacklogFull:
    waiting: int


@dataclass(frozen=True, slots=True)
class Closed:
    """The terms accept no new message."""


Obstacle: TypeAlias = RateReached | BacklogFull | Closed


class TermsNotMet(NotAdmitted):
    """The message was not accepted, and nothing was stored."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(texts.TERMS_NOT_MET)
        self.obstacle = obstacle


class Authority(IntEnum):
    """A person's rank where they write, as the platform reports it now: a higher rank may do more."""

    STRANGER = 0
    """Not a member of the workspace or server, or unknown."""
    GUEST = 1
    EMPLOYEE = 2
    MANAGER = 3
    ADMIN = 4
