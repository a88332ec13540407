"""How tests wait, and how long."""

import asyncio
from collections.abc import Callable
from time import process_time
from typing import Final

# For what has to happen. Only a test that fails waits so long: it is longer than the busiest machine needs, and less
# than pytest's own timeout.
PATIENCE_S: Final = 90.0

LOOK_S: Final = 0.05  # How often a fake looks at what it cannot see happen


def is_so(happened: Callable[[], object]) -> bool:
    """Whether it happened. What is asked of a thing that does not stand there yet (`answers[1].text`) did not."""
    try:
        return bool(happened())
    except LookupError:
        return False


async def until(happened: Callable[[], object], look_s: float = 0.005) -> None:
    """Until it happened, of which nobody tells: it is looked at again and again."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so(happened):  # noqa: ASYNC110 -- see above
            await asyncio.sleep(look_s)


USUAL_S: Final = 0.008  # What `_compute` takes of a processor of a usual machine that does nothing else


def cpu_s(seconds: float) -> float:
    """So many seconds of a usual machine's processor, as this one computes now. Twice that: what the tests keep out,
    time that grows with the square, takes tens of times as long.
    """
    return 2 * seconds * max(1.0, max(_compute() for _ in range(3)) / USUAL_S)


def _compute() -> float:
    began = process_time()
    sum(number * number % 7 for number in range(100_000))
    return process_time() - began
