"""How long a person waits before the bot says that it still works on what they asked for."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

PATIENCE_S: Final = 3.0


@contextmanager
def if_slow(tell: Callable[[], object], after_s: float = PATIENCE_S) -> Generator[None]:
    """Call `tell` once if the block takes longer than `after_s`. It returns at once: what it starts is not waited for,
    and not cancelled at the end of the block.
    """
    timer = asyncio.get_running_loop().call_later(after_s, tell)
    try:
        yield
    finally:
        timer.cancel()
