"""The queue for calls of one method of a platform, in all processes of the bot together: for posts, which are rare and
urgent. Edits share a `MethodRate` in place of it.
"""

from dataclasses import dataclass, field

from bot.chat.replicas import Replicas


@dataclass(slots=True)
class MethodQueue:
    """One call every `interval_s` seconds, first come, first served; `burst` of them at once after a pause. With
    `replicas`, in all processes together.
    """

    interval_s: float
    name: str = ""
    replicas: Replicas | None = None
    burst: int = 1
    _next: float = float("-inf")
    _places: dict[str, float] = field(default_factory=dict[str, float])

    def join(self, now: float) -> float:
        """Take the next place in this process; return in how many seconds to call."""
        place = max(self._next, now)
        self._next = place + self.interval_s
        return max(0.0, place - self._early_s - now)

    @property
    def _early_s(self) -> float:
        """How much earlier than its place in an even row a call may be."""
        return (self.burst - 1) * self.interval_s

    async def book(self, now: float) -> float:
        """Take the next place; return in how many seconds to call."""
        wait = self.join(now)
        shared_wait = None if self.replicas is None else await self.replicas.book(self.name, self.interval_s)
        if shared_wait is not None:
            wait = max(wait, shared_wait - self._early_s)
            self._next = max(self._next, now + shared_wait + self.interval_s)
        return wait

    async def ask(self, who: str, now: float) -> float:
        """Return 0.0 to call now, which gives up the place; else the seconds after which to ask again for it."""
        if who not in self._places:
            self._places[who] = now + await self.book(now)
        if (wait := self._places[who] - now) > 0:
            return wait
        del self._places[who]
        return 0.0

    def block_for(self, now: float, retry_after_s: float) -> None:
        """The platform refused a call: allow none for `retry_after_s` seconds."""
        self._next = max(self._next, now + retry_after_s + self._early_s)

    async def hold(self, now: float, retry_after_s: float) -> None:
        """Allow no call for `retry_after_s` seconds in all processes."""
        self.block_for(now, retry_after_s)
        if self.replicas is not None:
            await self.replicas.hold(self.name, retry_after_s + self._early_s)
