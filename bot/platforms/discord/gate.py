"""Whose turn it is to write in one place. Pure: it answers "in so many seconds".

Above: `connection` has one for each place, `surface` asks it. Below: nothing. Times are `Clock.monotonic` seconds.

The rules. One write at a time, and `gap_s` between the return of one and the start of the next: no delay on the way can
bring them closer together. Whoever is told to wait keeps their place, so that of n replies that grow in a channel each
writes every n-th time; what they write is what they have to say then. A place whose reply does not come back when it is
due is given up.
"""

from dataclasses import dataclass, field
from typing import Final

PATIENCE_S: Final = 2.0
"""How late a reply may come back: more than a busy process takes to wake it."""


@dataclass(slots=True, weakref_slot=True)
class Gate:
    gap_s: float
    _not_before: float = float("-inf")
    _writing: bool = False
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When those who wait were told to come back; first come, first served."""

    def wait(self, who: str, now: float) -> float:
        """0.0: write now, and say `returned`. Else ask again after so many seconds."""
        self._give_up_late(who, now)
        waiting = [*self._due]
        ahead = waiting.index(who) if who in self._due else len(waiting)
        free = now + self.gap_s if self._writing else max(now, self._not_before)
        if free > now or ahead:
            self._due[who] = free + ahead * self.gap_s
            return self._due[who] - now
        self._due.pop(who, None)
        self._writing = True
        return 0.0

    def returned(self, now: float) -> None:
        """The write has returned, well or not."""
        self._writing = False
        self._not_before = now + self.gap_s

    def _give_up_late(self, who: str, now: float) -> None:
        if self._writing:
            return
        for other, due in [*self._due.items()]:
            if other != who and max(due, self._not_before) + PATIENCE_S < now:
                del self._due[other]
