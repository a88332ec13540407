"""What somebody was told a moment ago, and need not read again.

Above: `bot.access.gate`, and platforms that say why a message was not taken in. Below: the clock of `agent.ports`.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from agent.ports import Clock

TOLD_AGAIN: Final = timedelta(minutes=1)
"""Somebody who goes on writing learns it again; somebody whose program writes does not fill a channel with it."""
MAX_TOLD: Final = 2_000
"""People and reasons of one minute that are remembered; beyond that the oldest may be told again."""


@dataclass(slots=True)
class Told:
    clock: Clock
    _when: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])

    def just_now(self, person: str, reason: str) -> bool:
        """Whether they were told of this reason within TOLD_AGAIN; if not, they are now."""
        now, key = self.clock.monotonic(), (person, reason)
        if now - self._when.get(key, -TOLD_AGAIN.total_seconds()) < TOLD_AGAIN.total_seconds():
            return True
        self._when.pop(key, None)
        self._when[key] = now
        while len(self._when) > MAX_TOLD:
            del self._when[next(iter(self._when))]
        return False
