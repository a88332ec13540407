"""Whose turn it is to write in one place. Pure: it answers "in so many seconds".

Above: `connection` has one for each place, `surface` asks it. Below: nothing. Times are `Clock.monotonic` seconds.

The rules. One write at a time, and `gap_s` between the starts of two. A write is counted somewhere between its start
and its return; so the one that follows FEW others begins FEW gaps after the first of them has returned, and no delay on
the way can bring more than FEW of them into so long a time. Whoever is told to wait keeps their place, so that of n
replies that grow in a channel each writes every n-th time; what they write is what they have to say then. A place whose
reply does not come back when it is due is given up.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

FEW: Final = 5
"""As many writes as Discord was seen to allow in a row, in so many seconds."""

PATIENCE_S: Final = 2.0
"""How late a reply may come back: more than a busy process takes to wake it."""

LOOK_AGAIN: Final = 0.25
"""The part of a gap after which somebody asks again who waits for a write to return."""


@dataclass(slots=True, weakref_slot=True)
class Gate:
    gap_s: float
    _started: float = float("-inf")
    _returned: deque[float] = field(default_factory=lambda: deque[float](maxlen=FEW))
    _writing: bool = False
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When those who wait were told to come back; first come, first served."""

    def wait(self, who: str, now: float) -> float:
        """0.0: write now, and say `returned`. Else ask again after so many seconds."""
        self._give_up_late(who, now)
        waiting = [*self._due]
        ahead = waiting.index(who) if who in self._due else len(waiting)
        free = max(now, self._not_before)
        if self._writing:
            free = max(free, now + LOOK_AGAIN * self.gap_s)
        if free > now or ahead:
            self._due[who] = free + ahead * self.gap_s
            return self._due[who] - now
        self._due.pop(who, None)
        self._writing, self._started = True, now
        return 0.0

    def returned(self, now: float) -> None:
        """The write has returned, well or not."""
        self._writing = False
        self._returned.append(now)

    @property
    def _not_before(self) -> float:
        times = [self._started + self.gap_s, *self._returned]
        if len(self._returned) == FEW:
            times.append(self._returned[0] + FEW * self.gap_s)
        return max(times)

    def _give_up_late(self, who: str, now: float) -> None:
        if self._writing:
            return
        for other, due in [*self._due.items()]:
            if other != who and max(due, self._not_before) + PATIENCE_S < now:
                del self._due[other]
