"""How often one method of the Web API may be called, shared fairly. Pure: it answers "in so many seconds".

Above: `surface`. Below: nothing. Times are `Clock.monotonic` seconds.

The rules. Slack counts edits per workspace and app, not per message. So each of n open replies edits at most every
n-th time, at a pace whose sum stays below the limit; and no window of time ever holds more calls than allowed. Nothing
is kept for whoever is told to wait: they come back with newer text. Posts are rare and wanted soon: they queue, and
their places are kept.
"""

from collections import deque
from dataclasses import dataclass, field

ACTIVE_S = 30.0
"""A reply that has not asked for so long takes no share: longer than the slowest pace of a live one."""

HEADROOM = 1.1
"""How much slower than the limit the shares are together, so that its edge is met by chance only."""


@dataclass(slots=True)
class Budget:
    """At most `calls` in any `window_s` seconds."""

    calls: int
    window_s: float
    _made: deque[float] = field(default_factory=deque[float])
    _blocked_until: float = float("-inf")
    _asked: dict[str, float] = field(default_factory=dict[str, float])
    _last: dict[str, float] = field(default_factory=dict[str, float])

    def wait(self, who: str, now: float) -> float:
        """0.0: call now, it is counted. Else ask again after so many seconds."""
        self._look_around(who, now)
        share = self._last.get(who, float("-inf")) + len(self._asked) * HEADROOM * self.window_s / self.calls
        room = self._made[0] + self.window_s if len(self._made) == self.calls else now
        wait = max(share, room, self._blocked_until) - now
        if wait > 0:
            return wait
        self._made.append(now)
        self._last[who] = now
        return 0.0

    def limited(self, now: float, retry_after_s: float) -> None:
        """Slack refused a call: nobody calls before this time."""
        self._blocked_until = max(self._blocked_until, now + retry_after_s)

    def left(self, who: str) -> None:
        """This one will not call again."""
        self._asked.pop(who, None)
        self._last.pop(who, None)

    def _look_around(self, who: str, now: float) -> None:
        """Who shares, and what still counts."""
        self._asked[who] = now
        for other in [other for other, asked in self._asked.items() if now - asked > ACTIVE_S]:
            self.left(other)
        while self._made and self._made[0] <= now - self.window_s:
            self._made.popleft()


@dataclass(slots=True)
class Queue:
    """One call every `interval_s` seconds, first come, first served."""

    interval_s: float
    _next: float = float("-inf")
    _places: dict[str, float] = field(default_factory=dict[str, float])

    def join(self, now: float) -> float:
        """Take the next place; call after so many seconds."""
        wait = max(0.0, self._next - now)
        self._next = now + wait + self.interval_s
        return wait

    def wait(self, who: str, now: float) -> float:
        """0.0: call now, and the place is given up. Else ask again after so many seconds: it is kept."""
        if who not in self._places:
            self._places[who] = now + self.join(now)
        if (wait := self._places[who] - now) > 0:
            return wait
        del self._places[who]
        return 0.0

    def limited(self, now: float, retry_after_s: float) -> None:
        """Slack refused a call: nobody calls before this time."""
        self._next = max(self._next, now + retry_after_s)
