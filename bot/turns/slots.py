"""How many turns run at once in one process, and what may be claimed for a free slot.

Above: `bot.turns.worker`. Below: the port Clock.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from agent.ports import Clock
from agent.records import Claiming


@dataclass(frozen=True, slots=True)
class TurnsLimits:
    max_running: int = 16
    """Turns that run at once in one process; more wait in the ledger."""
    per_person: int | None = 4
    """Of them of one person, in all processes: enough for several threads, and others always find a free slot."""
    max_attempts: int = 10
    """Claims of a turn that gets no further: a question that crashes the process must not crash it for ever. Not fewer,
    because whoever kills a process takes innocent turns along."""
    lease: timedelta = timedelta(seconds=30)
    """How long a silent worker keeps its turn; also how long a take-over takes."""
    sweep_s: float = 1.0
    """How often the ledger is looked at when nobody rings: finds leases that ran out, and what a lost ring told."""
    end_s: float = 10.0
    """How long whoever stops answers waits for their end; what they write after a forgetting the ledger refuses."""


@dataclass(slots=True)
class Slots:
    """`sources`: see `Turns`. `are_open`: whether anything is answered here now."""

    limits: TurnsLimits
    owner: str
    clock: Clock
    sources: Callable[[], frozenset[str] | None]
    are_open: bool = False
    promised: int = 0
    """Kept free for what is just taken in."""

    def free(self, running: int) -> Claiming | None:
        """What may be claimed while so many turns run; None while there is no slot for it."""
        limits = self.limits
        if not self.are_open or running + self.promised >= limits.max_running:
            return None
        return Claiming(self.owner, self.clock.now(), limits.lease, limits.per_person, self.sources())

    @contextmanager
    def promise(self, claiming: Claiming | None) -> Generator[None]:
        """Keep the slot of `claiming`, if there is one, until it is claimed."""
        self.promised += claiming is not None
        try:
            yield
        finally:
            self.promised -= claiming is not None
