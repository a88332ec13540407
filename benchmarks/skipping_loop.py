"""An event loop that waits for nobody: where nothing is to be done, time goes on to the next timer at once.

Above: benchmarks in which minutes pass. Below: asyncio.

What is done takes the time that it takes; only idleness takes none. Clocks, timeouts and whatever a library waits for
follow, because they all ask the loop. That is exact as long as both ends of each connection are in this loop: work in
threads and other processes looks like idleness to it.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _SkippingSelector(selectors.DefaultSelector):
    skipped_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self.skipped_s += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._skipping = _SkippingSelector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return super().time() + self._skipping.skipped_s


def run_skipping(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run` in a loop of its own that skips every wait."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(work)
