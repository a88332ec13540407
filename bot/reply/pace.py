"""When the next write may start. Pure: it answers "not before t" and never sleeps.

Above: `bot.reply.live`. Below: `bot.surface.Limits`. Times are `Clock.monotonic` seconds.

Rules.
- The first write may start at once.
- The next one is armed after the last has returned: on a platform that queues, counting from the start of a write
  would let them pile up.
- What follows the last edit of a page is a new message, which has waited long enough.
- A platform that asks us to wait is obeyed, and the interval is stretched: whoever was too fast once is too fast at
  that pace. Each write that goes well takes half of the stretch back.
"""

from dataclasses import dataclass, replace

from bot.surface import Limits

AT_ONCE = float("-inf")

MAX_STRETCH = 8.0
"""The most by which the interval grows: an answer that moves every ten seconds is still live."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of one reply's writes. Each of them makes the next `Pace`."""

    limits: Limits
    not_before: float = AT_ONCE
    stretch: float = 1.0

    def after_write(self, returned: float, *, page_ended: bool = False) -> "Pace":
        """A write went well and returned at this time. `page_ended`: it was the last edit of a page."""
        stretch = max(1.0, self.stretch / 2)
        pause = 0.0 if page_ended and stretch == 1.0 else self.limits.edit_interval_s * stretch
        return replace(self, not_before=returned + pause, stretch=stretch)

    def after_queue(self, returned: float, wait_s: float) -> "Pace":
        """A write has its place in a queue: no sign of haste."""
        return replace(self, not_before=returned + wait_s)

    def after_limit(self, returned: float, retry_after_s: float) -> "Pace":
        """A write was refused: too fast."""
        stretch = min(MAX_STRETCH, self.stretch * 2)
        wait = max(retry_after_s, self.limits.edit_interval_s * stretch)
        return replace(self, not_before=returned + wait, stretch=stretch)

    def after_failure(self, returned: float, backoff_s: float) -> "Pace":
        """A write failed for another reason."""
        return replace(self, not_before=returned + max(backoff_s, self.limits.edit_interval_s))
