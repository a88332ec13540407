"""How often the methods of the Web API may be called, shared fairly. Pure: it answers "in so many seconds"."""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

ACTIVE_S = 30.0
"""A reply that has not asked for so long, or since it might, takes no share: much longer than between two words."""

EAGER, CALM = 0.5, 1.5
"""How long a share's pause is, against the pause that would just use up the limit: after a quiet minute, and after a
full one. In between it grows evenly, and 1 on the average: whoever begins twice as fast arrives at the limit when the
first minute is over, not before."""

MINUTE: Final = 60.0


@dataclass(slots=True)
class MethodRate:
    """At most `calls` in any `window_s` seconds.

    Times are `Clock.monotonic` seconds; one that lies before another that was told counts as that one.

    The rules. Slack counts calls per method, workspace and app, not per message. So each of n open replies calls at
    most every n-th time: quickly while few calls were made of late, and the slower the more of them there were, so that
    all together settle below the limit; and no window of time ever holds more calls than allowed. Nothing is kept for
    whoever is told to wait: they come back with newer text. Posts are rare and wanted soon: they queue, and their
    places are kept.
    """

    calls: int
    window_s: float
    _made: deque[float] = field(default_factory=deque[float])
    _blocked_until: float = float("-inf")
    _asked: dict[str, float] = field(default_factory=dict[str, float])
    _last: dict[str, float] = field(default_factory=dict[str, float])
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When those were told to come back who have not called since."""
    _latest: float = float("-inf")

    def wait(self, who: str, now: float) -> float:
        """0.0: call now, it is counted. Else ask again after so many seconds; who will not has to say so (`left`)."""
        self._latest = now = max(now, self._latest)
        self._look_around(who, now)
        used = len(self._made) / self.calls
        pause = len(self._asked) * (EAGER + (CALM - EAGER) * used) * self.window_s / self.calls
        share = self._last.get(who, float("-inf")) + pause
        wait = max(share, self._room(who, now), self._blocked_until) - now
        if wait > 0:
            self._due.setdefault(who, now + wait)
            return wait
        self._made.append(now)
        self._last[who] = now
        self._due.pop(who, None)
        return 0.0

    def is_scarce(self, now: float) -> bool:
        """Whether half of the calls of a window have been made."""
        self._forget_old(now)
        return 2 * len(self._made) >= self.calls

    def spare(self, who: str, now: float) -> bool:
        """Whether a call that is not worth waiting for can be made now; it is then counted."""
        made = self.wait(who, now) == 0.0
        self.left(who)
        return made

    def limited(self, now: float, retry_after_s: float) -> None:
        """Slack refused a call: nobody calls before this time."""
        self._blocked_until = max(self._blocked_until, now + retry_after_s)

    def left(self, who: str) -> None:
        """This one will not call again."""
        for kept in (self._asked, self._last, self._due):
            kept.pop(who, None)

    def _room(self, who: str, now: float) -> float:
        """When there is room for a call besides those that are due before it."""
        mine = self._due.get(who, now)
        earlier = sum(due < mine for other, due in self._due.items() if other != who)
        missing = earlier + 1 - (self.calls - len(self._made))
        if missing <= 0:
            return now
        if missing <= len(self._made):
            return self._made[missing - 1] + self.window_s
        # More are due before it than a window holds: it follows the next window, as far behind as they are many.
        full = self._made[-1] + self.window_s if self._made else now
        return full + (missing - len(self._made)) * self.window_s / self.calls

    def _look_around(self, who: str, now: float) -> None:
        """Who shares, and what still counts."""
        self._asked[who] = now
        active = {other: max(asked, self._due.get(other, asked)) for other, asked in self._asked.items()}
        for other in [other for other, until in active.items() if now - until > ACTIVE_S]:
            self.left(other)
        self._forget_old(now)

    def _forget_old(self, now: float) -> None:
        while self._made and self._made[0] + self.window_s <= now:
            self._made.popleft()


@dataclass(slots=True)
class MethodQueue:
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


@dataclass(slots=True)
class MethodRates:
    """One workspace's share of each method that replies use, for all open replies: a little less than its tier."""

    updates: MethodRate = field(default_factory=lambda: MethodRate(48, MINUTE))
    """chat.update: tier 3, 50 a minute."""
    starts: MethodRate = field(default_factory=lambda: MethodRate(19, MINUTE))
    appends: MethodRate = field(default_factory=lambda: MethodRate(96, MINUTE))
    stops: MethodRate = field(default_factory=lambda: MethodRate(19, MINUTE))
    """chat.startStream, appendStream and stopStream: tier 2, 20 a minute, but for the second: tier 4, 100."""
    _posts: dict[str, MethodQueue] = field(default_factory=dict[str, MethodQueue])

    def posts(self, channel: str) -> MethodQueue:
        """chat.postMessage: one a second for each channel; short bursts pass, but nobody says how short."""
        return self._posts.setdefault(channel, MethodQueue(1.0))

    def left(self, who: str) -> None:
        """This reply has ended."""
        for budget in (self.updates, self.starts, self.appends, self.stops):
            budget.left(who)
