"""How often one method of the Web API may be called, shared fairly. PURE: it answers "in so many seconds".

Above: `surface`. Below: nothing. Times are `Clock.monotonic` seconds.

The rules. Slack counts calls per method, workspace and app, not per message. So each of n open replies edits at most
every n-th time; a bucket of a few tokens keeps the sum within the limit, however unlucky the moments. Nothing is kept
for whoever is told to wait: they come back with newer text.
"""

from dataclasses import dataclass, field

ACTIVE_S = 30.0
"""A reply that has not asked for so long takes no share: longer than the slowest pace of a live one."""


@dataclass(slots=True)
class Budget:
    """`per_minute` calls on the average, `burst` of them at once."""

    per_minute: float
    burst: int = 1
    _spent: float = 0.0
    """Tokens that are not there, as of `_as_of`."""
    _as_of: float = 0.0
    _blocked_until: float = float("-inf")
    _asked: dict[str, float] = field(default_factory=dict[str, float])
    _called: dict[str, float] = field(default_factory=dict[str, float])

    def wait(self, who: str, now: float) -> float:
        """0.0: call now, it is counted. Else ask again after so many seconds."""
        self._refill(now)
        self._asked[who] = now
        interval = 60 / self.per_minute
        own_turn = self._called.get(who, float("-inf")) + len(self._asked) * interval
        token = now + max(0.0, self._spent + 1 - self.burst) * interval
        wait = max(own_turn, token, self._blocked_until) - now
        if wait > 0:
            return wait
        self._called[who] = now
        self._spent += 1
        return 0.0

    def limited(self, now: float, retry_after_s: float) -> None:
        """Slack refused a call: nobody calls before this time."""
        self._blocked_until = max(self._blocked_until, now + retry_after_s)

    def left(self, who: str) -> None:
        """This one will not call again."""
        self._asked.pop(who, None)
        self._called.pop(who, None)

    def _refill(self, now: float) -> None:
        self._spent = max(0.0, self._spent - (now - self._as_of) * self.per_minute / 60)
        self._as_of = now
        for who in [who for who, asked in self._asked.items() if now - asked > ACTIVE_S]:
            self.left(who)
