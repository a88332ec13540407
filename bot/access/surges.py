"""How many messages are taken in, and what is said to whoever writes more. Pure.

Questions are counted by the ledger, in the transaction that stores them. What is not stored as a question (orders, and
talk that is overheard) is counted here, by each process in its memory; so are questions, as those that are forgotten
are in no ledger any more.
"""

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, assert_never

from agent.admission import BacklogFull, Closed, Obstacle, Rate, RateReached, Whose
from bot.amounts import counted
from bot.local_time import at

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)

MAX_COUNTED: Final = 2_000
"""People and channels that are counted at once; of more, those that were met longest ago begin anew."""


@dataclass(frozen=True, slots=True)
class Surges:
    """No limits, unless they are given."""

    rates: tuple[Rate, ...] = ()
    backlog: int | None = None

    @classmethod
    def of(
        cls, *, person_minute: int | None, person_hour: int | None, channel_minute: int | None, backlog: int | None
    ) -> "Surges":
        """From the settings; None is no limit."""
        wanted = (
            (Whose.PERSON, person_minute, MINUTE),
            (Whose.PERSON, person_hour, HOUR),
            (Whose.CHANNEL, channel_minute, MINUTE),
        )
        return cls(tuple(Rate(whose, most, within) for whose, most, within in wanted if most is not None), backlog)


@dataclass(slots=True)
class Tally:
    """Counts in memory what people do, against the same rates as their questions."""

    rates: tuple[Rate, ...] = ()
    _counted: dict[tuple[Rate, str], deque[datetime]] = field(default_factory=dict[tuple[Rate, str], "deque[datetime]"])

    def obstacle(self, person: str, channel: str, now: datetime) -> RateReached | None:
        """None if it is within all rates; it is then counted. Else the rate that is reached."""
        reached = self.reached(person, channel, now)
        if reached is None:
            self.count(person, channel, now)
        return reached

    def reached(self, person: str, channel: str, now: datetime) -> RateReached | None:
        """The rate that stands in the way of one more; None if there is none."""
        for rate in self.rates:
            times = self._times(rate, person, channel)
            if len(times) == rate.most and times[0] > now - rate.within:
                return RateReached(rate, times[0] + rate.within)
        return None

    def count(self, person: str, channel: str, now: datetime) -> None:
        for rate in self.rates:
            self._times(rate, person, channel).append(now)

    def _times(self, rate: Rate, person: str, channel: str) -> "deque[datetime]":
        """When what counts was done, as many as the rate allows."""
        key = (rate, {Whose.PERSON: person, Whose.CHANNEL: channel}.get(rate.whose, ""))
        times = self._counted.pop(key, None)
        self._counted[key] = times = deque[datetime](maxlen=rate.most) if times is None else times
        while len(self._counted) > MAX_COUNTED:
            del self._counted[next(iter(self._counted))]
        return times


def sentence(obstacle: Obstacle, zone: str) -> tuple[str, str]:
    """A word for the reason, and the sentence: what is too much, and until when, in the person's time zone."""
    match obstacle:
        case RateReached(rate, free_at):
            return rate.whose, _too_many(rate, free_at, zone)
        case BacklogFull(waiting):
            return "backlog", (
                f"I have {counted(waiting, 'question', 'questions')} to answer already, so I could not take yours; "
                "please ask again in a few minutes."
            )
        case Closed():
            return "budget", "Nothing is taken in at the moment; please ask again later."
        case _:
            assert_never(obstacle)


def _too_many(rate: Rate, free_at: datetime, zone: str) -> str:
    count = counted(rate.most, "message", "messages")
    within = "a minute" if rate.within == MINUTE else "an hour"
    match rate.whose:
        case Whose.PERSON:
            whose = f"I take {count} {within} from one person"
        case Whose.CHANNEL:
            whose = f"I take {count} {within} in one channel"
        case Whose.EVERYONE:
            whose = f"I take {count} {within} in all"
        case _:
            assert_never(rate.whose)
    return f"{whose}, so I did not read this one; please ask again after {at(free_at, zone)}."
