"""One team's flood beside another team's questions, for `benchmarks.scale`: the real ledger on a simulated clock.

Many people of one team ask at once; a person of another team asks each second. The ledger decides whose turn is next;
the time of each answer comes from the same random numbers in every run. So only the order is measured, and the result
is the same on every machine.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from statistics import fmean
from typing import Final

from agent.events import Outcome
from agent.incoming import Incoming, Person
from agent.memory.audience import Place, TeamAudience
from agent.turn_records import Claim, Claiming, Closing
from store.engine import Store

BEGIN: Final = datetime(2026, 1, 5, 9, tzinfo=UTC)
LEASE: Final = timedelta(hours=12)
FLOODING: Final = "A"
ASKING: Final = "B"


@dataclass(frozen=True, slots=True)
class Flood:
    """`slots`: answers at once, in all processes. An answer takes `takes_s` on average."""

    questions: int = 1_000
    people: int = 100
    seconds: int = 60
    slots: int = 16
    takes_s: float = 3.0
    per_person: int = 4


def asked(flood: Flood, *, flooded: bool) -> list[tuple[float, Incoming]]:
    """Return all questions, each with its second."""
    one = [(second + 0.5, _question(ASKING, second % 5, second)) for second in range(flood.seconds)]
    many = [(0.0, _question(FLOODING, n % flood.people, n)) for n in range(flood.questions if flooded else 0)]
    return sorted([*many, *one], key=lambda each: each[0])


def _question(team: str, who: int, number: int) -> Incoming:
    name = f"{team}{number}"
    return Incoming(
        source="chat", event_id=name, channel=f"{team}-channel", message_id=name, conversation=f"thread {name}",
        person=Person(f"chat:{team}:{who}", f"{team}{who}"), place=Place(TeamAudience(f"chat:{team}")), text="?",
        time=BEGIN, team=team,
    )  # fmt: skip


async def delays(store: Store, flood: Flood, *, flooded: bool) -> list[float]:
    """Return the seconds from each question of the other team to the end of its answer."""
    coming = deque(asked(flood, flooded=flooded))
    waiting, dice, order = {each.event_id: at for at, each in coming if each.team == ASKING}, random.Random(1), count()
    ending: list[tuple[float, int, Claim]] = []
    found: list[float] = []
    while waiting:
        if ending and (not coming or ending[0][0] <= coming[0][0]):
            now, _, claim = heapq.heappop(ending)
            await store.ledger.finish(claim, Closing(Outcome.ANSWERED, "!"), _moment(now))
            if (at := waiting.pop(claim.incoming.event_id, None)) is not None:
                found.append(now - at)
        else:
            now, incoming = coming.popleft()
            await store.ledger.accept(replace(incoming, time=_moment(now)))
        while len(ending) < flood.slots:
            taken = await store.ledger.claim(Claiming("worker", _moment(now), LEASE, per_person=flood.per_person))
            if taken is None:
                break
            heapq.heappush(ending, (now + flood.takes_s * dice.uniform(0.5, 1.5), next(order), taken))
    return found


def first_come_first_served(flood: Flood) -> list[float]:
    """Return the same seconds if questions are served in the order of their arrival: the baseline."""
    dice, free = random.Random(1), [0.0] * flood.slots
    found: list[float] = []
    for at, incoming in asked(flood, flooded=True):
        end = max(at, heapq.heappop(free)) + flood.takes_s * dice.uniform(0.5, 1.5)
        heapq.heappush(free, end)
        if incoming.team == ASKING:
            found.append(end - at)
    return found


def ratio(flooded: Sequence[float], calm: Sequence[float], of: Callable[[Sequence[float]], float] = fmean) -> float:
    return of(flooded) / of(calm)


def _moment(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)
