"""The latest word on each of the latest things: a help, which a restart may lose. Pure."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agent.ports import Clock

MAX_ENTRIES = 2_000
"""As many things as people still come back to."""


@dataclass(slots=True)
class LRUCache:
    _kept: dict[str, str] = field(default_factory=dict[str, str])

    def keep(self, key: str, text: str) -> None:
        self._kept.pop(key, None)
        self._kept[key] = text
        while len(self._kept) > MAX_ENTRIES:
            del self._kept[next(iter(self._kept))]

    def of(self, key: str) -> str:
        """ "" if there is none."""
        return self._kept.get(key, "")


# --------------------------------------------------------------------------------------------------
# What is remembered in passing: facts of the platform for a minute at most, and what has been done already.
#
# Rule: a failure is not remembered, and nothing is served beyond its age: whoever asks then decides what unknown means.


T = TypeVar("T")

MAX_AGE_S = 60.0
"""Authority is resolved at the time of use; a minute is the most that a change may take to count."""

"""As many people or channels as write to one bot within a minute."""


@dataclass(slots=True)
class ExpiringCache(Generic[T]):
    """`load` asks the platform; `get` asks it again once what is known is too old."""

    load: Callable[[str], Awaitable[T]]
    clock: Clock
    _known: dict[str, tuple[float, T]] = field(default_factory=dict[str, "tuple[float, T]"])

    async def get(self, key: str) -> T:
        """Raises what `load` raises."""
        now = self.clock.monotonic()
        if key in self._known and now - self._known[key][0] <= MAX_AGE_S:
            return self._known[key][1]
        value = await self.load(key)
        self._known.pop(key, None)
        self._known[key] = (now, value)
        while len(self._known) > MAX_ENTRIES:
            del self._known[next(iter(self._known))]
        return value

    def drop(self, key: str) -> None:
        """It is known to have changed."""
        self._known.pop(key, None)


@dataclass(slots=True)
class RecentKeys:
    """Which of the latest keys have come by: for what would be shown twice, and that nothing stores."""

    _seen: dict[str, None] = field(default_factory=dict[str, None])

    def __contains__(self, key: str) -> bool:
        return key in self._seen

    def first(self, key: str) -> bool:
        """Whether this key comes for the first time."""
        if key in self._seen:
            return False
        self._seen[key] = None
        while len(self._seen) > MAX_ENTRIES:
            del self._seen[next(iter(self._seen))]
        return True
