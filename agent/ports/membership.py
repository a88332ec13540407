"""The port of membership: who can read which group place now, as the platform says.

Above: `bot.access.readers`. Implemented by: `bot/platforms/*`, and by a small fake in `tests/fakes`.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol


class Membership(Protocol):
    """One platform's answer. It is asked anew each time: whoever asks remembers what was said, and for how long."""

    async def readable(self, person: str, places: Sequence[str]) -> Mapping[str, bool]:
        """For each of these group places (see `agent.memory.audience.GroupAudience`): can this person read it now?

        A place that is missing in the answer is one of which nothing is known. Never raises; whoever asks bounds the
        time.
        """
        ...
