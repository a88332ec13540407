"""Pauses between attempts, and a log that does not repeat itself."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from cachetools import LRUCache

# How long to wait after a failure, and how often to log it. The pause doubles with each failure of one cause, up to a
# limit, and is reset only when that cause itself has worked. A cause is logged once a minute, with the number of
# failures in between.

FIRST_S: Final = 1.0
MAX_PAUSE_S: Final = 30.0  # Short after a lost packet, long enough for a platform that is down

# Often enough to show in a log that a failure persists; seldom enough that frequent failures do not fill it.
LOG_INTERVAL_S: Final = timedelta(minutes=1).total_seconds()
MAX_CAUSES: Final = 1_000  # The oldest beyond that are dropped, and may be logged again


@dataclass(slots=True)
class Backoff:
    """Computes the pauses after failures, for each cause by itself."""

    first_s: float = FIRST_S
    most_s: float = MAX_PAUSE_S
    _pauses: LRUCache[str, float] = field(default_factory=lambda: LRUCache(MAX_CAUSES))

    def failed(self, cause: str = "") -> float:
        """Record a failure, and return how many seconds to wait."""
        self._pauses[cause] = pause = min(self.most_s, self._pauses.get(cause, self.first_s / 2) * 2)
        return pause

    def worked(self, cause: str = "") -> None:
        self._pauses.pop(cause, None)


@dataclass(slots=True)
class OncePerMinute:
    """Decides whether a log line about a cause is due."""

    _lines: LRUCache[str, tuple[float, int]] = field(default_factory=lambda: LRUCache(MAX_CAUSES))
    """When each cause was last logged, and how often it occurred since."""

    def due(self, cause: str, now: float) -> str | None:
        """Return None if it was logged within a minute, else what to append to the line: how often it was left out."""
        logged, count = self._lines.get(cause, (float("-inf"), 0))
        due = now - logged >= LOG_INTERVAL_S
        self._lines[cause] = (now, 0) if due else (logged, count + 1)
        if not due:
            return None
        return f" (and {count} more since the last such line)" if count else ""
