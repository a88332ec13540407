"""What this process remembers in passing, within bounds, and may lose with a restart. Pure.

Rule: a failure is not remembered, and nothing is served beyond its age: the caller then decides what unknown means.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from cachetools import LRUCache, TLRUCache

from agent.ports import Clock

T = TypeVar("T")

MAX_ENTRIES: Final = 2_000
"""As many messages as people still come back to, and as many people or channels as write to one bot within a minute."""

MAX_AGE_S: Final = 60.0
"""Authority is resolved at the time of use; a minute is the most that a change may take to count."""


def until_too_old(_key: object, answer: tuple[float, object], _now: float) -> float:
    """For a TLRUCache of answers with the times at which they were asked for: an answer may be old when it comes."""
    return answer[0] + MAX_AGE_S


class ExpiringCache(Generic[T]):
    """`load` asks the platform; `get` asks it again once what is known is too old."""

    def __init__(self, load: Callable[[str], Awaitable[T]], clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._known = TLRUCache[str, tuple[float, T], float](MAX_ENTRIES, until_too_old, clock.monotonic)

    async def get(self, key: str) -> T:
        """Raises what `load` raises."""
        if (known := self._known.get(key)) is not None:
            return known[1]
        asked_at = self._clock.monotonic()
        value = await self._load(key)
        self._known[key] = asked_at, value
        return value

    def drop(self, key: str) -> None:
        """It is known to have changed."""
        self._known.pop(key, None)


class RecentKeys(LRUCache[str, None]):
    """Which keys have come by lately: for what would be shown twice, and that nothing stores."""

    def __init__(self) -> None:
        super().__init__(MAX_ENTRIES)

    def first(self, key: str) -> bool:
        """Whether this key comes for the first time."""
        known = key in self
        self[key] = None
        return not known
