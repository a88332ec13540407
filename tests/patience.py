"""How tests wait, and for how long."""

import asyncio
from collections.abc import Callable
from time import process_time
from typing import Final

# The time limit of every wait. Only a failing test waits this long: more than the busiest machine needs, and less than
# pytest's own timeout.
PATIENCE_S: Final = 90.0

LOOK_S: Final = 0.05  # How often a fake polls for what no event reports


def is_so(condition: Callable[[], object]) -> bool:
    """Return whether the condition holds. It does not if what it reads does not exist yet (`answers[1].text`)."""
    try:
        return bool(condition())
    except LookupError:
        return False


async def until(condition: Callable[[], object], look_s: float = 0.005) -> None:
    """Wait until the condition holds. No event reports that, so poll it."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so(condition):  # noqa: ASYNC110 -- see above
            await asyncio.sleep(look_s)


USUAL_S: Final = 0.008  # The CPU time of `_compute` on a usual idle machine


def cpu_s(seconds: float) -> float:
    """Return the limit for what takes `seconds` of CPU time on a usual idle machine, scaled to this one's speed now,
    and doubled. Quadratic time, which such tests rule out, takes tens of times as long.
    """
    return 2 * seconds * max(1.0, max(_compute() for _ in range(3)) / USUAL_S)


def _compute() -> float:
    began = process_time()
    sum(number * number % 7 for number in range(100_000))
    return process_time() - began
