"""What this process remembers in passing, within bounds, and may lose with a restart. Times are arguments.

Answers of platforms, and keys that came lately.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from cachetools import LRUCache, TLRUCache

from agent.ports.clock import Clock

T = TypeVar("T")

# More messages than people come back to, and more people or channels than write to one bot within a minute.
MAX_ENTRIES: Final = 2_000

# Authority is resolved at the time of use; a change of it takes effect within a minute.
MAX_AGE_S: Final = 60.0

FRESH_S: Final = 5.0  # For answers that a minute would make too old, and that many callers may need at the same time


def until_too_old(_key: object, answer: tuple[float, object], _now: float) -> float:
    """Return when an answer expires, for a TLRUCache: counted from when it was asked for, not from when it came."""
    return answer[0] + MAX_AGE_S


class SingleFlight(Generic[T]):
    """Loads once for all callers who need the same thing at the same time.

    The load belongs to none of them: one who is cancelled, or does not wait so long, leaves it to the others. An error
    is raised to all who wait, and is not kept.
    """

    def __init__(self) -> None:
        self._loading: dict[Hashable, asyncio.Task[T]] = {}

    async def load(self, key: Hashable, load: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the result of `load`, or of one for this key that is under way. Raises what it raises."""
        task = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.create_task(load())
            task.add_done_callback(partial(self._ended, key))
        return await asyncio.shield(task)

    def drop(self, key: Hashable) -> None:
        """Let later callers load again: what is under way may have been asked before a change."""
        self._loading.pop(key, None)

    def _ended(self, key: Hashable, task: "asyncio.Task[T]") -> None:
        if self._loading.get(key) is task:
            del self._loading[key]
        if not task.cancelled():
            task.exception()  # retrieved, also if nobody waits any more


@dataclass(eq=False, frozen=True, slots=True)
class _Asked:
    """A request that is under way, and when it began."""

    at: float


class ExpiringCache(Generic[T]):
    """Caches answers of a platform by key. `load` asks the platform; `get` calls it again once an answer is too old.
    Callers at the same time share one request.
    """

    def __init__(self, load: Callable[[str], Awaitable[T]], clock: Clock) -> None:
        self._load = load
        self._clock = clock
        self._flights = SingleFlight[T]()
        self._asked: dict[str, _Asked] = {}  # What is under way
        self._known = TLRUCache[str, tuple[float, T], float](MAX_ENTRIES, until_too_old, clock.monotonic)

    async def get(self, key: str, max_age_s: float = MAX_AGE_S) -> T:
        """Return an answer that was asked for within `max_age_s` seconds. Raises what `load` raises."""
        known = self._known.get(key)
        if known is not None and self._clock.monotonic() - known[0] <= max_age_s:
            return known[1]
        now = self._clock.monotonic()
        if (asked := self._asked.get(key)) is not None and now - asked.at > max_age_s:
            self._flights.drop(key)
        return await self._flights.load(key, partial(self._ask, key, now))

    async def _ask(self, key: str, now: float) -> T:
        asked = self._asked[key] = _Asked(now)
        try:
            value = await self._load(key)
        finally:
            is_newest = self._asked.get(key) is asked  # else it was dropped, or asked for again meanwhile
            if is_newest:
                del self._asked[key]
        if is_newest:
            self._known[key] = now, value
        return value

    def drop(self, key: str) -> None:
        """Forget an answer that has changed, and one that is under way and may be older than the change."""
        self._known.pop(key, None)
        self._asked.pop(key, None)
        self._flights.drop(key)


class RecentKeys(LRUCache[str, None]):
    """The keys that came recently, for deliveries that would be shown twice and that no table records."""

    def __init__(self) -> None:
        super().__init__(MAX_ENTRIES)

    def first(self, key: str) -> bool:
        """Return whether this key is new."""
        known = key in self
        self[key] = None
        return not known
