"""How often a platform's methods may be called, shared fairly between replies and between the bot's processes. Pure,
except for the budget that all processes share.
"""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from agent.ports.shared_rates import CallRate, CallsTaken
from bot.chat.replicas import Replicas

# A reply that has not asked for this long, or since it was due, takes no share: much longer than between two words.
ACTIVE_S = 30.0

# The pause of a share, as a multiple of the pause that would exactly use up the limit: EAGER after a quiet minute, CALM
# after a full one, linear in between, and 1 on average. Callers that start at twice the speed thus reach the limit only
# when the first minute is over.
EAGER, CALM = 0.5, 1.5

MINUTE: Final = 60.0

# How long calls that were taken from the shared budget may be made. They count from when they were taken, so the window
# that is counted is longer by this.
TAKEN_S: Final = 5.0
NO_TOTALS: Final = CallsTaken(calls=0, wait_s=0.0, made=0, asking=0)
# At most one in SHARE_TAKEN of a window's calls is taken at once: a reply may end before it has made them.
SHARE_TAKEN: Final = 12


@dataclass(slots=True)
class MethodRate:
    """At most `calls` in any `window_s` seconds.

    Times are `Clock.monotonic` seconds; a time earlier than one already passed counts as that one.

    Rules. Slack counts calls per method, workspace and app, not per message. So each of n open replies makes at most
    every n-th call. The pause is short after few recent calls and grows with their number, so that all replies together
    settle below the limit, and no window ever holds more calls than allowed. No place is reserved for a caller that has
    to wait: it comes back with newer text. Posts are rare and urgent: they queue, and their places are reserved.

    With `replicas`, calls of `name` are taken from a budget of all processes: several at once while many are left, so
    that edits seldom ask the database. Its answer includes how many callers ask in other processes; they count as open
    replies do.
    """

    calls: int
    window_s: float
    name: str = ""
    replicas: Replicas | None = None
    _made: deque[float] = field(default_factory=deque[float])
    _blocked_until: float = float("-inf")
    _asked: dict[str, float] = field(default_factory=dict[str, float])
    _last: dict[str, float] = field(default_factory=dict[str, float])
    _due: dict[str, float] = field(default_factory=dict[str, float])
    """When callers that were refused are due again, if they have not called since."""
    _latest: float = float("-inf")
    _taken: int = 0
    _taken_until: float = float("-inf")
    _unreported: int = 0
    """Calls made without being taken from the shared budget."""
    _totals: CallsTaken = NO_TOTALS
    _totals_at: float = float("-inf")
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, who: str, now: float) -> float:
        """Return 0.0 to call now, which is counted; else the seconds after which to ask again, or call `left`."""
        while self.replicas is not None and not self.replicas.is_alone and self._lacks_one(who, now):
            async with self._taking:
                if self._lacks_one(who, now):
                    await self._take(self.replicas, now)
        return self.wait(who, now)

    def wait(self, who: str, now: float) -> float:
        """Return 0.0 to call now, which is counted, or the seconds to wait, as far as this process alone knows."""
        now = self._refresh(who, now)
        wait = self._free_at(who, now) - now
        if wait > 0:
            self._due.setdefault(who, now + wait)
            return wait
        self._made.append(now)
        self._last[who] = now
        self._due.pop(who, None)
        if self._has_taken(now):
            self._taken -= 1
        else:
            self._unreported += 1
        return 0.0

    def is_scarce(self, now: float) -> bool:
        """Return whether half of a window's calls have been made."""
        self._forget_old(now)
        return self._used(now) >= 0.5

    async def try_call(self, who: str, now: float) -> bool:
        """Return whether an optional call can be made now; if so, it is counted."""
        made = await self.ask(who, now) == 0.0
        self.remove(who)
        return made

    def block_for(self, now: float, retry_after_s: float) -> None:
        """The platform refused a call: allow none for `retry_after_s` seconds."""
        self._blocked_until = max(self._blocked_until, now + retry_after_s)

    async def hold(self, now: float, retry_after_s: float) -> None:
        """Allow no call for `retry_after_s` seconds in all processes, but for those that one has already taken."""
        self.block_for(now, retry_after_s)
        if self.replicas is not None:
            await self.replicas.hold(self.name, retry_after_s)

    def remove(self, who: str) -> None:
        """This caller will not call again."""
        for times in (self._asked, self._last, self._due):
            times.pop(who, None)

    @property
    def _share(self) -> int:
        return self.calls if self.replicas is None else self.replicas.share(self.calls)

    def _free_at(self, who: str, now: float) -> float:
        share = self._last.get(who, float("-inf")) + self._pause(now)
        return max(share, self._room_at(who, now), self._blocked_until)

    def _pause(self, now: float) -> float:
        asking = len(self._asked) + self._current_totals(now).asking
        return asking * (EAGER + (CALM - EAGER) * self._used(now)) * self.window_s / self._share

    def _used(self, now: float) -> float:
        return min(1.0, max(len(self._made), self._current_totals(now).made) / self._share)

    def _current_totals(self, now: float) -> CallsTaken:
        """The last totals of all processes, unless they are outdated."""
        is_old = now - self._totals_at > ACTIVE_S or (self.replicas is not None and self.replicas.is_cut_off)
        return NO_TOTALS if is_old else self._totals

    def _has_taken(self, now: float) -> bool:
        return self._taken > 0 and now < self._taken_until

    def _lacks_one(self, who: str, now: float) -> bool:
        """Whether a call would be allowed now if one were taken."""
        now = self._refresh(who, now)
        return not self._has_taken(now) and self._free_at(who, now) <= now

    async def _take(self, replicas: Replicas, now: float) -> None:
        soon = TAKEN_S * len(self._asked) / self._pause(now)
        count = max(1, min(round(soon), self.calls // SHARE_TAKEN))
        rate = CallRate(self.calls, timedelta(seconds=self.window_s + TAKEN_S))
        taken = await replicas.take(self.name, rate, count, len(self._asked), min(self._unreported, len(self._made)))
        if taken is not None:
            self._totals, self._totals_at, self._unreported = taken, now, 0
            self._taken, self._taken_until = taken.calls, now + TAKEN_S
            self.block_for(now, taken.wait_s)

    def _room_at(self, who: str, now: float) -> float:
        """When there is room for a call besides those that are due before it."""
        mine = self._due.get(who, now)
        earlier = sum(due < mine for other, due in self._due.items() if other != who)
        missing = earlier + 1 - (self._share - len(self._made))
        if missing <= 0:
            return now
        if missing <= len(self._made):
            return self._made[missing - 1] + self.window_s
        # More calls are due before it than a window holds: it is due after the next window, behind the surplus.
        full = self._made[-1] + self.window_s if self._made else now
        return full + (missing - len(self._made)) * self.window_s / self._share

    def _refresh(self, who: str, now: float) -> float:
        """Record that `who` asks, drop callers and calls that no longer count, and return the current time."""
        self._latest = now = max(now, self._latest)
        self._asked[who] = now
        active = {other: max(asked, self._due.get(other, asked)) for other, asked in self._asked.items()}
        for other in [other for other, active_until in active.items() if now - active_until > ACTIVE_S]:
            self.remove(other)
        self._forget_old(now)
        return now

    def _forget_old(self, now: float) -> None:
        while self._made and self._made[0] + self.window_s <= now:
            self._made.popleft()
