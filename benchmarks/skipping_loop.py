"""An event loop that skips waits: where nothing is to be done, time jumps to the next timer at once.

Work takes the processor time that it takes, whatever the load of the machine; only idle time takes none. Clocks,
timeouts and the waits of libraries follow, because they all ask the loop for the time. That is exact as long as both
ends of each connection are in this loop: work in threads and other processes looks like idleness to it.
"""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

FAR_S: Final = 0.5
LOOK_S: Final = 0.002  # Before a wait of this length is skipped, pending input of the system is handled


class _SkippingSelector(selectors.DefaultSelector):
    skipped_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0) or (super().select(LOOK_S) if timeout > FAR_S else [])
        if not ready:
            self.skipped_s += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    def __init__(self, busy_s: Callable[[], float]) -> None:
        self._busy_s = busy_s
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._busy_s() + self._skipping.skipped_s


def run_skipping(work: Coroutine[Any, Any, T], busy_s: Callable[[], float] = time.thread_time) -> T:
    """`asyncio.run` in a new loop that skips every wait. `busy_s`: the time that was not idle so far."""
    with asyncio.Runner(loop_factory=partial(SkippingLoop, busy_s)) as runner:
        return runner.run(work)
