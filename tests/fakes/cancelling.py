"""Cancels work at each of its steps, and reports the processes that are left by that."""

import asyncio
import gc
import warnings
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Final

from tests.examples import is_thorough
from tests.patience import PATIENCE_S

MAX_STEPS: Final = 1_000


class _Steps:
    """Awaits `work`. At its step number `first` its task is cancelled; if `again`, also at each later one."""

    def __init__(self, work: Coroutine[Any, Any, object], first: int, *, again: bool) -> None:
        self.count = 0
        self._work = work
        self._first = first
        self._again = again

    def __await__(self) -> Generator[Any, Any, None]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        cancelled: asyncio.CancelledError | None = None
        while True:
            try:
                waits_for = self._work.send(None) if cancelled is None else self._work.throw(cancelled)
            except StopIteration:
                return
            self.count += 1
            if self.count == self._first or (self._again and self.count > self._first):
                loop.call_soon(task.cancel)
            cancelled = None
            try:
                yield waits_for
            except asyncio.CancelledError as error:
                cancelled = error


async def _cancelled(steps: _Steps) -> None:
    async def await_them() -> None:
        await steps

    task = asyncio.ensure_future(await_them())
    await asyncio.wait({task}, timeout=PATIENCE_S)
    assert task.done(), "it hangs"
    if not task.cancelled():
        task.result()


def left_by_cancelling(work: Callable[[], Coroutine[Any, Any, object]], *, again: bool) -> list[str]:
    """Run `work` once for each of its steps, cancelled at that step. Return what `left_by` returns, with the step.

    In `make test` for every other step: with `again` the even ones, without it the odd ones.
    """
    left: list[str] = []
    gc.collect()
    gc.freeze()  # each step collects garbage: only its own
    for first in range(1, MAX_STEPS) if is_thorough() else range(2 if again else 1, MAX_STEPS, 2):
        steps = _Steps(work(), first, again=again)
        left += [f"cancelled at step {first}: {what}" for what in left_by(_cancelled(steps))]
        if steps.count < first:
            return left
    raise AssertionError("the work never ends")


def left_by(work: Coroutine[Any, Any, object]) -> list[str]:
    """Run `work` in a loop of its own, which is closed at once afterwards. Return what Python says about processes and
    pipes that nobody has waited for or closed.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        asyncio.run(work)
        gc.collect()
    return [str(one.message) for one in said]
