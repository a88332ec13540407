"""The rates of calls that all processes share, as a port of the store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from agent.admission_terms import Rate, RateReached


@dataclass(frozen=True, slots=True)
class CallRate:
    """Up to `calls` calls in any period of `within`."""

    calls: int
    within: timedelta


@dataclass(frozen=True, slots=True)
class CallsAsked:
    """A process's request for up to `calls` calls. `asking`: how many of its tasks want some; `made`: recent calls that
    it made without a request.
    """

    owner: str
    calls: int = 1
    asking: int = 1
    made: int = 0


@dataclass(frozen=True, slots=True)
class CallsTaken:
    """The number of granted calls. `wait_s`: if none, when to ask again; `made`: how many calls count now; `asking`:
    how many tasks of other processes want some.
    """

    calls: int
    wait_s: float
    made: int
    asking: int


class SharedRates(Protocol):
    """Rates that processes share. Names of people and places are not stored in the clear. Every method raises
    StoreError."""

    async def count(
        self, what: str, rates: Sequence[Rate], person: str, channel: str, now: datetime
    ) -> RateReached | None:
        """Count one more action of a person if it is within all of these rates. Returns the reached rate, or None."""
        ...

    async def take(self, name: str, rate: CallRate, asks: CallsAsked, now: datetime) -> CallsTaken:
        """Take calls of this name; they count from now on, even if they are not made."""
        ...

    async def book(self, name: str, gap: timedelta, now: datetime) -> timedelta:
        """Book the next place in a queue that serves one caller in each `gap`. Returns the time until then."""
        ...

    async def hold(self, name: str, until: datetime) -> None:
        """Grant no calls of this name before this time: the platform refuses them until then."""
        ...

    async def others(self, owner: str, now: datetime, lease: timedelta) -> int:
        """Register this process until `lease` is over. Returns how many other processes are registered."""
        ...
