"""How many messages are taken in, and what is said to whoever writes more. Pure.

Above: `bot.access.gate`, `bot.app`. Below: `agent.admission`.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from agent.admission import BacklogFull, Closed, Obstacle, Rate, RateReached, Whose
from bot.amounts import counted
from bot.local_time import at

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)


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
