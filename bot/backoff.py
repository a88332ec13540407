"""How long to wait after something failed, and how often to log it. Pure: times are `Clock.monotonic` seconds.

Rules
- The pause doubles with each failure of one cause, up to a cap, and begins anew only when that cause itself has
  worked: that looking for a message works says nothing about posting it.
- A cause is logged once a minute. How often it was met in between is said with the next line.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from cachetools import LRUCache

FIRST_S: Final = 1.0
MOST_S: Final = 30.0
"""Quick after a lost packet, gentle with a platform that is down."""

AGAIN_S: Final = timedelta(minutes=1).total_seconds()
"""Who watches a log learns that it goes on; what fails a hundred times a minute does not fill it."""
MAX_CAUSES: Final = 1_000
"""Beyond that the oldest are forgotten, and may be logged again."""


@dataclass(slots=True)
class Backoff:
    """The pauses after failures, by their causes."""

    first_s: float = FIRST_S
    most_s: float = MOST_S
    _pauses: LRUCache[str, float] = field(default_factory=lambda: LRUCache(MAX_CAUSES))

    def failed(self, cause: str = "") -> float:
        """It failed, once more: wait so many seconds."""
        self._pauses[cause] = pause = min(self.most_s, self._pauses.get(cause, self.first_s / 2) * 2)
        return pause

    def worked(self, cause: str = "") -> None:
        self._pauses.pop(cause, None)


@dataclass(slots=True)
class OncePerMinute:
    """Whether a line about a cause is due."""

    _lines: LRUCache[str, tuple[float, int]] = field(default_factory=lambda: LRUCache(MAX_CAUSES))
    """When each cause was logged last, and how often it was met since."""

    def due(self, cause: str, now: float) -> str | None:
        """None if it was logged a moment ago. Else what to add to the line: how often it was met since the last one."""
        logged, met = self._lines.get(cause, (float("-inf"), 0))
        due = now - logged >= AGAIN_S
        self._lines[cause] = (now, 0) if due else (logged, met + 1)
        if not due:
            return None
        return f" (and {met} more since the last such line)" if met else ""
